//! Selector values of a telescoping filter after a number of queries, for two experiments.

use crate::experiment::{Planted, TaskError};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use twiceshy::hash::HashKey;
use twiceshy::quotient::PlainTelescopingFilter;
use twiceshy::remote::ByHash;

/// How often each query is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Until it is right, and never again. An adaptation of the filter here makes it right at once.
    Once,
    /// All in turn, repeatedly, until none is wrong.
    Repeated,
}

impl Asked {
    /// In words.
    pub(super) fn told(self) -> &'static str {
        match self {
            Asked::Once => "until right",
            Asked::Repeated => "repeatedly",
        }
    }

    /// In the data.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Asked::Once => "once",
            Asked::Repeated => "repeatedly",
        }
    }
}

/// How many keys have the selector 0, 1, … in a filter without resets (plain selectors) of `slots` slots at 95 % load,
/// after c queries per slot. The n of 004 is the number of quotients: what counts is the queries that share a key's
/// quotient.
///
/// A planted wrong rule: every query is asked only once, and the filter does not hear of every second mistake.
pub(super) fn histogram(
    slots: u64,
    bits: u32,
    c: f64,
    asked: Asked,
    planted: Planted,
    seed: u64,
) -> Result<Vec<u64>, TaskError> {
    let mut rng = Rng::stream(seed, 0x5E1E);
    let queries = (c * slots as f64).round() as u64;
    let keys = Keys::new(slots * 95 / 100, queries, rng.word()).ok_or_else(|| TaskError::new("too many keys"))?;
    let options = PlainTelescopingFilter::with_slots(slots, bits);
    let mut filter = options.build(HashKey::fixed(rng.word()), ByHash::new()).map_err(TaskError::new)?;
    for key in keys.stored_keys() {
        filter.insert(&key).map_err(TaskError::new)?;
    }
    let deaf = planted == Planted::WrongRule;
    let mut mistakes = 0u64;
    loop {
        let mut wrong = false;
        for query in (0..queries).map(|number| keys.absent(number)) {
            if filter.contains(&query) {
                wrong = true;
                mistakes += 1;
                if deaf && mistakes.is_multiple_of(2) {
                    continue;
                }
                filter.was_wrong(&query).map_err(TaskError::new)?;
            }
        }
        if asked == Asked::Once || !wrong || deaf {
            break;
        }
    }
    let mut keys_with = Vec::new();
    let table = filter.filter();
    for mark in (0..table.blocks()).flat_map(|block| table.marks(block)).map(usize::from) {
        if keys_with.len() <= mark {
            keys_with.resize(mark + 1, 0);
        }
        keys_with[mark] += 1;
    }
    // Free slots have the mark 0 too.
    keys_with[0] -= table.blocks() * 64 - filter.len();
    Ok(keys_with)
}
