//! The module as built: it exports what `wit/` says and nothing more, imports what the stock host has, and stays small.

use stowage_host::host::{Inspection, Offer, Role};

/// Largest size in bytes. The host compiles the module when the scheduler starts, and whoever delivers it in a ConfigMap has
/// 1 MiB.
const BUDGET: usize = 200 << 10;

#[test]
fn exports_what_the_contract_says_and_the_host_calls_all_of_it() {
    let module = Inspection::of(stowage_host::builtin_module()).expect("a module");
    assert_eq!(module.refusals, Vec::<String>::new());
    assert!(module.keeps_one_instance, "guest memory would not be shared state");
    // The memory, and what wit-bindgen adds for its own use.
    let added = |name: &str| name == "memory" || name.starts_with("cabi_realloc");
    let mut exports: Vec<_> = module.exports.iter().filter(|export| !added(&export.name)).collect();
    exports.sort_by_key(|export| &export.name);
    assert!(exports.iter().all(|export| export.role == Role::Called), "{exports:?}");
    let names: Vec<&str> = exports.iter().map(|export| export.name.as_str()).collect();
    assert_eq!(
        names,
        ["addpod", "enqueue", "filter", "prefilter", "prescore", "removepod", "reserve", "score", "unreserve"]
    );
    let wit = include_str!("../../wit/stowage.wit");
    let contract = wit.lines().filter_map(|line| line.trim().strip_prefix("export ")?.split_once(':'));
    let mut contract: Vec<&str> = contract.map(|(name, _)| name).collect();
    contract.sort_unstable();
    assert_eq!(names, contract);
}

#[test]
fn imports_what_the_stock_host_has() {
    let module = Inspection::of(stowage_host::builtin_module()).expect("a module");
    for import in &module.imports {
        assert_eq!(import.offer, Offer::Offered, "{} {}", import.module, import.name);
    }
}

#[test]
fn stays_within_its_budget() {
    let size = stowage_host::builtin_module().len();
    assert!(size <= BUDGET, "{size} bytes, allowed are {BUDGET}");
}
