//! Plans: what insertions, removals and adaptations will do to a table, worked out without changing it.

use super::block::SLOTS;
use super::local::{Change, Local, Shift, UNMARKED};
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

/// What a plan costs besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Slots whose content moves.
    pub(crate) shifted: u64,
    /// Blocks that forget what they have learned.
    pub(crate) resets: u64,
    /// Reads of the remote that those blocks need.
    pub(crate) reset_reads: u64,
}

/// Who will be in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Whoever is in this slot now.
    Slot(u64),
    /// The key that the plan is about.
    Newcomer,
    Nobody,
}

/// Plans an insertion into the run of `key`'s quotient; `None` where the table is full.
pub(crate) fn insertion<R: Rule>(
    local: &Local<R>,
    key: &[u8],
    keys: &dyn Keys,
) -> Result<Option<(Change, Cost)>, PlanError> {
    let Some(room) = room(local, key) else { return Ok(None) };
    let strand = local.strand(key);
    let mut change = Change::insert(room, unmarked(local, &strand));
    let mut cost = Cost { shifted: room.free - room.slot, ..Cost::default() };
    let touched = room.slot / SLOTS..room.free / SLOTS + 1;
    carry_marks(local, &mut change, &mut cost, touched, Some(key), keys, |row, first| {
        row.remove((room.free - first) as usize);
        row.insert((room.slot - first) as usize, (0, Origin::Newcomer));
    })?;
    Ok(Some((change, cost)))
}

/// The room for a key, if the table may have one more.
pub(crate) fn room<R: Rule>(local: &Local<R>, key: &[u8]) -> Option<Room> {
    if local.keys < sizing::quotient_most(local.slots()) { local.table().room(local.quotient(key)) } else { None }
}

/// The remainder of a slot that has learned nothing.
pub(crate) fn unmarked<R: Rule>(local: &Local<R>, key: &Strand<'_>) -> u32 {
    local.rule.remainder(local.width(), key, 0)
}

/// Plans the removal of what is in a slot.
pub(crate) fn removal<R: Rule>(local: &Local<R>, gap: Gap, keys: &dyn Keys) -> Result<(Change, Cost), PlanError> {
    let mut change = Change { shift: Shift::Remove(gap), ..Change::default() };
    let mut cost = Cost { shifted: gap.freed - gap.slot, ..Cost::default() };
    let touched = gap.slot / SLOTS..gap.freed / SLOTS + 1;
    carry_marks(local, &mut change, &mut cost, touched, None, keys, |row, first| {
        row.remove((gap.slot - first) as usize);
        row.insert((gap.freed - first) as usize, (0, Origin::Nobody));
    })?;
    Ok((change, cost))
}

/// Carries the marks of blocks along with slots that move.
///
/// A block whose marks do not fit after the move is reset: its slots forget their marks, *and* every remainder in it goes
/// back to the first one of its key. One without the other would lose keys.
fn carry_marks<R: Rule>(
    local: &Local<R>,
    change: &mut Change,
    cost: &mut Cost,
    touched: Range<u64>,
    newcomer: Option<&[u8]>,
    keys: &dyn Keys,
    moved: impl FnOnce(&mut Vec<(Mark, Origin)>, u64),
) -> Result<(), PlanError> {
    if !touched.clone().any(|block| local.is_marked(block)) {
        return Ok(());
    }
    let slots = touched.start * SLOTS..touched.end * SLOTS;
    let marks = local.marks_of(slots.clone());
    let mut row: Vec<(Mark, Origin)> = marks.iter().copied().zip(slots.clone().map(Origin::Slot)).collect();
    moved(&mut row, slots.start);
    let mut overflown = Vec::new();
    let mut on_the_side = 0;
    for (block, chunk) in touched.clone().zip(row.chunks_exact(SLOTS as usize)) {
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
    // What is in these blocks afterwards comes from them and from their neighbours.
    let around = first.saturating_sub(1)..(last + 2).min(local.table().all_slots() / SLOTS);
    let owners = owners_over(local, keys, around)?;
    cost.reset_reads += 1;
    for (block, chunk) in overflown {
        for (slot, (_, origin)) in (block * SLOTS..).zip(chunk) {
            let owner: Option<&[u8]> = match origin {
                Origin::Slot(before) => owners.get(before).map(|key| &**key),
                Origin::Newcomer => newcomer,
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
    /// Slots that the query will match all the same.
    pub(crate) left: u64,
    /// Whether some key agrees with the query in everything that a mark can ask for.
    pub(crate) alike: bool,
}

/// Plans to tell a query from every key of its run that it matches. `owners` are those of the whole run.
pub(crate) fn adaptation<R: Rule>(
    local: &Local<R>,
    query: &[u8],
    owners: &[(u64, Key)],
    keys: &dyn Keys,
) -> Result<Fix, PlanError> {
    let query = local.strand(query);
    let mut fix = Fix::default();
    let mut on_the_side = 0;
    for piece in owners.chunk_by(|(a, _), (b, _)| a / SLOTS == b / SLOTS) {
        let Some((slot, _)) = piece.first() else { continue };
        let block = slot / SLOTS;
        let remainder = |slot: u64| local.table().blocks.remainder(slot);
        let mut draft = Draft { local, marks: local.marks(block), remainders: BTreeMap::new(), alike: false };
        if !draft.tell_apart(&query, piece, remainder) {
            continue;
        }
        let mut kept = if draft.alike { None } else { local.keep(block, &draft.marks, &mut on_the_side) };
        if kept.is_none() {
            // The block forgets what it has learned, and then learns about this query again.
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

/// The remainders of a block's keys before anything was learned, where they are others than now.
fn first_remainders<R: Rule>(
    local: &Local<R>,
    block: u64,
    keys: &dyn Keys,
    cost: &mut Cost,
) -> Result<BTreeMap<u64, u32>, PlanError> {
    cost.resets += 1;
    if !R::REMAINDER_FOLLOWS_MARK {
        return Ok(BTreeMap::new());
    }
    cost.reset_reads += 1;
    let owners = owners_over(local, keys, block..block + 1)?;
    let here = owners.into_iter().filter(|(slot, _)| slot / SLOTS == block);
    Ok(here.map(|(slot, key)| (slot, unmarked(local, &local.strand(&key)))).collect())
}

/// What a block will hold.
struct Draft<'a, R> {
    local: &'a Local<R>,
    marks: Marks,
    remainders: BTreeMap<u64, u32>,
    /// Whether some key could not be told from the query.
    alike: bool,
}

impl<R: Rule> Draft<'_, R> {
    /// Gives every key that the query matches another mark. Whether there was one.
    fn tell_apart(&mut self, query: &Strand<'_>, piece: &[(u64, Key)], remainder: impl Fn(u64) -> u32) -> bool {
        let (rule, width) = (&self.local.rule, self.local.width());
        let mut changed = false;
        for (slot, key) in piece {
            let mark = &mut self.marks[(slot % SLOTS) as usize];
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

    /// How many slots of the piece the query will match.
    fn matched(&self, query: &Strand<'_>, piece: &[(u64, Key)]) -> u64 {
        let matches = |slot: u64| {
            let now = || self.local.table().blocks.remainder(slot);
            let remainder = self.remainders.get(&slot).copied().unwrap_or_else(now);
            self.local.fits(query, self.marks[(slot % SLOTS) as usize], remainder)
        };
        piece.iter().filter(|(slot, _)| matches(*slot)).count() as u64
    }
}
