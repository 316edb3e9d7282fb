//! Upstream's own modules, with the results that upstream's tests (`scheduler/plugin/plugin_test.go`) expect.
//!
//! The modules are not ours to carry: point `STOWAGE_UPSTREAM_MODULES` at a checkout of kube-scheduler-wasm-extension
//! with its modules built. Without it these tests say that they did not run.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::json;
use stowage_host::framework::{ClusterEvent, Code, EventResource, Plugin as _, Status, action};
use stowage_host::host::{Module, Options, WasmPlugin};
use stowage_host::object::{NodeObject, PodObject};

use crate::support::{Scheduler, node, pod_of};

/// The checkout; says so if there is none.
fn checkout(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("STOWAGE_UPSTREAM_MODULES").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("{test}: not run, STOWAGE_UPSTREAM_MODULES is not set");
    }
    folder
}

struct Upstream {
    folder: PathBuf,
    scheduler: Rc<Scheduler>,
}

impl Upstream {
    fn new(test: &str, nodes: Vec<Rc<NodeObject>>) -> Option<Self> {
        let scheduler = Rc::new(Scheduler { nodes, ..Scheduler::default() });
        Some(Self { folder: checkout(test)?, scheduler })
    }

    fn load(&self, path: impl AsRef<Path>, config: &str, args: &[&str]) -> anyhow::Result<WasmPlugin> {
        let module = Module::load(self.folder.join(path))?;
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        WasmPlugin::new(&module, config, Rc::clone(&self.scheduler) as _, Options { args, ..Options::default() })
    }

    /// A module of `guest/testdata`, which chooses what to do by its argument.
    fn guest(&self, name: &str, arg: &str) -> WasmPlugin {
        self.load(Path::new("guest/testdata").join(name).join("main.wasm"), "", &["test", arg]).expect("loads")
    }

    fn example(&self, name: &str, config: &str) -> WasmPlugin {
        self.load(Path::new("examples").join(name).join("main.wasm"), config, &[]).expect("loads")
    }

    fn error(&self, name: &str) -> anyhow::Result<WasmPlugin> {
        self.load(Path::new("scheduler/test/testdata/error").join(name).with_extension("wasm"), "", &[])
    }
}

fn pod_on(name: &str, node: &str) -> Rc<PodObject> {
    let metadata = json!({"name": name, "namespace": "test", "uid": format!("uid-{name}")});
    pod_of(json!({"metadata": metadata, "spec": {"containers": [], "nodeName": node}}))
}

fn good_pod() -> Rc<PodObject> {
    pod_on("good-pod", "good-node")
}

fn rejected(code: Code, reason: &str) -> Status {
    Status::new(code, reason)
}

#[test]
fn filters_and_prefilters() {
    let Some(upstream) =
        Upstream::new("filters_and_prefilters", vec![node("good-node"), node("bad-node"), node("bad")])
    else {
        return;
    };
    let pod = good_pod();
    let mut plugin = upstream.guest("filter", "preFilter");
    assert_eq!(plugin.pre_filter(&pod), (Some(vec!["good-node".to_owned()]), Status::success()));
    assert_eq!(plugin.pre_filter(&pod_on("p", "")), (None, Status::success()));

    let mut plugin = upstream.guest("filter", "filter");
    assert_eq!(plugin.filter(&pod, "good-node"), Status::success());
    assert_eq!(plugin.filter(&pod, "bad-node"), rejected(Code::Unschedulable, "good-node != bad-node"));

    let mut plugin = upstream.guest("filter", "postFilter");
    let on = |code| [("good-node".to_owned(), code)];
    let nominated = (Some("good-node".to_owned()), Status::success());
    assert_eq!(plugin.post_filter(&pod, &on(Code::Success)), nominated);
    let refused = rejected(Code::UnschedulableAndUnresolvable, "good-node is unschedulable");
    assert_eq!(plugin.post_filter(&pod, &on(Code::Unschedulable)), (None, refused));

    let mut plugin = upstream.guest("filter", "preFilterExtensions");
    let bad = rejected(Code::Error, "Node name is bad and PodInfo name is bad-pod");
    let (good_target, bad_target) = (pod_on("good-pod", ""), pod_on("bad-pod", ""));
    assert_eq!(plugin.add_pod(&pod, &good_target, "good-node"), Status::success());
    assert_eq!(plugin.add_pod(&pod, &bad_target, "bad"), bad);
    assert_eq!(plugin.remove_pod(&pod, &good_target, "good-node"), Status::success());
    assert_eq!(plugin.remove_pod(&pod, &bad_target, "bad"), bad);
}

#[test]
fn scores() {
    let Some(upstream) = Upstream::new("scores", vec![node("good-node")]) else { return };
    let pod = good_pod();
    let mut plugin = upstream.guest("score", "preScore");
    assert_eq!(plugin.pre_score(&pod, &[]).code, Code::Success);
    assert_eq!(plugin.pre_score(&pod, &[node("a")]).code, Code::Error, "the code is the number of nodes");
    assert_eq!(plugin.pre_score(&pod, &[node("a"), node("b")]).code, Code::Unschedulable);

    let mut plugin = upstream.guest("score", "score");
    assert_eq!(plugin.score(&pod, "good-node"), (100, Status::success()));
    assert_eq!(plugin.score(&pod, "bad-node"), (0, Status::success()));

    let mut plugin = upstream.guest("score", "scoreExtensions");
    let mut scores = vec![("good-node".to_owned(), 100)];
    assert_eq!(plugin.normalize_score(&pod, &mut scores), Status::success());
    assert_eq!(scores, [("good-node".to_owned(), 10_000)]);
}

#[test]
fn reserve_permit_and_bind() {
    let Some(upstream) = Upstream::new("reserve_permit_and_bind", Vec::new()) else { return };
    let pod = good_pod();
    let bad = rejected(Code::Error, "name is bad");
    let mut plugin = upstream.load("guest/testdata/reserve/main.wasm", "", &[]).expect("loads");
    assert_eq!(plugin.reserve(&pod, "good"), Status::success());
    assert_eq!(plugin.reserve(&pod, "bad"), bad);

    let mut plugin = upstream.load("guest/testdata/permit/main.wasm", "", &[]).expect("loads");
    assert_eq!(plugin.permit(&pod, "good"), (Status::success(), 0));
    assert_eq!(plugin.permit(&pod_on("b", ""), "bad").0, bad);
    assert_eq!(plugin.permit(&pod_on("w", ""), "wait"), (rejected(Code::Wait, "name is wait"), 10_000));
    assert_eq!(plugin.instances(), 3);

    for (arg, good) in [("preBind", true), ("bind", true), ("preBind", false), ("bind", false)] {
        let mut plugin = upstream.guest("bind", arg);
        plugin.pre_filter(&pod);
        let node = if good { "good" } else { "bad" };
        // Binding needs the instance of a scheduling cycle.
        let status = if arg == "bind" {
            assert!(plugin.pre_bind(&pod, node).is_success());
            plugin.bind(&pod, node)
        } else {
            plugin.pre_bind(&pod, node)
        };
        assert_eq!(status, if good { Status::success() } else { bad.clone() }, "{arg} {node}");
    }
}

#[test]
fn traps_read_as_in_upstream() {
    let Some(upstream) = Upstream::new("traps_read_as_in_upstream", vec![node("good-node")]) else { return };
    let pod = good_pod();
    let expected = |export: &str, module: &str, index: u32, result: &str| {
        let stack = format!("panic_on_{module}.${index}() {result}");
        let stack = stack.trim_end();
        format!("wasm: {export} error: panic!\nwasm error: unreachable\nwasm stack trace:\n\t{stack}")
    };
    let plugin = |name: &str| upstream.error(name).expect("loads");
    let reasons = [
        ("prefilter", "prefilter", plugin("panic_on_prefilter").pre_filter(&pod).1.reason),
        ("filter", "filter", plugin("panic_on_filter").filter(&pod, "good-node").reason),
        ("postfilter", "postfilter", plugin("panic_on_postfilter").post_filter(&pod, &[]).1.reason),
        ("prescore", "prescore", plugin("panic_on_prescore").pre_score(&pod, &[]).reason),
        ("score", "score", plugin("panic_on_score").score(&pod, "good-node").1.reason),
        ("reserve", "reserve", plugin("panic_on_reserve").reserve(&pod, "good-node").reason),
        ("permit", "permit", plugin("panic_on_permit").permit(&pod, "good-node").0.reason),
        ("addpod", "prefilterextensions", plugin("panic_on_prefilterextensions").add_pod(&pod, &pod, "n").reason),
    ];
    for (export, module, reason) in reasons {
        let result = if ["postfilter", "score", "permit"].contains(&export) { "i64" } else { "i32" };
        assert_eq!(reason, expected(export, module, 1, result));
    }
    let removed = plugin("panic_on_prefilterextensions").remove_pod(&pod, &pod, "n").reason;
    assert_eq!(removed, expected("removepod", "prefilterextensions", 2, "i32"));
    assert!(plugin("panic_on_enqueue").events_to_register().is_err());

    let config = Path::new("scheduler/test/testdata/error/panic_on_get_config.wasm");
    let reason = |config_text| upstream.load(config, config_text, &[]).expect("loads").pre_filter(&pod).1.reason;
    let stack = "wasm error: unreachable\nwasm stack trace:\n\tpanic_on_get_config.$2() i32";
    assert_eq!(reason(""), format!("wasm: prefilter error: {stack}"));
    assert_eq!(reason("hello"), format!("wasm: prefilter error: hello\n{stack}"));
}

#[test]
fn modules_that_do_not_load_say_why_as_in_upstream() {
    let Some(upstream) = Upstream::new("modules_that_do_not_load_say_why_as_in_upstream", Vec::new()) else { return };
    let refusal = |name| upstream.error(name).err().expect("refused").root_cause().to_string();
    let mask = "wasm: filter, score, reserve, permit or bind must be exported";
    assert_eq!(refusal("not_plugin"), "wasm: guest does not export any plugin functions");
    assert_eq!(refusal("prescore_without_score"), mask);
    assert_eq!(refusal("scoreextensions_without_score"), mask);
    let expected = "failed to create a guest pool: wasm: instantiate error: panic!\n\
        module[1] function[_start] failed: wasm error: unreachable\nwasm stack trace:\n\tpanic_on_start.$2()";
    assert_eq!(refusal("panic_on_start"), expected);
}

#[test]
fn events() {
    let Some(upstream) = Upstream::new("events", Vec::new()) else { return };
    let events = |arg| upstream.guest("cyclestate", arg).events_to_register().expect("no call to fail");
    assert_eq!(events("0").len(), 6);
    let volume = ClusterEvent { resource: EventResource::Other(2), action: action::DELETE };
    assert_eq!(events("1"), [volume]);
    assert_eq!(events("2"), [ClusterEvent { resource: EventResource::Node, action: action::ADD }, volume]);
}

/// The module panics if its cycle state is not what upstream's pool makes of it.
#[test]
fn cycle_state_is_coherent() {
    let Some(upstream) = Upstream::new("cycle_state_is_coherent", vec![node("good-node")]) else { return };
    let mut plugin = upstream.guest("cyclestate", "0");
    let (pod, next) = (good_pod(), pod_on("next", "good-node"));
    assert!(plugin.pre_filter(&pod).1.is_success());
    assert!(plugin.filter(&pod, "good-node").is_success());
    assert!(plugin.permit(&pod, "node").0.is_success());
    assert!(plugin.pre_filter(&next).1.is_success());
    assert!(plugin.filter(&next, "good-node").is_success());
    assert!(plugin.permit(&next, "node").0.is_success());
    assert_eq!(plugin.instances(), 2, "both are being bound");
    plugin.unreserve(&pod, "node");
    assert!(plugin.pre_bind(&next, "node").is_success());
    assert!(plugin.bind(&next, "node").is_success());
    plugin.post_bind(&next, "node");
    assert_eq!(plugin.instances(), 3, "unreserve itself needed one");
    let log = upstream.scheduler.log.take();
    let message = "2 \"failed unreserve\" err=<\n\twasm: unreserve error: panic: didn't propagate";
    assert!(log.len() == 1 && log[0].starts_with(message), "on an instance that never saw the pod: {log:?}");
}

#[test]
fn waiting_pods() {
    let Some(upstream) = Upstream::new("waiting_pods", vec![node("good-node")]) else { return };
    let waiting = pod_on("handle-pod", "good-node");
    upstream.scheduler.waiting.borrow_mut().push(Rc::clone(&waiting));
    let mut plugin = upstream.guest("handle", "rejectWaitingPod");
    assert_eq!(plugin.filter(&good_pod(), "good-node"), Status::success());
    // The guest keeps the pod of its cycle.
    assert!(plugin.pre_filter(&waiting).1.is_success());
    assert_eq!(plugin.filter(&waiting, "good-node"), rejected(Code::Skip, "UID is uid-handle-pod"));
    let mut plugin = upstream.guest("handle", "getWaitingPod");
    // Upstream's test expects better of this guest, and fails: its protobuf library cannot read what it gets.
    let reason = plugin.filter(&good_pod(), "good-node").reason;
    let expected = "wasm: filter error: panic: not implemented\n\nwasm error: unreachable\nwasm stack trace:\n\t\
        main.runtime._panic(i32,i32)\n\t";
    assert!(reason.starts_with(expected), "{reason}");
}

#[test]
fn the_nodenumber_example() {
    let Some(upstream) = Upstream::new("the_nodenumber_example", Vec::new()) else { return };
    for reverse in [false, true] {
        let mut plugin = upstream.example("nodenumber", if reverse { r#"{"reverse": true}"# } else { "" });
        let node_add = ClusterEvent { resource: EventResource::Node, action: action::ADD };
        assert_eq!(plugin.events_to_register().expect("no call to fail"), [node_add]);
        // Pod name, node name, whether they match.
        let cases = [
            ("pod", "node", true),
            ("pod", "node1", true),
            ("pod1", "node", false),
            ("pod1", "node1", true),
            ("pod1", "node2", false),
        ];
        for (pod_name, node_name, matches) in cases {
            let pod = pod_on(pod_name, "");
            assert!(plugin.pre_filter(&pod).1.is_success());
            assert!(plugin.pre_score(&pod, &[node(node_name)]).is_success());
            let expected = if matches == reverse { 0 } else { 10 };
            assert_eq!(plugin.score(&pod, node_name), (expected, Status::success()), "{pod_name} {node_name}");
        }
        assert_eq!(skips(&upstream), 2);
    }
}

/// How often the plugin recorded that it has no opinion on a pod.
fn skips(upstream: &Upstream) -> usize {
    let log = upstream.scheduler.log.take();
    log.iter().filter(|line| line.starts_with("event") && line.contains("not match lastNumber")).count()
}

/// The advanced example as it is built ends itself in `_start`. Upstream's tests do not see that, since its calls still
/// do what they do: only their status is an error.
#[test]
fn the_advanced_example() {
    let Some(upstream) = Upstream::new("the_advanced_example", Vec::new()) else { return };
    let mut plugin = upstream.example("advanced", "");
    assert!(!plugin.interfaces().filter && plugin.interfaces().score);
    let status = plugin.pre_score(&good_pod(), &[]);
    assert_eq!(status, Status::failure("wasm: prescore error: module closed with exit_code(0)"));
    assert_eq!(skips(&upstream), 1);
    assert!(plugin.events_to_register().is_err());
}

/// The case of upstream's `internal/e2e/scheduler/imagelocality_test.go`.
#[test]
fn the_imagelocality_example() {
    let Some(mut upstream) = Upstream::new("the_imagelocality_example", Vec::new()) else { return };
    let image = r#"{"test-image:v1":{"Size":100000000,"NumNodes":2}}"#.to_owned();
    let images = ["image-node1", "image-node2"].map(|name| (name.to_owned(), image.clone())).to_vec();
    let nodes = ["no-image-node1", "image-node1", "image-node2"].map(node).to_vec();
    upstream.scheduler = Rc::new(Scheduler { nodes, images, ..Scheduler::default() });
    let pod = pod_of(json!({"metadata": {"name": "happy8-meta", "uid": "u"},
        "spec": {"containers": [{"name": "happy8", "image": "test-image:v1"}]}}));
    for (node, score) in [("no-image-node1", 0), ("image-node1", 4)] {
        let mut plugin = upstream.example("imagelocality", "");
        assert_eq!(plugin.score(&pod, node), (score, Status::success()), "{node}");
    }
}
