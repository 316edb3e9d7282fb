//! Free thousandths of single GPUs.

use super::*;

const CORE: &str = "koordinator.sh/gpu-core";

fn device(health: [bool; 3]) -> String {
    let gpu =
        |minor: usize| format!(r#"{{"type":"gpu","id":"GPU-{minor}","minor":{minor},"health":{}}}"#, health[minor]);
    let rdma = r#"{"type":"rdma","minor":7,"health":true}"#;
    format!(r#"{{"metadata":{{"name":"a"}},"spec":{{"devices":[{},{rdma},{},{}]}}}}"#, gpu(2), gpu(0), gpu(1))
}

/// An account that knows of three GPUs on the node `a`.
fn three() -> Account {
    let mut account = account();
    account.devices_listing();
    account.devices_applied(device([true; 3]).as_bytes()).unwrap();
    account.devices_listed();
    assert_eq!(dirty(&mut account), ["a"]);
    account
}

fn free(account: &mut Account) -> Vec<u16> {
    state(account, 1_000_000).gpu_free
}

fn put(
    account: &mut Account,
    name: &'static str,
    device: (&'static str, &'static str),
    allocated: Option<&'static str>,
) {
    account.pod_applied(&pod(&PodText { device: Some(device), allocated, ..on("a", name) })).unwrap();
}

#[test]
fn shares_count_on_the_gpu_that_they_are_of() {
    let mut account = three();
    assert_eq!(free(&mut account), [1000, 1000, 1000]);
    // Written as a string and as a number; the scarcer of cores and memory counts, each summed up by itself.
    let first =
        r#"{"gpu":[{"minor":2,"resources":{"koordinator.sh/gpu-core":"50","koordinator.sh/gpu-memory-ratio":"20"}}]}"#;
    let second = r#"{"gpu":[{"minor":2,"resources":{"koordinator.sh/gpu-core":10,"koordinator.sh/gpu-memory-ratio":70}}],
        "rdma":[{"minor":0,"resources":{"koordinator.sh/rdma":"1"}}]}"#;
    put(&mut account, "p1", (CORE, "50"), Some(first));
    assert_eq!(free(&mut account), [1000, 1000, 500]);
    put(&mut account, "p2", (CORE, "10"), Some(second));
    assert_eq!(free(&mut account), [1000, 1000, 100]);
    account.pod_deleted(&pod(&on("a", "p1"))).unwrap();
    assert_eq!(free(&mut account), [1000, 1000, 300]);

    // Two whole ones, wherever they are; then a GPU fails, and what was on it is no longer of interest.
    put(&mut account, "p3", ("nvidia.com/gpu", "2"), None);
    assert_eq!(free(&mut account), [0, 0, 300]);
    account.take_dirty();
    account.devices_applied(device([true, true, false]).as_bytes()).unwrap();
    assert_eq!(dirty(&mut account), ["a"]);
    assert_eq!(free(&mut account), [0, 0]);
    account.devices_applied(device([true, true, false]).as_bytes()).unwrap();
    assert_eq!(dirty(&mut account).len(), 0, "nothing has changed");
}

#[test]
fn what_cannot_be_told_is_not_guessed() {
    let whole = ("nvidia.com/gpu", "1");
    let bytes = r#"{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-memory":"8Gi"}}]}"#;
    for (device, allocated) in [
        (("nvidia.com/gpu", "4"), None),
        ((CORE, "50"), None),
        (("koordinator.sh/gpu-memory", "8Gi"), None),
        (("koordinator.sh/gpu-memory", "8Gi"), Some(bytes)),
        (whole, Some("three")),
        (whole, Some(r#"{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"much"}}]}"#)),
        (("nvidia.com/gpu", "9000000000000000000"), None),
    ] {
        let mut account = three();
        put(&mut account, "p1", device, allocated);
        assert_eq!(free(&mut account), [0; 0], "{device:?}, {allocated:?}");
        assert_eq!(state(&mut account, 0).pods, 1, "it is counted all the same");
    }
    let mut account = three();
    account.pod_applied(&pod(&on("a", "p1"))).unwrap();
    put(&mut account, "p2", ("koordinator.sh/rdma", "1"), Some(r#"{"rdma":[{"minor":0}]}"#));
    put(
        &mut account,
        "p3",
        (CORE, "50"),
        Some(r#"{"gpu":[{"minor":-1,"resources":{"koordinator.sh/gpu-core":"-5"}}]}"#),
    );
    assert_eq!(free(&mut account), [1000, 1000, 1000], "what has none, and what is on none");
}

#[test]
fn without_a_device_object_nothing_is_known() {
    let mut account = three();
    account.devices_listing();
    account.devices_listed();
    assert_eq!((dirty(&mut account), free(&mut account)), (vec!["a".to_owned()], Vec::new()));
    account.devices_applied(device([true; 3]).as_bytes()).unwrap();
    assert_eq!(free(&mut account).len(), 3);
    account.devices_deleted(device([true; 3]).as_bytes()).unwrap();
    assert_eq!(free(&mut account).len(), 0);
    let elsewhere = device([true; 3]).replace(r#""name":"a""#, r#""name":"nowhere""#);
    account.take_dirty();
    account.devices_applied(elsewhere.as_bytes()).unwrap();
    assert_eq!(dirty(&mut account).len(), 0);
    assert!(account.devices_applied(b"{}").is_err() && account.devices_deleted(b"[]").is_err());
}
