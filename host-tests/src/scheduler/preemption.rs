//! PostFilter: DefaultPreemption, then the module's own.
//!
//! Where pods were refused with `Unschedulable`, try what would fit if all pods of lower priority were gone, then let
//! as many of them stay as possible, and take the node that loses least. PodDisruptionBudgets are not modelled.

use std::cmp::Reverse;
use std::rc::Rc;

use rand::Rng as _;

use super::Scheduler;
use super::cache::Cache;
use super::cycle::Outcome;
use super::diagnosis::Diagnosis;
use super::node::NodeInfo;
use super::plugin::{Failure, Nomination, PluginId, Rejection};
use super::pod::{PodInfo, Uid};
use crate::framework::{Code, Status};

/// Least number of nodes on which preemption is tried.
const MIN_CANDIDATES: usize = 100;
/// Least share of the nodes on which it is tried, in percent.
const MIN_CANDIDATES_PERCENTAGE: usize = 10;

/// Pods that are to go, and where they make room.
#[derive(Clone, Debug)]
pub struct Preemption {
    /// The node nominated for the preempting pod.
    pub node: Rc<str>,
    /// The victims.
    pub victims: Vec<Rc<PodInfo>>,
    /// Pods of lower priority that lose their nomination to the node.
    pub displaced: Vec<Uid>,
}

/// What DefaultPreemption came to.
enum Attempt {
    Found(Preemption),
    /// Nothing; `nominate` is what becomes of an earlier nomination.
    Nothing {
        message: String,
        nominate: Option<Nomination>,
    },
    Failed(String),
}

impl Scheduler {
    /// Ends a cycle in which no node fits.
    pub(super) fn post_filter(
        &mut self,
        pod: &Rc<PodInfo>,
        cache: &Cache,
        mut diagnosis: Diagnosis,
        skip_filter: bool,
    ) -> Outcome {
        let count = cache.nodes().len();
        let (nominate, preemption) = match self.preempt(pod, cache, &diagnosis, skip_filter) {
            Attempt::Found(preemption) => (Some(Nomination::Node(preemption.node.clone())), Some(preemption)),
            Attempt::Failed(message) => {
                diagnosis.post_filter = message;
                (None, None)
            }
            Attempt::Nothing { message, nominate } => {
                let (named, more) = self.module_post_filter(pod, cache, &diagnosis);
                let messages = [Some(message), more].into_iter().flatten().collect::<Vec<_>>();
                diagnosis.post_filter = messages.join(", ");
                (named.or(nominate), None)
            }
        };
        let failure = Failure {
            code: Code::Unschedulable,
            rejectors: diagnosis.rejectors,
            pending: diagnosis.pending,
            message: diagnosis.message(count).into(),
            nominate,
        };
        Outcome::Failed { failure, preemption }
    }

    fn module_post_filter(
        &mut self,
        pod: &PodInfo,
        cache: &Cache,
        diagnosis: &Diagnosis,
    ) -> (Option<Nomination>, Option<String>) {
        if !self.interfaces.post_filter {
            return (None, None);
        }
        let codes = diagnosis.codes(cache.nodes().len());
        let named = cache.nodes().iter().zip(codes);
        let statuses: Vec<(String, Code)> = named.map(|(node, code)| (node.name.to_string(), code)).collect();
        let (node, status) = self.plugin.post_filter(&pod.object, &statuses);
        let nominated =
            node.map(|name| if name.is_empty() { Nomination::Clear } else { Nomination::Node(name.into()) });
        (nominated, (!status.reason.is_empty()).then_some(status.reason))
    }

    fn preempt(&mut self, pod: &Rc<PodInfo>, cache: &Cache, diagnosis: &Diagnosis, skip_filter: bool) -> Attempt {
        let codes = diagnosis.codes(cache.nodes().len());
        if let Some(reason) = not_eligible(pod, cache, &codes) {
            return Attempt::Nothing { message: format!("preemption: {reason}"), nominate: None };
        }
        let nodes = codes.iter().enumerate();
        let potential: Vec<usize> = nodes.filter(|(_, code)| **code == Code::Unschedulable).map(|(at, _)| at).collect();
        let mut refused = Diagnosis {
            others: Some(Rejection::new(
                Code::UnschedulableAndUnresolvable,
                PluginId::DefaultPreemption,
                "Preemption is not helpful for scheduling",
            )),
            ..Diagnosis::default()
        };

        let mut candidates: Vec<(usize, Vec<Rc<PodInfo>>)> = Vec::new();
        if !potential.is_empty() {
            let offset = self.random.random_range(0..potential.len());
            let share = potential.len() * MIN_CANDIDATES_PERCENTAGE / 100;
            let wanted = share.max(MIN_CANDIDATES).min(potential.len());
            for step in 0..potential.len() {
                let at = potential[(offset + step) % potential.len()];
                match self.victims_on(pod, &cache.nodes()[at], skip_filter) {
                    Ok(victims) => candidates.push((at, victims)),
                    Err(rejection) if rejection.is_rejected() => refused.reject_node(at, rejection),
                    Err(error) => {
                        let message = format!("running \"wasm\" filter plugin: {}", error.message());
                        self.plugin_errors.push(message.clone());
                        if candidates.is_empty() {
                            return Attempt::Failed(format!("preemption: {message}"));
                        }
                    }
                }
                if candidates.len() >= wanted {
                    break;
                }
            }
        }
        match candidates.into_iter().min_by_key(|(_, victims)| cost(victims)) {
            Some((at, victims)) => {
                let node = &cache.nodes()[at].name;
                let displaced = self.nominator.on_node(node).filter(|other| other.priority < pod.priority);
                let displaced = displaced.map(|other| other.uid.clone()).collect();
                Attempt::Found(Preemption { node: node.clone(), victims, displaced })
            }
            None => Attempt::Nothing {
                message: format!("preemption: {}", refused.message(cache.nodes().len())),
                nominate: Some(Nomination::Clear),
            },
        }
    }

    /// The pods that would have to leave the node for `pod` to fit.
    fn victims_on(
        &mut self,
        pod: &Rc<PodInfo>,
        node: &NodeInfo,
        skip_filter: bool,
    ) -> Result<Vec<Rc<PodInfo>>, Rejection> {
        let mut node = node.clone();
        let lower = node.pods.iter().map(|other| &other.info).filter(|other| other.priority < pod.priority);
        let mut potential: Vec<Rc<PodInfo>> = lower.cloned().collect();
        if potential.is_empty() {
            return Err(Rejection::new(
                Code::UnschedulableAndUnresolvable,
                PluginId::DefaultPreemption,
                "No preemption victims found for incoming pod",
            ));
        }
        for other in &potential {
            node.remove_pod(&other.uid);
            self.remove_pod(pod, other, &node.name, skip_filter)?;
        }
        self.filter_with_nominated(pod, &node, skip_filter)?;

        // Most important first: the first to be allowed to stay.
        potential.sort_by_key(|other| (Reverse(other.priority), start_time(other)));
        let mut victims = Vec::new();
        for other in potential {
            node.add_pod(other.clone(), true);
            self.add_pod(pod, &other, &node.name, skip_filter)?;
            match self.filter_with_nominated(pod, &node, skip_filter) {
                Ok(()) => {}
                Err(rejection) if rejection.is_rejected() => {
                    node.remove_pod(&other.uid);
                    self.remove_pod(pod, &other, &node.name, skip_filter)?;
                    victims.push(other);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(victims)
    }

    /// Tells the module that `other` counts as being on the node.
    pub(super) fn add_pod(
        &mut self,
        pod: &PodInfo,
        other: &PodInfo,
        node: &str,
        skip_filter: bool,
    ) -> Result<(), Rejection> {
        if skip_filter || !self.interfaces.pre_filter_extensions {
            return Ok(());
        }
        extension_result("AddPod", self.plugin.add_pod(&pod.object, &other.object, node))
    }

    /// Tells the module that `other` counts as gone from the node.
    fn remove_pod(&mut self, pod: &PodInfo, other: &PodInfo, node: &str, skip_filter: bool) -> Result<(), Rejection> {
        if skip_filter || !self.interfaces.pre_filter_extensions {
            return Ok(());
        }
        extension_result("RemovePod", self.plugin.remove_pod(&pod.object, &other.object, node))
    }
}

fn extension_result(call: &str, status: Status) -> Result<(), Rejection> {
    if status.is_success() {
        return Ok(());
    }
    let reason = format!("running {call} on PreFilter plugin \"wasm\": {}", status.reason);
    Err(Rejection::new(Code::Error, PluginId::Wasm, reason))
}

/// Why the pod may not preempt others.
fn not_eligible(pod: &PodInfo, cache: &Cache, codes: &[Code]) -> Option<&'static str> {
    let spec = pod.pod().spec.as_ref();
    if spec.and_then(|spec| spec.preemption_policy.as_deref()) == Some("Never") {
        return Some("not eligible due to preemptionPolicy=Never.");
    }
    let nominated = cache.index_of(pod.nominated_node_name()?)?;
    if codes[nominated] == Code::UnschedulableAndUnresolvable {
        return None;
    }
    let victims = cache.nodes()[nominated].pods.iter().map(|other| &other.info);
    let leaving = |other: &Rc<PodInfo>| other.priority < pod.priority && other.is_terminating();
    victims.clone().any(leaving).then_some("not eligible due to a terminating pod on the nominated node.")
}

/// What a node loses, least first: the highest priority among the victims, the sum of their priorities, their number,
/// then the longest-running of the most important ones last.
fn cost(victims: &[Rc<PodInfo>]) -> (i32, i64, usize, Reverse<i64>) {
    let highest = victims.iter().map(|pod| pod.priority).max().unwrap_or(i32::MIN);
    let sum = victims.iter().map(|pod| i64::from(pod.priority) + i64::from(i32::MAX) + 1).sum();
    let most_important = victims.iter().filter(|pod| pod.priority == highest);
    let earliest = most_important.map(|pod| start_time(pod)).min().unwrap_or(i64::MAX);
    (highest, sum, victims.len(), Reverse(earliest))
}

/// `status.startTime` in seconds; pods that have not started are the youngest.
fn start_time(pod: &PodInfo) -> i64 {
    let status = pod.pod().status.as_ref();
    status.and_then(|status| status.start_time.as_ref()).map_or(i64::MAX, |time| time.0.as_second())
}
