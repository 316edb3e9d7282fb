//! Reading node state.

use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::{Expected, NodeState, QosClassState, Unknown, Usage, VERSION};
use crate::json::Json;
use crate::object::ResourceNames;
use crate::sorted_map::SortedMap;

const MOST_PODS: i64 = u32::MAX as i64;
const WHOLE_GPU: i64 = 1000;
/// Most fields of an object: as many as there are names of resources. They are put in order one by one.
const MOST_FIELDS: usize = ResourceNames::LIMIT;

/// Reads the annotation's value.
pub(super) fn read(text: &str) -> Result<NodeState, Unknown> {
    let document = Json::parse(text).map_err(|error| Unknown::Broken(error.to_string()))?;
    let v = needed(&document, "v", i64::MAX)?;
    if v != i64::from(VERSION) {
        return Err(Unknown::Version(v.unsigned_abs()));
    }
    let amount = |name: &str, value: &Json<'_>| whole(name, value, i64::MAX);
    let state = NodeState {
        v: VERSION,
        at: needed(&document, "at", i64::MAX)?,
        pods: narrow(number(&document, "pods", MOST_PODS)?),
        requested: entries(&document, "requested", amount)?,
        nonzero: entries(&document, "nonzero", amount)?,
        qos: entries(&document, "qos", |_, class| {
            Ok(QosClassState {
                pods: narrow(needed(class, "pods", MOST_PODS)?),
                cpu: number(class, "cpu", i64::MAX)?,
                memory: number(class, "memory", i64::MAX)?,
            })
        })?,
        usage: part(&document, "usage", |usage| {
            Ok(Usage {
                at: needed(usage, "at", i64::MAX)?,
                cpu: needed(usage, "cpu", i64::MAX)?,
                memory: needed(usage, "memory", i64::MAX)?,
            })
        })?,
        unmeasured: part(&document, "unmeasured", |expected| {
            Ok(Expected { cpu: needed(expected, "cpu", i64::MAX)?, memory: needed(expected, "memory", i64::MAX)? })
        })?,
        gangs: entries(&document, "gangs", |name, members| Ok(narrow(whole(name, members, MOST_PODS)?)))?,
        gpu_free: match document.get("gpuFree") {
            None => Vec::new(),
            Some(Json::List(free)) => {
                free.iter().map(|free| Ok(narrow(whole("gpuFree", free, WHOLE_GPU)?))).collect::<Result<_, _>>()?
            }
            Some(_) => return Err(broken("gpuFree", "is no list")),
        },
        uids: match document.get("uids") {
            None => Vec::new(),
            Some(Json::Text(uids)) => {
                numbers(uids).ok_or_else(|| broken("uids", "is not 8 hexadecimal digits a pod"))?
            }
            Some(_) => return Err(broken("uids", "is no string")),
        },
    };
    if u32::try_from(state.uids.len()) != Ok(state.pods) {
        return Err(broken("uids", "does not list every pod"));
    }
    Ok(state)
}

/// Numbers of 8 hexadecimal digits each.
fn numbers(digits: &str) -> Option<Vec<u32>> {
    let (numbers, rest) = digits.as_bytes().as_chunks::<8>();
    let value = |digit: &u8| char::from(*digit).to_digit(16);
    let number = |digits: &[u8; 8]| digits.iter().try_fold(0, |number: u32, digit| Some(number << 4 | value(digit)?));
    if rest.is_empty() { numbers.iter().map(number).collect() } else { None }
}

fn broken(name: &str, why: &str) -> Unknown {
    Unknown::Broken(format!("{name} {why}"))
}

fn whole(name: &str, value: &Json<'_>, most: i64) -> Result<i64, Unknown> {
    match value {
        Json::Integer(number) if (0..=most).contains(number) => Ok(*number),
        _ => Err(broken(name, &format!("is no whole number from 0 to {most}"))),
    }
}

/// A number that was found to be small enough.
fn narrow<T: TryFrom<i64> + Default>(number: i64) -> T {
    T::try_from(number).unwrap_or_default()
}

fn number(object: &Json<'_>, name: &str, most: i64) -> Result<i64, Unknown> {
    object.get(name).map_or(Ok(0), |value| whole(name, value, most))
}

fn needed(object: &Json<'_>, name: &str, most: i64) -> Result<i64, Unknown> {
    object.get(name).map_or_else(|| Err(broken(name, "is missing")), |value| whole(name, value, most))
}

fn part<T>(
    document: &Json<'_>,
    name: &str,
    read: impl Fn(&Json<'_>) -> Result<T, Unknown>,
) -> Result<Option<T>, Unknown> {
    document.get(name).map(read).transpose()
}

fn entries<T>(
    document: &Json<'_>,
    name: &str,
    read: impl Fn(&str, &Json<'_>) -> Result<T, Unknown>,
) -> Result<SortedMap<String, T>, Unknown> {
    match document.get(name) {
        None => Ok(SortedMap::default()),
        Some(Json::Object(fields)) if fields.len() > MOST_FIELDS => Err(broken(name, "has too many fields")),
        Some(Json::Object(fields)) => {
            fields.iter().map(|(name, value)| Ok((name.clone().into_owned(), read(name, value)?))).collect()
        }
        Some(_) => Err(broken(name, "is no object")),
    }
}
