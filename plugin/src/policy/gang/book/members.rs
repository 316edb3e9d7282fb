//! Who is in which gang: members come, and are forgotten when they run or are gone.

use super::gang::{Gang, Kind, Member, Place, Turn};
use super::words::Words;
use super::{Book, Facts, Pod, hash};
use crate::gather::Gather;
use crate::policy::gang::membership::Membership;
use crate::text::cut;

/// Most gangs that are remembered; with more, those that nothing was heard of for longest are forgotten until they come
/// again.
const MAX_GANGS: usize = 10_000;
/// Most members that are remembered, over all gangs; some 10 MiB.
const MAX_MEMBERS: usize = 120_000;
/// Most letters of a member's name that reasons tell.
const LONGEST_EXAMPLE: usize = 63;

impl Book {
    /// Notes that the member has come, and answers its gang.
    pub(super) fn see(&mut self, pod: &Pod<'_>, facts: &impl Facts) -> usize {
        let name = hash(pod.name);
        let (now, passed_ms, options) = (self.now, self.passed_ms, self.options);
        let known = self.by_key.get(&pod.membership.gang).copied();
        let at = known.filter(|at| self.goes_on(*at, name, facts)).unwrap_or_else(|| self.add_gang(pod.membership));
        let Some(gang) = self.gang_mut(at) else { return at };
        let said = pod.membership;
        let words = gang.words(Words {
            mode: said.mode,
            match_policy: said.match_policy.unwrap_or(options.match_policy),
            startup: said.startup,
            together_with: said.together_with.clone(),
            wait_seconds: said.wait_seconds.unwrap_or(options.slot_seconds),
            priority: pod.priority,
        });
        let example = (name, cut(pod.name, LONGEST_EXAMPLE).into());
        let kind = Kind { request: pod.request.clone(), rules: pod.rules, per_node: pod.per_node, example };
        let kind = gang.kind(kind);
        gang.last_cycle = now;
        gang.excused = 0;
        gang.created = pod.created.min(gang.created);
        if gang.turn == Turn::Begun {
            gang.turn = Turn::Missed;
        }
        // Another pod of that name, or the same pod changed: what was decided for it is void.
        let same =
            |member: &Member| member.uid == pod.uid && member.kind == kind && !matches!(member.place, Place::Placed(_));
        let mut news = !gang.find(name).is_some_and(same);
        if news {
            self.put(at, name, Place::Nowhere);
        }
        let Some(gang) = self.gang_mut(at) else { return at };
        let new = gang.find(name).is_none();
        if new {
            let place = gang.members.partition_point(|other| other.name < name);
            gang.members.insert(place, Member::new(name, now));
        }
        let round = gang.round;
        if let Some(member) = gang.find_mut(name) {
            let min = pod.membership.min.unwrap_or(0);
            news |= member.min != min;
            (member.uid, member.kind, member.words, member.min) = (pod.uid, kind, words, min);
            member.failed = false;
            (member.round, member.seen, member.last) = (round, passed_ms.div_euclid(1000), now);
        }
        gang.add_up();
        if news {
            gang.composition = gang.composition.saturating_add(1);
            gang.turn = Turn::Open;
        }
        self.members = self.members.saturating_add(new.into());
        self.make_room(at);
        at
    }

    /// The member with this name comes to a gang. If none of those that were there waits any more, it is another gang, and
    /// the old one is forgotten.
    fn goes_on(&mut self, at: usize, name: u64, facts: &impl Facts) -> bool {
        if let Some(gang) = self.gang_mut(at)
            && gang.find(name).is_some_and(|member| member.round == gang.round)
        {
            gang.round = gang.round.saturating_add(1);
        }
        self.settle_unit(at, Some(name), facts);
        !self.forget_empty(at)
    }

    /// Forgets a gang that nobody waits for; answers whether it was one.
    fn forget_empty(&mut self, at: usize) -> bool {
        let empty = self.gang(at).is_none_or(|gang| gang.members.is_empty());
        if empty {
            self.forget(at);
        }
        empty
    }

    fn add_gang(&mut self, membership: &Membership) -> usize {
        let key = membership.gang.clone();
        let gang = Gang::new(key.clone(), self.now);
        let at = match self.gangs.iter().position(Option::is_none) {
            Some(free) if self.gangs.len() > self.by_key.len() => free,
            _ => {
                self.gangs.push(None);
                self.gangs.len().saturating_sub(1)
            }
        };
        if let Some(place) = self.gangs.get_mut(at) {
            *place = Some(gang);
        }
        self.by_key.insert(key, at);
        at
    }

    /// Forgets gangs beyond the bounds, those that were heard of least recently first.
    fn make_room(&mut self, except: usize) {
        while self.by_key.len() > MAX_GANGS || self.members > MAX_MEMBERS {
            let others = self.by_key.values().copied().filter(|at| *at != except);
            let idle = others.filter(|at| self.gang(*at).is_some_and(|gang| !gang.holds_slots()));
            let Some(oldest) = idle.least(|at| self.gang(*at).map_or(0, |gang| gang.last_cycle)) else { return };
            self.forget(oldest);
        }
    }

    fn forget(&mut self, at: usize) {
        if let Some(gang) = self.gangs.get_mut(at).and_then(Option::take) {
            self.by_key.remove(&gang.key);
            self.members = self.members.saturating_sub(gang.members.len());
        }
    }

    /// Looks at one gang after another, one in each cycle: those that run, or are gone, are forgotten.
    pub(super) fn sweep(&mut self, facts: &impl Facts) {
        self.swept = self.swept.checked_add(1).filter(|at| *at < self.gangs.len()).unwrap_or(0);
        let at = self.swept;
        self.settle(at, None, facts);
        self.forget_empty(at);
    }

    /// Takes out the members of a gang, and of those that start together with it, that wait no more, but for one; and ends
    /// slots on nodes that are gone.
    pub(super) fn settle_unit(&mut self, at: usize, except: Option<u64>, facts: &impl Facts) {
        for gang in self.unit(at) {
            self.settle(gang, except.filter(|_| gang == at), facts);
        }
    }

    #[inline(never)]
    pub(super) fn settle(&mut self, at: usize, except: Option<u64>, facts: &impl Facts) {
        let Some(gang) = self.gang(at) else { return };
        let passed = Some(self.passed_ms.div_euclid(1000)).filter(|_| self.clock_ms > 0);
        let settled = gang.settled(facts, passed, except);
        self.end_slots(at, &|node| !facts.exists(node));
        for name in &settled {
            self.put(at, *name, Place::Nowhere);
        }
        if settled.is_empty() {
            return;
        }
        self.members = self.members.saturating_sub(settled.len());
        if let Some(gang) = self.gang_mut(at) {
            gang.members.retain(|member| settled.binary_search(&member.name).is_err());
            gang.add_up();
            gang.composition = gang.composition.saturating_add(1);
            gang.turn = Turn::Open;
        }
    }
}
