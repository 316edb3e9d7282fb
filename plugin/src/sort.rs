//! Sorting in few bytes.
//!
//! std's sorts are quicker, and each type that is sorted adds 5 KiB to the module. What is sorted here are short lists,
//! or long ones once in a while.

use alloc::vec::Vec;

/// Sorts so that no item comes `before` the one in front of it. Not stable. Heapsort: never worse than n log n.
pub fn sort_by<T>(items: &mut [T], before: impl FnMut(&T, &T) -> bool) {
    let length = items.len();
    heapsort(&mut Items { items, before }, length);
}

/// Sorts by a key.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |one, other| key(one) < key(other));
}

/// Sorts.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, |one, other| one < other);
}

/// Items of which the greatest is at hand.
pub struct Queue<T>(Vec<T>);

impl<T: Ord> Queue<T> {
    /// A queue of these.
    pub fn new(mut items: Vec<T>) -> Self {
        let length = items.len();
        make_heap(&mut Items { items: &mut items, before: |one: &T, other: &T| one < other }, length);
        Self(items)
    }

    /// The greatest.
    pub fn first(&self) -> Option<&T> {
        self.0.first()
    }

    /// Takes the greatest out, or puts another in its place.
    pub fn replace_first(&mut self, with: Option<T>) {
        match (with, self.0.first_mut()) {
            (Some(with), Some(first)) => *first = with,
            (None, Some(_)) => drop(self.0.swap_remove(0)),
            (_, None) => return,
        }
        let length = self.0.len();
        sift_down(&mut Items { items: &mut self.0, before: |one: &T, other: &T| one < other }, length, 0);
    }
}

/// A list as heapsort sees it, whatever its items are.
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
        match (self.items.get(one), self.items.get(other)) {
            (Some(one), Some(other)) => (self.before)(one, other),
            _ => false,
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.items.swap(one, other);
    }
}

fn heapsort(heap: &mut dyn Heap, length: usize) {
    make_heap(heap, length);
    for last in (0..length).rev() {
        heap.swap(0, last);
        sift_down(heap, last, 0);
    }
}

fn make_heap(heap: &mut dyn Heap, length: usize) {
    for root in (0..length.div_ceil(2)).rev() {
        sift_down(heap, length, root);
    }
}

/// Lets the item at `root` sink until neither item below it comes after it.
fn sift_down(heap: &mut dyn Heap, length: usize, mut root: usize) {
    loop {
        let left = root.saturating_mul(2).saturating_add(1);
        let mut last = root;
        for child in [left, left.saturating_add(1)] {
            if child < length && heap.before(last, child) {
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

    use super::{Queue, sort, sort_by_key};

    proptest! {
        #[test]
        fn the_greatest_comes_first(items: Vec<u8>, others: Vec<u8>) {
            let mut queue = Queue::new(items.clone());
            let mut model = std::collections::BinaryHeap::from(items);
            for with in others.into_iter().map(|item| Some(item).filter(|item| item % 2 == 0)) {
                prop_assert_eq!(queue.first(), model.peek());
                if model.pop().is_some() {
                    model.extend(with);
                }
                queue.replace_first(with);
            }
        }

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
