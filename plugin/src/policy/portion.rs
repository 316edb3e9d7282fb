//! Portions of amounts, exact for every amount.
//!
//! A product of two 64-bit numbers has 128 bits; dividing such numbers in general takes two kilobytes of code.

/// `amount x factor / whole`, rounded down. Saturates; amounts below 0 count as 0. `None` if there is no whole.
#[must_use]
pub fn portion(amount: i64, factor: i64, whole: i64) -> Option<i64> {
    let (amount, factor) = (amount.max(0), factor.max(0));
    if whole <= 0 {
        return None;
    }
    if let Some(product) = amount.checked_mul(factor) {
        return product.checked_div(whole);
    }
    // Long division, digit by binary digit of the factor: what is left over stays below the whole.
    let (amount, factor, whole) = (amount.unsigned_abs(), factor.unsigned_abs(), whole.unsigned_abs());
    let (quotient_of_one, rest_of_one) = (amount.checked_div(whole)?, amount.checked_rem(whole)?);
    let (mut quotient, mut rest) = (0_u64, 0_u64);
    for digit in (0..u64::BITS).rev() {
        let (quotient_more, rest_more) = if factor >> digit & 1 == 1 { (quotient_of_one, rest_of_one) } else { (0, 0) };
        quotient = quotient.saturating_add(quotient).saturating_add(quotient_more);
        for more in [rest, rest_more] {
            rest = rest.saturating_add(more);
            if rest >= whole {
                rest = rest.saturating_sub(whole);
                quotient = quotient.saturating_add(1);
            }
        }
    }
    Some(i64::try_from(quotient).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_with_twice_the_digits(amount in any::<i64>(), factor in any::<i64>(), whole in any::<i64>(), small in 1_i64..300) {
            for (factor, whole) in [(factor, whole), (small, whole), (factor, small), (small, small)] {
                let exact = || i128::from(amount.max(0)) * i128::from(factor.max(0)) / i128::from(whole);
                let expected = (whole > 0).then(|| i64::try_from(exact()).unwrap_or(i64::MAX));
                prop_assert_eq!(portion(amount, factor, whole), expected, "{} x {} / {}", amount, factor, whole);
            }
        }
    }
}
