//! What a partly used device is still worth.
//!
//! A hole of 300 thousandths is worth nothing where pods take 500, and all of its size where they take 100. So sizes get
//! prices, and a hole is worth the dearest pods that fit into it together. The prices are the dual of the fractional
//! bin-packing problem over the sizes seen: what one more pod of a size costs when all are packed as well as can be.
//! Counting the largest sum of sizes that fits instead needs no prices, but then any rare small size makes every hole
//! whole; on the trace it costs 0.1 to 0.2 points of allocation.

use alloc::vec;
use alloc::vec::Vec;

use super::shape::DEVICE;
use crate::gather::Gather;

/// Sizes are told apart in steps of this many thousandths of a device.
pub(super) const STEP: u32 = 10;
/// Number of steps in a device.
const STEPS: usize = 100;
/// A size counts if at least one in so many shared pods has it: rare ones fill no hole.
const COMMON: u32 = 100;
/// Rounds of multiplicative weights. The last half is averaged; more change nothing.
const ROUNDS: u32 = 256;
/// How far a price moves in a round.
const RATE: f64 = 0.1;
/// Thousandths of its value that a device keeps once it has been opened, however little of it is used.
const OPENED: f64 = 970.0;

/// The value of a hole by its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holes {
    /// In thousandths of a device, by steps of size.
    values: [u16; STEPS + 1],
}

/// Nothing is known of shared pods.
impl Default for Holes {
    fn default() -> Self {
        Self::new(&[])
    }
}

/// A size of shared pods.
struct Size {
    steps: usize,
    /// Share of the pods.
    share: f64,
    price: f64,
    /// Sum of the prices of the rounds that are averaged.
    sum: f64,
}

impl Holes {
    /// Values given the sizes of shared pods in thousandths of a device, each with its number of pods. Without any, a
    /// device in use is worth nothing.
    pub fn new(sizes: &[(u32, u32)]) -> Self {
        let pods = sizes.iter().fold(0_u32, |sum, (_, count)| sum.saturating_add(*count));
        let common = sizes.iter().filter(|(_, count)| *count > 0 && count.saturating_mul(COMMON) >= pods);
        let mut sizes: Vec<Size> = common
            .map(|(milli, count)| Size {
                steps: usize::try_from(milli.div_ceil(STEP)).unwrap_or(STEPS).clamp(1, STEPS),
                share: f64::from(*count) / f64::from(pods),
                price: 1.0,
                sum: 0.0,
            })
            .gather();
        find_prices(&mut sizes);
        let (values, _) = fill(&sizes, |size| size.sum);
        let device = values.last().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE);
        // Casts between numbers saturate.
        let mut values = values.map(|value| (value / device * OPENED) as u16);
        if let Some(whole) = values.last_mut() {
            *whole = DEVICE as u16;
        }
        Self { values }
    }

    /// Value of a hole of `milli` thousandths of a device, in thousandths of a device.
    pub fn value(&self, milli: u32) -> i64 {
        let step = milli.checked_div(STEP).and_then(|step| usize::try_from(step).ok()).unwrap_or(0);
        self.values.get(step.min(STEPS)).map_or(0, |value| i64::from(*value))
    }
}

/// Solves the dual by multiplicative weights: each round fills a device with what is dearest now, and what that packs
/// too much of becomes cheaper.
fn find_prices(sizes: &mut [Size]) {
    for round in 0..ROUNDS {
        let (values, choices) = fill(sizes, |size| size.price);
        let device = values.last().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE);
        let mut packed = vec![0.0; sizes.len()];
        let mut rest = STEPS;
        while let Some(Some(chosen)) = choices.get(rest) {
            if let Some(count) = packed.get_mut(*chosen) {
                *count += 1.0;
            }
            rest = rest.saturating_sub(sizes.get(*chosen).map_or(rest, |size| size.steps));
        }
        let excess = |size: &Size, packed: f64| packed / size.share;
        let most = sizes.iter().zip(&packed).map(|(size, packed)| excess(size, *packed)).fold(0.0, f64::max);
        for (size, packed) in sizes.iter_mut().zip(&packed) {
            if round >= ROUNDS / 2 {
                size.sum += size.price / device;
            }
            size.price *= 1.0 - RATE * excess(size, *packed) / most.max(f64::MIN_POSITIVE);
            // On a scale of a device, so that 256 rounds cannot leave the range of numbers.
            size.price /= device;
        }
    }
}

/// Per room in steps: the value of the dearest sizes that fit into it together, and one of them.
fn fill(sizes: &[Size], price: impl Fn(&Size) -> f64) -> ([f64; STEPS + 1], [Option<usize>; STEPS + 1]) {
    let mut values = [0.0; STEPS + 1];
    let mut choices = [None; STEPS + 1];
    for room in 1..=STEPS {
        let smaller = room.saturating_sub(1);
        let mut best = values.get(smaller).copied().unwrap_or(0.0);
        // Nothing fits exactly: what is best for less room is best.
        let mut choice = choices.get(smaller).copied().flatten();
        for (at, size) in sizes.iter().enumerate() {
            let Some(rest) = room.checked_sub(size.steps).and_then(|rest| values.get(rest)) else { continue };
            if rest + price(size) > best {
                best = rest + price(size);
                choice = Some(at);
            }
        }
        if let (Some(value), Some(chosen)) = (values.get_mut(room), choices.get_mut(room)) {
            (*value, *chosen) = (best, choice);
        }
    }
    (values, choices)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values<const N: usize>(holes: &Holes, sizes: [u32; N]) -> [i64; N] {
        sizes.map(|milli| holes.value(milli))
    }

    #[test]
    fn a_hole_is_worth_what_fits_into_it() {
        // Two of 400 are all that fits into a device, so each hole of 400 is worth half of one.
        let holes = Holes::new(&[(400, 10)]);
        assert_eq!(values(&holes, [0, 390, 400, 790, 800, 990, 1000]), [0, 0, 485, 485, 970, 970, 1000]);
    }

    #[test]
    fn sizes_that_combine_well_are_worth_their_size() {
        let holes = Holes::new(&[(500, 60), (250, 40)]);
        for milli in [250, 500, 750] {
            let value = holes.value(milli);
            assert!((value - i64::from(milli) * 97 / 100).abs() < 20, "{milli}: {value}");
        }
        assert_eq!(holes.value(240), 0);
    }

    #[test]
    fn small_pods_that_fill_what_large_ones_leave_are_cheap() {
        // A device serves one of 700, and 300 are left in each: far more than the few pods of 300 need.
        let holes = Holes::new(&[(700, 90), (300, 10)]);
        assert!(holes.value(300) < 50, "{}", holes.value(300));
        assert!(holes.value(700) > 900, "{}", holes.value(700));
    }

    #[test]
    fn rare_sizes_do_not_count() {
        assert_eq!(Holes::new(&[(500, 999), (10, 1)]).value(490), 0);
    }

    #[test]
    fn without_shared_pods_only_unused_devices_are_worth_anything() {
        assert_eq!(values(&Holes::new(&[]), [0, 500, 990, 1000]), [0, 0, 0, 1000]);
    }
}
