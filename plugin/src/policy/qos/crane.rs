//! Usage as crane-scheduler's annotator writes it on nodes: `cpu_usage_avg_5m: "0.65300,2024-05-01T08:30:00Z"`.
//!
//! The time ends in `Z` but is **not** UTC: the annotator formats the local time of its `TZ`, Asia/Shanghai by default.
//! Read as written it would lie eight hours in the future and never grow stale. The offset is therefore part of the
//! policy.

use super::load::Load;
use super::usage::{Measurement, Timestamp};

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
        load: Load { cpu: share(allocatable.cpu, cpu), memory: share(allocatable.memory, memory) },
    })
}

fn share(total: i64, part: Millionths) -> i64 {
    let product = i128::from(total).saturating_mul(i128::from(part));
    i64::try_from(product.checked_div(i128::from(MILLION)).unwrap_or(0)).unwrap_or(i64::MAX)
}

fn value_and_time(text: &str) -> Option<(Millionths, Timestamp)> {
    let (value, time) = text.split_once(',')?;
    Some((millionths(value.trim())?, local_time(time.trim())?))
}

/// A plain decimal such as `0.65300`. Digits beyond the sixth place are dropped.
fn millionths(text: &str) -> Option<Millionths> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let whole = digits(whole, 9)?;
    let places = fraction.get(..6).unwrap_or(fraction);
    digits(fraction, 40)?;
    let missing = 6_u32.saturating_sub(u32::try_from(places.len()).ok()?);
    let fraction = digits(places, 6)?.checked_mul(10_i64.checked_pow(missing)?)?;
    Some(whole.min(MOST).saturating_mul(MILLION).saturating_add(fraction))
}

/// `2006-01-02T15:04:05Z`, in milliseconds since 1970 as if it were UTC.
fn local_time(text: &str) -> Option<Timestamp> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (year, month, day) = three(date, '-')?;
    let (hour, minute, second) = three(time, ':')?;
    let in_range = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61;
    if !in_range {
        return None;
    }
    let hours = days_since_1970(year, month, day)?.checked_mul(24)?.checked_add(hour)?;
    let seconds = hours.checked_mul(60)?.checked_add(minute)?.checked_mul(60)?.checked_add(second)?;
    seconds.checked_mul(1000)
}

/// Days between 1970-01-01 and a date of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    // A year that starts in March ends with the leap day, so months before a date have fixed lengths: 153 days in 5.
    let (year, month) =
        if month > 2 { (year, month.checked_sub(3)?) } else { (year.checked_sub(1)?, month.checked_add(9)?) };
    let leap_days = year.checked_div(4)?.checked_sub(year.checked_div(100)?)?.checked_add(year.checked_div(400)?)?;
    let in_year = month.checked_mul(153)?.checked_add(2)?.checked_div(5)?.checked_add(day.checked_sub(1)?)?;
    // 719468 days lie between 0000-03-01 and 1970-01-01.
    year.checked_mul(365)?.checked_add(leap_days)?.checked_add(in_year)?.checked_sub(719_468)
}

fn three(text: &str, separator: char) -> Option<(i64, i64, i64)> {
    let mut parts = text.split(separator).map(|part| digits(part, 4));
    let found = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(found)
}

/// The number that 1 to `most` digits spell; longer runs are checked and clipped to what fits.
fn digits(text: &str, most: usize) -> Option<i64> {
    if text.is_empty() || text.len() > most || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.bytes().fold(0_i64, |number, digit| {
        number.saturating_mul(10).saturating_add(i64::from(digit).saturating_sub(i64::from(b'0')))
    }))
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
            assert_eq!(local_time(text), Some(seconds * 1000), "{text}");
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
            assert_eq!(millionths(text), expected, "{text:?}");
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
