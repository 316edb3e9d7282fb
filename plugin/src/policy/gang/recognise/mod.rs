//! Which gang a pod belongs to, from the keys of every system whose users come here.
//!
//! Keys that name a gang are tried in a fixed order; the first that the pod carries counts, so that a pod with the keys
//! of two systems is in one gang only. Where the size stands elsewhere than the name, every source is tried for it, again
//! in a fixed order. Nothing is read from owners: a Deployment that was annotated as a whole is not a gang, since its
//! rolling updates would wait for ever.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

mod environment;
mod keys;
#[cfg(test)]
mod tests;
mod values;

use super::membership::{Fault, Membership, Recognised, Startup};

use keys::{Key, Values};

/// What recognition needs from a pod.
pub trait PodText {
    /// Its namespace.
    fn namespace(&self) -> &str;
    /// Its labels.
    fn labels(&self) -> impl Iterator<Item = (&str, &str)>;
    /// Its annotations.
    fn annotations(&self) -> impl Iterator<Item = (&str, &str)>;
    /// Environment variables of its containers that have a literal value.
    fn environment(&self) -> impl Iterator<Item = (&str, &str)>;
    /// The native group of `spec.schedulingGroup` or `spec.workloadRef`.
    fn native_group(&self) -> Option<Box<str>>;
}

/// What the policy document says about recognition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Sizes of gangs whose pods do not tell: `namespace/name` or a pattern with `*`, and the minimum.
    pub sizes: Vec<(Box<str>, u32)>,
    /// Gangs, by the same patterns, whose leader starts first.
    pub leader_first: Vec<Box<str>>,
    /// Roles that are not part of any gang, such as a job's submitter.
    pub excluded_roles: Vec<Box<str>>,
    /// Whether sizes may be taken from the containers' environment.
    pub infer_size_from_env: bool,
}

/// Finds out what the pod is.
///
/// # Errors
/// The first key with an impossible value.
pub fn recognise(pod: &impl PodText, options: &Options) -> Result<Recognised, Fault> {
    let values = Values::read(pod.labels(), pod.annotations());
    let own = values.either(Key::Gang);
    if own.is_none()
        && let Some(group) = pod.native_group()
    {
        return Ok(Recognised::Native(group));
    }
    if !values.any() {
        return Ok(Recognised::Single);
    }
    let Some(identity) = own.map(Identity::named).or_else(|| identity(&values, options)) else {
        return Ok(Recognised::Single);
    };
    let role = role(&values);
    let excluded = options.excluded_roles.iter().any(|excluded| &**excluded == role);
    if excluded || values.either(Key::KueueServing) == Some("true") {
        return Ok(Recognised::Single);
    }
    if identity.name.contains('/') {
        return Err(Fault::new("the gang's name", &identity.name, "a name without slashes"));
    }
    let gang: Box<str> = format!("{}/{}", pod.namespace(), identity.name).into();
    let (min, total) = size(pod, &values, &gang, options)?;
    if min.is_none() && identity.only_with_size {
        return Ok(Recognised::Single);
    }
    let wait = values.annotation(Key::KoordinatorWait).map(values::wait).transpose()?;
    let mut membership = Membership {
        min,
        total,
        is_leader: is_leader(&values, role),
        role: role.into(),
        startup: values.either(Key::GangStartup).map(values::startup).transpose()?.unwrap_or_default(),
        mode: values.annotation(Key::KoordinatorMode).map(values::mode).transpose()?.unwrap_or_default(),
        match_policy: match_policy(&values)?,
        together_with: match values.annotation(Key::KoordinatorGroups) {
            Some(groups) => values::gang_groups(groups, &gang)?,
            None => Vec::new(),
        },
        wait_seconds: wait.map(|(seconds, _)| seconds),
        wait_cut_from: wait.and_then(|(_, asked)| asked),
        gang,
    };
    if options.leader_first.iter().any(|pattern| matches(pattern, &membership.gang)) {
        membership.startup = Startup::LeaderFirst;
    }
    Ok(Recognised::Member(Box::new(membership)))
}

/// The gang of a pod, as `namespace/name`, and its role in it, whatever its size: for counting members.
pub fn gang_and_role(pod: &impl PodText) -> Option<(String, &str)> {
    let values = Values::read(pod.labels(), pod.annotations());
    let own = values.either(Key::Gang);
    if !values.any() || (own.is_none() && pod.native_group().is_some()) {
        return None;
    }
    let any_job = Options { infer_size_from_env: true, ..Options::default() };
    let identity = own.map(Identity::named).or_else(|| identity(&values, &any_job))?;
    Some((format!("{}/{}", pod.namespace(), identity.name), role(&values)))
}

/// The name of a gang within its namespace.
struct Identity {
    name: String,
    /// The keys name a job that need not be a gang: it is one only if its size is given.
    only_with_size: bool,
}

impl Identity {
    fn named(name: &str) -> Self {
        Self { name: name.to_owned(), only_with_size: false }
    }
}

/// The order in which keys count, after our own and native groups.
fn identity(values: &Values<'_>, options: &Options) -> Option<Identity> {
    let yunikorn = || {
        values.annotation(Key::YunikornTaskGroup)?;
        values
            .either(Key::YunikornApp)
            .or_else(|| values.label(Key::YunikornOldApp))
            .or_else(|| values.label(Key::SparkApp))
    };
    let leader_worker_set = || Some(format!("{}-{}", values.label(Key::LwsName)?, values.label(Key::LwsGroup)?));
    let job = |key: Key| {
        let name = values.either(key)?.to_owned();
        Some(Identity { name, only_with_size: true })
    };
    values
        .label(Key::PodGroup)
        .or_else(|| values.label(Key::ThirdPartyPodGroup))
        .or_else(|| values.annotation(Key::KoordinatorName))
        .or_else(|| values.label(Key::LightweightName))
        .or_else(|| values.annotation(Key::VolcanoName))
        .or_else(|| values.annotation(Key::VolcanoNewName))
        .or_else(|| values.either(Key::KueueName))
        .or_else(yunikorn)
        .or_else(|| values.annotation(Key::KaiName))
        .map(Identity::named)
        .or_else(|| leader_worker_set().map(|name| Identity { name, only_with_size: false }))
        .or_else(|| job(Key::JobSetName))
        .or_else(|| options.infer_size_from_env.then(|| job(Key::TrainingJob)).flatten())
}

/// Fewest and all members, from the first source that says so.
fn size(
    pod: &impl PodText,
    values: &Values<'_>,
    gang: &str,
    options: &Options,
) -> Result<(Option<u32>, Option<u32>), Fault> {
    let counts = [
        (Key::GangMin, values.either(Key::GangMin)),
        (Key::LightweightMin, values.label(Key::LightweightMin)),
        (Key::KoordinatorMin, values.annotation(Key::KoordinatorMin)),
        (Key::VolcanoMin, values.annotation(Key::VolcanoMin)),
        (Key::VolcanoJobMin, values.annotation(Key::VolcanoJobMin)),
        (Key::KueueTotal, values.annotation(Key::KueueTotal)),
    ];
    let mut min = None;
    for (key, value) in counts {
        if let Some(value) = value {
            // Every value is looked at, so that a bad one is reported even where another counts.
            let count = values::count(key, value)?;
            min = min.or(Some(count));
        }
    }
    if let Some(groups) = values.annotation(Key::YunikornTaskGroups) {
        let sum = values::task_groups_min(groups)?;
        min = min.or(Some(sum));
    }
    for (key, value) in [
        (Key::LwsSize, values.annotation(Key::LwsSize)),
        // Written by the publisher from PodGroup objects.
        (Key::GangSize, values.either(Key::GangSize)),
    ] {
        if min.is_none() {
            min = value.map(|value| values::count(key, value)).transpose()?;
        }
    }
    let mut total = values.annotation(Key::KoordinatorTotal).map(|value| values::count(Key::KoordinatorTotal, value));
    if min.is_none()
        && options.infer_size_from_env
        && let Some((least, most)) = environment::infer(pod.environment())
    {
        min = Some(least);
        total = total.or(Some(Ok(most)));
    }
    let by_policy = || options.sizes.iter().find(|(pattern, _)| matches(pattern, gang)).map(|(_, min)| *min);
    let min = min.or_else(by_policy);
    Ok((min, total.transpose()?.max(min)))
}

fn match_policy(values: &Values<'_>) -> Result<Option<super::membership::MatchPolicy>, Fault> {
    let of = |key: Key, value: Option<&str>| value.map(|value| values::match_policy(key, value)).transpose();
    let koordinator = of(Key::KoordinatorMatch, values.annotation(Key::KoordinatorMatch))?;
    let lightweight = of(Key::LightweightMatch, values.either(Key::LightweightMatch))?;
    Ok(koordinator.or(lightweight))
}

fn role<'a>(values: &Values<'a>) -> &'a str {
    values
        .either(Key::GangRole)
        .or_else(|| values.either(Key::VolcanoRole))
        .or_else(|| values.label(Key::TrainingRole))
        .or_else(|| values.annotation(Key::YunikornTaskGroup))
        .or_else(|| values.either(Key::JobSetRole))
        .or_else(|| values.label(Key::RayRole))
        .or_else(|| values.label(Key::LwsWorker).map(|index| if index == "0" { "leader" } else { "worker" }))
        .unwrap_or("")
}

fn is_leader(values: &Values<'_>, role: &str) -> bool {
    const LEADERS: [&str; 6] = ["leader", "master", "launcher", "chief", "head", "driver"];
    values.label(Key::TrainingJobRole) == Some("master")
        || LEADERS.iter().any(|leader| role.eq_ignore_ascii_case(leader))
}

/// Whether `text` matches `pattern`, in which `*` stands for any run of characters.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}
