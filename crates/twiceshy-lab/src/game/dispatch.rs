//! Makes the filters that are attacked.

use super::adversary::{AdversaryName, Move};
use super::anatomy::{Anatomy, divided};
use super::body::Plan;
use super::defender::Defender;
use super::rivals::{CACHE_BITS, bloom_bits, bloom_rate};
use super::{GameError, affordable};
use crate::baseline::{Evicts, MistakeList};
use crate::replay::{FilterName, FilterSpec, Layout, RemoteName};
use std::sync::Arc;
use twiceshy::Kind;
use twiceshy::hash::HashKey;
use twiceshy::quotient::BroomOptions;
use twiceshy::sizing::{cuckoo_rate, quotient_rate};

/// Makes filters of one kind and size.
pub struct Recipe {
    /// The false-positive rate of a full filter for keys never asked before. Below ε, since widths are whole bits.
    pub(super) static_rate: f64,
    /// `true` if its keys take other hash functions, phase by phase.
    pub(super) has_phases: bool,
    /// What an adversary may know about the filter.
    pub(super) anatomy: Anatomy,
    /// `true` if the filter is not told of mistakes about every second key.
    pub(super) is_deaf: bool,
    plan: Plan,
    list: Option<ListSize>,
}

/// How many mistakes a filter lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListSize {
    All,
    Bytes(u64),
}

/// A filter from outside has no recipe.
fn foreign() -> GameError {
    GameError::Setting("a filter from outside cannot be attacked: choose one of this project's".into())
}

impl Recipe {
    /// The filter that a user gets for this many keys and this rate.
    pub fn named(name: impl Into<FilterName>, keys: u64, rate: f64) -> Result<Recipe, GameError> {
        affordable(keys)?;
        let name = name.into();
        let (cells, width) = match name {
            FilterName::Ours(kind) => kind.geometry(keys, rate)?,
            FilterName::CuckooCache => {
                let (cells, width) = Kind::FullKey.geometry(keys, rate)?;
                (cells, width + CACHE_BITS)
            }
            FilterName::Foreign => return Err(foreign()),
            FilterName::Bloom | FilterName::BlockedBloom | FilterName::BloomListed => {
                (Layout::Bits.cells(keys)?, bloom_bits(name, rate)?)
            }
        };
        Recipe::of(&FilterSpec::new(name, width), cells, keys)
    }

    /// A filter by its description, with this many cells or slots, for games with this many keys.
    pub(super) fn of(spec: &FilterSpec, cells: u64, keys: u64) -> Result<Recipe, GameError> {
        match spec.name {
            FilterName::Ours(_) => Recipe::ours(spec, cells, keys),
            FilterName::Foreign => Err(foreign()),
            FilterName::CuckooCache => {
                let cache = spec.cache_bits.unwrap_or(CACHE_BITS);
                let bits = spec.bits.checked_sub(cache).filter(|left| *left >= 2).ok_or_else(|| {
                    GameError::Setting(format!(
                        "a list of {cache} bits per cell leaves less than 2 of {}: raise --bits",
                        spec.bits
                    ))
                })?;
                let plain = FilterSpec { name: Kind::FullKey.into(), bits, cache_bits: None, ..spec.clone() };
                let list = Some(ListSize::Bytes(cells * u64::from(cache) / 8));
                Ok(Recipe { list, ..Recipe::ours(&plain, cells, keys)? })
            }
            name @ (FilterName::Bloom | FilterName::BlockedBloom | FilterName::BloomListed) => {
                let bits = spec.bits;
                if !(2..=64).contains(&bits) {
                    return Err(GameError::Setting(format!("the bits of a cell must be 2 to 64, not {bits}")));
                }
                let list = (name == FilterName::BloomListed).then_some(ListSize::All);
                let plan = Plan::Bloom { cells, bits, keys, is_blocked: name == FilterName::BlockedBloom };
                let static_rate = bloom_rate(name, cells as f64 * f64::from(bits) / keys as f64);
                // Adversaries that reckon with cells meet it as a table with as many buckets as keys.
                let values = (1.0 / static_rate).round().max(1.0) as u64;
                let anatomy = Anatomy { tables: 1, buckets: keys, cells_per_bucket: 1, functions: 1, values };
                Ok(Recipe { list, ..Recipe::new(plan, || Ok((static_rate, anatomy)))? })
            }
        }
    }

    /// A filter of this project by its description.
    fn ours(spec: &FilterSpec, cells: u64, keys: u64) -> Result<Recipe, GameError> {
        let no_options = || GameError::Setting(format!("{} has no options to make it from", spec.name));
        let options = spec.options(cells).ok_or_else(no_options)?;
        Recipe::new(Plan::Ours { options: options.into(), remote: spec.remote }, || match spec.layout() {
            layout @ (Layout::Buckets { tables, per_bucket } | Layout::Windows { tables, per_window: per_bucket }) => {
                let shape = layout.shape(cells)?.ok_or_else(no_options)?;
                let selectors = (spec.name == Kind::Cyclic.into()).then(|| spec.selectors());
                let (functions, values) = divided(selectors.as_ref(), spec.bits)?;
                let buckets = shape.buckets();
                let anatomy = Anatomy { tables, buckets, cells_per_bucket: per_bucket, functions, values };
                let load = keys as f64 / shape.cells() as f64;
                Ok((cuckoo_rate(load, values, tables * per_bucket), anatomy))
            }
            Layout::Slots | Layout::Bits => Ok(in_slots(keys, cells, spec.bits)),
        })
    }

    fn new(plan: Plan, known: impl FnOnce() -> Result<(f64, Anatomy), GameError>) -> Result<Recipe, GameError> {
        // Invalid options are refused before any game, and before anything is computed from them.
        let has_phases = Defender::new(&plan, None, HashKey::fixed(0))?.phase().is_some();
        let (static_rate, anatomy) = known()?;
        Ok(Recipe { static_rate, has_phases, anatomy, is_deaf: false, plan, list: None })
    }

    /// A broom filter with these options, for games with this many keys.
    pub fn broom(options: BroomOptions, keys: u64) -> Result<Recipe, GameError> {
        let (slots, width) = options.geometry()?;
        let plan = Plan::Ours { options: Arc::new(options), remote: RemoteName::ByHash };
        Recipe::new(plan, || Ok(in_slots(keys, slots, width)))
    }

    /// A filter that is not told of mistakes about every second key: an error to be found, for tests of the experiments.
    #[must_use]
    pub(crate) fn deaf_to_odd_keys(self) -> Recipe {
        Recipe { is_deaf: true, ..self }
    }

    /// The rate of a full filter for keys never asked before, by the formula.
    pub fn static_rate(&self) -> f64 {
        self.static_rate
    }

    /// An empty filter under a hash key.
    pub(super) fn build(&self, hash: HashKey) -> Result<Defender, GameError> {
        let list = self.list.map(|size| match size {
            ListSize::All => MistakeList::new(None, Evicts::LeastRecent),
            ListSize::Bytes(bytes) => MistakeList::new(Some(bytes), Evicts::LeastRecent),
        });
        Defender::new(&self.plan, list, hash)
    }

    /// `true` if the filter can do what an adversary asks of it. A Bloom filter can only be asked.
    pub fn can_meet(&self, adversary: AdversaryName) -> bool {
        self.plan.knows_its_keys() || adversary.moves().iter().all(|it| *it == Move::Ask)
    }
}

/// The static rate and the geometry of a filter of the quotient family.
fn in_slots(keys: u64, slots: u64, width: u32) -> (f64, Anatomy) {
    let anatomy = Anatomy { tables: 1, buckets: slots, cells_per_bucket: 1, functions: 1, values: 1 << width };
    (quotient_rate(keys as f64 / slots as f64, width), anatomy)
}
