//! Attacked filters with a geometry that the user chooses.

use super::dispatch::Recipe;
use super::{GameError, affordable};
use crate::replay::{FilterSpec, ReplayError};
use twiceshy::hash::HashKind;

/// The default load, if the shape allows it.
const PLANNED: f64 = 0.95;

impl Recipe {
    /// A filter by its description, for games with this many keys at this load. The default load is what the shape is planned
    /// for, at most 95 %. With [`RemoteName::Mirror`](crate::replay::RemoteName::Mirror) a cuckoo filter of a million keys is
    /// filled in 3 to 4 s; a remote by hash takes 5 s for two tables and 20 s for four.
    ///
    /// ```
    /// use twiceshy::Kind;
    /// use twiceshy_lab::game::Recipe;
    /// use twiceshy_lab::replay::FilterSpec;
    ///
    /// let spec = FilterSpec { selector_bits: Some(2), ..FilterSpec::new(Kind::Cyclic, 10) };
    /// let recipe = Recipe::shaped(&spec, 1000, Some(0.9))?;
    /// assert_eq!(format!("{:.4}", recipe.static_rate()), "0.0140", "3.6 cells in use, 255 values");
    /// # Ok::<(), twiceshy_lab::game::GameError>(())
    /// ```
    pub fn shaped(spec: &FilterSpec, keys: u64, load: Option<f64>) -> Result<Recipe, GameError> {
        check(spec)?;
        affordable(keys)?;
        let layout = spec.layout();
        let load = load.unwrap_or_else(|| layout.design_load().min(PLANNED));
        if !(load > 0.0 && load <= 1.0) {
            let why = format!("the load must be above 0 and up to 1, such as 0.95, not {load}");
            return Err(GameError::Setting(why));
        }
        if keys == 0 {
            return Err(GameError::Setting("the number of keys must be at least 1, not 0".into()));
        }
        let cells = layout.cells((keys as f64 / load).ceil() as u64)?;
        Recipe::of(spec, cells, keys)
    }
}

/// Refuses options that the filter does not have, and filters that cannot play.
fn check(spec: &FilterSpec) -> Result<(), GameError> {
    spec.check().map_err(|error| match error {
        ReplayError::Options(error) => GameError::Options(error),
        error => GameError::Setting(error.to_string()),
    })?;
    if spec.partial_key {
        let why = "a partial-key filter cannot take another hash key, since it knows no keys: leave --partial-key out";
        return Err(GameError::Setting(why.into()));
    }
    if spec.hash != HashKind::SipHash13 {
        let why = "games are played under a hash that keeps its key secret: leave --hash out";
        return Err(GameError::Setting(why.into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::oracle::Oracle;
    use super::*;
    use crate::replay::{FilterName, RemoteName};
    use crate::workload::keys::Keys;
    use crate::workload::rng::Rng;
    use twiceshy::Kind;

    #[test]
    fn every_filter_is_made_in_the_geometry_that_was_asked_for() {
        let keys = Keys::new(2_000, 100_000, 3).expect("few keys");
        for &name in Kind::ALL {
            for remote in [RemoteName::ByHash, RemoteName::Mirror] {
                let spec = FilterSpec { remote, ..FilterSpec::new(name, 6) };
                let Ok(recipe) = Recipe::shaped(&spec, 2_000, Some(0.9)) else {
                    assert!(!FilterName::OVER_BUCKETS.contains(&name.into()), "{name} has a mirror");
                    continue;
                };
                let oracle = Oracle::setup(&recipe, &keys, Rng::new(1)).expect("room for all");
                let wrong = (0..100_000).filter(|at| oracle.is_false_positive(&keys.absent(*at))).count() as f64;
                let expected = 100_000.0 * recipe.static_rate;
                assert!((wrong - expected).abs() < 0.1 * expected, "{name}: {wrong} wrong, {expected} by the formula");
            }
        }
    }

    #[test]
    fn what_cannot_be_made_is_refused() {
        let refused = |spec: FilterSpec, keys, load| Recipe::shaped(&spec, keys, load).is_err();
        let cyclic = FilterSpec::new(Kind::Cyclic, 8);
        assert!(!refused(cyclic.clone(), 100, None));
        for load in [0.0, -1.0, 1.5, f64::NAN] {
            assert!(refused(cyclic.clone(), 100, Some(load)), "{load}");
        }
        assert!(refused(cyclic.clone(), 0, None) && refused(cyclic.clone(), 1 << 33, None));
        assert!(refused(FilterSpec { selector_bits: Some(9), ..cyclic.clone() }, 100, None));
        assert!(refused(FilterSpec { hash: HashKind::Xxh3, ..cyclic.clone() }, 100, None));
        assert!(refused(FilterSpec { all_cells: true, ..cyclic }, 100, None));
        assert!(refused(FilterSpec { partial_key: true, ..FilterSpec::new(Kind::FullKey, 8) }, 100, None));
        assert!(refused(FilterSpec { tables: Some(2), ..FilterSpec::new(Kind::Quotient, 8) }, 100, None));
    }
}
