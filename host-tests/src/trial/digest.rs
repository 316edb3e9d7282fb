//! What every pod's last cycle made of the nodes, kept small: `stowage explain` for all pods at once.
//!
//! A report has a line for each node, and so has the module's log. For thousands of pods on a thousand nodes neither can
//! be kept: each cycle is boiled down, when it ends, to the node taken, the best others, and one refusal per plugin.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::Value;

use super::facts::{Candidate, Explained, Refusals};
use crate::scheduler::report::{CycleReport, Verdict};

/// How many nodes are kept besides the one that was taken.
const ALTERNATIVES: usize = 3;

/// What the module logs of each score when its policy has `explain` set.
#[derive(Debug, Deserialize)]
pub struct ScoreLine {
    /// `namespace/name`.
    pub pod: String,
    /// The node.
    pub node: String,
    /// What the score is made of.
    pub parts: BTreeMap<String, Value>,
}

impl ScoreLine {
    /// The score that a line of the module's log is about, if it is about one.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(&explain_line(line)?).ok()
    }
}

/// The JSON behind the word `explain`, in a line that klog made.
#[must_use]
pub fn explain_line(line: &str) -> Option<String> {
    let mut quoted = serde_json::Deserializer::from_str(line).into_iter::<String>();
    let message = quoted.next().and_then(Result::ok);
    message.as_deref().unwrap_or(line).strip_prefix("explain ").map(str::to_owned)
}

/// Collects the cycles of a run.
#[derive(Debug, Default)]
pub struct Digest {
    /// Scores of the cycle that is running.
    scores: RefCell<Vec<ScoreLine>>,
    pods: RefCell<HashMap<String, Explained>>,
}

impl Digest {
    /// Hears a line of the module's log; true if it was about a score.
    #[must_use]
    pub fn hear(&self, line: &str) -> bool {
        let Some(json) = explain_line(line) else { return false };
        self.scores.borrow_mut().extend(serde_json::from_str::<ScoreLine>(&json));
        true
    }

    /// Takes the report of a cycle that has just ended.
    pub fn add(&self, report: &CycleReport) {
        let scores = self.scores.take();
        let mut explained = Explained { attempts: report.attempt, ..Explained::default() };
        let mut fitting = Vec::new();
        for node in &report.nodes {
            match &node.verdict {
                Verdict::Fits { score } => {
                    fitting.push((report.chosen.as_ref() != Some(&node.node), score, &node.node))
                }
                Verdict::Refused { plugin, reason } => refuse(&mut explained.refused, plugin, reason, report),
                Verdict::NotVisited => {}
            }
        }
        explained.fits = fitting.len();
        // The node taken comes first, then the highest scores; equal ones stay in the cluster's order.
        fitting.sort_by_key(|(other, score, _)| (*other, std::cmp::Reverse(**score)));
        fitting.truncate(ALTERNATIVES + usize::from(report.chosen.is_some()));
        let parts = |name: &str| scores.iter().rev().find(|line| line.pod == report.pod && line.node == name);
        explained.nodes = fitting
            .into_iter()
            .map(|(_, score, node)| Candidate {
                node: node.clone(),
                score: *score,
                parts: parts(node).filter(|_| score.is_some()).map(|line| line.parts.clone()).unwrap_or_default(),
            })
            .collect();
        self.pods.borrow_mut().insert(report.pod.clone(), explained);
    }

    /// The pods so far, by `namespace/name`.
    #[must_use]
    pub fn take(&self) -> HashMap<String, Explained> {
        self.pods.take()
    }
}

fn refuse(refused: &mut Vec<Refusals>, plugin: &str, reason: &str, report: &CycleReport) {
    match refused.iter_mut().find(|known| known.plugin == plugin) {
        Some(known) => known.nodes += 1,
        None => refused.push(Refusals { plugin: plugin.to_owned(), nodes: 1, reason: report.refusal(reason) }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::scheduler::report::NodeReport;

    #[test]
    fn explain_lines_are_found_in_klog_s_wrapping() {
        let json = r#"{"pod":"ns/p"}"#;
        assert_eq!(explain_line(&format!("explain {json}")).as_deref(), Some(json));
        let wrapped = format!("{:?} plugin=\"stowage\"", format!("explain {json}"));
        assert_eq!(explain_line(&wrapped).as_deref(), Some(json));
        assert_eq!(explain_line("\"no score\" plugin=\"stowage\""), None);
    }

    #[test]
    fn a_cycle_is_boiled_down() {
        let digest = Digest::default();
        assert!(!digest.hear("something else"));
        for (node, part) in [("n1", 40), ("n3", 70), ("n4", 60)] {
            let line =
                format!(r#"explain {{"pod":"ns/p","node":"{node}","parts":{{"binpack":{part}}},"final":{part}}}"#);
            assert!(digest.hear(&line));
        }
        let refused = |reason: &str| Verdict::Refused { plugin: "wasm".to_owned(), reason: reason.to_owned() };
        let fits = |score| Verdict::Fits { score: Some(score) };
        let verdicts = [refused("n0: full"), fits(40), refused("n2: full"), fits(70), fits(60), fits(40), fits(1)];
        let nodes = verdicts.into_iter().enumerate();
        let report = CycleReport {
            pod: "ns/p".to_owned(),
            time: Duration::ZERO,
            attempt: 2,
            nodes: nodes.map(|(at, verdict)| NodeReport { node: format!("n{at}"), verdict }).collect(),
            chosen: Some("n4".to_owned()),
            failure: None,
        };
        digest.add(&report);
        let explained = digest.take().remove("ns/p").unwrap();
        let kept: Vec<(&str, Option<i64>)> = explained.nodes.iter().map(|node| (&*node.node, node.score)).collect();
        assert_eq!(kept, [("n4", Some(60)), ("n3", Some(70)), ("n1", Some(40)), ("n5", Some(40))]);
        assert_eq!(explained.nodes[1].parts["binpack"], 70);
        assert!(explained.nodes[3].parts.is_empty());
        assert_eq!((explained.attempts, explained.fits, explained.refused.len()), (2, 5, 1));
        assert_eq!((explained.refused[0].nodes, &*explained.refused[0].reason), (2, "n0: full"));
    }
}
