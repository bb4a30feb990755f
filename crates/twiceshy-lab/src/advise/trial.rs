//! One trial: a guarded store in memory, filled like the one to be made, and asked.

use super::counted::{Counted, StoreCounts};
use super::sample::Trial;
use super::{AdviseError, Candidate};
use std::time::Instant;
use twiceshy::hash::HashKey;
use twiceshy_store::{Guard, MemoryStore, Planned};

/// The most distinct keys in a timed pass, and the number of passes. A pass is short, so that some are not interrupted.
const TIMED: (usize, usize) = (1 << 13, 50);

/// The load of a trial is that of the store to be made, within this share of it.
const LOAD_WITHIN: f64 = 0.02;

/// What was counted in a trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    /// Queries and the distinct keys among them.
    pub(super) queries: u64,
    pub(super) distinct: u64,
    pub(super) false_positives: u64,
    /// What the store was asked by all queries.
    pub(super) store: StoreCounts,
    /// The filter's memory before any query, over that of an empty one.
    pub(super) filled: f64,
    /// 0 if it was not timed.
    pub(super) lookups_per_second: f64,
}

/// Fills a store and asks all queries of a trial. The store is as loaded as `planned` with `keys` keys.
pub(super) fn run(
    candidate: Candidate,
    planned: &Planned,
    keys: u64,
    trial: &Trial,
    timed: bool,
) -> Result<Outcome, AdviseError> {
    let expected = expected_keys(candidate, planned, keys, trial.stored.len() as u64);
    let cannot = || AdviseError::Bug(format!("no small {} of {} bits", planned.kind, planned.width));
    let rate = candidate.rate_for(expected, planned.width).ok_or_else(cannot)?;
    let options = candidate.options(expected, rate);
    let own = options.planned()?;
    let load = |stored: u64, cells: u64| stored as f64 / cells as f64;
    let (own_load, planned_load) = (load(trial.stored.len() as u64, own.cells), load(keys, planned.cells));
    if (own_load / planned_load - 1.0).abs() > LOAD_WITHIN {
        let loads = format!("a load of {own_load:.3} instead of {planned_load:.3}");
        return Err(AdviseError::Bug(format!("{} keys give a {} filter {loads}", trial.stored.len(), planned.kind)));
    }
    let options = options.background(false).hash_key(HashKey::fixed(trial.seed));
    let guard = options.open(Counted::new(MemoryStore::new()))?;
    guard.insert_all(trial.stored.iter().map(|key| (key, b"")))?;
    let stats = guard.stats();
    if (stats.cells, stats.grown) != (own.cells, 0) {
        return Err(AdviseError::Bug(format!("a store of {} keys grew while it was filled", stats.keys)));
    }
    let filled = stats.local_bits as f64 / own.local_bits as f64;
    let before = guard.store().counts();
    let asked = if candidate.learns() { ask_all(&guard, trial)? } else { ask_each(&guard, trial)? };
    let store = guard.store().counts().since(before);
    let lookups_per_second = if timed { time(&guard, trial)? } else { 0.0 };
    let store = StoreCounts { value_reads: asked, ..store };
    let queries = trial.queries.len() as u64;
    Ok(Outcome { queries, distinct: trial.distinct, false_positives: asked, store, filled, lookups_per_second })
}

/// The keys that a small store must expect so that `stored` keys load it as the large one will be.
fn expected_keys(candidate: Candidate, planned: &Planned, keys: u64, stored: u64) -> u64 {
    if stored == keys {
        return keys;
    }
    let load = keys as f64 / planned.cells as f64;
    let has_room = |expected: u64| {
        let cells = candidate.geometry(expected, planned.rate).map_or(0, |(cells, _)| cells);
        cells as f64 * load >= stored as f64
    };
    if has_room(0) {
        return 0;
    }
    let (mut too_few, mut enough) = (0, stored.max(1));
    while !has_room(enough) {
        (too_few, enough) = (enough, enough * 2);
    }
    while enough - too_few > 1 {
        let middle = (too_few + enough) / 2;
        if has_room(middle) { enough = middle } else { too_few = middle }
    }
    enough
}

type Sampled = Guard<Counted<MemoryStore>>;

/// Asks all queries in their order. Returns the number of false positives.
fn ask_all(guard: &Sampled, trial: &Trial) -> Result<u64, AdviseError> {
    let before = guard.store().counts().value_reads;
    for number in &*trial.queries {
        let Some(key) = trial.keys.get(*number as usize) else { continue };
        ask(guard, key)?;
    }
    Ok(guard.store().counts().value_reads - before)
}

/// A filter that does not learn answers a key the same each time, so each is asked once.
fn ask_each(guard: &Sampled, trial: &Trial) -> Result<u64, AdviseError> {
    let (mut wrong, mut reads) = (0, guard.store().counts().value_reads);
    for (key, count) in trial.counted() {
        ask(guard, key)?;
        let now = guard.store().counts().value_reads;
        wrong += (now - reads) * u64::from(count);
        reads = now;
    }
    Ok(wrong)
}

fn ask(guard: &Sampled, key: &[u8]) -> Result<(), AdviseError> {
    match guard.contains(key)? {
        true => Err(AdviseError::Bug("an absent key was found stored".into())),
        false => Ok(()),
    }
}

/// Look-ups per second of absent keys, in the fastest of a few passes: others use the machine too.
fn time(guard: &Sampled, trial: &Trial) -> Result<f64, AdviseError> {
    let keys: Vec<&[u8]> = trial.counted().map(|(key, _)| key).take(TIMED.0).collect();
    let mut fastest = f64::INFINITY;
    for _ in 0..TIMED.1 {
        let begun = Instant::now();
        for key in &keys {
            std::hint::black_box(guard.contains(key)?);
        }
        fastest = fastest.min(begun.elapsed().as_secs_f64());
    }
    Ok(keys.len() as f64 / fastest.max(1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_store_is_as_loaded_as_the_large_one() {
        for candidate in Candidate::all() {
            let keys = 3_000_000;
            let planned = candidate.options(keys, 0.001).planned().expect("usual options");
            let load = keys as f64 / planned.cells as f64;
            for stored in [2_048, 10_000, 30_000] {
                let expected = expected_keys(candidate, &planned, keys, stored);
                let (cells, _) = candidate.geometry(expected, 0.001).expect("usual options");
                let own = stored as f64 / cells as f64;
                assert!((0.99..=1.0).contains(&(own / load)), "{candidate:?}: {own} and {load}");
                assert!(own < 0.85, "it would grow");
            }
            // The store itself, if it is small enough.
            let planned = candidate.options(5_000, 0.001).planned().expect("usual options");
            let same = candidate.geometry(expected_keys(candidate, &planned, 5_000, 5_000), 0.001);
            assert_eq!(same.map(|(cells, _)| cells), Some(planned.cells));
        }
    }
}
