//! Vectors, and the least of all items, from iterators in few bytes.
//!
//! `collect` reserves what the iterator expects and takes the first item apart from the others, each time anew for every
//! type and chain: two to three hundred bytes a place, twice what pushing one item after another takes. `min_by_key` and
//! its like take the first item apart as well.

use alloc::vec::Vec;

/// What `collect`, `min_by_key` and `max_by_key` do.
pub(crate) trait Gather: Iterator + Sized {
    /// All items.
    fn gather(self) -> Vec<Self::Item> {
        let mut items = Vec::new();
        self.for_each(|item| push(&mut items, item));
        items
    }

    /// The item whose key is least, of several the first.
    fn least<K: Ord>(self, mut key: impl FnMut(&Self::Item) -> K) -> Option<Self::Item> {
        let mut least: Option<(K, Self::Item)> = None;
        self.for_each(|item| {
            let key = key(&item);
            if least.as_ref().is_none_or(|(least, _)| key < *least) {
                least = Some((key, item));
            }
        });
        least.map(|(_, item)| item)
    }

    /// The item whose key is greatest, of several the last.
    fn greatest<K: Ord>(self, mut key: impl FnMut(&Self::Item) -> K) -> Option<Self::Item> {
        let mut greatest: Option<(K, Self::Item)> = None;
        self.for_each(|item| {
            let key = key(&item);
            if greatest.as_ref().is_none_or(|(greatest, _)| key >= *greatest) {
                greatest = Some((key, item));
            }
        });
        greatest.map(|(_, item)| item)
    }

    /// All items, or the first error.
    fn try_gather<T, E>(mut self) -> Result<Vec<T>, E>
    where
        Self: Iterator<Item = Result<T, E>>,
    {
        let mut items = Vec::new();
        self.try_for_each(|item| {
            push(&mut items, item?);
            Ok(())
        })?;
        Ok(items)
    }
}

impl<I: Iterator> Gather for I {}

/// Once for all items of one size.
#[inline(never)]
fn push<T>(items: &mut Vec<T>, item: T) {
    items.push(item);
}
