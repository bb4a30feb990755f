//! The back yard (001 section 5.4): whole hashes of the few keys that the first level has no place for.
//!
//! A hash is a word: the low bits of the quotient, the remainder, and what comes behind it. Its quotient leads to two buckets
//! of eight words, and it goes to the emptier one and stays there; so an operation reads sixteen words, and with two choices
//! no bucket of a yard that is half full overflows. Those with the same quotient are all in the same two buckets: that is
//! where a newcomer of the first level looks for hashes that its fingerprint must not be a prefix of.

use super::level::Hash;
use crate::hash::{mix, reduce};
use crate::touched;

/// The words of a bucket.
const BUCKET: usize = 8;

/// Marks a word that holds a hash.
const TAKEN: u64 = 1 << 63;

/// The quotient's part of a word. The bucket says the rest of it, or nearly: should two quotients be taken for one, a key
/// gets some adaptivity bits that it did not need.
const QUOTIENT_BITS: u32 = 16;

/// The buckets for so many slots, by measurement: signatures collide with probability 2^−bits, and at 95 % load and over
/// phases 0.5 % of the keys find no free slot. Twice as many words as that.
pub(crate) fn buckets(slots: u64, signature: u32) -> u64 {
    let share = (-f64::from(signature)).exp2() + 1.0 / 200.0;
    (slots as f64 * share * 2.0 / BUCKET as f64) as u64 + 4
}

#[derive(Clone, Debug)]
pub(crate) struct BackYard {
    buckets: Vec<[u64; BUCKET]>,
    width: u32,
    used: u64,
    journal: Option<Vec<Change>>,
}

/// A word before it was changed.
#[derive(Clone, Copy, Debug)]
struct Change {
    bucket: usize,
    at: usize,
    word: u64,
}

impl BackYard {
    /// An empty yard for remainders of this width; `None` where it cannot be allocated.
    pub(crate) fn new(buckets: u64, width: u32) -> Option<BackYard> {
        let size = usize::try_from(buckets).ok()?;
        let mut buckets = Vec::new();
        buckets.try_reserve_exact(size).ok()?;
        buckets.resize(size, [0; BUCKET]);
        Some(BackYard { buckets, width, used: 0, journal: None })
    }

    /// A yard that was saved: as many words as it has, each a hash or nothing.
    pub(crate) fn from_words(words: &[u64], buckets: u64, width: u32) -> Option<BackYard> {
        let (saved, rest) = words.as_chunks::<BUCKET>();
        let whole = saved.len() as u64 == buckets && rest.is_empty();
        let sound = words.iter().all(|word| *word == 0 || word & TAKEN != 0);
        let used = words.iter().filter(|word| **word != 0).count() as u64;
        (whole && sound).then(|| BackYard { buckets: saved.to_vec(), width, used, journal: None })
    }

    pub(crate) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.buckets.iter().flatten().copied()
    }

    /// Hashes in the yard.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        (self.buckets.capacity() * size_of::<[u64; BUCKET]>()) as u64 * 8
    }

    /// What the words of a quotient and remainder begin with, and how many bits that is.
    #[inline]
    fn head(&self, quotient: u64, remainder: u32) -> (u64, u32) {
        let low = quotient & ((1 << QUOTIENT_BITS) - 1);
        (low | u64::from(remainder) << QUOTIENT_BITS, QUOTIENT_BITS + self.width)
    }

    fn word(&self, hash: Hash) -> u64 {
        let (head, bits) = self.head(hash.quotient, hash.remainder);
        head | hash.tail << bits | TAKEN
    }

    #[inline]
    fn choices(&self, quotient: u64) -> [usize; 2] {
        let mixed = mix(quotient);
        let choices = [mixed, mixed.rotate_left(32)].map(|word| reduce(word, self.buckets.len() as u64) as usize);
        choices.iter().for_each(|bucket| touched::note_one(&self.buckets[*bucket]));
        choices
    }

    /// Whether a hash is here. What comes behind its remainder is asked for only where that is not enough.
    #[inline]
    pub(crate) fn contains(&self, quotient: u64, remainder: u32, tail: impl FnOnce() -> u64) -> bool {
        let (head, bits) = self.head(quotient, remainder);
        let alike = |word: &u64| *word & TAKEN != 0 && (*word ^ head) & ((1 << bits) - 1) == 0;
        let words = || self.choices(quotient).into_iter().flat_map(|bucket| &self.buckets[bucket]);
        if !words().any(alike) {
            return false;
        }
        let whole = self.word(Hash { quotient, remainder, tail: tail() });
        words().any(|word| *word == whole)
    }

    /// How many adaptivity bits tell a fingerprint of the first level from every hash here; `None` where none do.
    pub(crate) fn apart(&self, hash: Hash) -> Option<u32> {
        let (head, bits) = self.head(hash.quotient, hash.remainder);
        let own = self.word(hash);
        let words = self.choices(hash.quotient).into_iter().flat_map(|bucket| &self.buckets[bucket]);
        let mut apart = 0;
        for word in words.filter(|word| **word & TAKEN != 0 && (**word ^ head) & ((1 << bits) - 1) == 0) {
            if *word == own {
                return None;
            }
            apart = apart.max((word ^ own).trailing_zeros() - bits + 1);
        }
        Some(apart)
    }

    /// The bucket for one more hash: `None` where both are full, or where the same hash is here already.
    fn bucket_for(&self, hash: Hash) -> Option<usize> {
        if self.contains(hash.quotient, hash.remainder, || hash.tail) {
            return None;
        }
        let taken = |bucket: usize| self.buckets[bucket].iter().filter(|word| **word != 0).count();
        self.choices(hash.quotient).into_iter().min_by_key(|bucket| taken(*bucket)).filter(|it| taken(*it) < BUCKET)
    }

    pub(crate) fn has_room(&self, hash: Hash) -> bool {
        self.bucket_for(hash).is_some()
    }

    /// Brings a hash in; `false` where there is no room.
    pub(crate) fn insert(&mut self, hash: Hash) -> bool {
        let Some(bucket) = self.bucket_for(hash) else { return false };
        let Some(at) = self.buckets[bucket].iter().position(|word| *word == 0) else { return false };
        self.set(bucket, at, self.word(hash));
        self.used += 1;
        true
    }

    /// Takes a hash out; `false` where it is not here.
    pub(crate) fn remove(&mut self, hash: Hash) -> bool {
        let whole = self.word(hash);
        for bucket in self.choices(hash.quotient) {
            if let Some(at) = self.buckets[bucket].iter().position(|word| *word == whole) {
                self.set(bucket, at, 0);
                self.used = self.used.saturating_sub(1);
                return true;
            }
        }
        false
    }

    fn set(&mut self, bucket: usize, at: usize, word: u64) {
        let before = std::mem::replace(&mut self.buckets[bucket][at], word);
        if let Some(journal) = &mut self.journal {
            journal.push(Change { bucket, at, word: before });
        }
    }

    /// Begins an operation.
    pub(crate) fn begin(&mut self) {
        self.journal = Some(Vec::new());
    }

    /// The operation holds.
    pub(crate) fn keep(&mut self) {
        self.journal = None;
    }

    /// Puts everything back as it was when the operation began.
    pub(crate) fn undo(&mut self) {
        for change in self.journal.take().unwrap_or_default().into_iter().rev() {
            let after = std::mem::replace(&mut self.buckets[change.bucket][change.at], change.word);
            self.used = self.used + u64::from(change.word != 0) - u64::from(after != 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    fn hash(rng: &mut SplitMix64, slots: u64, width: u32) -> Hash {
        Hash { quotient: rng.below(slots), remainder: rng.below(1 << width) as u32, tail: rng.next() }
    }

    #[test]
    fn a_yard_agrees_with_a_list_of_hashes_and_undoes_what_did_not_hold() {
        for width in [2, 9, 20, 32] {
            let mut rng = SplitMix64::from_state(width.into());
            let mut yard = BackYard::new(6, width).expect("a small one");
            let mut list: Vec<Hash> = Vec::new();
            let (mut refused, mut undone) = (0, 0);
            for step in 0..3_000u32 {
                let before = (yard.buckets.clone(), list.clone());
                yard.begin();
                for _ in 0..1 + rng.below(4) {
                    if rng.below(100) < 52 {
                        let new = hash(&mut rng, 40, width);
                        if yard.insert(new) {
                            list.push(new);
                        } else {
                            refused += 1;
                        }
                    } else if !list.is_empty() {
                        let gone = list.swap_remove(rng.below(list.len() as u64) as usize);
                        assert!(yard.remove(gone) && !yard.contains(gone.quotient, gone.remainder, || gone.tail));
                    }
                }
                if rng.below(4) == 0 {
                    yard.undo();
                    assert_eq!(yard.buckets, before.0);
                    list = before.1;
                    undone += 1;
                } else {
                    yard.keep();
                }
                assert_eq!(yard.used(), list.len() as u64, "step {step}");
                assert!(list.iter().all(|hash| yard.contains(hash.quotient, hash.remainder, || hash.tail)));
                let other = hash(&mut rng, 40, width);
                assert!(!yard.contains(other.quotient, other.remainder, || other.tail), "64 bits differ somewhere");
            }
            assert!(refused > 20 && undone > 500, "{refused} refused, {undone} undone");
        }
    }

    #[test]
    fn a_fingerprint_gets_as_many_bits_as_tell_it_from_the_hashes_here() {
        let mut yard = BackYard::new(4, 10).expect("a small one");
        let stored = Hash { quotient: 70_000, remainder: 5, tail: 0b1011_0110 };
        assert!(yard.insert(stored) && !yard.insert(stored), "the same hash does not come in twice");
        assert_eq!(yard.apart(Hash { tail: 0b1011_0111, ..stored }), Some(1));
        assert_eq!(yard.apart(Hash { tail: 0b1011_1110, ..stored }), Some(4));
        assert_eq!(yard.apart(Hash { remainder: 4, ..stored }), Some(0));
        assert_eq!(yard.apart(Hash { quotient: 70_001, ..stored }), Some(0));
        assert_eq!(yard.apart(stored), None);
    }

    #[test]
    fn words_that_are_no_yard_are_refused() {
        let mut words = vec![0; 4 * BUCKET];
        words[5] = TAKEN | 77;
        words[31] = u64::MAX;
        let yard = BackYard::from_words(&words, 4, 9).expect("each is a hash or nothing");
        assert!(yard.used() == 2 && yard.words().eq(words.iter().copied()));
        assert!(BackYard::from_words(&words, 3, 9).is_none(), "a bucket too many");
        assert!(BackYard::from_words(&words, 5, 9).is_none(), "a bucket too few");
        assert!(BackYard::from_words(&words[..31], 3, 9).is_none(), "three buckets and some words");
        words[6] = 1;
        assert!(BackYard::from_words(&words, 4, 9).is_none(), "a word that is neither a hash nor nothing");
    }

    #[test]
    fn a_yard_that_is_half_full_has_room_for_every_quotient() {
        let mut rng = SplitMix64::from_state(3);
        let mut yard = BackYard::new(20_000, 12).expect("a small one");
        assert!((0..20_000 * BUCKET / 2).all(|_| yard.insert(hash(&mut rng, 1 << 30, 12))));
    }
}
