//! `ObjectMeta`, which pods and nodes share.

use super::wire::{self, Reader, Repeated};

/// The metadata of an object.
///
/// [`Metadata::read`] checks the framing of everything that is read later, so that looking something up cannot fail.
/// Labels and annotations are not indexed: most decisions look up none, and a scan of a pod's few dozen takes well under
/// a microsecond. To look for many keys, iterate once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metadata<'a> {
    /// Unique within the namespace.
    pub name: &'a str,
    /// Empty for nodes.
    pub namespace: &'a str,
    /// Unique for ever.
    pub uid: &'a str,
    /// Changes with every update of the object.
    pub resource_version: &'a str,
    /// When the object was created, in seconds since 1970; `None` before the API server has set it.
    pub created: Option<i64>,
    /// Deletion has been asked for.
    pub terminating: bool,
    labels: Repeated<'a>,
    annotations: Repeated<'a>,
    owners: Repeated<'a>,
}

impl<'a> Metadata<'a> {
    #[inline(never)]
    pub(super) fn read(&mut self, bytes: &'a [u8]) -> Result<(), wire::Error> {
        *self = Self::default();
        let mut fields = Reader::new(bytes);
        while fields.advance() {
            match fields.number {
                1 => self.name = fields.text(),
                3 => self.namespace = fields.text(),
                5 => self.uid = fields.text(),
                6 => self.resource_version = fields.text(),
                // The seconds of a `Time`; an empty one stands for no time.
                8 => self.created = wire::int(fields.bytes(), 1)?,
                9 => self.terminating = true,
                11 => fields.note_entry(&mut self.labels),
                12 => fields.note_entry(&mut self.annotations),
                13 => {
                    Owner::parse(fields.bytes())?;
                    fields.note(&mut self.owners);
                }
                _ => {}
            }
        }
        fields.finish()
    }

    /// All labels as written; of a key that occurs twice, the last counts.
    pub fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        texts(self.labels)
    }

    /// All annotations as written; of a key that occurs twice, the last counts.
    pub fn annotations(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        texts(self.annotations)
    }

    /// The value of a label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&'a str> {
        last(self.labels, key)
    }

    /// The value of an annotation.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&'a str> {
        last(self.annotations, key)
    }

    /// The objects that this one belongs to.
    pub fn owners(&self) -> impl Iterator<Item = Owner<'a>> + use<'a> {
        self.owners.iter().filter_map(|owner| Owner::parse(owner.ok()?).ok())
    }

    /// The owner that manages this object.
    #[must_use]
    pub fn controller(&self) -> Option<Owner<'a>> {
        self.owners().find(|owner| owner.controller)
    }
}

/// An entry of `ownerReferences`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner<'a> {
    /// Group and version, such as `apps/v1`.
    pub api_version: &'a str,
    /// Such as `DaemonSet`.
    pub kind: &'a str,
    /// In the namespace of the object it owns.
    pub name: &'a str,
    /// Unique for ever.
    pub uid: &'a str,
    /// The one owner that manages the object.
    pub controller: bool,
}

impl<'a> Owner<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, wire::Error> {
        let mut owner = Self::default();
        let mut fields = Reader::new(bytes);
        while fields.advance() {
            match fields.number {
                1 => owner.kind = fields.text(),
                3 => owner.name = fields.text(),
                4 => owner.uid = fields.text(),
                5 => owner.api_version = fields.text(),
                6 => owner.controller = fields.flag(),
                _ => {}
            }
        }
        fields.finish().map(|()| owner)
    }
}

/// The entries of a map of strings. Text that is not UTF-8, which no API server lets in, is left out.
pub(super) fn texts<'a>(map: Repeated<'a>) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
    map.iter().filter_map(|entry| {
        let (key, value) = wire::entry(entry.ok()?).ok()?;
        Some((wire::text(key).ok()?, wire::text(value).ok()?))
    })
}

/// The value of `key` in a map of strings. Protobuf lets the last of several entries win.
pub(super) fn last<'a>(map: Repeated<'a>, key: &str) -> Option<&'a str> {
    let value = map
        .iter()
        .filter_map(|entry| wire::entry(entry.ok()?).ok())
        .filter(|(found, _)| *found == key.as_bytes())
        .last()?
        .1;
    wire::text(value).ok()
}
