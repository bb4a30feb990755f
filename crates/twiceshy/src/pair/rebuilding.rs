//! Larger tables, and tables under another hash key, in steps.

use super::{AdaptiveFilter, BATCH, Then};
use crate::error::Error;
use crate::filter::{Backed, Operation, Progress, Target};
use crate::growth::Growth;
use crate::hash::HashKey;
use crate::memory::Lesson;
use crate::plan::Outcome;
use crate::remote::{Position, Remote};

impl<F: Backed + ?Sized, R: Remote> AdaptiveFilter<F, R> {
    /// Begins a table of at least `cells` cells beside this one, under the same hash key. [`AdaptiveFilter::rebuild_step`]
    /// fills it; until then this table answers. Replaces a rebuild that has already begun.
    ///
    /// Begin before the table is full: until the switch, insertions need room in both tables. Of what this table has learned, the
    /// new one gets to know what the [memory](AdaptiveFilter::memory) holds.
    pub fn begin_grow(&mut self, cells: u64) -> Result<(), Error> {
        self.begin(Target::Cells(cells))
    }

    /// Begins a table under another hash key: a new generation of the remote. It is taught like a larger one.
    pub fn begin_rekey(&mut self, hash: HashKey) -> Result<(), Error> {
        self.begin(Target::Hash(hash))
    }

    fn begin(&mut self, target: Target) -> Result<(), Error> {
        self.ready()?;
        self.in_step()?;
        // The new table has its own.
        self.lesson = None;
        match Growth::begin(&*self.filter, target, &self.remote)? {
            Some(growth) => self.commit(growth.opening(self.growth.as_ref()), Then::Begin(growth)),
            None => {
                let plan = self.filter.plan(Operation::Begin(target), &self.remote)?;
                self.commit_plan(plan, None)
            }
        }
    }

    /// Brings up to `limit` more keys into the new table, and switches to it after the last. [`Error::Full`] drops the new
    /// table, and the old one stays in use. After any other error the keys brought over so far stay, and the next call
    /// continues from there.
    pub fn rebuild_step(&mut self, limit: usize) -> Result<Progress, Error> {
        self.ready()?;
        let Some(growth) = &self.growth else { return self.step_within(limit) };
        self.in_step()?;
        let batch = growth.next_keys(limit, &self.remote).map_err(Error::Remote)?;
        if batch.is_empty() {
            if self.teach_growth(limit)? {
                return Ok(Progress::More);
            }
            let writes = self.growth.as_ref().map_or_else(Vec::new, Growth::switch);
            self.commit(writes, Then::Switch)?;
            return Ok(Progress::Done);
        }
        let filled = if self.remote.knows_cells() { self.fill_mirror(batch) } else { self.fill(batch) };
        match filled {
            Err(Error::Full { keys, cells }) => {
                let writes = self.growth.as_ref().map_or_else(Vec::new, Growth::closing);
                self.commit(writes, Then::GiveUp)?;
                Err(Error::Full { keys: self.len().max(keys + 1), cells })
            }
            other => other.map(|()| Progress::More),
        }
    }

    /// By hash, the keys are written to the new generation before they are in the new table, so that each of its places has
    /// all its candidates.
    fn fill(&mut self, batch: Vec<Position>) -> Result<(), Error> {
        let additions = self.growth.as_ref().map_or_else(Vec::new, |growth| growth.additions(&batch));
        self.commit(additions, Then::Nothing)?;
        match &mut self.growth {
            Some(growth) => Ok(growth.fill(batch, &self.remote)?),
            None => Ok(()),
        }
    }

    fn fill_mirror(&mut self, batch: Vec<Position>) -> Result<(), Error> {
        for at in batch {
            let Some(growth) = &self.growth else { return Ok(()) };
            let mut plan = growth.plan_bring(&at, &self.remote)?;
            let writes = std::mem::take(&mut plan.writes);
            self.commit(writes, Then::Bring(at, plan))?;
        }
        Ok(())
    }

    /// A step of a filter that rebuilds itself.
    fn step_within(&mut self, limit: usize) -> Result<Progress, Error> {
        if self.lesson.is_some() {
            return Ok(if self.teach_step(limit)? { Progress::More } else { Progress::Done });
        }
        let plan = self.filter.plan(Operation::Step(limit.max(1)), &self.remote)?;
        let outcome = plan.outcome();
        let cells = self.filter.rebuild_cells().unwrap_or(self.filter.cells());
        self.commit_plan(plan, None)?;
        match outcome {
            Outcome::Rebuild(Progress::GaveUp) => Err(Error::Full { keys: self.len(), cells }),
            Outcome::Rebuild(Progress::Done) if !self.memory.is_empty() => {
                self.lesson = Some(Lesson::default());
                Ok(Progress::More)
            }
            Outcome::Rebuild(progress) => Ok(progress),
            _ => Err(Error::Disagree),
        }
    }

    /// `true` if a rebuild has begun and not ended.
    pub fn is_rebuilding(&self) -> bool {
        self.growth.is_some() || self.filter.is_rebuilding() || self.lesson.is_some()
    }

    /// `true` if a rebuild would improve the filter: it has too many orphans, or adaptations passed their bounds.
    pub fn wants_rebuild(&self) -> bool {
        self.filter.wants_rebuild()
    }

    /// Grows to at least `cells` cells in one call.
    pub fn grow(&mut self, cells: u64) -> Result<(), Error> {
        self.begin_grow(cells)?;
        self.finish_rebuild()
    }

    /// Changes the hash key in one call.
    pub fn rekey(&mut self, hash: HashKey) -> Result<(), Error> {
        self.begin_rekey(hash)?;
        self.finish_rebuild()
    }

    fn finish_rebuild(&mut self) -> Result<(), Error> {
        while self.rebuild_step(BATCH)? == Progress::More {}
        Ok(())
    }
}
