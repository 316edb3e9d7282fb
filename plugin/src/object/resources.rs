//! Amounts of resources, keyed by small numbers instead of names.
//!
//! A cluster uses a handful of resource names, a scheduling cycle compares thousands of amounts. Names are therefore
//! interned where objects are read ([`ResourceNames`]) and everything behind that works on [`ResourceId`].

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::gather::Gather;
use crate::reckon::Reckon;
use crate::text::holds;

/// A resource name, as a number that [`ResourceNames`] gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(u16);

impl ResourceId {
    /// `cpu`, in milli-CPU.
    pub const CPU: Self = Self(0);
    /// `memory`, in bytes.
    pub const MEMORY: Self = Self(1);
    /// `ephemeral-storage`, in bytes.
    pub const EPHEMERAL_STORAGE: Self = Self(2);
    /// `pods`, a count.
    pub const PODS: Self = Self(3);

    /// Position of this resource in a table that has one row per resource.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// True for everything but cpu, memory, ephemeral storage and pods: the resources that a pod has only if it asks.
    #[must_use]
    pub fn is_scalar(self) -> bool {
        self > Self::PODS
    }
}

/// The resource names seen so far, each with its [`ResourceId`].
///
/// Bounded by [`ResourceNames::LIMIT`] and [`ResourceNames::LONGEST`], since names come from objects that anyone in the
/// cluster can write. Pods fill half of it at most: whoever asks for a thousand invented resources must not take the
/// place of those that nodes have.
#[derive(Clone, Debug)]
pub struct ResourceNames {
    names: Vec<Box<str>>,
}

impl Default for ResourceNames {
    fn default() -> Self {
        Self { names: ["cpu", "memory", "ephemeral-storage", "pods"].iter().map(|name| Box::from(*name)).gather() }
    }
}

impl ResourceNames {
    /// Most names that are told apart; real clusters have a few dozen.
    pub const LIMIT: usize = 1024;

    /// The longest name that Kubernetes allows: a domain, a slash and a name.
    pub const LONGEST: usize = 253 + 1 + 63;

    /// The number of `name`, a new one if it is new; `None` when the table is full or the name too long.
    pub fn intern(&mut self, name: &str) -> Option<ResourceId> {
        self.intern_below(Self::LIMIT, name)
    }

    /// The same for a name that a pod asks for.
    pub fn intern_of_pod(&mut self, name: &str) -> Option<ResourceId> {
        self.intern_below(Self::LIMIT / 2, name)
    }

    fn intern_below(&mut self, limit: usize, name: &str) -> Option<ResourceId> {
        if let Some(known) = self.get(name) {
            return Some(known);
        }
        if self.names.len() >= limit || name.len() > Self::LONGEST {
            return None;
        }
        let id = u16::try_from(self.names.len()).ok()?;
        self.names.push(name.into());
        Some(ResourceId(id))
    }

    /// Whether the scheduler counts the resource `name` of pods and nodes at all.
    ///
    /// Those are the native ones, huge pages, attachable volumes and every name with a domain: extended resources
    /// (`nvidia.com/gpu`) and prefixed native ones (`kubernetes.io/batch-cpu`). No name that is too long is one of them.
    #[must_use]
    pub fn counts(name: &str) -> bool {
        let native = matches!(name, "cpu" | "memory" | "ephemeral-storage" | "pods");
        let prefixed = || name.starts_with("hugepages-") || name.starts_with("attachable-volumes-");
        let with_domain =
            || name.as_bytes().contains(&b'/') && (!name.starts_with("requests.") || holds(name, "kubernetes.io/"));
        name.len() <= Self::LONGEST && (native || prefixed() || with_domain())
    }

    /// The number of `name` if it has been seen.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<ResourceId> {
        let index = self.names.iter().position(|known| &**known == name)?;
        u16::try_from(index).ok().map(ResourceId)
    }

    /// The name behind `id`; `"?"` for a number from another table.
    #[must_use]
    pub fn name(&self, id: ResourceId) -> &str {
        self.names.get(id.index()).map_or("?", |name| name)
    }

    /// How many names are known. Grows only.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// False: four names are known from the start.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All resources known so far with their names, in the order they were first seen.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceId, &str)> {
        self.names
            .iter()
            .enumerate()
            .filter_map(|(index, name)| Some((ResourceId(u16::try_from(index).ok()?), &**name)))
    }
}

/// Amounts per resource: cpu in milli-CPU, everything else in its own unit (bytes, devices, pods).
///
/// A resource that is absent amounts to 0, but stays distinguishable from one that was given as 0
/// ([`Resources::contains`]), since the scheduler's defaults apply to absent ones only. Sums saturate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resources {
    /// Sorted by id, each id once.
    amounts: Vec<(ResourceId, i64)>,
}

impl Resources {
    /// No resources.
    #[must_use]
    pub const fn new() -> Self {
        Self { amounts: Vec::new() }
    }

    /// The amount of `id`, 0 if absent.
    #[must_use]
    pub fn get(&self, id: ResourceId) -> i64 {
        self.find(id).ok().and_then(|at| self.amounts.get(at)).map_or(0, |(_, amount)| *amount)
    }

    /// Whether `id` was given at all, if only as 0.
    #[must_use]
    pub fn contains(&self, id: ResourceId) -> bool {
        self.find(id).is_ok()
    }

    /// Sets the amount of `id`.
    pub fn set(&mut self, id: ResourceId, amount: i64) {
        *self.entry(id) = amount;
    }

    /// Adds `amount` to `id`.
    pub fn add(&mut self, id: ResourceId, amount: i64) {
        let entry = self.entry(id);
        *entry = entry.plus(amount);
    }

    /// Adds every amount of `other`.
    pub fn add_all(&mut self, other: &Self) {
        for (id, amount) in other.iter() {
            self.add(id, amount);
        }
    }

    /// Subtracts every amount of `other`; results may be negative.
    pub fn sub_all(&mut self, other: &Self) {
        for (id, amount) in other.iter() {
            let entry = self.entry(id);
            *entry = entry.minus(amount);
        }
    }

    /// Raises every amount to at least that of `other`.
    pub fn max_all(&mut self, other: &Self) {
        for (id, amount) in other.iter() {
            let entry = self.entry(id);
            *entry = (*entry).max(amount);
        }
    }

    /// The resources given, in order of their ids, including those given as 0.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceId, i64)> + '_ {
        self.amounts.iter().copied()
    }

    /// True if no resource was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.amounts.is_empty()
    }

    fn find(&self, id: ResourceId) -> Result<usize, usize> {
        self.amounts.binary_search_by_key(&id, |(known, _)| *known)
    }

    fn entry(&mut self, id: ResourceId) -> &mut i64 {
        let at = match self.find(id) {
            Ok(at) => at,
            Err(at) => {
                self.amounts.insert(at, (id, 0));
                at
            }
        };
        // `at` was just found or filled.
        #[allow(clippy::indexing_slicing)]
        &mut self.amounts[at].1
    }
}

impl FromIterator<(ResourceId, i64)> for Resources {
    /// Amounts given twice for one resource are added.
    fn from_iter<I: IntoIterator<Item = (ResourceId, i64)>>(amounts: I) -> Self {
        let mut resources = Self::new();
        for (id, amount) in amounts {
            resources.add(id, amount);
        }
        resources
    }
}
