//! An ordered set of ghosts, packed into strings of a few hundred bytes.
//!
//! A ghost is a one, the distance of its quotient from the previous one in a Rice code, its remainder, the length of its
//! adaptivity bits in unary, and these bits. A string ends with zeros. With a list for each quotient, ghosts took 400 bits
//! each; with a string for each 256 quotients, two bits for each slot even without a ghost. Longer strings take less memory
//! and more time: an insertion reads half of one for each age.

use super::bit_string::{BitReader, BitWriter};
use super::overlay::{ChangedMap, DraftMap, Drafted, exchange_map};
use super::storage::{Map, Owned, Storage};
use super::strings::Bits;
use crate::quotient::numbers::Quotient;
use crate::touched;
use std::collections::BTreeMap;

/// The start of a fingerprint: a level, a quotient and a remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Base {
    pub(crate) level: u8,
    pub(crate) quotient: Quotient,
    pub(crate) remainder: u32,
}

/// A ghost: its base, and its adaptivity bits, at least one.
pub(crate) type Ghost = (Base, Bits);

/// A longer string is split in two. All ghosts of a base stay together.
const MOST_BYTES: usize = 512;

/// The low bits of a distance, written plainly; those above are in unary. Ghosts are some forty quotients apart without an
/// attack, and five if keys are replaced as fast as the filter errs.
const RICE: u32 = 4;

/// This many ones in unary announce a distance that is written whole.
const FAR: u32 = 24;

/// The width of a distance that is written whole.
const FAR_BITS: u32 = 40;

/// The memory of a string besides its bytes: its map entry, including unused space in the node, and the allocation.
const BESIDE: u64 = 64 * 8;

/// The ghosts of one hash function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Haunted<S: Storage = Owned> {
    /// Each string, by its first base. It has the ghosts from there up to the next string. No string is empty, and none has
    /// ghosts of two levels.
    strings: S::Map<Base, Box<[u8]>>,
    /// The width of a remainder in each level.
    widths: [u32; 2],
    len: u64,
}

/// What a draft of them has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HauntedEdit {
    pub(super) strings: ChangedMap<Base, Box<[u8]>>,
    pub(super) len: u64,
}

impl Haunted {
    pub(crate) fn new(widths: [u32; 2]) -> Haunted {
        Haunted { strings: BTreeMap::new(), widths, len: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.strings.is_empty()
    }

    /// A set of these ghosts, which must be sorted and distinct.
    pub(crate) fn from_sorted(ghosts: impl Iterator<Item = Ghost>, widths: [u32; 2]) -> Haunted {
        let mut haunted = Haunted::new(widths);
        let ghosts: Vec<Ghost> = ghosts.collect();
        for of_level in ghosts.chunk_by(|a, b| a.0.level == b.0.level) {
            haunted.put(of_level);
        }
        haunted.len = ghosts.len() as u64;
        haunted
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Ghost> + '_ {
        self.strings.iter().flat_map(|(first, bytes)| self.unpacked(*first, bytes))
    }

    /// Removes the ghosts of one string, and returns it.
    pub(crate) fn forget_some(&mut self) -> Option<(Base, Box<[u8]>)> {
        let (first, bytes) = self.strings.pop_first()?;
        self.len = self.len.saturating_sub(self.unpacked(first, &bytes).count() as u64);
        Some((first, bytes))
    }

    /// Puts back a removed string.
    pub(crate) fn recall(&mut self, (first, bytes): (Base, Box<[u8]>)) {
        self.len += self.unpacked(first, &bytes).count() as u64;
        self.strings.insert(first, bytes);
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        self.strings.values().map(|bytes| bytes.len() as u64 * 8 + BESIDE).sum()
    }

    pub(crate) fn draft(&self) -> Haunted<Drafted<'_>> {
        Haunted { strings: DraftMap::new(&self.strings), widths: self.widths, len: self.len }
    }

    /// Applies a draft's changes. A second call undoes them.
    pub(crate) fn exchange(&mut self, edit: &mut HauntedEdit) {
        exchange_map(&mut self.strings, &mut edit.strings);
        std::mem::swap(&mut self.len, &mut edit.len);
    }

    /// `true` if each string of an edit has sorted ghosts of one level, starting with its base, and the edit's count is
    /// right. `slots` are those of each level.
    pub(crate) fn accepts(&self, edit: &HauntedEdit, slots: &[u64]) -> bool {
        let sound = |base: &Base, bytes: &[u8]| {
            let ghosts: Vec<Ghost> = self.unpacked(*base, bytes).collect();
            let slots = slots.get(usize::from(base.level)).copied().unwrap_or(0);
            ghosts.first().is_some_and(|(first, _)| first == base)
                && ghosts.is_sorted_by(|a, b| a < b)
                && ghosts.iter().all(|(base, _)| base.quotient.0 < slots)
        };
        let known = |base: &Base| usize::from(base.level) < slots.len();
        let strings = || edit.strings.iter();
        if !strings().all(|(base, bytes)| known(base) && bytes.as_ref().is_none_or(|bytes| sound(base, bytes))) {
            return false;
        }
        let count = |base: &Base, bytes: &[u8]| self.unpacked(*base, bytes).count() as u64;
        let came: u64 = strings().filter_map(|(base, bytes)| Some(count(base, bytes.as_ref()?))).sum();
        let went: u64 = strings().filter_map(|(base, _)| Some(count(base, self.strings.get(base)?))).sum();
        (self.len + came).checked_sub(went) == Some(edit.len)
    }
}

impl Haunted<Drafted<'_>> {
    pub(crate) fn finish(self) -> HauntedEdit {
        HauntedEdit { strings: self.strings.finish(), len: self.len }
    }
}

impl<S: Storage> Haunted<S> {
    /// The number of ghosts.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The string that would hold a base's ghosts, if any.
    fn string(&self, base: Base) -> Option<(&Base, &[u8])> {
        let (first, bytes) = self.strings.last_up_to(&base)?;
        (first.level == base.level).then_some((first, bytes))
    }

    /// The ghosts of a base.
    pub(crate) fn at(&self, base: Base) -> Vec<Bits> {
        let Some((first, bytes)) = self.string(base) else { return Vec::new() };
        let mut ghosts = self.unpacked(*first, bytes);
        let own = ghosts.by_ref().skip_while(|(own, _)| *own < base).take_while(|(own, _)| *own == base);
        let own = own.map(|(_, bits)| bits).collect();
        // Reading stops at the first ghost after the base.
        touched::note_slice(&bytes[..ghosts.from.bytes_read()]);
        own
    }

    /// Adds a ghost; `false` if it is there already.
    pub(crate) fn add(&mut self, ghost: Ghost) -> bool {
        let (base, _) = ghost;
        let Some((first, bytes)) = self.string(base) else {
            // It sorts before the first string of its level and is added to that one. Otherwise there would be strings of
            // one ghost each.
            let mut ghosts: Vec<Ghost> = vec![ghost];
            let after = self.strings.first_from(&base).filter(|(first, _)| first.level == base.level);
            if let Some((first, bytes)) = after {
                let first = *first;
                ghosts.extend(self.unpacked(first, bytes));
                self.strings.remove(&first);
            }
            self.put(&ghosts);
            self.len += 1;
            return true;
        };
        touched::note_slice(bytes);
        let first = *first;
        let mut ghosts: Vec<Ghost> = self.unpacked(first, bytes).collect();
        let Err(at) = ghosts.binary_search(&ghost) else { return false };
        ghosts.insert(at, ghost);
        self.strings.remove(&first);
        self.put(&ghosts);
        self.len += 1;
        true
    }

    /// Removes a ghost; `false` if it is not there.
    pub(crate) fn remove(&mut self, ghost: Ghost) -> bool {
        let Some((first, bytes)) = self.string(ghost.0) else { return false };
        let first = *first;
        let mut ghosts: Vec<Ghost> = self.unpacked(first, bytes).collect();
        let Ok(at) = ghosts.binary_search(&ghost) else { return false };
        ghosts.remove(at);
        self.strings.remove(&first);
        self.put(&ghosts);
        self.len -= 1;
        true
    }

    /// Stores ghosts of one level, split into strings of bounded length.
    fn put(&mut self, ghosts: &[Ghost]) {
        let Some(((base, _), (last, _))) = ghosts.first().zip(ghosts.last()) else { return };
        let bytes = packed(ghosts, self.widths[usize::from(base.level)]);
        if bytes.len() <= MOST_BYTES || base == last {
            touched::note_slice(&bytes);
            self.strings.insert(*base, bytes);
            return;
        }
        // The start of a base closest to the middle.
        let begins = |at: &usize| ghosts[*at].0 != ghosts[at - 1].0;
        let middle = ghosts.len() / 2;
        let cut = (middle.max(1)..ghosts.len()).find(begins).or_else(|| (1..middle).rev().find(begins));
        let (before, after) = ghosts.split_at(cut.unwrap_or(ghosts.len()));
        self.put(before);
        self.put(after);
    }

    fn unpacked<'a>(&self, first: Base, bytes: &'a [u8]) -> Unpacked<'a> {
        let width = self.widths[usize::from(first.level)];
        Unpacked { from: BitReader::new(bytes), width, level: first.level, last: first.quotient }
    }
}

/// The ghosts of a string, unpacked one by one.
struct Unpacked<'a> {
    from: BitReader<'a>,
    width: u32,
    level: u8,
    last: Quotient,
}

impl Iterator for Unpacked<'_> {
    type Item = Ghost;

    fn next(&mut self) -> Option<Ghost> {
        let from = &mut self.from;
        if from.take(1) == 0 {
            return None;
        }
        let distance = match from.take_zeros() {
            FAR.. => from.take(FAR_BITS),
            high => u64::from(high) << RICE | from.take(RICE),
        };
        self.last = Quotient(self.last.0.saturating_add(distance));
        let remainder = from.take(self.width) as u32;
        let len = from.take_zeros() + 1;
        let bits = Bits { len, bits: from.take(len) };
        Some((Base { level: self.level, quotient: self.last, remainder }, bits))
    }
}

/// Packs sorted ghosts of one level.
fn packed(ghosts: &[Ghost], width: u32) -> Box<[u8]> {
    let mut out = BitWriter::default();
    let mut last = ghosts.first().map_or(Quotient(0), |(base, _)| base.quotient);
    for (base, string) in ghosts {
        let distance = base.quotient - last;
        last = base.quotient;
        out.put(1, 1);
        match distance >> RICE {
            high if high < FAR.into() => {
                out.put_zeros(high as u32);
                out.put(distance & ((1 << RICE) - 1), RICE);
            }
            _ => {
                out.put_zeros(FAR);
                out.put(distance, FAR_BITS);
            }
        }
        out.put(base.remainder.into(), width);
        out.put_zeros(string.len - 1);
        out.put(string.bits, string.len);
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;
    use std::collections::BTreeSet;

    const WIDTHS: [u32; 2] = [5, 32];

    fn drawn(rng: &mut SplitMix64, quotients: u64) -> Ghost {
        let level = rng.below(2) as u8;
        let far = rng.below(40) == 0;
        let quotient = if far { rng.below(1 << 36) } else { rng.below(quotients) };
        let remainder = rng.below(if level == 0 { 4 } else { 1 << 32 }) as u32;
        let len = if rng.below(20) == 0 { 1 + rng.below(64) as u32 } else { 1 + rng.below(3) as u32 };
        (Base { level, quotient: Quotient(quotient), remainder }, Bits::prefix(rng.next(), len))
    }

    #[test]
    fn packed_ghosts_agree_with_a_set() {
        let mut rng = SplitMix64::from_state(5);
        for quotients in [3, 700, 1 << 20] {
            let (mut haunted, mut exact) = (Haunted::new(WIDTHS), BTreeSet::new());
            for step in 0..6_000 {
                let ghost = drawn(&mut rng, quotients);
                if rng.below(3) > 0 {
                    assert_eq!(haunted.add(ghost), exact.insert(ghost));
                } else {
                    assert_eq!(haunted.remove(ghost), exact.remove(&ghost));
                }
                if let Some(first) = exact.first().copied().filter(|_| step % 3 == 0) {
                    assert!(haunted.remove(first) && exact.remove(&first));
                }
                let here: Vec<Bits> =
                    exact.iter().filter(|(base, _)| *base == ghost.0).map(|(_, bits)| *bits).collect();
                assert_eq!(haunted.at(ghost.0), here);
                assert_eq!(haunted.len(), exact.len() as u64);
            }
            assert_eq!(haunted.iter().collect::<Vec<_>>(), exact.iter().copied().collect::<Vec<_>>());
            assert!(exact.len() > 500 && haunted.strings.len() > 3);
            let sorted = Haunted::from_sorted(exact.iter().copied(), WIDTHS);
            assert!(sorted.iter().eq(haunted.iter()) && sorted.len() == haunted.len());
            for ghost in exact {
                assert!(haunted.remove(ghost));
            }
            assert_eq!((haunted.is_empty(), haunted.len(), haunted.allocated_bits()), (true, 0, 0));
        }
    }

    #[test]
    fn a_string_is_no_longer_than_its_bound_unless_one_base_is_all_of_it() {
        let mut rng = SplitMix64::from_state(6);
        let mut haunted = Haunted::new(WIDTHS);
        for _ in 0..20_000 {
            haunted.add(drawn(&mut rng, 3_000));
        }
        assert!(haunted.strings.values().all(|bytes| bytes.len() <= MOST_BYTES));
        let bits = haunted.allocated_bits() as f64 / haunted.len() as f64;
        // Half of them have remainders of 32 bits, the others 5, 18.5 on average; and a few have long strings.
        assert!(bits < 40.0, "{bits} bits a ghost");
        let one = Base { level: 0, quotient: Quotient(7), remainder: 1 };
        let mut single = Haunted::new(WIDTHS);
        (0..1_000u64).for_each(|at| assert!(single.add((one, Bits::prefix(at, 10 + (at % 50) as u32)))));
        assert_eq!(single.at(one).len(), 1_000);
    }
}
