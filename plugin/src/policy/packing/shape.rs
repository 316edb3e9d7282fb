//! What a pod asks for, as far as packing cares.

/// A GPU-milli is a thousandth of a GPU; this many are one device.
pub const DEVICE: u32 = 1000;

/// A kind of device that stands for no other: whole GPUs and shares of them are one kind, each MIG profile is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind(pub u16);

/// A GPU model, by the number that the caller gave the value of the model label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Model(u8);

impl Model {
    /// Most models that are told apart.
    pub const LIMIT: u8 = 63;

    /// The model with this number; `None` from [`Model::LIMIT`] on.
    #[must_use]
    pub fn new(number: u8) -> Option<Self> {
        (number < Self::LIMIT).then_some(Self(number))
    }
}

/// The GPU models that a pod may run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Models(u64);

impl Models {
    /// Any node, also one whose model is unknown.
    pub const ANY: Self = Self(u64::MAX);
    /// No node.
    pub const NONE: Self = Self(0);

    /// This set and `model`.
    #[must_use]
    pub fn with(self, model: Model) -> Self {
        Self(self.0 | 1_u64.wrapping_shl(u32::from(model.0)))
    }

    /// Whether a node with this model (`None` if unknown) is admitted.
    #[must_use]
    pub fn admit(self, model: Option<Model>) -> bool {
        match model {
            None => self == Self::ANY,
            Some(model) => self.0 & 1_u64.wrapping_shl(u32::from(model.0)) != 0,
        }
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

    /// Thousandths of a device that it uses in all.
    #[must_use]
    pub fn volume(&self) -> i64 {
        i64::from(self.devices).saturating_mul(i64::from(self.milli))
    }
}
