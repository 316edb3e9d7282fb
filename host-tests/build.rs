//! Builds the module that the `stowage` command carries, with the profile it ships with.
//!
//! A nested cargo with its own target folder, so that `cargo test` and `cargo run` always use the policy as it stands in
//! the tree, in one step.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "wasm32-wasip1";

fn main() {
    let manifest_dir = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let workspace = manifest_dir.parent().expect("the package is a folder of the workspace");
    for input in [
        ".cargo",
        "plugin/src",
        "plugin/build.rs",
        "plugin/Cargo.toml",
        "wit",
        "Cargo.toml",
        "Cargo.lock",
        "rust-toolchain.toml",
    ] {
        println!("cargo::rerun-if-changed={}", workspace.join(input).display());
    }
    println!("cargo::rerun-if-env-changed=STOWAGE_MODULE_TARGET_DIR");

    let out = PathBuf::from(variable("OUT_DIR"));
    let target_dir = env::var_os("STOWAGE_MODULE_TARGET_DIR").map_or_else(|| shared_target_dir(&out), PathBuf::from);
    let mut cargo = Command::new(variable("CARGO"));
    cargo.current_dir(workspace).args([
        // As a cdylib alone: beside an rlib it would not be optimised as a whole.
        "rustc",
        "--quiet",
        "--package",
        "stowage-plugin",
        "--lib",
        "--crate-type",
        "cdylib",
        "--profile",
        "module",
    ]);
    cargo.args(["--target", TARGET, "--target-dir"]).arg(&target_dir);
    // What the outer cargo set for this build (flags, wrappers, the profile) is not meant for the module.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let kept = ["CARGO_HOME", "CARGO_NET_OFFLINE"].contains(&name.as_str());
        if !kept && ["CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "CLIPPY"].iter().any(|prefix| name.starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
    let status = cargo.status().unwrap_or_else(|error| panic!("cannot run cargo for the module: {error}"));
    assert!(
        status.success(),
        "the module does not build (see above); if its target is missing: rustup target add {TARGET}"
    );
    let built = target_dir.join(TARGET).join("module/stowage.wasm");
    fs::copy(&built, out.join("stowage.wasm"))
        .unwrap_or_else(|error| panic!("cannot copy {}: {error}", built.display()));
}

/// `target/stowage-module`, shared by debug and release builds of the harness.
fn shared_target_dir(out: &Path) -> PathBuf {
    // OUT_DIR is <target>/<profile>/build/<package>-<hash>/out.
    out.ancestors().nth(4).unwrap_or(out).join("stowage-module")
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
