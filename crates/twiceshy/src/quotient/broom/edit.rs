//! An operation's changes to L, as a value: made by a draft, applied after the remote has committed.

use super::filter::BroomFilter;
use super::functions::Functions;
use super::ghosts::Forgotten;
use super::prints::{Prints, PrintsEdit};
use super::rebuild::Rebuild;
use super::stats::Counts;
use super::tables::Tables;

/// A change of L: copies of the changed parts, and the new values of small fields. It is plain data, and can be serialized.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    /// The changes to each table that stays.
    pub(super) tables: Tables<PrintsEdit>,
    /// `true` if the first table ends.
    pub(super) table_ended: bool,
    /// `true` if the ghosts of the old function leave.
    pub(super) phase_ended: bool,
    pub(super) begun: Option<Begun>,
    pub(super) functions: Functions,
    pub(super) debt: u64,
    pub(super) wants_rebuild: bool,
    pub(super) rebuild: Option<Rebuild>,
    /// What is added to the filter's counts.
    pub(super) stats: Counts,
}

/// A new, empty table.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    pub(super) slots: u64,
    /// The table itself, so that applying an edit allocates nothing. It is not serialized: see [`BroomFilter::make_checked`].
    pub(super) table: Option<Box<Prints>>,
}

/// The state before an [`Edit`] was applied.
#[derive(Debug)]
pub(crate) struct Undo {
    /// The edit, whose copies now hold the replaced parts.
    edit: Edit,
    ended: Option<Box<Prints>>,
    /// What each table that stays has forgotten. There are at most two tables.
    forgotten: [Forgotten; 2],
}

impl BroomFilter {
    /// `true` if the edit is for as many tables as the filter has.
    pub(super) fn has_tables_of(&self, edit: &Edit) -> bool {
        self.local.tables.iter().count() == edit.tables.iter().count() + usize::from(edit.table_ended)
    }

    /// Changes L. The edit must have been planned on this filter in its current state, or on an equal one. If it was read
    /// from bytes, [`BroomFilter::make_checked`] applies it.
    pub(crate) fn make(&mut self, mut edit: Edit) -> Undo {
        let (shape, tables) = (self.local.shape, &mut self.local.tables);
        let ended = if edit.table_ended { tables.take_first() } else { None };
        tables.iter_mut().zip(edit.tables.iter_mut()).for_each(|(table, edit)| table.exchange(edit));
        if edit.phase_ended {
            tables.iter_mut().for_each(|table| table.ghosts.end_phase());
        }
        let mut forgotten = [Forgotten::default(), Forgotten::default()];
        // A plan of many adaptations forgets as much as they would one by one.
        let [_, _, adapts, ..] = edit.stats;
        let places = tables.iter_mut().zip(&mut forgotten);
        places.for_each(|(table, forgotten)| *forgotten = table.ghosts.forget(adapts));
        if let Some(Begun { slots, table }) = &mut edit.begun {
            tables.set_second(table.take().or_else(|| Prints::new(*slots, &shape).map(Box::new)));
        }
        self.exchange_values(&mut edit);
        self.stats = self.stats.plus(edit.stats);
        Undo { edit, ended, forgotten }
    }

    /// Restores the state before the last edit. Several edits are undone in reverse order.
    pub(crate) fn unmake(&mut self, undo: Undo) {
        let Undo { mut edit, ended, forgotten } = undo;
        self.stats = self.stats.minus(edit.stats);
        self.exchange_values(&mut edit);
        let tables = &mut self.local.tables;
        if edit.begun.is_some() {
            tables.set_second(None);
        }
        for (table, forgotten) in tables.iter_mut().zip(forgotten) {
            table.ghosts.recall(forgotten);
            if edit.phase_ended {
                table.ghosts.resume_phase();
            }
        }
        tables.iter_mut().zip(edit.tables.iter_mut()).for_each(|(table, edit)| table.exchange(edit));
        if let Some(ended) = ended {
            tables.put_first(ended);
        }
    }

    fn exchange_values(&mut self, edit: &mut Edit) {
        std::mem::swap(&mut self.local.functions, &mut edit.functions);
        std::mem::swap(&mut self.debt, &mut edit.debt);
        std::mem::swap(&mut self.wants_rebuild, &mut edit.wants_rebuild);
        std::mem::swap(&mut self.rebuild, &mut edit.rebuild);
    }
}
