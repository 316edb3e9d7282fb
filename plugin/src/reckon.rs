//! Saturating arithmetic out of line.
//!
//! WebAssembly has no instruction for it. What stands in for one takes some thirty bytes, and the policies reckon with
//! amounts in more than a hundred places; a call takes five.

/// Sums, differences and products that stop at the largest and the smallest number.
pub(crate) trait Reckon: Sized {
    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The difference.
    fn minus(self, other: Self) -> Self;
    /// The product.
    fn times(self, other: Self) -> Self;
}

impl Reckon for i64 {
    #[inline(never)]
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }

    #[inline(never)]
    fn minus(self, other: Self) -> Self {
        self.saturating_sub(other)
    }

    #[inline(never)]
    fn times(self, other: Self) -> Self {
        self.saturating_mul(other)
    }
}
