//! What a pod asks for, as the scheduler counts it (`PodRequests` of component-helpers, kube-scheduler's `PodInfo`).
//!
//! Pure arithmetic: containers go in one by one, in any order but that of the init containers among themselves, and the
//! pod's totals come out. Who reads the containers, from protobuf or from typed objects, is not known here.

use super::quantities::Quantities;
use super::quantity::Quantity;
use super::resources::{ResourceId, Resources};

/// How a container shares the pod's time with the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Runs beside all other main containers.
    Main,
    /// Runs to its end before the next container starts.
    Init,
    /// An init container with `restartPolicy: Always`: runs beside everything that comes after it.
    Sidecar,
}

/// Requests and limits of a container, or of a pod as a whole.
#[derive(Clone, Debug, Default)]
pub struct Requirements {
    /// What is set aside.
    pub requests: Quantities,
    /// What may be used at most.
    pub limits: Quantities,
}

/// What the kubelet says a container has, for pods whose resources can change while they run.
#[derive(Clone, Debug, Default)]
pub struct Actual {
    /// In force now.
    pub resources: Requirements,
    /// Set aside by the node.
    pub allocated: Quantities,
}

/// The pod as a whole, as far as it matters for its totals.
#[derive(Clone, Debug, Default)]
pub struct PodWide {
    /// What running the pod costs beyond its containers.
    pub overhead: Quantities,
    /// `spec.resources`, only if the cluster has pod-level resources and only cpu, memory and huge pages: they replace what
    /// the containers add up to.
    pub resources: Option<Requirements>,
    /// The node has refused a pending resize for good, so the spec does not count.
    pub resize_infeasible: bool,
}

impl PodWide {
    /// Whether a pod as a whole can ask for `name`.
    #[must_use]
    pub fn counts(name: &str) -> bool {
        matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
    }
}

/// The quality-of-service class that Kubernetes gives a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NativeQos {
    /// Asks for nothing.
    BestEffort,
    /// Asks for something.
    Burstable,
    /// Every container has limits for cpu and memory and requests as much.
    Guaranteed,
}

impl NativeQos {
    /// The class that `status.qosClass` names.
    #[must_use]
    pub fn from_status(class: &str) -> Option<Self> {
        match class {
            "BestEffort" => Some(Self::BestEffort),
            "Burstable" => Some(Self::Burstable),
            "Guaranteed" => Some(Self::Guaranteed),
            _ => None,
        }
    }
}

/// What a pod adds up to.
#[derive(Clone, Debug)]
pub struct Totals {
    /// What a node must have free.
    pub requests: Resources,
    /// What scoring counts for the pod that is being scheduled: a container that does not say what it wants of cpu or memory
    /// counts as 100m or 200 MiB.
    pub scoring: Resources,
    /// What scoring counts for the pod once it is on a node. Differs from `scoring` only under pod-level resources: there,
    /// kube-scheduler gives defaults to placed pods only where the whole pod says nothing.
    pub placed: Resources,
    /// Limits; a resource without a limit is absent.
    pub limits: Resources,
    /// Worked out from cpu and memory of all containers.
    pub qos: NativeQos,
}

/// Adds up the containers of one pod.
#[derive(Debug)]
pub struct PodSum {
    pod: PodWide,
    requests: Aggregate,
    scoring: Aggregate,
    limits: Aggregate,
    qos: QosSum,
}

impl PodSum {
    /// No containers yet.
    #[must_use]
    pub fn new(pod: PodWide) -> Self {
        Self {
            pod,
            requests: Aggregate::default(),
            scoring: Aggregate::default(),
            limits: Aggregate::default(),
            qos: QosSum::new(),
        }
    }

    /// Adds a container. Of two init containers the first to run comes first.
    ///
    /// `actual` is what the kubelet reports, `None` while it reports no resources; it does not count for [`Role::Init`].
    pub fn add(&mut self, role: Role, mut spec: Requirements, actual: Option<&Actual>) {
        self.qos.add(&spec);
        if let Some(actual) = actual.filter(|_| role != Role::Init) {
            if self.pod.resize_infeasible {
                spec = actual.resources.clone();
            } else {
                spec.requests.max_all(&actual.resources.requests);
                spec.limits.max_all(&actual.resources.limits);
            }
            spec.requests.max_all(&actual.allocated);
        }
        self.limits.add(role, &spec.limits);
        self.requests.add(role, &spec.requests);
        for (id, default) in SCORING_DEFAULTS {
            if spec.requests.get(id).is_none() {
                spec.requests.set(id, default);
            }
        }
        self.scoring.add(role, &spec.requests);
    }

    /// The pod's totals.
    #[must_use]
    pub fn totals(self) -> Totals {
        let Self { pod, requests, scoring, limits, qos } = self;
        let mut requests = requests.total();
        let mut scoring = scoring.total();
        let mut limits = limits.total();
        let qos = qos.class(pod.resources.as_ref());
        let Requirements { requests: pod_requests, limits: pod_limits } = pod.resources.unwrap_or_default();

        requests.replace_all(&pod_requests);
        requests.add_all(&pod.overhead);
        scoring.replace_all(&pod_requests);
        scoring.add_all(&pod.overhead);
        limits.replace_all(&pod_limits);
        for (id, overhead) in pod.overhead.iter() {
            if let Some(limit) = limits.get(id).filter(|limit| *limit != Quantity::ZERO) {
                limits.set(id, limit.saturating_add(overhead));
            }
        }

        let (requests, scoring) = (requests.rounded(), scoring.rounded());
        let mut placed = scoring.clone();
        if !pod_requests.is_empty() {
            for (id, _) in SCORING_DEFAULTS {
                if requests.contains(id) {
                    placed.set(id, requests.get(id));
                }
            }
        }
        Totals { requests, scoring, placed, limits: limits.rounded(), qos }
    }
}

/// What scoring assumes of a container that does not say (`DefaultMilliCPURequest`, `DefaultMemoryRequest`).
const SCORING_DEFAULTS: [(ResourceId, Quantity); 2] =
    [(ResourceId::CPU, Quantity::milli(100)), (ResourceId::MEMORY, Quantity::units(200 * 1024 * 1024))];

/// The most that a pod's containers hold at one time.
///
/// While init container *i* runs, so do the sidecars before it; afterwards all sidecars and main containers run together.
#[derive(Debug, Default)]
struct Aggregate {
    /// Main containers and sidecars.
    running: Quantities,
    /// The sidecars so far.
    sidecars: Quantities,
    /// The most held before the main containers start.
    starting: Quantities,
}

impl Aggregate {
    fn add(&mut self, role: Role, amounts: &Quantities) {
        match role {
            Role::Main => self.running.add_all(amounts),
            Role::Sidecar => {
                self.running.add_all(amounts);
                self.sidecars.add_all(amounts);
            }
            Role::Init => {
                let mut during = amounts.clone();
                during.add_all(&self.sidecars);
                self.starting.max_all(&during);
            }
        }
    }

    fn total(mut self) -> Quantities {
        self.running.max_all(&self.starting);
        self.running
    }
}

/// Cpu and memory of all containers, as the quality-of-service class sees them.
#[derive(Debug)]
struct QosSum {
    /// Requests and limits of each.
    sums: [(Quantity, Quantity); 2],
    all_limited: bool,
}

impl QosSum {
    const RESOURCES: [ResourceId; 2] = [ResourceId::CPU, ResourceId::MEMORY];

    const fn new() -> Self {
        Self { sums: [(Quantity::ZERO, Quantity::ZERO); 2], all_limited: true }
    }

    fn add(&mut self, spec: &Requirements) {
        let positive = |list: &Quantities, id| list.get(id).filter(|quantity| quantity.is_positive());
        for (id, (request, limit)) in Self::RESOURCES.into_iter().zip(&mut self.sums) {
            if let Some(quantity) = positive(&spec.requests, id) {
                *request = request.saturating_add(quantity);
            }
            match positive(&spec.limits, id) {
                Some(quantity) => *limit = limit.saturating_add(quantity),
                None => self.all_limited = false,
            }
        }
    }

    /// The class; pod-level resources, if given, count instead of the containers'.
    fn class(self, pod: Option<&Requirements>) -> NativeQos {
        let sum = pod.map_or(self, |pod| {
            let mut sum = Self::new();
            sum.add(pod);
            sum
        });
        if sum.sums == [(Quantity::ZERO, Quantity::ZERO); 2] {
            NativeQos::BestEffort
        } else if sum.all_limited && sum.sums.iter().all(|(request, limit)| request == limit) {
            NativeQos::Guaranteed
        } else {
            NativeQos::Burstable
        }
    }
}
