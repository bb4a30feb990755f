//! Reading what can be read of a store whose file is damaged beyond repair.

use crate::checking::{Named, printable};
use crate::entry;
use crate::layout::Layout;
use crate::state::State;
use crate::store::{Space, Store};
use crate::sum;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::ops::Bound;
use twiceshy::remote::{Generation, Order};

/// How many entries, and how many of their bytes, are read at once.
const READ_AT_ONCE: usize = 1_000;
const BYTES_AT_ONCE: usize = 4 << 20;

/// How far the search for readable index entries goes on behind one that is not: at first, and twice as far each time. The
/// words of all keys are 2^64.
const FIRST_SKIP: u64 = 1 << 40;

/// How often it goes on. If the index has lost its root, nothing can be read.
const MOST_SKIPS: u32 = 20_000;

/// More orders than a filter has.
const MOST_ORDERS: u8 = 8;

/// How much of a key is used to find the next one that can be read.
const PREFIX: usize = 64;

/// A key and its value.
pub(crate) type Entry = (Vec<u8>, Vec<u8>);

/// What could not be read.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// Keys whose value is damaged or cannot be read.
    pub(crate) keys: Named,
    /// Where keys may be missing that nothing is known about.
    pub(crate) unknown: Vec<String>,
}

/// Why a salvage ended early.
pub(crate) enum Stopped<S, T> {
    /// The damaged store failed for another reason than damage: another attempt may read more.
    Source(S),
    Target(T),
}

/// Reads the values of a damaged store, and passes them on in batches. Keys that the values no longer show are looked for
/// in the index.
pub(crate) struct Salvage<'a, S: Store> {
    store: &'a S,
    /// `true` if an error means that a part of the store cannot be read, however often it is tried.
    is_damage: fn(&S::Error) -> bool,
    sums: bool,
    /// The keys that the store should have, if it knows.
    len: Option<u64>,
    layout: Option<Layout>,
    in_use: Option<Generation>,
    saved: u64,
    losses: Losses,
    /// Marks of the keys that are lost: the index may have several entries for each.
    lost: HashSet<u64>,
    marks: RandomState,
}

impl<'a, S: Store> Salvage<'a, S> {
    /// `state` is the store's, if it can be read.
    pub(crate) fn new<T>(
        store: &'a S,
        state: Option<&State>,
        is_damage: fn(&S::Error) -> bool,
    ) -> Result<Salvage<'a, S>, Stopped<S::Error, T>> {
        let mut salvage = Salvage {
            store,
            is_damage,
            sums: false,
            len: state.map(|state| state.len),
            layout: state.and_then(Layout::of),
            in_use: state.and_then(|state| state.in_use),
            saved: 0,
            losses: Losses::default(),
            lost: HashSet::new(),
            marks: RandomState::new(),
        };
        salvage.sums = match state {
            Some(state) => state.sums,
            None => salvage.has_sums()?,
        };
        Ok(salvage)
    }

    /// `save` keeps a batch, and `is_saved` says whether a key was in one.
    pub(crate) fn run<T>(
        mut self,
        mut save: impl FnMut(Vec<Entry>) -> Result<(), T>,
        is_saved: impl Fn(&[u8]) -> Result<bool, T>,
    ) -> Result<Losses, Stopped<S::Error, T>> {
        let gaps = self.read_values(&mut |salvage, some| salvage.keep(some, &mut save))?;
        // Also without gaps: a damaged key hides the one that it was.
        let whole = self.search_index(&mut save, is_saved)?;
        if !whole {
            self.losses.unknown = gaps.iter().map(|gap| format!("keys {gap} may be missing")).collect();
        }
        let missing = self.len.map_or(0, |len| len.saturating_sub(self.saved + self.losses.keys.count));
        if missing > 0 {
            self.losses.unknown.push(format!("{missing} keys are missing"));
        }
        Ok(self.losses)
    }

    /// Reads the values in order, and passes them to `take`. Returns the ranges that cannot be read.
    fn read_values<T>(
        &mut self,
        take: &mut impl FnMut(&mut Self, Vec<Entry>) -> Result<(), Stopped<S::Error, T>>,
    ) -> Result<Vec<String>, Stopped<S::Error, T>> {
        let (mut gaps, mut from) = (Vec::new(), Bound::Unbounded);
        loop {
            let (some, ended) = self.read_some(Space::Values, &from)?;
            let last = some.last().map(|(key, _)| key.clone());
            take(self, some)?;
            from = match (ended, last) {
                (Ended::Limit, Some(last)) => Bound::Excluded(last),
                (Ended::Damage, last) => {
                    let last = last.or_else(|| bound_key(&from)).unwrap_or_default();
                    let Some(next) = self.readable_after(&last)? else {
                        gaps.push(format!("after {}", printable(&last)));
                        return Ok(gaps);
                    };
                    gaps.push(format!("between {} and {}", printable(&last), printable(&next)));
                    Bound::Included(next)
                }
                _ => return Ok(gaps),
            };
        }
    }

    /// The next key after one that can be read: takes ever larger steps, and then halves the last one.
    fn readable_after<T>(&self, last: &[u8]) -> Result<Option<Vec<u8>>, Stopped<S::Error, T>> {
        // All keys that begin as this one does come before it with a larger last byte.
        let larger = |at: usize| Some([&last[..at], &[last[at].checked_add(1)?]].concat());
        let mut steps: Vec<Vec<u8>> = (0..last.len().min(PREFIX)).rev().filter_map(larger).collect();
        if last.is_empty() {
            steps = (0..=u8::MAX).map(|first| vec![first]).collect();
        }
        let (mut low, mut best) = (last.to_vec(), None);
        for high in steps {
            match self.first_from(&high)? {
                First::Damaged => low = high,
                First::Key(found) => {
                    best = Some((high, Some(found)));
                    break;
                }
                First::End => {
                    best = Some((high, None));
                    break;
                }
            }
        }
        let Some((mut high, mut next)) = best else { return Ok(None) };
        for _ in 0..8 * PREFIX {
            let middle = between(&low, &high);
            if middle <= low || middle >= high {
                break;
            }
            match self.first_from(&middle)? {
                First::Damaged => low = middle,
                First::Key(found) => (high, next) = (middle, Some(found)),
                First::End => (high, next) = (middle, None),
            }
        }
        Ok(next)
    }

    /// The first key from here on.
    fn first_from<T>(&self, from: &[u8]) -> Result<First, Stopped<S::Error, T>> {
        let mut first = First::End;
        let scanned = self.store.scan(Space::Values, Bound::Included(from), &mut |key, _| {
            first = First::Key(key.to_vec());
            false
        });
        match scanned {
            Ok(()) => Ok(first),
            Err(error) if (self.is_damage)(&error) => Ok(First::Damaged),
            Err(error) => Err(Stopped::Source(error)),
        }
    }

    /// Looks up the keys of the index. `true` if all of it could be read.
    fn search_index<T>(
        &mut self,
        save: &mut impl FnMut(Vec<Entry>) -> Result<(), T>,
        is_saved: impl Fn(&[u8]) -> Result<bool, T>,
    ) -> Result<bool, Stopped<S::Error, T>> {
        let (mut skips, mut step) = (0, FIRST_SKIP);
        let mut from = match self.in_use {
            Some(generation) => Bound::Included(entry::index(generation, Order(0), 0, &[])),
            None => Bound::Unbounded,
        };
        loop {
            let (some, ended) = self.read_some(Space::Index, &from)?;
            let last = some.last().map(|(entry, _)| entry.clone());
            let mut found = Vec::new();
            for (bytes, _) in some {
                let Some((_, key)) = entry::parse_index(&bytes) else { continue };
                if self.lost.contains(&self.marks.hash_one(key)) || is_saved(key).map_err(Stopped::Target)? {
                    continue;
                }
                match self.store.get(Space::Values, key) {
                    Ok(Some(value)) => found.push((key.to_vec(), value)),
                    // An entry of an unused generation may be of a key that was removed.
                    Ok(None) if !self.belongs(&bytes, key) => {}
                    Ok(None) => self.lose(key),
                    Err(error) if (self.is_damage)(&error) => self.lose(key),
                    Err(error) => return Err(Stopped::Source(error)),
                }
            }
            self.keep(found, save)?;
            from = match (ended, last) {
                (Ended::Limit, Some(last)) => {
                    step = FIRST_SKIP;
                    Bound::Excluded(last)
                }
                (Ended::Damage, last) => {
                    skips += 1;
                    step = if last.is_some() { FIRST_SKIP } else { step.saturating_mul(2) };
                    let next = skip(&last.or_else(|| bound_key(&from)).unwrap_or_default(), step);
                    let Some(next) = next.filter(|_| skips < MOST_SKIPS) else { return Ok(false) };
                    Bound::Included(next)
                }
                _ => return Ok(skips == 0),
            };
        }
    }

    /// `true` if the index must have this entry, or if that is not known.
    fn belongs(&self, bytes: &[u8], key: &[u8]) -> bool {
        self.layout.as_ref().is_none_or(|layout| layout.bytes(key).any(|own| own == bytes))
    }

    /// Some entries of a map, up to a limit, the end, or one that cannot be read.
    fn read_some<T>(&self, space: Space, from: &Bound<Vec<u8>>) -> Result<(Vec<Entry>, Ended), Stopped<S::Error, T>> {
        let (mut some, mut bytes, mut full) = (Vec::new(), 0, false);
        let scanned = self.store.scan(space, from.as_ref().map(Vec::as_slice), &mut |key, value| {
            bytes += key.len() + value.len();
            some.push((key.to_vec(), value.to_vec()));
            full = some.len() >= READ_AT_ONCE || bytes >= BYTES_AT_ONCE;
            !full
        });
        let ended = match scanned {
            Err(error) if (self.is_damage)(&error) => Ended::Damage,
            Err(error) => return Err(Stopped::Source(error)),
            Ok(()) if full => Ended::Limit,
            Ok(()) => Ended::All,
        };
        Ok((some, ended))
    }

    /// Saves the entries whose values are sound.
    fn keep<T>(
        &mut self,
        some: Vec<Entry>,
        save: &mut impl FnMut(Vec<Entry>) -> Result<(), T>,
    ) -> Result<(), Stopped<S::Error, T>> {
        let mut sound = Vec::new();
        for (key, value) in some {
            match if self.sums { sum::unseal(&key, value) } else { Some(value) } {
                Some(value) => sound.push((key, value)),
                None => self.lose(&key),
            }
        }
        self.saved += sound.len() as u64;
        if sound.is_empty() { Ok(()) } else { save(sound).map_err(Stopped::Target) }
    }

    fn lose(&mut self, key: &[u8]) {
        if self.lost.insert(self.marks.hash_one(key)) {
            self.losses.keys.add(key);
        }
    }

    /// `true` if values end with checksums, as far as they can be read.
    fn has_sums<T>(&mut self) -> Result<bool, Stopped<S::Error, T>> {
        let (mut values, mut sound) = (0u64, 0u64);
        self.read_values(&mut |_, some| {
            values += some.len() as u64;
            sound += some.iter().filter(|(key, value)| sum::content(key, value).is_some()).count() as u64;
            Ok(())
        })?;
        Ok(sound > 0 || values == 0)
    }
}

/// The first key of a range.
enum First {
    Key(Vec<u8>),
    /// There is none.
    End,
    /// It cannot be read.
    Damaged,
}

/// Why reading stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Limit,
    All,
    Damage,
}

fn bound_key(bound: &Bound<Vec<u8>>) -> Option<Vec<u8>> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key.clone()),
        Bound::Unbounded => None,
    }
}

/// A byte string about half-way between two others.
fn between(low: &[u8], high: &[u8]) -> Vec<u8> {
    let len = (low.len().max(high.len()) + 1).min(PREFIX + 1);
    let byte = |of: &[u8], at: usize| u16::from(of.get(at).copied().unwrap_or(0));
    // The sum, from the last byte on; then half of it.
    let (mut sum, mut carry) = (vec![0; len], 0);
    for at in (0..len).rev() {
        let digit = byte(low, at) + byte(high, at) + carry;
        (sum[at], carry) = (digit & 0xFF, digit >> 8);
    }
    let mut half = Vec::with_capacity(len);
    for digit in sum {
        let digit = carry << 8 | digit;
        half.push((digit >> 1) as u8);
        carry = digit & 1;
    }
    while half.last() == Some(&0) {
        half.pop();
    }
    half
}

/// Where to go on in the index behind an entry that cannot be read.
fn skip(last: &[u8], step: u64) -> Option<Vec<u8>> {
    let generation = entry::generation(last).unwrap_or(Generation(0));
    let order = last.get(4).copied().unwrap_or(0);
    let word = entry::parse_index(last).map_or(0, |(word, _)| word);
    if let Some(word) = word.checked_add(step) {
        return Some(entry::index(generation, Order(order), word, &[]));
    }
    match order < MOST_ORDERS {
        true => Some(entry::index(generation, Order(order + 1), 0, &[])),
        false => Some(entry::index(Generation(generation.0.checked_add(1)?), Order(0), 0, &[])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_two_strings_is_between_them() {
        let strings: [&[u8]; 7] = [b"", b"\0", b"a", b"key 12", b"key 2", b"l", &[255; 70]];
        for (at, low) in strings.iter().enumerate() {
            for high in &strings[at + 1..] {
                let middle = between(low, high);
                // Strings that differ in zeros alone, or behind the prefix, have nothing between them.
                let close = *high == b"\0" || low.get(..PREFIX) == high.get(..PREFIX) && low.len() > PREFIX;
                assert!(close || *low < &middle[..] && &middle[..] < *high, "{low:?} {middle:?} {high:?}");
            }
        }
    }

    #[test]
    fn the_search_of_an_index_comes_to_its_end() {
        let (mut at, mut steps, mut step) =
            (entry::index(Generation(u32::MAX - 1), Order(0), 5, b"key"), 0, FIRST_SKIP);
        while let Some(next) = skip(&at, step) {
            assert!(next > at);
            (at, steps, step) = (next, steps + 1, step.saturating_mul(2));
        }
        assert!(steps < 100, "{steps}");
    }
}
