//! Sorting in few bytes.
//!
//! std's sorts are quicker, and each type that is sorted adds 5 KiB to the module. What is sorted here are short lists,
//! or long ones once in a while.

/// Sorts so that no item comes `before` the one in front of it. Not stable. Heapsort: never worse than n log n.
pub fn sort_by<T>(items: &mut [T], mut before: impl FnMut(&T, &T) -> bool) {
    let before: &mut dyn FnMut(&T, &T) -> bool = &mut before;
    for root in (0..items.len().div_ceil(2)).rev() {
        sift_down(items, root, before);
    }
    let mut heap = items;
    while let Some(last) = heap.len().checked_sub(1) {
        heap.swap(0, last);
        let (rest, _) = heap.split_at_mut(last);
        heap = rest;
        sift_down(heap, 0, before);
    }
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
fn sift_down<T>(heap: &mut [T], mut root: usize, before: &mut dyn FnMut(&T, &T) -> bool) {
    loop {
        let left = root.saturating_mul(2).saturating_add(1);
        let mut last = root;
        for child in [left, left.saturating_add(1)] {
            if let (Some(one), Some(other)) = (heap.get(last), heap.get(child))
                && before(one, other)
            {
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
