//! Exact amounts per resource, while they are still being added up.
//!
//! [`Resources`] holds what comes out; see [`Quantity`] for why sums are not made of rounded numbers.

use alloc::vec::Vec;

use super::container::ResourceList;
use super::error::Error;
use super::quantity::Quantity;
use super::resources::{ResourceId, ResourceNames, Resources};
use crate::say::Say;

/// Quantities by resource. As in [`Resources`], absent is not the same as zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantities {
    /// Sorted by id, each id once.
    entries: Vec<(ResourceId, Quantity)>,
}

impl Quantities {
    /// No resources.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// The quantity of `id` if it was given.
    #[must_use]
    pub fn get(&self, id: ResourceId) -> Option<Quantity> {
        self.entries.get(self.find(id).ok()?).map(|(_, quantity)| *quantity)
    }

    /// Sets the quantity of `id`.
    pub fn set(&mut self, id: ResourceId, quantity: Quantity) {
        *self.entry(id, quantity) = quantity;
    }

    /// Adds every quantity of `other`.
    pub fn add_all(&mut self, other: &Self) {
        for (id, quantity) in other.iter() {
            let entry = self.entry(id, Quantity::ZERO);
            *entry = entry.saturating_add(quantity);
        }
    }

    /// Raises every quantity to at least that of `other`.
    pub fn max_all(&mut self, other: &Self) {
        for (id, quantity) in other.iter() {
            let entry = self.entry(id, quantity);
            *entry = (*entry).max(quantity);
        }
    }

    /// Takes every quantity of `other` instead of the own one.
    pub fn replace_all(&mut self, other: &Self) {
        for (id, quantity) in other.iter() {
            self.set(id, quantity);
        }
    }

    /// True if no resource was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The resources given, in order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceId, Quantity)> + '_ {
        self.entries.iter().copied()
    }

    /// Whole amounts, rounded up: milli-CPU for cpu, units for everything else.
    #[must_use]
    pub fn rounded(&self) -> Resources {
        let mut amounts = Resources::new();
        for (id, quantity) in self.iter() {
            amounts.set(id, if id == ResourceId::CPU { quantity.milli_value() } else { quantity.value() });
        }
        amounts
    }

    /// What `list` of a pod holds of the names that `counts` lets through. `field` names the list in errors, `part`
    /// where it stands.
    pub(super) fn of_pod(
        list: ResourceList<'_>,
        counts: fn(&str) -> bool,
        names: &mut ResourceNames,
        part: &'static str,
        field: &dyn Say,
    ) -> Result<Self, Error> {
        Self::read(list, part, field, &mut |name| counts(name).then(|| names.intern_of_pod(name)))
    }

    /// What `list` of a node holds of the names that the scheduler counts.
    pub(super) fn of_node(
        list: ResourceList<'_>,
        names: &mut ResourceNames,
        field: &'static str,
    ) -> Result<Self, Error> {
        Self::read(list, field, &field, &mut |name| ResourceNames::counts(name).then(|| names.intern(name)))
    }

    /// `id_of` answers `None` for a name that does not count, and `Some(None)` for one too many.
    fn read(
        list: ResourceList<'_>,
        part: &'static str,
        field: &dyn Say,
        id_of: &mut dyn FnMut(&str) -> Option<Option<ResourceId>>,
    ) -> Result<Self, Error> {
        let mut quantities = Self::new();
        for entry in list.iter() {
            let (name, text) = entry.map_err(Error::at(part))?;
            let quantity = Quantity::parse(text).map_err(|_| Error::quantity(field, name, text))?;
            if let Some(id) = id_of(name) {
                quantities.set(id.ok_or_else(|| Error::resource_names(field, name))?, quantity);
            }
        }
        Ok(quantities)
    }

    fn find(&self, id: ResourceId) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&id, |(known, _)| *known)
    }

    fn entry(&mut self, id: ResourceId, absent: Quantity) -> &mut Quantity {
        let at = match self.find(id) {
            Ok(at) => at,
            Err(at) => {
                self.entries.insert(at, (id, absent));
                at
            }
        };
        // `at` was just found or filled.
        #[allow(clippy::indexing_slicing)]
        &mut self.entries[at].1
    }
}
