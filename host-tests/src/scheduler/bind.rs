//! The module's part in the binding cycle.

use super::cycle::refused_on_choice;
use super::plugin::{Failure, Rejection};
use super::pod::PodInfo;
use super::{PluginId, Scheduler};
use crate::framework::Code;

impl Scheduler {
    /// PreBind, then Bind; false if the module leaves the binding to the scheduler.
    ///
    /// # Errors
    /// When the module refuses or fails. Neither makes the pod unschedulable: it is retried after a backoff.
    pub fn pre_bind_and_bind(&mut self, assumed: &PodInfo) -> Result<bool, Failure> {
        let node = assumed.node_name().unwrap_or_default();
        if self.interfaces.pre_bind {
            let status = self.plugin.pre_bind(&assumed.object, node);
            if !status.is_success() {
                return Err(self.plugin_error(format!("running PreBind plugin \"wasm\": {}", status.reason)));
            }
        }
        if !self.interfaces.bind {
            return Ok(false);
        }
        let status = self.plugin.bind(&assumed.object, node);
        match status.code {
            Code::Success => Ok(true),
            Code::Skip => Ok(false),
            _ => Err(self.plugin_error(format!("running Bind plugin \"wasm\": {}", status.reason))),
        }
    }

    /// The pod is bound.
    pub fn post_bind(&mut self, bound: &PodInfo) {
        if self.interfaces.post_bind {
            self.plugin.post_bind(&bound.object, bound.node_name().unwrap_or_default());
        }
    }
}

/// The failure of a pod that waited in Permit until somebody rejected it.
#[must_use]
pub fn rejected_while_waiting(reason: &'static str) -> Failure {
    refused_on_choice(Rejection::new(Code::Unschedulable, PluginId::Wasm, reason))
}
