//! Which instance serves a call. Each instance of the module counts its calls in its own memory.

use std::rc::Rc;

use stowage_host::framework::{Code, Plugin as _};
use stowage_host::host::{Options, WasmPlugin};

use crate::support::{Scheduler, plugin, plugin_with, pod};

/// Score answers how many cycles this instance has begun, its own included.
const BASE: &str = "(global $cycles (mut i32) (i32.const 0))
    (func (export \"prefilter\") (result i32)
        (global.set $cycles (i32.add (global.get $cycles) (i32.const 1))) (i32.const 0))
    (func (export \"filter\") (result i32) (i32.const 0))
    (func (export \"score\") (result i64) (i64.shl (i64.extend_i32_s (global.get $cycles)) (i64.const 32)))";
const RESERVE: &str = "(func (export \"reserve\") (result i32) (i32.const 0)) (func (export \"unreserve\"))";
const PERMIT: &str = "(func (export \"permit\") (result i64) (i64.const 0))";
const BIND: &str = "(func (export \"bind\") (result i32) (i32.const 0)) (func (export \"postbind\"))";

/// One cycle of a pod up to where it waits to be bound; answers what score said.
fn cycle(plugin: &mut WasmPlugin, name: &str) -> i64 {
    let pod = pod(name);
    assert!(plugin.pre_filter(&pod).1.is_success());
    assert!(plugin.filter(&pod, "n").is_success());
    let (cycles, _) = plugin.score(&pod, "n");
    assert!(plugin.reserve(&pod, "n").is_success());
    assert!(plugin.permit(&pod, "n").0.is_success());
    cycles
}

fn bind(plugin: &mut WasmPlugin, name: &str) {
    assert!(plugin.bind(&pod(name), "n").is_success());
    plugin.post_bind(&pod(name), "n");
}

#[test]
fn one_instance_lives_for_ever_without_permit_and_bind() {
    let mut plugin = plugin(&[BASE, RESERVE].concat());
    for number in 1..=1000 {
        let name = format!("p{number}");
        assert_eq!(cycle(&mut plugin, &name), number);
        if number % 3 == 0 {
            plugin.unreserve(&pod(&name), "n");
        } else {
            bind(&mut plugin, &name);
        }
    }
    assert_eq!(plugin.instances(), 1);
    assert_eq!(plugin.memory_size(), 1 << 16);
}

#[test]
fn permit_alone_leaks_an_instance_per_pod() {
    let mut plugin = plugin(&[BASE, PERMIT].concat());
    for number in 1..=100 {
        let name = format!("p{number}");
        assert_eq!(cycle(&mut plugin, &name), 1, "the memory is new every time");
        bind(&mut plugin, &name);
        assert_eq!(plugin.instances(), number);
    }
    assert_eq!(plugin.memory_size(), 100 << 16);
}

#[test]
fn unreserve_gives_the_instance_back() {
    let mut plugin = plugin(&[BASE, RESERVE, PERMIT, BIND].concat());
    assert_eq!(cycle(&mut plugin, "a"), 1);
    plugin.unreserve(&pod("a"), "n");
    assert_eq!(plugin.instances(), 2, "unreserve itself ran on another one");
    assert_eq!(cycle(&mut plugin, "b"), 1, "which the next cycle goes on with");
    assert_eq!(cycle(&mut plugin, "c"), 2, "and then the first comes round again");
    assert_eq!(plugin.instances(), 2);
}

#[test]
fn postbind_gives_the_instance_back() {
    let mut plugin = plugin(&[BASE, BIND].concat());
    for number in 1..=10 {
        let name = format!("p{number}");
        assert_eq!(cycle(&mut plugin, &name), number);
        bind(&mut plugin, &name);
    }
    assert_eq!(plugin.instances(), 1);
    assert_eq!(cycle(&mut plugin, "a"), 11);
    assert!(plugin.bind(&pod("a"), "n").is_success());
    assert_eq!(cycle(&mut plugin, "b"), 1, "while a is being bound, b runs elsewhere");
    plugin.post_bind(&pod("a"), "n");
    assert_eq!(plugin.instances(), 2);
}

#[test]
fn binding_without_a_scheduling_cycle_is_an_error() {
    let mut plugin = plugin(&[BASE, BIND].concat());
    let status = plugin.bind(&pod("a"), "n");
    assert_eq!(status.code, Code::Error);
    assert!(status.reason.starts_with("unexpected podUID"), "{}", status.reason);
}

#[test]
fn a_restart_begins_with_new_memory() {
    let mut plugin = plugin(BASE);
    assert_eq!([cycle(&mut plugin, "a"), cycle(&mut plugin, "b")], [1, 2]);
    plugin.restart().expect("starts again");
    assert_eq!(cycle(&mut plugin, "c"), 1);
    assert_eq!(plugin.instances(), 1);
}

#[test]
fn an_instance_that_fails_to_start_takes_the_others_with_it() {
    // The guest traps at start once a certain pod waits.
    let start = "(import \"k8s.io/scheduler\" \"handle.reject_waiting_pod\" (func $reject (param i32 i32 i32 i32))) ;;
        (data (i32.const 0) \"uid-w\")
        (func (export \"_start\")
            (call $reject (i32.const 0) (i32.const 5) (i32.const 8) (i32.const 8))
            (if (i32.load (i32.const 8)) (then unreachable)))";
    let scheduler = Rc::<Scheduler>::default();
    let fields = [start, BASE, PERMIT].concat();
    let mut plugin = plugin_with(&fields, Rc::clone(&scheduler), Options::default());
    assert_eq!(cycle(&mut plugin, "a"), 1);
    scheduler.waiting.borrow_mut().push(pod("w"));
    let (_, status) = plugin.pre_filter(&pod("b"));
    assert!(
        status.reason.starts_with("wasm: instantiate error: module[2] function[_start] failed: "),
        "{}",
        status.reason
    );
    scheduler.waiting.borrow_mut().clear();
    let (_, status) = plugin.pre_filter(&pod("b"));
    assert_eq!(status.reason, "wasm: prefilter error: module closed with exit_code(0)");
}
