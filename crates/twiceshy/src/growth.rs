//! L′: a table that is filled beside the one in use.

use crate::error::{PlanError, StalePlan};
use crate::filter::{Adapted, Backed, Operation, Removed, Target};
use crate::hash::HashKey;
use crate::memory::{Lesson, Memory};
use crate::plan::{Outcome, Plan, Undo};
use crate::remote::{Generation, Key, Keys, Place, Position, RemoteError, Write};

/// A larger or re-keyed filter that is being filled.
///
/// Its set is the keys up to the cursor of a walk over the remote. The owner plans insertions and removals in both filters,
/// commits the writes of both together, and applies them. At the end of the walk, [`Backed::replace`] puts the new filter
/// in place of the old one.
///
/// Under the same hash key both filters read the same remote entries, and nothing is written to the remote. Under another
/// hash key, or if the remote mirrors cells, the new filter has its own generation of the remote.
#[derive(Clone, Debug)]
pub struct Growth {
    filter: Box<dyn Backed>,
    cursor: Option<Position>,
    /// The generation that the keys come from, and the hash key that orders it.
    source: (Generation, HashKey),
    lesson: Lesson,
}

/// What a change of the set does to the new filter.
#[derive(Clone, Debug, Default)]
#[doc(hidden)]
pub struct Beside {
    plan: Option<Plan>,
    /// The remote must commit these.
    pub writes: Vec<Write>,
    /// `true` if the new filter has no room for the key: then it must be dropped.
    pub gives_up: bool,
}

impl Growth {
    /// Begins a filter beside this one; `None` if the filter rebuilds itself. The remote must commit [`Growth::opening`].
    pub fn begin(
        filter: &(impl Backed + ?Sized),
        target: Target,
        keys: &dyn Keys,
    ) -> Result<Option<Growth>, PlanError> {
        let (generation, schema) = filter.layout();
        let same_hash = match target {
            Target::Cells(_) => true,
            Target::Hash(hash) => hash == schema.hash,
        };
        let same_entries = same_hash && !keys.knows_cells();
        let next = Generation(generation.0.saturating_add(u32::from(!same_entries)));
        let filter = filter.successor(target, next)?;
        Ok(filter.map(|filter| Growth {
            filter,
            cursor: None,
            source: (generation, schema.hash),
            lesson: Lesson::default(),
        }))
    }

    /// The filter being filled.
    pub fn filter(&self) -> &dyn Backed {
        &*self.filter
    }

    /// The filter: the new one, or after [`Backed::replace`] the old one.
    pub fn into_filter(self) -> Box<dyn Backed> {
        self.filter
    }

    pub(crate) fn filter_mut(&mut self) -> &mut dyn Backed {
        &mut *self.filter
    }

    /// What the remote must commit before the first step. `given_up` is an earlier growth that this one replaces.
    pub fn opening(&self, given_up: Option<&Growth>) -> Vec<Write> {
        // A new generation replaces that of an earlier growth, since it has the same number.
        if self.own_generation() { self.filter.opening() } else { given_up.map_or_else(Vec::new, Growth::closing) }
    }

    /// What the remote must commit if the new filter is dropped.
    pub fn closing(&self) -> Vec<Write> {
        let (generation, _) = self.filter.layout();
        if self.own_generation() { vec![Write::Abandon { generation }] } else { Vec::new() }
    }

    /// What the remote must commit when the new filter takes over.
    pub fn switch(&self) -> Vec<Write> {
        let (generation, _) = self.filter.layout();
        if self.own_generation() { vec![Write::Switch { generation }] } else { Vec::new() }
    }

    /// `true` if the new filter has its own generation of the remote: then each step writes to the remote.
    pub fn own_generation(&self) -> bool {
        self.filter.layout().0 != self.source.0
    }

    /// The generation that the keys come from, and the hash key that orders it.
    pub fn source(&self) -> (Generation, HashKey) {
        self.source
    }

    /// `true` if the walk has passed this key, so that the new filter must hold it if it is stored.
    pub fn has_passed(&self, key: &[u8]) -> bool {
        held(self.cursor.as_ref(), self.source.1, key)
    }

    fn cut<'a>(&'a self, keys: &'a dyn Keys) -> Cut<'a> {
        Cut { keys, cursor: self.cursor.as_ref(), hash: self.source.1 }
    }

    /// Plans an insertion or removal that was planned in the old filter and changes the set.
    pub fn plan(&self, operation: Operation<'_>, keys: &dyn Keys) -> Result<Beside, PlanError> {
        let (key, inserts) = match operation {
            Operation::Insert(key) => (key, true),
            Operation::Remove(key) => (key, false),
            _ => return Ok(Beside::default()),
        };
        let own = self.own_generation();
        if !self.has_passed(key) {
            // By hash, a batch may be written to the new generation before its keys are in the new filter.
            let written = own && !inserts && !keys.knows_cells();
            let writes = if written { vec![self.deletion(key)] } else { Vec::new() };
            return Ok(Beside { writes, ..Beside::default() });
        }
        // The old filter has found the key to be new: no need to check again.
        let at = Position { word: self.source.1.words(key).word(0), key: Key::from(key) };
        let operation = if inserts { Operation::Bring(&at) } else { operation };
        let mut plan = match self.filter.plan(operation, &self.cut(keys)) {
            Ok(plan) => plan,
            Err(PlanError::Full { .. }) => return Ok(Beside { plan: None, writes: self.closing(), gives_up: true }),
            Err(error) => return Err(error),
        };
        if plan.outcome() == Outcome::Removed(Removed::NotStored) {
            return Err(PlanError::Disagree);
        }
        let writes = std::mem::take(&mut plan.writes);
        let writes = if own { writes } else { Vec::new() };
        Ok(Beside { plan: Some(plan), writes, gives_up: false })
    }

    fn deletion(&self, key: &[u8]) -> Write {
        let (generation, words) = self.filter.entries(key);
        Write::Remove { generation, key: Key::from(key), words, cell: None }
    }

    /// Applies a planned change. The owner drops a growth that gives up.
    pub fn apply(&mut self, beside: Beside) -> Result<Option<Undo>, StalePlan> {
        beside.plan.map(|plan| self.filter.apply(plan)).transpose()
    }

    /// Takes back the last change.
    pub fn undo(&mut self, undo: Undo) -> Result<(), StalePlan> {
        self.filter.undo(undo)
    }

    /// The next keys to bring over; empty at the end of the walk.
    pub fn next_keys(&self, limit: usize, keys: &dyn Keys) -> Result<Vec<Position>, RemoteError> {
        let mut batch = Vec::new();
        keys.walk(self.source.0, self.cursor.as_ref(), limit.max(1), &mut |at| batch.push(at))?;
        Ok(batch)
    }

    /// What the remote must commit before these keys are brought over: their entries in the new generation.
    pub fn additions(&self, batch: &[Position]) -> Vec<Write> {
        if !self.own_generation() {
            return Vec::new();
        }
        let addition = |at: &Position| {
            let (generation, words) = self.filter.entries(&at.key);
            Write::Add { generation, key: at.key.clone(), words, cell: None }
        };
        batch.iter().map(addition).collect()
    }

    /// Brings keys over. After an error, the keys before it stay, and the walk resumes after them.
    pub fn fill(&mut self, batch: Vec<Position>, keys: &dyn Keys) -> Result<(), PlanError> {
        fill(&mut *self.filter, &mut self.cursor, self.source.1, batch, keys)
    }

    /// Plans one key of a batch for a remote that mirrors cells, which must be told the cell of each key.
    pub(crate) fn plan_bring(&self, at: &Position, keys: &dyn Keys) -> Result<Plan, PlanError> {
        self.filter.plan(Operation::Bring(at), &self.cut(keys))
    }

    /// Brings over a planned key.
    pub(crate) fn bring(&mut self, at: Position, plan: Plan) -> Result<(), StalePlan> {
        self.filter.apply(plan)?;
        self.cursor = Some(at);
        Ok(())
    }

    /// Goes on to teach the new filter, once it has all keys: those of the next `limit` remembered queries that it matches.
    /// `None` if it was taught enough.
    pub fn next_lesson(&mut self, limit: usize, memory: &Memory) -> Option<Vec<Key>> {
        let filter = &*self.filter;
        self.lesson.next(memory, limit, |query| filter.contains(query))
    }

    /// Plans to fix a query that the new filter gets wrong; `None` if it is stored, or cannot be fixed, or only if others are forgotten.
    /// The remote must commit the plan's writes.
    pub fn plan_lesson(&self, query: &[u8], keys: &dyn Keys) -> Result<Option<Plan>, PlanError> {
        lesson(&*self.filter, query, &self.cut(keys))
    }

    /// Applies a plan of [`Growth::plan_lesson`].
    pub fn learn(&mut self, plan: Plan) -> Result<(), StalePlan> {
        self.lesson.fixed();
        self.filter.apply(plan).map(drop)
    }

    /// Checks the new filter against the keys that it must hold.
    pub fn validate(&self, stored: &[Key], keys: &dyn Keys) -> Result<(), String> {
        let passed: Vec<Key> = stored.iter().filter(|key| self.has_passed(key)).cloned().collect();
        let checked = self.filter.validate(&passed, &self.cut(keys));
        checked.map_err(|wrong| format!("in the table being filled: {wrong}"))
    }

    /// The memory of the new filter, in bits.
    pub fn local_bits(&self) -> u64 {
        self.filter.local_bits()
    }
}

/// Plans to teach a filter about a query; `None` if it is stored, or cannot be fixed, or only if others are forgotten.
pub(crate) fn lesson(
    filter: &(impl Backed + ?Sized),
    query: &[u8],
    keys: &dyn Keys,
) -> Result<Option<Plan>, PlanError> {
    let plan = filter.plan(Operation::Adapt(query), keys)?;
    Ok(Some(plan).filter(|plan| plan.outcome() == Outcome::Adapted(Adapted::Fixed) && !plan.forgets()))
}

/// Brings keys into a filter that holds the keys up to the cursor, in the order of this hash key.
pub(crate) fn fill(
    filter: &mut (impl Backed + ?Sized),
    cursor: &mut Option<Position>,
    hash: HashKey,
    batch: Vec<Position>,
    keys: &dyn Keys,
) -> Result<(), PlanError> {
    for at in batch {
        filter.fill(&at, &Cut { keys, cursor: cursor.as_ref(), hash })?;
        *cursor = Some(at);
    }
    Ok(())
}

/// The keys that the new filter holds so far: those up to the cursor.
///
/// The word of order 0 is word 0 of the key's hash in every family. So a key can be compared with the cursor under the
/// source's hash key alone, whatever the table looks like.
struct Cut<'a> {
    keys: &'a dyn Keys,
    cursor: Option<&'a Position>,
    hash: HashKey,
}

fn held(cursor: Option<&Position>, hash: HashKey, key: &[u8]) -> bool {
    cursor.is_some_and(|cursor| (hash.words(key).word(0), key) <= (cursor.word, &*cursor.key))
}

impl Keys for Cut<'_> {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        if self.keys.knows_cells() {
            return self.keys.candidates(place, found);
        }
        self.keys.candidates(place, &mut |key| {
            if held(self.cursor, self.hash, key) {
                found(key);
            }
        })
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        self.keys.walk(generation, after, limit, &mut |at| {
            if held(self.cursor, self.hash, &at.key) {
                found(at);
            }
        })
    }

    fn knows_cells(&self) -> bool {
        self.keys.knows_cells()
    }

    fn mistaken_for(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) {
        self.keys.mistaken_for(key, found);
    }
}
