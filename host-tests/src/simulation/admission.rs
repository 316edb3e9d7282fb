//! What the API server does to a pod that is created.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, PodStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as Timestamp;
use k8s_openapi::jiff;

use crate::scheduler::Time;

/// The moment at which every run starts: 2026-01-01T00:00:00Z, in seconds since 1970.
const EPOCH: i64 = 1_767_225_600;

/// Simulated time as the wall clock shows it.
#[must_use]
pub fn timestamp(time: Time) -> Timestamp {
    let seconds = EPOCH.saturating_add_unsigned(time.as_secs());
    Timestamp(jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX))
}

/// Simulated time in milliseconds since 1970.
#[must_use]
pub fn milliseconds(time: Time) -> i64 {
    i64::try_from(time.as_millis()).map_or(i64::MAX, |elapsed| elapsed.saturating_add(EPOCH * 1000))
}

/// Fills in what a manifest may leave out. `number` is different for every pod of a run.
pub fn admit(pod: &mut Pod, number: u64, now: Time) {
    let meta = &mut pod.metadata;
    let namespace = meta.namespace.get_or_insert_with(|| "default".to_owned());
    let name = meta.name.get_or_insert_with(|| format!("pod-{number}"));
    if meta.uid.as_deref().unwrap_or_default().is_empty() {
        meta.uid = Some(uid(namespace, name, number));
    }
    meta.creation_timestamp.get_or_insert_with(|| timestamp(now));
    let spec = pod.spec.get_or_insert_with(PodSpec::default);
    let containers = spec.init_containers.iter_mut().flatten().chain(&mut spec.containers);
    containers.for_each(default_requests);
    let status = pod.status.get_or_insert_with(PodStatus::default);
    status.phase.get_or_insert_with(|| "Pending".to_owned());
}

/// Whether [`admit`] has nothing to fill in.
pub fn is_admitted(pod: &Pod) -> bool {
    let meta = &pod.metadata;
    let named = meta.namespace.is_some() && meta.name.is_some() && meta.creation_timestamp.is_some();
    let containers = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten().chain(&spec.containers));
    named
        && meta.uid.as_ref().is_some_and(|uid| !uid.is_empty())
        && pod.status.as_ref().is_some_and(|status| status.phase.is_some())
        && containers.filter_map(|container| container.resources.as_ref()).all(|resources| {
            let requests = resources.requests.as_ref();
            let requested = |name| requests.is_some_and(|requests| requests.contains_key(name));
            resources.limits.iter().flatten().all(|(name, _)| requested(name))
        })
}

/// A limit without a request is the request as well.
fn default_requests(container: &mut Container) {
    let Some(resources) = &mut container.resources else { return };
    let Some(limits) = &resources.limits else { return };
    let missing: BTreeMap<String, Quantity> = limits
        .iter()
        .filter(|(name, _)| resources.requests.as_ref().is_none_or(|requests| !requests.contains_key(*name)))
        .map(|(name, limit)| (name.clone(), limit.clone()))
        .collect();
    if !missing.is_empty() {
        resources.requests.get_or_insert_default().extend(missing);
    }
}

/// A UID in the form of a random UUID that is the same in every run.
fn uid(namespace: &str, name: &str, number: u64) -> String {
    let seed =
        namespace.bytes().chain([b'/']).chain(name.bytes()).fold(number, |state, byte| mix(state ^ u64::from(byte)));
    let (high, low) = (mix(seed), mix(seed ^ 0x5bf0_3635));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | ((low >> 48) & 0x3fff),
        low & 0xffff_ffff_ffff
    )
}

/// The finaliser of SplitMix64.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_become_requests_and_uids_differ() {
        let text = r#"{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"1","nvidia.com/gpu":2},"requests":{"cpu":"500m"}}}]}}"#;
        let mut first: Pod = serde_json::from_str(text).unwrap();
        let mut second = first.clone();
        admit(&mut first, 0, Time::ZERO);
        assert!(!is_admitted(&second));
        admit(&mut second, 1, Time::from_secs(61));
        assert!(is_admitted(&second));
        let requests =
            first.spec.as_ref().unwrap().containers[0].resources.as_ref().unwrap().requests.as_ref().unwrap();
        assert_eq!((requests["cpu"].0.as_str(), requests["nvidia.com/gpu"].0.as_str()), ("500m", "2"));
        assert_ne!(first.metadata.uid, second.metadata.uid);
        assert_eq!(first.metadata.uid.unwrap().len(), 36);
        assert_eq!(second.metadata.creation_timestamp.unwrap().0.to_string(), "2026-01-01T00:01:01Z");
    }
}
