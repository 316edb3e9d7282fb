//! Every call of a module in a run, as JSON lines that another build of the module can be asked again.
//!
//! A line is one of [`Line`]: what the module is told of the cluster, or a call with its answer. Objects are written once,
//! when they are new. What a module asks of the scheduler beyond nodes (image states, pods that wait in Permit) is not
//! recorded: it gets none in a replay.

mod record;
mod replay;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use record::{Recorder, Tape};
pub use replay::{Difference, Replayed, replay};

use crate::framework::Status;

/// A line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Line {
    /// The first line.
    Recording {
        /// Always `v1`.
        schema_version: String,
        /// The module's configuration.
        policy: String,
    },
    /// A fresh module, as at the start of the scheduler.
    Start,
    /// A node that is new or has changed.
    Node(Value),
    /// The name of a node that is gone.
    NodeGone(String),
    /// A pod that is new or has changed; the lines are numbered from 0.
    Pod(Value),
    /// A call.
    Call(Box<Call>),
    /// The last line: how many calls there were. Without it the recording was cut off.
    End(u64),
}

/// A call of the module and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// The module's export.
    pub export: String,
    /// The pod at hand, by the number of its line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<usize>,
    /// The pod that preemption adds or takes away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<usize>,
    /// The node at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The nodes that passed every filter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Why each node was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<(String, i32)>,
    /// Scores to be normalised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<(String, i64)>,
    /// What the module answered.
    pub answer: Answer,
}

/// What a module answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The status code, see [`crate::framework::Code`].
    pub code: i32,
    /// The status' reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The only nodes worth looking at, or the nominated one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<String>>,
    /// The score, or how long to wait in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    /// Normalised scores, sorted by node: their order is not the module's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<Vec<(String, i64)>>,
    /// Events to register: resource (-1 for any kind) and actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<(i64, u32)>>,
}

impl From<Status> for Answer {
    fn from(status: Status) -> Self {
        Self { code: status.code as i32, reason: status.reason, ..Self::default() }
    }
}

/// Names of the calls, which are the module's exports.
mod export {
    pub const ENQUEUE: &str = "enqueue";
    pub const PRE_FILTER: &str = "prefilter";
    pub const ADD_POD: &str = "addpod";
    pub const REMOVE_POD: &str = "removepod";
    pub const FILTER: &str = "filter";
    pub const POST_FILTER: &str = "postfilter";
    pub const PRE_SCORE: &str = "prescore";
    pub const SCORE: &str = "score";
    pub const NORMALIZE_SCORE: &str = "normalizescore";
    pub const RESERVE: &str = "reserve";
    pub const UNRESERVE: &str = "unreserve";
    pub const PERMIT: &str = "permit";
    pub const PRE_BIND: &str = "prebind";
    pub const BIND: &str = "bind";
    pub const POST_BIND: &str = "postbind";
}
