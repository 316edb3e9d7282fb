//! When a pod was placed.

use stowage::object::Pod;
use stowage::object::wire::{Repeated, int, text};

/// When the pod's `PodScheduled` condition became true, in milliseconds since 1970: the API server notes it with the
/// binding, so that every replica and every restart of the publisher reads the same. Without it, when it was created.
pub(super) fn placed_ms(pod: &Pod<'_>, bytes: &[u8]) -> i64 {
    scheduled_ms(bytes).or(pod.meta.created.map(|created| created.saturating_mul(1000))).unwrap_or(0)
}

fn scheduled_ms(pod: &[u8]) -> Option<i64> {
    let status = field(pod, 3)?;
    let scheduled = Repeated::of(status, 2).iter().filter_map(Result::ok).find(|condition| {
        let is = |number, expected: &str| field(condition, number).and_then(|it| text(it).ok()) == Some(expected);
        is(1, "PodScheduled") && is(2, "True")
    })?;
    int(field(scheduled, 4)?, 1).ok()??.checked_mul(1000)
}

fn field(message: &[u8], number: u32) -> Option<&[u8]> {
    Repeated::of(message, number).iter().last()?.ok()
}
