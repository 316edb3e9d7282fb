//! `gpu`: which resources are GPUs.

use serde::Deserialize;

use super::Faults;

/// Which resources are GPUs (or other accelerators), by resource name; `*` stands for any run of characters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GpuResources {
    /// Counted in whole devices (or whole slices of one). Default: the device plugins of the common vendors.
    pub devices: Vec<String>,
    /// Counted in percent of a device: up to 100 is a share of one, more are whole ones. Default:
    /// `koordinator.sh/gpu-core`.
    pub percent: Vec<String>,
    /// Counted in thousandths of a device, likewise. Default: `stowage.dev/gpu-milli`.
    pub milli: Vec<String>,
    /// Node labels that tell the GPU model; the first that a node carries counts.
    pub model_labels: Vec<String>,
}

impl Default for GpuResources {
    fn default() -> Self {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            devices: list(&[
                "nvidia.com/gpu",
                "nvidia.com/gpu.shared",
                "nvidia.com/mig-*",
                "amd.com/gpu",
                "gpu.intel.com/*",
                "habana.ai/gaudi",
                "huawei.com/Ascend*",
                "cambricon.com/mlu*",
                "hygon.com/dcu*",
                "metax-tech.com/gpu",
                "aws.amazon.com/neuron*",
                "google.com/tpu",
            ]),
            percent: list(&["koordinator.sh/gpu-core"]),
            milli: list(&["stowage.dev/gpu-milli"]),
            model_labels: list(&[
                "stowage.dev/gpu-model",
                "nvidia.com/gpu.product",
                "amd.com/gpu.product-name",
                "node.koordinator.sh/gpu-model",
                "cloud.google.com/gke-accelerator",
            ]),
        }
    }
}

impl GpuResources {
    /// Every name and pattern.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.devices.iter().chain(&self.percent).chain(&self.milli).map(String::as_str)
    }

    pub(super) fn validate(&self, faults: &mut Faults) {
        for (path, names) in [
            ("gpu.devices", &self.devices),
            ("gpu.percent", &self.percent),
            ("gpu.milli", &self.milli),
            ("gpu.modelLabels", &self.model_labels),
        ] {
            for (at, name) in names.iter().enumerate() {
                if name.is_empty() {
                    faults.push(&format!("{path}[{at}]"), "is empty".into());
                }
            }
        }
    }
}
