//! What the page's script draws from, as JSON that stays below a limit however large the cluster is.
//!
//! Arrays, not objects: names of fields would be half of it. `page.js` opens with what stands where.

use serde_json::{Value, json};

use super::model::{NodeView, Picture, PodView, cpu};
use crate::trial::{Explained, PodChange, PodFacts, amount};

/// Bytes of data; with the page around it, less than 2 MB.
const LIMIT: usize = 1_800_000;
/// Rows of pending pods.
pub const MOST_WAITING: usize = 200;

/// The data, and what was left out of it to stay below the limit.
pub struct PageData {
    /// One JSON object.
    pub json: String,
    /// Sentences for the reader.
    pub left_out: Vec<String>,
}

/// The data of a picture.
pub fn page_data(picture: &Picture<'_>) -> PageData {
    within(picture, LIMIT)
}

fn within(picture: &Picture<'_>, limit: usize) -> PageData {
    let mut left_out = Vec::new();
    let mut requests = Requests::default();
    let mut budget = limit;
    let mut waiting: Vec<Value> = Vec::new();
    for group in picture.waiting.iter().take(MOST_WAITING) {
        let Some(pod) = group.pods.first() else { continue };
        waiting.push(json!([pod.pod, group.job, group.class, requests.number(&pod.facts), group.reason]));
    }
    let mut nodes: Vec<Vec<Value>> =
        picture.nodes.iter().map(|node| node.pods.iter().map(|pod| pod_data(pod, &mut requests)).collect()).collect();
    let groups = |groups: &[super::group::Group]| -> Vec<Value> {
        groups.iter().map(|group| json!([group.name, group.letter])).collect()
    };
    let (jobs, classes) = (groups(&picture.jobs), groups(&picture.classes));
    budget = budget.saturating_sub(length(&[&jobs, &classes, &waiting, &requests.texts]));

    let heads: Vec<Value> = picture.nodes.iter().map(head).collect();
    let mut needed = length(&[&heads]) + nodes.iter().map(|pods| length(&[pods])).sum::<usize>();
    if needed > budget {
        left_out.push("names of pods that were there before".to_owned());
        for (pods, view) in nodes.iter_mut().zip(&picture.nodes) {
            pods.iter_mut().zip(&view.pods).for_each(|(data, pod)| forget_name(data, pod));
        }
        needed = length(&[&heads]) + nodes.iter().map(|pods| length(&[pods])).sum::<usize>();
    }
    // Nodes that the run changed are what the page is about.
    let mut order: Vec<usize> = (0..heads.len()).collect();
    if needed > budget {
        order.sort_by_key(|at| !picture.nodes[*at].changed());
        let mut room = budget;
        let fitting =
            order.iter().take_while(|at| take(&mut room, length(&[&nodes[**at]]) + heads[**at].to_string().len()));
        let fitting = fitting.count();
        left_out.push(format!("{} of {} nodes", order.len() - fitting, order.len()));
        order.truncate(fitting);
        needed = budget - room;
    }
    budget = budget.saturating_sub(needed);

    let (mut explained, mut wanted) = (0_usize, 0_usize);
    let mut explain = |data: &mut Value, facts: &PodFacts| {
        let (Some(explain), Value::Array(fields)) = (&facts.explain, data) else { return };
        let explain = explain_data(explain);
        wanted += 1;
        if take(&mut budget, explain.to_string().len() + 1) {
            explained += 1;
            fields.push(explain);
        }
    };
    for (data, group) in waiting.iter_mut().zip(&picture.waiting) {
        group.pods.first().into_iter().for_each(|pod| explain(data, &pod.facts));
    }
    for at in &order {
        nodes[*at].iter_mut().zip(&picture.nodes[*at].pods).for_each(|(data, pod)| explain(data, &pod.pod.facts));
    }
    if explained < wanted {
        left_out.push(format!("why {} of {wanted} pods went where they went", wanted - explained));
    }
    let nodes: Vec<Value> = order
        .into_iter()
        .map(|at| {
            let mut node = heads[at].clone();
            if let Value::Array(fields) = &mut node {
                fields.push(std::mem::take(&mut nodes[at]).into());
            }
            node
        })
        .collect();
    let data =
        json!({"jobs": jobs, "classes": classes, "requests": requests.texts, "waiting": waiting, "nodes": nodes});
    PageData { json: data.to_string(), left_out }
}

fn take(room: &mut usize, bytes: usize) -> bool {
    let left = room.checked_sub(bytes);
    *room = left.unwrap_or(*room);
    left.is_some()
}

/// Bytes as JSON. What is escaped for the page's sake does not occur in names that Kubernetes takes.
fn length(lists: &[&Vec<Value>]) -> usize {
    lists.iter().flat_map(|list| list.iter()).map(|value| value.to_string().len() + 1).sum()
}

fn head(node: &NodeView<'_>) -> Value {
    json!([node.node.name, node.kind, node.node.gpus, node.cpu(), node.node.closed().unwrap_or_default()])
}

fn pod_data(pod: &PodView<'_>, requests: &mut Requests) -> Value {
    let change = match pod.pod.change {
        PodChange::Stayed => 0,
        PodChange::Placed => 1,
        PodChange::Left => 2,
    };
    json!([
        pod.pod.pod,
        pod.job,
        pod.class,
        requests.number(&pod.pod.facts),
        cpu(pod.pod),
        change,
        pod.pod.gpus,
        pod.pod.gpu_milli.unwrap_or(1000)
    ])
}

fn forget_name(data: &mut Value, pod: &PodView<'_>) {
    if pod.pod.change == PodChange::Stayed
        && let Some(name) = data.get_mut(0)
    {
        *name = Value::from("");
    }
}

fn explain_data(explained: &Explained) -> Value {
    let nodes = explained.nodes.iter().map(|node| json!([node.node, node.score, node.parts]));
    let refused = explained.refused.iter().map(|refused| json!([refused.plugin, refused.nodes, refused.reason]));
    json!([explained.attempts, explained.fits, nodes.collect::<Vec<_>>(), refused.collect::<Vec<_>>()])
}

/// Pods of a job request the same: each text stands once.
#[derive(Default)]
struct Requests {
    texts: Vec<Value>,
    numbers: std::collections::HashMap<String, usize>,
}

impl Requests {
    fn number(&mut self, facts: &PodFacts) -> usize {
        let requested = facts.requests.iter().filter(|(_, value)| **value != 0);
        let texts = requested.map(|(name, value)| format!("{name} {}", amount(name, *value)));
        let text = texts.collect::<Vec<_>>().join(", ");
        *self.numbers.entry(text.clone()).or_insert_with(|| {
            self.texts.push(text.into());
            self.texts.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Outcome;

    #[test]
    fn what_does_not_fit_is_left_out_and_said() {
        let outcome: Outcome = serde_json::from_str(include_str!("../../tests/picture/result.json")).unwrap();
        let picture = Picture::of(&outcome).unwrap();
        let whole = within(&picture, LIMIT);
        assert_eq!(whole.left_out, Vec::<String>::new());
        let limits = || (0..whole.json.len()).rev().step_by(16);
        let first = |word: &str| limits().find(|limit| within(&picture, *limit).left_out.join("; ").contains(word));
        let (explanations, names, nodes) = (first("why "), first("names of pods"), first("of 4 nodes"));
        assert!(explanations > names && names > nodes && nodes.is_some(), "{explanations:?} {names:?} {nodes:?}");
        for limit in limits().take_while(|limit| Some(*limit) >= nodes) {
            // The names of the object's fields are not counted.
            assert!(within(&picture, limit).json.len() <= limit + 80, "{limit}");
        }
        assert!(within(&picture, 0).left_out.join("; ").contains("4 of 4 nodes"));
    }
}
