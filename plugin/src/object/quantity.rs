//! Kubernetes quantities: `500m`, `1.5Gi`, `2e3`.
//!
//! A quantity is held exactly to the nano, as apimachinery does, because a pod's request is the sum of its containers
//! rounded up *once*: adding amounts that were rounded per container would count `500u` + `500u` of cpu as 2m.
//! Floating point and big integers are not needed: digits are sorted by their power of ten into a whole and a fraction.

use alloc::string::String;

use crate::reckon::Reckon;
use crate::say::Say;

/// An exact amount between `i64::MIN` and `i64::MAX` units, in steps of a billionth; anything beyond saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    /// The greatest integer not above the amount.
    floor: i64,
    /// What the amount has above `floor`, below [`NANOS`].
    nanos: u32,
}

const NANOS: u32 = 1_000_000_000;

/// The text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAQuantity;

impl Say for NotAQuantity {
    fn say(&self, text: &mut String) {
        text.push_str("not a quantity such as 2, 500m, 1.5Gi or 1e3");
    }
}

display!(NotAQuantity);

impl core::error::Error for NotAQuantity {}

/// What the number before it is multiplied with.
enum Suffix {
    /// A power of ten.
    Decimal(i64),
    /// A power of two.
    Binary(u32),
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { floor: 0, nanos: 0 };

    /// `units` whole units.
    #[must_use]
    pub const fn units(units: i64) -> Self {
        Self { floor: units, nanos: 0 }
    }

    /// `milli` thousandths of a unit.
    #[must_use]
    pub const fn milli(milli: i64) -> Self {
        let part = milli.rem_euclid(1000) as u32;
        Self { floor: milli.div_euclid(1000), nanos: part.saturating_mul(1_000_000) }
    }

    /// Reads a quantity by the rules of `resource.ParseQuantity`, but wants at least one digit.
    ///
    /// What is finer than a nano is rounded away from zero.
    pub fn parse(text: &str) -> Result<Self, NotAQuantity> {
        let (negative, number) = match text.as_bytes() {
            [b'-', number @ ..] => (true, number),
            [b'+', number @ ..] | number => (false, number),
        };
        let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (whole, rest) = number.split_at_checked(digits).ok_or(NotAQuantity)?;
        let (decimals, suffix) = match rest {
            [b'.', rest @ ..] => {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                rest.split_at_checked(digits).ok_or(NotAQuantity)?
            }
            _ => (&[][..], rest),
        };
        if whole.is_empty() && decimals.is_empty() {
            return Err(NotAQuantity);
        }
        let magnitude = match Suffix::parse(suffix)? {
            Suffix::Decimal(exponent) => Magnitude::decimal(whole, decimals, exponent),
            Suffix::Binary(exponent) => Magnitude::binary(whole, decimals, exponent),
        };
        Ok(magnitude.signed(negative))
    }

    /// The amount in thousandths, rounded away from zero.
    #[must_use]
    pub fn milli_value(self) -> i64 {
        const MILLI: i64 = 1_000_000;
        let nanos = i64::from(self.nanos);
        // From the integer nearer to zero, so that the product is out of range only if the amount is.
        let (whole, part) = if self.floor < 0 {
            (self.floor.plus(1), nanos.div_euclid(MILLI).minus(1000))
        } else {
            (self.floor, nanos.plus(MILLI - 1).div_euclid(MILLI))
        };
        whole.checked_mul(1000).map_or(saturated(whole), |milli| milli.plus(part))
    }

    /// The amount in whole units, rounded away from zero.
    #[must_use]
    pub fn value(self) -> i64 {
        self.floor.plus(i64::from(self.floor >= 0 && self.nanos > 0))
    }

    /// More than nothing.
    #[must_use]
    pub const fn is_positive(self) -> bool {
        self.floor > 0 || (self.floor == 0 && self.nanos > 0)
    }

    /// The sum, within the range of a quantity.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        let nanos = self.nanos.saturating_add(other.nanos);
        let (carry, nanos) = match nanos.checked_sub(NANOS) {
            Some(nanos) => (1, nanos),
            None => (0, nanos),
        };
        match self.floor.checked_add(other.floor).and_then(|floor| floor.checked_add(carry)) {
            Some(floor) => Self { floor, nanos },
            None => Self::units(saturated(self.floor)),
        }
    }
}

const fn saturated(sign: i64) -> i64 {
    if sign < 0 { i64::MIN } else { i64::MAX }
}

/// A number without its sign: `units` (saturated) and the billionths beyond them.
#[derive(Default)]
struct Magnitude {
    units: u64,
    nanos: u64,
}

impl Magnitude {
    /// `whole.decimals` times ten to the `exponent`: each digit goes where its power of ten belongs.
    fn decimal(whole: &[u8], decimals: &[u8], exponent: i64) -> Self {
        let mut number = Self::default();
        let mut below_nano = false;
        // The power of the digit at hand.
        let mut power = exponent.plus(length(whole)).minus(1);
        for digit in whole.iter().chain(decimals).map(|byte| u64::from(byte.saturating_sub(b'0'))) {
            match power {
                0.. => number.units = number.units.saturating_mul(10).saturating_add(digit),
                -9..0 => number.nanos = number.nanos.saturating_mul(10).saturating_add(digit),
                _ => below_nano |= digit > 0,
            }
            power = power.minus(1);
        }
        while power >= 0 && !matches!(number.units, 0 | u64::MAX) {
            number.units = number.units.saturating_mul(10);
            power = power.minus(1);
        }
        for _ in -9..power.min(-1).saturating_add(1) {
            number.nanos = number.nanos.saturating_mul(10);
        }
        number.nanos = number.nanos.saturating_add(u64::from(below_nano));
        number
    }

    /// `whole.decimals` times two to the `exponent`. Decimals beyond the 27th are rounded up.
    fn binary(whole: &[u8], decimals: &[u8], exponent: u32) -> Self {
        /// 1e18: what one nano has in the unit of `rest`.
        const REST: u64 = 1_000_000_000_000_000_000;
        let (nanos, beyond) = decimals.split_at(decimals.len().min(9));
        let mut number = Self::decimal(whole, nanos, 0);
        if decimals.is_empty() {
            number.units = number.units.saturating_mul(1_u64.wrapping_shl(exponent));
            return number;
        }
        // The next 18 decimals as a whole number; more of them count as one more.
        let beyond = Self::decimal(&[], beyond, 18);
        let mut rest = beyond.units.saturating_add(u64::from(beyond.nanos > 0));
        for _ in 0..exponent {
            let carry = double(&mut rest, REST, 0);
            let carry = double(&mut number.nanos, u64::from(NANOS), carry);
            number.units = number.units.saturating_mul(2).saturating_add(carry);
        }
        number.nanos = number.nanos.saturating_add(u64::from(rest > 0));
        number
    }

    fn signed(self, negative: bool) -> Quantity {
        let (carry, nanos) = match self.nanos.checked_sub(u64::from(NANOS)) {
            Some(nanos) => (1, nanos),
            None => (0, self.nanos),
        };
        let Ok(units) = i64::try_from(self.units.saturating_add(carry)) else {
            return Quantity::units(saturated(if negative { -1 } else { 1 }));
        };
        let nanos = u32::try_from(nanos).unwrap_or(0);
        if !negative {
            Quantity { floor: units, nanos }
        } else if nanos == 0 {
            Quantity { floor: units.saturating_neg(), nanos }
        } else {
            Quantity { floor: units.saturating_neg().minus(1), nanos: NANOS.saturating_sub(nanos) }
        }
    }
}

/// Doubles the digit `value` of a number written to the base `base`, adds `carry` and gives the carry to the next digit.
fn double(value: &mut u64, base: u64, carry: u64) -> u64 {
    let doubled = value.saturating_mul(2).saturating_add(carry);
    let next = u64::from(doubled >= base);
    *value = if doubled >= base { doubled.saturating_sub(base) } else { doubled };
    next
}

fn length(digits: &[u8]) -> i64 {
    i64::try_from(digits.len()).unwrap_or(i64::MAX)
}

impl Suffix {
    fn parse(suffix: &[u8]) -> Result<Self, NotAQuantity> {
        Ok(match suffix {
            b"" => Self::Decimal(0),
            b"n" => Self::Decimal(-9),
            b"u" => Self::Decimal(-6),
            b"m" => Self::Decimal(-3),
            b"k" => Self::Decimal(3),
            b"M" => Self::Decimal(6),
            b"G" => Self::Decimal(9),
            b"T" => Self::Decimal(12),
            b"P" => Self::Decimal(15),
            b"E" => Self::Decimal(18),
            b"Ki" => Self::Binary(10),
            b"Mi" => Self::Binary(20),
            b"Gi" => Self::Binary(30),
            b"Ti" => Self::Binary(40),
            b"Pi" => Self::Binary(50),
            b"Ei" => Self::Binary(60),
            [b'e' | b'E', exponent @ ..] => Self::Decimal(exponent_of(exponent)?),
            _ => return Err(NotAQuantity),
        })
    }
}

/// The signed whole number behind an `e`.
fn exponent_of(text: &[u8]) -> Result<i64, NotAQuantity> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if digits.is_empty() {
        return Err(NotAQuantity);
    }
    let mut exponent: i64 = 0;
    for byte in digits {
        if !byte.is_ascii_digit() {
            return Err(NotAQuantity);
        }
        exponent = exponent.times(10).plus(i64::from(byte.saturating_sub(b'0')));
    }
    Ok(if negative { exponent.saturating_neg() } else { exponent })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> i64 {
        Quantity::parse(text).unwrap().value()
    }

    fn milli(text: &str) -> i64 {
        Quantity::parse(text).unwrap().milli_value()
    }

    #[test]
    fn every_suffix() {
        let suffixes = [
            ("k", 1_000),
            ("M", 1_000_000),
            ("G", 1_000_000_000),
            ("T", 1_000_000_000_000),
            ("P", 1_000_000_000_000_000),
            ("E", 1_000_000_000_000_000_000),
            ("Ki", 1 << 10),
            ("Mi", 1 << 20),
            ("Gi", 1 << 30),
            ("Ti", 1 << 40),
            ("Pi", 1 << 50),
            ("Ei", 1 << 60),
            ("e2", 100),
            ("E+3", 1_000),
            ("", 1),
        ];
        for (suffix, factor) in suffixes {
            assert_eq!(value(&format!("3{suffix}")), 3 * factor, "{suffix}");
            assert_eq!(value(&format!("-3{suffix}")), -3 * factor, "{suffix}");
            assert_eq!(value(&format!("+0.5{suffix}")), (factor + 1) / 2, "{suffix}");
        }
        assert_eq!((milli("3m"), milli("3000u"), milli("3000000n"), milli("3e-3")), (3, 3, 3, 3));
    }

    #[test]
    fn rounds_away_from_zero() {
        assert_eq!((milli("1500m"), value("1500m"), value("-1500m")), (1500, 2, -2));
        assert_eq!((milli("1u"), value("1n"), milli("-1u"), value("-1n")), (1, 1, -1, -1));
        assert_eq!((value("0.3Gi"), milli("0.1")), (322_122_548, 100));
        // Finer than a nano is a nano.
        assert_eq!(Quantity::parse("0.1n"), Quantity::parse("1n"));
        assert_eq!(Quantity::parse("1e-100000000000000000000"), Quantity::parse("1n"));
        assert_eq!(Quantity::parse("0e-100000000000000000000"), Ok(Quantity::ZERO));
        // 2^60 / 10^27, to the last decimal that counts and one beyond.
        assert_eq!(Quantity::parse("0.000000000000000000000000001Ei"), Quantity::parse("2n"));
        assert_eq!(Quantity::parse("0.0000000000000000000000000001Ei"), Quantity::parse("2n"));
    }

    #[test]
    fn saturates() {
        for huge in
            ["9223372036854775808", "8Ei", "100E", "1e30", "99999999999999999999999999", "1e99999999999999999999"]
        {
            assert_eq!((value(huge), milli(huge)), (i64::MAX, i64::MAX), "{huge}");
            let negative = format!("-{huge}");
            assert_eq!((value(&negative), milli(&negative)), (i64::MIN, i64::MIN), "{negative}");
        }
        assert_eq!((value("9223372036854775807"), milli("9223372036854775807")), (i64::MAX, i64::MAX));
        assert_eq!(milli("9223372036854775.8070001"), i64::MAX);
        assert_eq!(milli("-9223372036854775.808"), i64::MIN);
        let most = Quantity::units(i64::MAX);
        assert_eq!(most.saturating_add(Quantity::milli(1500)), most);
    }

    #[test]
    fn refuses_what_is_no_quantity() {
        for text in [
            "", "+", "-", ".", "m", "1x", "1 ", " 1", "1.1.M", "1+1.0M", "0.1mi", "0.1am", "aoeu", ".5i", "1i",
            "-3.01i", "1e", "1e+", "-3.01e-", "1Kii", "1ki", "1K", "1mm", "1e5m", "0x10", "١", "1_000", "--1", "1E5.0",
        ] {
            assert_eq!(Quantity::parse(text), Err(NotAQuantity), "{text}");
        }
        for (text, expected) in [("1.", 1), (".5", 1), ("0000000000000000000000000000001", 1), ("1.G", 1_000_000_000)] {
            assert_eq!(value(text), expected, "{text}");
        }
    }
}
