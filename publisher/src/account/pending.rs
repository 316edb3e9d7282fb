//! Members of gangs that wait for a node.
//!
//! The scheduler tells its plugins nothing of a pod that is deleted before it ran, so the publisher does.

use std::collections::HashMap;

use super::PodKey;

/// Who waits, and in which list of pods each was last.
#[derive(Debug, Default)]
pub(super) struct Pending(HashMap<PodKey, u32>);

impl Pending {
    /// A member waits.
    pub fn wait(&mut self, pod: PodKey, list: u32) {
        self.0.insert(pod, list);
    }

    /// A pod waits no more, or not as a member; answers whether it did.
    pub fn take(&mut self, pod: PodKey) -> bool {
        self.0.remove(&pod).is_some()
    }

    /// A list of pods is complete: answers those that were not in it, and wait no more.
    pub fn take_all_not_in(&mut self, list: u32) -> Vec<PodKey> {
        self.0.extract_if(|_, last| *last != list).map(|(pod, _)| pod).collect()
    }
}
