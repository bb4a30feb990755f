//! A plan's changes to a cuckoo filter, and how to take them back.

use super::exceptions::{Bits, most};
use super::fingerprint::Rule;
use super::full_key::FullKeyCuckoo;
use super::owners::PartSizes;
use super::stats::Stats;
use crate::persist::{LoadError, Reader, Writer};
use crate::remote::CellId;
use crate::rng::SplitMix64;
use std::collections::BTreeMap;

/// New values for cells, and the changes of the counts.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) cells: Vec<(CellId, u32)>,
    pub(crate) keys: i64,
    pub(crate) orphans: i64,
    /// The state of the random numbers after the plan.
    pub(crate) rng: u64,
    pub(crate) counted: Counted,
    /// An entry that is added to the list of exceptions if it is not in it, and else taken out.
    pub(crate) flipped: Option<Bits>,
}

/// What the statistics will count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Nothing,
    Insertion {
        path: u64,
    },
    Removal,
    Adaptation {
        sizes: PartSizes,
        moved: u64,
    },
    /// An adaptation that passed its bound: a rebuild is wanted.
    OverBound,
    /// An adaptation that found neither a way to fix the query nor room for an exception.
    Refused,
}

/// What an edit has replaced.
#[derive(Debug)]
pub(crate) struct Undo {
    cells: Vec<(CellId, u32)>,
    keys: u64,
    orphans: u64,
    rng: SplitMix64,
    wants_rebuild: bool,
    stats: Stats,
    flipped: Option<Bits>,
    refused: u64,
}

impl Edit {
    pub(crate) fn write(&self, out: &mut Writer<'_>) {
        out.u64(self.cells.len() as u64);
        for (CellId(cell), value) in &self.cells {
            out.u64(*cell);
            out.u32(*value);
        }
        for number in [self.keys as u64, self.orphans as u64, self.rng] {
            out.u64(number);
        }
        let (code, numbers) = match self.counted {
            Counted::Nothing => (0, [0; 3]),
            Counted::Insertion { path } => (1, [path, 0, 0]),
            Counted::Removal => (2, [0; 3]),
            Counted::Adaptation { sizes, moved } => (3, [sizes.largest as u64, sizes.unknown, moved]),
            Counted::OverBound => (4, [0; 3]),
            Counted::Refused => (5, [0; 3]),
        };
        out.u8(code);
        numbers.into_iter().for_each(|number| out.u64(number));
    }

    /// Reads an edit that [`Edit::write`] wrote. An exception follows it.
    pub(crate) fn read_with_exception(from: &mut Reader) -> Result<Edit, LoadError> {
        let edit = Edit::read(from)?;
        Ok(Edit { flipped: Some(Bits(from.u32()?)), ..edit })
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Edit, LoadError> {
        let count = from.u64()?;
        let mut cells = Vec::new();
        for _ in 0..count {
            cells.push((CellId(from.u64()?), from.u32()?));
        }
        let (keys, orphans, rng) = (from.u64()? as i64, from.u64()? as i64, from.u64()?);
        let code = from.u8()?;
        let [first, second, third] = [from.u64()?, from.u64()?, from.u64()?];
        let counted = match code {
            0 => Counted::Nothing,
            1 => Counted::Insertion { path: first },
            2 => Counted::Removal,
            3 => {
                let largest = usize::try_from(first).map_err(|_| LoadError::invalid("a part is too large"))?;
                Counted::Adaptation { sizes: PartSizes { largest, unknown: second }, moved: third }
            }
            4 => Counted::OverBound,
            5 => Counted::Refused,
            other => return Err(LoadError::invalid(format!("its statistics are of kind {other}"))),
        };
        Ok(Edit { cells, keys, orphans, rng, counted, flipped: None })
    }
}

impl<R: Rule> FullKeyCuckoo<R> {
    /// `true` if every cell exists, every value fits, and the counts change as the occupied cells do.
    pub(super) fn accepts(&self, edit: &Edit) -> bool {
        let local = &self.local;
        let (cells, width) = (local.shape.cells(), local.cells.width());
        let mut values = BTreeMap::new();
        let mut more = 0i64;
        for (CellId(cell), value) in &edit.cells {
            if *cell >= cells || u64::from(*value) >= 1 << width {
                return false;
            }
            let old = values.insert(*cell, *value).unwrap_or_else(|| local.cells.get(*cell));
            more += i64::from(*value != 0) - i64::from(old != 0);
        }
        let list = &local.exceptions;
        let has_room = |bits: &Bits| R::LISTS && (list.contains(*bits) || list.len() < most(&local.shape));
        edit.flipped.as_ref().is_none_or(has_room)
            && edit.keys.checked_add(edit.orphans) == Some(more)
            && local.keys.checked_add_signed(edit.keys).is_some()
            && local.orphans.checked_add_signed(edit.orphans).is_some()
    }

    /// Applies the edit. Its list of cells is reused for the undo.
    #[inline]
    pub(super) fn make(&mut self, edit: Edit) -> Undo {
        let Edit { mut cells, keys, orphans, rng, counted, flipped } = edit;
        let local = &mut self.local;
        let before = Undo {
            cells: Vec::new(),
            keys: local.keys,
            orphans: local.orphans,
            rng: self.rng.clone(),
            wants_rebuild: self.wants_rebuild,
            stats: self.stats,
            flipped,
            refused: local.exceptions.refused,
        };
        for (CellId(cell), value) in &mut cells {
            let old = local.cells.get(*cell);
            local.cells.set(*cell, *value);
            *value = old;
        }
        local.keys = local.keys.saturating_add_signed(keys);
        local.orphans = local.orphans.saturating_add_signed(orphans);
        if let Some(bits) = flipped {
            local.exceptions.flip(bits);
        }
        local.exceptions.refused += u64::from(counted == Counted::Refused);
        self.rng = SplitMix64::from_state(rng);
        self.wants_rebuild |= counted == Counted::OverBound;
        self.stats.count(counted);
        Undo { cells, ..before }
    }

    pub(super) fn unmake(&mut self, undo: Undo) {
        for (CellId(cell), value) in undo.cells.into_iter().rev() {
            self.local.cells.set(cell, value);
        }
        if let Some(bits) = undo.flipped {
            self.local.exceptions.flip(bits);
        }
        self.local.exceptions.refused = undo.refused;
        (self.local.keys, self.local.orphans) = (undo.keys, undo.orphans);
        (self.rng, self.wants_rebuild, self.stats) = (undo.rng, undo.wants_rebuild, undo.stats);
    }
}
