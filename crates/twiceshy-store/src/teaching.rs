//! What the filter has learned, in a table that was filled anew.

use crate::batch::Batch;
use crate::index::{Failure, Index};
use crate::inner::{Inner, Writer};
use crate::learning::MOST_IN_COMMIT;
use crate::store::Store;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use twiceshy::filter::{Adapted, Operation};
use twiceshy::memory::Lesson;
use twiceshy::plan::{Learned, Mistake, Outcome};
use twiceshy::remote::Key;

/// How many remembered queries are asked at once.
const STEP: usize = 1_024;

/// Teaches a filter that is being filled, and has all keys, about up to `most` remembered queries. `false` if it was taught enough.
pub(crate) fn teach_growth<S: Store>(
    writer: &mut Writer,
    most: usize,
    index: &Index<'_, S>,
) -> Result<bool, Failure<S::Error>> {
    let Writer { growth: Some(growth), remembered, state, .. } = writer else { return Ok(false) };
    let Some(queries) = growth.next_lesson(most, remembered.memory()) else { return Ok(false) };
    for query in queries {
        if let Some(plan) = growth.plan_lesson(&query, index)? {
            let mistakes = plan.mistakes().to_vec();
            growth.learn(plan).map_err(|_| Failure::NoFilter)?;
            remembered.add(&mistakes, state.len);
        }
    }
    Ok(true)
}

impl<S: Store> Inner<S> {
    pub(crate) fn remember(&self, writer: &mut Writer, mistakes: &[Mistake]) {
        writer.remembered.add(mistakes, writer.state.len);
        self.counters.remembered.store(writer.remembered.memory().len(), Ordering::Relaxed);
    }

    /// Orders the remembered keys as the filter does.
    pub(crate) fn order_memory(&self, writer: &mut Writer) {
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(filter) = &*filter {
            writer.remembered.rekey(filter.layout().1.hash);
        }
        self.counters.remembered.store(writer.remembered.memory().len(), Ordering::Relaxed);
    }

    /// Teaches a filter that was read from a snapshot: it may be older than the memory.
    pub(crate) fn teach_at_opening(&self) {
        if let Ok(mut writer) = self.writer.try_lock() {
            writer.lesson_due = true;
            self.teach_if_due(&mut writer);
        }
    }

    /// Teaches a filter that was made anew. If the store fails, mistakes are learned from when they are made again.
    pub(crate) fn teach_if_due(&self, writer: &mut Writer) {
        if !std::mem::take(&mut writer.lesson_due) {
            return;
        }
        self.order_memory(writer);
        if writer.remembered.memory().is_empty() || writer.doubt.is_some() || self.read_only && self.learning_writes {
            return;
        }
        let mut lesson = Lesson::new();
        while let Some(queries) = lesson.next(writer.remembered.memory(), STEP, |query| self.may_contain(query)) {
            let taught =
                if self.learning_writes { self.teach_all(writer, &queries) } else { self.teach(writer, &queries) };
            if taught.is_none() || self.closing.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// Fixes queries one by one, unless others would be forgotten. `None` if the store fails.
    fn teach(&self, writer: &mut Writer, queries: &[Key]) -> Option<()> {
        for query in queries {
            let planned = self.plan(writer, &Batch::default(), Operation::Adapt(query)).ok()?;
            let fixes = planned.plan.outcome() == Outcome::Adapted(Adapted::Fixed);
            if fixes && !planned.plan.forgets() {
                let mistakes = planned.plan.mistakes().to_vec();
                self.apply(writer, planned)?;
                self.remember(writer, &mistakes);
            }
        }
        Some(())
    }

    /// Fixes queries of a filter that writes when it learns: one commit for many.
    fn teach_all(&self, writer: &mut Writer, queries: &[Key]) -> Option<()> {
        let mut left = queries;
        while !left.is_empty() {
            let some = &left[..left.len().min(MOST_IN_COMMIT)];
            let planned = self.plan(writer, &Batch::default(), Operation::Learn(some)).ok()?;
            let Outcome::Learned(Learned { queries: taken, .. }) = planned.plan.outcome() else { return None };
            let mistakes = planned.plan.mistakes().to_vec();
            if planned.plan.writes().is_empty() {
                self.apply(writer, planned)?;
            } else {
                self.commit_learned(writer, planned).ok()?;
            }
            self.remember(writer, &mistakes);
            left = left.get((taken as usize).max(1)..).unwrap_or_default();
        }
        Some(())
    }
}
