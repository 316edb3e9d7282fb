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
    /// Koordinator's lists of the devices that nodes have.
    Devices,
    /// Koordinator's measurements.
    Metrics,
}

impl Source {
    /// Everything that is followed.
    pub const ALL: [Self; 7] = [
        Self::Pods,
        Self::Nodes,
        Self::Groups(GroupSource::SchedulerPlugins),
        Self::Groups(GroupSource::Koordinator),
        Self::Groups(GroupSource::Volcano),
        Self::Devices,
        Self::Metrics,
    ];

    /// What the API server calls it.
    #[must_use]
    pub const fn resource(self) -> Resource {
        match self {
            Self::Pods => own("pods", "/api/v1/pods"),
            Self::Nodes => own("nodes", "/api/v1/nodes"),
            Self::Groups(source) => others("podgroups", source.path()),
            Self::Devices => others("devices", "/apis/scheduling.koordinator.sh/v1alpha1/devices"),
            Self::Metrics => others("nodemetrics", "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"),
        }
    }
}

/// Kubernetes' own: every cluster has it.
const fn own(name: &'static str, path: &'static str) -> Resource {
    Resource { name, path, format: Format::Protobuf, optional: false }
}

/// What some clusters have.
const fn others(name: &'static str, path: &'static str) -> Resource {
    Resource { name, path, format: Format::Json, optional: true }
}
