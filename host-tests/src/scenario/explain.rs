//! Why the pods of a failed expectation went where they went.

use std::fmt;
use std::rc::Rc;

use serde::Serialize;

use super::{Failed, Run};
use crate::scheduler::report::ReportSink;
use crate::simulation::Options;
use crate::trial::{Candidate, Digest, Explained, Trial};

/// How many pods are explained: those of one gang are explained alike.
const MOST: usize = 3;

/// A pod's last scheduling cycle before an expectation failed.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// `namespace/name`.
    pub pod: String,
    /// The seed of the run.
    pub seed: u64,
    /// The cycle; none if the pod had none.
    #[serde(flatten)]
    pub cycle: Option<Explained>,
}

/// Runs a case again up to the failure, and listens.
///
/// # Errors
/// When the module does not start again after a restart.
pub fn explain(run: &Run<'_>, failed: &Failed) -> anyhow::Result<Vec<Explanation>> {
    let mut pods: Vec<&String> = failed.failures.iter().flat_map(|failure| &failure.pods).collect();
    let mut seen = std::collections::HashSet::new();
    pods.retain(|pod| seen.insert(*pod));
    pods.truncate(MOST);
    if pods.is_empty() {
        return Ok(Vec::new());
    }
    // Modules other than ours may refuse a policy that asks for the parts of scores.
    let asking = run.trial.asking_for_parts().and_then(|trial| listen(run, &trial, failed).ok());
    let digest = asking.map_or_else(|| listen(run, run.trial, failed), Ok)?;
    let mut cycles = digest.take();
    Ok(pods
        .into_iter()
        .map(|pod| Explanation { pod: pod.clone(), seed: failed.seed, cycle: cycles.remove(pod) })
        .collect())
}

fn listen(run: &Run<'_>, trial: &Trial, failed: &Failed) -> anyhow::Result<Rc<Digest>> {
    let digest = Rc::new(Digest::default());
    let (reports, lines) = (digest.clone(), digest.clone());
    let options = Options {
        on_report: Some(ReportSink(Rc::new(move |report| reports.add(report)))),
        log: Rc::new(move |_, line: &str| {
            let _ = lines.hear(line);
        }),
        ..Options::default()
    };
    let mut simulation = Run { trial, ..*run }.simulation(options)?;
    match failed.at {
        Some(at) => simulation.run_until(at)?,
        None => {
            simulation.run_until_idle()?;
        }
    }
    Ok(digest)
}

impl fmt::Display for Explanation {
    /// A line for the cycle, the nodes that fitted and each plugin that refused nodes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(cycle) = &self.cycle else { return write!(f, "{}: no scheduling cycle", self.pod) };
        write!(f, "{}: seed {}, attempt {}, {} node(s) fit", self.pod, self.seed, cycle.attempts, cycle.fits)?;
        for node in &cycle.nodes {
            write!(f, "\n  {}", candidate(node))?;
        }
        for refused in &cycle.refused {
            write!(f, "\n  refused by {} on {} node(s): {}", refused.plugin, refused.nodes, refused.reason)?;
        }
        Ok(())
    }
}

fn candidate(node: &Candidate) -> String {
    let Some(score) = node.score else { return format!("{} is the only node that fits", node.node) };
    let parts: Vec<String> = node.parts.iter().map(|(part, value)| format!("{part} {value}")).collect();
    let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    format!("{} scores {score}{parts}", node.node)
}
