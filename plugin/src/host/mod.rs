//! What the scheduler offers to a module, as a trait.
//!
//! The module itself talks to the real scheduler through its `wasm` module; tests and fuzz targets implement [`Host`] natively,
//! so that whole cycles run without a sandbox.

use alloc::string::String;

#[cfg(any(test, target_family = "wasm"))]
mod memory;
#[cfg(target_family = "wasm")]
pub mod wasm;

/// How loud a log line is (klog's own numbers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Severity {
    /// Worth reading when one looks for something.
    Info = 0,
    /// Something the operator should mend.
    Error = 2,
}

/// The scheduler, seen from inside one call.
///
/// Every getter answers an empty slice or string where the scheduler has nothing to give.
pub trait Host {
    /// The policy document (`guestConfig`).
    fn config(&mut self) -> String;
    /// The pod whose cycle this is, as protobuf `v1.Pod`.
    fn current_pod(&mut self) -> &[u8];
    /// The pod that preemption adds or removes, as protobuf `v1.Pod`.
    fn target_pod(&mut self) -> &[u8];
    /// The node that the current call is about.
    fn current_node_name(&mut self) -> &str;
    /// The nodes that passed every filter, as a JSON array of names. PreScore only.
    fn filtered_node_list(&mut self) -> &[u8];
    /// The named node from the scheduler's snapshot, as protobuf `v1.Node`; empty if there is none.
    fn node(&mut self, name: &str) -> &[u8];
    /// All nodes of the scheduler's snapshot, as protobuf `v1.NodeList`. Costs the scheduler microseconds per node.
    fn node_list(&mut self) -> &[u8];
    /// Why the pod was rejected; goes into the pod's condition.
    fn status_reason(&mut self, reason: &str);
    /// Restricts the cycle to these nodes (PreFilter only).
    fn node_names(&mut self, names: &[&str]);
    /// The events after which a rejected pod is tried again (enqueue only): pairs of object kind and action.
    fn cluster_events(&mut self, events: &[(u32, u32)]);
    /// Writes a line to the scheduler's log.
    fn log(&mut self, severity: Severity, message: &str);
}

/// What an extension point answers (the framework's own codes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// Go on.
    Success = 0,
    /// An internal failure; the pod is retried with backoff.
    Error = 1,
    /// Not now; evicting others may help, so preemption is tried.
    Unschedulable = 2,
    /// Not now, and evicting others would not help.
    UnschedulableAndUnresolvable = 3,
    /// This plugin has no opinion in this cycle: do not call its Filter (or Score).
    Skip = 5,
}
