//! `gpu`: which resources are GPUs.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::fields::{Fields, Section};
use crate::gather::Gather;
use crate::object::{GPU_NAMES, GpuNames, GpuUnit};

/// Which resources are GPUs or other accelerators, and which node labels tell their model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct Gpu {
    /// Replaces the built-in list, which knows the device plugins of the common vendors. The first that matches counts.
    pub resources: Vec<GpuResource>,
    /// Node labels that tell the GPU model; the first that a node carries counts.
    pub model_labels: Vec<String>,
}

/// A resource that is a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "camelCase", deny_unknown_fields))]
pub struct GpuResource {
    /// Resource name; `*` stands for any run of characters.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub name: String,
    /// What one of it is: a whole `device`, a `percent` or thousandth (`milli`) of one, the number of devices that a
    /// share is `spread` over, or a `part` that tells nothing of whole devices. Default `device`.
    #[cfg_attr(feature = "schema", serde(default = "device"))]
    pub unit: GpuUnit,
}

const fn device() -> GpuUnit {
    GpuUnit::Device
}

impl Default for Gpu {
    fn default() -> Self {
        let resource = |&(name, unit): &(&str, GpuUnit)| GpuResource { name: name.to_owned(), unit };
        let labels = [
            "stowage.dev/gpu-model",
            "nvidia.com/gpu.product",
            "amd.com/gpu.product-name",
            "node.koordinator.sh/gpu-model",
            "cloud.google.com/gke-accelerator",
        ];
        Self {
            resources: GPU_NAMES.iter().map(resource).gather(),
            model_labels: labels.iter().map(|label| (*label).to_owned()).gather(),
        }
    }
}

impl Default for GpuResource {
    fn default() -> Self {
        Self { name: String::new(), unit: device() }
    }
}

impl Gpu {
    /// The same for use on interned names.
    #[must_use]
    pub fn names(&self) -> GpuNames {
        GpuNames::new(self.resources.iter().map(|gpu| (gpu.name.as_str().into(), gpu.unit)).gather())
    }
}

impl Section for Gpu {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.sections("resources", &mut self.resources);
        fields.texts("modelLabels", &mut self.model_labels);
    }
}

impl Section for GpuResource {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.require("name");
        fields.text("name", &mut self.name);
        let units = [
            ("device", GpuUnit::Device),
            ("percent", GpuUnit::Percent),
            ("milli", GpuUnit::Milli),
            ("spread", GpuUnit::Spread),
            ("part", GpuUnit::Part),
        ];
        fields.choice("unit", &mut self.unit, &units);
    }
}
