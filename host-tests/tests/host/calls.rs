//! What a call carries in and out. Most modules here ask one import and give its answer back as their reason.

use std::rc::Rc;

use serde_json::json;
use stowage_host::framework::{ClusterEvent, Code, EventResource, Plugin as _, Status, action};
use stowage_host::host::{Export, Module, Options, WasmPlugin};
use stowage_host::object::{PodObject, node_list};

use crate::support::{Scheduler, node, plugin, plugin_with, pod, pod_of, wasm};

const REASON: &str = "(import \"k8s.io/scheduler\" \"result.status_reason\" (func $reason (param i32 i32)))";

/// Exports whose answers are Unschedulable, because of what `import` put into a buffer of `limit` bytes.
fn echo(module: &str, import: &str, limit: u32, exports: &[&str]) -> String {
    let exports = exports.iter().map(|name| {
        let (result, status) =
            if *name == "score" || *name == "postfilter" { ("i64", "i64.const 2") } else { ("i32", "i32.const 2") };
        format!("(func (export \"{name}\") (result {result}) (call $echo) ({status}))")
    });
    format!(
        "(import \"{module}\" \"{import}\" (func $ask (param i32 i32) (result i32))) {REASON} ;;
        (func $echo (local $length i32)
            (local.set $length (call $ask (i32.const 1024) (i32.const {limit})))
            (call $reason (i32.const 1024) (local.get $length)))
        {}",
        exports.collect::<String>()
    )
}

fn ask(import: &str, exports: &[&str]) -> WasmPlugin {
    plugin(&echo("k8s.io/scheduler", import, 4096, exports))
}

/// Text of protobuf bytes as the guest's reason shows it.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn pods_arrive_as_protobuf_and_only_in_calls_about_them() {
    let (current, target) = (pod("current"), pod("target"));
    let mut asks = ask("currentPod", &["filter", "addpod", "prescore", "score"]);
    assert_eq!(asks.filter(&current, "n").reason, shown(current.protobuf()));
    assert_eq!(asks.add_pod(&current, &target, "n").reason, shown(current.protobuf()));
    assert_eq!(asks.score(&target, "n").1.reason, shown(target.protobuf()));
    let mut asks = ask("targetPod", &["filter", "addpod", "removepod"]);
    assert_eq!(asks.add_pod(&current, &target, "n").reason, shown(target.protobuf()));
    assert_eq!(asks.remove_pod(&current, &target, "n").reason, shown(target.protobuf()));
    assert_eq!(asks.filter(&current, "n").reason, "", "nothing is left of the call before");
}

#[test]
fn a_value_that_does_not_fit_is_measured_and_not_written() {
    let measure = |limit: usize, pod: &Rc<PodObject>| {
        let fields = format!(
            "(import \"k8s.io/scheduler\" \"currentPod\" (func $ask (param i32 i32) (result i32))) ;;
            (func (export \"score\") (result i64)
                (i64.shl (i64.extend_i32_u (call $ask (i32.const 0) (i32.const {limit}))) (i64.const 32)))
            (func (export \"filter\") (result i32) (i32.load8_u (i32.const 0)))"
        );
        let mut plugin = plugin(&fields);
        let length = plugin.score(pod, "n").0;
        (length, plugin.filter(pod, "n").is_success())
    };
    let pod = pod("p");
    let length = pod.protobuf().len();
    assert_eq!(measure(length - 1, &pod), (length as i64, true));
    assert_eq!(measure(length, &pod), (length as i64, false));
    let reason = plugin(&echo("k8s.io/scheduler", "currentPod", 1 << 20, &["filter"])).filter(&big_pod(), "n").reason;
    assert!(reason.starts_with("wasm: filter error: out of memory (recovered by wazero)"), "{reason}");
}

/// Larger than the guest's memory.
fn big_pod() -> Rc<PodObject> {
    let annotations = json!({"a": "x".repeat(70_000)});
    pod_of(json!({"metadata": {"name": "big", "annotations": annotations}, "spec": {"containers": []}}))
}

#[test]
fn names_and_configuration_arrive_as_text() {
    let pod = pod("p");
    let mut asks = ask("currentNodeName", &["filter", "prefilter", "score"]);
    assert_eq!(asks.filter(&pod, "gpu-1").reason, "gpu-1");
    assert_eq!(asks.pre_filter(&pod).1.reason, "");
    assert_eq!(asks.score(&pod, "gpu-2").1.reason, "gpu-2");
    assert_eq!(ask("get_config", &["filter"]).filter(&pod, "n").reason, "config");
    let truncated = plugin(&echo("k8s.io/scheduler", "get_config", 5, &["filter"])).filter(&pod, "n").reason;
    assert_eq!(truncated, "\0\0\0\0\0\0", "longer than the buffer: the length, and nothing written");
}

#[test]
fn lists_and_maps_arrive_as_json() {
    let pod = pod("p");
    let mut asks = ask("filteredNodeList", &["filter", "prescore", "score"]);
    assert_eq!(asks.pre_score(&pod, &[node("b"), node("a")]).reason, r#"["b","a"]"#);
    assert_eq!(asks.pre_score(&pod, &[]).reason, "[]");
    assert_eq!(asks.score(&pod, "n").1.reason, "[]");
    let statuses = [("b".to_owned(), Code::Unschedulable), ("a".to_owned(), Code::UnschedulableAndUnresolvable)];
    let (_, status) = ask("nodeToStatusMap", &["filter", "postfilter"]).post_filter(&pod, &statuses);
    assert_eq!(status.reason, r#"{"a":3,"b":2}"#);
    let mut asks = ask("nodeScoreList", &["score", "normalizescore"]);
    let status = asks.normalize_score(&pod, &mut vec![("b".to_owned(), 7), ("a".to_owned(), -1)]);
    assert_eq!(status.reason, r#"{"a":-1,"b":7}"#);
}

/// Asks an import about the node `gpu`, and answers as [`echo`].
fn ask_node(module: &str, import: &str, name_length: u32) -> String {
    format!(
        "(import \"{module}\" \"{import}\" (func $ask (param i32 i32 i32 i32) (result i32))) {REASON} ;;
        (data (i32.const 0) \"gpu\")
        (func (export \"filter\") (result i32)
            (call $reason (i32.const 64)
                (call $ask (i32.const 0) (i32.const {name_length}) (i32.const 64) (i32.const 4096)))
            (i32.const 2))"
    )
}

#[test]
fn nodes_come_from_the_snapshot() {
    let images = r#"{"img":{"Size":1000,"NumNodes":1}}"#;
    let scheduler = Rc::new(Scheduler {
        nodes: vec![node("gpu"), node("cpu")],
        images: vec![("gpu".to_owned(), images.to_owned())],
        ..Scheduler::default()
    });
    let reason =
        |fields: &str| plugin_with(fields, Rc::clone(&scheduler), Options::default()).filter(&pod("p"), "n").reason;
    assert_eq!(reason(&ask_node("k8s.io/api", "node", 3)), shown(node("gpu").protobuf()));
    assert_eq!(reason(&ask_node("k8s.io/api", "node", 2)), "", "there is no node of that name");
    let outside = reason(&ask_node("k8s.io/api", "node", 1 << 20));
    assert!(outside.contains("out of memory reading nodeName (recovered by wazero)"), "{outside}");
    assert_eq!(reason(&echo("k8s.io/api", "nodeList", 4096, &["filter"])), shown(&node_list(&scheduler.nodes)));
    assert_eq!(reason(&ask_node("k8s.io/scheduler", "nodeImageStates", 3)), images);
    assert_eq!(reason(&ask_node("k8s.io/scheduler", "nodeImageStates", 2)), "null");
}

#[test]
fn codes_are_the_frameworks_and_others_are_errors() {
    let status = |code: i32| {
        plugin(&format!("(func (export \"filter\") (result i32) (i32.const {code}))")).filter(&pod("p"), "n")
    };
    assert_eq!(status(0), Status::success());
    for code in 1..=6 {
        assert_eq!(status(code), Status::new(Code::from_i32(code).expect("known"), ""));
    }
    for code in [7, -1, i32::MAX, i32::MIN] {
        assert_eq!(status(code), Status::failure(format!("unknown status code {code}: ")));
    }
}

#[test]
fn halves_of_an_i64_are_read_as_upstream_reads_them() {
    let answer = |high: i32, low: i32| (i64::from(high) << 32) | i64::from(low.cast_unsigned());
    let export = |name: &str, value: i64| format!("(func (export \"{name}\") (result i64) (i64.const {value}))");
    let pod = pod("p");
    for (score, code) in [(100, 0), (-1, 0), (7, 2)] {
        let (got, status) = plugin(&export("score", answer(score, code))).score(&pod, "n");
        assert_eq!((got, status.code as i32), (i64::from(score), code));
    }
    let (status, timeout) = plugin(&export("permit", answer(4, -1))).permit(&pod, "n");
    assert_eq!((status.code, timeout), (Code::Wait, u32::MAX));
    let filter = "(func (export \"filter\") (result i32) (i32.const 0))";
    let nominate = |mode: i32, code: i32| {
        let fields = format!(
            "(import \"k8s.io/scheduler\" \"result.nominated_node_name\" (func $nominate (param i32 i32))) ;;
            (data (i32.const 0) \"gpu-1\") {filter}
            (func (export \"postfilter\") (result i64)
                (call $nominate (i32.const 0) (i32.const 5)) (i64.const {}))",
            answer(mode, code)
        );
        plugin(&fields).post_filter(&pod, &[])
    };
    assert_eq!(nominate(1, 0), (Some("gpu-1".to_owned()), Status::success()));
    assert_eq!(nominate(0, 2), (None, Status::new(Code::Unschedulable, "")));
}

#[test]
fn prefilter_may_name_nodes() {
    let names = |list: &str| {
        let fields = format!(
            "(import \"k8s.io/scheduler\" \"result.node_names\" (func $names (param i32 i32))) ;;
            (data (i32.const 0) \"{list}\")
            (func (export \"prefilter\") (result i32)
                (call $names (i32.const 0) (i32.const {})) (i32.const 0))",
            list.replace("\\00", "0").len()
        );
        plugin(&fields).pre_filter(&pod("p")).0
    };
    assert_eq!(names("a\\00b\\00"), Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(names(""), None);
}

#[test]
fn enqueue_names_events() {
    let fields = "(import \"k8s.io/scheduler\" \"result.cluster_events\" (func $events (param i32 i32))) ;;
        (data (i32.const 0) \"\\00\\00\\00\\00\\03\\00\\00\\00\\01\\00\\00\\00\\08\\01\\00\\00\\0a\\00\\00\\00\\ff\")
        (func (export \"filter\") (result i32) (i32.const 0))
        (func (export \"enqueue\") (call $events (i32.const 0) (i32.const 23)))";
    let events = plugin(fields).events_to_register().expect("no call to fail");
    let event = |resource, action| ClusterEvent { resource, action };
    let expected = [event(EventResource::Pod, action::ADD | action::DELETE), event(EventResource::Node, 0x108)];
    assert_eq!(events, expected, "and not the one that is cut off");
}

#[test]
fn normalized_scores_land_on_any_node() {
    let fields = "(import \"k8s.io/scheduler\" \"result.normalized_score_list\" (func $scores (param i32 i32))) ;;
        (data (i32.const 0) \"{\\\"a\\\":1,\\\"b\\\":2,\\\"c\\\":3}\")
        (func (export \"score\") (result i64) (i64.const 0))
        (func (export \"normalizescore\") (result i32) (call $scores (i32.const 0) (i32.const 19)) (i32.const 0))";
    let mut plugin = plugin(fields);
    let given: Vec<_> = ["a", "b", "c"].map(|name| (name.to_owned(), 0)).to_vec();
    let orders: Vec<Vec<_>> = (0..20)
        .map(|_| {
            let mut scores = given.clone();
            assert!(plugin.normalize_score(&pod("p"), &mut scores).is_success());
            scores
        })
        .collect();
    assert!(orders.iter().any(|order| *order != orders[0]), "the order changes");
    let mut sorted = orders[0].clone();
    sorted.sort();
    assert_eq!(sorted, [("a".to_owned(), 1), ("b".to_owned(), 2), ("c".to_owned(), 3)]);
    let status = plugin.normalize_score(&pod("p"), &mut given[..2].to_vec());
    assert!(status.reason.starts_with("size mismatch: scores has 2 elements, but updatedScores has 3 elements"));
}

#[test]
fn the_log_has_upstreams_idea_of_severity() {
    let fields = "(import \"k8s.io/klog\" \"log\" (func $log (param i32 i32 i32)))
        (import \"k8s.io/klog\" \"logs\" (func $logs (param i32 i32 i32 i32 i32)))
        (import \"k8s.io/klog\" \"severity\" (func $severity (result i32))) ;;
        (data (i32.const 0) \"textkey\\00value\\00\")
        (func (export \"filter\") (result i32) (local $severity i32)
            (loop $next
                (call $log (local.get $severity) (i32.const 0) (i32.const 4))
                (call $logs (local.get $severity) (i32.const 0) (i32.const 4) (i32.const 4) (i32.const 10))
                (local.set $severity (i32.add (local.get $severity) (i32.const 1)))
                (br_if $next (i32.lt_s (local.get $severity) (i32.const 4))))
            (call $log (i32.const 0) (i32.const 0) (i32.const 0x7fffffff))
            (call $logs (i32.const 0) (i32.const 0) (i32.const 4) (i32.const 0) (i32.const 0))
            (call $severity))";
    let logged = |log_severity: i32| {
        let scheduler = Rc::<Scheduler>::default();
        let options = Options { log_severity, ..Options::default() };
        let status = plugin_with(fields, Rc::clone(&scheduler), options).filter(&pod("p"), "n");
        assert_eq!(status.code as i32, log_severity);
        scheduler.log.take()
    };
    let pairs = "\"text\" key=\"value\"";
    assert_eq!(logged(0), ["0 text", &format!("0 {pairs}"), &format!("2 {pairs}"), "0 text"]);
    assert_eq!(logged(2), ["0 text", "2 text", &format!("2 {pairs}"), "0 text"]);
}

#[test]
fn the_handle_reaches_the_scheduler() {
    let fields = format!(
        "(import \"k8s.io/scheduler\" \"handle.reject_waiting_pod\" (func $reject (param i32 i32 i32 i32)))
        (import \"k8s.io/scheduler\" \"handle.get_waiting_pod\" (func $get (param i32 i32 i32 i32)))
        (import \"k8s.io/scheduler\" \"handle.eventrecorder.eventf\" (func $eventf (param i32 i32)))
        {REASON} ;;
        (data (i32.const 0) \"uid-p\") (data (i32.const 16) \"{{\\\"Reason\\\": \\\"Held\\\"}}\")
        (func (export \"filter\") (result i32)
            (call $reject (i32.const 0) (i32.const 5) (i32.const 64) (i32.const 8))
            (i32.sub (i32.const 2) (i32.load (i32.const 64))))
        (func (export \"prefilter\") (result i32)
            (call $get (i32.const 0) (i32.const 5) (i32.const 128) (i32.const 1024))
            (call $reason (i32.const 128) (i32.const 16))
            (i32.const 2))
        (func (export \"prescore\") (result i32) (i32.const 0))
        (func (export \"score\") (result i64) (call $eventf (i32.const 16) (i32.const 18)) (i64.const 0))
        (func (export \"reserve\") (result i32) (call $eventf (i32.const 16) (i32.const 17)) (i32.const 0))"
    );
    let scheduler = Rc::<Scheduler>::default();
    let mut plugin = plugin_with(&fields, Rc::clone(&scheduler), Options::default());
    let pod = pod("p");
    assert_eq!(plugin.filter(&pod, "n").code, Code::Unschedulable, "no such pod waits");
    assert_eq!(plugin.pre_filter(&pod).1.reason, "\0".repeat(16));
    scheduler.waiting.borrow_mut().push(Rc::clone(&pod));
    assert_eq!(plugin.filter(&pod, "n").code, Code::Error, "1 was written");
    assert_eq!(plugin.pre_filter(&pod).1.reason, shown(&pod.protobuf()[..16]));
    assert!(plugin.score(&pod, "n").1.is_success());
    assert_eq!(scheduler.log.take(), [r#"event {"Reason":"Held"}"#]);
    let broken = plugin.reserve(&pod, "n").reason;
    assert!(broken.contains("(recovered by wazero)"), "{broken}");
}

/// Score and filter answer what the clock or the random source says.
const WASI: &str = "(import \"wasi_snapshot_preview1\" \"clock_time_get\" (func $now (param i32 i64 i32) (result i32)))
    (import \"wasi_snapshot_preview1\" \"random_get\" (func $random (param i32 i32) (result i32)))
    (import \"wasi_snapshot_preview1\" \"args_get\" (func $args (param i32 i32) (result i32)))
    (import \"wasi_snapshot_preview1\" \"args_sizes_get\" (func $sizes (param i32 i32) (result i32)))
    (import \"wasi_snapshot_preview1\" \"poll_oneoff\" (func $poll (param i32 i32 i32 i32) (result i32)))
    (import \"wasi_snapshot_preview1\" \"path_open\"
        (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
    (import \"k8s.io/scheduler\" \"result.status_reason\" (func $reason (param i32 i32))) ;;
    (data (i32.const 1048) \"\\ff\\ff\\ff\\ff\\ff\\ff\\00\\00\")
    (func (export \"prefilter\") (result i32)
        (drop (call $now (i32.const 0) (i64.const 1) (i32.const 0)))
        (drop (call $now (i32.const 1) (i64.const 1) (i32.const 8)))
        (call $reason (i32.const 0) (i32.const 16)) (i32.const 2))
    (func (export \"filter\") (result i32)
        (drop (call $random (i32.const 0) (i32.const 16)))
        (call $reason (i32.const 0) (i32.const 16)) (i32.const 2))
    (func (export \"prescore\") (result i32)
        (drop (call $sizes (i32.const 0) (i32.const 4)))
        (drop (call $args (i32.const 16) (i32.const 64)))
        (call $reason (i32.const 64) (i32.load (i32.const 4))) (i32.const 2))
    (func (export \"score\") (result i64)
        (call $poll (i32.const 1024) (i32.const 2048) (i32.const 1) (i32.const 4)) i64.extend_i32_u
        (call $open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0) (i64.const 0)
            (i32.const 0) (i32.const 0)) i64.extend_i32_u
        (i64.const 32) i64.shl i64.add)";

#[test]
fn clocks_tick_by_a_millisecond_per_reading() {
    let mut plugin = plugin(WASI);
    let text = |real: u64, monotonic: u64| shown(&[real.to_le_bytes(), monotonic.to_le_bytes()].concat());
    for reading in 0..3 {
        let elapsed = reading * 1_000_000;
        assert_eq!(plugin.pre_filter(&pod("p")).1.reason, text(1_640_995_200_000_000_000 + elapsed, elapsed));
    }
}

#[test]
fn random_bytes_are_the_same_in_every_instance() {
    let mut one = plugin(WASI);
    let mut other = plugin(WASI);
    let first = one.filter(&pod("p"), "n").reason;
    assert_eq!(other.filter(&pod("q"), "n").reason, first);
    assert_ne!(one.filter(&pod("p"), "n").reason, first);
}

#[test]
fn arguments_arrive_sleep_returns_and_files_are_missing() {
    let options = Options { args: vec!["one".to_owned(), "two".to_owned()], ..Options::default() };
    let mut plugin = plugin_with(WASI, Rc::default(), options);
    assert_eq!(plugin.pre_score(&pod("p"), &[]).reason, "one\0two\0");
    let started = std::time::Instant::now();
    const BAD_DESCRIPTOR: i64 = 8;
    assert_eq!(plugin.score(&pod("p"), "n"), (BAD_DESCRIPTOR, Status::success()));
    assert!(started.elapsed().as_secs() < 5, "days pass at once");
}

#[test]
fn calls_and_their_fuel_are_counted() {
    let bytes = wasm("(func (export \"filter\") (result i32) (i32.const 0))");
    let new = |module: anyhow::Result<Module>| {
        WasmPlugin::new(&module.expect("loads"), "", Rc::<Scheduler>::default(), Options::default()).expect("starts")
    };
    let (mut plain, mut metered) = (new(Module::from_bytes(&bytes)), new(Module::metered_from_bytes(&bytes)));
    for _ in 0..3 {
        assert!(plain.filter(&pod("p"), "n").is_success() && metered.filter(&pod("p"), "n").is_success());
    }
    assert_eq!((plain.stats(Export::Filter).calls, plain.stats(Export::Filter).fuel), (3, 0));
    let stats = metered.stats(Export::Filter);
    assert_eq!(stats.calls, 3);
    assert!(stats.fuel > 0 && stats.fuel % 3 == 0, "{stats:?}");
    assert_eq!(metered.stats(Export::Score).calls, 0);
}
