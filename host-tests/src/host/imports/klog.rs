//! `k8s.io/klog`: the scheduler's log.
//!
//! The two functions compare the severity the opposite way round; that is upstream's doing, not ours.

use std::fmt::Write as _;

use wasmtime::{Caller, Linker};

use super::memory::{Result, nul_terminated, range, split, text};
use crate::host::call::State;

const INFO: i32 = 0;
const ERROR: i32 = 2;

pub(super) const MODULE: &str = "k8s.io/klog";

pub(super) fn define(linker: &mut Linker<State>) -> Result<()> {
    linker.func_wrap(MODULE, "log", log)?;
    linker.func_wrap(MODULE, "logs", logs)?;
    linker.func_wrap(MODULE, "severity", |caller: Caller<'_, State>| caller.data().shared.log_severity)?;
    Ok(())
}

fn log(mut caller: Caller<'_, State>, severity: i32, message: u32, length: u32) -> Result<()> {
    let (memory, state) = split(&mut caller)?;
    if severity <= state.shared.log_severity
        && let Some(message) = range(memory, message, length)
    {
        print(state, severity, &text(message));
    }
    Ok(())
}

fn logs(
    mut caller: Caller<'_, State>,
    severity: i32,
    message: u32,
    length: u32,
    pairs: u32,
    pairs_length: u32,
) -> Result<()> {
    if pairs_length == 0 {
        return log(caller, severity, message, length);
    }
    let (memory, state) = split(&mut caller)?;
    if severity >= state.shared.log_severity
        && let (Some(message), Some(pairs)) = (range(memory, message, length), range(memory, pairs, pairs_length))
    {
        let pairs = nul_terminated(pairs);
        let pairs: Vec<(&str, &str)> =
            pairs.chunks(2).map(|pair| (&*pair[0], pair.get(1).map_or("(MISSING)", |value| value))).collect();
        print(state, severity, &structured(&text(message), &pairs));
    }
    Ok(())
}

/// Only two severities have a klog function behind them.
fn print(state: &State, severity: i32, message: &str) {
    if severity == INFO || severity == ERROR {
        state.shared.handle.log(severity, message);
    }
}

/// A message with key-value pairs as klog prints them.
pub(in crate::host) fn structured(message: &str, pairs: &[(&str, &str)]) -> String {
    let mut line = format!("{message:?}");
    for (key, value) in pairs {
        let _ = if value.contains('\n') {
            write!(line, " {key}=<\n\t{}\n >", value.replace('\n', "\n\t"))
        } else {
            write!(line, " {key}={value:?}")
        };
    }
    line
}
