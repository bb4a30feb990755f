//! A plan: what an operation will do to a filter, and what its remote must commit.
//!
//! [`Backed::plan`](crate::filter::Backed::plan) makes one without changing the filter. The owner commits [`Plan::writes`]
//! to the remote, then lets the filter [apply](crate::filter::Backed::apply) the plan. A plan is plain data: it can be
//! written to bytes, read back, and applied to a copy of the filter that it was made for.

use crate::cuckoo;
use crate::error::{PlanError, StalePlan};
use crate::filter::{Adapted, Inserted, Progress, Removed};
use crate::hash::mix;
use crate::persist::hash_key;
use crate::persist::{LoadError, Reader, Writer};
use crate::quotient;
use crate::remote::{CellId, Frontier, Generation, Key, MAX_ORDERS, OrderWords, Schema, Write};

/// Identifies a filter's state: two filters with the same stamp hold the same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// A digest of how the filter was built and of all operations since.
    pub(crate) history: u64,
    /// How many plans were applied.
    pub(crate) changes: u64,
    /// The history as of the last commit: see [`Commit::identity`](crate::remote::Commit::identity). 0 if it is not known.
    pub(crate) committed: u64,
}

impl Stamp {
    /// The stamp of a new filter.
    pub(crate) fn new(parts: &[u64]) -> Stamp {
        let history = parts.iter().fold(0x7477_6963_6573_6879, |history, part| mix(history ^ mix(*part)));
        Stamp { history, changes: 0, committed: 0 }
    }

    /// The stamp after an operation, given its code and the hash word of its key.
    pub(crate) fn after(self, code: u64, word: u64) -> Stamp {
        let history = mix(self.history.wrapping_add(code) ^ mix(word));
        Stamp { history, changes: self.changes.saturating_add(1), ..self }
    }

    /// The stamp after an operation with several keys, given the hash word of each.
    pub(crate) fn after_all(self, code: u64, words: impl Iterator<Item = u64>) -> Stamp {
        self.after(code, words.fold(0, |all, word| mix(all ^ mix(word)).wrapping_add(1)))
    }

    /// The stamp after an operation with a key of these order words, the first of which is the key's first hash word.
    pub(crate) fn after_key(self, code: u64, words: &OrderWords) -> Stamp {
        self.after(code, words.as_slice().first().copied().unwrap_or(0))
    }

    /// The stamp of a filter whose state is that of the last commit.
    pub(crate) fn as_committed(self) -> Stamp {
        Stamp { committed: self.history, ..self }
    }

    /// The number of plans that the filter has applied.
    pub fn changes(&self) -> u64 {
        self.changes
    }
}

/// The result of an operation once its plan is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The result of an insertion.
    Inserted(Inserted),
    /// The result of a removal.
    Removed(Removed),
    /// The result of an adaptation.
    Adapted(Adapted),
    /// The result of adapting to several queries.
    Learned(Learned),
    /// The result of a step of a rebuild within the filter.
    Rebuild(Progress),
}

/// What [`Operation::Learn`](crate::filter::Operation::Learn) did about several false positives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// How many queries the plan deals with: the first ones.
    pub queries: u64,
    /// How many of them are absent once the plan is applied.
    pub fixed: u64,
    /// How many of them are stored keys: nothing was done about these.
    pub stored: u64,
}

/// The effect of an operation, not yet applied.
#[derive(Clone, Debug)]
#[must_use = "a plan does nothing until it is applied"]
pub struct Plan {
    pub(crate) made_for: Stamp,
    pub(crate) becomes: Stamp,
    outcome: Outcome,
    pub(crate) writes: Vec<Write>,
    pub(crate) edit: Edit,
    /// `true` if the plan was read from bytes: then all of it is checked.
    pub(crate) decoded: bool,
    pub(crate) mistakes: Vec<Mistake>,
}

/// A query that was mistaken for a stored key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The stored key.
    pub key: Key,
    /// The query.
    pub query: Key,
}

/// What a plan changes in a filter.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    Nothing,
    Cuckoo(cuckoo::Edit),
    Quotient(quotient::Edit),
    Broom(Box<quotient::BroomEdit>),
}

/// Takes an applied plan back. Plans are taken back in reverse order.
#[derive(Debug)]
pub struct Undo {
    /// The stamp before the plan.
    pub(crate) before: Stamp,
    /// The stamp after it: nothing else may have been applied since.
    pub(crate) after: Stamp,
    pub(crate) edit: UndoEdit,
}

#[derive(Debug)]
pub(crate) enum UndoEdit {
    Nothing,
    Cuckoo(cuckoo::Undo),
    Quotient(quotient::Undo),
    Broom(Box<quotient::BroomUndo>),
}

impl Plan {
    #[inline]
    pub(crate) fn new(made_for: Stamp, becomes: Stamp, outcome: Outcome, writes: Vec<Write>, edit: Edit) -> Plan {
        let becomes = if writes.is_empty() { becomes } else { becomes.as_committed() };
        Plan { made_for, becomes, outcome, writes, edit, decoded: false, mistakes: Vec::new() }
    }

    /// A plan that changes nothing.
    pub(crate) fn nothing(stamp: Stamp, outcome: Outcome) -> Plan {
        Plan::new(stamp, stamp, outcome, Vec::new(), Edit::Nothing)
    }

    /// Plans to learn from the first query alone: for filters whose adaptations need no commit.
    pub(crate) fn learn_first(
        stamp: Stamp,
        queries: &[Key],
        adapt: impl FnOnce(&[u8]) -> Result<Plan, PlanError>,
    ) -> Result<Plan, PlanError> {
        let Some(query) = queries.first() else {
            return Ok(Plan::nothing(stamp, Outcome::Learned(Learned::default())));
        };
        let plan = adapt(query)?;
        let is = |adapted| u64::from(plan.outcome == Outcome::Adapted(adapted));
        let learned = Learned { queries: 1, fixed: is(Adapted::Fixed), stored: is(Adapted::Stored) };
        Ok(Plan { outcome: Outcome::Learned(learned), ..plan })
    }

    /// The result of the operation.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// What the remote must commit before the plan is applied. Empty if no commit is needed.
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// The mistakes that the plan is about: each query with every stored key that it matched, or may have matched if that cannot be
    /// determined. For a [`Memory`](crate::memory::Memory); not part of the plan's bytes.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// The same plan with the mistakes that it is about: a query, and the keys that it was mistaken for.
    pub(crate) fn about(self, query: &Key, keys: impl IntoIterator<Item = Key>) -> Plan {
        self.about_all(keys.into_iter().map(|key| Mistake { key, query: query.clone() }).collect())
    }

    /// The same for several queries.
    pub(crate) fn about_all(self, mistakes: Vec<Mistake>) -> Plan {
        Plan { mistakes, ..self }
    }

    /// The stamp of the filter that the plan was made for.
    pub fn made_for(&self) -> Stamp {
        self.made_for
    }

    /// `true` if the plan changes neither the filter nor the remote.
    pub fn is_nothing(&self) -> bool {
        matches!(self.edit, Edit::Nothing) && self.writes.is_empty()
    }

    /// The keys that the plan adds to or removes from the remote, including those that it only rewrites.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.writes.iter().filter_map(|write| match write {
            Write::Add { key, .. } | Write::Remove { key, .. } => Some(key),
            _ => None,
        })
    }

    /// `true` if a part of the filter loses what it has learned, since there is no room for more.
    pub fn forgets(&self) -> bool {
        matches!(&self.edit, Edit::Quotient(edit) if edit.resets() > 0)
    }

    /// Checks that a filter is the one that the plan was made for.
    pub(crate) fn check(&self, stamp: Stamp) -> Result<(), StalePlan> {
        if self.made_for == stamp { Ok(()) } else { Err(StalePlan) }
    }

    /// The plan as bytes: see [`Plan::from_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut fields = Writer::new();
        put_stamp(self.made_for, &mut fields);
        fields.u64(self.becomes.history);
        fields.u64(self.becomes.changes);
        self.put(&mut fields);
        sealed(fields, KIND, self.made_for.changes)
    }

    /// Several plans as bytes, each made for the filter after the one before: see [`Plan::all_from_bytes`]. About a third as long as
    /// each alone.
    pub fn all_to_bytes(plans: &[Plan]) -> Vec<u8> {
        let mut fields = Writer::short();
        fields.u64(plans.len() as u64);
        let mut last = Stamp::default();
        for plan in plans {
            fields.u8((plan.made_for != last).into());
            if plan.made_for != last {
                put_stamp(plan.made_for, &mut fields);
            }
            fields.u64(plan.becomes.history);
            plan.put(&mut fields);
            last = plan.becomes;
        }
        sealed(fields, SEVERAL, plans.first().map_or(0, |plan| plan.made_for.changes))
    }

    /// Writes all but the stamps.
    fn put<'a>(&'a self, fields: &mut Writer<'a>) {
        put_outcome(self.outcome, fields);
        fields.u64(self.writes.len() as u64);
        self.writes.iter().for_each(|write| put_write(write, fields));
        match &self.edit {
            Edit::Nothing => fields.u8(0),
            Edit::Cuckoo(edit) => {
                fields.u8(if edit.flipped.is_some() { 4 } else { 1 });
                edit.write(fields);
                edit.flipped.iter().for_each(|bits| fields.u32(bits.0));
            }
            Edit::Quotient(edit) => {
                fields.u8(2);
                edit.write(fields);
            }
            Edit::Broom(edit) => {
                fields.u8(3);
                edit.write(fields);
            }
        }
    }

    /// Reads a plan that [`Plan::to_bytes`] wrote, for a filter that was saved before the plan was applied and loaded
    /// elsewhere. The bytes are checked against the filter when the plan is applied.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Plan, LoadError> {
        let mut from = Reader::open(&mut bytes)?;
        from.expect_kind(KIND)?;
        let made_for = take_stamp(&mut from)?;
        let becomes = Stamp { history: from.u64()?, changes: from.u64()?, ..made_for };
        let plan = Plan::take(made_for, becomes, &mut from)?;
        from.finish()?;
        plan.check_stamps()?;
        Ok(plan)
    }

    /// Reads plans that [`Plan::all_to_bytes`] wrote.
    pub fn all_from_bytes(mut bytes: &[u8]) -> Result<Vec<Plan>, LoadError> {
        let from = Reader::open(&mut bytes)?;
        from.expect_kind(SEVERAL)?;
        let mut from = from.short();
        let (mut plans, mut last) = (Vec::new(), Stamp::default());
        for _ in 0..from.u64()? {
            let made_for = if from.flag()? { take_stamp(&mut from)? } else { last };
            let becomes = Stamp { history: from.u64()?, ..made_for };
            plans.push(Plan::take(made_for, becomes, &mut from)?);
            let Some(plan) = plans.last_mut() else { continue };
            if !matches!(plan.edit, Edit::Nothing) {
                plan.becomes.changes = made_for.changes.saturating_add(1);
            }
            plan.check_stamps()?;
            last = plan.becomes;
        }
        from.finish()?;
        Ok(plans)
    }

    /// Reads all but the stamps.
    fn take(made_for: Stamp, becomes: Stamp, from: &mut Reader) -> Result<Plan, LoadError> {
        let outcome = take_outcome(from)?;
        let count = from.u64()?;
        // Most plans have one.
        let mut writes = Vec::with_capacity(count.min(1) as usize);
        for _ in 0..count {
            writes.push(take_write(from)?);
        }
        let edit = match from.u8()? {
            0 => Edit::Nothing,
            1 => Edit::Cuckoo(cuckoo::Edit::read(from)?),
            2 => Edit::Quotient(quotient::Edit::read(from)?),
            4 => Edit::Cuckoo(cuckoo::Edit::read_with_exception(from)?),
            3 => Edit::Broom(Box::new(quotient::BroomEdit::read(from)?)),
            other => return Err(LoadError::invalid(format!("its edit is of kind {other}"))),
        };
        Ok(Plan { decoded: true, ..Plan::new(made_for, becomes, outcome, writes, edit) })
    }

    /// Refuses a plan whose stamps do not follow each other.
    fn check_stamps(&self) -> Result<(), LoadError> {
        let (before, after) = (self.made_for, self.becomes);
        let follows = match self.edit {
            Edit::Nothing => (before.history, before.changes) == (after.history, after.changes),
            _ => before.changes.checked_add(1) == Some(after.changes),
        };
        if follows { Ok(()) } else { Err(LoadError::invalid("its stamps do not follow each other")) }
    }
}

fn put_stamp(stamp: Stamp, out: &mut Writer<'_>) {
    [stamp.history, stamp.changes, stamp.committed].into_iter().for_each(|number| out.u64(number));
}

fn take_stamp(from: &mut Reader) -> Result<Stamp, LoadError> {
    Ok(Stamp { history: from.u64()?, changes: from.u64()?, committed: from.u64()? })
}

fn sealed(fields: Writer<'_>, kind: u16, sequence: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing to a vector cannot fail.
    let _ = fields.finish(kind, sequence, &mut bytes);
    bytes
}

/// The container kind of a plan, far from those of filters.
const KIND: u16 = 0x504C;

/// The container kind of several plans.
const SEVERAL: u16 = 0x504D;

/// Outcomes by their codes, but for [`Outcome::Learned`].
const OUTCOMES: [Outcome; 12] = [
    Outcome::Inserted(Inserted::New),
    Outcome::Inserted(Inserted::AlreadyStored),
    Outcome::Removed(Removed::Gone),
    Outcome::Removed(Removed::LeftOrphan),
    Outcome::Removed(Removed::NotStored),
    Outcome::Adapted(Adapted::Fixed),
    Outcome::Adapted(Adapted::StillPresent),
    Outcome::Adapted(Adapted::Unfixable),
    Outcome::Adapted(Adapted::Stored),
    Outcome::Rebuild(Progress::More),
    Outcome::Rebuild(Progress::Done),
    Outcome::Rebuild(Progress::GaveUp),
];

/// The code of [`Outcome::Learned`], whose numbers follow.
const LEARNED: u8 = 12;

fn put_outcome(outcome: Outcome, out: &mut Writer<'_>) {
    match outcome {
        Outcome::Learned(Learned { queries, fixed, stored }) => {
            out.u8(LEARNED);
            [queries, fixed, stored].into_iter().for_each(|number| out.u64(number));
        }
        _ => out.u8(OUTCOMES.iter().position(|known| *known == outcome).unwrap_or(0) as u8),
    }
}

fn take_outcome(from: &mut Reader) -> Result<Outcome, LoadError> {
    let code = from.u8()?;
    if code != LEARNED {
        let outcome = OUTCOMES.get(usize::from(code)).copied();
        return outcome.ok_or_else(|| LoadError::invalid("its outcome is unknown"));
    }
    let learned = Learned { queries: from.u64()?, fixed: from.u64()?, stored: from.u64()? };
    if learned.fixed.checked_add(learned.stored).is_none_or(|dealt_with| dealt_with > learned.queries) {
        return Err(LoadError::invalid("it fixes more queries than it has"));
    }
    Ok(Outcome::Learned(learned))
}

fn put_write(write: &Write, out: &mut Writer<'_>) {
    match write {
        Write::Begin { generation, schema } => {
            out.u8(0);
            out.u32(generation.0);
            hash_key::write(&schema.hash, out);
            out.u8(schema.orders);
            out.u64(schema.cells);
            out.u8(schema.cells_per_bucket);
        }
        Write::Add { generation, key, words, cell } => put_entry(1, *generation, key, words, *cell, out),
        Write::Remove { generation, key, words, cell } => put_entry(2, *generation, key, words, *cell, out),
        Write::Move { generation, from, to } => {
            out.u8(3);
            out.u32(generation.0);
            out.u64(from.0);
            out.u64(to.0);
        }
        Write::Switch { generation } => {
            out.u8(4);
            out.u32(generation.0);
        }
        Write::Abandon { generation } => {
            out.u8(5);
            out.u32(generation.0);
        }
        Write::Frontier { at } => {
            out.u8(6);
            out.u64(at.0);
        }
    }
}

fn put_entry(
    code: u8,
    generation: Generation,
    key: &Key,
    words: &OrderWords,
    cell: Option<CellId>,
    out: &mut Writer<'_>,
) {
    out.u8(code);
    out.u32(generation.0);
    out.bytes(key.to_vec());
    out.u8(words.as_slice().len() as u8);
    words.as_slice().iter().for_each(|word| out.u64(*word));
    out.u8(cell.is_some().into());
    out.u64(cell.map_or(0, |cell| cell.0));
}

fn take_write(from: &mut Reader) -> Result<Write, LoadError> {
    let code = from.u8()?;
    if code == 6 {
        return Ok(Write::Frontier { at: Frontier(from.u64()?) });
    }
    let generation = Generation(from.u32()?);
    Ok(match code {
        0 => {
            let hash = hash_key::read(from)?;
            let schema = Schema { hash, orders: from.u8()?, cells: from.u64()?, cells_per_bucket: from.u8()? };
            Write::Begin { generation, schema }
        }
        1 | 2 => {
            let key = Key::from(from.bytes()?);
            let (count, mut words) = (usize::from(from.u8()?), [0; MAX_ORDERS]);
            let words = words.get_mut(..count).ok_or_else(|| LoadError::invalid("a key has too many words"))?;
            for word in words.iter_mut() {
                *word = from.u64()?;
            }
            let words = OrderWords::new(words);
            let (known, cell) = (from.flag()?, CellId(from.u64()?));
            let cell = known.then_some(cell);
            match code {
                1 => Write::Add { generation, key, words, cell },
                _ => Write::Remove { generation, key, words, cell },
            }
        }
        3 => Write::Move { generation, from: CellId(from.u64()?), to: CellId(from.u64()?) },
        4 => Write::Switch { generation },
        5 => Write::Abandon { generation },
        other => return Err(LoadError::invalid(format!("a write is of kind {other}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offset of the outcome: after the container's header and two stamps.
    const OUTCOME: usize = 64 + 5 * 8;

    fn plan(outcome: Outcome) -> Plan {
        Plan::nothing(Stamp::new(&[1]), outcome)
    }

    #[test]
    fn every_outcome_has_its_code_and_is_read_as_written() {
        for (code, outcome) in OUTCOMES.into_iter().enumerate() {
            let bytes = plan(outcome).to_bytes();
            assert_eq!(usize::from(bytes[OUTCOME]), code);
            assert_eq!(Plan::from_bytes(&bytes).expect("what was written").outcome(), outcome);
        }
        // Codes that earlier versions have written.
        assert_eq!(OUTCOMES[5], Outcome::Adapted(Adapted::Fixed));
        assert_eq!(OUTCOMES[11], Outcome::Rebuild(Progress::GaveUp));
        let learned = |queries, fixed, stored| Outcome::Learned(Learned { queries, fixed, stored });
        for outcome in [learned(0, 0, 0), learned(7, 4, 3), learned(u64::MAX, u64::MAX, 0)] {
            let bytes = plan(outcome).to_bytes();
            assert_eq!(bytes[OUTCOME], LEARNED);
            assert_eq!(Plan::from_bytes(&bytes).expect("what was written").outcome(), outcome);
        }
        for outcome in [learned(6, 4, 3), learned(7, 8, 0), learned(7, u64::MAX, 8)] {
            assert!(matches!(Plan::from_bytes(&plan(outcome).to_bytes()), Err(LoadError::Invalid { .. })));
        }
    }
}
