//! The cluster as the book of gangs asks about it.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;

use super::qos::Qos;
use crate::cluster::gangs::Labelled;
use crate::cluster::{Cluster, Node};
use crate::config::Gang;
use crate::gather::Gather;
use crate::object::{NodeRules, ResourceId, Resources};
use crate::policy::gang::book::Facts;
use crate::policy::gang::planner::NodeRow;
use crate::policy::qos::class::PodClass;
use crate::reckon::Reckon;
use crate::sorted_map::SortedMap;
use crate::text::boxed;

/// Most sets of rules that are kept; the members of a gang share one or two.
const MAX_RULES: usize = 4096;

/// What gangs know besides the cluster.
#[derive(Debug)]
pub struct Knowledge {
    topology_key: Option<Box<str>>,
    excluded_roles: Vec<Box<str>>,
    /// Rules and class of members by number, and the cycle in which they were last met.
    rules: SortedMap<u64, (Rc<NodeRules>, PodClass, u64)>,
    /// The number of the rules of the member at hand, of which QoS knows more than the class.
    current: u64,
    /// Pods that the scheduler counted in where they are nominated, in this cycle: hashes of their UIDs, and requests.
    pub nominated: SortedMap<NodeRow, Vec<(u64, Resources)>>,
}

impl Knowledge {
    pub fn new(policy: &Gang) -> Self {
        Self {
            topology_key: policy.topology_key.as_deref().map(Into::into),
            excluded_roles: boxed(&policy.excluded_roles),
            rules: SortedMap::default(),
            current: 0,
            nominated: SortedMap::default(),
        }
    }

    /// Remembers the rules of the member at hand. Answers a number for them and the class, for which QoS has rules.
    pub fn keep_rules(&mut self, fingerprint: u64, rules: &Rc<NodeRules>, class: PodClass, cycle: u64) -> u64 {
        let [qos, band] = [class.qos as u64, class.band.map_or(0xff, |band| band as u64)];
        let class_number = qos | band << 8 | u64::from(class.declared) << 16;
        let number = fingerprint ^ class_number.wrapping_mul(0x517c_c1b7_2722_0a95);
        match self.rules.get_mut(&number) {
            Some((_, _, met)) => *met = cycle,
            None => {
                if self.rules.len() >= MAX_RULES {
                    let oldest = self.rules.iter().least(|(_, (_, _, met))| *met).map(|(number, _)| *number);
                    oldest.and_then(|oldest| self.rules.remove(&oldest));
                }
                self.rules.insert(number, (rules.clone(), class, cycle));
            }
        }
        self.current = number;
        number
    }
}

/// The book's view.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub knowledge: &'a Knowledge,
    pub qos: Option<&'a Qos>,
    pub cluster: &'a Cluster,
}

impl View<'_> {
    fn topology<'n>(&self, node: &'n Node) -> Option<&'n str> {
        self.cluster.label(node, self.knowledge.topology_key.as_deref()?)
    }

    /// What QoS leaves of the node, if the resource stands for that.
    fn allowance(&self, node: &Node, resource: ResourceId) -> Option<i64> {
        self.qos?.allowance(resource, node, self.cluster)
    }

    /// What QoS keeps free of the node's resource.
    fn kept(&self, node: &Node, resource: ResourceId) -> i64 {
        self.qos.map_or(0, |qos| qos.kept(resource, node))
    }

    /// Members that node state counts under this key, if it is one of the gang's and not of an excluded role.
    fn counts(&self, key: &str, gang: &str) -> bool {
        let Some(role) = key.strip_prefix(gang) else { return false };
        match role.strip_prefix('/') {
            None => role.is_empty(),
            Some(role) => !self.knowledge.excluded_roles.iter().any(|excluded| **excluded == *role),
        }
    }
}

impl Facts for View<'_> {
    fn rows(&self) -> NodeRow {
        u32::try_from(self.cluster.capacity()).unwrap_or(u32::MAX)
    }

    fn exists(&self, node: NodeRow) -> bool {
        self.cluster.at_row(node).is_some()
    }

    fn is_known(&self, node: NodeRow) -> bool {
        !self.is_late() && self.cluster.at_row(node).is_some_and(|node| node.known().is_some())
    }

    fn is_late(&self) -> bool {
        self.cluster.is_late()
    }

    fn free(&self, node: NodeRow, resource: ResourceId) -> i64 {
        let Some(node) = self.cluster.at_row(node) else { return 0 };
        let free = || self.cluster.free(node, resource).minus(self.kept(node, resource));
        self.allowance(node, resource).unwrap_or_else(free)
    }

    fn allocatable(&self, node: NodeRow, resource: ResourceId) -> i64 {
        let Some(node) = self.cluster.at_row(node) else { return 0 };
        // Emptying a node lowers no measurement.
        let all = || node.allocatable.get(resource).minus(self.kept(node, resource));
        self.allowance(node, resource).unwrap_or_else(all)
    }

    fn nominated(&self, node: NodeRow, resource: ResourceId, leave_out: &dyn Fn(u64) -> bool) -> i64 {
        let there = self.knowledge.nominated.get(&node).into_iter().flatten().filter(|(pod, _)| !leave_out(*pod));
        there.map(|(_, request)| request.get(resource)).fold(0, i64::plus)
    }

    fn domain(&self, node: NodeRow) -> Option<u32> {
        let value = self.topology(self.cluster.at_row(node)?)?;
        Some(value.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)))
    }

    fn allows(&self, node: NodeRow, rules: u64) -> bool {
        let Some(node) = self.cluster.at_row(node) else { return false };
        let known = self.knowledge.rules.get(&rules);
        let allowed = known.is_none_or(|(rules, ..)| rules.allow(&Labelled { cluster: self.cluster, node }));
        let hot = |qos: &Qos| match known {
            _ if rules == self.knowledge.current => qos.refuses(node, self.cluster),
            Some((_, class, _)) => qos.refuses_class(*class, node, self.cluster),
            None => false,
        };
        allowed && !self.qos.is_some_and(hot)
    }

    fn bound(&self, gang: &str) -> u32 {
        let members = self.cluster.gang_members(gang).filter(|(key, _)| self.counts(key, gang));
        members.map(|(_, count)| count).fold(0, u32::saturating_add)
    }

    fn bound_on(&self, node: NodeRow, gang: &str) -> u32 {
        let Some(state) = self.cluster.at_row(node).and_then(Node::state) else { return 0 };
        let members = state.gangs.iter().filter(|(key, _)| self.counts(key, gang));
        members.map(|(_, count)| *count).fold(0, u32::saturating_add)
    }

    fn in_ledger(&self, uid: u64) -> bool {
        self.cluster.is_placed(uid)
    }

    fn is_gone(&self, uid: u64) -> bool {
        self.cluster.is_gone(uid)
    }

    fn generation(&self) -> u64 {
        self.cluster.generation()
    }

    fn node_name(&self, node: NodeRow) -> &str {
        self.cluster.at_row(node).map_or("?", |node| &node.name)
    }

    fn resource_name(&self, resource: ResourceId) -> &str {
        self.cluster.names.name(resource)
    }

    fn domain_name(&self, domain: u32) -> &str {
        let mut rows = 0..self.rows();
        let node = rows.find(|row| self.domain(*row) == Some(domain)).and_then(|row| self.cluster.at_row(row));
        node.and_then(|node| self.topology(node)).unwrap_or("?")
    }
}
