//! Where the parts of L are: in the filter's own memory, or in a draft over it.
//!
//! A look-up reads the filter's own parts, and an operation is planned on a draft: see [`overlay`](super::overlay). What both do is
//! written once, over a [`Storage`]. The compiler makes two versions of it, so a look-up never asks which of the two it has.

use crate::quotient::block::BlockBytes;
use crate::touched;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::RangeInclusive;

/// The kinds of parts that L is made of.
pub(crate) trait Storage: Clone + Debug + PartialEq {
    type Bytes: BlockBytes + Clone + Debug + PartialEq;
    type Row<T: Value + Copy>: Row<T> + Clone + Debug + PartialEq;
    type Map<K: Value + Copy + Ord, V: Value>: Map<K, V> + Clone + Debug + PartialEq;
}

/// What rows and maps hold.
pub(crate) trait Value: Clone + Debug + PartialEq + 'static {}

impl<T: Clone + Debug + PartialEq + 'static> Value for T {}

/// A fixed number of values.
pub(crate) trait Row<T> {
    fn len(&self) -> usize;

    fn at(&self, index: usize) -> &T;

    fn at_mut(&mut self, index: usize) -> &mut T;
}

/// Values in the order of their keys.
pub(crate) trait Map<K, V> {
    fn len(&self) -> usize;

    fn get(&self, key: &K) -> Option<&V>;

    fn insert(&mut self, key: K, value: V);

    /// `false` where there is no such key.
    fn remove(&mut self, key: &K) -> bool;

    /// The entries of a range, in any order.
    fn among<'a>(&'a self, keys: RangeInclusive<K>) -> impl Iterator<Item = (&'a K, &'a V)>
    where
        K: 'a,
        V: 'a;

    /// The last entry up to a key.
    fn last_up_to(&self, key: &K) -> Option<(&K, &V)>;

    /// The first entry from a key on.
    fn first_from(&self, key: &K) -> Option<(&K, &V)>;
}

/// The filter's own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owned;

impl Storage for Owned {
    type Bytes = Vec<u8>;
    type Row<T: Value + Copy> = Vec<T>;
    type Map<K: Value + Copy + Ord, V: Value> = BTreeMap<K, V>;
}

impl<T> Row<T> for Vec<T> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn at(&self, index: usize) -> &T {
        let value = &self[index];
        touched::note_one(value);
        value
    }

    #[inline(always)]
    fn at_mut(&mut self, index: usize) -> &mut T {
        let value = &mut self[index];
        touched::note_one(value);
        value
    }
}

impl<K: Ord, V> Map<K, V> for BTreeMap<K, V> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn get(&self, key: &K) -> Option<&V> {
        self.get(key)
    }

    fn insert(&mut self, key: K, value: V) {
        self.insert(key, value);
    }

    fn remove(&mut self, key: &K) -> bool {
        self.remove(key).is_some()
    }

    fn among<'a>(&'a self, keys: RangeInclusive<K>) -> impl Iterator<Item = (&'a K, &'a V)>
    where
        K: 'a,
        V: 'a,
    {
        self.range(keys)
    }

    fn last_up_to(&self, key: &K) -> Option<(&K, &V)> {
        self.range(..=key).next_back()
    }

    fn first_from(&self, key: &K) -> Option<(&K, &V)> {
        self.range(key..).next()
    }
}
