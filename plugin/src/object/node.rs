//! A node, read in place.

use super::container::ResourceList;
use super::error::Error;
use super::meta::Metadata;
use super::quantities::Quantities;
use super::resources::{ResourceNames, Resources};
use super::wire::{self, Reader, Repeated};

/// A view of a protobuf `v1.Node`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node<'a> {
    /// Name, labels, annotations and so on.
    pub meta: Metadata<'a>,
    /// Cordoned: no new pods.
    pub unschedulable: bool,
    status: &'a [u8],
}

impl<'a> Node<'a> {
    /// Reads `bytes` as a `v1.Node`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut node = Self::default();
        for field in Reader::new(bytes) {
            let (number, value) = field.map_err(Error::at("node"))?;
            let part = || value.bytes().map_err(Error::at("node"));
            match number {
                1 => node.meta = Metadata::parse(part()?).map_err(Error::at("metadata"))?,
                2 => node.read_spec(part()?).map_err(Error::at("spec"))?,
                3 => node.status = part()?,
                _ => {}
            }
        }
        Ok(node)
    }

    fn read_spec(&mut self, bytes: &'a [u8]) -> Result<(), wire::Error> {
        for field in Reader::new(bytes) {
            if let (4, value) = field? {
                self.unschedulable = value.flag()?;
            }
        }
        Ok(())
    }

    /// `status.allocatable` as written.
    #[must_use]
    pub const fn allocatable_list(&self) -> ResourceList<'a> {
        ResourceList::new(Repeated::of(self.status, 2))
    }

    /// `status.capacity` as written.
    #[must_use]
    pub const fn capacity_list(&self) -> ResourceList<'a> {
        ResourceList::new(Repeated::of(self.status, 1))
    }

    /// What pods may have on this node. Names that the scheduler does not count are left out.
    pub fn allocatable(&self, names: &mut ResourceNames) -> Result<Resources, Error> {
        amounts(self.allocatable_list(), names, "status.allocatable")
    }

    /// What the machine has.
    pub fn capacity(&self, names: &mut ResourceNames) -> Result<Resources, Error> {
        amounts(self.capacity_list(), names, "status.capacity")
    }
}

fn amounts(list: ResourceList<'_>, names: &mut ResourceNames, field: &'static str) -> Result<Resources, Error> {
    Ok(Quantities::read(list, ResourceNames::counts, names, field, &field)?.rounded())
}
