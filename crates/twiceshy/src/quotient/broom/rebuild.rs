//! Another table, or another hash key: the frontier goes on until all keys have it.
//!
//! What a table has learned cannot be carried over to another one, and a filter that has forgotten what it told its adversary
//! must not go on with the same functions. So a larger table is one for keys of the new function alone: those that the frontier
//! passes leave the old table and go to the new one. A phase that has begun ends first, since its new function is in use already.

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

/// What has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rebuild {
    /// The slots of another table.
    pub(crate) cells: Option<u64>,
    /// Where another function comes from; else it is the one that follows.
    pub(crate) hash: Option<HashKey>,
    pub(crate) stage: Stage,
}

/// How far a rebuild is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A phase must end first.
    Waits,
    /// Keys are on their way.
    Runs,
    /// All keys are there, by a step of the rebuild or by other operations.
    Done,
}

impl BroomFilter {
    /// Plans to begin a rebuild. Keys go to another table as they take new functions, so each of them costs writes. A phase
    /// that has begun ends first.
    ///
    /// Under another hash key the frontier goes on until all keys have functions that come from it: first to the end of
    /// this phase, if it has begun, then through the next. They are never those of before, even if the hash key is.
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
        let becomes = self.stamp.after(BEGIN, cells.unwrap_or(0));
        Ok(self.plan_of(becomes, Outcome::Rebuild(Progress::More), writes, draft))
    }
}

impl Draft<'_> {
    pub(super) fn stage(&self) -> Option<Stage> {
        self.rebuild.map(|rebuild| rebuild.stage)
    }

    /// At the beginning of a phase: what waits begins, what runs is done.
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

    /// Gives the new function, which no key has yet, what the rebuild is for. If the table cannot be made, or is too small by now,
    /// the rebuild is given up.
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
