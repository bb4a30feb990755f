//! Plans for several changes at once, applied to this process's copy before they are committed.

use super::{Change, Desk, Trouble, What};
use crate::engine::{Append, Entry, Open, Span};
use crate::error::Error;
use crate::known::{Known, missing, span};
use crate::names::Head;
use crate::record::{self, Record};
use crate::set::complete_key;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use twiceshy::error::PlanError;
use twiceshy::filter::{Adapted, Inserted, Operation, Removed};
use twiceshy::plan::{Outcome, Plan, Undo};
use twiceshy::remote::{Key, Write};

/// Every record whose position is a multiple of this carries the digest of the filter.
const DIGEST_EVERY: u64 = 1_024;

/// Plans that are applied to the copy, and the transaction that commits them.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// `None` if there is nothing to append.
    pub(super) append: Option<Append>,
    pub(super) undo: Vec<Undo>,
    /// Queries that the filter cannot be taught.
    pub(super) exceptions: Vec<Key>,
    /// How many queries it was taught.
    pub(super) learned: u64,
    /// The bytes of the record.
    pub(super) bytes: u64,
    /// The keys that come (`true`) and go, in order.
    pub(super) changes: Vec<(bool, Key)>,
    /// Keys whose rows were found elsewhere.
    pub(super) adopted: Vec<Key>,
    /// Whether the set has every row's key, if this says so.
    pub(super) complete: Option<bool>,
}

/// A draft under way.
struct Drafting {
    draft: Draft,
    append: Append,
    plans: Vec<Plan>,
    announced: Vec<Key>,
    known: Known,
    at: Head,
    /// Keys that stay in the set: an announcement keeps them there, in the engine or in this draft.
    kept: HashSet<Key>,
}

impl Desk {
    /// Plans changes. The keys in `kept` stay in the set. If this fails, nothing has changed.
    pub(super) async fn draft(&self, group: &[Change], queries: &[Key], kept: &HashSet<Key>) -> Result<Draft, Trouble> {
        let at = self.at();
        let mut drafting = Drafting {
            draft: Draft::default(),
            append: Append::after(self.shard, at),
            plans: Vec::new(),
            announced: Vec::new(),
            known: Known::default(),
            at,
            kept: kept.clone(),
        };
        match self.draft_all(&mut drafting, group, queries).await {
            Ok(()) => Ok(drafting.finish(self)),
            Err(trouble) => {
                self.take_back(drafting.draft);
                Err(trouble)
            }
        }
    }

    async fn draft_all(&self, drafting: &mut Drafting, group: &[Change], queries: &[Key]) -> Result<(), Trouble> {
        self.fetch_matches(drafting, group, queries).await?;
        for Change { what, .. } in group {
            match what {
                What::Announce { id, keys } => {
                    for key in keys {
                        self.plan(drafting, Operation::Insert(key)).await?;
                        // The engine does not see an announcement that is opened with the same record.
                        drafting.kept.insert(key.clone());
                    }
                    let open = Open { id: *id, member: self.copy().member(), keys: keys.clone() };
                    drafting.append.open.push(open);
                    if self.inner.described.beside {
                        drafting.announced.extend(keys.iter().cloned());
                    }
                    // It commits even if no key is new: then a late commit of an attempt whose answer was lost fails.
                    drafting.must_append();
                }
                What::Put { values } => {
                    for (key, value) in values {
                        self.plan(drafting, Operation::Insert(key)).await?;
                        drafting.append.values.push((key.clone(), Some(value.clone())));
                    }
                    drafting.must_append();
                }
                What::Remove { keys } => {
                    for key in keys {
                        if self.remove(drafting, key).await? || drafting.kept.contains(key) {
                            drafting.append.values.push((key.clone(), None));
                            drafting.must_append();
                        }
                    }
                }
                What::Close { open, stored } => {
                    drafting.append.close.push(open.id);
                    // In the engine a row can be looked for. Of rows that are elsewhere only the watch knows.
                    let beside = self.inner.described.beside;
                    let may_leave = |key: &Key| !beside || self.watches.may_leave(open.id, key);
                    for key in open.keys.iter().filter(|key| !stored.contains(*key) && may_leave(key)) {
                        if self.remove(drafting, key).await? && !beside {
                            drafting.append.rowless.push(key.clone());
                        }
                    }
                    drafting.must_append();
                }
                What::Retire { watch, keys } => {
                    for key in keys.iter().filter(|key| self.watches.may_leave(*watch, key)) {
                        if self.remove(drafting, key).await? {
                            drafting.must_append();
                        }
                    }
                }
                What::Adopt { keys } => {
                    for key in keys {
                        self.plan(drafting, Operation::Insert(key)).await?;
                    }
                    // As if they were announced: a ticket that is rolled back meanwhile must not take them out again.
                    drafting.announced.extend(keys.iter().cloned());
                    drafting.draft.adopted.extend(keys.iter().cloned());
                    drafting.must_append();
                }
                // Done before.
                What::Watch { .. } => {}
                What::Complete { watch } => {
                    let is_known = self.copy().read().is_complete();
                    let may = self.watches.may_complete(*watch) && drafting.draft.complete.is_none();
                    // The doubt will be a later record, so this watch would not have seen it.
                    let is_untold = self.copy().untold.load(Ordering::Acquire);
                    if may && !is_known && !is_untold {
                        drafting.say_complete(true);
                    }
                }
                What::Doubt => drafting.say_complete(false),
                What::Move { entries, stored, gone } => {
                    drafting.append.moved.extend(entries);
                    for key in stored {
                        self.plan(drafting, Operation::Insert(key)).await?;
                    }
                    // Rows that are elsewhere are not in the table that the outbox is about.
                    for key in gone.iter().filter(|_| !self.inner.described.beside) {
                        // A value that this record writes is not in the engine yet, so the engine cannot see that the key must stay.
                        let is_written = drafting
                            .append
                            .values
                            .iter()
                            .rfind(|(own, _)| own == key)
                            .is_some_and(|(_, value)| value.is_some());
                        if !is_written && self.remove(drafting, key).await? {
                            drafting.append.rowless.push(key.clone());
                        }
                    }
                    drafting.must_append();
                }
            }
        }
        for query in queries {
            self.learn(drafting, query).await?;
        }
        Ok(())
    }

    /// Plans to take a key out of the set, unless it is kept there. `true` if it leaves.
    async fn remove(&self, drafting: &mut Drafting, key: &Key) -> Result<bool, Trouble> {
        if drafting.kept.contains(key) {
            return Ok(false);
        }
        let outcome = self.plan(drafting, Operation::Remove(key)).await?;
        let leaves = matches!(outcome, Outcome::Removed(Removed::Gone | Removed::LeftOrphan));
        if leaves {
            drafting.append.unopened.push(key.clone());
        }
        Ok(leaves)
    }

    async fn learn(&self, drafting: &mut Drafting, query: &Key) -> Result<(), Trouble> {
        match self.plan(drafting, Operation::Adapt(query)).await {
            Ok(Outcome::Adapted(Adapted::Fixed)) => drafting.draft.learned += 1,
            // At this position it is not in the index.
            Ok(Outcome::Adapted(Adapted::StillPresent | Adapted::Unfixable)) => {
                drafting.draft.exceptions.push(query.clone());
            }
            Ok(_) => {}
            // A mistake that cannot be learned now is made again.
            Err(Trouble::Full) => {}
            Err(trouble) => return Err(trouble),
        }
        Ok(())
    }

    /// Plans one operation, and applies the plan.
    async fn plan(&self, drafting: &mut Drafting, operation: Operation<'_>) -> Result<Outcome, Trouble> {
        loop {
            let planned = match self.copy().read().filter() {
                Some(filter) => filter.plan(operation, &drafting.known),
                None => return Err(Trouble::Lost),
            };
            match planned {
                Ok(plan) => return self.apply_early(drafting, plan),
                Err(error) => match (missing(&error), error) {
                    (Some(span), _) => self.fetch(drafting, vec![span]).await?,
                    (None, PlanError::Full { .. }) => return Err(Trouble::Full),
                    (None, PlanError::Disagree) => return Err(Trouble::Lost),
                    (None, error) => return Err(Trouble::Other(Error::Filter(error.to_string()))),
                },
            }
        }
    }

    fn apply_early(&self, drafting: &mut Drafting, plan: Plan) -> Result<Outcome, Trouble> {
        let outcome = plan.outcome();
        if plan.is_nothing() {
            return Ok(outcome);
        }
        for write in plan.writes() {
            match write {
                Write::Add { generation, key, words, .. } => {
                    drafting.known.show(key, *generation, *words);
                    drafting.draft.changes.push((true, key.clone()));
                    drafting.append.add.push(Entry { generation: *generation, key: key.clone(), words: *words });
                }
                Write::Remove { generation, key, words, .. } => {
                    if self.inner.described.beside {
                        self.inner.spot.leaving(std::iter::once(&**key));
                    }
                    drafting.known.hide(key);
                    drafting.draft.changes.push((false, key.clone()));
                    drafting.append.remove.push(Entry { generation: *generation, key: key.clone(), words: *words });
                    self.copy().write().hold(key);
                }
                _ => {}
            }
        }
        drafting.plans.push(plan.clone());
        let mut replica = self.copy().write();
        let filter = replica.filter_mut().ok_or(Trouble::Lost)?;
        let undo = filter.apply(plan).map_err(|_| Trouble::Lost)?;
        drafting.draft.undo.push(undo);
        debug_assert!(!matches!(outcome, Outcome::Inserted(Inserted::AlreadyStored)));
        Ok(outcome)
    }

    /// Fetches what most plans will need, in one request: the index behind every match.
    async fn fetch_matches(&self, drafting: &mut Drafting, group: &[Change], queries: &[Key]) -> Result<(), Trouble> {
        let spans: HashSet<Span> = {
            let replica = self.copy().read();
            let filter = replica.filter().ok_or(Trouble::Lost)?;
            let keys: Vec<&[u8]> =
                group.iter().flat_map(|change| change.what.keys()).chain(queries).map(|key| &**key).collect();
            filter.lookup_batch(&keys).iter().flatten().map(span).collect()
        };
        if spans.is_empty() { Ok(()) } else { self.fetch(drafting, spans.into_iter().collect()).await }
    }

    async fn fetch(&self, drafting: &mut Drafting, spans: Vec<Span>) -> Result<(), Trouble> {
        self.fetch_into(&mut drafting.known, drafting.at, spans).await
    }

    /// Fetches parts of the index, if the log still ends here.
    pub(super) async fn fetch_into(&self, known: &mut Known, at: Head, spans: Vec<Span>) -> Result<(), Trouble> {
        let (head, found) = self.inner.engine.candidates(self.shard, &spans).await?;
        if head != at {
            return Err(Trouble::Moved);
        }
        spans.into_iter().zip(found).for_each(|(span, keys)| known.fetched(span, keys));
        Ok(())
    }
}

impl Drafting {
    fn must_append(&mut self) {
        self.draft.bytes = 1;
    }

    /// Says in the record whether the set has every row's key, and notes it for those who join later.
    fn say_complete(&mut self, complete: bool) {
        self.draft.complete = Some(complete);
        self.append.values.push((complete_key(self.append.shard), complete.then(Vec::new)));
        self.must_append();
    }

    /// A key that comes and goes in one record has entries in both lists, which do not tell what came first. Here the first change tells
    /// whether the key was in the index, and the last one whether it is to be.
    fn settle_entries(&mut self) {
        if self.append.add.is_empty() || self.append.remove.is_empty() {
            return;
        }
        let mut ends: HashMap<&Key, (bool, bool)> = HashMap::new();
        for (comes, key) in &self.draft.changes {
            ends.entry(key).or_insert((!comes, *comes)).1 = *comes;
        }
        let mut seen = HashSet::new();
        let mut keep = |entry: &Entry, wanted| ends.get(&entry.key) == Some(&wanted) && seen.insert(entry.key.clone());
        self.append.add.retain(|entry| keep(entry, (false, true)));
        self.append.remove.retain(|entry| keep(entry, (true, false)));
    }

    /// Makes the record.
    fn finish(mut self, desk: &Desk) -> Draft {
        if self.plans.is_empty() && self.draft.bytes == 0 {
            return self.draft;
        }
        self.settle_entries();
        let position = self.append.head().position;
        let digest = if position.is_multiple_of(DIGEST_EVERY) { desk.digest() } else { None };
        let (complete, announced, plans) = (self.draft.complete, self.announced, self.plans);
        let record = Record { digest, complete, announced, plans, ..Record::of(record::What::Change) };
        self.append.record = record.to_bytes();
        self.append.applied_by = Some(desk.copy().member());
        self.draft.bytes = self.append.record.len() as u64;
        self.draft.append = Some(self.append);
        self.draft
    }
}
