//! A larger table, filled beside the one that answers, under the same functions.

use super::filter::{BroomFilter, Rebuild};
use super::functions::{Age, Functions};
use super::known::Known;
use super::local::Local;
use crate::error::{RebuildError, SeamError};
use crate::filter::Progress;
use crate::remote::{Position, Remote};

/// L′ of a growing filter: it holds the keys up to the cursor, first those of the old function, then those of the new.
#[derive(Clone, Debug)]
pub(crate) struct Filling {
    pub(crate) local: Local,
    pub(crate) age: Age,
    pub(crate) cursor: Option<Position>,
}

/// The keys that a table being filled holds, as a test.
pub(crate) fn passed_by<'a>(filter: &'a BroomFilter, filling: &'a Filling) -> impl Fn(&[u8]) -> bool + 'a {
    move |key| has_passed(&filter.local.functions, filling.age, filling.cursor.as_ref(), key)
}

fn has_passed(functions: &Functions, at: Age, cursor: Option<&Position>, key: &[u8]) -> bool {
    let age = functions.age(key);
    let word = || functions.order_words(key, age, 1).as_slice()[0];
    age < at || age == at && cursor.is_some_and(|cursor| (word(), key) <= (cursor.word, &*cursor.key))
}

impl BroomFilter {
    /// The same for an operation, which changes the filter meanwhile.
    pub(super) fn passed(&self) -> Option<impl Fn(&[u8]) -> bool + use<>> {
        let Some(Rebuild::Grow(filling)) = &self.rebuild else { return None };
        let (age, cursor) = (filling.age, filling.cursor.clone());
        let functions = self.local.functions.clone();
        Some(move |key: &[u8]| has_passed(&functions, age, cursor.as_ref(), key))
    }

    /// Brings some more keys into the larger table.
    pub(super) fn fill<R: Remote>(&mut self, limit: usize, remote: &R) -> Result<Progress, RebuildError<R::Error>> {
        self.in_step(remote)?;
        let Some(Rebuild::Grow(filling)) = &mut self.rebuild else { return Err(RebuildError::NotBegun) };
        let mut batch: Vec<Position> = Vec::new();
        let generation = self.local.generation(filling.age);
        let walked = remote.walk(generation, filling.cursor.as_ref(), limit, &mut |at| batch.push(at));
        walked.map_err(SeamError::Remote)?;
        if batch.is_empty() && filling.age == Age::Old {
            (filling.age, filling.cursor) = (Age::New, None);
            return Ok(Progress::More);
        }
        if batch.is_empty() {
            if let Some(Rebuild::Grow(filling)) = self.rebuild.take() {
                self.local = filling.local;
                self.wants_rebuild = false;
                // Its fingerprints have no bits to reclaim.
                self.debt = 0;
                self.stats.rebuilds += 1;
            }
            return Ok(Progress::Done);
        }
        for at in batch {
            let (functions, age, cursor) = (&self.local.functions, filling.age, filling.cursor.clone());
            let passed = |key: &[u8]| has_passed(functions, age, cursor.as_ref(), key);
            filling.local.begin();
            match filling.local.place(&at.key, &Known::cut(remote, &passed)) {
                Ok(true) => {
                    filling.local.keep();
                    filling.cursor = Some(at);
                }
                Ok(false) => {
                    let (keys, cells) = (self.local.keys, filling.local.slots());
                    self.rebuild = None;
                    return Err(RebuildError::Full { keys, cells });
                }
                Err(error) => {
                    filling.local.undo();
                    return Err(error.into());
                }
            }
        }
        Ok(Progress::More)
    }
}
