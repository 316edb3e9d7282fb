//! Which modules load.

use stowage_host::framework::{ClusterEvent, EventResource, Plugin as _, action};
use stowage_host::host::{Inspection, Module, Offer, Role};

use crate::support::{plugin, wasm};

fn export(name: &str) -> String {
    let result = match name {
        "enqueue" | "unreserve" | "postbind" => "",
        "score" | "permit" | "postfilter" => "(result i64) (i64.const 0)",
        _ => "(result i32) (i32.const 0)",
    };
    format!("(func (export \"{name}\") {result})")
}

fn exporting(names: &str) -> Vec<u8> {
    wasm(&names.split_whitespace().map(export).collect::<String>())
}

fn refusal(bytes: &[u8]) -> String {
    let error = Module::from_bytes(bytes).err().expect("refused").to_string();
    let inspection = Inspection::of(bytes).expect("a module");
    assert!(!inspection.is_accepted());
    error
}

#[test]
fn the_sets_that_upstream_has_a_type_for_load() {
    let accepted = "filter|score|reserve|permit|bind|filter score|filter reserve|filter permit|filter bind|\
        score reserve|score permit|score bind|reserve bind|permit bind|filter score reserve|filter score permit|\
        filter score bind|score reserve bind|score permit bind|reserve permit bind|filter score reserve bind|\
        filter score permit bind|filter score reserve permit bind";
    let refused = "reserve permit|filter reserve permit|score reserve permit|filter score reserve permit|\
        filter reserve bind|filter permit bind|filter reserve permit bind|score reserve permit bind";
    for names in accepted.split('|') {
        Module::from_bytes(&exporting(names)).unwrap_or_else(|error| panic!("{names}: {error}"));
        assert!(Inspection::of(&exporting(names)).expect("a module").is_accepted());
    }
    for names in refused.split('|') {
        let expected = "wasm: filter, score, reserve, permit or bind must be exported";
        assert_eq!(refusal(&exporting(names)), expected, "{names}");
    }
    assert_eq!(accepted.split('|').count() + refused.split('|').count(), 31, "every set but the empty one");
}

#[test]
fn companions_do_not_count() {
    let expected = "wasm: filter, score, reserve, permit or bind must be exported";
    for names in ["enqueue", "prescore", "normalizescore", "postfilter", "prebind postbind", "prefilter enqueue"] {
        assert_eq!(refusal(&exporting(names)), expected, "{names}");
    }
    let all = "enqueue prefilter addpod removepod filter postfilter prescore score normalizescore reserve unreserve";
    let module = Module::from_bytes(&exporting(all)).expect("loads");
    assert!(module.exports().keeps_one_instance());
    let prefilter = Module::from_bytes(&exporting("prefilter")).expect("prefilter alone is the one exception");
    assert!(!prefilter.interfaces().filter);
}

#[test]
fn extension_points_come_with_their_main_one() {
    let interfaces = |names| Module::from_bytes(&exporting(names)).expect("loads").interfaces();
    let filter = interfaces("filter prescore postbind");
    assert!(filter.filter && filter.post_filter && !filter.pre_score && !filter.post_bind);
    let score = interfaces("score addpod removepod");
    assert!(score.score && score.pre_score && !score.normalize_score && score.pre_filter_extensions);
    assert!(interfaces("score normalizescore").normalize_score);
    let bind = interfaces("bind unreserve");
    assert!(bind.bind && bind.pre_bind && bind.post_bind && bind.reserve, "unreserve counts as reserve");
}

#[test]
fn signatures_must_be_exact() {
    for (export, signature) in [
        ("filter", "(result i32)"),
        ("score", "(result i64)"),
        ("permit", "(result i64)"),
        ("postfilter", "(result i64)"),
        ("addpod", "(result i32)"),
        ("enqueue", ""),
        ("unreserve", ""),
    ] {
        let result = signature.strip_prefix("(result ").map_or("()".to_owned(), |result| format!("({result}"));
        let expected = format!("wasm: guest exports the wrong signature for func[{export}]. should be () -> {result}");
        let parameter = wasm(&format!("(func (export \"{export}\") (param i32) {signature} unreachable)"));
        assert_eq!(refusal(&parameter), expected);
        let answer = wasm(&format!("(func (export \"{export}\") (result f32) unreachable)"));
        assert_eq!(refusal(&answer), expected);
    }
}

#[test]
fn a_memory_must_be_exported() {
    let bytes =
        wat::parse_str("(module (memory 1) (func (export \"filter\") (result i32) (i32.const 0)))").expect("WAT");
    assert_eq!(refusal(&bytes), "wasm: guest doesn't export memory[memory]");
}

#[test]
fn a_module_without_plugin_functions_is_none() {
    assert_eq!(refusal(&wasm("(func (export \"main\"))")), "wasm: guest does not export any plugin functions");
}

#[test]
fn imports_must_be_the_hosts() {
    let refused = |import: &str| {
        refusal(&wasm(&format!("(import {import}) ;; (func (export \"filter\") (result i32) (i32.const 0))")))
    };
    let prefix = "failed to create a guest pool: wasm: instantiate error: ";
    assert_eq!(refused("\"env\" \"now\" (func)"), format!("{prefix}module[env] not instantiated"));
    let expected = format!("{prefix}\"pods\" is not exported in module \"k8s.io/api\"");
    assert_eq!(refused("\"k8s.io/api\" \"pods\" (func)"), expected);
    let expected =
        format!("{prefix}import func[k8s.io/api.nodeList]: signature mismatch: (i32) -> (i32) != (i32, i32) -> (i32)");
    assert_eq!(refused("\"k8s.io/api\" \"nodeList\" (func (param i32) (result i32))"), expected);
}

#[test]
fn what_is_not_webassembly_2_is_refused() {
    let error = |bytes: &[u8]| Module::from_bytes(bytes).err().expect("refused").to_string();
    assert!(error(b"not wasm").starts_with("wasm: error compiling guest: "));
    let tail_call = wasm("(func $f (export \"filter\") (result i32) (return_call $f))");
    let message = error(&tail_call);
    assert!(message.contains("tail calls support is not enabled"), "{message}");
    assert!(Inspection::of(&tail_call).is_err());
    let missing = Module::load("no/such.wasm").err().expect("refused").to_string();
    assert_eq!(missing, "cannot read no/such.wasm");
}

#[test]
fn an_inspection_lists_everything() {
    let bytes = wasm(
        "(import \"k8s.io/api\" \"node\" (func (param i32 i32 i32 i32) (result i32)))
        (import \"k8s.io/api\" \"node\" (func (param i32)))
        (import \"k8s.io/api\" \"pods\" (func))
        (import \"env\" \"now\" (func (result f64))) ;;
        (func (export \"filter\") (result i32) (i32.const 0)) (func (export \"helper\") (param i64))
        (func (export \"_initialize\")) (func (export \"permit\") (result i64) (i64.const 0))
        (func (export \"normalizescore\") (result i32) (i32.const 0))
        (func (export \"unreserve\"))",
    );
    let inspection = Inspection::of(&bytes).expect("a module");
    assert_eq!(inspection.size, bytes.len());
    let offers: Vec<_> = inspection.imports.iter().map(|import| import.offer.clone()).collect();
    let other = Offer::OtherSignature("(i32, i32, i32, i32) -> (i32)".to_owned());
    assert_eq!(offers, [Offer::Offered, other, Offer::NoSuchName, Offer::NoSuchModule]);
    assert_eq!(inspection.imports[3].signature, "() -> (f64)");
    let helper = inspection.exports.iter().find(|export| export.name == "helper").expect("listed");
    assert_eq!((helper.signature.as_str(), helper.role), ("(i64) -> ()", Role::Ignored));
    let role = |name| inspection.exports.iter().find(|export| export.name == name).expect("listed").role;
    assert_eq!([role("filter"), role("memory"), role("normalizescore")], [Role::Called, Role::Memory, Role::Called]);
    assert_eq!(inspection.refusals.len(), 4, "{:?}", inspection.refusals);
    assert!(!inspection.keeps_one_instance);
    let warnings = inspection.warnings.join("\n");
    for word in ["unreserve without reserve", "normalizescore", "no enqueue", "keeps an instance", "_initialize"] {
        assert!(warnings.contains(word), "{word}: {warnings}");
    }
}

#[test]
fn a_module_without_enqueue_registers_everything() {
    let events = plugin(&export("filter")).events_to_register().expect("no call to fail");
    assert_eq!(events.len(), 6);
    assert!(events.iter().all(|event| event.action == action::ALL));
    assert_eq!(events[0], ClusterEvent { resource: EventResource::Pod, action: action::ALL });
    assert_eq!(plugin(&[export("filter"), export("enqueue")].concat()).events_to_register().expect("none").len(), 6);
}
