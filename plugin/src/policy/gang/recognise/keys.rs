//! Every label and annotation key that says something about a gang.

/// Defines the keys once: as constants, and as a table.
macro_rules! keys {
    ($($name:ident = $text:literal,)*) => {
        /// A known key.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Key { $($name,)* }

        impl Key {
            const ALL: &[(&'static str, Self)] = &[$(($text, Self::$name),)*];
        }
    };
}

keys! {
    Gang = "stowage.dev/gang",
    GangMin = "stowage.dev/gang-min",
    GangRole = "stowage.dev/gang-role",
    GangStartup = "stowage.dev/gang-startup",
    GangSize = "stowage.dev/gang-size",
    PodGroup = "scheduling.x-k8s.io/pod-group",
    ThirdPartyPodGroup = "pod-group.scheduling.sigs.k8s.io",
    KoordinatorName = "gang.scheduling.koordinator.sh/name",
    KoordinatorMin = "gang.scheduling.koordinator.sh/min-available",
    KoordinatorTotal = "gang.scheduling.koordinator.sh/total-number",
    KoordinatorMode = "gang.scheduling.koordinator.sh/mode",
    KoordinatorWait = "gang.scheduling.koordinator.sh/waiting-time",
    KoordinatorGroups = "gang.scheduling.koordinator.sh/groups",
    KoordinatorMatch = "gang.scheduling.koordinator.sh/match-policy",
    LightweightName = "pod-group.scheduling.sigs.k8s.io/name",
    LightweightMin = "pod-group.scheduling.sigs.k8s.io/min-available",
    LightweightMatch = "pod-group.scheduling.sigs.k8s.io/match-policy",
    VolcanoName = "scheduling.k8s.io/group-name",
    VolcanoNewName = "scheduling.volcano.sh/group-name",
    VolcanoMin = "scheduling.volcano.sh/group-min-member",
    VolcanoJobMin = "volcano.sh/jdb-min-available",
    VolcanoRole = "volcano.sh/task-spec",
    KueueName = "kueue.x-k8s.io/pod-group-name",
    KueueTotal = "kueue.x-k8s.io/pod-group-total-count",
    KueueServing = "kueue.x-k8s.io/pod-group-serving",
    YunikornApp = "yunikorn.apache.org/app-id",
    YunikornOldApp = "applicationId",
    SparkApp = "spark-app-selector",
    YunikornTaskGroup = "yunikorn.apache.org/task-group-name",
    YunikornTaskGroups = "yunikorn.apache.org/task-groups",
    KaiName = "pod-group-name",
    LwsName = "leaderworkerset.sigs.k8s.io/name",
    LwsGroup = "leaderworkerset.sigs.k8s.io/group-index",
    LwsWorker = "leaderworkerset.sigs.k8s.io/worker-index",
    LwsSize = "leaderworkerset.sigs.k8s.io/size",
    JobSetName = "jobset.sigs.k8s.io/jobset-name",
    JobSetRole = "jobset.sigs.k8s.io/replicatedjob-name",
    TrainingJob = "training.kubeflow.org/job-name",
    TrainingRole = "training.kubeflow.org/replica-type",
    TrainingJobRole = "training.kubeflow.org/job-role",
    RayRole = "ray.io/node-type",
}

/// Where a pod may say something.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// In a label.
    Label(Key),
    /// In an annotation.
    Annotation(Key),
    /// In an annotation, else in a label.
    Either(Key),
}

impl Source {
    /// Under which key.
    pub fn key(self) -> Key {
        match self {
            Self::Label(key) | Self::Annotation(key) | Self::Either(key) => key,
        }
    }
}

impl Key {
    /// The key as it is written.
    pub fn text(self) -> &'static str {
        Self::ALL.get(usize::from(self as u8)).map_or("", |(text, _)| text)
    }
}

/// The values of the known keys of one pod.
#[derive(Debug)]
pub(super) struct Values<'a> {
    labels: [Option<&'a str>; Key::ALL.len()],
    annotations: [Option<&'a str>; Key::ALL.len()],
    any: bool,
}

impl<'a> Values<'a> {
    /// Looks at every label and annotation once: most pods have none of the keys.
    pub fn read(
        labels: impl Iterator<Item = (&'a str, &'a str)>,
        annotations: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut values = Self { labels: [None; Key::ALL.len()], annotations: [None; Key::ALL.len()], any: false };
        for (key, value) in labels {
            values.any |= note(&mut values.labels, key, value);
        }
        for (key, value) in annotations {
            values.any |= note(&mut values.annotations, key, value);
        }
        values
    }

    /// Whether the pod has any of the keys.
    pub fn any(&self) -> bool {
        self.any
    }

    /// The value of a label; an empty one counts as absent.
    pub fn label(&self, key: Key) -> Option<&'a str> {
        self.at(Source::Label(key))
    }

    /// The value of an annotation; an empty one counts as absent.
    pub fn annotation(&self, key: Key) -> Option<&'a str> {
        self.at(Source::Annotation(key))
    }

    /// The annotation, else the label: for keys whose owners use both, or either.
    pub fn either(&self, key: Key) -> Option<&'a str> {
        self.at(Source::Either(key))
    }

    /// What stands at the first of these places that holds something, and under which key.
    #[inline(never)]
    pub fn first(&self, sources: &[Source]) -> Option<(Key, &'a str)> {
        sources.iter().find_map(|source| Some((source.key(), self.at(*source)?)))
    }

    /// What stands there; an empty value counts as absent.
    #[inline(never)]
    pub fn at(&self, source: Source) -> Option<&'a str> {
        let of = |values: &[Option<&'a str>], key: Key| {
            values.get(usize::from(key as u8)).copied().flatten().filter(|value| !value.is_empty())
        };
        match source {
            Source::Label(key) => of(&self.labels, key),
            Source::Annotation(key) => of(&self.annotations, key),
            Source::Either(key) => of(&self.annotations, key).or_else(|| of(&self.labels, key)),
        }
    }
}

fn note<'a>(values: &mut [Option<&'a str>], key: &str, value: &'a str) -> bool {
    let known = Key::ALL.iter().find(|(text, _)| *text == key);
    let place = known.and_then(|(_, key)| values.get_mut(usize::from(*key as u8)));
    place.map(|place| *place = Some(value)).is_some()
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn every_key_is_documented() {
        let text = include_str!("../../../../../docs/gang.md");
        for (key, _) in Key::ALL {
            assert!(text.contains(&format!("`{key}")), "{key}");
        }
    }
}
