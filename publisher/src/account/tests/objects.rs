//! Pods and nodes as the API server sends them.

use super::LABEL;

/// A field of a protobuf message.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = value.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    [&bytes, value].concat()
}

fn entry(number: u8, key: &str, value: &[u8]) -> Vec<u8> {
    field(number, &[field(1, key.as_bytes()), field(2, value)].concat())
}

fn number(number: u8, value: u8) -> Vec<u8> {
    assert!(value < 0x80);
    vec![number << 3, value]
}

#[derive(Clone, Default)]
pub struct PodText {
    pub name: &'static str,
    pub node: &'static str,
    pub cpu: &'static str,
    /// Another resource and how much of it is requested.
    pub device: Option<(&'static str, &'static str)>,
    pub phase: &'static str,
    pub group: &'static str,
    pub size: &'static str,
    pub placed_seconds: u8,
    /// It was told to go.
    pub leaving: bool,
    /// What Koordinator's scheduler notes on it.
    pub allocated: Option<&'static str>,
}

/// A `v1.Pod` in namespace `ml` whose UID is its name.
pub fn pod(text: &PodText) -> Vec<u8> {
    let label = |key: &str, value: &str| if value.is_empty() { Vec::new() } else { entry(11, key, value.as_bytes()) };
    let meta = [
        field(1, text.name.as_bytes()),
        field(3, b"ml"),
        field(5, text.name.as_bytes()),
        if text.leaving { field(9, &number(1, 1)) } else { Vec::new() },
        label("scheduling.x-k8s.io/pod-group", text.group),
        label(LABEL, text.size),
        text.allocated
            .map(|note| entry(12, "scheduling.koordinator.sh/device-allocated", note.as_bytes()))
            .unwrap_or_default(),
    ];
    let request = |(name, amount): (&str, &str)| entry(2, name, &field(1, amount.as_bytes()));
    let requests: Vec<u8> = [("cpu", text.cpu)].into_iter().chain(text.device).flat_map(request).collect();
    let container = [field(1, b"main"), field(8, &requests)].concat();
    let spec = [field(2, &container), field(10, text.node.as_bytes())];
    let time = field(4, &number(1, text.placed_seconds));
    let condition = [field(1, b"PodScheduled"), field(2, b"True"), time].concat();
    let status = [field(1, text.phase.as_bytes()), field(2, &condition)];
    [field(1, &meta.concat()), field(2, &spec.concat()), field(3, &status.concat())].concat()
}

pub fn on(node: &'static str, name: &'static str) -> PodText {
    PodText { name, node, cpu: "500m", ..PodText::default() }
}

pub fn node(name: &str, uid: &str, version: &str, annotation: Option<&str>) -> Vec<u8> {
    let annotation = annotation.map(|text| entry(12, "stowage.dev/node-state", text.as_bytes()));
    let parts = [
        field(1, name.as_bytes()),
        field(5, uid.as_bytes()),
        field(6, version.as_bytes()),
        annotation.unwrap_or_default(),
    ];
    field(1, &parts.concat())
}
