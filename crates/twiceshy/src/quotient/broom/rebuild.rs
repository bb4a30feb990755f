//! Another table, or another hash key: the frontier advances until all keys have it.
//!
//! What a table has learned cannot be carried over to another one, and a filter that has forgotten what it told its
//! adversary must not keep the same functions. So a larger table holds only keys of the new function: those that the
//! frontier passes move from the old table to the new one. A phase that has begun ends first, since its new function is in
//! use already.

use super::draft::Draft;
use super::filter::{BEGIN, BroomFilter, begin_of};
use super::functions::Age;
use super::prints::Prints;
use super::rules::BroomRule;
use crate::error::PlanError;
use crate::filter::{Filter, Progress, Target};
use crate::hash::HashKey;
use crate::plan::{Outcome, Plan};
use crate::remote::Frontier;
use crate::sizing;

/// A rebuild that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rebuild {
    /// The slots of the new table, if any.
    pub(crate) cells: Option<u64>,
    /// The hash key of the new function; if `None`, the next one is derived.
    pub(crate) hash: Option<HashKey>,
    pub(crate) stage: Stage,
}

/// The progress of a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The current phase must end first.
    Waits,
    /// Keys are moving.
    Runs,
    /// All keys have moved, by steps of the rebuild or by other operations.
    Done,
}

impl BroomFilter {
    /// Plans to begin a rebuild. Keys move to another table as they take new functions, so each of them costs writes. A
    /// phase that has begun ends first.
    ///
    /// Under another hash key the frontier advances until all keys have functions derived from it: first to the end of this
    /// phase, if it has begun, then through the next. They always differ from the earlier ones, even if the hash key does
    /// not.
    pub(crate) fn plan_begin(&self, target: Target) -> Result<Plan, PlanError> {
        let (cells, hash) = match target {
            Target::Cells(cells) => {
                sizing::check_slots(cells)?;
                (Some(cells), None)
            }
            Target::Hash(hash) => (None, Some(hash)),
        };
        let full = |cells| PlanError::Full { keys: self.len(), cells };
        if let Some(cells) = cells.filter(|cells| self.len() > self.local.shape.most(*cells)) {
            return Err(full(cells));
        }
        let mut draft = Draft::new(self);
        draft.begin(Rebuild { cells, hash, stage: Stage::Waits });
        if let (None, Some(cells)) = (draft.rebuild, cells) {
            return Err(full(cells));
        }
        let writes = match draft.local.functions.new == draft.before.new {
            true => Vec::new(),
            false => vec![begin_of(&draft.local, Age::New)],
        };
        let target = cells.unwrap_or_else(|| hash.map_or(0, |hash| hash.words(b"twiceshy stamp").word(0)));
        let becomes = self.stamp.after(BEGIN, target);
        Ok(self.plan_of(becomes, Outcome::Rebuild(Progress::More), writes, draft))
    }
}

impl Draft<'_> {
    pub(super) fn stage(&self) -> Option<Stage> {
        self.rebuild.map(|rebuild| rebuild.stage)
    }

    /// At the start of a phase: a waiting rebuild begins, and a running one is done.
    pub(super) fn next_stage(&mut self) {
        let Some(rebuild) = self.rebuild else { return };
        match rebuild.stage {
            Stage::Waits => self.start(rebuild),
            Stage::Runs => self.rebuild = Some(Rebuild { stage: Stage::Done, ..rebuild }),
            Stage::Done => {}
        }
    }

    /// Begins a rebuild, at once if no key has the new function yet.
    fn begin(&mut self, rebuild: Rebuild) {
        self.rebuild = Some(rebuild);
        if self.local.functions.frontier == Frontier::START && !self.local.functions.apart {
            self.start(rebuild);
        }
    }

    /// Gives the new function, which no key has yet, the rebuild's table or hash key. If the table cannot be created, or is
    /// too small by now, the rebuild is given up.
    fn start(&mut self, rebuild: Rebuild) {
        let number = self.local.functions.generation_of(Age::New).0;
        if let Some(hash) = rebuild.hash {
            self.local.functions.new = hash.numbered(number.into());
        }
        if !self.local.rules.keep(BroomRule::NewFunctions) {
            self.local.functions.new = self.local.functions.old;
        }
        if let Some(cells) = rebuild.cells {
            let fits = self.local.keys() <= self.local.shape.most(cells);
            match Prints::new(cells, &self.local.shape).filter(|_| fits) {
                Some(prints) => self.begin_table(prints),
                None => {
                    self.rebuild = None;
                    return;
                }
            }
        }
        self.rebuild = Some(Rebuild { stage: Stage::Runs, ..rebuild });
    }
}
