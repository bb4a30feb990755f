//! How large a trial is: the keys that it stores, and the part of the traffic that it asks.

/// The most stored keys of a trial, approximately.
pub(super) const MOST_STORED: f64 = 8_192.0;

/// A trial with fewer stored keys than this, or than the store to be made, would not be loaded as that store is: the
/// smallest filter has room for about 900 keys.
pub(super) const FEWEST_STORED: f64 = 2_048.0;

/// The most queries of a trial, approximately.
pub(super) const MOST_QUERIES: f64 = 1_000_000.0;

/// The most requests of a trace that are read, and that a trial asks.
pub(super) const MOST_REQUESTS: u64 = 8_000_000;

/// A filter makes few mistakes among few keys. So a trial asks for this many distinct keys for each stored one, even if the
/// traffic has fewer: still few enough that learning about one hardly ever undoes what was learned about another.
const FEWEST_ASKED: f64 = 0.25;

/// A trace with fewer distinct keys than this says little about the traffic.
pub(super) const FEWEST_DISTINCT: u64 = 100;

/// The recorded traffic, and the keys stored with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recorded {
    /// The keys that belong to the traffic by its A/S.
    pub(super) stored: u64,
    /// `true` if any number of other keys can be stored, since those of the traffic are made up.
    pub(super) made_up: bool,
    pub(super) distinct: u64,
    pub(super) queries: u64,
}

/// The size of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    /// The stored keys, approximately if they are from the traffic.
    pub(super) stored: u64,
    /// Every request is asked for this many keys, each a copy of the recorded one: more keys of the same popularity.
    pub(super) copies: u64,
    /// One in this many distinct keys is asked for; 1 if there is more than one copy.
    pub(super) share: f64,
}

impl Scale {
    /// The size for a store of `keys` keys; `Err` with the reason if the traffic has too few distinct keys.
    ///
    /// A/S is that of the traffic, or higher if that is very low. A filter that learns forgets more at a higher one, so its
    /// rate is not promised too low.
    pub(super) fn of(recorded: &Recorded, keys: u64) -> Result<Scale, String> {
        let Recorded { stored, made_up, distinct, queries } = *recorded;
        if distinct < FEWEST_DISTINCT {
            return Err(format!(
                "the trace has {distinct} distinct keys, too few to measure a filter with: use a longer trace, with \
                 {FEWEST_DISTINCT} or more"
            ));
        }
        let (whole, asked) = (stored as f64, queries as f64);
        let wanted = (whole / MOST_STORED).max(asked / MOST_QUERIES).max(1.0);
        let fewest = FEWEST_STORED.min(keys as f64);
        let part = (whole / wanted).max(fewest);
        if part > whole {
            return Scale::copied(recorded, (part / whole).ceil() as u64);
        }
        let asked_for = if made_up { part * FEWEST_ASKED / distinct as f64 } else { 0.0 };
        let factor = (part / whole).max(asked_for);
        let copies = factor.min(MOST_QUERIES / asked).floor().max(1.0);
        Ok(Scale { stored: part.round() as u64, copies: copies as u64, share: factor.recip().max(1.0) })
    }

    /// All of the traffic, and copies of it.
    fn copied(recorded: &Recorded, copies: u64) -> Result<Scale, String> {
        if copies.saturating_mul(recorded.queries) > MOST_REQUESTS {
            return Err(format!(
                "the trace has {} distinct keys, too few to measure a filter with at this A/S, which belongs to {} stored keys: use \
                 a trace with more distinct keys, or lower --ratio",
                recorded.distinct, recorded.stored
            ));
        }
        Ok(Scale { stored: recorded.stored * copies, copies, share: 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Recorded = Recorded { stored: 1_000_000, made_up: true, distinct: 750, queries: 60_000 };

    #[test]
    fn a_short_trace_is_copied_to_the_load_of_the_store_and_to_its_ratio() {
        let scale = Scale::of(&Recorded { stored: 75, ..SHORT }, 1_000_000).expect("few queries");
        assert_eq!(scale, Scale { stored: 28 * 75, copies: 28, share: 1.0 });
        // The store itself, if it is that small.
        let scale = Scale::of(&Recorded { stored: 75, ..SHORT }, 75).expect("few queries");
        assert_eq!(scale, Scale { stored: 75, copies: 1, share: 1.0 });
    }

    #[test]
    fn all_keys_of_a_short_trace_are_asked_for_however_many_are_stored() {
        let scale = Scale::of(&SHORT, 1_000_000).expect("few queries");
        assert_eq!(scale, Scale { stored: 8_192, copies: 2, share: 1.0 });
        let busy = Scale::of(&Recorded { queries: 900_000, ..SHORT }, 1_000_000).expect("few queries");
        assert_eq!((busy.copies, busy.share), (1, 1.0));
        let long = Recorded { distinct: 20_000, queries: 4_000_000, ..SHORT };
        let long = Scale::of(&long, 1_000_000).expect("enough keys");
        assert!((20_000.0 / long.share - 2_048.0).abs() < 1.0, "{long:?}");
    }

    #[test]
    fn a_long_trace_keeps_its_ratio() {
        let long = Recorded { stored: 100_000, made_up: false, distinct: 1_000_000, queries: 4_000_000 };
        let scale = Scale::of(&long, 100_000).expect("enough keys");
        assert_eq!((scale.stored, scale.copies), (8_192, 1));
        assert!((scale.share - 100_000.0 / 8_192.0).abs() < 1e-9);
    }

    #[test]
    fn a_trace_that_cannot_be_measured_is_refused_with_advice() {
        let few = Scale::of(&Recorded { distinct: 99, ..SHORT }, 1_000_000).expect_err("too few");
        assert!(few.contains("99 distinct keys") && few.contains("longer trace"), "{few}");
        let dense = Recorded { stored: 1, queries: 8_000_000, ..SHORT };
        let dense = Scale::of(&dense, 1_000_000).expect_err("too many copies");
        assert!(dense.contains("--ratio"), "{dense}");
    }
}
