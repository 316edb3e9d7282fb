//! Reads everything that can be read of an object and checks what must hold for any bytes.
//!
//! Property tests and fuzz targets share these functions.
#![allow(dead_code)] // Each of them uses a part.

pub mod cycle;

use stowage::cluster::NodeState;
use stowage::config::Policy;
use stowage::json::Json;
use stowage::object::{
    Container, Error, GpuNames, GpuRequest, Metadata, Node, Pod, PodInfo, Quantity, RequestOptions, ResourceId,
    ResourceNames, Resources,
};

/// Reads `bytes` as a pod.
pub fn pod(bytes: &[u8]) {
    let mut names = ResourceNames::default();
    let parsed = Pod::parse(bytes);
    for pod_level in [false, true] {
        let info = PodInfo::read(bytes, &mut names, &RequestOptions { pod_level });
        match (&parsed, info) {
            (Err(expected), info) => assert_eq!(info.err().as_ref(), Some(expected)),
            (Ok(_), Ok(info)) => facts(&info, &names),
            (Ok(_), Err(error)) => short(&error),
        }
    }
    let Ok(pod) = parsed else { return };
    metadata(&pod.meta);
    for container in pod.containers().chain(pod.init_containers()).flatten() {
        self::container(&container);
    }
    for status in pod.container_statuses().flatten() {
        status.allocated.iter().for_each(drop);
    }
    for (key, _) in pod.node_selector().chain(pod.meta.labels()) {
        if let Ok(Some(values)) = pod.allowed_values(key) {
            assert!(values.is_sorted());
        }
    }
    let _ = (pod.scheduling_group(), pod.workload_ref(), pod.is_resize_infeasible());
}

/// Reads `bytes` as a node.
pub fn node(bytes: &[u8]) {
    let node = match Node::parse(bytes) {
        Ok(node) => node,
        Err(error) => return short(&error),
    };
    metadata(&node.meta);
    let mut names = ResourceNames::default();
    for amounts in [node.allocatable(&mut names), node.capacity(&mut names)] {
        match amounts {
            Ok(amounts) => gpus(&amounts, &names),
            Err(error) => short(&error),
        }
    }
}

/// Reads `text` as a quantity.
pub fn quantity(text: &str) {
    let Ok(quantity) = Quantity::parse(text) else { return };
    let (value, milli) = (quantity.value(), quantity.milli_value());
    assert_eq!(quantity.is_positive(), value > 0);
    // Rounding away from zero, the coarser number is the greater one, by less than a unit.
    let distance = (i128::from(value) * 1000 - i128::from(milli)).abs();
    let saturated = milli == i64::MAX || milli == i64::MIN;
    assert!(saturated || distance < 1000, "{text}: {value} units, {milli} milli");
    assert_eq!(Quantity::parse(&value.to_string()), Ok(Quantity::units(value)));
    if !text.starts_with(['+', '-']) {
        let negative = Quantity::parse(&format!("-{text}")).unwrap();
        let mirrored = |negative: i64, positive: i64| negative == -positive || positive == i64::MAX;
        assert!(mirrored(negative.value(), value) && mirrored(negative.milli_value(), milli), "{text}");
    }
}

fn metadata(meta: &Metadata<'_>) {
    for (key, _) in meta.labels().take(100) {
        assert_eq!(meta.label(key), meta.labels().filter(|(found, _)| *found == key).last().map(|(_, value)| value));
    }
    assert_eq!(meta.annotation("stowage.dev/none of these"), None);
    assert_eq!(meta.controller().is_some(), meta.owners().any(|owner| owner.controller));
}

fn container(container: &Container<'_>) {
    container.env().for_each(drop);
    container.resources.requests().iter().chain(container.resources.limits().iter()).for_each(drop);
}

fn facts(info: &PodInfo, names: &ResourceNames) {
    for id in [ResourceId::CPU, ResourceId::MEMORY] {
        assert!(info.scoring.get(id) >= info.requests.get(id));
        assert!(info.placed.get(id) <= info.scoring.get(id));
    }
    gpus(&info.requests, names);
}

fn gpus(resources: &Resources, names: &ResourceNames) {
    let mut gpus = GpuNames::default();
    gpus.learn(names);
    if let Some(GpuRequest { count, milli }) = gpus.request(resources) {
        assert!(count >= 1 && (1..=GpuRequest::WHOLE).contains(&milli) && gpus.any(resources));
    }
}

/// Messages end up in conditions and logs.
fn short(error: &Error) {
    assert!(error.to_string().chars().count() < 400);
}

/// Reads `bytes` as a node-state document; what is accepted is sane and survives a round trip.
pub fn node_state(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match NodeState::parse(text) {
        Err(unknown) => assert!(!unknown.to_string().is_empty()),
        Ok(state) => {
            assert_eq!(u32::try_from(state.uids.len()).ok(), Some(state.pods));
            assert!(state.requested.iter().chain(state.nonzero.iter()).all(|(_, amount)| *amount >= 0));
            assert!(state.gpu_free.iter().all(|free| *free <= 1000));
            assert_eq!(NodeState::parse(&state.to_json()).as_ref(), Ok(&state));
        }
    }
}

/// Reads `bytes` as JSON; what comes out is what serde_json reads.
pub fn json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match (Json::parse(text), serde_json::from_str::<serde_json::Value>(text)) {
        (Ok(ours), Ok(theirs)) => assert!(same(&ours, &theirs), "{text:?}"),
        (Err(_), Err(_)) => {}
        // Numbers beyond a double's range are beyond any use here, so their range is not looked at.
        (Ok(_), Err(error)) if error.to_string().contains("number out of range") => {}
        (ours, theirs) => panic!("{text:?}: {ours:?}, serde_json: {theirs:?}"),
    }
}

fn same(ours: &Json<'_>, theirs: &serde_json::Value) -> bool {
    use serde_json::Value;
    match (ours, theirs) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(one), Value::Bool(other)) => one == other,
        // serde_json takes -0 for a fraction.
        (Json::Integer(0), Value::Number(number)) => number.as_f64() == Some(0.0),
        (Json::Integer(one), Value::Number(number)) => number.as_i64() == Some(*one),
        (Json::OtherNumber, Value::Number(number)) => number.as_i64().is_none(),
        (Json::Text(one), Value::String(other)) => one == other,
        (Json::List(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Json::Object(one), Value::Object(other)) => {
            one.iter().all(|(name, _)| other.contains_key(&**name))
                && other.iter().all(|(name, value)| ours.get(name).is_some_and(|found| same(found, value)))
        }
        _ => false,
    }
}

/// Reads `bytes` as a policy document; every fault says something.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(faults) = Policy::parse(text) {
        assert!(!faults.is_empty() && faults.to_string().lines().all(|line| line.starts_with("policy: ")));
    }
}
