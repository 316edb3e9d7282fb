//! How slots begin and end.

use alloc::vec::Vec;

use super::gang::{Member, Place, Progress};
use super::held::Slot;
use super::{Book, Facts};
use crate::gather::Gather;
use crate::policy::gang::planner::NodeRow;
use crate::reckon::Reckon;

/// Cycles after which slots end, should there be no clock.
const SLOT_CYCLES: u64 = 50_000;
/// How often slots may turn the same pod away before they end, as long as the clock stands still: events that wake that
/// pod wake the members that the slots are for.
const TURNED_AWAY: u32 = 5;
/// The same while a member waits after a failed bind, which no event shortens.
const TURNED_AWAY_AFTER_FAILURE: u32 = 20;

impl Book {
    /// Ends all slots of a gang; while none of its group runs, those of the whole group, which would start in part otherwise.
    pub(super) fn drop_slots(&mut self, at: usize, facts: &impl Facts) {
        let under_way = self.gang(at).is_some_and(|gang| self.is_under_way(gang, facts).0);
        for other in self.unit(at) {
            if other == at || !under_way {
                self.end_slots(other, &|_| true);
            }
        }
    }

    /// Ends slots of a gang on some nodes.
    #[inline(never)]
    pub(super) fn end_slots(&mut self, at: usize, ends: &dyn Fn(NodeRow) -> bool) {
        let Some(gang) = self.gang(at) else { return };
        let ends = |member: &&Member| matches!(member.place, Place::Slot(node) if ends(node));
        let members: Vec<u64> = gang.members.iter().filter(ends).map(|member| member.name).gather();
        for name in members {
            self.put(at, name, Place::Nowhere);
        }
    }

    /// Moves a member, and keeps the slots in step.
    pub(super) fn put(&mut self, at: usize, name: u64, place: Place) {
        let Some(member) = self.gang_mut(at).and_then(|gang| gang.find_mut(name)) else { return };
        let (before, kind) = (core::mem::replace(&mut member.place, place), member.kind);
        member.directed = false;
        if let Place::Slot(node) = before {
            self.held.remove(node, Slot { gang: at, kind });
        }
        if let Place::Slot(node) = place {
            self.held.add(node, Slot { gang: at, kind });
        }
    }

    /// Something happened in the gang: its slots live on.
    pub(super) fn note_progress(&mut self, at: usize) {
        let progress = Progress { cycle: self.now, clock_ms: self.clock_ms, ..Progress::default() };
        if let Some(gang) = self.gang_mut(at) {
            gang.progress = progress;
        }
    }

    /// Ends slots of gangs in which nothing happens any more.
    pub(super) fn expire(&mut self, uid: u64, facts: &impl Facts) {
        let (now, clock_ms) = (self.now, self.clock_ms);
        for at in self.held.holders() {
            let Some(gang) = self.gang_mut(at) else { continue };
            let wait_ms = i64::from(gang.said.wait_seconds).saturating_mul(1000);
            let progress = &mut gang.progress;
            if clock_ms != progress.clock_ms {
                progress.running_since_ms.get_or_insert(clock_ms);
                progress.clock_ms = clock_ms;
                progress.turned_away.clear();
            }
            let by_clock = progress.running_since_ms.is_some_and(|since| clock_ms.minus(since) >= wait_ms);
            let by_cycles = now.saturating_sub(progress.cycle) >= SLOT_CYCLES;
            let most =
                if gang.members.iter().any(|member| member.failed) { TURNED_AWAY_AFTER_FAILURE } else { TURNED_AWAY };
            let in_the_way = progress.turned_away.iter().any(|(pod, times, _)| *pod == uid && *times >= most);
            if by_clock || by_cycles || in_the_way {
                self.drop_slots(at, facts);
            }
        }
    }
}
