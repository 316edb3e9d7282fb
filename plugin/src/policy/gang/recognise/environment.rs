//! Sizes that training operators tell their containers.
//!
//! A guess from another system's internals, and so off unless the policy document turns it on.

use super::values::MOST_MEMBERS;
use crate::json::Json;
use crate::policy::gang::membership::Fault;
use crate::text::{holds, number, split};

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
/// `PET_NPROC_PER_NODE`, or the sum of Volcano's `VC_<TASK>_NUM`. A value made of other variables tells nothing.
///
/// # Errors
/// The first variable with a value that its operator cannot have written.
pub(super) fn infer<'a>(environment: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Option<(u32, u32)>, Fault> {
    let mut found = Found::default();
    for (name, value) in environment.filter(|(_, value)| !value.is_empty() && !holds(value, "$(")) {
        let known;
        let allowed = match name {
            "TF_CONFIG" => {
                let config = Json::parse(value).ok();
                known = config.is_some();
                found.tf_config = config.and_then(|config| tasks(&config)).or(found.tf_config);
                "JSON"
            }
            "PET_NNODES" => {
                found.nodes = nodes(value);
                known = found.nodes.is_some();
                "n or min:max"
            }
            "WORLD_SIZE" => {
                found.world = positive(value);
                known = found.world.is_some();
                "a whole number from 1"
            }
            // As the operator itself counts: one process, if PyTorch is to find out how many.
            "PET_NPROC_PER_NODE" => {
                found.per_node = positive(value);
                continue;
            }
            _ if name.starts_with("VC_") && name.ends_with("_NUM") => {
                let tasks = count(value);
                known = tasks.is_some();
                found.volcano = found.volcano.saturating_add(tasks.unwrap_or(0));
                "a whole number"
            }
            _ => continue,
        };
        if !known {
            return Err(Fault::new(name, value, allowed));
        }
    }
    let exactly = |count: u32| (count, count);
    let world = found.world.and_then(|world| world.checked_div(found.per_node.unwrap_or(1)));
    let size = found.tf_config.map(exactly).or(found.nodes).or(world.map(exactly)).or(Some(exactly(found.volcano)));
    Ok(size.filter(|(min, _)| *min > 0))
}

/// All tasks of all roles. Evaluators and workers added later are not listed, and so not waited for.
fn tasks(config: &Json<'_>) -> Option<u32> {
    let Json::Object(roles) = config.get("cluster")? else { return None };
    let tasks = |(_, tasks): &(_, Json<'_>)| if let Json::List(tasks) = tasks { Some(tasks.len()) } else { None };
    u32::try_from(roles.iter().map(tasks).sum::<Option<usize>>()?).ok()
}

fn count(text: &str) -> Option<u32> {
    u32::try_from(number(text)?).ok()
}

fn positive(text: &str) -> Option<u32> {
    count(text).filter(|count| *count > 0)
}

/// `n` or `min:max`.
fn nodes(text: &str) -> Option<(u32, u32)> {
    let (min, max) = split(text, b':').unwrap_or((text, text));
    let (min, max) = (positive(min)?, count(max)?);
    (min <= max && max <= MOST_MEMBERS).then_some((min, max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_tell_their_containers() {
        let infer = |pairs: &[(&'static str, &'static str)]| infer(pairs.iter().copied()).expect("possible values");
        let tf = r#"{"cluster":{"ps":["a:2222"],"worker":["b:2222","c:2222"]},"task":{"type":"ps","index":0}}"#;
        assert_eq!(infer(&[("TF_CONFIG", tf)]), Some((3, 3)));
        assert_eq!(infer(&[("PET_NNODES", "2:4"), ("WORLD_SIZE", "32")]), Some((2, 4)));
        assert_eq!(infer(&[("WORLD_SIZE", "32"), ("PET_NPROC_PER_NODE", "8")]), Some((4, 4)));
        assert_eq!(infer(&[("WORLD_SIZE", "3")]), Some((3, 3)));
        assert_eq!(infer(&[("VC_PS_NUM", "1"), ("VC_WORKER_NUM", "4"), ("VC_X", "9")]), Some((5, 5)));
        // PyTorch finds out how many processes.
        assert_eq!(infer(&[("WORLD_SIZE", "3"), ("PET_NPROC_PER_NODE", "auto")]), Some((3, 3)));
        // A job of one task, and values that come from elsewhere.
        assert_eq!(
            infer(&[("TF_CONFIG", "{}"), ("PET_NNODES", "$(NODES)"), ("WORLD_SIZE", ""), ("VC_A_NUM", "0")]),
            None
        );
        assert_eq!(infer(&[]), None);
    }

    #[test]
    fn impossible_values_are_named() {
        for (name, value) in [
            ("TF_CONFIG", "{"),
            ("PET_NNODES", "x"),
            ("PET_NNODES", "0"),
            ("PET_NNODES", "4:2"),
            ("PET_NNODES", "1:100001"),
            ("WORLD_SIZE", "-1"),
            ("WORLD_SIZE", "0"),
            ("VC_WORKER_NUM", "many"),
        ] {
            let fault = infer([(name, value)].into_iter()).expect_err(value).to_string();
            assert!(fault.starts_with(&format!("{name} is {value:?}, allowed is ")), "{fault}");
        }
    }
}
