//! Against objects that a real API server serialised, and against the corners they do not reach.

use std::path::Path;

use serde_json::{Value, json};

use super::schema::{Field, Kind, MessageId, SCHEMA, Shape};

/// The fields of a message as `path = value` lines, without what is empty: where Go writes an empty string we write
/// nothing, and no reader can tell the difference by value.
fn decoded(id: MessageId, bytes: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    flatten(id, "", bytes, &mut lines);
    lines
}

fn flatten(id: MessageId, path: &str, bytes: &[u8], lines: &mut Vec<String>) {
    /// `ObjectMeta.managedFields`, which the scheduler trims.
    const MANAGED_FIELDS: u64 = 17;
    let mut counts = vec![0; SCHEMA.messages[id].len()];
    for (tag, value) in fields(bytes) {
        let Some(index) = SCHEMA.messages[id].iter().position(|field| u64::from(field.tag) == tag) else {
            assert_eq!(tag, MANAGED_FIELDS, "a field that the schema lacks, under {path}");
            continue;
        };
        let field = &SCHEMA.messages[id][index];
        let path = format!("{path}.{}", field.name);
        match (field.shape, &value) {
            (Shape::One | Shape::Inline, value) => flatten_value(field, path, value, lines),
            (Shape::List, value) => flatten_value(field, format!("{path}[{}]", counts[index]), value, lines),
            (Shape::Map, Wire::Bytes(entry)) => match fields(entry).as_slice() {
                [(1, key), (2, value)] => flatten_value(field, format!("{path}[{}]", key.text()), value, lines),
                other => panic!("map entry {other:?}"),
            },
            other => panic!("{path}: {:?}", other.1),
        }
        counts[index] += 1;
    }
}

fn flatten_value(field: &Field, path: String, value: &Wire<'_>, lines: &mut Vec<String>) {
    let text = match (field.kind, value) {
        (Kind::Message(id), Wire::Bytes(bytes)) => return flatten(id, &path, bytes, lines),
        (Kind::Quantity | Kind::Time | Kind::IntOrString, Wire::Bytes(bytes)) => {
            let parts = fields(bytes).into_iter().map(|(tag, value)| (tag, value.text()));
            let parts = parts.filter(|(_, text)| !["", "0"].contains(&text.as_str()));
            parts.map(|(tag, text)| format!("{tag}:{text}")).collect::<Vec<_>>().join(" ")
        }
        (Kind::Text | Kind::Bytes, Wire::Bytes(_)) | (Kind::Integer | Kind::Bool, Wire::Varint(_)) => value.text(),
        _ => panic!("{path}: {value:?}"),
    };
    if !["", "0"].contains(&text.as_str()) {
        lines.push(format!("{path} = {text}"));
    }
}

#[derive(Debug)]
enum Wire<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
}

impl Wire<'_> {
    fn text(&self) -> String {
        match self {
            Wire::Varint(value) => value.cast_signed().to_string(),
            Wire::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Wire<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match (key & 7, varint(&mut bytes)) {
            (0, value) => Wire::Varint(value),
            (2, length) => {
                let (value, rest) = bytes.split_at(usize::try_from(length).expect("a length"));
                bytes = rest;
                Wire::Bytes(value)
            }
            (other, _) => panic!("wire type {other}"),
        };
        fields.push((key >> 3, value));
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("a whole number");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

fn golden(name: &str) -> (Value, Vec<u8>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/protobuf");
    let read = |extension| std::fs::read(folder.join(name).with_extension(extension)).expect("test data");
    (serde_json::from_slice(&read("json")).expect("JSON"), read("raw"))
}

#[test]
fn pods_equal_those_of_the_api_server() {
    for name in ["pod-batch", "pod-besteffort", "pod-guaranteed", "pod-plain"] {
        let (json, raw) = golden(name);
        let expected = decoded(SCHEMA.pod, &raw);
        assert!(expected.len() > 20, "{name} has content");
        assert_eq!(decoded(SCHEMA.pod, &super::pod(&json)), expected, "{name}");
    }
}

#[test]
fn nodes_equal_those_of_the_api_server() {
    let (json, raw) = golden("node-gpu-rich");
    assert_eq!(decoded(SCHEMA.node, &super::node(&json)), decoded(SCHEMA.node, &raw));
}

#[test]
fn embedded_structs_and_unions_keep_their_fields() {
    let pod = json!({"spec": {
        "volumes": [{"name": "v", "configMap": {"name": "cm", "items": [{"key": "k", "path": "p"}]}}],
        "supplementalGroups": [],
        "securityContext": {"supplementalGroups": [-1, 0, 7]},
        "containers": [{
            "name": "c",
            "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": true}}}],
            "livenessProbe": {"httpGet": {"port": "http", "path": "/"}, "periodSeconds": 3},
            "readinessProbe": {"tcpSocket": {"port": 80}}}],
        "ephemeralContainers": [{"name": "debug", "image": "i", "targetContainerName": "c"}]}});
    assert_eq!(
        decoded(SCHEMA.pod, &super::pod(&pod)),
        [
            ".spec.volumes[0].name = v",
            ".spec.volumes[0].volumeSource.configMap.localObjectReference.name = cm",
            ".spec.volumes[0].volumeSource.configMap.items[0].key = k",
            ".spec.volumes[0].volumeSource.configMap.items[0].path = p",
            ".spec.containers[0].name = c",
            ".spec.containers[0].env[0].name = E",
            ".spec.containers[0].env[0].valueFrom.secretKeyRef.localObjectReference.name = s",
            ".spec.containers[0].env[0].valueFrom.secretKeyRef.key = k",
            ".spec.containers[0].env[0].valueFrom.secretKeyRef.optional = 1",
            ".spec.containers[0].livenessProbe.handler.httpGet.path = /",
            ".spec.containers[0].livenessProbe.handler.httpGet.port = 1:1 3:http",
            ".spec.containers[0].livenessProbe.periodSeconds = 3",
            ".spec.containers[0].readinessProbe.handler.tcpSocket.port = 2:80",
            ".spec.securityContext.supplementalGroups[0] = -1",
            ".spec.securityContext.supplementalGroups[2] = 7",
            ".spec.ephemeralContainers[0].ephemeralContainerCommon.name = debug",
            ".spec.ephemeralContainers[0].ephemeralContainerCommon.image = i",
            ".spec.ephemeralContainers[0].targetContainerName = c",
        ]
    );
}

#[test]
fn group_references_are_written_under_their_tags() {
    let pod = json!({"spec": {
        "workloadRef": {"name": "w", "podGroup": "g", "podGroupReplicaKey": "0"},
        "schedulingGroup": {"podGroupName": "pg"}}});
    let spec = [
        [0xd2, 0x02, 9, 0x0a, 1, b'w', 0x12, 1, b'g', 0x1a, 1, b'0'].as_slice(),
        &[0xda, 0x02, 4, 0x0a, 2, b'p', b'g'],
    ]
    .concat();
    assert_eq!(super::pod(&pod), [&[0x12, spec.len() as u8], spec.as_slice()].concat());
}

#[test]
fn what_does_not_fit_is_left_out() {
    let pod = json!({"metadata": {"name": 7, "labels": ["a"], "creationTimestamp": "yesterday", "uid": "u"},
        "spec": {"priority": 1.5, "hostNetwork": "yes", "nodeName": null, "madeUp": {}}});
    assert_eq!(decoded(SCHEMA.pod, &super::pod(&pod)), [".metadata.uid = u"]);
    assert!(super::pod(&json!("text")).is_empty());
}

#[test]
fn fractions_of_a_second_survive() {
    let node = json!({"metadata": {"creationTimestamp": "2026-11-29T22:19:42.5Z"}});
    let expected = [".metadata.creationTimestamp = 1:1795990782 2:500000000"];
    assert_eq!(decoded(SCHEMA.node, &super::node(&node)), expected);
}

#[test]
fn a_list_holds_its_nodes_in_order() {
    let nodes: Vec<_> = ["a", "b"].iter().map(|name| super::node(&json!({"metadata": {"name": name}}))).collect();
    let list = super::node_list(nodes.iter().map(Vec::as_slice));
    let items: Vec<_> = fields(&list).into_iter().map(|(tag, item)| (tag, item.text().into_bytes())).collect();
    assert_eq!(items, [(2, nodes[0].clone()), (2, nodes[1].clone())]);
}

#[test]
fn maps_are_written_in_the_order_of_their_keys() {
    let pod = json!({"metadata": {"labels": {"b": "2", "a": "1"}}});
    let expected = [".metadata.labels[a] = 1", ".metadata.labels[b] = 2"];
    assert_eq!(decoded(SCHEMA.pod, &super::pod(&pod)), expected);
}

#[test]
fn bytes_are_decoded_from_base64() {
    assert_eq!(super::encode::base64("c3Rvd2FnZQ=="), Some(b"stowage".to_vec()));
    assert_eq!(super::encode::base64("not base64!"), None);
}
