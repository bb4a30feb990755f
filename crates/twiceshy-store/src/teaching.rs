//! What the filter has learned, in a table that was filled anew.
//!
//! A filter that does not write when it learns is taught before it answers. A broom filter answers first: its lessons are
//! commits, so they are made in parts, with each change and by the learner.

use crate::batch::Batch;
use crate::index::{Failure, Index};
use crate::inner::{Inner, Writer};
use crate::learning::MOST_IN_COMMIT;
use crate::store::Store;
use std::sync::atomic::Ordering;
use twiceshy::filter::{Adapted, Operation};
use twiceshy::memory::{Lesson, Memory, Recalling};
use twiceshy::plan::{Learned, Mistake, Outcome};
use twiceshy::remote::Key;

/// How many remembered queries are asked at once.
const STEP: usize = 1_024;

/// Remembers what a lesson was about, if nothing is forgotten for it.
fn note(memory: &mut Memory, mistakes: &[Mistake], keys: u64) {
    mistakes.iter().for_each(|Mistake { key, query }| memory.note(key, query, keys));
}

/// Teaches a filter that is being filled, and has all keys, about up to `most` remembered queries. `false` if it was taught enough.
pub(crate) fn teach_growth<S: Store>(
    writer: &mut Writer,
    most: usize,
    index: &Index<'_, S>,
) -> Result<bool, Failure<S::Error>> {
    let Writer { growth: Some(growth), remembered, state, .. } = writer else { return Ok(false) };
    let Some(queries) = growth.next_lesson(most, remembered.memory()) else { return Ok(false) };
    for query in queries {
        if let Some(plan) = growth.plan_lesson(&query, &Recalling::new(index, remembered.memory()))? {
            let mistakes = plan.mistakes().to_vec();
            growth.learn(plan).map_err(|_| Failure::NoFilter)?;
            remembered.change(|memory| note(memory, &mistakes, state.len));
        }
    }
    Ok(true)
}

impl<S: Store> Inner<S> {
    pub(crate) fn remember(&self, writer: &mut Writer, mistakes: &[Mistake]) {
        let keys = writer.state.len;
        self.change_memory(writer, |memory| {
            mistakes.iter().for_each(|Mistake { key, query }| memory.remember(std::slice::from_ref(key), query, keys));
        });
    }

    /// Keys were inserted that were not stored.
    pub(crate) fn remember_inserted(&self, writer: &mut Writer, inserted: &[Key]) {
        let keys = writer.state.len;
        if !writer.remembered.memory().is_empty() {
            self.change_memory(writer, |memory| inserted.iter().for_each(|key| memory.inserted(key, keys)));
        }
    }

    pub(crate) fn change_memory(&self, writer: &mut Writer, change: impl FnOnce(&mut Memory)) {
        writer.remembered.change(change);
        self.counters.remembered.store(writer.remembered.memory().len(), Ordering::Relaxed);
    }

    /// Teaches a filter that was read from a snapshot: the memory may be newer.
    pub(crate) fn teach_at_opening(&self) {
        if let Ok(mut writer) = self.writer.try_lock() {
            self.counters.remembered.store(writer.remembered.memory().len(), Ordering::Relaxed);
            self.begin_lesson(&mut writer);
            if !self.learning_writes {
                while writer.lesson.is_some() && self.has_filter() {
                    self.teach(&mut writer, STEP);
                }
            }
        }
    }

    /// The filter was made anew, and has yet to be taught.
    pub(crate) fn begin_lesson(&self, writer: &mut Writer) {
        let cannot = self.read_only && self.learning_writes || writer.remembered.memory().is_empty();
        writer.lesson = (!cannot).then(Lesson::new);
    }

    /// Goes on with a lesson: up to `most` remembered queries. If the store fails, it ends: mistakes are learned from when they are made
    /// again. Nothing else may be planned before a commit in doubt is settled.
    pub(crate) fn teach(&self, writer: &mut Writer, most: usize) {
        if writer.doubt.is_some() || !self.has_filter() {
            return;
        }
        let Some(mut lesson) = writer.lesson.take() else { return };
        let Some(queries) = lesson.next(writer.remembered.memory(), most, |query| self.may_contain(query)) else {
            return;
        };
        let taught = match self.learning_writes {
            true => self.teach_together(writer, &mut lesson, &queries),
            false => self.teach_each(writer, &mut lesson, &queries),
        };
        match taught {
            Ok(()) => writer.lesson = Some(lesson),
            // The filter and the index disagree.
            Err(Failure::NoFilter | Failure::Damaged) => self.lose_filter(writer),
            Err(_) => {}
        }
    }

    /// Fixes queries one by one, unless others would be forgotten.
    fn teach_each(&self, writer: &mut Writer, lesson: &mut Lesson, queries: &[Key]) -> Result<(), Failure<S::Error>> {
        for query in queries {
            let planned = self.plan(writer, &Batch::default(), Operation::Adapt(query))?;
            let fixes = planned.plan.outcome() == Outcome::Adapted(Adapted::Fixed);
            if fixes && !planned.plan.forgets() {
                let (mistakes, keys) = (planned.plan.mistakes().to_vec(), writer.state.len);
                self.apply(writer, planned).ok_or(Failure::NoFilter)?;
                lesson.fixed();
                self.change_memory(writer, |memory| note(memory, &mistakes, keys));
            }
        }
        Ok(())
    }

    /// Fixes queries of a filter that writes when it learns: one commit for many.
    fn teach_together(
        &self,
        writer: &mut Writer,
        lesson: &mut Lesson,
        queries: &[Key],
    ) -> Result<(), Failure<S::Error>> {
        let mut left = queries;
        while !left.is_empty() {
            let some = &left[..left.len().min(MOST_IN_COMMIT)];
            let planned = self.plan(writer, &Batch::default(), Operation::Learn(some))?;
            let Outcome::Learned(Learned { queries: taken, fixed, .. }) = planned.plan.outcome() else {
                return Err(Failure::NoFilter);
            };
            let (mistakes, keys) = (planned.plan.mistakes().to_vec(), writer.state.len);
            if planned.plan.writes().is_empty() {
                self.apply(writer, planned).ok_or(Failure::NoFilter)?;
            } else if self.commit_learned(writer, planned).is_err() {
                // Nothing was applied. If it has happened all the same, it is applied when that is known.
                return Err(Failure::Full);
            }
            if fixed > 0 {
                lesson.fixed();
            }
            self.change_memory(writer, |memory| note(memory, &mistakes, keys));
            left = left.get((taken as usize).max(1)..).unwrap_or_default();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faulty::Faulty;
    use crate::memory::MemoryStore;
    use crate::options::Options;
    use crate::{Checked, Kind};

    fn key(number: u64) -> [u8; 8] {
        number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
    }

    /// Whatever happens to the commits of a lesson, no key is lost, and the guard goes on.
    #[test]
    fn a_lesson_whose_commit_fails_or_is_in_doubt_costs_no_key() {
        type Fails = fn(&Faulty<MemoryStore>);
        let ways: [(&str, Fails); 4] = [
            ("happened", |store| store.lose_answer(true)),
            ("did not happen", |store| store.lose_answer(false)),
            ("failed", Faulty::fail_commit),
            ("a read failed", |store| store.fail_after(1)),
        ];
        for kind in Kind::ALL.iter().filter(|kind| kind.learns()) {
            for (what, fails) in ways {
                let options = Options::new().filter(*kind).false_positive_rate(1.0 / 16.0).background(false);
                let guard = options.open(Faulty::new(MemoryStore::new())).expect("an empty store");
                guard.insert_all((0..800).map(|number| (key(number), b""))).expect("memory");
                for number in 1_000..4_000 {
                    assert!(!guard.contains(&key(number)).expect("memory"));
                }
                let inner = guard.inner();
                assert!(guard.stats().remembered > 50, "{kind}");
                let mut writer = inner.lock().expect("memory");
                inner.lose_filter(&mut writer);
                inner.rebuild(&mut writer).expect("memory");
                // Some other mistakes, so that there is something to learn in every filter.
                inner.begin_lesson(&mut writer);
                for number in 4_000..6_000 {
                    let [one, other] = [0, 1].map(|more| Key::from(&key(number + more)[..]));
                    inner.change_memory(&mut writer, |memory| memory.remember(&[one], &other, 800));
                }
                fails(guard.store());
                inner.teach(&mut writer, 512);
                let was_used = !guard.store().heal();
                assert_eq!(writer.doubt.is_some(), *kind == Kind::Broom && what.contains("happen"), "{kind}, {what}");
                assert!(was_used || *kind != Kind::Broom, "{kind}, {what}: nothing was learned");
                drop(writer);
                for number in 800..1_000 {
                    guard.insert(&key(number), b"").expect("memory");
                }
                for number in 6_000..7_000 {
                    assert!(!guard.contains(&key(number)).expect("memory"));
                }
                assert!((0..1_000).all(|number| guard.contains(&key(number)).expect("memory")), "{kind}, {what}");
                assert_eq!(guard.check().expect("memory"), Checked::Sound, "{kind}, {what}");
            }
        }
    }
}
