//! A scheduler to stand in for the real one, and shorthand for modules, pods and nodes.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};
use stowage_host::framework::Handle;
use stowage_host::host::{Module, Options, WasmPlugin};
use stowage_host::object::{NodeObject, PodObject};

/// A scheduler with these nodes that writes down what plugins ask of it.
#[derive(Default)]
pub struct Scheduler {
    pub nodes: Vec<Rc<NodeObject>>,
    /// Image states by node.
    pub images: Vec<(String, String)>,
    pub waiting: RefCell<Vec<Rc<PodObject>>>,
    pub log: RefCell<Vec<String>>,
}

impl Handle for Scheduler {
    fn node(&self, name: &str) -> Option<Rc<NodeObject>> {
        self.nodes.iter().find(|node| node.name() == name).cloned()
    }

    fn nodes(&self) -> Vec<Rc<NodeObject>> {
        self.nodes.clone()
    }

    fn image_states(&self, node: &str) -> String {
        let states = self.images.iter().find(|(name, _)| name == node);
        let none = if self.node(node).is_some() { "{}" } else { "null" };
        states.map_or_else(|| none.to_owned(), |(_, states)| states.clone())
    }

    fn reject_waiting_pod(&self, uid: &str) -> bool {
        self.waiting_pod(uid).is_some()
    }

    fn waiting_pod(&self, uid: &str) -> Option<Rc<PodObject>> {
        self.waiting.borrow().iter().find(|pod| pod.uid() == uid).cloned()
    }

    fn record_event(&self, event: &str) {
        self.log.borrow_mut().push(format!("event {event}"));
    }

    fn log(&self, severity: i32, message: &str) {
        self.log.borrow_mut().push(format!("{severity} {message}"));
    }
}

pub fn pod(name: &str) -> Rc<PodObject> {
    let metadata = json!({"name": name, "namespace": "default", "uid": format!("uid-{name}")});
    pod_of(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}}))
}

pub fn pod_of(json: Value) -> Rc<PodObject> {
    Rc::new(PodObject::from_json(&json).expect("a pod"))
}

pub fn node(name: &str) -> Rc<NodeObject> {
    let json = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
    Rc::new(NodeObject::new(serde_json::from_value(json).expect("a node")))
}

/// The bytes of a module with these fields and, unless it says otherwise, a memory of one page.
pub fn wasm(fields: &str) -> Vec<u8> {
    let memory = if fields.contains("\"memory\"") { "" } else { "(memory (export \"memory\") 1)" };
    // Imports come before everything else.
    let (imports, rest) = fields.split_once(";;").unwrap_or(("", fields));
    wat::parse_str(format!("(module $test {imports} {memory} {rest})")).expect("WAT")
}

pub fn module(fields: &str) -> Module {
    Module::from_bytes(&wasm(fields)).expect("a module for the host")
}

pub fn plugin(fields: &str) -> WasmPlugin {
    plugin_with(fields, Rc::default(), Options::default())
}

pub fn plugin_with(fields: &str, scheduler: Rc<Scheduler>, options: Options) -> WasmPlugin {
    WasmPlugin::new(&module(fields), "config", scheduler, options).expect("the module starts")
}
