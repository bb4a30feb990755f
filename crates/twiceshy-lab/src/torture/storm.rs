//! Threads that work on a store in storms. Each has keys of its own, and always knows what must be there.

use super::Wrong;
use super::model::{Model, shown};
use super::ordeal::Tally;
use super::stormy::{StormPanic, Stormy, Weather};
use super::trouble::Trouble;
use super::watch::{PATIENCE, message, watched};
use crate::workload::rng::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use twiceshy_store::{Adapt, Checked, Error, Guard, Kind, MemoryStore, Options, Store};

/// The keys of a thread: few, so that each changes often.
const OWN: u64 = 6;

/// What each thread does.
const STEPS: u64 = 150;

/// How often an answer is asked for during a storm before the store counts as stuck.
const TRIES: u64 = 20_000;

const WEATHER: Weather = Weather { fails: 20, loses: 10, panics: 4, stalls: 10, longest: Duration::from_micros(200) };

pub(super) fn run(kind: Kind, rng: &mut Rng) -> Result<Tally, Trouble> {
    const NAME: &str = "threads in a storm";
    let mut rng = rng.clone();
    let over = watched(PATIENCE, move || Ok(over(MemoryStore::new(), kind, &mut rng)?));
    over.map(|()| Tally::of(NAME)).map_err(|trouble| trouble.after(NAME))
}

/// Lets threads work on a store through storms, and checks it afterwards.
fn over<S: Store>(store: S, kind: Kind, rng: &mut Rng) -> Result<(), Wrong> {
    let options =
        Options::new().filter(kind).false_positive_rate(0.1).adapt(Adapt::Always).background(rng.below(2) == 0);
    let guard = options.open(Stormy::new(store, WEATHER, rng.word())).map_err(wrong)?;
    let threads = 3 + rng.below(2);
    let known = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|number| {
                let worker = Worker { guard: &guard, number, rng: Rng::new(rng.word()), known: Model::default() };
                scope.spawn(|| worker.work())
            })
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            guard.store().blow(true);
            std::thread::sleep(Duration::from_micros(700));
            guard.store().blow(false);
            std::thread::sleep(Duration::from_micros(200));
        }
        let joined = workers.into_iter().map(|worker| worker.join());
        let joined = joined.map(|known| known.unwrap_or_else(|panic| Err(Wrong::Answer(message(&*panic)))));
        joined.collect::<Result<Vec<Model>, Wrong>>()
    })?;
    let exact = Model(known.into_iter().flat_map(|model| model.0).collect());
    settled(&guard, exact)
}

/// The storms are over: everything must be right.
fn settled<S: Store>(guard: &Guard<Stormy<S>>, exact: Model) -> Result<(), Wrong> {
    guard.store().blow(false);
    guard.wait().map_err(wrong)?;
    let checked = guard.check().map_err(wrong)?;
    if checked != Checked::Sound {
        return Err(Wrong::Answer(format!("after the storms: {checked}")));
    }
    for (key, value) in &exact.0 {
        if guard.get(key).map_err(wrong)?.as_ref() != Some(value) {
            return Err(Wrong::Answer(format!("after the storms, {} is missing or wrong", shown(key))));
        }
    }
    let found = Model(guard.iter().collect::<Result<_, _>>().map_err(wrong)?);
    let keys = exact.len();
    exact.exactly(&found).map_err(|what| Wrong::Answer(format!("after the storms, {what}")))?;
    match guard.len().map_err(wrong)? {
        counted if counted == keys => Ok(()),
        counted => Err(Wrong::Answer(format!("after the storms, the store counts {counted} keys instead of {keys}"))),
    }
}

fn wrong(error: impl std::fmt::Display) -> Wrong {
    Wrong::Answer(error.to_string())
}

/// A thread and what its keys have.
struct Worker<'a, S: Store> {
    guard: &'a Guard<Stormy<S>>,
    number: u64,
    rng: Rng,
    known: Model,
}

/// What became of a call.
enum Outcome<T> {
    Answered(T),
    /// The store says that nothing was changed.
    Failed,
    /// The answer was lost, or the store panicked.
    Unknown,
}

impl<S: Store> Worker<'_, S> {
    fn work(mut self) -> Result<Model, Wrong> {
        for step in 0..STEPS {
            let key = key(self.number, self.rng.below(OWN));
            match self.rng.below(8) {
                0..=2 => self.change(key, Some(format!("{} {step}", self.number).into_bytes()))?,
                3..=4 => self.change(key, None)?,
                5 => self.expect(&key)?,
                _ => self.ask_others(step)?,
            }
        }
        Ok(self.known)
    }

    /// Inserts or removes a key. If the outcome is unknown, it is looked up.
    fn change(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) -> Result<(), Wrong> {
        let stored = self.known.get(&key).is_some();
        let done = match &value {
            Some(value) => attempt(|| self.guard.insert(&key, value))?,
            None => attempt(|| self.guard.remove(&key))?,
        };
        let happened = match done {
            Outcome::Answered(said) if said == (stored != value.is_some()) => true,
            Outcome::Answered(said) => {
                return Err(Wrong::Answer(format!("a change of {} returned {said}", shown(&key))));
            }
            Outcome::Failed => false,
            Outcome::Unknown => {
                let found = self.look_up(&key)?;
                if found.as_ref() != self.known.get(&key) && found != value {
                    return Err(Wrong::Answer(format!("after a lost answer, {} has a wrong value", shown(&key))));
                }
                found == value
            }
        };
        match value {
            Some(value) if happened => drop(self.known.0.insert(key, value)),
            None if happened => drop(self.known.0.remove(&key)),
            _ => {}
        }
        Ok(())
    }

    /// Looks up one of its own keys.
    fn expect(&self, key: &[u8]) -> Result<(), Wrong> {
        if self.look_up(key)?.as_ref() == self.known.get(key) {
            return Ok(());
        }
        Err(Wrong::Answer(format!("{} is missing or has a wrong value", shown(key))))
    }

    /// Looks up keys of other threads, and keys that nobody has, for the filter to learn from.
    fn ask_others(&mut self, step: u64) -> Result<(), Wrong> {
        let other = key(self.rng.below(4), self.rng.below(OWN));
        attempt(|| self.guard.contains(&other))?;
        let nobodys = format!("nobody's {} {step}", self.number);
        match attempt(|| self.guard.contains(nobodys.as_bytes()))? {
            Outcome::Answered(true) => Err(Wrong::Answer(format!("{} was never inserted", shown(nobodys.as_bytes())))),
            _ => Ok(()),
        }
    }

    /// Asks until there is an answer.
    fn look_up(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Wrong> {
        for _ in 0..TRIES {
            if let Outcome::Answered(found) = attempt(|| self.guard.get(key))? {
                return Ok(found);
            }
            std::thread::yield_now();
        }
        Err(Wrong::Answer(format!("{TRIES} look-ups of {} failed", shown(key))))
    }
}

fn key(thread: u64, number: u64) -> Vec<u8> {
    format!("{thread} {number}").into_bytes()
}

/// Makes a call. Errors and panics of the storm are outcomes, all others are wrong.
fn attempt<T, E: std::fmt::Display>(call: impl FnOnce() -> Result<T, Error<E>>) -> Result<Outcome<T>, Wrong> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(answer)) => Ok(Outcome::Answered(answer)),
        Ok(Err(Error::Store(_))) => Ok(Outcome::Failed),
        Ok(Err(Error::Unknown(_))) => Ok(Outcome::Unknown),
        Ok(Err(error)) => Err(wrong(error)),
        Err(panic) if panic.is::<StormPanic>() => Ok(Outcome::Unknown),
        Err(panic) => Err(Wrong::Answer(format!("the guard panicked: {}", message(&*panic)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::torture::testing::Liar;

    #[test]
    fn every_filter_survives_storms() {
        for kind in Kind::ALL {
            for seed in 0..4 {
                let survived = run(*kind, &mut Rng::new(seed));
                assert!(survived.is_ok(), "{kind}, seed {seed}: {survived:?}");
            }
        }
    }

    #[test]
    fn a_store_that_drops_a_change_is_noticed() {
        let noticed =
            |seed| over(Liar::new(MemoryStore::new(), b"1 3"), Kind::Telescoping, &mut Rng::new(seed)).is_err();
        assert!((0..5).all(noticed));
    }
}
