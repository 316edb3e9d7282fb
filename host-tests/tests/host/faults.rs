//! One module per way in which a guest can go wrong.

use std::rc::Rc;
use std::time::Duration;

use stowage_host::framework::{Code, Plugin as _, Status};
use stowage_host::host::{Limits, Module, Options, WasmPlugin};
use stowage_host::object::PodObject;

use crate::support::{Scheduler, node, plugin, plugin_with, pod, wasm};

/// Exports everything; each export answers 0.
const ALL: [(&str, &str); 15] = [
    ("enqueue", ""),
    ("prefilter", "i32"),
    ("addpod", "i32"),
    ("removepod", "i32"),
    ("filter", "i32"),
    ("postfilter", "i64"),
    ("prescore", "i32"),
    ("score", "i64"),
    ("normalizescore", "i32"),
    ("reserve", "i32"),
    ("unreserve", ""),
    ("permit", "i64"),
    ("prebind", "i32"),
    ("bind", "i32"),
    ("postbind", ""),
];

/// A module with all exports of which `faulty` runs `body`.
fn all_but(faulty: &str, imports: &str, body: &str) -> String {
    let exports = ALL.map(|(name, result)| {
        let answer = if result.is_empty() { String::new() } else { format!("({result}.const 0)") };
        let body = if name == faulty { body } else { &answer };
        let result = if result.is_empty() { String::new() } else { format!("(result {result})") };
        format!("(func ${name} (export \"{name}\") {result} {body})")
    });
    format!("{imports} ;; {}", exports.join("\n"))
}

/// Calls every extension point once; answers the reasons of those that failed, and what was logged.
fn failures(plugin: &mut WasmPlugin, scheduler: &Scheduler) -> Vec<String> {
    let (pod, other) = (pod("p"), pod("other"));
    let mut statuses = vec![
        plugin.pre_filter(&pod).1,
        plugin.add_pod(&pod, &other, "n"),
        plugin.remove_pod(&pod, &other, "n"),
        plugin.filter(&pod, "n"),
        plugin.post_filter(&pod, &[]).1,
        plugin.pre_score(&pod, &[node("n")]),
        plugin.score(&pod, "n").1,
        plugin.normalize_score(&pod, &mut vec![("n".to_owned(), 1)]),
        plugin.reserve(&pod, "n"),
        plugin.permit(&pod, "n").0,
        plugin.pre_bind(&pod, "n"),
        plugin.bind(&pod, "n"),
    ];
    plugin.post_bind(&pod, "n");
    plugin.unreserve(&pod, "n");
    if let Err(error) = plugin.events_to_register() {
        statuses.push(Status::new(Code::Error, error.to_string()));
    }
    let reasons = statuses.into_iter().filter(|status| !status.is_success()).map(|status| {
        assert_eq!(status.code, Code::Error);
        status.reason
    });
    reasons.chain(scheduler.log.take()).collect()
}

#[test]
fn a_trap_fails_its_call_and_no_other() {
    for (name, result) in ALL {
        let scheduler = Rc::<Scheduler>::default();
        let fields = all_but(name, "", "unreachable");
        let mut plugin = plugin_with(&fields, Rc::clone(&scheduler), Options::default());
        let failures = failures(&mut plugin, &scheduler);
        let signature = format!("{name}() {result}");
        let mut expected =
            format!("wasm: {name} error: wasm error: unreachable\nwasm stack trace:\n\ttest.{}", signature.trim_end());
        match name {
            "unreserve" | "postbind" => {
                expected = format!("2 \"failed {name}\" err=<\n\t{}\n >", expected.replace('\n', "\n\t"))
            }
            "normalizescore" => expected.push_str("; the scheduler would crash"),
            _ => {}
        }
        assert_eq!(failures, [expected], "{name}");
    }
}

#[test]
fn exit_ends_the_instance_for_good() {
    let imports = "(import \"wasi_snapshot_preview1\" \"proc_exit\" (func $exit (param i32)))";
    for code in [0, 3] {
        let mut plugin = plugin(&all_but("filter", imports, &format!("(call $exit (i32.const {code})) unreachable")));
        let pod = pod("p");
        assert!(plugin.pre_filter(&pod).1.is_success());
        let expected = |name| Status::failure(format!("wasm: {name} error: module closed with exit_code({code})"));
        assert_eq!(plugin.filter(&pod, "n"), expected("filter"));
        assert_eq!(plugin.pre_filter(&pod).1, expected("prefilter"), "and every later call");
        assert_eq!(plugin.score(&pod, "n"), (0, expected("score")), "though its code still runs");
        assert_eq!(plugin.instances(), 1);
        plugin.restart().expect("a new instance");
        assert!(plugin.pre_filter(&pod).1.is_success());
    }
}

#[test]
fn an_endless_loop_is_stopped() {
    let limits = Limits { call_time: Duration::from_millis(50), ..Limits::default() };
    let fields = all_but("score", "", "(loop $forever (br $forever)) unreachable");
    let mut plugin = plugin_with(&fields, Rc::default(), Options { limits, ..Options::default() });
    let (_, status) = plugin.score(&pod("p"), "n");
    assert_eq!(status.code, Code::Error);
    let expected = "wasm: score error: the call ran for more than 50ms and was stopped by this harness; upstream's host \
                    has no limit, its scheduler would hang";
    assert!(status.reason.starts_with(expected), "{}", status.reason);
    assert!(plugin.filter(&pod("p"), "n").is_success(), "the instance goes on");
}

#[test]
fn an_endless_loop_is_stopped_at_the_same_instruction_when_metered() {
    let module = Module::metered_from_bytes(&wasm(&all_but("score", "", "(loop $forever (br $forever)) unreachable")));
    let limits = Limits { fuel: 10_000, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let mut plugin = WasmPlugin::new(&module.expect("loads"), "", Rc::<Scheduler>::default(), options).expect("starts");
    let (_, status) = plugin.score(&pod("p"), "n");
    assert!(status.reason.contains("the call used more than 10000 fuel"), "{}", status.reason);
}

#[test]
fn growing_memory_is_stopped() {
    let grow = "(loop $more (drop (memory.grow (i32.const 16))) (br $more)) unreachable";
    let limits = Limits { memory: 4 << 20, ..Limits::default() };
    let mut plugin = plugin_with(&all_but("filter", "", grow), Rc::default(), Options { limits, ..Options::default() });
    let status = plugin.filter(&pod("p"), "n");
    let expected = "wasm: filter error: the guest's memory would grow to 4259840 bytes, past this harness's limit of \
                    4194304 bytes; upstream's host has no limit";
    assert!(status.reason.starts_with(expected), "{}", status.reason);
    assert_eq!(plugin.memory_size(), 49 << 16, "what it got before, it keeps");
}

/// The guest takes 16 bytes of stack and traps before it gives them back.
const LEAKY: &str = "(global $stack (mut i32) (i32.const 64))
    (func (export \"filter\") (result i32)
        (global.set $stack (i32.sub (global.get $stack) (i32.const 16)))
        (i32.store (global.get $stack) (i32.const 1))
        unreachable)
    (func (export \"score\") (result i64) (i64.shl (i64.extend_i32_s (global.get $stack)) (i64.const 32)))";

#[test]
fn a_trap_leaves_the_stack_pointer_where_it_was() {
    let mut plugin = plugin(LEAKY);
    let stack = |plugin: &mut WasmPlugin| plugin.score(&pod("p"), "n").0;
    let reason = |plugin: &mut WasmPlugin, pod: &Rc<PodObject>| plugin.filter(pod, "n").reason;
    let pod = pod("p");
    for left in [48, 32, 16, 0] {
        assert!(reason(&mut plugin, &pod).contains("unreachable"));
        assert_eq!(stack(&mut plugin), left);
    }
    assert!(reason(&mut plugin, &pod).contains("out of bounds memory access"), "until it is used up");
    assert!(reason(&mut plugin, &pod).contains("out of bounds memory access"), "for good");
}

#[test]
fn deep_recursion_is_a_trap() {
    let fields = "(func $deep (export \"filter\") (result i32) (i32.add (call $deep) (i32.const 1)))";
    let reason = plugin(fields).filter(&pod("p"), "n").reason;
    let expected = "wasm: filter error: wasm error: stack overflow\nwasm stack trace:\n\ttest.deep() i32\n";
    assert!(reason.starts_with(expected), "{reason}");
    assert!(reason.ends_with("... maybe followed by omitted frames"), "{reason}");
}

#[test]
fn what_the_guest_printed_stands_before_the_error() {
    let imports = "(import \"wasi_snapshot_preview1\" \"fd_write\" (func $write (param i32 i32 i32 i32) (result i32)))";
    let print = "(i32.store (i32.const 0) (i32.const 16)) (i32.store (i32.const 4) (i32.const 5))
        (i64.store (i32.const 16) (i64.const 0x6f6c6c6568))
        (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8)))";
    let fields = format!(
        "{imports} ;; (global $calls (mut i32) (i32.const 0))
        (func (export \"filter\") (result i32) {print} (i32.const 0))
        (func (export \"score\") (result i64) {print} unreachable)"
    );
    let mut plugin = plugin(&fields);
    assert!(plugin.filter(&pod("p"), "n").is_success());
    let reason = plugin.score(&pod("p"), "n").1.reason;
    assert!(
        reason.starts_with("wasm: score error: hello\nwasm error: unreachable\n"),
        "once, and by this call: {reason}"
    );
}

#[test]
fn a_module_that_fails_to_start_says_so() {
    let start = |body: &str| {
        let fields = format!(
            "(import \"wasi_snapshot_preview1\" \"proc_exit\" (func $exit (param i32))) ;;
            (func (export \"_start\") {body}) (func (export \"filter\") (result i32) (i32.const 0))"
        );
        let module = Module::from_bytes(&wasm(&fields)).expect("loads");
        WasmPlugin::new(&module, "", Rc::<Scheduler>::default(), Options::default())
    };
    let message = |body| start(body).err().expect("does not start").to_string();
    assert!(
        message("unreachable")
            .starts_with("failed to create a guest pool: wasm: instantiate error: module[1] function[_start] failed: wasm error: unreachable")
    );
    let expected = "failed to create a guest pool: wasm: instantiate error: module closed with exit_code(2)";
    assert_eq!(message("(call $exit (i32.const 2))"), expected);
    let mut ended = start("(call $exit (i32.const 0))").expect("an exit with 0 goes unnoticed at first");
    assert_eq!(ended.filter(&pod("p"), "n").reason, "wasm: filter error: module closed with exit_code(0)");
}
