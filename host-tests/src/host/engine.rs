//! The wasmtime engines, and the limits that this host sets where upstream has none.

use std::num::NonZeroUsize;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use wasmtime::{Config, Engine, ResourceLimiter};

use super::fault::{Fault, MAX_FRAMES};

/// What a call may use. Upstream sets no limit at all: there, what these stop freezes the scheduler or eats the
/// machine's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest time of one call, kept to [`Limits::TICK`].
    pub call_time: Duration,
    /// Largest memory of one instance in bytes.
    pub memory: usize,
    /// Fuel of one call (about one unit per instruction), for modules that are metered.
    pub fuel: u64,
}

impl Limits {
    /// How often a running call is looked at.
    pub const TICK: Duration = Duration::from_millis(10);

    pub(super) fn ticks(&self) -> u64 {
        let ticks = self.call_time.as_millis().div_ceil(Self::TICK.as_millis());
        // The tick under way does not count: it may end at once.
        u64::try_from(ticks).unwrap_or(u64::MAX).saturating_add(1)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { call_time: Duration::from_secs(10), memory: 1 << 30, fuel: 10_000_000_000 }
    }
}

/// The engine of modules that run at full speed.
pub(super) static PLAIN: LazyLock<Engine> = LazyLock::new(|| engine(false));
/// The engine of modules that count fuel, which costs them a good part of their speed.
pub(super) static METERED: LazyLock<Engine> = LazyLock::new(|| engine(true));

fn engine(metered: bool) -> Engine {
    let mut config = Config::new();
    config.consume_fuel(metered).epoch_interruption(true);
    config.wasm_backtrace_max_frames(NonZeroUsize::new(MAX_FRAMES + 1));
    // Upstream's runtime knows WebAssembly 2.0 and nothing newer.
    config.wasm_tail_call(false).wasm_multi_memory(false).wasm_memory64(false);
    config.wasm_relaxed_simd(false).wasm_extended_const(false);
    let engine = Engine::new(&config).expect("wasmtime runs on this machine");
    let ticking = engine.clone();
    thread::spawn(move || {
        loop {
            thread::sleep(Limits::TICK);
            ticking.increment_epoch();
        }
    });
    engine
}

/// Stops an instance that outgrows its memory limit. A refused growth would do too, but the guest would then die of
/// something else, or not at all.
#[derive(Debug)]
pub(super) struct MemoryLimit(pub(super) usize);

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(&mut self, _: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.0 && maximum.is_none_or(|maximum| desired <= maximum) {
            return Err(Fault::Limit(format!(
                "the guest's memory would grow to {desired} bytes, past this harness's limit of {} bytes; upstream's \
                 host has no limit",
                self.0
            ))
            .into());
        }
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        const MOST_ELEMENTS: usize = 10_000_000;
        Ok(desired <= MOST_ELEMENTS)
    }
}
