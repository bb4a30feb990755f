//! The back yard (001 section 5.4): whole hashes of the few keys that do not fit into the levels.
//!
//! A hash is a word: the low bits of the quotient, the remainder, and the bits after it. Its quotient leads to two buckets
//! of eight words. It goes to the emptier one and stays there. So an operation reads sixteen words, and with two choices no
//! bucket of a half-full yard overflows. All hashes with the same quotient are in the same two buckets. There a new key of
//! the first level finds the hashes that its fingerprint must not be a prefix of.
//!
//! **Overflow.** A hash whose buckets are full goes to an ordered set. So there is always room, and whether a key is refused
//! depends only on the number of keys: a refusal that depended on the hash would be an answer. Keys that are known to collide
//! share a base, and stay in the level while it has room. A filter with two levels has a yard without buckets.

use super::level::{Behind, Hash};
use super::overlay::{ChangedMap, ChangedRow, DraftMap, DraftRow, Drafted, exchange_map, exchange_row};
use super::storage::{Map, Owned, Row, Storage};
use crate::hash::{mix, reduce};
use crate::quotient::numbers::Quotient;
use crate::touched;
use std::collections::BTreeMap;

/// The words of a bucket.
pub(crate) const BUCKET: usize = 8;

/// The widest remainder with which a word still holds 32 bits after it, or nearly.
pub(crate) const WIDEST: u32 = 16;

/// Marks a word that holds a hash.
const TAKEN: u64 = 1 << 63;

/// The quotient's part of a word. The bucket gives nearly all the rest. If two quotients are confused, a key gets some
/// adaptivity bits that it did not need.
const QUOTIENT_BITS: u32 = 16;

/// The number of buckets for a level of `slots` slots, by measurement: signatures collide with probability 2^−bits, and at
/// 95 % load and over phases 0.5 % of the keys find no free slot. Twice as many words as that.
pub(crate) fn buckets(slots: u64, signature: u32) -> u64 {
    let share = (-f64::from(signature)).exp2() + 1.0 / 200.0;
    (slots as f64 * share * 2.0 / BUCKET as f64) as u64 + 4
}

/// A hash that its buckets had no room for: the quotient, and the remainder with the bits after it.
pub(crate) type Overflown = (Quotient, u64);

/// The memory of one entry in the set, including unused space in its node.
const OVERFLOWN_BITS: u64 = 200;

#[derive(Clone, Debug)]
pub(crate) struct BackYard<S: Storage = Owned> {
    buckets: S::Row<[u64; BUCKET]>,
    overflow: S::Map<Overflown, ()>,
    width: u32,
    /// The number of hashes in the buckets.
    used: u64,
}

/// What a draft of a yard has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct YardEdit {
    pub(super) buckets: ChangedRow<[u64; BUCKET]>,
    pub(super) overflow: ChangedMap<Overflown, ()>,
    pub(super) used: u64,
}

impl BackYard {
    /// An empty yard for remainders of this width; `None` if it cannot be allocated.
    pub(crate) fn new(buckets: u64, width: u32) -> Option<BackYard> {
        let size = usize::try_from(buckets).ok()?;
        let mut buckets = Vec::new();
        buckets.try_reserve_exact(size).ok()?;
        buckets.resize(size, [0; BUCKET]);
        Some(BackYard { buckets, overflow: BTreeMap::new(), width, used: 0 })
    }

    /// A saved yard: its words, each a hash or empty, and the overflowed hashes, in order.
    pub(crate) fn from_words(words: &[u64], overflown: &[Overflown], buckets: u64, width: u32) -> Option<BackYard> {
        let (saved, rest) = words.as_chunks::<BUCKET>();
        let whole = saved.len() as u64 == buckets && rest.is_empty();
        let sound = words.iter().all(|word| *word == 0 || word & TAKEN != 0);
        let used = words.iter().filter(|word| **word != 0).count() as u64;
        let overflow = overflown.iter().map(|overflown| (*overflown, ())).collect();
        let ordered = overflown.is_sorted_by(|a, b| a < b);
        (whole && sound && ordered).then(|| BackYard { buckets: saved.to_vec(), overflow, width, used })
    }

    pub(crate) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.buckets.iter().flatten().copied()
    }

    /// The overflowed hashes, in order.
    pub(crate) fn overflown(&self) -> impl Iterator<Item = Overflown> + '_ {
        self.overflow.keys().copied()
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        (self.buckets.capacity() * size_of::<[u64; BUCKET]>()) as u64 * 8 + self.overflow.len() as u64 * OVERFLOWN_BITS
    }

    pub(crate) fn draft(&self) -> BackYard<Drafted<'_>> {
        BackYard {
            buckets: DraftRow::new(&self.buckets),
            overflow: DraftMap::new(&self.overflow),
            width: self.width,
            used: self.used,
        }
    }

    /// Applies a draft's changes. A second call undoes them.
    pub(crate) fn exchange(&mut self, edit: &mut YardEdit) {
        exchange_row(&mut self.buckets, &mut edit.buckets);
        exchange_map(&mut self.overflow, &mut edit.overflow);
        std::mem::swap(&mut self.used, &mut edit.used);
    }

    /// `true` if an edit fits this yard, which belongs to a level of `slots` slots.
    pub(crate) fn accepts(&self, edit: &YardEdit, slots: u64) -> bool {
        let hash_or_nothing = |word: &u64| *word == 0 || word & TAKEN != 0;
        let taken = |bucket: &[u64; BUCKET]| bucket.iter().filter(|word| **word != 0).count() as u64;
        let came: u64 = edit.buckets.values().map(taken).sum();
        let went: u64 = edit.buckets.keys().filter_map(|bucket| self.buckets.get(*bucket)).map(taken).sum();
        (self.used + came).checked_sub(went) == Some(edit.used)
            && edit.buckets.keys().all(|bucket| *bucket < self.buckets.len())
            && edit.buckets.values().flatten().all(hash_or_nothing)
            && edit.overflow.keys().all(|(quotient, _)| quotient.0 < slots)
    }
}

impl BackYard<Drafted<'_>> {
    pub(crate) fn finish(self) -> YardEdit {
        YardEdit { buckets: self.buckets.finish(), overflow: self.overflow.finish(), used: self.used }
    }
}

impl<S: Storage> BackYard<S> {
    /// The number of hashes in the yard.
    pub(crate) fn used(&self) -> u64 {
        self.used + self.overflow.len() as u64
    }

    /// `true` if some hash has overflowed its buckets.
    pub(crate) fn has_overflown(&self) -> bool {
        self.overflow.len() > 0
    }

    /// The common prefix of all words with this quotient and remainder, and its length in bits.
    #[inline]
    fn head(&self, quotient: Quotient, remainder: u32) -> (u64, u32) {
        let low = quotient.0 & ((1 << QUOTIENT_BITS) - 1);
        (low | u64::from(remainder) << QUOTIENT_BITS, QUOTIENT_BITS + self.width)
    }

    fn word(&self, hash: Hash) -> u64 {
        let (head, bits) = self.head(hash.quotient, hash.remainder);
        head | hash.tail << bits | TAKEN
    }

    fn overflown_as(&self, hash: Hash) -> Overflown {
        (hash.quotient, u64::from(hash.remainder) | hash.tail << self.width)
    }

    /// The overflowed hashes of a quotient and remainder, each as the remainder with the bits after it.
    fn overflown_at(&self, quotient: Quotient, remainder: u32) -> impl Iterator<Item = u64> + '_ {
        let of_quotient = self.overflow.among((quotient, 0)..=(quotient, u64::MAX)).map(|(overflown, ())| overflown);
        let alike = (1u64 << self.width) - 1;
        let rests = of_quotient.inspect(|overflown| touched::note_one(*overflown)).map(|(_, rest)| *rest);
        rests.filter(move |rest| rest & alike == u64::from(remainder))
    }

    #[inline]
    fn choices(&self, quotient: Quotient) -> impl Iterator<Item = usize> + use<S> {
        let (mixed, buckets) = (mix(quotient.0), self.buckets.len() as u64);
        let choices = [mixed, mixed.rotate_left(32)].map(|word| reduce(word, buckets) as usize);
        let some = if buckets == 0 { 0 } else { 2 };
        choices.into_iter().take(some)
    }

    /// `true` if the yard holds a hash. The bits after its quotient are computed only if they are needed.
    #[inline]
    pub(crate) fn contains<B: Behind>(&self, quotient: Quotient, behind: impl FnOnce() -> B) -> bool {
        if self.used() == 0 {
            return false;
        }
        let behind = behind();
        let remainder = behind.remainder();
        let (head, bits) = self.head(quotient, remainder);
        let alike = |word: &u64| *word & TAKEN != 0 && (*word ^ head) & ((1 << bits) - 1) == 0;
        let words = || self.choices(quotient).flat_map(|bucket| self.buckets.at(bucket));
        let in_buckets = words().any(alike);
        let in_overflow = self.has_overflown() && self.overflown_at(quotient, remainder).next().is_some();
        if !in_buckets && !in_overflow {
            return false;
        }
        let hash = Hash { quotient, remainder, tail: behind.tail() };
        let whole = self.word(hash);
        in_buckets && words().any(|word| *word == whole) || self.overflow.get(&self.overflown_as(hash)).is_some()
    }

    /// The number of adaptivity bits that distinguish a fingerprint of the first level from every hash here; `None` if no
    /// number does.
    pub(crate) fn apart(&self, hash: Hash) -> Option<u32> {
        let (head, bits) = self.head(hash.quotient, hash.remainder);
        let own = self.word(hash);
        let words = self.choices(hash.quotient).flat_map(|bucket| self.buckets.at(bucket));
        let mut apart = 0;
        for word in words.filter(|word| **word & TAKEN != 0 && (**word ^ head) & ((1 << bits) - 1) == 0) {
            if *word == own {
                return None;
            }
            apart = apart.max((word ^ own).trailing_zeros() - bits + 1);
        }
        let (_, own) = self.overflown_as(hash);
        for rest in self.overflown_at(hash.quotient, hash.remainder) {
            if rest == own {
                return None;
            }
            apart = apart.max((rest ^ own).trailing_zeros() - self.width + 1);
        }
        Some(apart)
    }

    /// Inserts a hash; `false` if it is here already.
    pub(crate) fn insert(&mut self, hash: Hash) -> bool {
        if self.contains(hash.quotient, || hash) {
            return false;
        }
        let free = |bucket: usize| self.buckets.at(bucket).iter().filter(|word| **word == 0).count();
        let emptier = self.choices(hash.quotient).max_by_key(|bucket| free(*bucket));
        let place =
            emptier.and_then(|bucket| Some((bucket, self.buckets.at(bucket).iter().position(|word| *word == 0)?)));
        match place {
            Some((bucket, at)) => {
                self.buckets.at_mut(bucket)[at] = self.word(hash);
                self.used += 1;
            }
            None => self.overflow.insert(self.overflown_as(hash), ()),
        }
        true
    }

    /// Removes a hash; `false` if it is not here.
    pub(crate) fn remove(&mut self, hash: Hash) -> bool {
        if self.overflow.remove(&self.overflown_as(hash)) {
            return true;
        }
        let whole = self.word(hash);
        let at = |bucket: usize| Some((bucket, self.buckets.at(bucket).iter().position(|word| *word == whole)?));
        let Some((bucket, at)) = self.choices(hash.quotient).find_map(at) else { return false };
        self.buckets.at_mut(bucket)[at] = 0;
        self.used = self.used.saturating_sub(1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    fn hash(rng: &mut SplitMix64, slots: u64, width: u32) -> Hash {
        Hash { quotient: Quotient(rng.below(slots)), remainder: rng.below(1 << width) as u32, tail: rng.next() }
    }

    #[test]
    fn a_yard_agrees_with_a_list_of_hashes_and_undoes_a_draft_that_was_applied() {
        for (width, buckets) in [(2, 6), (9, 6), (20, 6), (32, 6), (5, 0), (32, 0)] {
            let mut rng = SplitMix64::from_state(width.into());
            let mut yard = BackYard::new(buckets, width).expect("a small one");
            let mut list: Vec<Hash> = Vec::new();
            let (mut overflown, mut undone) = (0, 0);
            for step in 0..3_000u32 {
                let before = (yard.buckets.clone(), yard.overflow.clone(), list.clone());
                let mut draft = yard.draft();
                for _ in 0..1 + rng.below(4) {
                    if rng.below(100) < 52 {
                        let new = hash(&mut rng, 40, width);
                        assert!(draft.insert(new), "there is always room");
                        list.push(new);
                    } else if !list.is_empty() {
                        let gone = list.swap_remove(rng.below(list.len() as u64) as usize);
                        assert!(draft.remove(gone) && !draft.contains(gone.quotient, || gone));
                    }
                    assert_eq!(draft.used(), list.len() as u64, "step {step}");
                    assert!(list.iter().all(|hash| draft.contains(hash.quotient, || *hash)));
                }
                let mut edit = draft.finish();
                assert!(yard.accepts(&edit, 40));
                yard.exchange(&mut edit);
                overflown = overflown.max(yard.overflow.len());
                if rng.below(4) == 0 {
                    yard.exchange(&mut edit);
                    assert_eq!((&yard.buckets, &yard.overflow), (&before.0, &before.1));
                    list = before.2;
                    undone += 1;
                }
                assert_eq!(yard.used(), list.len() as u64, "step {step}");
                assert!(list.iter().all(|hash| yard.contains(hash.quotient, || *hash)));
                let other = hash(&mut rng, 40, width);
                assert!(!yard.contains(other.quotient, || other), "64 bits differ somewhere");
                let shared = |stored: &Hash| {
                    let alike = (stored.quotient, stored.remainder) == (other.quotient, other.remainder);
                    if alike { (stored.tail ^ other.tail).trailing_zeros() + 1 } else { 0 }
                };
                assert_eq!(yard.apart(other), list.iter().map(shared).max().or(Some(0)), "step {step}");
            }
            assert!(overflown > 20 && undone > 500, "{overflown} overflown, {undone} undone");
        }
    }

    #[test]
    fn a_fingerprint_gets_as_many_bits_as_tell_it_from_the_hashes_here() {
        for buckets in [4, 0] {
            let mut yard = BackYard::new(buckets, 10).expect("a small one");
            let stored = Hash { quotient: Quotient(70_000), remainder: 5, tail: 0b1011_0110 };
            assert!(yard.insert(stored) && !yard.insert(stored), "the same hash does not come in twice");
            assert_eq!(yard.apart(Hash { tail: 0b1011_0111, ..stored }), Some(1));
            assert_eq!(yard.apart(Hash { tail: 0b1011_1110, ..stored }), Some(4));
            assert_eq!(yard.apart(Hash { remainder: 4, ..stored }), Some(0));
            assert_eq!(yard.apart(Hash { quotient: Quotient(70_001), ..stored }), Some(0));
            assert_eq!(yard.apart(stored), None);
        }
    }

    #[test]
    fn words_that_are_no_yard_are_refused() {
        let mut words = vec![0; 4 * BUCKET];
        words[5] = TAKEN | 77;
        words[31] = u64::MAX;
        let overflown = [(3, 9), (3, 11), (70, 2)].map(|(quotient, rest)| (Quotient(quotient), rest));
        let yard = BackYard::from_words(&words, &overflown, 4, 9).expect("each is a hash or nothing");
        assert!(yard.used() == 5 && yard.words().eq(words.iter().copied()) && yard.overflown().eq(overflown));
        assert!(BackYard::from_words(&words, &[], 3, 9).is_none(), "a bucket too many");
        assert!(BackYard::from_words(&words, &[], 5, 9).is_none(), "a bucket too few");
        assert!(BackYard::from_words(&words[..31], &[], 3, 9).is_none(), "three buckets and some words");
        assert!(BackYard::from_words(&words, &[overflown[1]; 2], 4, 9).is_none(), "the same hash twice");
        words[6] = 1;
        assert!(BackYard::from_words(&words, &[], 4, 9).is_none(), "a word that is neither a hash nor nothing");
    }

    #[test]
    fn no_bucket_of_a_yard_that_is_half_full_overflows() {
        let mut rng = SplitMix64::from_state(3);
        let mut yard = BackYard::new(20_000, 12).expect("a small one");
        assert!((0..20_000 * BUCKET / 2).all(|_| yard.insert(hash(&mut rng, 1 << 30, 12))));
        assert!(yard.overflow.is_empty());
    }
}
