//! Usage as crane-scheduler's annotator writes it on nodes: `cpu_usage_avg_5m: "0.65300,2024-05-01T08:30:00Z"`.
//!
//! The time ends in `Z` but is **not** UTC: the annotator formats the local time of its `TZ`, Asia/Shanghai by default.
//! Read as written it would lie eight hours in the future and never grow stale. The offset is therefore part of the
//! policy.

use super::load::Load;
use super::usage::{Measurement, Timestamp};
use crate::policy::portion::portion;

/// Node annotation with the share of cpu in use, mean of five minutes.
pub const CPU: &str = "cpu_usage_avg_5m";
/// Node annotation with the share of memory in use, mean of five minutes.
pub const MEMORY: &str = "mem_usage_avg_5m";

/// How far back the mean reaches, in milliseconds.
pub const MEAN_MS: i64 = 300_000;

/// Millionths of a node's resource.
type Millionths = i64;
const MILLION: i64 = 1_000_000;
/// No node uses this many times what it has; the number keeps every product small.
const MOST: i64 = 100;

/// The measurement in a node's annotations ([`CPU`], [`MEMORY`]).
///
/// `utc_offset` is the annotator's zone, in seconds east of Greenwich. `None` unless both annotations are present and
/// well formed: half a measurement would make the other half look idle. The older time of the two counts.
#[must_use]
pub fn measurement(cpu: &str, memory: &str, allocatable: Load, utc_offset: i32) -> Option<Measurement> {
    let (cpu, cpu_at) = value_and_time(cpu)?;
    let (memory, memory_at) = value_and_time(memory)?;
    let local = cpu_at.min(memory_at);
    Some(Measurement {
        at: local.saturating_sub(i64::from(utc_offset).saturating_mul(1000)),
        load: Load {
            cpu: portion(allocatable.cpu, cpu, MILLION)?,
            memory: portion(allocatable.memory, memory, MILLION)?,
        },
    })
}

/// `0.65300,2006-01-02T15:04:05Z`: the value, and the time in milliseconds since 1970 as if it were UTC.
fn value_and_time(text: &str) -> Option<(Millionths, Timestamp)> {
    let mut rest = text.as_bytes();
    let value = millionths(&mut rest)?;
    let mut next = |most, after| {
        let number = digits(&mut rest, most)?;
        take(&mut rest, after).then_some(number)
    };
    let (year, month, day) = (next(4, b'-')?, next(2, b'-')?, next(2, b'T')?);
    let (hour, minute, second) = (next(2, b':')?, next(2, b':')?, next(2, b'Z')?);
    let in_range = year >= 1970
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61
        && rest.is_empty();
    if !in_range {
        return None;
    }
    // A year has four digits: nothing here comes near the largest number.
    let hours = days_since_1970(year, month, day).wrapping_mul(24).wrapping_add(hour);
    let seconds = hours.wrapping_mul(60).wrapping_add(minute).wrapping_mul(60).wrapping_add(second);
    Some((value, seconds.wrapping_mul(1000)))
}

/// A plain decimal such as `0.65300`, and the comma after it. Digits beyond the sixth place are dropped.
fn millionths(rest: &mut &[u8]) -> Option<Millionths> {
    let whole = digits(rest, 9)?;
    let mut places = 0;
    if take(rest, b'.') {
        let from = *rest;
        digits(rest, 40)?;
        let mut six = [b'0'; 6];
        let written = from.iter().take(from.len().checked_sub(rest.len())?);
        six.iter_mut().zip(written).for_each(|(place, digit)| *place = *digit);
        places = digits(&mut six.as_slice(), 6)?;
    }
    take(rest, b',').then(|| whole.min(MOST).wrapping_mul(MILLION).wrapping_add(places))
}

/// Days between 1970-01-01 and a date of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // A year that starts in March ends with the leap day, so months before a date have fixed lengths: 153 days in 5.
    let (year, month) =
        if month > 2 { (year, month.wrapping_sub(3)) } else { (year.wrapping_sub(1), month.wrapping_add(9)) };
    let leap_days = (year / 4).wrapping_sub(year / 100).wrapping_add(year / 400);
    let in_year = (month.wrapping_mul(153).wrapping_add(2) / 5).wrapping_add(day);
    // 719468 days lie between 0000-03-01 and 1970-01-01.
    year.wrapping_mul(365).wrapping_add(leap_days).wrapping_add(in_year).wrapping_sub(719_469)
}

/// Whether the text goes on with this byte, which is taken.
fn take(rest: &mut &[u8], byte: u8) -> bool {
    let goes_on = rest.first() == Some(&byte);
    if goes_on {
        *rest = rest.get(1..).unwrap_or_default();
    }
    goes_on
}

/// Takes the number that 1 to `most` digits spell; of more than 18 it makes no sense.
fn digits(rest: &mut &[u8], most: usize) -> Option<i64> {
    let mut number = None;
    for _ in 0..most {
        let Some(digit) = rest.first().filter(|byte| byte.is_ascii_digit()) else { break };
        let digit = i64::from(*digit & 15);
        number = Some(number.unwrap_or(0_i64).wrapping_mul(10).wrapping_add(digit));
        *rest = rest.get(1..).unwrap_or_default();
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHANGHAI: i32 = 8 * 3600;
    const NODE: Load = Load { cpu: 96_000, memory: 1 << 40 };

    fn read(cpu: &str, memory: &str) -> Option<Measurement> {
        measurement(cpu, memory, NODE, SHANGHAI)
    }

    #[test]
    fn the_time_is_local_although_it_ends_in_z() {
        // 2024-05-01T08:30:00 in Shanghai is 00:30 UTC.
        let found = read("0.65300,2024-05-01T08:30:00Z", "0.25000,2024-05-01T08:31:00Z").expect("well formed");
        assert_eq!(found.at, 1_714_523_400_000);
        assert_eq!(found.load, Load { cpu: 62_688, memory: 1 << 38 });
        let utc = measurement("0,2024-05-01T08:30:00Z", "0,2024-05-01T08:30:00Z", NODE, 0).expect("well formed");
        assert_eq!(utc.at - found.at, 8 * 3600 * 1000);
    }

    #[test]
    fn dates_are_gregorian() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1999-12-31T23:59:59Z", 946_684_799),
            ("2000-02-29T00:00:00Z", 951_782_400),
            ("2100-03-01T00:00:00Z", 4_107_542_400),
            ("2022-01-01T00:00:01Z", 1_640_995_201),
        ] {
            assert_eq!(value_and_time(&format!("0,{text}")), Some((0, seconds * 1000)), "{text}");
        }
    }

    #[test]
    fn values_are_decimals() {
        for (text, expected) in [
            ("0.65300", Some(653_000)),
            ("1", Some(1_000_000)),
            ("0.00000123", Some(1)),
            ("1.5", Some(1_500_000)),
            ("123456.5", Some(100_500_000)),
            ("", None),
            (".5", None),
            ("5.", None),
            ("-0.5", None),
            ("1e-3", None),
            ("NaN", None),
            ("0.1234567x", None),
        ] {
            let found = value_and_time(&format!("{text},2022-01-01T00:00:01Z")).map(|(value, _)| value);
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn half_a_measurement_is_none() {
        let good = "0.1,2024-05-01T08:30:00Z";
        assert!(read(good, good).is_some());
        for bad in [
            "",
            "0.1",
            "0.1,",
            ",2024-05-01T08:30:00Z",
            "0.1,2024-05-01T08:30:00",
            "0.1,2024-05-01 08:30:00Z",
            "0.1,2024-13-01T08:30:00Z",
            "0.1,2024-05-01T08:30Z",
            "0.1,2024-05-01T08:30:00:00Z",
        ] {
            assert_eq!(read(good, bad), None, "{bad:?}");
            assert_eq!(read(bad, good), None, "{bad:?}");
        }
    }
}
