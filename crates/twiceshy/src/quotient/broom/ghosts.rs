//! Remembers fingerprints that no longer exist (001 section 4.3, and `docs/broom.md`).
//!
//! A ghost is a fingerprint: its base, which is quotient and remainder, and its adaptivity bits. A removed key leaves one.
//! So does a mistake about a fingerprint that already had adaptivity bits: those earlier bits. So does a key that goes to the
//! back yard and matched a fingerprint: the bits that tell the two apart. A new key takes adaptivity
//! bits up to the first that differs from each ghost of its base, and all bits of one that it agrees with. Ghosts are never
//! looked up and never matched to keys. They are dropped with their hash function.

use super::functions::Age;
use super::haunted::{Base, Ghost, Haunted, HauntedEdit};
use super::overlay::Drafted;
use super::storage::{Owned, Storage};
use super::strings::Bits;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ghosts<S: Storage = Owned> {
    by_age: [Haunted<S>; 2],
    /// Ghosts whose function has ended. They are freed a few at a time, so that no operation takes time proportional to
    /// their number. A draft has none, since they have no effect.
    leaving: Vec<Haunted>,
    widths: [u32; 2],
}

/// How many of their strings an insertion, a removal or an adaptation frees. It adds at most a few ghosts, and a string has
/// many.
const FORGOTTEN_AT_ONCE: usize = 2;

/// The adaptations of a plan that count, since a plan from bytes may claim any number.
const MOST_ADAPTS: u64 = 1 << 10;

/// What one operation has freed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forgotten {
    strings: Vec<(Base, Box<[u8]>)>,
    /// `true` if nothing was left to free.
    all: bool,
}

impl Ghosts {
    /// No ghosts, in levels with remainders of these widths.
    pub(crate) fn new(widths: [u32; 2]) -> Ghosts {
        Ghosts { by_age: Age::BOTH.map(|_| Haunted::new(widths)), leaving: Vec::new(), widths }
    }

    /// The ghosts of a file, in order.
    pub(crate) fn from_sorted(ghosts: &[(Age, Ghost)], widths: [u32; 2]) -> Ghosts {
        let of_age = |age| ghosts.iter().filter(move |(own, _)| *own == age).map(|(_, ghost)| *ghost);
        let by_age = Age::BOTH.map(|age| Haunted::from_sorted(of_age(age), widths));
        Ghosts { by_age, leaving: Vec::new(), widths }
    }

    /// Ends the old function. The new one becomes the old one.
    pub(crate) fn end_phase(&mut self) {
        let new = std::mem::replace(&mut self.by_age[Age::New as usize], Haunted::new(self.widths));
        let left = std::mem::replace(&mut self.by_age[Age::Old as usize], new);
        self.leaving.push(left);
    }

    /// Undoes [`Ghosts::end_phase`].
    pub(crate) fn resume_phase(&mut self) {
        let left = self.leaving.pop().unwrap_or_else(|| Haunted::new(self.widths));
        self.by_age[Age::New as usize] = std::mem::replace(&mut self.by_age[Age::Old as usize], left);
    }

    /// Frees some ghosts whose function has ended, after a plan with this many adaptations.
    pub(crate) fn forget(&mut self, adapts: u64) -> Forgotten {
        let Some(leaving) = self.leaving.last_mut() else { return Forgotten::default() };
        let most = FORGOTTEN_AT_ONCE * adapts.clamp(1, MOST_ADAPTS) as usize;
        let strings = (0..most).map_while(|_| leaving.forget_some()).collect();
        Forgotten { strings, all: self.leaving.pop_if(|leaving| leaving.is_empty()).is_some() }
    }

    /// Undoes [`Ghosts::forget`].
    pub(crate) fn recall(&mut self, forgotten: Forgotten) {
        if forgotten.all {
            self.leaving.push(Haunted::new(self.widths));
        }
        if let Some(leaving) = self.leaving.last_mut() {
            forgotten.strings.into_iter().for_each(|string| leaving.recall(string));
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.by_age.iter().map(Haunted::len).sum()
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        self.by_age.iter().chain(&self.leaving).map(Haunted::allocated_bits).sum()
    }

    /// All ghosts in order, for saving: age, base, bits.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Age, Ghost)> + '_ {
        Age::BOTH.into_iter().flat_map(|age| self.by_age[age as usize].iter().map(move |ghost| (age, ghost)))
    }

    pub(crate) fn draft(&self) -> Ghosts<Drafted<'_>> {
        Ghosts { by_age: self.by_age.each_ref().map(Haunted::draft), leaving: Vec::new(), widths: self.widths }
    }

    /// Applies a draft's changes. A second call undoes them.
    pub(crate) fn exchange(&mut self, edit: &mut [HauntedEdit; 2]) {
        self.by_age.iter_mut().zip(edit).for_each(|(own, edit)| own.exchange(edit));
    }

    /// `true` if an edit fits these ghosts. `slots` are those of each level.
    pub(crate) fn accepts(&self, edit: &[HauntedEdit; 2], slots: &[u64]) -> bool {
        self.by_age.iter().zip(edit).all(|(own, edit)| own.accepts(edit, slots))
    }
}

impl Ghosts<Drafted<'_>> {
    pub(crate) fn finish(self) -> [HauntedEdit; 2] {
        self.by_age.map(Haunted::finish)
    }
}

impl<S: Storage> Ghosts<S> {
    /// Remembers a fingerprint until the function of that age ends.
    ///
    /// A ghost is not kept if another implies it and stays at least as long: if one string is a prefix of another, a new
    /// key takes at least as many bits for the longer one.
    pub(crate) fn add(&mut self, age: Age, base: Base, bits: Bits) {
        if bits == Bits::EMPTY {
            return;
        }
        let says_more = |other: Bits| other.len >= bits.len && bits.is_prefix_of(other.bits);
        if (age as usize..2).any(|stays| self.by_age[stays].at(base).into_iter().any(says_more)) {
            return;
        }
        for leaves in Age::BOTH.into_iter().filter(|other| *other <= age) {
            let less: Vec<Bits> = self.by_age[leaves as usize]
                .at(base)
                .into_iter()
                .filter(|other| other.len <= bits.len && other.is_prefix_of(bits.bits))
                .collect();
            for other in less {
                self.by_age[leaves as usize].remove((base, other));
            }
        }
        self.by_age[age as usize].add((base, bits));
    }

    /// The number of adaptivity bits that a key with this tail must take.
    pub(crate) fn bits_for(&self, base: Base, tail: u64) -> u32 {
        let here = self.by_age.iter().flat_map(|ghosts| ghosts.at(base));
        here.map(|bits| (bits.shared(tail) + 1).min(bits.len)).max().unwrap_or(0)
    }

    /// The same by the rule of 001: only ghosts of the key's own function count, and only those that it agrees with.
    #[cfg(feature = "testing")]
    pub(crate) fn bits_for_whole_matches(&self, age: Age, base: Base, tail: u64) -> u32 {
        let here = self.by_age[age as usize].at(base);
        here.iter().filter(|bits| bits.is_prefix_of(tail)).map(|bits| bits.len).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quotient::numbers::Quotient;

    fn bits(len: u32, bits: u64) -> Bits {
        Bits { len, bits }
    }

    fn base(level: u8, quotient: u64, remainder: u32) -> Base {
        Base { level, quotient: Quotient(quotient), remainder }
    }

    #[test]
    fn a_key_takes_bits_up_to_the_first_that_differs_from_each_ghost_of_its_base() {
        let mut ghosts = Ghosts::new([4, 8]);
        ghosts.add(Age::Old, base(0, 7, 3), bits(3, 0b101));
        ghosts.add(Age::New, base(0, 7, 3), bits(2, 0b10));
        assert_eq!(ghosts.bits_for(base(0, 7, 3), 0b1101), 3, "it agrees with a ghost of three bits");
        assert_eq!(ghosts.bits_for(base(0, 7, 3), 0b1001), 3, "it differs in the third");
        assert_eq!(
            ghosts.bits_for(base(0, 7, 3), 0b0111),
            2,
            "it differs from one in the second, from the other at once"
        );
        assert_eq!(ghosts.bits_for(base(0, 7, 3), 0b0010), 2, "it agrees with the ghost of the other age");
        assert_eq!(ghosts.bits_for(base(0, 7, 3), 0b0100), 2);
        for other in [base(1, 7, 3), base(0, 8, 3), base(0, 7, 2)] {
            assert_eq!(ghosts.bits_for(other, 0b101), 0);
        }
        assert_eq!(ghosts.bits_for_whole_matches(Age::Old, base(0, 7, 3), 0b1001), 0);
        assert_eq!(ghosts.bits_for_whole_matches(Age::Old, base(0, 7, 3), 0b1101), 3);
        assert_eq!(ghosts.bits_for_whole_matches(Age::New, base(0, 7, 3), 0b1101), 0);
    }

    #[test]
    fn a_ghost_that_says_no_more_than_one_that_stays_as_long_is_not_kept() {
        let mut ghosts = Ghosts::new([4, 8]);
        let at = base(0, 7, 3);
        ghosts.add(Age::Old, at, bits(3, 0b101));
        for said in [bits(3, 0b101), bits(1, 0b1), Bits::EMPTY] {
            ghosts.add(Age::Old, at, said);
        }
        assert_eq!(ghosts.len(), 1);
        ghosts.add(Age::New, at, bits(1, 0b1));
        assert_eq!(ghosts.len(), 2, "it stays longer than the other");
        let before = ghosts.clone();
        let mut draft = ghosts.draft();
        draft.add(Age::New, at, bits(4, 0b0101));
        let mut edit = draft.finish();
        assert!(ghosts.accepts(&edit, &[8]) && !ghosts.accepts(&edit, &[7]) && !ghosts.accepts(&edit, &[]));
        ghosts.exchange(&mut edit);
        assert_eq!(ghosts.len(), 1, "it says more than both and stays as long as either");
        assert_eq!(ghosts.iter().next(), Some((Age::New, (at, bits(4, 0b0101)))));
        ghosts.exchange(&mut edit);
        assert_eq!(ghosts, before);
        ghosts.exchange(&mut edit);
        ghosts.add(Age::Old, at, bits(2, 0b10));
        assert_eq!(ghosts.len(), 2, "neither begins with the other");
        assert!(ghosts.iter().is_sorted(), "a file has them in order");
    }

    #[test]
    fn ghosts_leave_with_their_function_and_come_back_if_that_is_undone() {
        let mut ghosts = Ghosts::new([4, 8]);
        ghosts.add(Age::Old, base(0, 1, 0), bits(2, 2));
        ghosts.add(Age::New, base(0, 1, 0), bits(1, 1));
        let before = ghosts.clone();
        let mut draft = ghosts.draft();
        draft.add(Age::New, base(1, 9, 5), bits(4, 3));
        let mut edit = draft.finish();
        ghosts.exchange(&mut edit);
        assert_eq!(ghosts.len(), 3);
        ghosts.end_phase();
        assert_eq!(ghosts.len(), 2);
        assert_eq!(ghosts.bits_for(base(0, 1, 0), 1), 1, "the new function is the old one now");
        let ended = ghosts.clone();
        let forgotten = ghosts.forget(0);
        assert!(ghosts.allocated_bits() < ended.allocated_bits(), "those of a function that has ended are forgotten");
        ghosts.recall(forgotten);
        assert_eq!(ghosts, ended);
        ghosts.resume_phase();
        ghosts.exchange(&mut edit);
        assert_eq!(ghosts, before);
        ghosts.end_phase();
        ghosts.end_phase();
        assert_eq!(ghosts.len(), 0);
        assert!(ghosts.allocated_bits() > 0, "they are forgotten by operations");
        ghosts.forget(0);
        ghosts.forget(0);
        assert_eq!(ghosts.allocated_bits(), 0);
    }
}
