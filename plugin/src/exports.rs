//! The module's exports, generated from `wit/`: each takes the module's state, runs one step of a cycle, puts it back.
#![allow(missing_docs, unsafe_code)] // Both only in what wit-bindgen generates.

use alloc::boxed::Box;
use core::cell::Cell;

use crate::cycle::Module;
use crate::host::wasm::Scheduler;
use crate::host::{Code, Host, Severity};

wit_bindgen::generate!({ world: "scheduling-policy", path: "../wit" });

/// The module's memory between calls: the host keeps one instance for ever.
struct State {
    host: Scheduler,
    module: Module,
}

/// Where the state stands between calls.
struct Place(Cell<Option<Box<State>>>);

// SAFETY: the module has one thread.
unsafe impl Sync for Place {}

static STATE: Place = Place(Cell::new(None));

/// Runs a step on the module's state.
///
/// The state is out of its place during the step. If it is missing, the call before this one did not finish (or there
/// was none): what that left behind cannot be trusted, and the state is built anew from the policy and the cluster.
fn step<T>(run: impl FnOnce(&mut Module, &mut Scheduler) -> T) -> T {
    let mut state = take();
    let answer = run(&mut state.module, &mut state.host);
    put_back(state);
    answer
}

#[inline(never)]
fn take() -> Box<State> {
    STATE.0.take().unwrap_or_else(|| Box::new(start()))
}

#[inline(never)]
fn put_back(state: Box<State>) {
    // Its place is empty; to drop what is there would only cost code.
    core::mem::forget(STATE.0.replace(Some(state)));
}

/// Reads the policy. A fault in it ends the module, and thereby the scheduler's start, with the faults in the log and
/// on stderr.
#[inline(never)]
fn start() -> State {
    let mut host = Scheduler::default();
    match Module::start(&mut host) {
        Ok(module) => State { host, module },
        Err(faults) => {
            let faults = say!(faults);
            host.log(Severity::Error, &faults);
            host.stderr(&faults);
            core::arch::wasm32::unreachable()
        }
    }
}

/// Nothing here panics by itself; if something that it uses does, the host says which call it was in.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

struct Exports;

impl Guest for Exports {
    fn enqueue() {
        step(|module, host| module.enqueue(host));
    }

    fn prefilter() -> i32 {
        step(|module, host| module.pre_filter(host)) as i32
    }

    fn filter() -> i32 {
        step(|module, host| module.filter(host)) as i32
    }

    fn addpod() -> i32 {
        step(|module, host| module.add_pod(host)) as i32
    }

    fn removepod() -> i32 {
        step(|module, host| module.remove_pod(host)) as i32
    }

    fn prescore() -> i32 {
        step(|module, host| module.pre_score(host)) as i32
    }

    fn score() -> i64 {
        let score = step(|module, host| module.score(host));
        (i64::from(score) << 32) | i64::from(Code::Success as i32)
    }

    fn reserve() -> i32 {
        step(|module, host| module.reserve(host)) as i32
    }

    fn unreserve() {
        step(|module, host| module.unreserve(host));
    }
}

export!(Exports);
