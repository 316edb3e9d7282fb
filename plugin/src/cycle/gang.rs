//! Gangs at the extension points: what the book asks for, gathered from the pod of the cycle and from what is known of
//! the nodes.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;

use super::CyclePod;
use super::gang_facts::{Knowledge, View};
use super::qos::Qos;
use super::rereads::Rereads;
use crate::cluster::pod_gang::Words;
use crate::cluster::said::Said;
use crate::cluster::{Cluster, node_state};
use crate::config::{Policy, UnknownSize};
use crate::host::{Code, Host, Severity};
use crate::object::{self, NodeRules, PodInfo, RequestOptions, ResourceId, Resources, fingerprint, one_per_node};
use crate::policy::gang::book::{Book, Options, Pod, Rejection, Verdict};
use crate::policy::gang::membership::{Fault, Membership, Recognised};
use crate::policy::gang::planner::NodeRow;
use crate::policy::gang::recognise;
use crate::reckon::Reckon;
use crate::sorted_map::SortedMap;
use crate::text;

/// Most nominated pods of a node that are counted.
const MAX_NOMINATED: usize = 256;

/// The gang part of the policy, and the pod of this cycle.
#[derive(Debug)]
pub struct Gangs {
    recognition: recognise::Options,
    knowledge: Knowledge,
    book: Book,
    /// What preemption has freed on each node so far in this cycle.
    emptied: SortedMap<NodeRow, Emptied>,
    rereads: Rereads,
    /// Whether some node may be refused to the pod of this cycle.
    filters: bool,
    /// Whether the pod of this cycle was turned away on node state that may be old.
    in_doubt: bool,
    /// Of gangs whose wait was cut.
    said: Said,
    /// Creation of the newest pod seen, milliseconds since 1970: a clock where no publisher runs, or has nothing to say.
    newest_ms: i64,
}

/// A node without the pods that preemption tries to do without.
#[derive(Debug, Default)]
struct Emptied {
    /// Hashes of the UIDs of those pods.
    without: Vec<u64>,
    /// What they request.
    freed: Resources,
}

impl Emptied {
    fn take_out(&mut self, pod: u64, request: &Resources) {
        if !self.without.contains(&pod) {
            self.without.push(pod);
            self.freed.add_all(request);
        }
    }

    /// Answers whether the pod had been taken out.
    fn put_back(&mut self, pod: u64, request: &Resources) -> bool {
        let found = self.without.iter().position(|other| *other == pod);
        if let Some(at) = found {
            self.without.swap_remove(at);
            self.freed.sub_all(request);
        }
        found.is_some()
    }
}

/// What gangs need to know of a pod.
#[derive(Clone, Debug)]
pub struct GangPod {
    recognised: Result<Recognised, Fault>,
    /// Of members only. Shared with what is kept of them: a pod comes again and again.
    rules: Rc<NodeRules>,
    fingerprint: u64,
    one_per_node: bool,
    turned_away: bool,
    nominated: Box<str>,
}

impl GangPod {
    /// With how many the pod starts, itself included; 1 for a pod by itself.
    pub fn together(&self) -> u32 {
        match &self.recognised {
            Ok(Recognised::Member(member)) => member.min.unwrap_or(1),
            _ => 1,
        }
    }
}

impl Gangs {
    /// `None` if the policy switches gangs off.
    #[inline(never)]
    pub fn new(policy: &Policy, cluster: &mut Cluster) -> Option<Self> {
        if !policy.gang.enabled {
            return None;
        }
        if let Some(key) = &policy.gang.topology_key {
            cluster.keep_label(key);
        }
        Some(Self {
            recognition: policy.gang.recognition(),
            knowledge: Knowledge::new(&policy.gang),
            book: Book::new(Options {
                topology: policy.gang.planned_topology(),
                slot_seconds: policy.gang.slot_seconds,
                match_policy: policy.gang.match_policy(),
                reject_unknown_size: policy.gang.unknown_size == UnknownSize::Reject,
            }),
            emptied: SortedMap::default(),
            rereads: Rereads::new(policy.cluster.refresh_per_cycle),
            filters: false,
            in_doubt: false,
            said: Said::default(),
            newest_ms: 0,
        })
    }

    /// What the pod is to gangs.
    pub fn read(&self, pod: &object::Pod<'_>) -> Result<GangPod, object::Error> {
        let recognised = recognise::recognise(&Words(pod), &self.recognition);
        let is_member = matches!(recognised, Ok(Recognised::Member(_)));
        Ok(GangPod {
            recognised,
            rules: Rc::new(if is_member { NodeRules::of(pod)? } else { NodeRules::default() }),
            fingerprint: if is_member { fingerprint(pod) } else { 0 },
            one_per_node: is_member && one_per_node(pod)?,
            turned_away: is_member && pod.was_turned_away()?,
            nominated: pod.nominated_node_name.into(),
        })
    }

    /// Turns the pod away, sends it to its place, or answers Skip unless it has to be filtered.
    pub fn pre_filter(
        &mut self,
        pod: &CyclePod,
        qos: Option<&Qos>,
        cluster: &mut Cluster,
        host: &mut impl Host,
    ) -> Code {
        self.emptied.clear();
        self.knowledge.nominated.clear();
        self.rereads.begin(cluster.cycle(), cluster.capacity());
        self.filters = false;
        self.in_doubt = false;
        let Some(gang) = &pod.gang else { return Code::Skip };
        self.newest_ms = self.newest_ms.max(pod.info.created.times(1000));
        let verdict = match &gang.recognised {
            Ok(Recognised::Member(membership)) => self.decide(pod, gang, membership, qos, cluster, host),
            Ok(Recognised::Single | Recognised::Native(_)) => {
                let view = View { knowledge: &self.knowledge, qos, cluster };
                let uid = node_state::uid_hash(&pod.info.uid);
                let (request, clock_ms) = (request_of(pod, qos), self.newest_ms.max(cluster.clock_ms()));
                self.book.begin_single(uid, &request, pod.info.priority, &view, clock_ms);
                Verdict::Free
            }
            Err(fault) => Verdict::Rejected(Rejection { preemption_may_help: false, reason: say!(fault) }),
        };
        // A pod by itself is filtered for the slots of others only.
        self.filters = verdict != Verdict::Free || self.book.holds_slots();
        match verdict {
            Verdict::Free if !self.filters => Code::Skip,
            Verdict::Free | Verdict::Planned => Code::Success,
            Verdict::Direct(row) => {
                self.book.send();
                if let Some(node) = cluster.at_row(row) {
                    host.node_names(&[&node.name]);
                }
                Code::Success
            }
            Verdict::Rejected(rejection) if self.in_doubt => {
                // No event tells that node state has caught up.
                send_back(&rejection, host)
            }
            Verdict::Rejected(rejection) => reject(&rejection, host),
        }
    }

    #[inline(never)]
    fn decide(
        &mut self,
        pod: &CyclePod,
        gang: &GangPod,
        membership: &Membership,
        qos: Option<&Qos>,
        cluster: &mut Cluster,
        host: &mut impl Host,
    ) -> Verdict {
        self.note_cut_wait(membership, host);
        let rules = self.knowledge.keep_rules(gang.fingerprint, &gang.rules, pod.class, cluster.cycle());
        let mut new_keys = false;
        gang.rules.keys(|key| new_keys |= cluster.keep_label(key));
        let nominated = match &*gang.nominated {
            "" => None,
            name => cluster.find(name).or_else(|| cluster.read(host, name)).map(|at| at.row()),
        };
        let request = request_of(pod, qos);
        let pod = Pod {
            membership,
            name: &pod.info.name,
            uid: node_state::uid_hash(&pod.info.uid),
            request: &request,
            rules,
            per_node: if gang.one_per_node { 1 } else { u32::MAX },
            priority: pod.info.priority,
            created: pod.info.created,
            nominated,
        };
        if new_keys {
            cluster.survey(host);
        }
        cluster.is_there(pod.uid);
        if gang.turned_away && !self.book.knows(&membership.gang, pod.name, pod.uid) {
            cluster.succeeds_another();
        }
        let view = View { knowledge: &self.knowledge, qos, cluster };
        let mut verdict = self.book.begin_member(&pod, &view, self.newest_ms.max(cluster.clock_ms()));
        // What lets a member through may rest on memory: room, slots on nodes that have gone, and siblings that have ended.
        if !matches!(verdict, None | Some(Verdict::Rejected(_))) {
            let before = cluster.generation();
            for row in self.book.nodes_to_look_at(&view) {
                if let Some(at) = cluster.at_row(row).map(|node| node.at) {
                    cluster.freshen(host, at);
                }
            }
            if cluster.generation() != before {
                verdict = self.book.decide_again(&pod, &View { knowledge: &self.knowledge, qos, cluster });
            }
        }
        verdict.unwrap_or_else(|| {
            cluster.survey(host);
            let decide = |book: &mut Book, cluster: &Cluster| {
                book.decide_surveyed(&pod, &View { knowledge: &self.knowledge, qos, cluster })
            };
            let verdict = decide(&mut self.book, cluster);
            if !(cluster.is_late() && matches!(verdict, Verdict::Rejected(_))) {
                return verdict;
            }
            // Old node state makes nodes look free: what does not fit by that does not fit.
            cluster.believe(true);
            let believing = decide(&mut self.book, cluster);
            let rejected = matches!(believing, Verdict::Rejected(_));
            let in_vain = !rejected && self.book.doubts_in_vain(cluster.clock_ms());
            if in_vain && cluster.placed() == 0 {
                return believing;
            }
            cluster.believe(false);
            if rejected {
                return believing;
            }
            self.in_doubt = !in_vain;
            self.book.drop_plan();
            verdict
        })
    }

    fn note_cut_wait(&mut self, membership: &Membership, host: &mut impl Host) {
        let Some(asked) = membership.wait_cut_from else { return };
        let (gang, seconds) = (&membership.gang, membership.wait_seconds.unwrap_or(0));
        let mut message = say!("gang ", gang, ": waiting-time of ", asked);
        say_to!(&mut message, " s is cut to ", seconds, " s, the scheduler's longest wait");
        if self.said.is_news(&message) {
            host.log(Severity::Info, &message);
        }
    }

    /// Whether the pod of this cycle may go to the current node.
    pub fn filter(&mut self, qos: Option<&Qos>, cluster: &mut Cluster, host: &mut impl Host) -> Code {
        if !self.filters {
            return Code::Success;
        }
        let name = host.current_node_name().to_owned();
        let Some(at) = cluster.find(&name).or_else(|| cluster.read(host, &name)) else { return Code::Success };
        let verdict = self.judge(at.row(), qos, cluster);
        let Err(reason) = verdict else { return Code::Success };
        // The node may have changed since it was last read.
        let verdict = if !cluster.is_fresh(at) && self.rereads.take(at) && cluster.read(host, &name) == Some(at) {
            self.judge(at.row(), qos, cluster)
        } else {
            Err(reason)
        };
        match verdict {
            Ok(()) => Code::Success,
            Err(reason) => {
                host.status_reason(&text::reason(&reason));
                Code::Unschedulable
            }
        }
    }

    fn judge(&mut self, row: NodeRow, qos: Option<&Qos>, cluster: &Cluster) -> Result<(), String> {
        let view = View { knowledge: &self.knowledge, qos, cluster };
        self.book.filter(row, self.emptied.get(&row).map(|emptied| &emptied.freed), &view)
    }

    /// Preemption tries the current node without the target pod, or with it again.
    pub fn try_without(&mut self, without: bool, policy: &Policy, cluster: &mut Cluster, host: &mut impl Host) {
        let name = host.current_node_name().to_owned();
        let Some(at) = cluster.find(&name).or_else(|| cluster.read(host, &name)) else { return };
        let options = RequestOptions { pod_level: policy.pod_level_resources };
        let Ok(target) = PodInfo::read(host.target_pod(), &mut cluster.names, &options) else { return };
        let (pod, request) = (node_state::uid_hash(&target.uid), request(&target));
        if without {
            self.emptied.update(at.row(), |emptied| emptied.take_out(pod, &request));
            return;
        }
        if self.emptied.get_mut(&at.row()).is_some_and(|emptied| emptied.put_back(pod, &request)) {
            return;
        }
        // Not one that was taken out: it is nominated to the node. The scheduler adds such pods before each Filter and
        // never takes them out again.
        self.book.note_nominated(at.row());
        self.knowledge.nominated.update(at.row(), |pods| {
            if pods.len() < MAX_NOMINATED && !pods.iter().any(|(other, _)| *other == pod) {
                pods.push((pod, request));
            }
        });
    }

    /// The pod is about to go to the node in this row.
    pub fn reserve(&mut self, row: NodeRow, qos: Option<&Qos>, cluster: &Cluster, host: &mut impl Host) -> Code {
        let view = View { knowledge: &self.knowledge, qos, cluster };
        match self.book.reserve(row, &view) {
            Ok(()) => Code::Success,
            Err(rejection) if self.book.has_member() => reject(&rejection, host),
            Err(rejection) => {
                // No event need come for it.
                send_back(&rejection, host)
            }
        }
    }

    /// The pod did not go there after all.
    pub fn unreserve(&mut self, pod: &CyclePod) {
        if let Some(GangPod { recognised: Ok(Recognised::Member(membership)), .. }) = &pod.gang {
            self.book.unreserve(&membership.gang, &pod.info.name);
        }
    }

    /// Whether the pod of this cycle is a member.
    pub fn scores(&self) -> bool {
        self.book.has_member()
    }

    /// How near the node is to the siblings of the pod of this cycle; `None` without siblings.
    pub fn locality(&self, row: NodeRow, cluster: &Cluster) -> Option<i64> {
        self.book.locality(row, &View { knowledge: &self.knowledge, qos: None, cluster })
    }
}

/// What a node must have free for the pod of this cycle, and what QoS must leave of it.
fn request_of(pod: &CyclePod, qos: Option<&Qos>) -> Resources {
    let mut request = request(&pod.info);
    if let Some(qos) = qos {
        qos.ask_for_allowance(&mut request);
    }
    request
}

/// What a node must have free for the pod, itself included.
fn request(pod: &PodInfo) -> Resources {
    let mut request = pod.requests.clone();
    request.set(ResourceId::PODS, 1);
    request
}

/// Turns the pod away with an error, which the scheduler tries again within seconds, whatever happens.
fn send_back(rejection: &Rejection, host: &mut impl Host) -> Code {
    reject(rejection, host);
    Code::Error
}

fn reject(rejection: &Rejection, host: &mut impl Host) -> Code {
    host.status_reason(&text::reason(&rejection.reason));
    if rejection.preemption_may_help { Code::Unschedulable } else { Code::UnschedulableAndUnresolvable }
}
