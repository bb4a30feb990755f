//! Clients that ask for many absent keys while exactly these are inserted: no key may be turned away once its insertion
//! has returned, however busy the learner is.

use super::Wrong;
use super::ordeal::Tally;
use super::stormy::{Stormy, Weather};
use super::trouble::Trouble;
use super::watch::{PATIENCE, message, watched};
use crate::workload::rng::Rng;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use twiceshy_store::{Adapt, Checked, Error, Guard, Kind, MemoryStore, Options, Store};

/// The keys that are asked for, and then inserted.
const KEYS: u64 = 500;

/// How many clients ask.
const CLIENTS: usize = 2;

/// Never fails. A store that stalls now and then is slow enough for the learner thread to be used.
const WEATHER: Weather = Weather { fails: 0, loses: 0, panics: 0, stalls: 4, longest: Duration::from_micros(60) };

/// Floods a guard with a learner thread. `kind` is used if it learns, otherwise a telescoping filter.
pub(super) fn run(kind: Kind, rng: &mut Rng) -> Result<Tally, Trouble> {
    let kind = if kind.learns() { kind } else { Kind::Telescoping };
    // These two have the most to do: one stores what it learns in a shared code, the other in the store.
    let kind = [kind, Kind::Telescoping, Kind::Broom][rng.below(3) as usize];
    let mut rng = rng.clone();
    let over = watched(PATIENCE, move || Ok(over(MemoryStore::new(), kind, &mut rng)?));
    over.map(|()| Tally::of("a flood of absent keys")).map_err(|trouble| trouble.after(&format!("a flood over {kind}")))
}

fn over<S: Store>(store: S, kind: Kind, rng: &mut Rng) -> Result<(), Wrong> {
    let rate = [0.25, 0.1][rng.below(2) as usize];
    let queue = [1, 16, 1_024][rng.below(3) as usize];
    let options = Options::new().filter(kind).false_positive_rate(rate).adapt(Adapt::Always).queue(queue);
    let guard = options.open(Stormy::new(store, WEATHER, rng.word())).map_err(wrong)?;
    guard.insert_all((KEYS..2 * KEYS).map(|number| (key(number), b"before"))).map_err(wrong)?;
    guard.store().blow(true);
    let inserted = AtomicU64::new(0);
    let ended = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (guard, inserted, rng) = (&guard, &inserted, Rng::new(rng.word()));
                scope.spawn(move || ask(guard, inserted, rng))
            })
            .collect();
        let ended = insert(&guard, &inserted);
        // The clients end.
        inserted.store(KEYS, Ordering::Release);
        let asked = clients.into_iter().map(|client| client.join());
        let mut asked = asked.map(|asked| asked.unwrap_or_else(|panic| Err(Wrong::Answer(message(&*panic)))));
        ended.and(asked.try_for_each(|asked| asked))
    });
    ended?;
    guard.store().blow(false);
    guard.wait().map_err(wrong)?;
    (0..2 * KEYS).try_for_each(|number| expect(&guard, number))?;
    match guard.check().map_err(wrong)? {
        Checked::Sound => Ok(()),
        found => Err(Wrong::Answer(format!("after the flood: {found}"))),
    }
}

fn key(number: u64) -> Vec<u8> {
    format!("flood {number}").into_bytes()
}

fn wrong<E: std::fmt::Display>(error: Error<E>) -> Wrong {
    Wrong::Answer(error.to_string())
}

/// Inserts all keys in order. `inserted` is the number of those whose insertion has returned.
fn insert<S: Store>(guard: &Guard<S>, inserted: &AtomicU64) -> Result<(), Wrong> {
    for number in 0..KEYS {
        if !guard.insert(&key(number), b"new").map_err(wrong)? {
            return Err(Wrong::Answer(format!("key {number} was said to be stored before it was inserted")));
        }
        inserted.store(number + 1, Ordering::Release);
        expect(guard, number)?;
    }
    Ok(())
}

/// Asks for keys until all are inserted: for those that come next more often than for others.
fn ask<S: Store>(guard: &Guard<S>, inserted: &AtomicU64, mut rng: Rng) -> Result<(), Wrong> {
    loop {
        let before = inserted.load(Ordering::Acquire);
        if before == KEYS {
            return Ok(());
        }
        let number = match rng.below(2) {
            0 => rng.below(KEYS),
            _ => (before + rng.below(8)).min(KEYS - 1),
        };
        if !guard.contains(&key(number)).map_err(wrong)? && number < before {
            return Err(Wrong::Answer(format!("key {number} was turned away after its insertion had returned")));
        }
        // Keys that nobody inserts keep the learner busy.
        let other = format!("absent {}", rng.below(1 << 20));
        if guard.contains(other.as_bytes()).map_err(wrong)? {
            return Err(Wrong::Answer(format!("the key {other:?} was never inserted")));
        }
    }
}

fn expect<S: Store>(guard: &Guard<S>, number: u64) -> Result<(), Wrong> {
    match guard.contains(&key(number)).map_err(wrong)? {
        true => Ok(()),
        false => Err(Wrong::Answer(format!("key {number} was turned away"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::torture::testing::Liar;

    #[test]
    fn no_key_is_turned_away_in_a_flood() {
        for kind in Kind::ALL {
            for seed in 0..4 {
                let survived = run(*kind, &mut Rng::new(seed));
                assert!(survived.is_ok(), "{kind}, seed {seed}: {survived:?}");
            }
        }
    }

    #[test]
    fn a_store_that_forgets_one_key_is_noticed() {
        let store = Liar::new(MemoryStore::new(), &key(123));
        let noticed = over(store, Kind::Telescoping, &mut Rng::new(1)).expect_err("a key is missing");
        assert!(noticed.to_string().contains("key 123 was turned away"), "{noticed}");
    }
}
