//! A scheduler made of plain values, for native tests of whole cycles.

use std::collections::BTreeMap;

use crate::host::{Host, Severity};

/// Builds protobuf messages field by field.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(u8::try_from(value & 0x7f).expect("seven bits") | 0x80);
            value >>= 7;
        }
        self.0.push(u8::try_from(value).expect("seven bits"));
    }

    /// A length-delimited field: string, bytes or message.
    pub fn bytes(mut self, tag: u64, bytes: &[u8]) -> Self {
        self.varint(tag << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// A number or flag.
    pub fn varint_field(mut self, tag: u64, value: u64) -> Self {
        self.varint(tag << 3);
        self.varint(value);
        self
    }

    /// A nested message.
    pub fn message(self, tag: u64, message: Self) -> Self {
        self.bytes(tag, &message.0)
    }

    /// A map from string to string.
    pub fn strings(self, tag: u64, map: &[(&str, &str)]) -> Self {
        map.iter().fold(self, |message, (key, value)| {
            message.message(tag, Self::default().bytes(1, key.as_bytes()).bytes(2, value.as_bytes()))
        })
    }

    /// A map from string to quantity.
    pub fn quantities(self, tag: u64, map: &[(&str, &str)]) -> Self {
        map.iter().fold(self, |message, (key, value)| {
            let quantity = Self::default().bytes(1, value.as_bytes());
            message.message(tag, Self::default().bytes(1, key.as_bytes()).message(2, quantity))
        })
    }

    /// The encoded message.
    pub fn encode(self) -> Vec<u8> {
        self.0
    }
}

/// `v1.Node` with labels, annotations and allocatable.
pub fn node(
    name: &str,
    labels: &[(&str, &str)],
    annotations: &[(&str, &str)],
    allocatable: &[(&str, &str)],
) -> Vec<u8> {
    let meta = Message::default().bytes(1, name.as_bytes()).strings(11, labels).strings(12, annotations);
    let status = Message::default().quantities(2, allocatable);
    Message::default().message(1, meta).message(2, Message::default()).message(3, status).encode()
}

/// `v1.Pod` of one container, in namespace `ns`, its UID its name.
pub fn pod(name: &str, labels: &[(&str, &str)], requests: &[(&str, &str)]) -> Vec<u8> {
    let meta =
        Message::default().bytes(1, name.as_bytes()).bytes(3, b"ns").bytes(5, name.as_bytes()).strings(11, labels);
    let container = Message::default().bytes(1, b"main").message(8, Message::default().quantities(2, requests));
    Message::default().message(1, meta).message(2, Message::default().message(2, container)).encode()
}

/// The scheduler's side of the calls.
#[derive(Debug, Default)]
pub struct FakeHost {
    pub config: String,
    pub nodes: BTreeMap<String, Vec<u8>>,
    pub current_pod: Vec<u8>,
    pub target_pod: Vec<u8>,
    pub current_node: String,
    pub filtered: Vec<u8>,
    pub reason: String,
    pub node_names: Vec<String>,
    pub events: Vec<(u32, u32)>,
    pub log: Vec<String>,
    /// The list of all nodes, as last asked for.
    pub list: Vec<u8>,
    /// How many nodes were asked for.
    pub node_reads: usize,
}

impl FakeHost {
    /// Adds or replaces a node.
    pub fn set_node(&mut self, name: &str, bytes: Vec<u8>) {
        self.nodes.insert(name.to_owned(), bytes);
    }

    /// Says that all nodes passed the filters.
    pub fn filter_all(&mut self) {
        self.filtered = serde_json::to_vec(&self.nodes.keys().collect::<Vec<_>>()).expect("names are strings");
    }
}

impl Host for FakeHost {
    fn config(&mut self) -> String {
        self.config.clone()
    }
    fn current_pod(&mut self) -> &[u8] {
        &self.current_pod
    }
    fn target_pod(&mut self) -> &[u8] {
        &self.target_pod
    }
    fn current_node_name(&mut self) -> &str {
        &self.current_node
    }
    fn filtered_node_list(&mut self) -> &[u8] {
        &self.filtered
    }
    fn node(&mut self, name: &str) -> &[u8] {
        self.node_reads += 1;
        self.nodes.get(name).map_or(&[], Vec::as_slice)
    }
    fn node_list(&mut self) -> &[u8] {
        let list = self.nodes.values().fold(Message::default(), |list, node| list.bytes(2, node));
        self.list = list.encode();
        &self.list
    }
    fn status_reason(&mut self, reason: &str) {
        assert!(!reason.contains('%'), "the scheduler takes it for a format: {reason}");
        reason.clone_into(&mut self.reason);
    }
    fn node_names(&mut self, names: &[&str]) {
        self.node_names = names.iter().map(|name| (*name).to_owned()).collect();
    }
    fn cluster_events(&mut self, events: &[(u32, u32)]) {
        self.events = events.to_vec();
    }
    fn log(&mut self, _severity: Severity, message: &str) {
        self.log.push(message.to_owned());
    }
}
