//! Sizes that training operators tell their containers.
//!
//! A guess from another system's internals, and so off unless the policy document turns it on.

use crate::json::Json;
use crate::text::number;

/// What the environment of a pod says about the size of its job.
#[derive(Debug, Default)]
struct Found {
    tf_config: Option<u32>,
    nodes: Option<(u32, u32)>,
    world: Option<u32>,
    per_node: Option<u32>,
    volcano: u32,
}

/// Fewest and most members, from the environment of all containers: `TF_CONFIG`, `PET_NNODES`, `WORLD_SIZE` over
/// `PET_NPROC_PER_NODE`, or the sum of Volcano's `VC_<TASK>_NUM`.
pub(super) fn infer<'a>(environment: impl Iterator<Item = (&'a str, &'a str)>) -> Option<(u32, u32)> {
    let mut found = Found::default();
    environment.for_each(|(name, value)| match name {
        "TF_CONFIG" => found.tf_config = tf_config(value).or(found.tf_config),
        "PET_NNODES" => found.nodes = nodes(value).or(found.nodes),
        "WORLD_SIZE" => found.world = count(value),
        "PET_NPROC_PER_NODE" => found.per_node = count(value),
        _ if name.starts_with("VC_") && name.ends_with("_NUM") => {
            found.volcano = found.volcano.saturating_add(count(value).unwrap_or(0));
        }
        _ => {}
    });
    let exactly = |count: u32| (count, count);
    let world = || found.world?.checked_div(found.per_node.unwrap_or(1));
    found
        .tf_config
        .map(exactly)
        .or(found.nodes)
        .or_else(|| world().map(exactly))
        .or(Some(exactly(found.volcano)))
        .filter(|(min, _)| *min > 0)
}

/// All tasks of all roles. Evaluators and workers added later are not listed, and so not waited for.
fn tf_config(text: &str) -> Option<u32> {
    let config = Json::parse(text).ok()?;
    let Json::Object(roles) = config.get("cluster")? else { return None };
    let tasks = |(_, tasks): &(_, Json<'_>)| if let Json::List(tasks) = tasks { Some(tasks.len()) } else { None };
    u32::try_from(roles.iter().map(tasks).sum::<Option<usize>>()?).ok()
}

fn count(text: &str) -> Option<u32> {
    u32::try_from(number(text)?).ok()
}

/// `n` or `min:max`.
fn nodes(text: &str) -> Option<(u32, u32)> {
    let (min, max) = crate::text::split(text, b':').unwrap_or((text, text));
    Some((count(min)?, count(max)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_tell_their_containers() {
        let infer = |pairs: &[(&'static str, &'static str)]| infer(pairs.iter().copied());
        let tf = r#"{"cluster":{"ps":["a:2222"],"worker":["b:2222","c:2222"]},"task":{"type":"ps","index":0}}"#;
        assert_eq!(infer(&[("TF_CONFIG", tf)]), Some((3, 3)));
        assert_eq!(infer(&[("PET_NNODES", "2:4"), ("WORLD_SIZE", "32")]), Some((2, 4)));
        assert_eq!(infer(&[("WORLD_SIZE", "32"), ("PET_NPROC_PER_NODE", "8")]), Some((4, 4)));
        assert_eq!(infer(&[("WORLD_SIZE", "3")]), Some((3, 3)));
        assert_eq!(infer(&[("VC_PS_NUM", "1"), ("VC_WORKER_NUM", "4"), ("VC_X", "9")]), Some((5, 5)));
        assert_eq!(infer(&[("TF_CONFIG", "{"), ("PET_NNODES", "x"), ("PET_NPROC_PER_NODE", "0")]), None);
        assert_eq!(infer(&[]), None);
    }
}
