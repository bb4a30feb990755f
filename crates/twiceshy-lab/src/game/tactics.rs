//! The bounds of an adversary's search.

use super::{ABSENT, GameError};

/// The bounds of adversaries that search for keys that stay wrong. `None` stands for the filter's own value.
///
/// ```
/// use twiceshy_lab::game::Tactics;
///
/// let patient = Tactics { most_queries: 1 << 30, ..Tactics::default() };
/// assert!(patient.effort > 1.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tactics {
    /// c: `cyclic` and `swapping` try c·v^j keys, where j fingerprints of v values each must agree (c/ε^j in 000's theorems).
    pub effort: f64,
    /// The most look-ups in a game's search before a key is named, also those of `silent-probing`. `unfixable` reduces its set accordingly; its
    /// permutation rounds have their own bound.
    pub most_queries: u64,
    /// j, the number of functions that must agree: 2^s for `cyclic`, b for `swapping`, k for `unfixable`. By default
    /// the filter's. For a filter with one function, `cyclic` assumes s = 1, `swapping` b = 4, `unfixable` k = 2.
    pub functions: Option<u64>,
    /// `unfixable` fails if there are more than this many suspects for each of k (c of 000's footnote 11).
    pub most_suspects: u64,
    /// The most permutation rounds of `unfixable`; the paper has |Q_d|!/(|Q_d| − k)! of them.
    pub most_rounds: u64,
}

impl Default for Tactics {
    fn default() -> Tactics {
        Tactics { effort: 2.0, most_queries: 1 << 22, functions: None, most_suspects: 1024, most_rounds: 1 << 20 }
    }
}

impl Tactics {
    /// Checks that the bounds can be played.
    pub(super) fn check(&self) -> Result<(), GameError> {
        let refuse = |why: String| Err(GameError::Setting(why));
        if !(self.effort > 0.0 && self.effort.is_finite()) {
            return refuse(format!("the effort must be above 0, such as 2, not {}", self.effort));
        }
        if !(1..=ABSENT / 2).contains(&self.most_queries) {
            return refuse(format!("the look-ups of a game must be 1 to {}, not {}", ABSENT / 2, self.most_queries));
        }
        if self.functions.is_some_and(|functions| !(1..=64).contains(&functions)) {
            return refuse("the number of functions must be 1 to 64".into());
        }
        if self.most_suspects == 0 || self.most_rounds == 0 {
            return refuse("the suspects and the permutation rounds must each be at least 1".into());
        }
        Ok(())
    }

    /// The number of keys to try if `functions` fingerprints of `values` values must agree.
    pub(super) fn elements(&self, values: u64, functions: u64) -> u64 {
        // As a float: overflow saturates at the largest number, and the bound on look-ups ends the search.
        (self.effort * (values as f64).powf(functions as f64)).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tactics_that_cannot_be_played_are_refused() {
        let usual = Tactics::default();
        assert!(usual.check().is_ok());
        for effort in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Tactics { effort, ..usual.clone() }.check().is_err(), "{effort}");
        }
        for most_queries in [0, ABSENT] {
            assert!(Tactics { most_queries, ..usual.clone() }.check().is_err(), "{most_queries}");
        }
        for functions in [0, 65] {
            assert!(Tactics { functions: Some(functions), ..usual.clone() }.check().is_err(), "{functions}");
        }
        assert!(Tactics { most_suspects: 0, ..usual.clone() }.check().is_err());
        assert!(Tactics { most_rounds: 0, ..usual }.check().is_err());
    }

    #[test]
    fn a_key_that_agrees_in_all_functions_is_one_in_values_to_their_number() {
        let tactics = Tactics { effort: 3.0, ..Tactics::default() };
        assert_eq!(tactics.elements(15, 2), 675);
        assert_eq!(tactics.elements(7, 4), 3 * 2401);
        assert_eq!(tactics.elements(255, 64), u64::MAX, "and not 0");
    }
}
