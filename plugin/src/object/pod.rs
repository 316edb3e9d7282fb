//! A pod, read in place.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::container::{Container, ContainerStatus, ResourceList, ResourceRequirements};
use super::error::Error;
use super::meta::{self, Metadata};
use super::rules;
use super::wire::{self, Reader, Repeated};

/// A view of a protobuf `v1.Pod`.
///
/// [`Pod::parse`] reads what stands directly in metadata, spec and status. What lies deeper, such as containers, is read
/// when asked for, and only then found to be broken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pod<'a> {
    /// Name, labels, owners and so on.
    pub meta: Metadata<'a>,
    /// The node that the pod is bound to, or empty.
    pub node_name: &'a str,
    /// The scheduler profile that the pod asks for.
    pub scheduler_name: &'a str,
    /// Resolved from the priority class by the API server.
    pub priority: Option<i32>,
    /// The priority class, or empty.
    pub priority_class_name: &'a str,
    /// How many gates keep the pod from being scheduled.
    pub scheduling_gates: u32,
    /// `Pending`, `Running`, `Succeeded`, `Failed`, `Unknown` or empty.
    pub phase: &'a str,
    /// The class that the API server worked out, or empty.
    pub qos_class: &'a str,
    /// The node that preemption makes room on for this pod, or empty.
    pub nominated_node_name: &'a str,
    /// Resources for the pod as a whole.
    pub resources: Option<ResourceRequirements<'a>>,
    /// What running the pod costs beyond its containers.
    pub overhead: ResourceList<'a>,
    containers: Repeated<'a>,
    init_containers: Repeated<'a>,
    node_selector: Repeated<'a>,
    affinity: &'a [u8],
    tolerations: Repeated<'a>,
    topology_spread: Repeated<'a>,
    scheduling_group: Option<&'a [u8]>,
    workload_ref: Option<&'a [u8]>,
    container_statuses: Repeated<'a>,
    init_container_statuses: Repeated<'a>,
    conditions: Repeated<'a>,
}

/// `spec.workloadRef` of Kubernetes 1.35.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkloadRef<'a> {
    /// The `Workload` object.
    pub name: &'a str,
    /// A pod group within it.
    pub pod_group: &'a str,
    /// Which replica of that group, or empty.
    pub pod_group_replica_key: &'a str,
}

impl<'a> Pod<'a> {
    /// Reads `bytes` as a `v1.Pod`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut pod = Self::default();
        pod.read(bytes)?;
        Ok(pod)
    }

    /// By reference, like all that reads into large values: they are filled where they stand.
    #[inline(never)]
    fn read(&mut self, bytes: &'a [u8]) -> Result<(), Error> {
        let mut fields = Reader::new(bytes);
        while fields.advance() {
            match fields.number {
                1 => self.meta.read(fields.bytes()).map_err(Error::at("metadata"))?,
                2 => self.read_spec(fields.bytes()).map_err(Error::at("spec"))?,
                3 => self.read_status(fields.bytes()).map_err(Error::at("status"))?,
                _ => {}
            }
        }
        fields.finish().map_err(Error::at("pod"))
    }

    fn read_spec(&mut self, bytes: &'a [u8]) -> Result<(), wire::Error> {
        let mut overhead = Repeated::default();
        let mut fields = Reader::new(bytes);
        while fields.advance() {
            match fields.number {
                2 => fields.note(&mut self.containers),
                7 => fields.note_entry(&mut self.node_selector),
                10 => self.node_name = fields.text(),
                18 => self.affinity = fields.bytes(),
                19 => self.scheduler_name = fields.text(),
                20 => fields.note(&mut self.init_containers),
                22 => fields.note(&mut self.tolerations),
                24 => self.priority_class_name = fields.text(),
                // An int32 in 64 bits: the upper half repeats the sign.
                25 => self.priority = Some(fields.int() as i32),
                32 => fields.note(&mut overhead),
                33 => fields.note(&mut self.topology_spread),
                38 => self.scheduling_gates = self.scheduling_gates.saturating_add(1),
                40 => self.resources = Some(ResourceRequirements::new(fields.bytes())),
                42 => self.workload_ref = Some(fields.bytes()),
                43 => self.scheduling_group = Some(fields.bytes()),
                _ => {}
            }
        }
        self.overhead = ResourceList::new(overhead);
        fields.finish()
    }

    fn read_status(&mut self, bytes: &'a [u8]) -> Result<(), wire::Error> {
        let mut fields = Reader::new(bytes);
        while fields.advance() {
            match fields.number {
                1 => self.phase = fields.text(),
                2 => fields.note(&mut self.conditions),
                8 => fields.note(&mut self.container_statuses),
                10 => fields.note(&mut self.init_container_statuses),
                9 => self.qos_class = fields.text(),
                11 => self.nominated_node_name = fields.text(),
                _ => {}
            }
        }
        fields.finish()
    }

    /// The pod has run to its end and holds nothing any more.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self.phase, "Succeeded" | "Failed")
    }

    /// Containers in order, without init containers.
    pub fn containers(&self) -> impl Iterator<Item = Result<Container<'a>, Error>> + use<'a> {
        containers(self.containers, "spec.containers")
    }

    /// Init containers in order.
    pub fn init_containers(&self) -> impl Iterator<Item = Result<Container<'a>, Error>> + use<'a> {
        containers(self.init_containers, "spec.initContainers")
    }

    /// Status of containers, then of init containers.
    pub fn container_statuses(&self) -> impl Iterator<Item = Result<ContainerStatus<'a>, Error>> + use<'a> {
        self.container_statuses
            .iter()
            .chain(self.init_container_statuses.iter())
            .map(|status| status.and_then(ContainerStatus::parse).map_err(Error::at("status.containerStatuses")))
    }

    /// `spec.affinity` as it stands.
    pub(super) fn affinity(&self) -> &'a [u8] {
        self.affinity
    }

    /// The entries of `spec.tolerations` as they stand.
    pub(super) fn tolerations(&self) -> Repeated<'a> {
        self.tolerations
    }

    /// Tells the parts of the spec that decide where the pod may run, resources apart: node selector, tolerations,
    /// topology spread and affinity.
    pub(super) fn placement_parts(&self, mut tell: impl FnMut(&[u8])) {
        for list in [self.node_selector, self.tolerations, self.topology_spread] {
            list.iter().filter_map(Result::ok).for_each(&mut tell);
        }
        tell(self.affinity);
    }

    /// The labels that a node must have; of a key that occurs twice, the last counts.
    pub fn node_selector(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        meta::texts(self.node_selector)
    }

    /// The values that label `key` of a node may have, sorted; `None` if any value, or none at all, may do.
    ///
    /// Reads `nodeSelector` and the `In` expressions of required node affinity. The rest can only narrow the choice
    /// further, so a node with another value is out, while one with such a value is not yet in.
    pub fn allowed_values(&self, key: &str) -> Result<Option<Vec<Box<str>>>, Error> {
        let by_affinity = rules::allowed_values(self.affinity, key).map_err(Error::at("spec.affinity"))?;
        let Some(selected) = meta::last(self.node_selector, key) else {
            return Ok(by_affinity);
        };
        let allowed = by_affinity.is_none_or(|values| values.iter().any(|value| **value == *selected));
        Ok(Some(if allowed { vec![selected.into()] } else { Vec::new() }))
    }

    /// `spec.schedulingGroup.podGroupName` (Kubernetes 1.36 and later).
    pub fn scheduling_group(&self) -> Result<Option<&'a str>, Error> {
        let Some(bytes) = self.scheduling_group else {
            return Ok(None);
        };
        let mut name = None;
        let mut fields = Reader::new(bytes);
        while fields.advance() {
            if fields.number == 1 {
                name = Some(fields.text());
            }
        }
        fields.finish().map_err(Error::at("spec.schedulingGroup"))?;
        Ok(name)
    }

    /// `spec.workloadRef` (Kubernetes 1.35 only).
    pub fn workload_ref(&self) -> Result<Option<WorkloadRef<'a>>, Error> {
        self.workload_ref.map(WorkloadRef::parse).transpose().map_err(Error::at("spec.workloadRef"))
    }

    /// The node has said that it can never give the pod the resources now asked for.
    pub fn is_resize_infeasible(&self) -> Result<bool, Error> {
        Ok(self.reason(b"PodResizePending")? == b"Infeasible")
    }

    /// A scheduler has tried the pod in vain.
    pub fn was_turned_away(&self) -> Result<bool, Error> {
        let reason = self.reason(b"PodScheduled")?;
        Ok(reason == b"Unschedulable" || reason == b"SchedulerError")
    }

    /// The reason of the first condition of a kind, or nothing.
    fn reason(&self, kind: &[u8]) -> Result<&'a [u8], Error> {
        for condition in self.conditions.iter() {
            let (of, reason) = condition.and_then(condition_of).map_err(Error::at("status.conditions"))?;
            if of == kind {
                return Ok(reason);
            }
        }
        Ok(b"")
    }
}

impl<'a> WorkloadRef<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, wire::Error> {
        let mut reference = Self::default();
        let Self { name, pod_group, pod_group_replica_key } = &mut reference;
        wire::texts(bytes, &mut [(1, name), (2, pod_group), (3, pod_group_replica_key)])?;
        Ok(reference)
    }
}

fn containers<'a>(
    list: Repeated<'a>,
    part: &'static str,
) -> impl Iterator<Item = Result<Container<'a>, Error>> + use<'a> {
    list.iter().map(move |container| container.and_then(Container::parse).map_err(Error::at(part)))
}

/// Type and reason of a condition.
fn condition_of(bytes: &[u8]) -> Result<(&[u8], &[u8]), wire::Error> {
    let (mut kind, mut reason): (&[u8], &[u8]) = (&[], &[]);
    let mut fields = Reader::new(bytes);
    while fields.advance() {
        match fields.number {
            1 => kind = fields.bytes(),
            5 => reason = fields.bytes(),
            _ => {}
        }
    }
    fields.finish().map(|()| (kind, reason))
}
