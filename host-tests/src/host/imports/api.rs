//! `k8s.io/api`: nodes of the scheduler's snapshot.

use wasmtime::{Caller, Linker};

use super::memory::{Result, answer_object, read, split, text};
use crate::host::call::State;
use crate::object::node_list;

pub(super) const MODULE: &str = "k8s.io/api";

pub(super) fn define(linker: &mut Linker<State>) -> Result<()> {
    linker.func_wrap(MODULE, "node", node)?;
    linker.func_wrap(MODULE, "nodeList", nodes)?;
    Ok(())
}

fn node(mut caller: Caller<'_, State>, name: u32, name_length: u32, buf: u32, limit: u32) -> Result<u32> {
    let (memory, state) = split(&mut caller)?;
    let name = text(read(memory, name, name_length, "nodeName")?);
    match state.shared.handle.node(&name) {
        Some(node) => answer_object(memory, node.protobuf(), buf, limit),
        None => Ok(0),
    }
}

fn nodes(mut caller: Caller<'_, State>, buf: u32, limit: u32) -> Result<u32> {
    let (memory, state) = split(&mut caller)?;
    answer_object(memory, &node_list(&state.shared.handle.nodes()), buf, limit)
}
