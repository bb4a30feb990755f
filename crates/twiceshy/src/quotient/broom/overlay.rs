//! A draft's storage: changed parts are copies, and everything else is read from the filter.
//!
//! The copies of a draft are an edit. Applying it swaps each copy with the filter's own part. So the edit then holds the
//! old parts, and swapping again undoes it.

use super::storage::{Map, Row, Storage, Value};
use crate::quotient::block::{BlockBytes, PADDING};
use crate::quotient::numbers::Block;
use crate::touched;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

/// Copies of blocks, by number.
pub(crate) type ChangedBytes = BTreeMap<Block, Vec<u8>>;

/// Copies of a row's values, by index.
pub(crate) type ChangedRow<T> = BTreeMap<usize, T>;

/// The entries of a map that were added or changed, and those that were removed (`None`).
pub(crate) type ChangedMap<K, V> = BTreeMap<K, Option<V>>;

/// The storage of a draft on top of a filter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drafted<'a>(PhantomData<&'a ()>);

impl<'a> Storage for Drafted<'a> {
    type Bytes = DraftBytes<'a>;
    type Row<T: Value + Copy> = DraftRow<'a, T>;
    type Map<K: Value + Copy + Ord, V: Value> = DraftMap<'a, K, V>;
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DraftBytes<'a> {
    own: &'a Vec<u8>,
    changed: ChangedBytes,
}

impl<'a> DraftBytes<'a> {
    pub(crate) fn new(own: &'a Vec<u8>) -> DraftBytes<'a> {
        DraftBytes { own, changed: BTreeMap::new() }
    }

    /// The copies, without the padding after each block.
    pub(crate) fn finish(self, stride: usize) -> ChangedBytes {
        let mut changed = self.changed;
        changed.values_mut().for_each(|copy| copy.truncate(stride));
        changed
    }
}

impl BlockBytes for DraftBytes<'_> {
    #[inline]
    fn part(&self, block: Block, stride: usize, at: usize, len: usize) -> &[u8] {
        match self.changed.get(&block) {
            Some(copy) => &copy[at..at + len],
            None => self.own.part(block, stride, at, len),
        }
    }

    #[inline]
    fn part_mut(&mut self, block: Block, stride: usize, at: usize, len: usize) -> &mut [u8] {
        // A word at the block's end may reach into the padding, so the copy includes it.
        let copied = || self.own.part(block, stride, 0, stride + PADDING).to_vec();
        &mut self.changed.entry(block).or_insert_with(copied)[at..at + len]
    }

    #[inline]
    fn view(&self, block: Block, stride: usize, at: usize, len: usize) -> &[u8] {
        match self.changed.get(&block) {
            Some(copy) => &copy[at..at + len],
            None => self.own.view(block, stride, at, len),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DraftRow<'a, T> {
    own: &'a Vec<T>,
    changed: ChangedRow<T>,
}

impl<'a, T> DraftRow<'a, T> {
    pub(crate) fn new(own: &'a Vec<T>) -> DraftRow<'a, T> {
        DraftRow { own, changed: BTreeMap::new() }
    }

    pub(crate) fn finish(self) -> ChangedRow<T> {
        self.changed
    }
}

impl<T: Copy> Row<T> for DraftRow<'_, T> {
    fn len(&self) -> usize {
        self.own.len()
    }

    #[inline]
    fn at(&self, index: usize) -> &T {
        self.changed.get(&index).unwrap_or_else(|| self.own.at(index))
    }

    #[inline]
    fn at_mut(&mut self, index: usize) -> &mut T {
        self.changed.entry(index).or_insert_with(|| *self.own.at(index))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DraftMap<'a, K, V> {
    own: &'a BTreeMap<K, V>,
    changed: ChangedMap<K, V>,
    len: usize,
}

impl<'a, K, V> DraftMap<'a, K, V> {
    pub(crate) fn new(own: &'a BTreeMap<K, V>) -> DraftMap<'a, K, V> {
        DraftMap { own, changed: BTreeMap::new(), len: own.len() }
    }

    pub(crate) fn finish(self) -> ChangedMap<K, V> {
        self.changed
    }
}

/// An entry of a draft that was not removed.
fn there<'a, K, V>((key, value): (&'a K, &'a Option<V>)) -> Option<(&'a K, &'a V)> {
    Some((key, value.as_ref()?))
}

impl<K: Ord + Copy, V> Map<K, V> for DraftMap<'_, K, V> {
    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, key: &K) -> Option<&V> {
        match self.changed.get(key) {
            Some(changed) => changed.as_ref(),
            None => self.own.get(key),
        }
    }

    fn insert(&mut self, key: K, value: V) {
        self.len += usize::from(self.get(&key).is_none());
        self.changed.insert(key, Some(value));
    }

    fn remove(&mut self, key: &K) -> bool {
        let found = self.get(key).is_some();
        if found {
            self.len -= 1;
            self.changed.insert(*key, None);
        }
        found
    }

    fn among<'a>(&'a self, keys: RangeInclusive<K>) -> impl Iterator<Item = (&'a K, &'a V)>
    where
        K: 'a,
        V: 'a,
    {
        let own = self.own.range(keys.clone()).filter(|(key, _)| !self.changed.contains_key(key));
        own.chain(self.changed.range(keys).filter_map(there))
    }

    fn last_up_to(&self, key: &K) -> Option<(&K, &V)> {
        let own = self.own.range(..=key).rev().find(|(key, _)| !self.changed.contains_key(key));
        let changed = self.changed.range(..=key).rev().find_map(there);
        own.into_iter().chain(changed).max_by_key(|(key, _)| **key)
    }

    fn first_from(&self, key: &K) -> Option<(&K, &V)> {
        let own = self.own.range(key..).find(|(key, _)| !self.changed.contains_key(key));
        let changed = self.changed.range(key..).find_map(there);
        own.into_iter().chain(changed).min_by_key(|(key, _)| **key)
    }
}

/// Swaps copies with the blocks of a filter. Copies of blocks that do not exist are ignored.
pub(crate) fn exchange_bytes(own: &mut [u8], stride: usize, changed: &mut ChangedBytes) {
    for (block, copy) in changed {
        let at = usize::try_from(block.0).ok().and_then(|block| block.checked_mul(stride));
        let Some(bytes) = at.and_then(|at| own.get_mut(at..)?.get_mut(..stride)) else { continue };
        touched::note_slice(bytes);
        bytes.iter_mut().zip(copy).for_each(|(own, copy)| std::mem::swap(own, copy));
    }
}

/// Swaps copies with the values of a row.
pub(crate) fn exchange_row<T>(own: &mut [T], changed: &mut ChangedRow<T>) {
    for (index, copy) in changed {
        if let Some(value) = own.get_mut(*index) {
            touched::note_one(value);
            std::mem::swap(value, copy);
        }
    }
}

/// Swaps entries with those of a map.
pub(crate) fn exchange_map<K: Ord + Copy, V>(own: &mut BTreeMap<K, V>, changed: &mut ChangedMap<K, V>) {
    for (key, value) in changed {
        *value = match value.take() {
            Some(value) => own.insert(*key, value),
            None => own.remove(key),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    #[test]
    fn a_draft_of_a_map_is_a_map_and_exchanging_it_twice_changes_nothing() {
        let mut rng = SplitMix64::from_state(12);
        let mut own: BTreeMap<u64, u64> = BTreeMap::new();
        for _ in 0..300 {
            let before = own.clone();
            let mut expected = own.clone();
            let mut draft = DraftMap::new(&own);
            for _ in 0..rng.below(20) {
                let (key, value) = (rng.below(60), rng.next());
                match rng.below(2) {
                    0 => assert_eq!(draft.remove(&key), expected.remove(&key).is_some()),
                    _ => {
                        draft.insert(key, value);
                        expected.insert(key, value);
                    }
                }
                let (at, to) = (rng.below(60), rng.below(60));
                assert_eq!((draft.get(&at), Map::len(&draft)), (expected.get(&at), expected.len()));
                assert_eq!(draft.last_up_to(&at), expected.last_up_to(&at));
                assert_eq!(draft.first_from(&at), expected.first_from(&at));
                let mut among: Vec<_> = draft.among(at.min(to)..=to).collect();
                among.sort_unstable();
                assert!(among.into_iter().eq(expected.range(at.min(to)..=to)));
            }
            let mut changed = draft.finish();
            exchange_map(&mut own, &mut changed);
            assert_eq!(own, expected);
            if rng.below(3) == 0 {
                exchange_map(&mut own, &mut changed);
                assert_eq!(own, before);
            }
        }
    }

    #[test]
    fn a_copied_block_keeps_its_neighbour_and_blocks_of_no_filter_are_left_out() {
        let mut own: Vec<u8> = (0..3 * 20 + PADDING as u8).collect();
        let before = own.clone();
        let mut draft = DraftBytes::new(&own);
        draft.part_mut(Block(1), 20, 18, 8).copy_from_slice(&[200; 8]);
        assert_eq!(draft.part(Block(1), 20, 18, 8), [200; 8]);
        assert_eq!(draft.view(Block(2), 20, 0, 2), [40, 41], "what follows a block is not the block's");
        let mut changed = draft.finish(20);
        changed.insert(Block(3), vec![7; 20]);
        changed.insert(Block(u64::MAX), vec![7; 20]);
        exchange_bytes(&mut own, 20, &mut changed);
        assert_eq!((&own[..38], &own[38..40], &own[40..]), (&before[..38], &[200, 200][..], &before[40..]));
        exchange_bytes(&mut own, 20, &mut changed);
        assert_eq!(own, before);
    }
}
