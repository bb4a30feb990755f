//! The full-key cuckoo filter: one engine under every fingerprint rule.

use super::edit::{self, Counted};
use super::exceptions::{Bits, most};
use super::fingerprint::{Function, Rule};
use super::local::Local;
use super::options::RuleSpec;
use super::placing::{Placed, place, place_new, unplace};
use super::planner::Planner;
use super::save::write_search;
use super::search::Search;
use super::shape::Shape;
use super::stats::Stats;
use super::validate::check_table;
use crate::error::{OptionsError, PlanError, StalePlan};
use crate::filter::{Backed, Filter, Inserted, Operation, Removed, Target};
use crate::hash::HashKey;
use crate::kind::Kind;
use crate::persist::{SaveError, Writer};
use crate::plan::{Edit, Outcome, Plan, Stamp, Undo, UndoEdit};
use crate::remote::{CellId, Generation, Key, Keys, OrderWords, Place, Position, Schema, Write};
use crate::rng::SplitMix64;
use std::any::Any;
use std::io;

/// Orphans may take one in this many cells before the filter wants a rebuild.
const ORPHAN_SHARE: u64 = 64;

/// A filter wants another hash key if mistakes were neither fixed nor listed as often as one key in this many.
const REFUSED_SHARE: u64 = 8;

/// Codes of operations in the filter's stamp.
const INSERT: u64 = 1;
const REMOVE: u64 = 2;
pub(super) const ADAPT: u64 = 3;
const FILL: u64 = 4;
const REPLACE: u64 = 5;

/// A cuckoo filter whose buckets are computed from the whole key, so that a cell can change without losing its key.
///
/// Insertions look for room breadth-first unless [`Options::search`](super::Options::search) asks for the papers' random
/// walk. The rule `R` says which fingerprint function a cell uses. See [`FullKeyFilter`](super::FullKeyFilter),
/// [`CyclicFilter`](super::CyclicFilter), [`SwappingFilter`](super::SwappingFilter) and
/// [`CuckooingFilter`](super::CuckooingFilter), which are this type under their rules.
#[derive(Clone, Debug)]
pub struct FullKeyCuckoo<R> {
    pub(super) local: Local<R>,
    pub(super) rng: SplitMix64,
    pub(super) search: Search,
    pub(super) stats: Stats,
    /// `true` if an adaptation passed its bound. A rebuild clears it.
    pub(super) wants_rebuild: bool,
    pub(super) stamp: Stamp,
}

impl<R: Rule> FullKeyCuckoo<R> {
    pub(crate) fn new(local: Local<R>, search: Search) -> Self {
        let rng = SplitMix64::for_key(&local.hash);
        let mut options = Writer::new();
        write_search(search, &mut options);
        R::Spec::write(&local.rule, &mut options);
        let stamp = Stamp::new(&[
            options.digest(&local.hash),
            R::Spec::KIND.code().into(),
            local.shape.tables().into(),
            u64::from(local.shape.cells_per_bucket()) | u64::from(local.shape.overlaps()) << 8,
            local.shape.cells(),
            local.cells.width().into(),
            local.generation.0.into(),
        ]);
        FullKeyCuckoo { local, rng, search, stats: Stats::default(), wants_rebuild: false, stamp }
    }

    /// The shape of the table.
    pub fn shape(&self) -> Shape {
        self.local.shape
    }

    /// The width of a cell in bits, selector included.
    pub fn width(&self) -> u32 {
        self.local.cells.width()
    }

    /// The hash key in use.
    pub fn hash_key(&self) -> HashKey {
        self.local.hash
    }

    /// The cells that a look-up of `key` compares, table by table.
    pub fn cells_of(&self, key: &[u8]) -> impl Iterator<Item = CellId> + use<R> {
        let shape = self.local.shape;
        shape.cells_of(&shape.buckets_of(&self.local.hash.words(key)))
    }

    /// The value that a cell holds for `key` under a fingerprint function. For experiments that count collisions.
    ///
    /// # Panics
    /// If the filter has no such function.
    pub fn value_of(&self, key: &[u8], function: Function) -> u32 {
        self.local.value(key, function)
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        Stats { orphans: self.local.orphans, exceptions: self.local.exceptions.len(), ..self.stats }
    }

    pub(super) fn planner<'a>(&'a self, keys: &'a dyn Keys) -> Planner<'a, R> {
        Planner::new(&self.local, keys, self.rng.clone())
    }

    fn full(&self) -> PlanError {
        PlanError::Full { keys: self.local.keys, cells: self.local.shape.cells() }
    }

    /// Plans a cell for a key that is not in the set.
    fn plan_new(&self, key: Key, keys: &dyn Keys) -> Result<Plan, PlanError> {
        let placed = place_new(&self.local, &self.rng, &key, self.search, keys)?;
        self.plan_placed(key, placed, keys)
    }

    fn plan_placed(&self, key: Key, placed: Option<Placed>, keys: &dyn Keys) -> Result<Plan, PlanError> {
        let local = &self.local;
        let Some(placed) = placed else { return Err(self.full()) };
        let mut writes: Vec<Write> = Vec::with_capacity(1 + placed.finished.moves.len());
        writes.extend(placed.finished.writes(local.generation, keys));
        let (generation, words, cell) = (local.generation, local.order_words(&key), Some(placed.cell));
        let becomes = self.stamp.after_key(INSERT, &words);
        writes.push(Write::Add { generation, key, words, cell });
        let mut edit = edit::Edit { flipped: self.hidden_by(&words), ..placed.finished.edit };
        edit.counted = Counted::Insertion { path: placed.path as u64 };
        Ok(Plan::new(self.stamp, becomes, Outcome::Inserted(Inserted::New), writes, Edit::Cuckoo(edit)))
    }

    /// The exception that would hide a key with these words: it must go when the key arrives.
    fn hidden_by(&self, words: &OrderWords) -> Option<Bits> {
        let bits = Bits((words.as_slice().first()? >> 32) as u32);
        (R::LISTS && self.local.exceptions.contains(bits)).then_some(bits)
    }

    fn plan_insert(&self, key: &[u8], keys: &dyn Keys) -> Result<Plan, PlanError> {
        if !self.local.contains(key) {
            return self.plan_new(Key::from(key), keys);
        }
        let matched: Vec<CellId> = self.local.cells_hit(&self.local.hits(key)).collect();
        let mut planner = self.planner(keys);
        if planner.owners.stores(key, &matched)? {
            return Ok(Plan::nothing(self.stamp, Outcome::Inserted(Inserted::AlreadyStored)));
        }
        // The planner remembers what it has read of these cells.
        let key = Key::from(key);
        let placed = place(planner, &key, self.search)?;
        self.plan_placed(key, placed, keys)
    }

    fn plan_remove(&self, key: &[u8], keys: &dyn Keys) -> Result<Plan, PlanError> {
        let local = &self.local;
        let matched: Vec<CellId> = local.cells_hit(&local.hits(key)).collect();
        let mut planner = self.planner(keys);
        if !planner.owners.stores(key, &matched)? {
            return Ok(Plan::nothing(self.stamp, Outcome::Removed(Removed::NotStored)));
        }
        let key = Key::from(key);
        let (finished, cell) = unplace(planner, &key)?;
        let mut edit = finished.edit;
        edit.counted = Counted::Removal;
        let outcome = Outcome::Removed(if cell.is_some() { Removed::Gone } else { Removed::LeftOrphan });
        let words = local.order_words(&key);
        let becomes = self.stamp.after_key(REMOVE, &words);
        let writes = vec![Write::Remove { generation: local.generation, key, words, cell }];
        Ok(Plan::new(self.stamp, becomes, outcome, writes, Edit::Cuckoo(edit)))
    }
}

pub(crate) fn new_local<R: Rule>(
    shape: Shape,
    width: u32,
    hash: HashKey,
    rule: R,
    generation: Generation,
) -> Result<Local<R>, OptionsError> {
    Local::new(shape, width, hash, rule, generation).ok_or(OptionsError::Memory { cells: shape.cells(), width })
}

impl<R: Rule> Filter for FullKeyCuckoo<R> {
    #[inline]
    fn contains(&self, key: &[u8]) -> bool {
        self.local.contains(key)
    }

    #[inline]
    fn prefetch(&self, key: &[u8]) {
        self.local.prefetch(key);
    }

    fn contains_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.local.contains_batch(keys, found);
    }

    fn len(&self) -> u64 {
        self.local.keys
    }

    fn cells(&self) -> u64 {
        self.local.shape.cells()
    }

    fn local_bits(&self) -> u64 {
        let fixed = size_of::<Self>() + self.local.rule.allocated_bytes() + self.local.exceptions.allocated_bytes();
        self.local.cells.allocated_bits() + fixed as u64 * 8
    }
}

impl<R: Rule> Backed for FullKeyCuckoo<R> {
    fn kind(&self) -> Kind {
        R::Spec::KIND
    }

    fn lookup(&self, key: &[u8]) -> Vec<Place> {
        let hits = self.local.hits(key);
        self.local.cells_hit(&hits).map(|cell| self.local.place(cell)).collect()
    }

    fn plan(&self, operation: Operation<'_>, keys: &dyn Keys) -> Result<Plan, PlanError> {
        match operation {
            Operation::Insert(key) => self.plan_insert(key, keys),
            Operation::Remove(key) => self.plan_remove(key, keys),
            Operation::Adapt(query) => self.plan_adapt(query, keys),
            Operation::Learn(queries) => Plan::learn_first(self.stamp, queries, |query| self.plan_adapt(query, keys)),
            Operation::Bring(at) => self.plan_new(at.key.clone(), keys),
            Operation::Begin(_) | Operation::Step(_) => Err(PlanError::NotRebuilding),
        }
    }

    fn apply(&mut self, plan: Plan) -> Result<Undo, StalePlan> {
        plan.check(self.stamp)?;
        let (before, after) = (self.stamp, plan.becomes);
        let edit = match plan.edit {
            Edit::Nothing => UndoEdit::Nothing,
            Edit::Cuckoo(edit) if !plan.decoded || self.accepts(&edit) => UndoEdit::Cuckoo(self.make(edit)),
            _ => return Err(StalePlan),
        };
        self.stamp = after;
        Ok(Undo { before, after, edit })
    }

    fn undo(&mut self, undo: Undo) -> Result<(), StalePlan> {
        if undo.after != self.stamp {
            return Err(StalePlan);
        }
        match undo.edit {
            UndoEdit::Nothing => {}
            UndoEdit::Cuckoo(edit) => self.unmake(edit),
            _ => return Err(StalePlan),
        }
        self.stamp = undo.before;
        Ok(())
    }

    fn stamp(&self) -> Stamp {
        self.stamp
    }

    fn stamp_mut(&mut self) -> &mut Stamp {
        &mut self.stamp
    }

    fn layout(&self) -> (Generation, Schema) {
        (self.local.generation, self.local.schema())
    }

    fn entries(&self, key: &[u8]) -> (Generation, OrderWords) {
        (self.local.generation, self.local.order_words(key))
    }

    fn successor(&self, target: Target, generation: Generation) -> Result<Option<Box<dyn Backed>>, PlanError> {
        let old = self.local.shape;
        let (shape, hash) = match target {
            Target::Cells(cells) => (old.resized(cells).map_err(OptionsError::from)?, self.local.hash),
            Target::Hash(hash) => (old, hash),
        };
        let local = new_local(shape, self.width(), hash, self.local.rule.clone(), generation)?;
        let mut successor = FullKeyCuckoo::new(local, self.search);
        successor.rng = self.rng.clone();
        successor.stamp = successor.stamp.after(FILL, self.rng.state());
        Ok(Some(Box::new(successor)))
    }

    fn fill(&mut self, at: &Position, keys: &dyn Keys) -> Result<(), PlanError> {
        let placed = place_new(&self.local, &self.rng, &at.key, self.search, keys)?;
        let Some(placed) = placed else { return Err(self.full()) };
        let flipped = if R::LISTS { self.hidden_by(&self.local.order_words(&at.key)) } else { None };
        self.make(edit::Edit { flipped, ..placed.finished.edit });
        self.stamp = self.stamp.after(FILL, at.word);
        Ok(())
    }

    fn replace(&mut self, successor: &mut dyn Backed) -> bool {
        let successor: &mut dyn Any = successor;
        let Some(new) = successor.downcast_mut::<Self>() else { return false };
        let stamp = self.stamp.after(REPLACE, new.stamp.history);
        std::mem::swap(self, new);
        self.stats = Stats { rebuilds: new.stats.rebuilds.saturating_add(1), ..new.stats };
        self.stamp = stamp;
        true
    }

    fn wants_rebuild(&self) -> bool {
        self.wants_hash_key() || self.local.orphans * ORPHAN_SHARE > self.local.shape.cells()
    }

    /// Orphans are gone in any new table. A walk that passed its bound needs other cells for its keys, and so do mistakes that
    /// were neither fixed nor listed: a share of the keys of them, so that the new table costs little for each.
    fn wants_hash_key(&self) -> bool {
        let many = most(&self.local.shape).max(self.local.keys / REFUSED_SHARE);
        self.wants_rebuild || self.local.exceptions.refused >= many
    }

    fn validate(&self, stored: &[Key], keys: &dyn Keys) -> Result<(), String> {
        check_table(&self.local, stored, keys)
    }

    fn save(&self, sequence: u64, out: &mut dyn io::Write) -> Result<(), SaveError> {
        self.save_at(sequence, out)
    }

    fn boxed(&self) -> Box<dyn Backed> {
        Box::new(self.clone())
    }
}
