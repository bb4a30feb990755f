//! The filter that all rules of the quotient family share.

use super::edit::{Counted, Edit};
use super::local::{Change, Local, Probe};
use super::numbers::Block;
use super::options::{Options, RuleSpec};
use super::owners::{keys_of, match_run};
use super::plan::{self, Cost};
use super::rule::Rule;
use super::stats::Stats;
use crate::error::{OptionsError, PlanError, StalePlan};
use crate::filter::{Adapted, Backed, Filter, Inserted, Operation, Removed, Target};
use crate::hash::HashKey;
use crate::kind::Kind;
use crate::persist::{SaveError, Writer};
use crate::plan::{self as plans, Outcome, Plan, Stamp, Undo, UndoEdit};
use crate::remote::{Generation, Key, Keys, OrderWords, Place, Position, Schema, Write};
use crate::sizing;
use std::any::Any;
use std::io;
use std::ops::Range;

/// Codes of operations in the filter's stamp.
const INSERT: u64 = 1;
const REMOVE: u64 = 2;
const ADAPT: u64 = 3;
const FILL: u64 = 4;
const REPLACE: u64 = 5;

/// A filter on the rank-and-select quotient table.
///
/// The rule `R` says what a slot keeps of its key. See [`QuotientFilter`](super::QuotientFilter),
/// [`TelescopingFilter`](super::TelescopingFilter), [`PlainTelescopingFilter`](super::PlainTelescopingFilter) and
/// [`ExtensionFilter`](super::ExtensionFilter), which are this type under their rules.
///
/// The quotient is the range reduction of hash word 0, so a run is an interval of words, and one ordered read of the remote
/// gives its keys. The remote gets one entry for each key, loses one with each removal, and is told of nothing else.
#[derive(Clone, Debug)]
pub struct RankSelectFilter<R: Rule> {
    pub(super) local: Local<R>,
    pub(super) stats: Stats,
    /// `true` if an adaptation ran out of marks. Another hash key clears it.
    pub(super) wants_rebuild: bool,
    pub(super) stamp: Stamp,
}

pub(super) fn new_local<R: Rule>(
    slots: u64,
    width: u32,
    rule: R,
    side: u32,
    hash: HashKey,
    generation: Generation,
) -> Result<Local<R>, OptionsError> {
    Local::new(slots, width, rule, side, hash, generation).ok_or(OptionsError::Memory { cells: slots, width })
}

impl<R: Rule> RankSelectFilter<R> {
    /// A filter for `keys` keys at this false-positive rate, planned for a load of 95 %.
    pub fn options(keys: u64, rate: f64) -> Result<Options<R::Spec>, OptionsError> {
        Options::for_capacity(keys, rate, R::Spec::default())
    }

    /// A filter of `slots` slots with remainders of `width` bits.
    pub fn with_slots(slots: u64, width: u32) -> Options<R::Spec> {
        Options::with_slots(slots, width, R::Spec::default())
    }

    pub(super) fn over(local: Local<R>) -> Self {
        let mut options = Writer::new();
        options.u32(local.marked.side.most());
        R::Spec::write(&local.rule, &mut options);
        let stamp = Stamp::new(&[
            options.digest(&local.hash),
            R::Spec::KIND.code().into(),
            local.slots(),
            local.width().into(),
            local.generation.0.into(),
            local.head as u64,
        ]);
        RankSelectFilter { local, stats: Stats::default(), wants_rebuild: false, stamp }
    }

    /// The width of a remainder in bits.
    pub fn width(&self) -> u32 {
        self.local.width()
    }

    /// The hash key in use.
    pub fn hash_key(&self) -> HashKey {
        self.local.hash
    }

    /// The filter's rule.
    pub fn rule(&self) -> &R {
        &self.local.rule
    }

    /// Counts since the filter was created or loaded.
    pub fn stats(&self) -> Stats {
        Stats { side_blocks: self.local.marked.side.entries().len() as u64, ..self.stats }
    }

    /// The number of blocks of 64 slots, including spare ones.
    pub fn blocks(&self) -> u64 {
        self.local.table().blocks.len()
    }

    /// What the slots of a block have learned: selectors or extensions, by number. For experiments.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn marks(&self, block: u64) -> [u16; 64] {
        self.local.marks(Block(block))
    }

    /// The slots that a look-up of `key` compares; `None` if its quotient has no key. For experiments.
    pub fn run(&self, key: &[u8]) -> Option<Range<u64>> {
        self.local.run(self.local.quotient(key)).map(|run| run.start.0..run.end.0)
    }

    /// The keys of a matched key's run, by one read of the remote, and `true` if the key is among them.
    fn run_of(&self, key: &[u8], keys: &dyn Keys) -> Result<(Vec<Key>, bool), PlanError> {
        let quotient = self.local.quotient(key);
        let keys = keys_of(&self.local, keys, quotient, quotient)?.remove(&quotient).unwrap_or_default();
        let stored = keys.iter().any(|stored| **stored == *key);
        Ok((keys, stored))
    }

    /// Inserts a key into a table that has learned nothing, without a plan.
    pub(super) fn bring(&mut self, key: &[u8], word: u64) -> Result<(), PlanError> {
        self.bring_at(self.local.probe(key).1, word)
    }

    /// The same for a key whose place is known.
    pub(super) fn bring_at(&mut self, probe: Probe, word: u64) -> Result<(), PlanError> {
        let Some(room) = plan::room(&self.local, probe.quotient) else { return Err(self.full()) };
        self.local.insert(room, probe.remainder);
        self.stamp = self.stamp.after(FILL, word);
        Ok(())
    }

    fn full(&self) -> PlanError {
        PlanError::Full { keys: self.len(), cells: self.cells() }
    }

    #[inline]
    fn plan_of(&self, becomes: Stamp, outcome: Outcome, writes: Vec<Write>, change: Change, counted: Counted) -> Plan {
        Plan::new(self.stamp, becomes, outcome, writes, plans::Edit::Quotient(Edit { change, counted }))
    }

    fn plan_insert(&self, key: &[u8], keys: &dyn Keys) -> Result<Plan, PlanError> {
        let (word, probe) = self.local.probe(key);
        if self.local.finds(probe, key) && self.run_of(key, keys)?.1 {
            return Ok(Plan::nothing(self.stamp, Outcome::Inserted(Inserted::AlreadyStored)));
        }
        self.plan_new(Key::from(key), word, probe, keys)
    }

    /// Plans a slot for a key that is not in the set, given its hash word 0 and its probe.
    fn plan_new(&self, key: Key, word: u64, probe: Probe, keys: &dyn Keys) -> Result<Plan, PlanError> {
        let Some((change, cost)) = plan::insertion(&self.local, &key, probe, keys)? else { return Err(self.full()) };
        let (generation, words) = (self.local.generation, OrderWords::new(&[word]));
        let becomes = self.stamp.after_key(INSERT, &words);
        let writes = vec![Write::Add { generation, key, words, cell: None }];
        Ok(self.plan_of(becomes, Outcome::Inserted(Inserted::New), writes, change, Counted::Insertion(cost)))
    }

    fn plan_remove(&self, key: &[u8], keys: &dyn Keys) -> Result<Plan, PlanError> {
        let local = &self.local;
        let (run_keys, stored) = if local.contains(key) { self.run_of(key, keys)? } else { (Vec::new(), false) };
        if !stored {
            return Ok(Plan::nothing(self.stamp, Outcome::Removed(Removed::NotStored)));
        }
        let (change, cost) = plan_removal(local, key, &run_keys, keys)?;
        let words = local.order_words(key);
        let becomes = self.stamp.after_key(REMOVE, &words);
        let writes = vec![Write::Remove { generation: local.generation, key: Key::from(key), words, cell: None }];
        Ok(self.plan_of(becomes, Outcome::Removed(Removed::Gone), writes, change, Counted::Removal(cost)))
    }

    fn plan_adapt(&self, query: &[u8], keys: &dyn Keys) -> Result<Plan, PlanError> {
        let local = &self.local;
        let nothing = |outcome| Ok(Plan::nothing(self.stamp, Outcome::Adapted(outcome)));
        if !local.contains(query) {
            return nothing(Adapted::Fixed);
        }
        let (run_keys, stored) = self.run_of(query, keys)?;
        if stored {
            return nothing(Adapted::Stored);
        }
        if !R::LEARNS {
            return nothing(Adapted::Unfixable);
        }
        let run = local.run(local.quotient(query)).ok_or(PlanError::Disagree)?;
        let owners = match_run(local, run.clone(), &run_keys)?;
        let fix = plan::adaptation(local, query, &owners, keys)?;
        let (outcome, counted) = match (fix.left, fix.alike) {
            (0, _) => (Adapted::Fixed, Counted::Adaptation(fix.cost)),
            (_, true) => (Adapted::Unfixable, Counted::OutOfMarks(fix.cost)),
            (_, false) => (Adapted::StillPresent, Counted::OutOfMarks(fix.cost)),
        };
        let becomes = self.stamp.after_key(ADAPT, &local.order_words(query));
        let plan = self.plan_of(becomes, Outcome::Adapted(outcome), Vec::new(), fix.change, counted);
        let hits = local.hits(run, &local.strand(query));
        Ok(plan.about(&query.into(), owners.into_iter().filter(|(slot, _)| hits.contains(slot)).map(|(_, key)| key)))
    }
}

/// Plans the removal of a key that a table holds. `run_keys` are those of its run in the table's set.
fn plan_removal<R: Rule>(
    local: &Local<R>,
    key: &[u8],
    run_keys: &[Key],
    keys: &dyn Keys,
) -> Result<(Change, Cost), PlanError> {
    let quotient = local.quotient(key);
    let run = local.run(quotient).ok_or(PlanError::Disagree)?;
    let owners = match_run(local, run.clone(), run_keys)?;
    let own = owners.iter().find(|(_, owner)| **owner == *key);
    let (slot, _) = own.ok_or(PlanError::Disagree)?;
    plan::removal(local, local.table().gap(quotient, &run, *slot), keys)
}

impl<R: Rule> Filter for RankSelectFilter<R> {
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
        self.local.slots()
    }

    fn local_bits(&self) -> u64 {
        self.local.allocated_bits() + size_of::<Self>() as u64 * 8
    }
}

impl<R: Rule> Backed for RankSelectFilter<R> {
    fn kind(&self) -> Kind {
        R::Spec::KIND
    }

    /// One place: all slots of a run have the same candidates.
    fn lookup(&self, key: &[u8]) -> Vec<Place> {
        if !self.contains(key) {
            return Vec::new();
        }
        let quotient = self.local.quotient(key);
        let slot = self.local.run(quotient).map_or(quotient.slot(), |run| run.start);
        vec![self.local.place(quotient, quotient, slot)]
    }

    fn plan(&self, operation: Operation<'_>, keys: &dyn Keys) -> Result<Plan, PlanError> {
        match operation {
            Operation::Insert(key) => self.plan_insert(key, keys),
            Operation::Remove(key) => self.plan_remove(key, keys),
            Operation::Adapt(query) => self.plan_adapt(query, keys),
            Operation::Learn(queries) => Plan::learn_first(self.stamp, queries, |query| self.plan_adapt(query, keys)),
            Operation::Bring(at) => {
                let (word, probe) = self.local.probe(&at.key);
                self.plan_new(at.key.clone(), word, probe, keys)
            }
            Operation::Begin(_) | Operation::Step(_) => Err(PlanError::NotRebuilding),
        }
    }

    fn apply(&mut self, plan: Plan) -> Result<Undo, StalePlan> {
        plan.check(self.stamp)?;
        let (before, after) = (self.stamp, plan.becomes);
        let edit = match plan.edit {
            plans::Edit::Nothing => UndoEdit::Nothing,
            plans::Edit::Quotient(edit) if !plan.decoded => UndoEdit::Quotient(self.make(edit)),
            plans::Edit::Quotient(edit) => UndoEdit::Quotient(self.make_checked(edit).ok_or(StalePlan)?),
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
            UndoEdit::Quotient(edit) => self.unmake(edit),
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
        let (slots, hash) = match target {
            Target::Cells(cells) => (cells, self.local.hash),
            Target::Hash(hash) => (self.cells(), hash),
        };
        sizing::check_slots(slots)?;
        if self.len() > sizing::quotient_most(slots) {
            return Err(PlanError::Full { keys: self.len(), cells: slots });
        }
        let (rule, side) = (self.local.rule.clone(), self.local.marked.side.most());
        let local = new_local(slots, self.width(), rule, side, hash, generation)?;
        Ok(Some(Box::new(RankSelectFilter::over(local))))
    }

    /// Under the same hash key the keys arrive in the order of their quotients, so each goes to the end of the table and
    /// nothing moves.
    fn fill(&mut self, at: &Position, _: &dyn Keys) -> Result<(), PlanError> {
        self.bring(&at.key, at.word)
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
        self.wants_rebuild
    }

    fn validate(&self, stored: &[Key], _: &dyn Keys) -> Result<(), String> {
        super::validate::check(&self.local, stored)
    }

    fn save(&self, sequence: u64, out: &mut dyn io::Write) -> Result<(), SaveError> {
        self.save_at(sequence, out)
    }

    fn boxed(&self) -> Box<dyn Backed> {
        Box::new(self.clone())
    }
}
