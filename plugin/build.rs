//! Link options of the module.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        // Calls and addresses take five bytes each unless they are packed, which goes with debug information not.
        println!("cargo::rustc-link-arg-cdylib=--strip-debug");
        println!("cargo::rustc-link-arg-cdylib=--compress-relocations");
    }
}
