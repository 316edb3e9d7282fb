//! Sorting in few bytes.
//!
//! std's sorts are quicker, and each type that is sorted adds 5 KiB to the module. What is sorted here are short lists,
//! or long ones once in a while.

/// What is sorted, by place: so the sorting itself is there once, whatever the items are.
trait Heap {
    fn before(&mut self, one: usize, other: usize) -> bool;
    fn swap(&mut self, one: usize, other: usize);
}

struct Items<'a, T, F> {
    items: &'a mut [T],
    before: F,
}

impl<T, F: FnMut(&T, &T) -> bool> Heap for Items<'_, T, F> {
    fn before(&mut self, one: usize, other: usize) -> bool {
        let (Some(one), Some(other)) = (self.items.get(one), self.items.get(other)) else { return false };
        (self.before)(one, other)
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.items.swap(one, other);
    }
}

/// Sorts so that no item comes `before` the one in front of it. Not stable. Heapsort: never worse than n log n.
pub fn sort_by<T>(items: &mut [T], before: impl FnMut(&T, &T) -> bool) {
    let len = items.len();
    heapsort(&mut Items { items, before }, len);
}

/// Sorts by a key.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |one, other| key(one) < key(other));
}

/// Sorts.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, |one, other| one < other);
}

/// Lets the item at `root` sink until neither item below it comes after it.
#[inline(never)]
fn heapsort(heap: &mut dyn Heap, len: usize) {
    for root in (0..len.div_ceil(2)).rev() {
        sift_down(heap, root, len);
    }
    for last in (1..len).rev() {
        heap.swap(0, last);
        sift_down(heap, 0, last);
    }
}

/// Lets the item at `root` sink until neither item below it comes after it.
fn sift_down(heap: &mut dyn Heap, mut root: usize, len: usize) {
    loop {
        let left = root.saturating_mul(2).saturating_add(1);
        let mut last = root;
        for child in [left, left.saturating_add(1)] {
            if child < len && heap.before(last, child) {
                last = child;
            }
        }
        if last == root {
            return;
        }
        heap.swap(root, last);
        root = last;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{sort, sort_by_key};

    proptest! {
        #[test]
        fn sorts_as_std_does(mut items: Vec<u8>) {
            let mut expected = items.clone();
            expected.sort_unstable();
            sort(&mut items);
            prop_assert_eq!(&items, &expected);
            sort_by_key(&mut items, |item| core::cmp::Reverse(*item));
            expected.reverse();
            prop_assert_eq!(items, expected);
        }
    }
}
