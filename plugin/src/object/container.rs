//! Containers of a pod, their status, and the resource lists that both carry.

use super::wire::{self, Reader, Repeated};

/// A container or init container of a pod's spec.
#[derive(Clone, Copy, Debug, Default)]
pub struct Container<'a> {
    /// Unique within the pod.
    pub name: &'a str,
    /// `restartPolicy: Always`: an init container that keeps running beside the others.
    pub restartable: bool,
    /// What it asks for and what it may use at most.
    pub resources: ResourceRequirements<'a>,
    env: Repeated<'a>,
    ports: Repeated<'a>,
}

impl<'a> Container<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, wire::Error> {
        let mut container = Self::default();
        let mut fields = Reader::new(bytes);
        while fields.advance() {
            match fields.number {
                1 => container.name = fields.text(),
                6 => fields.note(&mut container.ports),
                7 => fields.note(&mut container.env),
                8 => container.resources = ResourceRequirements::new(fields.bytes()),
                24 => container.restartable = fields.bytes() == b"Always",
                _ => {}
            }
        }
        fields.finish().map(|()| container)
    }

    /// Whether it wants a port of the node itself.
    pub(super) fn has_host_port(&self) -> Result<bool, wire::Error> {
        for port in self.ports.iter() {
            if wire::int(port?, 2)?.is_some_and(|port| port > 0) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The environment variables whose values stand in the pod, rather than in a secret or the like.
    pub fn env(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.env.iter().filter_map(|variable| env_variable(variable.ok()?).ok()?)
    }

    /// The value of an environment variable; of several with one name the last counts, as in the container.
    #[must_use]
    pub fn env_value(&self, name: &str) -> Option<&'a str> {
        self.env().filter(|(found, _)| *found == name).last().map(|(_, value)| value)
    }
}

fn env_variable(bytes: &[u8]) -> Result<Option<(&str, &str)>, wire::Error> {
    let (mut name, mut text, mut elsewhere) = ("", "", false);
    let mut fields = Reader::new(bytes);
    while fields.advance() {
        match fields.number {
            1 => name = fields.text(),
            2 => text = fields.text(),
            3 => elsewhere = true,
            _ => {}
        }
    }
    fields.finish().map(|()| (!elsewhere).then_some((name, text)))
}

/// What the kubelet reports of a container's resources.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContainerStatus<'a> {
    /// Of the container in the spec.
    pub name: &'a str,
    /// What is in force now; `None` if the kubelet does not say.
    pub resources: Option<ResourceRequirements<'a>>,
    /// What the node has set aside for the container.
    pub allocated: ResourceList<'a>,
}

impl<'a> ContainerStatus<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, wire::Error> {
        let mut status = Self::default();
        let mut fields = Reader::new(bytes);
        while fields.advance() {
            match fields.number {
                1 => status.name = fields.text(),
                10 => fields.note(&mut status.allocated.entries),
                11 => status.resources = Some(ResourceRequirements::new(fields.bytes())),
                _ => {}
            }
        }
        fields.finish().map(|()| status)
    }
}

/// Requests and limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResourceRequirements<'a> {
    bytes: &'a [u8],
}

impl<'a> ResourceRequirements<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// What is set aside.
    #[must_use]
    pub const fn requests(&self) -> ResourceList<'a> {
        ResourceList::new(Repeated::of(self.bytes, 2))
    }

    /// What may be used at most.
    #[must_use]
    pub const fn limits(&self) -> ResourceList<'a> {
        ResourceList::new(Repeated::of(self.bytes, 1))
    }
}

/// A map from resource name to quantity, somewhere in a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResourceList<'a> {
    entries: Repeated<'a>,
}

impl<'a> ResourceList<'a> {
    pub(super) const fn new(entries: Repeated<'a>) -> Self {
        Self { entries }
    }

    /// Names and quantities as written; of a name that occurs twice, the last counts.
    pub fn iter(&self) -> impl Iterator<Item = Result<(&'a str, &'a str), wire::Error>> + use<'a> {
        self.entries.iter().map(|entry| {
            let (name, quantity) = wire::entry(entry?)?;
            let mut text = "0";
            wire::texts(quantity, &mut [(1, &mut text)])?;
            Ok((wire::text(name)?, text))
        })
    }
}
