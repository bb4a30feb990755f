//! Makes the filters that are attacked.

use super::anatomy::{Anatomy, divided};
use super::defender::Defender;
use super::{GameError, affordable};
use crate::replay::{AnyRemote, FilterName, FilterSpec, Layout, Make, RemoteName};
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
    options: Arc<dyn Make<AnyRemote>>,
    remote: RemoteName,
}

impl Recipe {
    /// The filter that a user gets for this many keys and this rate.
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

    /// A filter by its description, with this many cells or slots, for games with this many keys.
    pub(super) fn of(spec: &FilterSpec, cells: u64, keys: u64) -> Result<Recipe, GameError> {
        let options = spec.options(cells).ok_or_else(|| no_removal(spec.name))?;
        Recipe::new(options.into(), spec.remote, || match spec.layout() {
            layout @ (Layout::Buckets { tables, per_bucket } | Layout::Windows { tables, per_window: per_bucket }) => {
                let shape = layout.shape(cells)?.ok_or_else(|| no_removal(spec.name))?;
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
        // Invalid options are refused before any game, and before anything is computed from them.
        let has_phases = Defender::new(&options, HashKey::fixed(0), remote)?.phase().is_some();
        let (static_rate, anatomy) = known()?;
        Ok(Recipe { static_rate, has_phases, anatomy, is_deaf: false, options, remote })
    }

    /// A broom filter with these options, for games with this many keys.
    pub fn broom(options: BroomOptions, keys: u64) -> Result<Recipe, GameError> {
        let (slots, width) = options.geometry()?;
        Recipe::new(Arc::new(options), RemoteName::ByHash, || Ok(in_slots(keys, slots, width)))
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
