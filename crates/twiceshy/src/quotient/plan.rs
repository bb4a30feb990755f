//! Plans: what insertions, removals and adaptations will do to a table.

use super::block::SLOTS;
use super::local::{Change, Local, Probe, Shift, UNMARKED};
use super::numbers::{Block, Quotient, Slot};
use super::owners::owners_over;
use super::rule::Rule;
use super::strand::Strand;
use super::table::{Gap, Room};
use crate::codes::{Mark, Marks};
use crate::error::PlanError;
use crate::remote::{Key, Keys};
use crate::sizing;
use std::collections::BTreeMap;
use std::ops::Range;

/// Further costs of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Slots whose content moves.
    pub(crate) shifted: u64,
    /// Blocks that lose what they have learned.
    pub(crate) resets: u64,
    /// Reads of the remote that those blocks need.
    pub(crate) reset_reads: u64,
}

/// Where a slot's content comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The current content of this slot.
    Slot(Slot),
    /// The key that is inserted.
    Inserted,
    Nobody,
}

/// Plans an insertion of a key with this probe; `None` if the table is full.
pub(crate) fn insertion<R: Rule>(
    local: &Local<R>,
    key: &[u8],
    probe: Probe,
    keys: &dyn Keys,
) -> Result<Option<(Change, Cost)>, PlanError> {
    let Some(room) = room(local, probe.quotient) else { return Ok(None) };
    let mut change = Change::insert(room, probe.remainder);
    let mut cost = Cost { shifted: room.free - room.slot, ..Cost::default() };
    let touched = room.slot.block()..room.free.block().next();
    carry_marks(local, &mut change, &mut cost, touched, Some(key), keys, |row, first| {
        row.remove((room.free - first) as usize);
        row.insert((room.slot - first) as usize, (0, Origin::Inserted));
    })?;
    Ok(Some((change, cost)))
}

/// The room for a key with this quotient; `None` if the table may not hold one more.
pub(crate) fn room<R: Rule>(local: &Local<R>, quotient: Quotient) -> Option<Room> {
    if local.keys < sizing::quotient_most(local.slots()) { local.table().room(quotient) } else { None }
}

/// The remainder of a slot that has learned nothing.
pub(crate) fn unmarked<R: Rule>(local: &Local<R>, key: &Strand<'_>) -> u32 {
    local.rule.remainder(local.width(), key, 0)
}

/// Plans the removal of a slot's content.
pub(crate) fn removal<R: Rule>(local: &Local<R>, gap: Gap, keys: &dyn Keys) -> Result<(Change, Cost), PlanError> {
    let mut change = Change { shift: Shift::Remove(gap), ..Change::default() };
    let mut cost = Cost { shifted: gap.freed - gap.slot, ..Cost::default() };
    let touched = gap.slot.block()..gap.freed.block().next();
    carry_marks(local, &mut change, &mut cost, touched, None, keys, |row, first| {
        row.remove((gap.slot - first) as usize);
        row.insert((gap.freed - first) as usize, (0, Origin::Nobody));
    })?;
    Ok((change, cost))
}

/// Moves the marks of blocks along with their slots.
///
/// A block whose marks do not fit after the move is reset: its slots lose their marks, *and* every remainder in it returns
/// to the first one of its key. One without the other would lose keys.
fn carry_marks<R: Rule>(
    local: &Local<R>,
    change: &mut Change,
    cost: &mut Cost,
    touched: Range<Block>,
    newcomer: Option<&[u8]>,
    keys: &dyn Keys,
    moved: impl FnOnce(&mut Vec<(Mark, Origin)>, Slot),
) -> Result<(), PlanError> {
    if !Block::each(touched.clone()).any(|block| local.is_marked(block)) {
        return Ok(());
    }
    let slots = touched.start.first_slot()..touched.end.first_slot();
    let marks = local.marks_of(slots.clone());
    let mut row: Vec<(Mark, Origin)> = marks.iter().copied().zip(Slot::each(slots.clone()).map(Origin::Slot)).collect();
    moved(&mut row, slots.start);
    let mut overflown = Vec::new();
    let mut on_the_side = 0;
    for (block, chunk) in Block::each(touched).zip(row.chunks_exact(SLOTS as usize)) {
        let mut marks = UNMARKED;
        marks.iter_mut().zip(chunk).for_each(|(mark, (carried, _))| *mark = *carried);
        if marks == local.marks(block) {
            continue;
        }
        match local.keep(block, &marks, &mut on_the_side) {
            Some(kept) => change.marks.push((block, kept)),
            None => overflown.push((block, chunk)),
        }
    }
    let (Some((first, _)), Some((last, _))) = (overflown.first(), overflown.last()) else { return Ok(()) };
    cost.resets += overflown.len() as u64;
    change.marks.extend(overflown.iter().map(|(block, _)| (*block, Local::<R>::keep_nothing())));
    if !R::REMAINDER_FOLLOWS_MARK {
        return Ok(());
    }
    // The new contents of these blocks come from them and from their neighbours.
    let around = Block(first.0.saturating_sub(1))..(*last + 2).min(local.table().blocks.end());
    let owners = owners_over(local, keys, around)?;
    cost.reset_reads += 1;
    for (block, chunk) in overflown {
        for (slot, (_, origin)) in Slot::each(block.slots()).zip(chunk) {
            let owner: Option<&[u8]> = match origin {
                Origin::Slot(before) => owners.get(before).map(|key| &**key),
                Origin::Inserted => newcomer,
                Origin::Nobody => None,
            };
            if let Some(owner) = owner {
                change.remainders.push((slot, unmarked(local, &local.strand(owner))));
            }
        }
    }
    Ok(())
}

/// A planned adaptation.
#[derive(Debug, Default)]
pub(crate) struct Fix {
    pub(crate) change: Change,
    pub(crate) cost: Cost,
    /// Slots that the query will still match.
    pub(crate) left: u64,
    /// `true` if some key agrees with the query in everything that a mark can distinguish.
    pub(crate) alike: bool,
}

/// Plans to distinguish a query from every key of its run that it matches. `owners` are those of the whole run.
pub(crate) fn adaptation<R: Rule>(
    local: &Local<R>,
    query: &[u8],
    owners: &[(Slot, Key)],
    keys: &dyn Keys,
) -> Result<Fix, PlanError> {
    let query = local.strand(query);
    let mut fix = Fix::default();
    let mut on_the_side = 0;
    for piece in owners.chunk_by(|(a, _), (b, _)| a.block() == b.block()) {
        let Some((slot, _)) = piece.first() else { continue };
        let block = slot.block();
        let remainder = |slot: Slot| local.table().blocks.remainder(slot);
        let mut draft = Draft { local, marks: local.marks(block), remainders: BTreeMap::new(), alike: false };
        if !draft.tell_apart(&query, piece, remainder) {
            continue;
        }
        let mut kept = if draft.alike { None } else { local.keep(block, &draft.marks, &mut on_the_side) };
        if kept.is_none() {
            // The block loses what it has learned, and then learns about this query again.
            let here = first_remainders(local, block, keys, &mut fix.cost)?;
            draft = Draft { local, marks: UNMARKED, remainders: here.clone(), alike: false };
            draft.tell_apart(&query, piece, |slot| here.get(&slot).copied().unwrap_or_else(|| remainder(slot)));
            kept = if draft.alike { None } else { local.keep(block, &draft.marks, &mut on_the_side) };
            if kept.is_none() {
                fix.alike |= draft.alike;
                draft.marks = UNMARKED;
                draft.remainders = here;
            }
        }
        fix.left += draft.matched(&query, piece);
        fix.change.marks.push((block, kept.unwrap_or_else(Local::<R>::keep_nothing)));
        fix.change.remainders.extend(draft.remainders);
    }
    Ok(fix)
}

/// The remainders that a block's keys had before anything was learned, if they differ from the current ones.
fn first_remainders<R: Rule>(
    local: &Local<R>,
    block: Block,
    keys: &dyn Keys,
    cost: &mut Cost,
) -> Result<BTreeMap<Slot, u32>, PlanError> {
    cost.resets += 1;
    if !R::REMAINDER_FOLLOWS_MARK {
        return Ok(BTreeMap::new());
    }
    cost.reset_reads += 1;
    let owners = owners_over(local, keys, block..block.next())?;
    let here = owners.into_iter().filter(|(slot, _)| slot.block() == block);
    Ok(here.map(|(slot, key)| (slot, unmarked(local, &local.strand(&key)))).collect())
}

/// The planned content of a block.
struct Draft<'a, R> {
    local: &'a Local<R>,
    marks: Marks,
    remainders: BTreeMap<Slot, u32>,
    /// `true` if some key could not be distinguished from the query.
    alike: bool,
}

impl<R: Rule> Draft<'_, R> {
    /// Gives every key that the query matches another mark. `true` if there was one.
    fn tell_apart(&mut self, query: &Strand<'_>, piece: &[(Slot, Key)], remainder: impl Fn(Slot) -> u32) -> bool {
        let (rule, width) = (&self.local.rule, self.local.width());
        let mut changed = false;
        for (slot, key) in piece {
            let mark = &mut self.marks[slot.at() as usize];
            if !self.local.fits(query, *mark, remainder(*slot)) {
                continue;
            }
            changed = true;
            let owner = self.local.strand(key);
            match rule.tell_apart(width, &owner, query, *mark) {
                Some(next) => {
                    *mark = next;
                    self.remainders.insert(*slot, rule.remainder(width, &owner, next));
                }
                None => self.alike = true,
            }
        }
        changed
    }

    /// The number of slots in the piece that the query will match.
    fn matched(&self, query: &Strand<'_>, piece: &[(Slot, Key)]) -> u64 {
        let matches = |slot: Slot| {
            let now = || self.local.table().blocks.remainder(slot);
            let remainder = self.remainders.get(&slot).copied().unwrap_or_else(now);
            self.local.fits(query, self.marks[slot.at() as usize], remainder)
        };
        piece.iter().filter(|(slot, _)| matches(*slot)).count() as u64
    }
}
