//! What the publisher follows.

use crate::account::GroupSource;
use crate::api::{Format, Resource};

/// Where a change comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// What is on the nodes, and what waits.
    Pods,
    /// Where annotations are written.
    Nodes,
    /// Sizes of gangs.
    Groups(GroupSource),
}

impl Source {
    /// Everything that is followed.
    pub const ALL: [Self; 4] =
        [Self::Pods, Self::Nodes, Self::Groups(GroupSource::SchedulerPlugins), Self::Groups(GroupSource::Volcano)];

    /// What the API server calls it.
    #[must_use]
    pub fn resource(self) -> Resource {
        let group = |path| Resource { name: "podgroups", path, format: Format::Json, optional: true };
        let own = |name, path| Resource { name, path, format: Format::Protobuf, optional: false };
        match self {
            Self::Pods => own("pods", "/api/v1/pods"),
            Self::Nodes => own("nodes", "/api/v1/nodes"),
            Self::Groups(GroupSource::SchedulerPlugins) => group("/apis/scheduling.x-k8s.io/v1alpha1/podgroups"),
            Self::Groups(GroupSource::Volcano) => group("/apis/scheduling.volcano.sh/v1beta1/podgroups"),
        }
    }
}
