//! What a pod asks for, as far as packing cares.

use crate::reckon::Reckon;

/// A GPU-milli is a thousandth of a GPU; this many are one device.
pub const DEVICE: u32 = 1000;

/// A kind of device that stands for no other: whole GPUs and shares of them are one kind, each MIG profile is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind(pub u16);

/// A value of a label that tells the GPU model, by the number that the caller gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Model(u8);

impl Model {
    /// Most values that are told apart.
    pub const LIMIT: usize = 64;

    /// The value with this number; `None` from [`Model::LIMIT`] on.
    #[must_use]
    pub fn new(number: usize) -> Option<Self> {
        u8::try_from(number).ok().filter(|number| usize::from(*number) < Self::LIMIT).map(Self)
    }

    fn bit(self) -> u64 {
        1_u64.wrapping_shl(u32::from(self.0))
    }
}

/// The models of a node: one value of each label that it carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeModels(u64);

impl FromIterator<Model> for NodeModels {
    fn from_iter<I: IntoIterator<Item = Model>>(models: I) -> Self {
        Self(models.into_iter().fold(0, |bits, model| bits | model.bit()))
    }
}

/// The models that a pod may run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Models {
    /// Values allowed, of all labels that the pod asks about.
    allowed: u64,
    /// How many labels that are.
    labels: u8,
}

impl Models {
    /// Any node, also one whose model is unknown.
    pub const ANY: Self = Self { allowed: 0, labels: 0 };

    /// Only nodes that have one of `values` in a further label.
    #[must_use]
    pub fn only(self, values: impl IntoIterator<Item = Model>) -> Self {
        let allowed = values.into_iter().fold(self.allowed, |bits, model| bits | model.bit());
        Self { allowed, labels: self.labels.saturating_add(1) }
    }

    /// Whether the pod may run on a node.
    #[must_use]
    pub fn admit(self, node: NodeModels) -> bool {
        (self.allowed & node.0).count_ones() >= u32::from(self.labels)
    }
}

/// What a pod asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodShape {
    /// Kind of the devices.
    pub kind: Kind,
    /// The models it may run on.
    pub models: Models,
    /// Number of devices; 0 for a CPU-only pod.
    pub devices: u32,
    /// Thousandths of each device: [`DEVICE`] for whole ones, less for a share of a single one.
    pub milli: u32,
    /// Cpu in milli-CPU.
    pub cpu: i64,
    /// Memory in bytes.
    pub memory: i64,
}

impl PodShape {
    /// Whether it shares its device with other pods.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.devices == 1 && self.milli < DEVICE
    }

    /// So many of them on one node.
    pub(super) fn times(&self, pods: u32) -> Self {
        let times = |amount: i64| amount.times(pods.into());
        let devices = self.devices.saturating_mul(pods);
        Self { devices, cpu: times(self.cpu), memory: times(self.memory), ..*self }
    }

    /// Thousandths of a device that it uses in all.
    #[must_use]
    pub fn volume(&self) -> i64 {
        i64::from(self.devices).times(i64::from(self.milli))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_label_that_a_pod_asks_about_must_match() {
        let model = |number| Model::new(number).unwrap();
        let node = |numbers: &[usize]| numbers.iter().map(|number| model(*number)).collect::<NodeModels>();
        let pod = Models::ANY.only([model(0), model(1)]).only([model(2)]);
        assert!(pod.admit(node(&[1, 2])));
        assert!(!pod.admit(node(&[2, 3])) && !pod.admit(node(&[])));
        assert!(Models::ANY.admit(node(&[])) && Models::ANY.admit(node(&[5])));
        assert!(!Models::ANY.only([]).admit(node(&[1])), "a restriction that nothing meets");
        assert_eq!(Model::new(64), None);
    }
}
