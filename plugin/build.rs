//! Link options of the module.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        // Calls and addresses take five bytes each unless they are packed, which goes with debug information not.
        println!("cargo::rustc-link-arg=--strip-debug");
        // Comparing memory is left to the target's C library, which without std nobody else links.
        println!("cargo::rustc-link-arg=-lc");
        println!("cargo::rustc-link-arg=--compress-relocations");
    }
}
