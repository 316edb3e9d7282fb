//! Asking a module again what a recording holds.

use std::io::BufRead;
use std::rc::Rc;

use anyhow::{Context as _, bail};
use serde::Serialize;

use super::record::{events, sorted};
use super::{Answer, Call, Line, export};
use crate::framework::{Code, Handle, Plugin};
use crate::object::{NodeObject, PodObject};
use crate::scheduler::handle::LogSink;
use crate::snapshot::Snapshot;

/// What came of a replay.
#[derive(Debug)]
pub struct Replayed {
    /// The calls up to the difference, or all of them.
    pub calls: u64,
    /// The first answer that is not as recorded. That the module asks for other events counts if nothing else differs, for
    /// nothing in a replay rests on it.
    pub difference: Option<Difference>,
}

/// An answer that is not as recorded. What follows it in the recording would rest on the other answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The line of the recording, from 1.
    pub line: usize,
    /// The call, with the answer as recorded.
    pub call: Call,
    /// `namespace/name` of its pod.
    pub pod: Option<String>,
    /// The answer now.
    pub answer: Answer,
}

/// Makes the plugin that is asked; the text is its configuration.
pub type Factory<'f> = &'f mut dyn FnMut(&str, Rc<dyn Handle>) -> anyhow::Result<Box<dyn Plugin>>;

/// Asks a plugin everything that the recording holds, up to the first decision that is not as recorded.
///
/// # Errors
/// When this is no recording, or the plugin does not start.
pub fn replay(
    recording: impl BufRead,
    policy: Option<&str>,
    log: LogSink,
    start: Factory<'_>,
) -> anyhow::Result<Replayed> {
    let cluster = Rc::new(Snapshot::new(log));
    let (mut recorded_policy, mut plugin, mut pods, mut calls) = (None, None, Vec::new(), 0);
    let (mut last, mut ended) = (0, false);
    let mut other_events = None;
    for (at, text) in recording.lines().enumerate() {
        let at = at + 1;
        let text = text.with_context(|| format!("line {at} cannot be read"))?;
        let line: Line = serde_json::from_str(&text).map_err(|error| no_line(at, &error))?;
        if ended {
            bail!("line {at}: the recording has ended before");
        }
        last = at;
        match (line, &recorded_policy) {
            (Line::Recording { schema_version, policy }, None) => {
                if schema_version != "v1" {
                    bail!("line {at}: recordings have version v1, this one has {schema_version}");
                }
                recorded_policy = Some(policy);
            }
            (Line::Recording { .. }, Some(_)) => bail!("line {at}: another recording begins here"),
            (_, None) => bail!("line {at}: a recording begins with a line {{\"recording\":...}}"),
            (Line::Start, Some(recorded)) => {
                let handle = Rc::clone(&cluster) as Rc<dyn Handle>;
                plugin = Some(start(policy.unwrap_or(recorded), handle)?);
            }
            (Line::Node(node), _) => {
                let node = serde_json::from_value(node).with_context(|| format!("line {at} holds no node"))?;
                cluster.set(NodeObject::new(node));
            }
            (Line::NodeGone(name), _) => cluster.remove(&name),
            (Line::Pod(pod), _) => {
                pods.push(Rc::new(PodObject::from_json(&pod).with_context(|| format!("line {at}"))?));
            }
            (Line::End(recorded), _) if recorded == calls => ended = true,
            (Line::End(recorded), _) => bail!("line {at}: {recorded} calls were recorded, {calls} are here"),
            (Line::Call(call), _) => {
                let Some(plugin) = &mut plugin else { bail!("line {at}: a call before the module has started") };
                calls += 1;
                let answer = ask(&mut **plugin, &call, &pods, &cluster).with_context(|| format!("line {at}"))?;
                if answer != call.answer {
                    let pod = call.pod.and_then(|pod| pods.get(pod));
                    let pod = pod.map(|pod| format!("{}/{}", pod.namespace(), pod.name()));
                    let is_decision = call.export != export::ENQUEUE;
                    let differs =
                        Replayed { calls, difference: Some(Difference { line: at, call: *call, pod, answer }) };
                    if is_decision {
                        return Ok(differs);
                    }
                    other_events.get_or_insert(differs);
                }
            }
        }
    }
    if recorded_policy.is_none() {
        bail!("the recording is empty");
    }
    if !ended && other_events.is_none() {
        bail!("the recording was cut off after line {last}; up to there every answer is as recorded");
    }
    Ok(other_events.unwrap_or(Replayed { calls, difference: None }))
}

fn no_line(at: usize, error: &serde_json::Error) -> anyhow::Error {
    if error.is_eof() {
        return anyhow::anyhow!("line {at} is cut off");
    }
    // The parser counts lines of what it was given, which is one.
    let text = error.to_string();
    let text = text.split_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    anyhow::anyhow!("line {at}, column {}, is no line of a recording: {text}", error.column())
}

fn ask(plugin: &mut dyn Plugin, call: &Call, pods: &[Rc<PodObject>], cluster: &Snapshot) -> anyhow::Result<Answer> {
    if call.export == export::ENQUEUE {
        return Ok(events(&plugin.events_to_register()?));
    }
    let find = |number: Option<usize>| {
        number
            .and_then(|number| pods.get(number))
            .with_context(|| format!("{} of a pod that no line holds", call.export))
    };
    let pod = find(call.pod)?;
    let node = || call.node.as_deref().with_context(|| format!("{} without its node", call.export));
    Ok(match call.export.as_str() {
        export::PRE_FILTER => {
            let (nodes, status) = plugin.pre_filter(pod);
            Answer { nodes, ..status.into() }
        }
        export::ADD_POD => plugin.add_pod(pod, find(call.target)?, node()?).into(),
        export::REMOVE_POD => plugin.remove_pod(pod, find(call.target)?, node()?).into(),
        export::FILTER => plugin.filter(pod, node()?).into(),
        export::POST_FILTER => {
            let code = |code| Code::from_i32(code).with_context(|| format!("{code} is no status code"));
            let statuses = call.statuses.iter().map(|(node, number)| Ok((node.clone(), code(*number)?)));
            let (nominated, status) = plugin.post_filter(pod, &statuses.collect::<anyhow::Result<Vec<_>>>()?);
            Answer { nodes: nominated.map(|node| vec![node]), ..status.into() }
        }
        export::PRE_SCORE => {
            let node =
                |name: &String| cluster.node(name).with_context(|| format!("prescore of {name}, which is not there"));
            plugin.pre_score(pod, &call.nodes.iter().map(node).collect::<anyhow::Result<Vec<_>>>()?).into()
        }
        export::SCORE => {
            let (score, status) = plugin.score(pod, node()?);
            Answer { number: Some(score), ..status.into() }
        }
        export::NORMALIZE_SCORE => {
            let mut scores = call.scores.clone();
            let status = plugin.normalize_score(pod, &mut scores);
            Answer { scores: Some(sorted(&scores)), ..status.into() }
        }
        export::RESERVE => plugin.reserve(pod, node()?).into(),
        export::UNRESERVE => {
            plugin.unreserve(pod, node()?);
            Answer::default()
        }
        export::PERMIT => {
            let (status, milliseconds) = plugin.permit(pod, node()?);
            Answer { number: Some(milliseconds.into()), ..status.into() }
        }
        export::PRE_BIND => plugin.pre_bind(pod, node()?).into(),
        export::BIND => plugin.bind(pod, node()?).into(),
        export::POST_BIND => {
            plugin.post_bind(pod, node()?);
            Answer::default()
        }
        other => bail!("there is no call {other}"),
    })
}
