//! The broom filter and its promises.

use super::functions::{Age, Functions};
use super::level::Level;
use super::local::Local;
use super::prints::Prints;
use super::rebuild::Rebuild;
use super::rules::Rules;
use super::shape::{BroomForm, Shape};
use super::stats::Stats;
use super::storage::Storage;
use crate::error::{OptionsError, PlanError, StalePlan};
use crate::filter::{Backed, Filter, Operation, Target};
use crate::kind::Kind;
use crate::persist::SaveError;
use crate::plan::{self, Plan, Stamp, Undo, UndoEdit};
use crate::remote::{Generation, Key, Keys, OrderWords, Phase, Place, Schema, Write};
use std::io;

/// Codes of operations in the filter's stamp.
pub(super) const INSERT: u64 = 1;
pub(super) const REMOVE: u64 = 2;
pub(super) const ADAPT: u64 = 3;
pub(super) const FILL: u64 = 4;
pub(super) const BEGIN: u64 = 6;
pub(super) const STEP: u64 = 7;
pub(super) const LEARN: u64 = 8;

/// The broom filter (001): whatever an adversary asks, inserts and removes, its next query is a false positive with
/// probability at most 1.25·ε. `docs/broom.md` has the proof and its assumptions.
///
/// **Cost.** A slot takes the remainder, 2.125 bits of metadata and 3 bits for adaptivity. Ghosts take about half a bit per
/// key, and about five if keys are replaced as fast as the filter errs. An insertion reads the remote only if it collides,
/// and writes two entries, or three in the form for small remainders. An adaptation reads three times, and moves three keys
/// to the next hash function, rewriting the entries of each. An operation touches a bounded number of words in the levels,
/// and O(log n) in the trees of ghosts, of long strings and of hashes that overflow the back yard, besides the ghosts of one
/// base.
///
/// **Fingerprints** (4.1) are prefixes of a key's hash: quotient, remainder, and adaptivity bits as needed. No fingerprint
/// is a prefix of another (Invariant 7), whichever of the two functions made it, so a query matches at most one slot of a
/// level.
///
/// **Reclaiming** (4.2). Each extension of a fingerprint advances a frontier by the share of its range in which c keys are
/// expected. These are re-inserted without adaptivity bits, under a new function. The range is that of a hash, not of the
/// keys' bytes, so the number of extensions in a phase does not depend on what is inserted. An extension caused by such a
/// re-insertion adds to a debt, and an operation pays at most 2c at a time. The amortised form moves nothing until one in c
/// keys is extended, and then asks for another hash key: see
/// [`BroomOptions::reclaim_by_rebuild`](super::BroomOptions::reclaim_by_rebuild).
///
/// **Ghosts** (4.3). A removed key leaves its fingerprint behind. So does a mistake about a fingerprint that already had
/// adaptivity bits. A new key takes bits up to the first that differs from each ghost of its quotient and remainder. A
/// key that matches a stored one as it is inserted leaves a ghost if it must go to the back yard. This
/// goes beyond the paper: an adversary may insert the mistakes that it was told of. `docs/broom.md` has the proof.
///
/// **What is forgotten.** A new table, after growing or recovering, has learned nothing. So it takes new functions, and the
/// index in the remote is rewritten.
///
/// **Two forms.** A key that finds no free slot within 1,024 of its quotient goes elsewhere. With small remainders (5.3) it
/// goes to a second level, a small table under its own hash words. With large ones (5.4) it goes to a back yard of whole
/// hashes, and the first level compares the first bits of remainders before the rest. See [`BroomForm`].
///
/// ```
/// use twiceshy::quotient::BroomFilter;
/// use twiceshy::remote::ByHash;
/// use twiceshy::{Adapted, HashKey};
///
/// let mut filter = BroomFilter::options(1_000, 0.01)?.build(HashKey::random()?, ByHash::new())?;
/// filter.insert("owl")?;
/// let mistake = (0u32..).find(|key| filter.contains(key)).expect("one in a hundred thousand");
/// assert_eq!(filter.was_wrong(&mistake)?, Adapted::Fixed);
/// # Ok::<(), twiceshy::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BroomFilter {
    pub(crate) local: Local,
    pub(crate) reclaim: Reclaim,
    /// Keys that still have to move to the new function.
    pub(crate) debt: u64,
    pub(crate) wants_rebuild: bool,
    pub(super) rebuild: Option<Rebuild>,
    pub(crate) stats: Stats,
    pub(super) stamp: Stamp,
}

/// How adaptivity bits are reclaimed (4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reclaim {
    /// The number of keys to move for each extension.
    pub(crate) c: u32,
    /// Moves all at once: the filter asks for another hash key when the debt reaches the number of keys.
    pub(crate) by_rebuild: bool,
}

impl BroomFilter {
    pub(crate) fn over(local: Local, reclaim: Reclaim) -> BroomFilter {
        let (functions, shape) = (&local.functions, &local.shape);
        let stamp = Stamp::new(&[
            functions.old.words(b"twiceshy stamp").word(0),
            Kind::Broom.code().into(),
            local.slots(),
            shape.width.into(),
            shape.signature.into(),
            shape.levels() as u64,
            reclaim.c.into(),
            reclaim.by_rebuild.into(),
            functions.generation.0.into(),
        ]);
        let (stats, rebuild) = (Stats::default(), None);
        BroomFilter { local, reclaim, debt: 0, wants_rebuild: false, rebuild, stats, stamp }
    }

    /// The width of a remainder in bits.
    pub fn width(&self) -> u32 {
        self.local.shape.width
    }

    /// Where the filter keeps the keys that do not fit into its first level.
    pub fn form(&self) -> BroomForm {
        self.local.shape.form
    }

    /// Counts since the filter was created or loaded, and its current contents.
    pub fn stats(&self) -> Stats {
        let tables = &self.local.tables;
        let levels = || tables.iter().flat_map(|prints| prints.levels.iter());
        Stats {
            adaptivity_bits: levels().map(Level::adaptivity_bits).sum(),
            largest_group: levels().map(Level::largest_group).max().unwrap_or(0).into(),
            spilled_groups: levels().map(Level::spilled).sum(),
            second_level: tables.iter().map(Prints::aside).sum(),
            second_level_bits: tables.iter().map(Prints::aside_bits).sum(),
            ghosts: tables.iter().map(|prints| prints.ghosts.len()).sum(),
            ghost_bits: tables.iter().map(|prints| prints.ghosts.allocated_bits()).sum(),
            debt: self.debt,
            ..self.stats
        }
    }
}

pub(super) fn new_local(shape: Shape, rules: Rules, functions: Functions) -> Result<Local, OptionsError> {
    #[cfg(feature = "testing")]
    let functions = Functions { by_bytes: !rules.keep(super::rules::BroomRule::HashOrder), ..functions };
    let too_large = || OptionsError::Memory { cells: functions.slots[0], width: shape.width };
    let mut local = Local::new(shape, functions).ok_or_else(too_large)?;
    local.rules = rules;
    Ok(local)
}

pub(super) fn begin_of<S: Storage>(local: &Local<S>, age: Age) -> Write {
    let schema = local.schema(*local.functions.hash_key(age));
    Write::Begin { generation: local.functions.generation_of(age), schema }
}

impl Filter for BroomFilter {
    #[inline]
    fn contains(&self, key: &[u8]) -> bool {
        self.local.contains(key)
    }

    fn len(&self) -> u64 {
        self.local.keys()
    }

    fn cells(&self) -> u64 {
        self.local.slots()
    }

    fn local_bits(&self) -> u64 {
        self.local.allocated_bits() + size_of::<Self>() as u64 * 8
    }
}

impl Backed for BroomFilter {
    fn kind(&self) -> Kind {
        Kind::Broom
    }

    /// Two places for each level that matches: the key behind a slot may have either function.
    fn lookup(&self, key: &[u8]) -> Vec<Place> {
        let local = &self.local;
        let mut places = Vec::new();
        for level in 0..local.shape.levels() {
            let here = || local.spots(key).any(|spot| spot.level == level);
            // A key in the yard is found at the place of the first level.
            if level == 0 && local.is_in_yard(key) || here() {
                places.extend(local.places(key, level, &local.functions));
            }
        }
        places
    }

    fn plan(&self, operation: Operation<'_>, keys: &dyn Keys) -> Result<Plan, PlanError> {
        match operation {
            Operation::Insert(key) => self.plan_insert(key, keys),
            Operation::Remove(key) => self.plan_remove(key, keys),
            Operation::Adapt(query) => self.plan_adapt(query, keys),
            Operation::Learn(queries) => self.plan_learn(queries, keys),
            Operation::Begin(target) => self.plan_begin(target),
            Operation::Step(limit) => self.plan_step(limit, keys),
            Operation::Bring(_) => Err(PlanError::NoSuccessor),
        }
    }

    fn apply(&mut self, plan: Plan) -> Result<Undo, StalePlan> {
        plan.check(self.stamp)?;
        let (before, after) = (self.stamp, plan.becomes);
        let edit = match plan.edit {
            plan::Edit::Nothing => UndoEdit::Nothing,
            // A filter that was loaded has no rebuild that was only waiting, and so may lack the table that it would begin.
            plan::Edit::Broom(edit) if !self.has_tables_of(&edit) => return Err(StalePlan),
            plan::Edit::Broom(edit) if plan.decoded => {
                UndoEdit::Broom(Box::new(self.make_checked(*edit).ok_or(StalePlan)?))
            }
            plan::Edit::Broom(edit) => UndoEdit::Broom(Box::new(self.make(*edit))),
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
            UndoEdit::Broom(edit) => self.unmake(*edit),
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
        let functions = &self.local.functions;
        (functions.generation, self.local.schema(functions.old))
    }

    fn entries(&self, key: &[u8]) -> (Generation, OrderWords) {
        let functions = &self.local.functions;
        let age = functions.age(key);
        (functions.generation_of(age), functions.order_words(key, age, &self.local.shape))
    }

    fn phase(&self) -> Option<Phase> {
        let functions = &self.local.functions;
        let of = |age| (functions.generation_of(age), self.local.schema(*functions.hash_key(age)));
        Some(Phase { old: of(Age::Old), new: of(Age::New), frontier: functions.frontier })
    }

    fn opening(&self) -> Vec<Write> {
        let mut writes: Vec<Write> = Age::BOTH.iter().map(|age| begin_of(&self.local, *age)).collect();
        writes.push(Write::Frontier { at: self.local.functions.frontier });
        writes
    }

    /// `None`: keys move to another table one by one, as they take new functions.
    fn successor(&self, _: Target, _: Generation) -> Result<Option<Box<dyn Backed>>, PlanError> {
        Ok(None)
    }

    fn replace(&mut self, _: &mut dyn Backed) -> bool {
        false
    }

    fn is_rebuilding(&self) -> bool {
        self.rebuild.is_some()
    }

    fn rebuild_cells(&self) -> Option<u64> {
        self.rebuild.and_then(|rebuild| rebuild.cells)
    }

    /// Only with [`reclaim_by_rebuild`](super::BroomOptions::reclaim_by_rebuild): then another hash key is wanted.
    fn wants_rebuild(&self) -> bool {
        self.wants_rebuild
    }

    fn validate(&self, stored: &[Key], keys: &dyn Keys) -> Result<(), String> {
        super::validate::check(self, stored, keys)
    }

    fn save(&self, sequence: u64, out: &mut dyn io::Write) -> Result<(), SaveError> {
        self.save_at(sequence, out)
    }

    fn boxed(&self) -> Box<dyn Backed> {
        Box::new(self.clone())
    }
}
