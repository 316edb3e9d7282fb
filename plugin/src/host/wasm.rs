//! The real scheduler: upstream's imports, each beside its safe wrapper.
//!
//! Data comes in through one buffer that is kept and grows. The host answers the length it needs and writes only if
//! that fits; 0 means there is nothing.
#![allow(unsafe_code)]

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{Host, Severity};

/// Names of the host's functions hold dots and capitals, which WIT cannot spell.
mod imports {
    #[link(wasm_import_module = "k8s.io/api")]
    unsafe extern "C" {
        pub fn node(name: *const u8, name_len: usize, buffer: *mut u8, limit: usize) -> usize;
        #[link_name = "nodeList"]
        pub fn node_list(buffer: *mut u8, limit: usize) -> usize;
    }

    /// A piece of what is written, as WASI lays it out.
    #[repr(C)]
    pub struct Piece {
        pub start: *const u8,
        pub len: usize,
    }

    #[link(wasm_import_module = "wasi_snapshot_preview1")]
    unsafe extern "C" {
        pub fn fd_write(file: i32, pieces: *const Piece, count: usize, written: *mut usize) -> i32;
    }

    #[link(wasm_import_module = "k8s.io/klog")]
    unsafe extern "C" {
        pub fn logs(severity: i32, message: *const u8, message_len: usize, pairs: *const u8, pairs_len: usize);
    }

    #[link(wasm_import_module = "k8s.io/scheduler")]
    unsafe extern "C" {
        pub fn get_config(buffer: *mut u8, limit: usize) -> usize;
        #[link_name = "currentPod"]
        pub fn current_pod(buffer: *mut u8, limit: usize) -> usize;
        #[link_name = "targetPod"]
        pub fn target_pod(buffer: *mut u8, limit: usize) -> usize;
        #[link_name = "currentNodeName"]
        pub fn current_node_name(buffer: *mut u8, limit: usize) -> usize;
        #[link_name = "filteredNodeList"]
        pub fn filtered_node_list(buffer: *mut u8, limit: usize) -> usize;
        #[link_name = "result.cluster_events"]
        pub fn result_cluster_events(events: *const u8, len: usize);
        #[link_name = "result.node_names"]
        pub fn result_node_names(names: *const u8, len: usize);
        #[link_name = "result.status_reason"]
        pub fn result_status_reason(reason: *const u8, len: usize);
    }
}

/// Largest object or list that is read: 5,000 nodes of 12 KiB. Beyond it, there is nothing.
const MAX_LEN: usize = 64 << 20;

/// The scheduler that loaded this module.
pub struct Scheduler {
    buffer: Vec<u8>,
}

impl Default for Scheduler {
    /// With a buffer that fits most objects at once.
    fn default() -> Self {
        Self { buffer: vec![0; 16 << 10] }
    }
}

impl Scheduler {
    /// Fills the buffer by `call(pointer, limit) -> length`, growing it when the host asks for more.
    fn fill(&mut self, call: impl Fn(*mut u8, usize) -> usize) -> &[u8] {
        let mut len = call(self.buffer.as_mut_ptr(), self.buffer.len());
        if len > self.buffer.len() && len <= MAX_LEN {
            // A quarter more, so that a list that grows with the cluster seldom outgrows it.
            self.buffer.resize(len.saturating_add(len >> 2), 0);
            len = call(self.buffer.as_mut_ptr(), self.buffer.len());
        }
        self.buffer.get(..len).unwrap_or_default()
    }

    /// Writes a line to stderr, which the host shows when a call fails.
    pub fn stderr(&mut self, line: &str) {
        for text in [line, "\n"] {
            let piece = imports::Piece { start: text.as_ptr(), len: text.len() };
            // Nobody is left to tell if this fails, so the answer is not looked at.
            unsafe { imports::fd_write(2, &raw const piece, 1, &mut 0) };
        }
    }

    fn fill_str(&mut self, call: impl Fn(*mut u8, usize) -> usize) -> &str {
        core::str::from_utf8(self.fill(call)).unwrap_or_default()
    }
}

// SAFETY, for every call below: the host reads or writes only within the pointer and length given, during the call.
impl Host for Scheduler {
    fn config(&mut self) -> String {
        self.fill_str(|buffer, limit| unsafe { imports::get_config(buffer, limit) }).to_owned()
    }

    fn current_pod(&mut self) -> &[u8] {
        self.fill(|buffer, limit| unsafe { imports::current_pod(buffer, limit) })
    }

    fn target_pod(&mut self) -> &[u8] {
        self.fill(|buffer, limit| unsafe { imports::target_pod(buffer, limit) })
    }

    fn current_node_name(&mut self) -> &str {
        self.fill_str(|buffer, limit| unsafe { imports::current_node_name(buffer, limit) })
    }

    fn filtered_node_list(&mut self) -> &[u8] {
        self.fill(|buffer, limit| unsafe { imports::filtered_node_list(buffer, limit) })
    }

    fn node(&mut self, name: &str) -> &[u8] {
        self.fill(|buffer, limit| unsafe { imports::node(name.as_ptr(), name.len(), buffer, limit) })
    }

    fn node_list(&mut self) -> &[u8] {
        self.fill(|buffer, limit| unsafe { imports::node_list(buffer, limit) })
    }

    fn status_reason(&mut self, reason: &str) {
        unsafe { imports::result_status_reason(reason.as_ptr(), reason.len()) }
    }

    fn node_names(&mut self, names: &[&str]) {
        let mut list = String::new();
        for name in names {
            list.push_str(name);
            list.push('\0');
        }
        unsafe { imports::result_node_names(list.as_ptr(), list.len()) }
    }

    fn cluster_events(&mut self, events: &[(u32, u32)]) {
        let mut words: Vec<u8> = Vec::new();
        for (kind, action) in events {
            words.extend_from_slice(&kind.to_le_bytes());
            words.extend_from_slice(&action.to_le_bytes());
        }
        unsafe { imports::result_cluster_events(words.as_ptr(), words.len()) }
    }

    /// Always through `logs` with a pair: the host's plain `log` compares severities the wrong way round and drops
    /// errors unless its own level is set to errors.
    fn log(&mut self, severity: Severity, message: &str) {
        let pairs = "plugin\0stowage\0";
        unsafe { imports::logs(severity as i32, message.as_ptr(), message.len(), pairs.as_ptr(), pairs.len()) }
    }
}
