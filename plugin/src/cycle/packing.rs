//! Packing at work: what pods and nodes are to it, and its scores in this cycle.
//!
//! Devices that are asked for whole and those that are shared are the same devices under different names: shares
//! (`koordinator.sh/gpu-core`, `stowage.dev/gpu-milli`) are taken to be of the first device in the list of GPU resources,
//! `nvidia.com/gpu` by default. Every other resource is a kind of its own: other vendors' devices, and slices that the
//! device plugin counts, such as MIG profiles.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::cluster::{Cluster, Known, Node, NodeIndex, node_state};
use crate::config::Policy;
use crate::gather::Gather;
use crate::object::{self, GpuNames, GpuRequest, GpuUnit, PodInfo, Quantity, ResourceId, Resources};
use crate::policy::packing::{
    DEVICE, Explanation, Free, Kind, Model, Models, NodeCapacity, Packing, PodShape, Pool, score,
};
use crate::reckon::Reckon;
use crate::text::{boxed, number};

/// Number of pods in one place that a time-sliced NVIDIA device stands for.
const REPLICAS: &str = "nvidia.com/gpu.replicas";
/// Whole devices, and shares of them.
const MAIN: Kind = Kind(0);
/// More of a resource than that are no devices or slices: some plugins count memory.
const MAX_DEVICES: i64 = 1024;
/// Pods that are remembered to have been counted, by hash.
const SEEN: usize = 4096;

/// Packing, fed from what the module knows of the cluster.
#[derive(Debug)]
pub struct Packer {
    packing: Packing,
    gpu: GpuNames,
    /// The device that shares are shares of.
    main: Option<Box<str>>,
    model_labels: Vec<Box<str>>,
    /// Hashes of values of model labels and the label's position, by the number of the [`Model`].
    models: Vec<u64>,
    /// By node row: the node's revision when packing was told of it, 0 if it was not.
    told: Vec<u64>,
    /// The cluster's generation then.
    generation: u64,
    seen: Vec<u64>,
    /// By node row: the score and the cycle that it belongs to.
    table: Vec<(u64, u8)>,
    /// The least regret in this cycle.
    least: f64,
}

impl Packer {
    /// `None` if packing counts for nothing.
    #[inline(never)]
    pub fn new(policy: &Policy) -> Option<Self> {
        if policy.weights.packing == 0 {
            return None;
        }
        let main = policy.gpu.resources.iter().find(|resource| resource.unit == GpuUnit::Device);
        let mut packer = Self {
            packing: Packing::new(policy.packing.horizon_pods),
            gpu: policy.gpu.names(),
            main: main.map(|resource| resource.name.as_str().into()),
            model_labels: boxed(&policy.gpu.model_labels),
            models: Vec::new(),
            told: Vec::new(),
            generation: 0,
            seen: vec![0; SEEN],
            table: Vec::new(),
            least: 0.0,
        };
        for pods in &policy.packing.expected {
            let quantity = |text: &str| Quantity::parse(text).unwrap_or_default();
            let shape = PodShape {
                kind: MAIN,
                models: packer.expected_models(&pods.models),
                devices: pods.gpus,
                milli: pods.gpu_milli,
                cpu: quantity(&pods.cpu).milli_value(),
                memory: quantity(&pods.memory).value(),
            };
            packer.packing.expect(&shape, pods.pods);
        }
        Some(packer)
    }

    /// The node labels that must be kept for [`Packer::new`].
    pub fn node_labels(policy: &Policy) -> Vec<Box<str>> {
        let mut labels = Vec::new();
        if policy.weights.packing > 0 {
            labels = boxed(&policy.gpu.model_labels);
            labels.push(REPLICAS.into());
        }
        labels
    }

    /// What a pod is to packing.
    pub fn shape(
        &mut self,
        pod: &object::Pod<'_>,
        info: &PodInfo,
        cluster: &Cluster,
    ) -> Result<PodShape, object::Error> {
        self.gpu.learn(&cluster.names);
        let mut models = Models::ANY;
        for label in 0..self.model_labels.len() {
            let Some(key) = self.model_labels.get(label) else { continue };
            if let Some(values) = pod.allowed_values(key)? {
                let values: Vec<Model> = values.iter().filter_map(|value| self.model(label, value)).gather();
                models = models.only(values);
            }
        }
        let (kind, devices, milli) = self.devices(&info.requests, cluster).unwrap_or((MAIN, 0, 0));
        let cpu = info.requests.get(ResourceId::CPU);
        Ok(PodShape { kind, models, devices, milli, cpu, memory: info.requests.get(ResourceId::MEMORY) })
    }

    /// Counts a pod among those that arrive; once, however often it is tried. `together` with so many it starts.
    pub fn arrives(&mut self, pod: &PodInfo, shape: &PodShape, together: u32) {
        let hash = node_state::uid_hash(&pod.uid);
        let place = usize::try_from(hash).unwrap_or(0) % SEEN;
        if let Some(seen) = self.seen.get_mut(place).filter(|seen| **seen != hash) {
            *seen = hash;
            self.packing.observe(shape, together);
        }
    }

    /// How many GPU pods have been counted. Without any there is no opinion on any pod.
    pub fn seen(&self) -> u64 {
        self.packing.seen()
    }

    /// Scores the pod on all candidates. False if there is no opinion on it.
    pub fn begin(&mut self, pod: &PodShape, candidates: &[NodeIndex], cluster: &Cluster) -> bool {
        self.tell_changes(cluster);
        let mut regrets = Vec::with_capacity(candidates.len());
        let rows = candidates.iter().map(|at| at.index());
        if !self.packing.regrets(pod, rows, |row, regret| regrets.push((row, regret))) {
            return false;
        }
        self.least = regrets.iter().map(|(_, regret)| *regret).fold(f64::INFINITY, f64::min);
        self.table.resize(cluster.capacity(), (0, 0));
        for (row, regret) in regrets {
            if let Some(entry) = self.table.get_mut(row) {
                *entry = (cluster.cycle(), score(regret, self.least));
            }
        }
        true
    }

    /// The score on a node; 0 if as far as is known it has no room.
    pub fn score(&self, at: NodeIndex, cluster: &Cluster) -> i64 {
        match self.table.get(at.index()) {
            Some((cycle, score)) if *cycle == cluster.cycle() => (*score).into(),
            _ => 0,
        }
    }

    /// Scores the pod on a node once more if the node has changed since.
    pub fn look_again(&mut self, pod: &PodShape, at: NodeIndex, cluster: &Cluster) {
        if !self.tell(at.index(), cluster) {
            return;
        }
        let mut found = None;
        self.packing.regrets(pod, core::iter::once(at.index()), |_, regret| found = Some(regret));
        if let Some(entry) = self.table.get_mut(at.index()) {
            *entry = (cluster.cycle(), found.map_or(0, |regret| score(regret, self.least)));
        }
    }

    /// What the score on a node is made of, as JSON `fields`: the regret in GPU-milli, which pods lose most and how much,
    /// and the value of the node's devices before and after.
    pub fn explain(&self, pod: &PodShape, at: NodeIndex, fields: &mut Vec<String>) {
        let Some(Explanation { regret, loser, value }) = self.packing.explain(pod, at.index()) else { return };
        // Whole numbers: printing fractions costs the module more than it tells.
        fields.push(say!("\"regret\":", regret as i64));
        if let Some((PodShape { devices, milli, cpu, .. }, loss)) = loser {
            let loss = loss as i64;
            fields.push(say!("\"loser\":\"", devices, " x ", milli, " milli, ", cpu, "m cpu\",\"loses\":", loss));
        }
        if let Some((before, after)) = value {
            fields.push(say!("\"valueBefore\":", before, ",\"valueAfter\":", after));
        }
    }

    /// Tells packing which nodes are new, gone, or other than before.
    fn tell_changes(&mut self, cluster: &Cluster) {
        if self.generation != cluster.generation() {
            self.generation = cluster.generation();
            self.gpu.learn(&cluster.names);
            for row in 0..cluster.capacity().max(self.told.len()) {
                self.tell(row, cluster);
            }
        }
    }

    /// Whether the node is other than before.
    fn tell(&mut self, row: usize, cluster: &Cluster) -> bool {
        let node = u32::try_from(row).ok().and_then(|row| cluster.at_row(row));
        let known = node.and_then(|node| Some((node, node.known()?)));
        let revision = known.map_or(0, |(node, _)| node.revision().max(1));
        while self.told.len() <= row {
            self.told.push(0);
        }
        match self.told.get_mut(row) {
            Some(told) if *told != revision => *told = revision,
            _ => return false,
        }
        match known {
            Some((node, known)) => {
                let capacity = self.capacity(node, known, cluster);
                self.packing.update_node(row, capacity);
            }
            None => self.packing.remove_node(row),
        }
        true
    }

    fn capacity(&mut self, node: &Node, known: &Known, cluster: &Cluster) -> NodeCapacity {
        let amounts =
            |amounts: &Resources| Free { cpu: amounts.get(ResourceId::CPU), memory: amounts.get(ResourceId::MEMORY) };
        let (allocatable, requested) = (amounts(&node.allocatable), amounts(&known.requested));
        let models = (0..self.model_labels.len())
            .filter_map(|label| self.model(label, node.tracked.get(label)?.as_deref()?))
            .collect();
        NodeCapacity {
            allocatable,
            free: Free {
                cpu: allocatable.cpu.minus(requested.cpu),
                memory: allocatable.memory.minus(requested.memory),
            },
            models,
            pools: self.pools(node, known, cluster),
        }
    }

    fn pools(&self, node: &Node, known: &Known, cluster: &Cluster) -> Vec<Pool> {
        let replicas = node.tracked.get(self.model_labels.len()).and_then(Option::as_deref);
        let replicas = replicas.and_then(number).and_then(|replicas| u32::try_from(replicas).ok());
        let worth = DEVICE.checked_div(replicas.unwrap_or(1)).unwrap_or(DEVICE).max(1);
        let mut pools: Vec<Pool> = Vec::new();
        let mut shares = 0;
        let mut whole = 0;
        for (id, amount) in node.allocatable.iter().filter(|(_, amount)| *amount > 0) {
            let Some(unit) = self.gpu.unit(id) else { continue };
            let kind = self.kind(id, unit, cluster);
            match (unit, kind) {
                (GpuUnit::Percent, _) => shares = shares.max(amount.times(10)),
                (GpuUnit::Milli, _) => shares = shares.max(amount),
                (GpuUnit::Device, MAIN) => whole = amount,
                (GpuUnit::Device | GpuUnit::Part, _) => {
                    let Some(devices) = count(amount) else { continue };
                    let used = known.requested.get(id).times(DEVICE.into());
                    let worth = if unit == GpuUnit::Part { slice(cluster.names.name(id)) } else { DEVICE };
                    pools.push(Pool::filled(kind, worth, devices, used));
                }
                (GpuUnit::Spread, _) => {}
            }
        }
        let devices = if whole > 0 { whole } else { shares.checked_div(DEVICE.into()).unwrap_or(0) };
        if let Some(devices) = count(devices) {
            pools.push(self.main_pool(node, known, devices, worth, cluster));
        }
        pools
    }

    /// Devices that are asked for whole or shared. Where node state does not tell each device, they are taken to be filled one
    /// after another; where it does, pods placed since take theirs.
    fn main_pool(&self, node: &Node, known: &Known, devices: u32, worth: u32, cluster: &Cluster) -> Pool {
        let free = &known.document.gpu_free;
        if usize::try_from(devices).is_ok_and(|devices| devices == free.len()) {
            let mut pool = Pool::by_device(MAIN, worth, free.iter().copied().map(Into::into));
            for entry in node.entries() {
                if let Some((MAIN, devices, milli)) = self.devices(&entry.requests, cluster) {
                    pool.take(devices, milli);
                }
            }
            return pool;
        }
        let mut used = 0_i64;
        let mut shares = 0_i64;
        for (id, amount) in known.requested.iter() {
            match self.gpu.unit(id) {
                Some(GpuUnit::Percent) => shares = shares.max(amount.times(10)),
                Some(GpuUnit::Milli) => shares = shares.max(amount),
                Some(unit @ GpuUnit::Device) if self.kind(id, unit, cluster) == MAIN => {
                    used = used.plus(amount.times(DEVICE.into()));
                }
                _ => {}
            }
        }
        Pool::filled(MAIN, worth, devices, used.plus(shares))
    }

    /// The devices that requests amount to: their kind, their number, and the thousandths of each.
    fn devices(&self, requests: &Resources, cluster: &Cluster) -> Option<(Kind, u32, u32)> {
        let of = |wanted: GpuUnit| {
            requests.iter().find(move |(id, amount)| *amount > 0 && self.gpu.unit(*id) == Some(wanted))
        };
        if let Some(GpuRequest { count: devices, milli }) = self.gpu.request(requests) {
            let kind = of(GpuUnit::Device).map_or(MAIN, |(id, _)| self.kind(id, GpuUnit::Device, cluster));
            return Some((kind, count(devices)?, u32::try_from(milli).unwrap_or(DEVICE)));
        }
        let (id, amount) = of(GpuUnit::Part)?;
        Some((self.kind(id, GpuUnit::Part, cluster), count(amount)?, DEVICE))
    }

    fn kind(&self, id: ResourceId, unit: GpuUnit, cluster: &Cluster) -> Kind {
        let own = || Kind(u16::try_from(id.index()).unwrap_or(u16::MAX).saturating_add(1));
        match unit {
            GpuUnit::Device if self.main.as_deref() != Some(cluster.names.name(id)) => own(),
            GpuUnit::Part => own(),
            GpuUnit::Device | GpuUnit::Percent | GpuUnit::Milli | GpuUnit::Spread => MAIN,
        }
    }

    /// The number of a value of a model label; `None` once there are too many.
    fn model(&mut self, label: usize, value: &str) -> Option<Model> {
        let hash = node_state::uid_hash(value).wrapping_add(u64::try_from(label).unwrap_or(0));
        let number = self.models.iter().position(|known| *known == hash).unwrap_or(self.models.len());
        let model = Model::new(number)?;
        if number == self.models.len() {
            self.models.push(hash);
        }
        Some(model)
    }

    /// The policy document does not say of which label a value is: it may be of any.
    fn expected_models(&mut self, values: &[String]) -> Models {
        if values.is_empty() {
            return Models::ANY;
        }
        let labels = 0..self.model_labels.len();
        let pairs = labels.flat_map(|label| values.iter().map(move |value| (label, value)));
        let models: Vec<Model> = pairs.filter_map(|(label, value)| self.model(label, value)).gather();
        Models::ANY.only(models)
    }
}

/// A number of devices; `None` if it is none, or too large to be one.
fn count(amount: i64) -> Option<u32> {
    u32::try_from(amount).ok().filter(|_| (1..=MAX_DEVICES).contains(&amount))
}

/// GPU-milli that a slice is worth. MIG profiles say how many of seven slices they have (`nvidia.com/mig-3g.20gb`); of
/// others nobody knows.
fn slice(name: &str) -> u32 {
    let mut profiles = name.as_bytes().windows(6).filter_map(|part| match part {
        [b'm', b'i', b'g', b'-', sevenths @ b'1'..=b'7', b'g'] => Some(u32::from(sevenths.saturating_sub(b'0'))),
        _ => None,
    });
    profiles.next().map_or(DEVICE, |sevenths| sevenths.saturating_mul(DEVICE) / 7)
}
