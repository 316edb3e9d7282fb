//! What every scheduling cycle needs to know of its pod, read in one go.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::container::{Container, ContainerStatus, ResourceRequirements};
use super::error::{self, Error};
use super::pod::Pod;
use super::quantities::Quantities;
use super::requests::{Actual, NativeQos, PodSum, PodWide, Requirements, Role, Totals};
use super::resources::{ResourceNames, Resources};
use crate::say::Say;
use crate::sort::sort_by_key;
use crate::text::cut;

/// Which features of the cluster count when a pod's requests are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestOptions {
    /// Pod-level resources (`spec.resources`): off by default up to Kubernetes 1.33, on from 1.34.
    pub pod_level: bool,
}

/// The facts of a pod, owned, so that they outlive the bytes they were read from.
#[derive(Clone, Debug)]
pub struct PodInfo {
    /// Unique for ever.
    pub uid: Box<str>,
    /// The pod's namespace.
    pub namespace: Box<str>,
    /// Unique within the namespace.
    pub name: Box<str>,
    /// What a node must have free.
    pub requests: Resources,
    /// What scoring counts for this pod while it is being scheduled; see [`Totals::scoring`].
    pub scoring: Resources,
    /// What scoring counts for this pod once it is on a node; see [`Totals::placed`].
    pub placed: Resources,
    /// Limits; a resource without a limit is absent.
    pub limits: Resources,
    /// `spec.priority`, 0 if it has none.
    pub priority: i32,
    /// In seconds since 1970; 0 if unknown.
    pub created: i64,
    /// Kind of the object that manages the pod, such as `ReplicaSet`; empty if there is none.
    pub owner_kind: Box<str>,
    /// The node that the pod is bound to; empty if there is none.
    pub node_name: Box<str>,
    /// `status.qosClass`, or worked out as the API server would.
    pub qos: NativeQos,
    /// Scheduling gates keep the pod from being scheduled.
    pub gated: bool,
    /// Deletion has been asked for.
    pub terminating: bool,
    /// The pod has run to its end and holds nothing any more.
    pub terminal: bool,
}

impl PodInfo {
    /// Reads the facts of a protobuf `v1.Pod`. New resource names get numbers in `names`.
    pub fn read(bytes: &[u8], names: &mut ResourceNames, options: &RequestOptions) -> Result<Self, Error> {
        Self::of(&Pod::parse(bytes)?, names, options)
    }

    /// The facts of a pod that has been parsed already.
    pub fn of(pod: &Pod<'_>, names: &mut ResourceNames, options: &RequestOptions) -> Result<Self, Error> {
        let totals = totals(pod, names, options)?;
        Ok(Self {
            uid: pod.meta.uid.into(),
            namespace: pod.meta.namespace.into(),
            name: pod.meta.name.into(),
            requests: totals.requests,
            scoring: totals.scoring,
            placed: totals.placed,
            limits: totals.limits,
            priority: pod.priority.unwrap_or(0),
            created: pod.meta.created.unwrap_or(0),
            owner_kind: pod.meta.controller().map_or("", |owner| owner.kind).into(),
            node_name: pod.node_name.into(),
            qos: NativeQos::from_status(pod.qos_class).unwrap_or(totals.qos),
            gated: pod.scheduling_gates > 0,
            terminating: pod.meta.terminating,
            terminal: pod.is_terminal(),
        })
    }

    /// Each node has one of these, so no policy should send it elsewhere.
    #[must_use]
    pub fn is_daemon_set(&self) -> bool {
        &*self.owner_kind == "DaemonSet"
    }
}

/// What the pod adds up to.
fn totals(pod: &Pod<'_>, names: &mut ResourceNames, options: &RequestOptions) -> Result<Totals, Error> {
    const OVERHEAD: &str = "spec.overhead";
    let mut statuses = Statuses::of(pod)?;
    let mut sum = PodSum::new(PodWide {
        overhead: Quantities::of_pod(pod.overhead, ResourceNames::counts, names, OVERHEAD, &OVERHEAD)?,
        resources: match pod.resources {
            Some(resources) if options.pod_level => {
                Some(requirements(resources, PodWide::counts, names, Holder { part: "spec", container: None })?)
            }
            _ => None,
        },
        resize_infeasible: !statuses.0.is_empty() && pod.is_resize_infeasible()?,
    });
    let mut add = |role, part, container: Container<'_>| {
        let holder = Holder { part, container: Some(container.name) };
        let spec = requirements(container.resources, ResourceNames::counts, names, holder)?;
        sum.add(role, spec, statuses.actual(container.name, names)?.as_ref());
        Ok::<_, Error>(())
    };
    for container in pod.containers() {
        add(Role::Main, "spec.containers", container?)?;
    }
    for container in pod.init_containers() {
        let container = container?;
        let role = if container.restartable { Role::Sidecar } else { Role::Init };
        add(role, "spec.initContainers", container)?;
    }
    Ok(sum.totals())
}

fn requirements(
    resources: ResourceRequirements<'_>,
    counts: fn(&str) -> bool,
    names: &mut ResourceNames,
    holder: Holder<'_>,
) -> Result<Requirements, Error> {
    let mut read = |list, name| Quantities::of_pod(list, counts, names, holder.part, &Field { holder, list: name });
    Ok(Requirements {
        requests: read(resources.requests(), "resources.requests")?,
        limits: read(resources.limits(), "resources.limits")?,
    })
}

/// What the kubelet reports of the containers' resources, sorted by name for a pod of any size.
struct Statuses<'a>(Vec<ContainerStatus<'a>>);

impl<'a> Statuses<'a> {
    fn of(pod: &Pod<'a>) -> Result<Self, Error> {
        let mut statuses = Vec::new();
        for status in pod.container_statuses() {
            statuses.push(status?);
        }
        sort_by_key(&mut statuses, |status| status.name);
        Ok(Self(statuses))
    }

    /// What is reported of `container`; of several with its name, the last counts. For the first container of that name
    /// only: no valid pod has two, and thousands of them must not read one long status over and over.
    fn actual(&mut self, container: &str, names: &mut ResourceNames) -> Result<Option<Actual>, Error> {
        let behind = self.0.partition_point(|status| status.name <= container);
        let last = behind.checked_sub(1).and_then(|at| self.0.get_mut(at)).filter(|status| status.name == container);
        let Some((status, resources)) = last.and_then(|status| status.resources.take().map(|taken| (status, taken)))
        else {
            return Ok(None);
        };
        let holder = Holder { part: "status.containerStatuses", container: Some(status.name) };
        let field = Field { holder, list: "allocatedResources" };
        Ok(Some(Actual {
            resources: requirements(resources, ResourceNames::counts, names, holder)?,
            allocated: Quantities::of_pod(status.allocated, ResourceNames::counts, names, holder.part, &field)?,
        }))
    }
}

/// Where in a pod resource lists stand.
#[derive(Clone, Copy)]
struct Holder<'a> {
    part: &'static str,
    container: Option<&'a str>,
}

/// A resource list, as errors name it: `spec.containers[main].resources.requests`.
struct Field<'a> {
    holder: Holder<'a>,
    list: &'static str,
}

impl Say for Field<'_> {
    fn say(&self, text: &mut String) {
        text.push_str(self.holder.part);
        if let Some(name) = self.holder.container {
            say_to!(text, "[", cut(name, error::LONGEST), "]");
        }
        say_to!(text, ".", self.list);
    }
}
