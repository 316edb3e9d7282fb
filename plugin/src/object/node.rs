//! A node, read in place.

use alloc::vec::Vec;

use super::container::ResourceList;
use super::error::Error;
use super::meta::Metadata;
use super::quantities::Quantities;
use super::resources::{ResourceNames, Resources};
use super::rules::Taint;
use super::wire::{self, Reader, Repeated};

/// A view of a protobuf `v1.Node`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node<'a> {
    /// Name, labels, annotations and so on.
    pub meta: Metadata<'a>,
    /// Cordoned: no new pods.
    pub unschedulable: bool,
    taints: Repeated<'a>,
    status: &'a [u8],
}

impl<'a> Node<'a> {
    /// Reads `bytes` as a `v1.Node`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut node = Self::default();
        node.read(bytes)?;
        Ok(node)
    }

    #[inline(never)]
    fn read(&mut self, bytes: &'a [u8]) -> Result<(), Error> {
        let mut fields = Reader::new(bytes);
        while fields.advance() {
            match fields.number {
                1 => self.meta.read(fields.bytes()).map_err(Error::at("metadata"))?,
                2 => self.read_spec(fields.bytes()).map_err(Error::at("spec"))?,
                3 => self.status = fields.bytes(),
                _ => {}
            }
        }
        fields.finish().map_err(Error::at("node"))
    }

    fn read_spec(&mut self, bytes: &'a [u8]) -> Result<(), wire::Error> {
        let mut fields = Reader::new(bytes);
        while fields.advance() {
            match fields.number {
                4 => self.unschedulable = fields.flag(),
                5 => fields.note(&mut self.taints),
                _ => {}
            }
        }
        fields.finish()
    }

    /// The taints that keep pods away.
    pub fn taints(&self) -> Result<Vec<Taint>, Error> {
        let mut taints = Vec::new();
        for taint in self.taints.iter() {
            if let Some(taint) = taint.and_then(Taint::parse).map_err(Error::at("spec.taints"))? {
                taints.push(taint);
            }
        }
        Ok(taints)
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
    Ok(Quantities::of_node(list, names, field)?.rounded())
}

/// The nodes of a protobuf `v1.NodeList`, each as it stands.
pub fn nodes_of_list(bytes: &[u8]) -> impl Iterator<Item = Result<&[u8], Error>> {
    Repeated::of(bytes, 2).iter().map(|node| node.map_err(Error::at("node list")))
}
