//! Quantities and pod requests, against what Kubernetes 1.33.4 itself makes of the same input.

use std::collections::BTreeMap;

use serde::Deserialize;
use stowage::object::{
    NativeQos, NotAQuantity, PodInfo, Quantity, RequestOptions, ResourceId, ResourceNames, Resources,
};

fn golden(name: &str) -> String {
    let path = format!("{}/testdata/resources/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn quantities_are_read_as_kubernetes_reads_them() {
    let golden = golden("quantities.tsv");
    let mut lines = 0;
    for line in golden.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [text, value, milli] = fields[..] else { panic!("three fields: {line}") };
        let quantity = Quantity::parse(text);
        if value == "none" {
            assert_eq!(quantity, Err(NotAQuantity), "{line}");
        } else {
            let expected = |number: &str| if number == "overflow" { i64::MAX } else { number.parse().unwrap() };
            let quantity = quantity.unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!((quantity.value(), quantity.milli_value()), (expected(value), expected(milli)), "{line}");
        }
        lines += 1;
    }
    assert!(lines > 500);
}

type Amounts = BTreeMap<String, i64>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    raw: String,
    pod_level_off: Totals,
    pod_level_on: Totals,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Totals {
    requests: Amounts,
    scoring: Amounts,
    placed: Amounts,
    limits: Amounts,
    qos: String,
}

#[test]
fn pods_add_up_as_in_kubernetes() {
    let mut names = ResourceNames::default();
    let mut rows = 0;
    for line in golden("pod-requests.jsonl").lines() {
        let row: Row = serde_json::from_str(line).unwrap();
        let pod = base64(&row.raw);
        for (pod_level, expected) in [(false, row.pod_level_off), (true, row.pod_level_on)] {
            let info = PodInfo::read(&pod, &mut names, &RequestOptions { pod_level }).unwrap();
            let amounts = |resources: &Resources| -> Amounts {
                resources.iter().map(|(id, amount)| (names.name(id).to_owned(), amount)).collect()
            };
            let placed = [("cpu", ResourceId::CPU), ("memory", ResourceId::MEMORY)]
                .map(|(name, id)| (name.to_owned(), info.placed.get(id)));
            let qos = match info.qos {
                NativeQos::BestEffort => "BestEffort",
                NativeQos::Burstable => "Burstable",
                NativeQos::Guaranteed => "Guaranteed",
            };
            let totals = Totals {
                requests: amounts(&info.requests),
                scoring: amounts(&info.scoring),
                placed: placed.into_iter().collect(),
                limits: amounts(&info.limits),
                qos: qos.to_owned(),
            };
            assert_eq!(totals, expected, "pod {} with pod_level {pod_level}", info.name);
        }
        rows += 1;
    }
    assert_eq!(rows, 100);
}

fn base64(text: &str) -> Vec<u8> {
    let sextet = |byte| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("not base64: {other}"),
    };
    let digits: Vec<u8> = text.trim_end_matches('=').bytes().map(sextet).collect();
    let byte = |group: &[u8], at: usize| Some(group[at] << (2 + 2 * at) | group.get(at + 1)? >> (4 - 2 * at));
    digits.chunks(4).flat_map(|group| (0..3).map_while(move |at| byte(group, at))).collect()
}
