//! The values of gang keys, as their systems write them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::keys::Key;
use crate::json::Json;
use crate::policy::gang::membership::{Fault, LONGEST_WAIT_SECONDS, MatchPolicy, Mode, Startup};
use crate::sort::sort;

/// Largest gang that is believed.
pub(super) const MOST_MEMBERS: u32 = 100_000;

/// A number of members.
pub(super) fn count(key: Key, value: &str) -> Result<u32, Fault> {
    crate::text::number(value)
        .and_then(|count| u32::try_from(count).ok())
        .filter(|count| (1..=MOST_MEMBERS).contains(count))
        .ok_or_else(|| Fault::new(key.text(), value, "a whole number from 1 to 100000"))
}

pub(super) fn mode(value: &str) -> Result<Mode, Fault> {
    match value {
        "Strict" => Ok(Mode::Strict),
        "NonStrict" => Ok(Mode::NonStrict),
        _ => Err(Fault::new(Key::KoordinatorMode.text(), value, "Strict or NonStrict")),
    }
}

pub(super) fn startup(value: &str) -> Result<Startup, Fault> {
    match value {
        "Together" => Ok(Startup::Together),
        "LeaderFirst" => Ok(Startup::LeaderFirst),
        _ => Err(Fault::new(Key::GangStartup.text(), value, "Together or LeaderFirst")),
    }
}

pub(super) fn match_policy(key: Key, value: &str) -> Result<MatchPolicy, Fault> {
    match value {
        "only-waiting" => Ok(MatchPolicy::OnlyWaiting),
        "waiting-and-running" => Ok(MatchPolicy::WaitingAndRunning),
        "once-satisfied" => Ok(MatchPolicy::OnceSatisfied),
        _ => Err(Fault::new(key.text(), value, "only-waiting, waiting-and-running or once-satisfied")),
    }
}

/// How long to wait, and what was asked for if that is more than the scheduler allows.
pub(super) fn wait(value: &str) -> Result<(u32, Option<u32>), Fault> {
    let fault = || Fault::new(Key::KoordinatorWait.text(), value, "a positive duration such as 600s, 10m or 1h30m");
    let asked = duration_ms(value).filter(|ms| *ms > 0).ok_or_else(fault)?.div_ceil(1000);
    let asked = u32::try_from(asked).unwrap_or(u32::MAX);
    Ok((asked.min(LONGEST_WAIT_SECONDS), (asked > LONGEST_WAIT_SECONDS).then_some(asked)))
}

/// Go's units of time, in nanoseconds. None begins with one before it.
const UNITS: [(&[u8], u64); 8] = [
    (b"ns", 1),
    (b"us", 1_000),
    ("\u{b5}s".as_bytes(), 1_000),
    ("\u{3bc}s".as_bytes(), 1_000),
    (b"ms", 1_000_000),
    (b"s", 1_000_000_000),
    (b"m", 60_000_000_000),
    (b"h", 3_600_000_000_000),
];

/// A Go duration in milliseconds, rounded down, to six places after the point; `None` for anything else and for negative
/// ones.
fn duration_ms(text: &str) -> Option<u64> {
    let mut rest = text.as_bytes();
    let mut total = 0_u64;
    while !rest.is_empty() {
        let (mut whole, mut fraction, mut parts, mut digits) = (0_u64, 0_u64, 0_u64, false);
        while let [byte, tail @ ..] = rest {
            match byte {
                b'.' if parts == 0 => parts = 1,
                b'0'..=b'9' => {
                    let digit = u64::from(byte.saturating_sub(b'0'));
                    digits = true;
                    if parts == 0 {
                        whole = whole.checked_mul(10)?.checked_add(digit)?;
                    } else if parts < 1_000_000 {
                        (fraction, parts) = (fraction.checked_mul(10)?.checked_add(digit)?, parts.checked_mul(10)?);
                    }
                }
                _ => break,
            }
            rest = tail;
        }
        let (unit, nanoseconds) = UNITS.iter().find(|(unit, _)| digits && rest.starts_with(unit))?;
        rest = rest.get(unit.len()..)?;
        let fraction = fraction.checked_mul(*nanoseconds)?.checked_div(parts.max(1))?;
        total = total.checked_add(whole.checked_mul(*nanoseconds)?)?.checked_add(fraction)?;
    }
    (!text.is_empty()).then_some(total.div_euclid(1_000_000))
}

/// Koordinator's gang groups: a JSON array of `namespace/name`. Sorted, without `gang` itself.
pub(super) fn gang_groups(value: &str, gang: &str) -> Result<Vec<Box<str>>, Fault> {
    let fault = || Fault::new(Key::KoordinatorGroups.text(), value, "a JSON list of at most 32 \"namespace/name\"");
    let Ok(Json::List(list)) = Json::parse(value) else { return Err(fault()) };
    if list.len() > 32 {
        return Err(fault());
    }
    let well_formed =
        |id: &str| crate::text::split(id, b'/').is_some_and(|(ns, name)| !ns.is_empty() && !name.is_empty());
    let mut groups: Vec<Box<str>> = Vec::new();
    for id in &list {
        let id = id.text().filter(|id| well_formed(id)).ok_or_else(fault)?;
        if id != gang && !groups.iter().any(|known| **known == *id) {
            groups.push(id.into());
        }
    }
    sort(&mut groups);
    Ok(groups)
}

/// YuniKorn's task groups: the whole application's minimum.
pub(super) fn task_groups_min(value: &str) -> Result<u32, Fault> {
    let min_member = |group: &Json<'_>| u32::try_from(group.get("minMember")?.integer()?).ok();
    let sum = match Json::parse(value) {
        Ok(Json::List(groups)) => {
            groups.iter().try_fold(0, |sum: u32, group| Some(sum.saturating_add(min_member(group)?)))
        }
        _ => None,
    };
    sum.filter(|min| (1..=MOST_MEMBERS).contains(min)).ok_or_else(|| {
        Fault::new(Key::YunikornTaskGroups.text(), value, "a JSON list of objects with minMember, 1 to 100000 in all")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_gos() {
        let durations = [
            ("600s", Some(600_000)),
            ("1h30m", Some(5_400_000)),
            ("1.5h", Some(5_400_000)),
            (".5s", Some(500)),
            ("1m1ms", Some(60_001)),
            ("900us", Some(0)),
            ("2500µs", Some(2)),
            ("1.0005h1ms", Some(3_601_801)),
            ("0.1234567890s", Some(123)),
            ("0s", Some(0)),
            ("", None),
            ("600", None),
            ("-1s", None),
            ("s", None),
            (".s", None),
            ("1d", None),
            ("1.2.3s", None),
            ("99999999999999999999h", None),
        ];
        for (text, ms) in durations {
            assert_eq!(duration_ms(text), ms, "{text}");
        }
    }

    #[test]
    fn waits_are_cut_to_what_the_scheduler_allows() {
        assert_eq!(wait("600s"), Ok((600, None)));
        assert_eq!(wait("1ms"), Ok((1, None)));
        assert_eq!(wait("2000s"), Ok((900, Some(2000))));
        assert!(wait("0s").is_err());
    }
}
