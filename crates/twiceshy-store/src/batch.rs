//! Changes to be committed together, and reads that see them as if they were.

use crate::entry;
use crate::store::{Change, Space, Store};
use std::collections::BTreeMap;
use std::ops::Bound;
use twiceshy::remote::Write;

/// Pending changes. A later change of a key replaces an earlier one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    changes: BTreeMap<(Space, Vec<u8>), Option<Vec<u8>>>,
}

impl Batch {
    pub(crate) fn put(&mut self, space: Space, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.changes.insert((space, key.into()), Some(value.into()));
    }

    pub(crate) fn delete(&mut self, space: Space, key: impl Into<Vec<u8>>) {
        self.changes.insert((space, key.into()), None);
    }

    pub(crate) fn also(&mut self, change: &Change) {
        self.changes.insert((change.space, change.key.clone()), change.value.clone());
    }

    /// The index entries that a write of a plan adds or deletes.
    pub(crate) fn index(&mut self, write: &Write) {
        match write {
            Write::Add { generation, key, words, .. } => {
                let entries = words.iter().map(|(order, word)| entry::index(*generation, order, word, key));
                entries.for_each(|entry| self.put(Space::Index, entry, []));
            }
            Write::Remove { generation, key, words, .. } => {
                let entries = words.iter().map(|(order, word)| entry::index(*generation, order, word, key));
                entries.for_each(|entry| self.delete(Space::Index, entry));
            }
            _ => {}
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub(crate) fn get(&self, space: Space, key: &[u8]) -> Option<Option<&[u8]>> {
        // The map's keys are owned pairs, so a range finds what a borrowed key cannot.
        let found = self.range(space, key, None).next().filter(|(own, _)| *own == key);
        found.map(|(_, value)| value)
    }

    fn range<'a>(
        &'a self,
        space: Space,
        from: &[u8],
        to: Option<&[u8]>,
    ) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> + use<'a> {
        let end = match to {
            Some(to) if to > from => Bound::Excluded((space, to.to_vec())),
            Some(_) => Bound::Excluded((space, from.to_vec())),
            None => Bound::Unbounded,
        };
        let range = self.changes.range((Bound::Included((space, from.to_vec())), end));
        range.take_while(move |((own, _), _)| *own == space).map(|((_, key), value)| (key.as_slice(), value.as_deref()))
    }

    pub(crate) fn into_changes(self) -> Vec<Change> {
        let changes = self.changes.into_iter();
        changes.map(|((space, key), value)| Change { space, key, value }).collect()
    }

    /// The answer to a question as it will be after the commit: the store's answer with these changes made.
    pub(crate) fn over(&self, question: &Question, answer: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut keys: BTreeMap<&[u8], bool> = answer.iter().map(|key| (key.as_slice(), true)).collect();
        let cut = answer.len() >= self.asks(question);
        for (key, value) in self.range(question.space, &question.from, question.to.as_deref()) {
            // Nothing is known beyond the last key of an answer that was cut short.
            if !cut || answer.last().is_some_and(|last| key <= last.as_slice()) {
                keys.insert(key, value.is_some());
            }
        }
        let kept = keys.into_iter().filter(|(_, there)| *there).map(|(key, _)| key.to_vec());
        kept.take(question.limit).collect()
    }

    /// How many keys to ask the store for, so that enough are left after the deletions.
    fn asks(&self, question: &Question) -> usize {
        let gone = self.range(question.space, &question.from, question.to.as_deref());
        question.limit.saturating_add(gone.filter(|(_, value)| value.is_none()).count())
    }

    /// Asks the store.
    pub(crate) fn ask<S: Store>(&self, question: &Question, store: &S) -> Result<Vec<Vec<u8>>, S::Error> {
        let most = self.asks(question);
        let mut keys: Vec<Vec<u8>> = Vec::new();
        if most == 0 {
            return Ok(keys);
        }
        store.scan(question.space, Bound::Included(&question.from), &mut |key, _| {
            if question.to.as_deref().is_some_and(|to| key >= to) {
                return false;
            }
            keys.push(key.to_vec());
            keys.len() < most
        })?;
        Ok(keys)
    }
}

/// A question to a map: up to `limit` of its keys from `from` on and before `to`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Question {
    pub(crate) space: Space,
    pub(crate) from: Vec<u8>,
    pub(crate) to: Option<Vec<u8>>,
    pub(crate) limit: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;
    use crate::store::Durability;

    /// A small generator.
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    #[test]
    fn a_question_through_a_batch_is_answered_as_after_its_commit() {
        let mut state = 1;
        for _ in 0..300 {
            let store = MemoryStore::new();
            let mut before = Batch::default();
            for _ in 0..next(&mut state) % 20 {
                before.put(Space::Values, [(next(&mut state) % 24) as u8], []);
            }
            store.commit(&before.into_changes(), Durability::Synced).expect("memory");
            let mut batch = Batch::default();
            for _ in 0..next(&mut state) % 12 {
                let key = [(next(&mut state) % 24) as u8];
                match next(&mut state) % 2 {
                    0 => batch.put(Space::Values, key, []),
                    _ => batch.delete(Space::Values, key),
                }
                batch.put(Space::Index, key, []);
            }
            let questions: Vec<Question> = (0..20)
                .map(|_| Question {
                    space: Space::Values,
                    from: vec![(next(&mut state) % 24) as u8],
                    to: Some(vec![(next(&mut state) % 26) as u8]).filter(|to| to[0] < 24),
                    limit: (next(&mut state) % 6) as usize,
                })
                .collect();
            let ask = |batch: &Batch, question: &Question| {
                batch.over(question, &batch.ask(question, &store).expect("memory"))
            };
            let through: Vec<_> = questions.iter().map(|question| ask(&batch, question)).collect();
            store.commit(&batch.into_changes(), Durability::Synced).expect("memory");
            let after: Vec<_> = questions.iter().map(|question| ask(&Batch::default(), question)).collect();
            assert_eq!(through, after);
        }
    }
}
