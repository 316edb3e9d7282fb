//! Random numbers as Go's `math/rand` draws them, with which the published experiment shuffles pods and nodes.
//!
//! The order of pods and nodes is worth up to two points in a single replay, more than many a fault in a formula. With the
//! same numbers a seed stands for the same orders as there, and what differs is the formula.
//!
//! Numbers follow x(n) = x(n - 607) + x(n - 273) modulo 2^64. A seed does not fill the first 607 by itself: it is mixed with
//! the state of a like generator after 7.8e12 numbers, which Go keeps as a table. Here that state is computed: so far a
//! linear recurrence is advanced by a power of x modulo its polynomial.

use std::sync::LazyLock;

/// How far back the two summands lie.
const LONG: usize = 607;
const SHORT: usize = 273;
/// How many numbers the generator has drawn that all seeds are mixed with.
const SHARED_AT: u64 = 7_800_000_000_000;
/// Modulus and factor of the generator that fills a state.
const MODULUS: u64 = (1 << 31) - 1;
const FACTOR: u64 = 48_271;

/// The state that all seeds are mixed with.
static SHARED: LazyLock<Vec<u64>> = LazyLock::new(shared);

/// Go's generator, seeded.
pub(super) struct GoRand {
    /// The last 607 numbers, the oldest at `oldest`.
    numbers: Vec<u64>,
    oldest: usize,
}

impl GoRand {
    pub(super) fn new(seed: u64) -> Self {
        let numbers = filled(seed, [40, 20]).iter().zip(&*SHARED).map(|(own, shared)| own ^ shared).collect();
        Self { numbers, oldest: 0 }
    }

    /// 63 random bits.
    pub(super) fn int63(&mut self) -> u64 {
        let number = self.numbers[self.oldest].wrapping_add(self.numbers[(self.oldest + LONG - SHORT) % LONG]);
        self.numbers[self.oldest] = number;
        self.oldest = (self.oldest + 1) % LONG;
        number & (u64::MAX >> 1)
    }

    /// A number below `bound`: the remainder of 31 bits, of which those are drawn anew that would favour small numbers.
    pub(super) fn intn(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        let fair = (1 << 31) - (1 << 31) % bound;
        loop {
            let number = self.int63() >> 32;
            if number < fair {
                return (number % bound) as usize;
            }
        }
    }

    /// Shuffles as `rand.Shuffle`, which draws by multiplication (Lemire, "Fast Random Integer Generation in an Interval").
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let bound = last as u64 + 1;
            let unfair = (1 << 32) % bound;
            let product = loop {
                let product = (self.int63() >> 31) * bound;
                if product % (1 << 32) >= unfair {
                    break product;
                }
            };
            items.swap(last, (product >> 32) as usize);
        }
    }

    /// The numbers below `count` in random order, as `rand.Perm`.
    pub(super) fn perm(&mut self, count: usize) -> Vec<usize> {
        let mut numbers = Vec::with_capacity(count);
        for number in 0..count {
            let at = self.intn(number + 1);
            numbers.push(number);
            numbers.swap(at, number);
        }
        numbers
    }
}

/// The place in Go's state of the `nth` number that is drawn, and of all a multiple of 607 away.
fn slot(nth: usize) -> usize {
    (2 * LONG - SHORT - 1 - nth % LONG) % LONG
}

/// The first state of a seed, in the order of drawing: three numbers of the simpler generator to each of the state, shifted.
fn filled(seed: u64, shifts: [u32; 2]) -> Vec<u64> {
    let mut last = match seed % MODULUS {
        0 => 89_482_311,
        seed => seed,
    };
    let mut next = || {
        last = last * FACTOR % MODULUS;
        last
    };
    for _ in 0..20 {
        next();
    }
    let mut slots = vec![0; LONG];
    slots.fill_with(|| next() << shifts[0] ^ next() << shifts[1] ^ next());
    (0..LONG).map(|nth| slots[slot(nth)]).collect()
}

/// The state after [`SHARED_AT`] numbers from seed 1.
fn shared() -> Vec<u64> {
    let mut numbers = filled(1, [20, 10]);
    for nth in LONG..2 * LONG {
        numbers.push(numbers[nth - LONG].wrapping_add(numbers[nth - SHORT]));
    }
    let power = power_of_x(SHARED_AT);
    let mut slots = vec![0; LONG];
    for nth in 0..LONG {
        // A number that far on is the sum of the first ones, weighted as x to that power is of the lower powers.
        let weighted = power.iter().zip(&numbers[nth..]).map(|(weight, number)| weight.wrapping_mul(*number));
        slots[slot((SHARED_AT % LONG as u64) as usize + nth)] = weighted.fold(0, u64::wrapping_add);
    }
    (0..LONG).map(|nth| slots[slot(nth)]).collect()
}

/// x to the power of `exponent`, modulo x^607 - x^334 - 1: the weights of the lower powers, the constant first.
fn power_of_x(exponent: u64) -> Vec<u64> {
    let mut power = vec![0_u64; LONG];
    power[0] = 1;
    for bit in (0..u64::BITS - exponent.leading_zeros()).rev() {
        let times_x = usize::from(exponent >> bit & 1 == 1);
        let mut product = vec![0_u64; 2 * LONG];
        for (at, weight) in power.iter().enumerate() {
            let sums = &mut product[at + times_x..];
            sums.iter_mut().zip(&power).for_each(|(sum, other)| *sum = sum.wrapping_add(weight.wrapping_mul(*other)));
        }
        for high in (LONG..2 * LONG).rev() {
            let weight = product[high];
            product[high - LONG] = product[high - LONG].wrapping_add(weight);
            product[high - SHORT] = product[high - SHORT].wrapping_add(weight);
        }
        product.truncate(LONG);
        power = product;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by a Go program, as are the others.
    #[test]
    fn numbers_are_those_of_go() {
        for (seed, expected) in [
            (0, [8717895732742165505, 2259404117704393152]),
            (1, [5577006791947779410, 8674665223082153551]),
            (42, [3440579354231278675, 608747136543856411]),
        ] {
            let mut rand = GoRand::new(seed);
            assert_eq!([rand.int63(), rand.int63()], expected, "seed {seed}");
        }
    }

    #[test]
    fn bounded_numbers_and_orders_are_those_of_go() {
        let mut rand = GoRand::new(42);
        let _ = [rand.int63(), rand.int63()];
        assert_eq!([10, 16, (1 << 30) + 7].map(|bound| rand.intn(bound)), [8, 14, 94099423]);
        assert_eq!(rand.perm(8), [3, 5, 2, 6, 0, 1, 4, 7]);
        let mut items: Vec<u32> = (0..10).collect();
        rand.shuffle(&mut items);
        assert_eq!(items, [9, 2, 0, 7, 8, 6, 4, 3, 5, 1]);
        // Beyond twice the length of the state.
        for _ in 0..1300 {
            rand.int63();
        }
        assert_eq!(rand.int63(), 1096285928971555468);
    }
}
