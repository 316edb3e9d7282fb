//! `k8s.io/scheduler`: what the call at hand is about, and what the guest answers.

use std::collections::BTreeMap;

use serde_json::Value;
use wasmtime::{Caller, Linker};

use super::memory::{Result, answer_object, answer_text, nul_terminated, range, read, split, text, write};
use crate::host::call::State;
use crate::host::fault::Fault;

pub(super) const MODULE: &str = "k8s.io/scheduler";

pub(super) fn define(linker: &mut Linker<State>) -> Result<()> {
    linker.func_wrap(MODULE, "get_config", |mut caller: Caller<'_, State>, buf: u32, limit: u32| {
        let (memory, state) = split(&mut caller)?;
        Ok(answer_text(memory, state.shared.config.as_bytes(), buf, limit))
    })?;
    linker.func_wrap(MODULE, "currentPod", |mut caller: Caller<'_, State>, buf: u32, limit: u32| {
        let (memory, state) = split(&mut caller)?;
        state.call.pod.as_ref().map_or(Ok(0), |pod| answer_object(memory, pod.protobuf(), buf, limit))
    })?;
    linker.func_wrap(MODULE, "targetPod", |mut caller: Caller<'_, State>, buf: u32, limit: u32| {
        let (memory, state) = split(&mut caller)?;
        state.call.target.as_ref().map_or(Ok(0), |pod| answer_object(memory, pod.protobuf(), buf, limit))
    })?;
    linker.func_wrap(MODULE, "currentNodeName", |mut caller: Caller<'_, State>, buf: u32, limit: u32| {
        let (memory, state) = split(&mut caller)?;
        Ok(answer_text(memory, state.call.node.as_bytes(), buf, limit))
    })?;
    define_json(linker)?;
    define_results(linker)?;
    linker.func_wrap(MODULE, "handle.eventrecorder.eventf", eventf)?;
    linker.func_wrap(MODULE, "handle.reject_waiting_pod", reject_waiting_pod)?;
    linker.func_wrap(MODULE, "handle.get_waiting_pod", get_waiting_pod)?;
    Ok(())
}

/// Values that travel as JSON; maps are sorted by key, as Go writes them.
fn define_json(linker: &mut Linker<State>) -> Result<()> {
    linker.func_wrap(MODULE, "filteredNodeList", |mut caller: Caller<'_, State>, buf: u32, limit: u32| {
        let (memory, state) = split(&mut caller)?;
        let names: Vec<&str> = state.call.filtered_nodes.iter().map(|node| node.name()).collect();
        Ok(answer_text(memory, &json(&names), buf, limit))
    })?;
    linker.func_wrap(MODULE, "nodeToStatusMap", |mut caller: Caller<'_, State>, buf: u32, limit: u32| {
        let (memory, state) = split(&mut caller)?;
        let codes: BTreeMap<&str, i32> =
            state.call.statuses.iter().map(|(node, code)| (node.as_str(), *code as i32)).collect();
        Ok(answer_text(memory, &json(&codes), buf, limit))
    })?;
    linker.func_wrap(MODULE, "nodeScoreList", |mut caller: Caller<'_, State>, buf: u32, limit: u32| {
        let (memory, state) = split(&mut caller)?;
        let scores: BTreeMap<&str, i64> =
            state.call.scores.iter().map(|(node, score)| (node.as_str(), *score)).collect();
        Ok(answer_text(memory, &json(&scores), buf, limit))
    })?;
    linker.func_wrap(
        MODULE,
        "nodeImageStates",
        |mut caller: Caller<'_, State>, name: u32, name_length: u32, buf: u32, limit: u32| {
            let (memory, state) = split(&mut caller)?;
            let name = text(read(memory, name, name_length, "nodeName")?);
            let states = state.shared.handle.image_states(&name);
            Ok(answer_text(memory, states.as_bytes(), buf, limit))
        },
    )?;
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("lists and maps with string keys are JSON")
}

fn define_results(linker: &mut Linker<State>) -> Result<()> {
    linker.func_wrap(MODULE, "result.cluster_events", |mut caller: Caller<'_, State>, buf: u32, length: u32| {
        let (memory, state) = split(&mut caller)?;
        let pairs = read(memory, buf, length, "clusterEvents")?.chunks_exact(8);
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
        state.call.events = pairs.map(|pair| (number(&pair[..4]), number(&pair[4..]))).collect();
        Ok(())
    })?;
    linker.func_wrap(MODULE, "result.node_names", |mut caller: Caller<'_, State>, buf: u32, length: u32| {
        let (memory, state) = split(&mut caller)?;
        let names = nul_terminated(read(memory, buf, length, "nodeNames")?);
        state.call.node_names = if names.is_empty() { None } else { Some(names) };
        Ok(())
    })?;
    linker.func_wrap(
        MODULE,
        "result.nominated_node_name",
        |mut caller: Caller<'_, State>, buf: u32, length: u32| {
            let (memory, state) = split(&mut caller)?;
            state.call.nominated_node = text(read(memory, buf, length, "nominatedNodeName")?);
            Ok(())
        },
    )?;
    linker.func_wrap(MODULE, "result.status_reason", |mut caller: Caller<'_, State>, buf: u32, length: u32| {
        let (memory, state) = split(&mut caller)?;
        state.call.reason = match range(memory, buf, length) {
            Some(reason) => text(reason),
            None => "BUG: out of memory reading message".to_owned(),
        };
        Ok(())
    })?;
    linker.func_wrap(
        MODULE,
        "result.normalized_score_list",
        |mut caller: Caller<'_, State>, buf: u32, length: u32| {
            let (memory, state) = split(&mut caller)?;
            let list = read(memory, buf, length, "normalized score list")?;
            let scores: Option<BTreeMap<String, i64>> =
                serde_json::from_slice(list).map_err(|error| Fault::panic(error.to_string()))?;
            state.call.normalized_scores = scores.unwrap_or_default().into_iter().collect();
            Ok(())
        },
    )?;
    Ok(())
}

fn eventf(mut caller: Caller<'_, State>, buf: u32, length: u32) -> Result<()> {
    let (memory, state) = split(&mut caller)?;
    let event: Value = serde_json::from_slice(read(memory, buf, length, "eventrecorder event")?)
        .map_err(|error| Fault::panic(error.to_string()))?;
    state.shared.handle.record_event(&event.to_string());
    Ok(())
}

fn reject_waiting_pod(mut caller: Caller<'_, State>, uid: u32, uid_length: u32, out: u32, _limit: u32) -> Result<()> {
    let (memory, state) = split(&mut caller)?;
    let uid = text(read(memory, uid, uid_length, "rejectWaitingPod")?);
    let rejected = state.shared.handle.reject_waiting_pod(&uid);
    write(memory, out, &u64::from(rejected).to_le_bytes());
    Ok(())
}

/// Upstream means to answer whether there is such a pod, but the import has no result: the guest sees what is written
/// to its buffer only.
fn get_waiting_pod(mut caller: Caller<'_, State>, uid: u32, uid_length: u32, out: u32, limit: u32) -> Result<()> {
    let (memory, state) = split(&mut caller)?;
    let uid = text(read(memory, uid, uid_length, "getWaitingPod")?);
    match state.shared.handle.waiting_pod(&uid) {
        Some(pod) => {
            answer_object(memory, pod.protobuf(), out, limit)?;
        }
        None => {
            write(memory, out, &0_u64.to_le_bytes());
        }
    }
    Ok(())
}
