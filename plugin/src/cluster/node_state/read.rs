//! Reading node state.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Expected, NodeState, QosClassState, Unknown, Usage, VERSION};
use crate::gather::Gather;
use crate::json::Json;
use crate::object::ResourceNames;
use crate::sorted_map::SortedMap;

const MOST_PODS: i64 = u32::MAX as i64;
const WHOLE_GPU: i64 = 1000;
/// Most fields of an object: as many as there are names of resources. They are put in order one by one.
const MOST_FIELDS: usize = ResourceNames::LIMIT;

/// Reads the annotation's value.
pub(super) fn read(text: &str) -> Result<NodeState, Unknown> {
    let document = Json::parse(text).map_err(|error| Unknown::Broken(say!(error)))?;
    let mut reader = Reader::default();
    let v = reader.needed(&document, "v");
    if reader.broken.is_none() && v != i64::from(VERSION) {
        return Err(Unknown::Version(v.unsigned_abs()));
    }
    let state = reader.state(&document);
    match reader.broken {
        None => Ok(state),
        Some(why) => Err(Unknown::Broken(why)),
    }
}

/// Reads on whatever is wrong, and keeps the first fault: a state with a fault is no state.
#[derive(Default)]
struct Reader {
    broken: Option<String>,
}

impl Reader {
    fn state(&mut self, document: &Json<'_>) -> NodeState {
        let amount = |reader: &mut Self, name: &str, value: &Json<'_>| reader.whole(name, value, i64::MAX);
        let state = NodeState {
            v: VERSION,
            at: self.needed(document, "at"),
            pods: narrow(self.number(document, "pods", MOST_PODS)),
            requested: self.entries(document, "requested", amount),
            nonzero: self.entries(document, "nonzero", amount),
            qos: self.entries(document, "qos", |reader, _, class| QosClassState {
                pods: narrow(reader.counted(class, "pods")),
                cpu: reader.number(class, "cpu", i64::MAX),
                memory: reader.number(class, "memory", i64::MAX),
            }),
            usage: document.get("usage").map(|usage| Usage {
                at: self.needed(usage, "at"),
                cpu: self.needed(usage, "cpu"),
                memory: self.needed(usage, "memory"),
            }),
            unmeasured: document.get("unmeasured").map(|expected| Expected {
                cpu: self.needed(expected, "cpu"),
                memory: self.needed(expected, "memory"),
            }),
            gangs: self
                .entries(document, "gangs", |reader, name, members| narrow(reader.whole(name, members, MOST_PODS))),
            gpu_free: match document.get("gpuFree") {
                None => Vec::new(),
                Some(Json::List(free)) => {
                    free.iter().map(|free| narrow(self.whole("gpuFree", free, WHOLE_GPU))).gather()
                }
                Some(_) => self.breaks("gpuFree", "is no list"),
            },
            uids: self.uids(document, "uids"),
            left: self.uids(document, "left"),
        };
        if u32::try_from(state.uids.len()) != Ok(state.pods) {
            self.fault("uids", "does not list every pod");
        }
        state
    }

    fn uids(&mut self, document: &Json<'_>, name: &str) -> Vec<u32> {
        match document.get(name) {
            None => Vec::new(),
            Some(Json::Text(uids)) => {
                numbers(uids).unwrap_or_else(|| self.breaks(name, "is not 8 hexadecimal digits a pod"))
            }
            Some(_) => self.breaks(name, "is no string"),
        }
    }

    #[inline(never)]
    fn fault(&mut self, name: &str, why: &str) {
        self.broken.get_or_insert_with(|| say!(name, " ", why));
    }

    fn breaks<T: Default>(&mut self, name: &str, why: &str) -> T {
        self.fault(name, why);
        T::default()
    }

    #[inline(never)]
    fn whole(&mut self, name: &str, value: &Json<'_>, most: i64) -> i64 {
        match value {
            Json::Integer(number) if (0..=most).contains(number) => *number,
            _ => {
                self.fault(name, &say!("is no whole number from 0 to ", most));
                0
            }
        }
    }

    /// A number that is 0 if it is absent.
    fn number(&mut self, object: &Json<'_>, name: &str, most: i64) -> i64 {
        object.get(name).map_or(0, |value| self.whole(name, value, most))
    }

    fn needed(&mut self, object: &Json<'_>, name: &str) -> i64 {
        self.needed_up_to(object, name, i64::MAX)
    }

    fn counted(&mut self, object: &Json<'_>, name: &str) -> i64 {
        self.needed_up_to(object, name, MOST_PODS)
    }

    #[inline(never)]
    fn needed_up_to(&mut self, object: &Json<'_>, name: &str, most: i64) -> i64 {
        match object.get(name) {
            Some(value) => self.whole(name, value, most),
            None => self.breaks(name, "is missing"),
        }
    }

    #[inline(never)]
    fn entries<T>(
        &mut self,
        document: &Json<'_>,
        name: &str,
        mut read: impl FnMut(&mut Self, &str, &Json<'_>) -> T,
    ) -> SortedMap<Box<str>, T> {
        self.fields(document, name).iter().map(|(name, value)| ((**name).into(), read(self, name, value))).collect()
    }

    /// The fields of an object, none if it is absent.
    fn fields<'d>(&mut self, document: &'d Json<'_>, name: &str) -> &'d [(Cow<'d, str>, Json<'d>)] {
        match document.get(name) {
            Some(Json::Object(fields)) if fields.len() > MOST_FIELDS => self.breaks(name, "has too many fields"),
            Some(Json::Object(fields)) => fields,
            Some(_) => self.breaks(name, "is no object"),
            None => &[],
        }
    }
}

/// Numbers of 8 hexadecimal digits each.
fn numbers(digits: &str) -> Option<Vec<u32>> {
    let (numbers, rest) = digits.as_bytes().as_chunks::<8>();
    let value = |digit: &u8| char::from(*digit).to_digit(16);
    let number = |digits: &[u8; 8]| digits.iter().try_fold(0, |number: u32, digit| Some(number << 4 | value(digit)?));
    if rest.is_empty() { numbers.iter().map(|digits| number(digits).ok_or(())).try_gather().ok() } else { None }
}

/// A number that was found to be small enough.
fn narrow<T: TryFrom<i64> + Default>(number: i64) -> T {
    T::try_from(number).unwrap_or_default()
}
