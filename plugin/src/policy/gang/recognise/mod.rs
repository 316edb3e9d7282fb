//! Which gang a pod belongs to, from the keys of every system whose users come here.
//!
//! Keys that name a gang are tried in a fixed order; the first that the pod carries counts, so that a pod with the keys
//! of two systems is in one gang only. Where the size stands elsewhere than the name, every source is tried for it, again
//! in a fixed order. Nothing is read from owners: a Deployment that was annotated as a whole is not a gang, since its
//! rolling updates would wait for ever.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

mod environment;
mod keys;
#[cfg(test)]
mod tests;
mod values;

use super::membership::{Fault, Membership, Recognised, Startup};
use crate::text::is_like;

use keys::Source::{self, Annotation, Either, Label};
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

/// Where the least number of members may stand. The first counts.
const MINIMUMS: &[Source] = &[
    Either(Key::GangMin),
    Label(Key::LightweightMin),
    Annotation(Key::KoordinatorMin),
    Annotation(Key::VolcanoMin),
    Annotation(Key::VolcanoJobMin),
    Annotation(Key::KueueTotal),
];

/// Where the number of all members may stand, for gangs of which no minimum is known. [`Key::GangSize`] is written by
/// the publisher from PodGroup objects.
const SIZES: &[Source] = &[Annotation(Key::LwsSize), Either(Key::GangSize)];

/// Where a member's role may stand. The first counts.
const ROLES: &[Source] = &[
    Either(Key::GangRole),
    Either(Key::VolcanoRole),
    Label(Key::TrainingRole),
    Annotation(Key::YunikornTaskGroup),
    Either(Key::JobSetRole),
    Label(Key::RayRole),
];

/// Finds out what the pod is.
///
/// # Errors
/// The first key with an impossible value.
#[inline(never)]
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
    let Some(identity) = identity(&values, options) else {
        return Ok(Recognised::Single);
    };
    let role = role(&values);
    if options.excluded_roles.iter().any(|excluded| &**excluded == role) {
        return Ok(Recognised::Single);
    }
    if identity.name.as_bytes().contains(&b'/') {
        return Err(Fault::new(identity.key.text(), &identity.name, "a name without slashes"));
    }
    let gang: Box<str> = say!(pod.namespace(), "/", identity.name).into();
    match values.either(Key::KueueServing) {
        Some("true") => return Ok(Recognised::Single),
        None | Some("false") => {}
        Some(other) => return Err(Fault::new(Key::KueueServing.text(), other, "true or false").of(&gang)),
    }
    let sized = size(pod, &values, &gang, options).map_err(|fault| fault.of(&gang))?;
    if sized.0.is_none() && identity.only_with_size {
        return Ok(Recognised::Single);
    }
    let mut membership = membership(&values, &gang, role, sized).map_err(|fault| fault.of(&gang))?;
    if options.leader_first.iter().any(|pattern| is_like(&gang, pattern)) {
        membership.startup = Startup::LeaderFirst;
    }
    Ok(Recognised::Member(Box::new(membership)))
}

/// What the pod says about a gang that it is in, with the fewest and all members of it.
fn membership(
    values: &Values<'_>,
    gang: &str,
    role: &str,
    (min, total): (Option<u32>, Option<u32>),
) -> Result<Membership, Fault> {
    let wait = values.annotation(Key::KoordinatorWait).map(values::wait).transpose()?;
    Ok(Membership {
        gang: gang.into(),
        min,
        total,
        is_leader: is_leader(values, role),
        role: role.into(),
        startup: values.either(Key::GangStartup).map(values::startup).transpose()?.unwrap_or_default(),
        mode: values.annotation(Key::KoordinatorMode).map(values::mode).transpose()?.unwrap_or_default(),
        match_policy: match_policy(values)?,
        together_with: match values.annotation(Key::KoordinatorGroups) {
            Some(groups) => values::gang_groups(groups, gang)?,
            None => Vec::new(),
        },
        wait_seconds: wait.map(|(seconds, _)| seconds),
        wait_cut_from: wait.and_then(|(_, asked)| asked),
    })
}

/// The gang of a pod, as `namespace/name`, and its role in it, whatever its size: for counting members.
pub fn gang_and_role(pod: &impl PodText) -> Option<(String, &str)> {
    let values = Values::read(pod.labels(), pod.annotations());
    let own = values.either(Key::Gang);
    if !values.any() || (own.is_none() && pod.native_group().is_some()) {
        return None;
    }
    let any_job = Options { infer_size_from_env: true, ..Options::default() };
    let identity = identity(&values, &any_job)?;
    Some((say!(pod.namespace(), "/", identity.name), role(&values)))
}

/// The name of a gang within its namespace.
struct Identity {
    name: String,
    /// The key that tells it.
    key: Key,
    /// The keys name a job that need not be a gang: it is one only if its size is given.
    only_with_size: bool,
}

/// The order in which keys count. Ours comes before a native group, the others after it.
fn identity(values: &Values<'_>, options: &Options) -> Option<Identity> {
    use Key::*;
    let groups = values.first(&[
        Either(Gang),
        Label(PodGroup),
        Label(ThirdPartyPodGroup),
        Annotation(KoordinatorName),
        Label(LightweightName),
        Annotation(VolcanoName),
        Annotation(VolcanoNewName),
        Either(KueueName),
    ]);
    let yunikorn = || {
        values.annotation(YunikornTaskGroup)?;
        values.first(&[Either(YunikornApp), Label(YunikornOldApp), Label(SparkApp)])
    };
    let kai = || values.first(&[Annotation(KaiName)]);
    if let Some((key, name)) = groups.or_else(yunikorn).or_else(kai) {
        return Some(Identity { name: name.to_owned(), key, only_with_size: false });
    }
    if let (Some(name), Some(group)) = (values.label(LwsName), values.label(LwsGroup)) {
        return Some(Identity { name: say!(name, "-", group), key: LwsName, only_with_size: false });
    }
    let jobs = [Either(JobSetName), Either(TrainingJob)];
    let (key, job) = values.first(if options.infer_size_from_env { &jobs } else { jobs.get(..1)? })?;
    Some(Identity { name: job.to_owned(), key, only_with_size: true })
}

/// Fewest and all members, from the first source that says so.
fn size(
    pod: &impl PodText,
    values: &Values<'_>,
    gang: &str,
    options: &Options,
) -> Result<(Option<u32>, Option<u32>), Fault> {
    // Every value is looked at, so that a bad one is reported even where another counts.
    let counted = |sources: &[Source]| -> Result<Option<u32>, Fault> {
        let mut first = None;
        for source in sources {
            if let Some(value) = values.at(*source) {
                let count = values::count(source.key(), value)?;
                first = first.or(Some(count));
            }
        }
        Ok(first)
    };
    let minimum = counted(MINIMUMS)?;
    let task_groups = values.annotation(Key::YunikornTaskGroups).map(values::task_groups_min).transpose()?;
    let mut min = minimum.or(task_groups).or(counted(SIZES)?);
    let total = values.annotation(Key::KoordinatorTotal);
    let mut total = total.map(|value| values::count(Key::KoordinatorTotal, value)).transpose()?;
    if min.is_none()
        && options.infer_size_from_env
        && let Some((least, most)) = environment::infer(pod.environment())?
    {
        min = Some(least);
        total = total.or(Some(most));
    }
    let by_policy = || options.sizes.iter().find(|(pattern, _)| is_like(gang, pattern)).map(|(_, min)| *min);
    let min = min.or_else(by_policy);
    Ok((min, total.max(min)))
}

fn match_policy(values: &Values<'_>) -> Result<Option<super::membership::MatchPolicy>, Fault> {
    let of = |key: Key, value: Option<&str>| value.map(|value| values::match_policy(key, value)).transpose();
    let koordinator = of(Key::KoordinatorMatch, values.annotation(Key::KoordinatorMatch))?;
    let lightweight = of(Key::LightweightMatch, values.either(Key::LightweightMatch))?;
    Ok(koordinator.or(lightweight))
}

fn role<'a>(values: &Values<'a>) -> &'a str {
    let index = || values.label(Key::LwsWorker).map(|index| if index == "0" { "leader" } else { "worker" });
    values.first(ROLES).map(|(_, role)| role).or_else(index).unwrap_or("")
}

fn is_leader(values: &Values<'_>, role: &str) -> bool {
    const LEADERS: [&str; 6] = ["leader", "master", "launcher", "chief", "head", "driver"];
    values.label(Key::TrainingJobRole) == Some("master")
        || LEADERS.iter().any(|leader| role.eq_ignore_ascii_case(leader))
}
