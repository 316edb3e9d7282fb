//! What ends a call early, in upstream's words where it has some.

use std::fmt::{self, Write as _};

use wasmtime::{Trap, WasmBacktrace};

use super::engine::Limits;
use super::module::Signatures;

/// Frames of the guest's stack that a message shows.
pub(super) const MAX_FRAMES: usize = 30;

/// An import's reason to end the call.
#[derive(Debug)]
pub(super) enum Fault {
    /// The guest broke a rule of an import; upstream panics and recovers.
    Panic(String),
    /// The guest called `proc_exit`.
    Exit(u32),
    /// One of our own limits.
    Limit(String),
}

impl Fault {
    pub(super) fn panic(message: impl Into<String>) -> wasmtime::Error {
        Self::Panic(message.into()).into()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(message) => write!(f, "{message} (recovered by wazero)"),
            Self::Exit(code) => write!(f, "module closed with exit_code({code})"),
            Self::Limit(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Fault {}

/// The message of an error that ended a call, with the guest's stack.
pub(super) fn message(error: &wasmtime::Error, limits: &Limits, signatures: &Signatures) -> String {
    let mut message = match (error.downcast_ref::<Fault>(), error.downcast_ref::<Trap>()) {
        (Some(exit @ Fault::Exit(_)), _) => return exit.to_string(),
        (Some(fault), _) => fault.to_string(),
        (None, Some(trap)) => trap_message(*trap, limits),
        (None, None) => format!("{error:#}"),
    };
    if let Some(backtrace) = error.downcast_ref::<WasmBacktrace>().filter(|trace| !trace.frames().is_empty()) {
        message.push_str("\nwasm stack trace:");
        for frame in backtrace.frames().iter().take(MAX_FRAMES) {
            let _ = write!(message, "\n\t{}.", frame.module().name().unwrap_or_default());
            let _ = match frame.func_name() {
                Some(name) => write!(message, "{name}"),
                None => write!(message, "${}", frame.func_index()),
            };
            message.push_str(signatures.of(frame.func_index()));
        }
        if backtrace.frames().len() > MAX_FRAMES {
            message.push_str("\n\t... maybe followed by omitted frames");
        }
    }
    message
}

fn trap_message(trap: Trap, limits: &Limits) -> String {
    let name = match trap {
        Trap::UnreachableCodeReached => "unreachable",
        Trap::MemoryOutOfBounds => "out of bounds memory access",
        Trap::IntegerDivisionByZero => "integer divide by zero",
        Trap::IntegerOverflow => "integer overflow",
        Trap::BadConversionToInteger => "invalid conversion to integer",
        Trap::TableOutOfBounds | Trap::IndirectCallToNull => "invalid table access",
        Trap::BadSignature => "indirect call type mismatch",
        Trap::StackOverflow => "stack overflow",
        Trap::Interrupt => {
            return format!(
                "the call ran for more than {:?} and was stopped by this harness; upstream's host has no limit, its \
                 scheduler would hang",
                limits.call_time
            );
        }
        Trap::OutOfFuel => {
            return format!(
                "the call used more than {} fuel and was stopped by this harness; upstream's host has no limit, its \
                 scheduler would hang",
                limits.fuel
            );
        }
        other => return format!("wasm error: {other}"),
    };
    format!("wasm error: {name}")
}
