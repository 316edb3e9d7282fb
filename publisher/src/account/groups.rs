//! Sizes of gangs that only a PodGroup object tells, and the pending pods that have to be told.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result};
use serde::Deserialize;
use stowage::cluster::pod_gang::{POD_GROUP_KEYS, SIZE_LABEL, told_size};
use stowage::object::Metadata;
use stowage::object::Pod;

use super::PodKey;

/// Whose PodGroup it is. Where several have one of a name, the first counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupSource {
    /// `scheduling.x-k8s.io`, of scheduler-plugins.
    SchedulerPlugins,
    /// `scheduling.sigs.k8s.io`, as scheduler-plugins called it once and Koordinator still does.
    Koordinator,
    /// `scheduling.volcano.sh`.
    Volcano,
}

impl GroupSource {
    /// Every kind, in the order in which they count.
    pub const ALL: [Self; 3] = [Self::SchedulerPlugins, Self::Koordinator, Self::Volcano];

    /// Where the API server has them.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::SchedulerPlugins => "/apis/scheduling.x-k8s.io/v1alpha1/podgroups",
            Self::Koordinator => "/apis/scheduling.sigs.k8s.io/v1alpha1/podgroups",
            Self::Volcano => "/apis/scheduling.volcano.sh/v1beta1/podgroups",
        }
    }
}

/// A label to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodLabel {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub name: String,
    /// The pod it is meant for, and no other of that name.
    pub uid: String,
    /// The label's value.
    pub size: String,
}

/// A pending pod that names a PodGroup.
#[derive(Debug)]
pub(super) struct Waiting {
    namespace: Box<str>,
    name: Box<str>,
    uid: Box<str>,
    /// `namespace/name` of its group.
    group: Box<str>,
    /// The label as it is.
    label: Option<Box<str>>,
    list: u32,
}

/// PodGroups and who waits for what they say.
#[derive(Debug, Default)]
pub(super) struct Groups {
    sizes: HashMap<(GroupSource, Box<str>), Size>,
    waiting: HashMap<PodKey, Waiting>,
    members: HashMap<Box<str>, HashSet<PodKey>>,
    lists: [u32; GroupSource::ALL.len()],
    unlabelled: Vec<PodKey>,
}

#[derive(Debug)]
struct Size {
    min: Option<u32>,
    list: u32,
}

#[derive(Deserialize)]
struct Manifest {
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
}

#[derive(Deserialize)]
struct Meta {
    namespace: Box<str>,
    name: Box<str>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    min_member: Option<i64>,
}

impl Waiting {
    /// `None` if the pod names no PodGroup, or has to go.
    pub fn read(pod: &Pod<'_>, list: u32) -> Option<Self> {
        if pod.meta.terminating {
            return None;
        }
        let group = group_name(&pod.meta)?;
        Some(Self {
            namespace: pod.meta.namespace.into(),
            name: pod.meta.name.into(),
            uid: pod.meta.uid.into(),
            group: key(pod.meta.namespace, group),
            label: pod.meta.label(SIZE_LABEL).map(Into::into),
            list,
        })
    }
}

fn group_name<'a>(meta: &Metadata<'a>) -> Option<&'a str> {
    let named = |value: Option<&'a str>| value.filter(|name| !name.is_empty());
    let label = POD_GROUP_KEYS.iter().find_map(|key| named(meta.label(key)));
    label.or_else(|| POD_GROUP_KEYS.iter().find_map(|key| named(meta.annotation(key))))
}

fn key(namespace: &str, name: &str) -> Box<str> {
    format!("{namespace}/{name}").into()
}

impl Groups {
    /// A pod waits, or (`None`) does not wait any more.
    pub fn wait(&mut self, pod: PodKey, waiting: Option<Waiting>) {
        if let Some(before) = self.waiting.remove(&pod)
            && let Some(members) = self.members.get_mut(&before.group)
        {
            members.remove(&pod);
            if members.is_empty() {
                self.members.remove(&before.group);
            }
        }
        if let Some(waiting) = waiting {
            self.members.entry(waiting.group.clone()).or_default().insert(pod);
            self.waiting.insert(pod, waiting);
            self.unlabelled.push(pod);
        }
    }

    /// A list of pods is complete: those that were not in it wait no more.
    pub fn drop_waiting_not_in(&mut self, list: u32) {
        let lost: Vec<PodKey> = self.waiting.iter().filter(|(_, it)| it.list != list).map(|(key, _)| *key).collect();
        for pod in lost {
            self.wait(pod, None);
        }
    }

    pub fn listing(&mut self, source: GroupSource) {
        let list = &mut self.lists[source as usize];
        *list = list.wrapping_add(1);
    }

    /// What is not in the list is gone; labels that it left behind stay, as after a deletion.
    pub fn listed(&mut self, source: GroupSource) {
        let list = self.lists[source as usize];
        self.sizes.retain(|(of, _), size| *of != source || size.list == list);
    }

    pub fn applied(&mut self, source: GroupSource, bytes: &[u8]) -> Result<()> {
        let manifest: Manifest = serde_json::from_slice(bytes).context("a PodGroup that cannot be read")?;
        let group = key(&manifest.metadata.namespace, &manifest.metadata.name);
        let min = told_size(manifest.spec.min_member);
        let size = Size { min, list: self.lists[source as usize] };
        let before = self.sizes.insert((source, group.clone()), size);
        if before.is_none_or(|before| before.min != min) {
            self.unlabelled.extend(self.members.get(&group).into_iter().flatten());
        }
        Ok(())
    }

    pub fn deleted(&mut self, source: GroupSource, bytes: &[u8]) -> Result<()> {
        let manifest: Manifest = serde_json::from_slice(bytes).context("a deleted PodGroup that cannot be read")?;
        self.sizes.remove(&(source, key(&manifest.metadata.namespace, &manifest.metadata.name)));
        Ok(())
    }

    pub fn take_unlabelled(&mut self) -> Vec<PodKey> {
        std::mem::take(&mut self.unlabelled)
    }

    pub fn label(&self, pod: PodKey) -> Option<PodLabel> {
        let waiting = self.waiting.get(&pod)?;
        let size = |source| self.sizes.get(&(source, waiting.group.clone()))?.min;
        let size = GroupSource::ALL.into_iter().find_map(size)?.to_string();
        let told = waiting.label.as_deref() == Some(&*size);
        let owned = |text: &str| text.to_owned();
        (!told).then(|| PodLabel {
            namespace: owned(&waiting.namespace),
            name: owned(&waiting.name),
            uid: owned(&waiting.uid),
            size,
        })
    }
}
