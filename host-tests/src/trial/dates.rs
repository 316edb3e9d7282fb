//! Times in a dump, as if the dump had just been made: crane's measurements, and the creation of pods that wait.
//!
//! A run has its own time, by which measurements of last week are stale and those of next year lie in the future, and by
//! a pod of next year everything is stale: the module would be tried without any measurement, and nobody would be told.

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::civil::DateTime;
use k8s_openapi::jiff::{Span, Timestamp, tz::TimeZone};
use stowage::config::Policy;
use stowage::policy::qos::crane;

/// As crane's annotator writes local time.
const FORMAT: &str = "%Y-%m-%dT%H:%M:%SZ";

/// By how much creation times must move for the newest of these pods to be created at `start`.
pub fn age<'a>(pods: impl Iterator<Item = &'a Pod>, start: Timestamp) -> Span {
    let newest = pods.filter_map(|pod| pod.metadata.creation_timestamp.as_ref()).map(|time| time.0).max();
    newest.and_then(|newest| start.since(newest).ok()).unwrap_or_default()
}

/// The pod as if it had been created so much later.
pub fn recreate(pod: &mut Pod, later: Span) {
    if let Some(Time(created)) = &mut pod.metadata.creation_timestamp {
        *created = created.checked_add(later).unwrap_or(*created);
    }
}

/// Moves all of crane's times by as much as makes the newest one `start`, in the zone that the policy takes them for.
pub fn redate(nodes: &mut [Node], start: Timestamp, policy: &str) {
    let zone = Policy::parse(policy).unwrap_or_default().qos.usage.crane.offset_seconds().unwrap_or(0);
    let Ok(start) = start.checked_add(Span::new().seconds(zone)) else { return };
    let start = start.to_zoned(TimeZone::UTC).datetime();
    let newest = nodes.iter_mut().flat_map(measurements).filter_map(|text| Some(split(text)?.1)).max();
    let Some(passed) = newest.and_then(|newest| start.since(newest).ok()) else { return };
    for text in nodes.iter_mut().flat_map(measurements) {
        let Some((value, at)) = split(text) else { continue };
        if let Ok(at) = at.checked_add(passed) {
            *text = format!("{value},{}", at.strftime(FORMAT));
        }
    }
}

fn measurements(node: &mut Node) -> impl Iterator<Item = &mut String> {
    let annotations = node.metadata.annotations.iter_mut().flatten();
    annotations.filter(|(key, _)| [crane::CPU, crane::MEMORY].contains(&key.as_str())).map(|(_, text)| text)
}

fn split(text: &str) -> Option<(String, DateTime)> {
    let (value, at) = text.split_once(',')?;
    Some((value.to_owned(), DateTime::strptime(FORMAT, at.trim()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_pod_is_created_when_the_run_starts() {
        let created = |text: &str| Pod {
            metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                creation_timestamp: Some(Time(text.parse().unwrap())),
                ..Default::default()
            },
            ..Default::default()
        };
        let mut pods = [created("2026-11-30T10:00:00Z"), created("2026-11-30T10:00:05Z"), Pod::default()];
        let later = age(pods.iter(), "2026-01-01T00:00:00Z".parse().unwrap());
        pods.iter_mut().for_each(|pod| recreate(pod, later));
        let times = pods.map(|pod| pod.metadata.creation_timestamp.map(|time| time.0.to_string()));
        let expected = [Some("2025-12-31T23:59:55Z"), Some("2026-01-01T00:00:00Z"), None];
        assert_eq!(times.each_ref().map(Option::as_deref), expected);
    }

    #[test]
    fn the_newest_measurement_is_made_when_the_run_starts() {
        let node = |text: &str| -> Node {
            let annotations = [(crane::CPU.to_owned(), text.to_owned()), ("other".to_owned(), text.to_owned())];
            Node {
                metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                    annotations: Some(annotations.into()),
                    ..Default::default()
                },
                ..Default::default()
            }
        };
        let start = "2026-01-01T00:00:00Z".parse().unwrap();
        for (policy, newest, older) in [
            ("", "0.5,2026-01-01T08:00:00Z", "0.1,2026-01-01T07:51:40Z"),
            (
                r#"{"qos":{"usage":{"crane":{"utcOffset":"Z"}}}}"#,
                "0.5,2026-01-01T00:00:00Z",
                "0.1,2025-12-31T23:51:40Z",
            ),
        ] {
            let mut nodes = ["0.5,2024-02-29T12:00:00Z", "0.1,2024-02-29T11:51:40Z", "0.2,yesterday"].map(node);
            redate(&mut nodes, start, policy);
            let texts = nodes.map(|node| node.metadata.annotations.unwrap().remove(crane::CPU).unwrap());
            assert_eq!(texts, [newest, older, "0.2,yesterday"]);
        }
        let mut untouched = [node("0.5,2024-02-29T12:00:00Z")];
        redate(&mut untouched, start, "");
        assert_eq!(untouched[0].metadata.annotations.as_ref().unwrap()["other"], "0.5,2024-02-29T12:00:00Z");
    }
}
