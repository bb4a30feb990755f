//! A shared set that this process has joined for one command.

use super::Address;
use crate::guarded::Done;
use crate::held::{Entry, FilterCounts, Held};
use crate::output::warn;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use twiceshy_shared::{Blocking, Error, Opening, Stats};

/// The sets that this process is a member of.
static JOINED: Mutex<Vec<Blocking>> = Mutex::new(Vec::new());

/// `true` as soon as the process was interrupted: that ends it, whatever the work returns then.
static STOPPING: AtomicBool = AtomicBool::new(false);

/// A set, joined.
struct Joined<'a> {
    address: &'a Address,
    guard: Blocking,
    longest_key: usize,
}

/// Joins a set, runs `work` on it and leaves it, even if `work` failed or is interrupted: otherwise the next insertion of another process
/// would wait for this one.
pub(crate) fn with<T>(address: &Address, work: impl FnOnce(&dyn Held) -> anyhow::Result<T>) -> anyhow::Result<Done<T>> {
    let engine = address.engine()?;
    let longest_key = engine.longest_key();
    let guard = {
        let mut joined = JOINED.lock().unwrap_or_else(PoisonError::into_inner);
        let guard = Blocking::open_with(Opening::new(), engine).map_err(|error| address.refusal(error))?;
        joined.push(guard.clone());
        guard
    };
    let joined = Joined { address, guard, longest_key };
    let worked = work(&joined);
    // An interruption leaves the set under the work, which then fails. It ends the process itself.
    while STOPPING.load(Ordering::Acquire) {
        std::thread::park();
    }
    JOINED.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let left = joined.guard.close().err();
    // If the work has failed as well, this is mostly the same error again.
    let warning = left.filter(|_| worked.is_ok()).map(|error| {
        let warning = format!("{}: insertions of others may wait for it once", address.refusal(error));
        warn(&warning);
        warning
    });
    worked.map(|value| Done { value, warning })
}

/// How long an interruption waits for a set that is being joined, in tenths of a second. A silent server must not keep the
/// user waiting.
const PATIENCE: u32 = 30;

/// Leaves all sets, before the process ends. Otherwise an interruption costs others the time of a lease.
pub(crate) fn leave() {
    STOPPING.store(true, Ordering::Release);
    for _ in 0..PATIENCE {
        if let Ok(mut joined) = JOINED.try_lock() {
            for guard in joined.drain(..) {
                // The process ends in any case.
                let _ = guard.close();
            }
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

impl Joined<'_> {
    fn done<T>(&self, done: Result<T, Error>) -> anyhow::Result<T> {
        done.map_err(|error| self.address.refusal(error))
    }
}

impl Held for Joined<'_> {
    fn contains_all(&self, keys: &[&[u8]]) -> anyhow::Result<Vec<bool>> {
        self.done(self.guard.contains_all(keys))
    }

    fn get_all(&self, keys: &[&[u8]]) -> Vec<anyhow::Result<Option<Vec<u8>>>> {
        match self.done(self.guard.get_all(keys)) {
            Ok(values) => values.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        }
    }

    fn insert_all(&self, entries: Vec<Entry>) -> anyhow::Result<u64> {
        let there = self.contains_all(&entries.iter().map(|(key, _)| &key[..]).collect::<Vec<_>>())?;
        let new = entries.iter().zip(there).filter(|(_, there)| !there).map(|((key, _), _)| key);
        let new = new.collect::<HashSet<_>>().len() as u64;
        if !entries.is_empty() {
            self.done(self.guard.insert_all(entries))?;
        }
        Ok(new)
    }

    fn remove_all(&self, mut keys: Vec<Vec<u8>>) -> anyhow::Result<u64> {
        // Longer ones cannot be there.
        keys.retain(|key| key.len() <= self.longest_key);
        self.done(self.guard.remove_all(keys))
    }

    fn longest_key(&self) -> Option<usize> {
        Some(self.longest_key)
    }

    fn wait(&self) -> anyhow::Result<()> {
        self.done(self.guard.wait())
    }

    fn counts(&self) -> FilterCounts {
        let Stats { turned_away, false_positives, unfiltered, learned, .. } = self.guard.shared().stats();
        FilterCounts { turned_away, known_absent: 0, false_positives, unfiltered, adapted: learned }
    }
}
