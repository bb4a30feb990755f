//! Reading what can be read of a store whose file is damaged beyond repair.

use crate::checking::{Named, printable};
use crate::entry;
use crate::state::State;
use crate::store::{Space, Store};
use crate::sum;
use std::collections::BTreeSet;
use std::ops::Bound;
use twiceshy::remote::{Generation, Order};

/// How many entries, and how many of their bytes, are read at once.
const READ_AT_ONCE: usize = 1_000;
const BYTES_AT_ONCE: usize = 4 << 20;

/// How far the search for readable index entries goes on behind one that is not: the words of all keys are 2^64.
const WORDS_SKIPPED: u64 = 1 << 52;

/// How often the search goes on behind an index entry that cannot be read. If the index has lost its root, nothing can be.
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
    /// Ranges in which there may be keys that nothing is known about.
    pub(crate) ranges: Vec<String>,
}

/// Reads the values of a damaged store, and passes them on in batches. Keys that the values no longer show are looked for
/// in the index.
pub(crate) struct Salvage<'a, S> {
    store: &'a S,
    sums: bool,
    losses: Losses,
    /// The keys that are lost: the index may have several entries for each.
    lost: BTreeSet<Vec<u8>>,
}

impl<'a, S: Store> Salvage<'a, S> {
    /// `state` is the store's, if it can be read.
    pub(crate) fn new(store: &'a S, state: Option<&State>) -> Salvage<'a, S> {
        let sums = state.map_or_else(|| has_sums(store), |state| state.sums);
        Salvage { store, sums, losses: Losses::default(), lost: BTreeSet::new() }
    }

    /// `save` keeps a batch, and `is_saved` says whether a key was in one.
    pub(crate) fn run<E>(
        mut self,
        mut save: impl FnMut(Vec<Entry>) -> Result<(), E>,
        is_saved: impl Fn(&[u8]) -> Result<bool, E>,
    ) -> Result<Losses, E> {
        let gaps = self.read_values(&mut save)?;
        if !gaps.is_empty() && !self.search_index(&mut save, is_saved)? {
            // The index has gaps as well.
            self.losses.ranges = gaps;
        }
        Ok(self.losses)
    }

    /// Reads the values in order. Returns the ranges that cannot be read.
    fn read_values<E>(&mut self, save: &mut impl FnMut(Vec<Entry>) -> Result<(), E>) -> Result<Vec<String>, E> {
        let (mut gaps, mut from) = (Vec::new(), Bound::Unbounded);
        loop {
            let (some, ended) = self.read_some(Space::Values, &from);
            let last = some.last().map(|(key, _)| key.clone());
            self.keep(some, save)?;
            from = match (ended, last) {
                (Ended::Limit, Some(last)) => Bound::Excluded(last),
                (Ended::Error, last) => {
                    let last = last.or_else(|| bound_key(&from)).unwrap_or_default();
                    let Some(next) = self.readable_after(&last) else {
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

    /// The next key after one that can be read: tries ever larger steps.
    fn readable_after(&self, last: &[u8]) -> Option<Vec<u8>> {
        // All keys that begin as this one does come before it with a larger last byte.
        let larger = |at: usize| Some([&last[..at], &[last[at].checked_add(1)?]].concat());
        let mut steps: Vec<Vec<u8>> = (0..last.len().min(PREFIX)).rev().filter_map(larger).collect();
        if last.is_empty() {
            steps = (1..=u8::MAX).map(|first| vec![first]).collect();
        }
        for from in steps {
            let mut next = None;
            let scanned = self.store.scan(Space::Values, Bound::Included(&from), &mut |key, _| {
                next = Some(key.to_vec());
                false
            });
            if scanned.is_ok() {
                return next;
            }
        }
        None
    }

    /// Looks up the keys of the index. `true` if all of it could be read.
    fn search_index<E>(
        &mut self,
        save: &mut impl FnMut(Vec<Entry>) -> Result<(), E>,
        is_saved: impl Fn(&[u8]) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let (mut skips, mut from) = (0, Bound::Unbounded);
        loop {
            let (some, ended) = self.read_some(Space::Index, &from);
            let last = some.last().map(|(entry, _)| entry.clone());
            let mut found = Vec::new();
            for (bytes, _) in some {
                let Some((_, key)) = entry::parse_index(&bytes) else { continue };
                if is_saved(key)? || self.lost.contains(key) {
                    continue;
                }
                match self.store.get(Space::Values, key) {
                    Ok(Some(value)) => found.push((key.to_vec(), value)),
                    // It was removed, or a page above it is damaged: nobody can tell.
                    Ok(None) | Err(_) => self.lose(key),
                }
            }
            self.keep(found, save)?;
            from = match (ended, last) {
                (Ended::Limit, Some(last)) => Bound::Excluded(last),
                (Ended::Error, last) => {
                    skips += 1;
                    let next = skip(&last.or_else(|| bound_key(&from)).unwrap_or_default());
                    let Some(next) = next.filter(|_| skips < MOST_SKIPS) else { return Ok(false) };
                    Bound::Included(next)
                }
                _ => return Ok(skips == 0),
            };
        }
    }

    /// Some entries of a map, up to a limit, the end, or one that cannot be read.
    fn read_some(&self, space: Space, from: &Bound<Vec<u8>>) -> (Vec<Entry>, Ended) {
        let (mut some, mut bytes, mut full) = (Vec::new(), 0, false);
        let scanned = self.store.scan(space, from.as_ref().map(Vec::as_slice), &mut |key, value| {
            bytes += key.len() + value.len();
            some.push((key.to_vec(), value.to_vec()));
            full = some.len() >= READ_AT_ONCE || bytes >= BYTES_AT_ONCE;
            !full
        });
        let ended = match scanned {
            Err(_) => Ended::Error,
            Ok(()) if full => Ended::Limit,
            Ok(()) => Ended::All,
        };
        (some, ended)
    }

    /// Saves the entries whose values are sound.
    fn keep<E>(&mut self, some: Vec<Entry>, save: &mut impl FnMut(Vec<Entry>) -> Result<(), E>) -> Result<(), E> {
        let mut sound = Vec::new();
        for (key, value) in some {
            match if self.sums { sum::unseal(&key, value) } else { Some(value) } {
                Some(value) => sound.push((key, value)),
                None => self.lose(&key),
            }
        }
        if sound.is_empty() { Ok(()) } else { save(sound) }
    }
}

impl<S> Salvage<'_, S> {
    fn lose(&mut self, key: &[u8]) {
        if self.lost.insert(key.to_vec()) {
            self.losses.keys.add(key);
        }
    }
}

/// Why reading stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Limit,
    All,
    Error,
}

fn bound_key(bound: &Bound<Vec<u8>>) -> Option<Vec<u8>> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key.clone()),
        Bound::Unbounded => None,
    }
}

/// Where to go on in the index behind an entry that cannot be read.
fn skip(last: &[u8]) -> Option<Vec<u8>> {
    let generation = entry::generation(last).unwrap_or(Generation(0));
    let order = Order(last.get(4).copied().unwrap_or(0));
    let word = entry::parse_index(last).map_or(0, |(word, _)| word);
    if let Some(word) = word.checked_add(WORDS_SKIPPED) {
        return Some(entry::index(generation, order, word, &[]));
    }
    match order.0 < MOST_ORDERS {
        true => Some(entry::index(generation, Order(order.0 + 1), 0, &[])),
        false => Some(entry::index(Generation(generation.0.checked_add(1)?), Order(0), 0, &[])),
    }
}

/// `true` if values end with checksums, as far as they can be read.
fn has_sums<S: Store>(store: &S) -> bool {
    let (mut values, mut sound) = (0u64, 0u64);
    // An error ends the search: what was read so far decides.
    let _ = store.scan(Space::Values, Bound::Unbounded, &mut |key, value| {
        values += 1;
        sound += u64::from(sum::content(key, value).is_some());
        sound == 0
    });
    sound > 0 || values == 0
}
