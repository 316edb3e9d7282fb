//! Whatever the bytes, reading them ends without a trap.

mod encode;
mod walk;

use encode::{entry, field, quantity};
use proptest::prelude::*;
use stowage::object::{Node, Pod, PodInfo, Quantity, RequestOptions, ResourceId, ResourceNames};

const OBJECTS: [&str; 5] = ["pod-plain", "pod-batch", "pod-besteffort", "pod-guaranteed", "node-gpu-rich"];

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/testdata/protobuf/{name}.raw", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// A node whose state says that nothing runs there. Of two `metadata` the last counts.
fn empty_node() -> Vec<u8> {
    let state = entry(12, "stowage.dev/node-state", r#"{"v":1,"at":1}"#);
    [golden("node-gpu-rich"), field(1, [field(1, "a"), state])].concat()
}

#[test]
fn cycles_score_what_can_be_read() {
    assert_eq!(walk::cycle::cycle(&golden("pod-besteffort"), &empty_node()), 100);
}

#[test]
fn objects_cut_short_anywhere() {
    for name in OBJECTS {
        let bytes = golden(name);
        for length in 0..bytes.len() {
            let cut = &bytes[..length];
            walk::pod(cut);
            walk::node(cut);
        }
        // Cut within a part, what comes out is an error, never a pod with something missing.
        let complete = |length: usize| Pod::parse(&bytes[..length]).is_ok();
        assert!((1..bytes.len()).filter(|length| complete(*length)).count() <= 2, "between the parts only");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        walk::pod(&bytes);
        walk::node(&bytes);
    }

    #[test]
    fn objects_with_bytes_changed(
        name in prop::sample::select(&OBJECTS[..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut bytes = golden(name);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        walk::pod(&bytes);
        walk::node(&bytes);
        walk::cycle::cycle(&bytes, &empty_node());
    }

    #[test]
    fn cycles_on_nodes_with_bytes_changed(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = empty_node();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        walk::cycle::cycle(&golden("pod-besteffort"), &bytes);
    }

    #[test]
    fn any_text_as_a_quantity(text in "[-+]?[0-9.]{0,40}([numkMGTPE]i?|[eE][-+]?[0-9]{0,25})?|\\PC*") {
        walk::quantity(&text);
    }

    #[test]
    fn quantities_against_fractions(
        negative: bool,
        digits in 0..1_000_000_000_000_000_i128,
        decimals in 0..16_usize,
        suffix in prop::sample::select(&SUFFIXES[..]),
    ) {
        let (suffix, ten, two) = suffix;
        let padded = format!("{digits:016}");
        let (whole, fraction) = padded.split_at(16 - decimals);
        let text = format!("{}{whole}.{fraction}{suffix}", if negative { "-" } else { "" });
        let quantity = Quantity::parse(&text).unwrap();

        // digits * 2^two * 10^ten / 10^decimals, times 1000 or not, rounded away from zero.
        let power = |exponent: i32| 10_i128.pow(exponent.unsigned_abs());
        let expected = |scale: i32| {
            let exponent = ten - decimals as i32 + scale;
            let number = digits << two;
            let magnitude = if exponent >= 0 { number * power(exponent) } else { (number + power(exponent) - 1) / power(exponent) };
            (if negative { -magnitude } else { magnitude }).clamp(i64::MIN.into(), i64::MAX.into())
        };
        prop_assert_eq!(i128::from(quantity.value()), expected(0), "{}", text);
        // What is below a nano has been rounded up to one before, which is at most one more milli.
        prop_assert_eq!(i128::from(quantity.milli_value()), expected(3), "{}", text);
    }

    #[test]
    fn sums_are_rounded_once(parts in prop::collection::vec(-1_000_000_000_000_i64..1_000_000_000_000, 0..20)) {
        let sum = parts
            .iter()
            .map(|nanos| Quantity::parse(&format!("{nanos}n")).unwrap())
            .fold(Quantity::ZERO, Quantity::saturating_add);
        let nanos: i64 = parts.iter().sum();
        prop_assert_eq!(sum, Quantity::parse(&format!("{nanos}n")).unwrap());
    }
}

/// Suffixes with their powers of ten and two.
const SUFFIXES: [(&str, i32, u32); 18] = [
    ("n", -9, 0),
    ("u", -6, 0),
    ("m", -3, 0),
    ("", 0, 0),
    ("k", 3, 0),
    ("M", 6, 0),
    ("G", 9, 0),
    ("T", 12, 0),
    ("P", 15, 0),
    ("E", 18, 0),
    ("Ki", 0, 10),
    ("Mi", 0, 20),
    ("Gi", 0, 30),
    ("Ti", 0, 40),
    ("Pi", 0, 50),
    ("Ei", 0, 60),
    ("e4", 4, 0),
    ("E-8", -8, 0),
];

#[test]
fn ten_thousand_labels() {
    let labels: Vec<_> = (0..10_000).map(|at| entry(11, &format!("example.com/label-{at}"), &at.to_string())).collect();
    let bytes = field(1, labels);
    let node = Node::parse(&bytes).unwrap();
    assert_eq!(node.meta.labels().count(), 10_000);
    assert_eq!(node.meta.label("example.com/label-9999"), Some("9999"));
    walk::pod(&bytes);
}

#[test]
fn ten_thousand_containers() {
    let container = |at: u32| {
        let resources = [quantity(2, "cpu", "1m"), quantity(1, "memory", "1Ki")];
        field(2, [field(1, format!("c{at}").as_str()), field(8, resources)])
    };
    let status = |at: u32| {
        field(
            8,
            [field(1, format!("c{at}").as_str()), field(11, [quantity(2, "cpu", "2m")]), quantity(10, "cpu", "1500u")],
        )
    };
    let spec: Vec<_> = (0..10_000).map(container).collect();
    let bytes = [field(2, spec), field(3, (0..10_000).rev().map(status).collect::<Vec<_>>())].concat();
    let info = PodInfo::read(&bytes, &mut ResourceNames::default(), &RequestOptions::default()).unwrap();
    assert_eq!(info.requests.get(ResourceId::CPU), 20_000);
    assert_eq!(info.limits.get(ResourceId::MEMORY), 10_240_000);
}

#[test]
fn a_megabyte_of_anything() {
    for byte in [0x00, 0x03, 0x0a, 0x0b, 0x12, 0x80, 0xff] {
        let bytes = vec![byte; 1_000_000];
        walk::pod(&bytes);
        walk::node(&bytes);
    }
    for text in ["9", "0", ".", "1e9", "-", "0.0"] {
        walk::quantity(&text.repeat(300_000));
    }
    walk::quantity(&format!("1.{}Ei", "9".repeat(1_000_000)));
}
