//! A map in a sorted vector.
//!
//! The module's maps are small or grow at their end, and `BTreeMap` costs the module eight kilobytes for each pair of
//! types that it maps.

use alloc::vec::Vec;
use core::borrow::Borrow;

use serde::{Serialize, Serializer};

/// Values by key, in the order of the keys. Inserting in the middle moves what is behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortedMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    #[inline(never)]
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0.binary_search_by(|(other, _)| other.borrow().cmp(key))
    }

    /// The value of a key.
    #[must_use]
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().and_then(|at| self.0.get(at)).map(|(_, value)| value)
    }

    /// Whether a key has a value.
    #[must_use]
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().and_then(|at| self.0.get_mut(at)).map(|(_, value)| value)
    }

    /// Gives a key a value; answers the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(at) => self.0.get_mut(at).map(|(_, old)| core::mem::replace(old, value)),
            Err(at) => {
                self.put(at, key, value);
                None
            }
        }
    }

    /// The same for a key that is probably the last: documents are written in order.
    #[inline(never)]
    fn append(&mut self, key: K, value: V) {
        if self.0.last().is_none_or(|(last, _)| *last < key) {
            self.0.push((key, value));
        } else {
            self.insert(key, value);
        }
    }

    #[inline(never)]
    fn put(&mut self, at: usize, key: K, value: V) {
        self.0.insert(at, (key, value));
    }

    /// Changes the value of a key, beginning with the default if it has none.
    pub fn update(&mut self, key: K, change: impl FnOnce(&mut V))
    where
        V: Default,
    {
        let at = self.place(&key).unwrap_or_else(|at| {
            self.put(at, key, V::default());
            at
        });
        if let Some((_, value)) = self.0.get_mut(at) {
            change(value);
        }
    }

    /// Takes a key out; answers its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|at| self.0.remove(at).1)
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Keys and values, by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Keys that are not less than `least`, with their values.
    pub fn iter_from<Q: Ord + ?Sized>(&self, least: &Q) -> impl Iterator<Item = (&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (Ok(at) | Err(at)) = self.place(least);
        self.0.iter().skip(at).map(|(key, value)| (key, value))
    }

    /// Values, by key.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    /// Of several values of a key, the last counts.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Self::default();
        pairs.into_iter().for_each(|(key, value)| map.append(key, value));
        map
    }
}

impl<K: Serialize + Ord, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map(steps in proptest::collection::vec((0..3, 0..8_u8, any::<u8>()), 0..40)) {
            let mut map = SortedMap::default();
            let mut model = BTreeMap::new();
            for (step, key, value) in steps {
                match step {
                    0 => prop_assert_eq!(map.insert(key, value), model.insert(key, value)),
                    1 => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                    _ => {
                        let add = |old: &mut u8| *old = old.wrapping_add(value);
                        map.update(key, add);
                        add(model.entry(key).or_default());
                    }
                }
                prop_assert_eq!(map.get(&key), model.get(&key));
                prop_assert_eq!(map.get_mut(&key), model.get_mut(&key));
                prop_assert_eq!(map.contains_key(&key), model.contains_key(&key));
                prop_assert!(map.iter().eq(model.iter()) && map.values().eq(model.values()));
                prop_assert!(map.iter_from(&key).eq(model.range(key..)));
                prop_assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
            }
        }
    }
}
