//! What a filter has learned, in a table that was filled anew.

use super::{AdaptiveFilter, BATCH, Then};
use crate::error::Error;
use crate::filter::{Backed, Operation};
use crate::growth::{Growth, lesson};
use crate::memory::{Lesson, Limits, Memory, Recalling};
use crate::plan::{Mistake, Outcome};
use crate::remote::Remote;

impl<F: Backed + ?Sized, R: Remote> AdaptiveFilter<F, R> {
    /// The queries that the stored keys were mistaken for. A table that is filled anew is taught from them.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Changes how much is remembered: [`Limits::OFF`] for nothing.
    pub fn limit_memory(&mut self, limits: Limits) {
        self.memory.limit(limits, self.filter.len());
    }

    /// Takes over a memory that was [saved](Memory::save). [`AdaptiveFilter::teach`] then makes a recovered filter use it.
    pub fn set_memory(&mut self, memory: Memory) {
        self.memory = memory;
    }

    /// Asks every remembered query again, and fixes those that the filter gets wrong: for a filter that was recovered. Rebuilds do
    /// this by themselves.
    pub fn teach(&mut self) -> Result<(), Error> {
        self.ready()?;
        self.in_step()?;
        // A rebuild's own lesson goes on after an error, this one does not.
        let is_own = self.lesson.is_none();
        self.lesson = Some(Lesson::default());
        let taught = self.teach_all();
        if is_own {
            self.lesson = None;
        }
        taught
    }

    fn teach_all(&mut self) -> Result<(), Error> {
        while self.teach_step(BATCH)? {}
        Ok(())
    }

    /// Teaches the filter itself about some more queries. `false` if it was taught enough.
    pub(super) fn teach_step(&mut self, limit: usize) -> Result<bool, Error> {
        self.ready()?;
        self.in_step()?;
        let (Some(begun), filter) = (&mut self.lesson, &self.filter) else { return Ok(false) };
        let Some(queries) = begun.next(&self.memory, limit, |query| filter.contains(query)) else {
            self.lesson = None;
            return Ok(false);
        };
        if self.filter.kind().learning_writes() {
            // One commit serves many.
            let mut left = &queries[..];
            while !left.is_empty() {
                let (Outcome::Learned(learned), mistakes) = self.make(Operation::Learn(left))? else {
                    return Err(Error::Disagree);
                };
                left = left.get(learned.queries.max(1) as usize..).unwrap_or_default();
                self.note_lesson(learned.fixed > 0, mistakes);
            }
            return Ok(true);
        }
        for query in queries {
            if let Some(mut plan) = lesson(&*self.filter, &query, &Recalling::new(&self.remote, &self.memory))? {
                let mistakes = std::mem::take(&mut plan.mistakes);
                self.commit_plan(plan, None)?;
                self.note_lesson(true, mistakes);
            }
        }
        Ok(true)
    }

    /// Teaches a table that is being filled, and has all keys. `false` if it was taught enough.
    pub(super) fn teach_growth(&mut self, limit: usize) -> Result<bool, Error> {
        let Some(queries) = self.growth.as_mut().and_then(|growth| growth.next_lesson(limit, &self.memory)) else {
            return Ok(false);
        };
        for query in queries {
            let keys = Recalling::new(&self.remote, &self.memory);
            let plan = self.growth.as_ref().map(|growth: &Growth| growth.plan_lesson(&query, &keys));
            let Some(mut plan) = plan.transpose()?.flatten() else { continue };
            let mistakes = std::mem::take(&mut plan.mistakes);
            let writes = std::mem::take(&mut plan.writes);
            self.commit(writes, Then::Teach(Box::new(plan)))?;
            self.note_lesson(true, mistakes);
        }
        Ok(true)
    }

    /// A lesson has fixed something. What it was about is remembered if nothing is forgotten for it.
    fn note_lesson(&mut self, fixed: bool, mistakes: Vec<Mistake>) {
        if let Some(lesson) = self.lesson.as_mut().filter(|_| fixed) {
            lesson.fixed();
        }
        for Mistake { key, query } in mistakes {
            self.memory.note(&key, &query, self.filter.len());
        }
    }

    pub(super) fn remember(&mut self, mistakes: Vec<Mistake>) {
        for Mistake { key, query } in mistakes {
            self.memory.remember(&[key], &query, self.filter.len());
        }
    }
}
