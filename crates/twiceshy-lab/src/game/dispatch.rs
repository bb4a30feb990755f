//! From a filter's name to filters that can be attacked.

use super::anatomy::{Anatomy, divided};
use super::defender::Defender;
use super::{GameError, affordable};
use crate::replay::{AnyRemote, FilterName, FilterSpec, Layout, Make, RemoteName};
use std::sync::Arc;
use twiceshy::Kind;
use twiceshy::cuckoo::Shape;
use twiceshy::error::OptionsError;
use twiceshy::hash::HashKey;
use twiceshy::quotient::BroomOptions;
use twiceshy::sizing::{cuckoo_rate, quotient_rate};

/// How to make one kind of filter in one size, again and again.
pub struct Recipe {
    /// The rate of keys never asked for in a full filter. It is below ε, since bits come whole.
    pub(super) static_rate: f64,
    /// Whether its keys take other hash functions, phase by phase.
    pub(super) has_phases: bool,
    /// What an adversary may know of it.
    pub(super) anatomy: Anatomy,
    options: Arc<dyn Make<AnyRemote>>,
    remote: RemoteName,
}

impl Recipe {
    /// The recipe of the filter that a user gets who asks for so many keys and this rate.
    pub fn named(name: impl Into<FilterName>, keys: u64, rate: f64) -> Result<Recipe, GameError> {
        affordable(keys)?;
        match name.into() {
            FilterName::Ours(kind) => {
                let (cells, width) = kind.geometry(keys, rate)?;
                Recipe::of(&FilterSpec::new(kind, width), cells, keys)
            }
            rival => Err(no_removal(rival)),
        }
    }

    /// A filter by its description with this many cells or slots, in games of this many keys.
    pub(super) fn of(spec: &FilterSpec, cells: u64, keys: u64) -> Result<Recipe, GameError> {
        let options = spec.options(cells).ok_or_else(|| no_removal(spec.name))?;
        Recipe::new(options.into(), spec.remote, || match spec.layout() {
            Layout::Buckets { tables, per_bucket } => {
                let shape = Shape::with_cells(tables, per_bucket, cells).map_err(OptionsError::from)?;
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

    fn new(
        options: Arc<dyn Make<AnyRemote>>,
        remote: RemoteName,
        known: impl FnOnce() -> Result<(f64, Anatomy), GameError>,
    ) -> Result<Recipe, GameError> {
        // What cannot be built is refused before any game, and before anything is worked out from it.
        let has_phases = Defender::new(&options, HashKey::fixed(0), remote)?.phase().is_some();
        let (static_rate, anatomy) = known()?;
        Ok(Recipe { static_rate, has_phases, anatomy, options, remote })
    }

    /// A broom filter as the options have it, in games of this many keys.
    pub fn broom(options: BroomOptions, keys: u64) -> Result<Recipe, GameError> {
        let (slots, width) = options.geometry()?;
        Recipe::new(Arc::new(options), RemoteName::ByHash, || Ok(in_slots(keys, slots, width)))
    }

    /// The rate of keys never asked for, by the formula, in a filter that holds its keys.
    pub fn static_rate(&self) -> f64 {
        self.static_rate
    }

    /// An empty filter under a hash key.
    pub(super) fn build(&self, hash: HashKey) -> Result<Defender, GameError> {
        Defender::new(&self.options, hash, self.remote)
    }
}

/// The static rate and the geometry of a filter of the quotient family.
fn in_slots(keys: u64, slots: u64, width: u32) -> (f64, Anatomy) {
    let anatomy = Anatomy { tables: 1, buckets: slots, cells_per_bucket: 1, functions: 1, values: 1 << width };
    (quotient_rate(keys as f64 / slots as f64, width), anatomy)
}

/// Why a rival cannot play.
fn no_removal(name: FilterName) -> GameError {
    let ours: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    let ours = ours.join(", ");
    GameError::Setting(format!("{name} cannot play, since the game may ask for removals and it has none: take {ours}"))
}
