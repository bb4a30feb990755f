//! Changes of raw entries in the maps of a store.

use crate::workload::rng::Rng;
use std::collections::BTreeSet;
use std::ops::Bound;
use twiceshy_store::{Change, CommitError, Durability, Space, Store};

/// What happens to entries of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tampering {
    IndexDropped,
    IndexAltered,
    /// Entries of stored keys under wrong words.
    IndexAdded,
    StateDropped,
    StateGarbled,
    LogDropped,
    LogAltered,
    ValuesAltered,
    ValuesDropped,
}

pub(super) const TAMPERINGS: [Tampering; 9] = [
    Tampering::IndexDropped,
    Tampering::IndexAltered,
    Tampering::IndexAdded,
    Tampering::StateDropped,
    Tampering::StateGarbled,
    Tampering::LogDropped,
    Tampering::LogAltered,
    Tampering::ValuesAltered,
    Tampering::ValuesDropped,
];

/// The keys whose values were harmed.
#[derive(Debug)]
pub(super) struct Harm {
    pub(super) altered: BTreeSet<Vec<u8>>,
    pub(super) dropped: BTreeSet<Vec<u8>>,
    /// `true` if the index names every key, and the state record says where it is.
    pub(super) index_is_whole: bool,
}

impl Default for Harm {
    fn default() -> Harm {
        Harm { altered: BTreeSet::new(), dropped: BTreeSet::new(), index_is_whole: true }
    }
}

impl Harm {
    /// `true` if every value is whole.
    pub(super) fn is_empty(&self) -> bool {
        self.altered.is_empty() && self.dropped.is_empty()
    }
}

type Entry = (Vec<u8>, Vec<u8>);

impl Tampering {
    pub(super) fn draw(rng: &mut Rng) -> Tampering {
        TAMPERINGS[rng.below(TAMPERINGS.len() as u64) as usize]
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Tampering::IndexDropped => "tampered maps: index entries dropped",
            Tampering::IndexAltered => "tampered maps: index entries altered",
            Tampering::IndexAdded => "tampered maps: index entries added",
            Tampering::StateDropped => "tampered maps: state record dropped",
            Tampering::StateGarbled => "tampered maps: state record garbled",
            Tampering::LogDropped => "tampered maps: log records dropped",
            Tampering::LogAltered => "tampered maps: log records altered",
            Tampering::ValuesAltered => "tampered maps: values altered",
            Tampering::ValuesDropped => "tampered maps: values dropped",
        }
    }

    fn space(self) -> Space {
        match self {
            Tampering::IndexDropped | Tampering::IndexAltered | Tampering::IndexAdded => Space::Index,
            Tampering::StateDropped | Tampering::StateGarbled => Space::Meta,
            Tampering::LogDropped | Tampering::LogAltered => Space::Log,
            Tampering::ValuesAltered | Tampering::ValuesDropped => Space::Values,
        }
    }

    /// Changes a few entries, and notes which values are harmed.
    pub(super) fn apply<S: Store>(self, store: &S, rng: &mut Rng, harm: &mut Harm) -> Result<(), S::Error> {
        let entries = entries(store, self.space())?;
        let mut changes = Vec::new();
        for (key, value) in few(&entries, rng) {
            self.change(key, value, rng, harm, &mut changes);
        }
        harm.index_is_whole &= matches!(self.space(), Space::Log | Space::Values);
        store.commit(&changes, Durability::Synced).map_err(|error| match error {
            CommitError::Failed(error) | CommitError::Unknown(error) => error,
        })
    }

    fn change(self, key: Vec<u8>, mut value: Vec<u8>, rng: &mut Rng, harm: &mut Harm, changes: &mut Vec<Change>) {
        let space = self.space();
        let mut put = |key: Vec<u8>, value: Option<Vec<u8>>| changes.push(Change { space, key, value });
        match self {
            Tampering::IndexDropped | Tampering::LogDropped | Tampering::StateDropped => put(key, None),
            Tampering::IndexAltered | Tampering::IndexAdded => {
                let mut other = key.clone();
                // Generation, order, word and key; in an added entry only the word is wrong.
                let whole = self == Tampering::IndexAltered;
                let (from, to) = if whole { (0, other.len()) } else { (5, other.len().min(13)) };
                flip(&mut other, from, to, rng);
                if whole {
                    put(key, None);
                }
                put(other, Some(value));
            }
            Tampering::StateGarbled | Tampering::LogAltered => {
                garble(&mut value, rng);
                put(key, Some(value));
            }
            Tampering::ValuesAltered if !harm.dropped.contains(&key) => {
                garble(&mut value, rng);
                harm.altered.insert(key.clone());
                put(key, Some(value));
            }
            Tampering::ValuesDropped if !harm.altered.contains(&key) => {
                harm.dropped.insert(key.clone());
                put(key, None);
            }
            Tampering::ValuesAltered | Tampering::ValuesDropped => {}
        }
    }
}

/// One to five of the entries. The values of most keys stay whole.
fn few(entries: &[Entry], rng: &mut Rng) -> Vec<Entry> {
    let most = 1 + rng.below((entries.len() as u64 / 4).clamp(1, 5));
    let chosen: BTreeSet<u64> = (0..most).map(|_| rng.below(entries.len() as u64)).collect();
    chosen.iter().filter_map(|at| entries.get(*at as usize)).cloned().collect()
}

/// Flips a bit within a range of bytes.
fn flip(bytes: &mut [u8], from: usize, to: usize, rng: &mut Rng) {
    let at = from + rng.below((to - from) as u64) as usize;
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << rng.below(8);
    }
}

/// Flips a bit, cuts the bytes off, or appends one.
fn garble(bytes: &mut Vec<u8>, rng: &mut Rng) {
    match rng.below(6) {
        0 if !bytes.is_empty() => bytes.truncate(rng.below(bytes.len() as u64) as usize),
        1 => bytes.push(rng.word() as u8),
        _ => {
            let len = bytes.len();
            flip(bytes, 0, len, rng);
        }
    }
}

/// All entries of a map.
fn entries<S: Store>(store: &S, space: Space) -> Result<Vec<Entry>, S::Error> {
    let mut entries = Vec::new();
    store.scan(space, Bound::Unbounded, &mut |key, value| {
        entries.push((key.to_vec(), value.to_vec()));
        true
    })?;
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use twiceshy_store::{Memory, Options};

    #[test]
    fn every_tampering_changes_its_map_and_no_other() {
        for tampering in TAMPERINGS {
            let memory = Memory::new();
            let guard = Options::new().open(memory.open().expect("nobody")).expect("an empty store");
            guard.insert_all((0..100u64).map(|number| (number.to_be_bytes(), b"value"))).expect("memory");
            drop(guard);
            let store = memory.open().expect("nobody");
            let all = || Space::ALL.map(|space| entries(&store, space).expect("memory"));
            for seed in 0..20 {
                let (before, mut harm) = (all(), Harm::default());
                tampering.apply(&store, &mut Rng::new(seed), &mut harm).expect("memory");
                for ((space, before), after) in Space::ALL.into_iter().zip(before).zip(all()) {
                    let meant = space == tampering.space() && !before.is_empty();
                    assert_eq!(before != after, meant, "{tampering:?}, {space:?}, {seed}");
                }
                assert_eq!(harm.is_empty(), tampering.space() != Space::Values);
            }
        }
    }
}
