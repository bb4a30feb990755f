//! The games.

use super::diary::Diary;
use super::dispatch::Recipe;
use super::notes::Notes;
use super::oracle::{Counts, Oracle};
use super::prelude::{MOST_STRANGERS, Prelude};
use super::report::Report;
use super::tactics::Tactics;
use super::{ABSENT, GameError, Settings};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sums over games. All are whole numbers, so the order of adding does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) wins: u64,
    pub(super) counts: Counts,
    pub(super) diary: Diary,
    pub(super) bits_at_start: u128,
    pub(super) bits_at_end: u128,
    pub(super) moved_on_at_start: u128,
    pub(super) moved_on_at_end: u128,
}

impl Sum {
    fn add(&mut self, more: &Sum) {
        self.wins += more.wins;
        self.counts.add(&more.counts);
        self.diary.add(&more.diary);
        self.bits_at_start += more.bits_at_start;
        self.bits_at_end += more.bits_at_end;
        self.moved_on_at_start += more.moved_on_at_start;
        self.moved_on_at_end += more.moved_on_at_end;
    }
}

/// Plays the games on as many threads as are asked for.
pub(super) fn all(
    settings: &Settings,
    recipe: &Recipe,
    tactics: &Tactics,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Report, GameError> {
    let prelude = Prelude::new(settings, recipe)?;
    let (next, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    let sum: Mutex<Result<Sum, GameError>> = Mutex::new(Ok(Sum::default()));
    std::thread::scope(|threads| {
        for _ in 0..(settings.jobs.max(1) as u64).min(settings.games) {
            threads.spawn(|| {
                let mut mine = Sum::default();
                let failed = loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= settings.games {
                        break None;
                    }
                    match one(settings, recipe, tactics, &prelude, number) {
                        Ok(game) => mine.add(&game),
                        Err(error) => break Some(error),
                    }
                    progress(ended.fetch_add(1, Ordering::Relaxed) + 1);
                };
                if failed.is_some() {
                    next.store(settings.games, Ordering::Relaxed);
                }
                if let Ok(mut sum) = sum.lock() {
                    match (&mut *sum, failed) {
                        (Ok(sum), None) => sum.add(&mine),
                        (sum @ Ok(_), Some(error)) => *sum = Err(error),
                        (Err(_), _) => {}
                    }
                }
            });
        }
    });
    let sum = sum.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())?;
    Ok(Report::new(settings, recipe.static_rate, &sum))
}

/// One game: ADAPTIVITY-GAME of Figure 1, with a filter that may have been in use before.
fn one(
    settings: &Settings,
    recipe: &Recipe,
    tactics: &Tactics,
    prelude: &Prelude,
    number: u64,
) -> Result<Sum, GameError> {
    let mut rng = Rng::stream(settings.seed, number);
    let too_many = || GameError::Setting("that is more keys than 64 bits can tell apart".into());
    let keys = Keys::new(settings.keys, ABSENT + MOST_STRANGERS, rng.word()).ok_or_else(too_many)?;
    let mut oracle = Oracle::setup(recipe, &keys, Rng::new(rng.word()))?;
    prelude.play(&mut oracle, &keys, ABSENT)?;
    let (bits_at_start, moved_on_at_start) = (oracle.local_bits().into(), oracle.moved_on().into());
    let mut notes = Notes::new(keys, settings.epsilon, recipe.anatomy, tactics, Rng::new(rng.word()));
    let named = settings.adversary.adversary().play(&mut oracle, &mut notes)?;
    let wins = u64::from(oracle.is_false_positive(&named));
    Ok(Sum {
        wins,
        counts: oracle.counts(),
        diary: Diary { named_wins: notes.diary.named * wins, ..notes.diary },
        bits_at_start,
        bits_at_end: oracle.local_bits().into(),
        moved_on_at_start,
        moved_on_at_end: oracle.moved_on().into(),
    })
}
