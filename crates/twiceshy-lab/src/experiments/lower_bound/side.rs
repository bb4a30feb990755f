//! The filters that the lower bound is about, and the broom filter beside them.

use crate::baseline::{Bloom, Evicts, MistakeList, WithMistakes};
use crate::broom::loaded;
use crate::experiment::TaskError;
use twiceshy::AdaptiveFilter;
use twiceshy::cuckoo::CuckooFilter;
use twiceshy::filter::Filter;
use twiceshy::hash::HashKey;
use twiceshy::quotient::BroomFilter;
use twiceshy::remote::ByHash;

/// The remainder bits of the broom filter: a rate of 11 % when full.
const REMAINDER: u32 = 3;

/// A load at which a partial-key cuckoo filter of small fingerprints takes all keys under most hash keys.
pub(super) const CUCKOO_LOAD: f64 = 0.9;

/// How many hash keys to try for a cuckoo filter.
const HASH_KEYS: u64 = 50;

/// The local filter under a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Base {
    /// A Bloom filter with this many bits a key.
    Bloom(f64),
    /// A partial-key cuckoo filter with cells of this many bits, the filter that needs no remote for anything.
    Cuckoo(u32),
}

/// Which mistakes a filter lists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum List {
    /// All: 001 Lemma 28.
    All,
    /// As many as fit into this many bits a key: the first, the latest, or any.
    First(f64),
    Latest(f64),
    Any(f64),
}

/// A filter to be attacked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Side {
    /// Without a remote.
    Alone(Base, List),
    /// A broom filter, with R.
    Broom,
}

impl Side {
    /// Its name in tables and legends.
    pub(super) fn label(self) -> &'static str {
        match self {
            Side::Alone(Base::Bloom(_), List::All) => LISTED,
            Side::Alone(Base::Bloom(_), List::First(_)) => "Bloom, the first mistakes listed",
            Side::Alone(Base::Bloom(_), List::Latest(_)) => "Bloom, the latest mistakes listed",
            Side::Alone(Base::Bloom(_), List::Any(_)) => "Bloom, random mistakes listed",
            Side::Alone(Base::Cuckoo(_), _) => "partial-key cuckoo, mistakes listed",
            Side::Broom => BROOM,
        }
    }
}

pub(super) const LISTED: &str = "Bloom, all mistakes listed";
pub(super) const BROOM: &str = "broom, with R";

/// A filter that holds its keys.
#[derive(Clone, Debug)]
pub(super) enum Held {
    Bloom(WithMistakes<Bloom>),
    Cuckoo(WithMistakes<CuckooFilter>),
    Broom(Box<AdaptiveFilter<BroomFilter, ByHash>>),
}

impl Held {
    /// A filter with these keys.
    pub(super) fn new(side: Side, keys: &[Vec<u8>], seed: u64) -> Result<Held, TaskError> {
        let count = keys.len() as u64;
        match side {
            Side::Alone(Base::Bloom(bits), list) => {
                let bits = (bits * count as f64).ceil() as u64;
                let mut filter = Bloom::new(bits, 1, count, HashKey::fixed(seed));
                keys.iter().for_each(|key| filter.insert(key));
                Ok(Held::Bloom(WithMistakes::with(filter, list.open(count, seed))))
            }
            Side::Alone(Base::Cuckoo(bits), list) => {
                let cells = (count as f64 / CUCKOO_LOAD).ceil() as u64;
                let made = (0..HASH_KEYS).find_map(|number| {
                    let hash = HashKey::fixed(seed.wrapping_add(number));
                    let mut filter = CuckooFilter::with_cells(cells, bits).build(hash).ok()?;
                    keys.iter().all(|key| filter.insert(key).is_ok()).then_some(filter)
                });
                let filter = made.ok_or_else(|| TaskError::new("the keys do not fit under any hash key"))?;
                Ok(Held::Cuckoo(WithMistakes::with(filter, list.open(count, seed))))
            }
            Side::Broom => {
                let options = loaded(count, REMAINDER);
                let mut filter = options.build(HashKey::fixed(seed), ByHash::new()).map_err(TaskError::new)?;
                for key in keys {
                    filter.insert(key).map_err(TaskError::new)?;
                }
                Ok(Held::Broom(Box::new(filter)))
            }
        }
    }

    /// The filter's answer.
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        match self {
            Held::Bloom(filter) => filter.contains(key),
            Held::Cuckoo(filter) => filter.contains(key),
            Held::Broom(filter) => filter.contains(key),
        }
    }

    /// The answers of this state to many keys. Unlike look-ups, they leave no trace in a list by use.
    pub(super) fn answers(&self, keys: &[Vec<u8>]) -> Vec<bool> {
        let of = |held: &Held| keys.iter().map(|key| held.contains(key)).collect();
        match self {
            Held::Broom(_) => of(self),
            listing => of(&listing.clone()),
        }
    }

    /// Tells the filter about a false positive.
    pub(super) fn was_wrong(&mut self, query: &[u8]) -> Result<(), TaskError> {
        match self {
            Held::Bloom(filter) => filter.note(query),
            Held::Cuckoo(filter) => filter.note(query),
            Held::Broom(filter) => drop(filter.was_wrong(query).map_err(TaskError::new)?),
        }
        Ok(())
    }

    /// The bits of L.
    pub(super) fn local_bits(&self) -> u64 {
        match self {
            Held::Bloom(filter) => filter.local_bits(),
            Held::Cuckoo(filter) => filter.local_bits(),
            Held::Broom(filter) => filter.local_bits(),
        }
    }
}

impl List {
    /// An empty list for a filter of this many keys.
    fn open(self, keys: u64, seed: u64) -> MistakeList {
        let (bits, evicts) = match self {
            List::All => (None, Evicts::Nothing),
            List::First(bits) => (Some(bits), Evicts::Nothing),
            List::Latest(bits) => (Some(bits), Evicts::LeastRecent),
            List::Any(bits) => (Some(bits), Evicts::Random(seed)),
        };
        MistakeList::new(bits.map(|bits| (bits * keys as f64 / 8.0) as u64), evicts)
    }
}
