//! A draft of a filter: an operation is planned on it, and the filter itself does not change.

use super::edit::{Begun, Edit};
use super::filter::{BroomFilter, Reclaim};
use super::functions::Functions;
use super::local::Local;
use super::overlay::Drafted;
use super::prints::Prints;
use super::rebuild::Rebuild;
use super::stats::Stats;

/// What an operation in progress has made of a filter.
pub(super) struct Draft<'a> {
    pub(super) local: Local<Drafted<'a>>,
    pub(super) reclaim: Reclaim,
    pub(super) debt: u64,
    pub(super) wants_rebuild: bool,
    pub(super) rebuild: Option<Rebuild>,
    /// What the operation adds to the filter's counts.
    pub(super) stats: Stats,
    /// The functions that it began with.
    pub(super) before: Functions,
    table_ended: bool,
    phase_ended: bool,
    begun: Option<Box<Prints>>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(filter: &'a BroomFilter) -> Draft<'a> {
        Draft {
            local: filter.local.draft(),
            reclaim: filter.reclaim,
            debt: filter.debt,
            wants_rebuild: filter.wants_rebuild,
            rebuild: filter.rebuild,
            stats: Stats::default(),
            before: filter.local.functions,
            table_ended: false,
            phase_ended: false,
            begun: None,
        }
    }

    /// What the operation changes.
    pub(super) fn finish(self) -> Edit {
        Edit {
            tables: self.local.tables.map(Prints::finish),
            table_ended: self.table_ended,
            phase_ended: self.phase_ended,
            begun: self.begun.map(|table| Begun { slots: table.slots(), table: Some(table) }),
            functions: self.local.functions,
            debt: self.debt,
            wants_rebuild: self.wants_rebuild,
            rebuild: self.rebuild,
            stats: self.stats.counts(),
        }
    }

    /// The new function becomes the old one, and another one the new. With it the old table ends, if each age has its own. No key
    /// comes or goes in this operation any more.
    pub(super) fn end_phase(&mut self) {
        if self.local.functions.apart {
            self.local.tables.take_first();
            self.table_ended = true;
        }
        self.local.functions = self.local.functions.next();
        self.phase_ended = true;
        self.stats.phases += 1;
        self.next_stage();
    }

    /// At the beginning of a phase: keys that take the new function go to this empty table. No key has it yet, so the draft never
    /// looks into it.
    pub(super) fn begin_table(&mut self, table: Prints) {
        self.local.functions.slots[1] = table.slots();
        self.local.functions.apart = true;
        self.begun = Some(Box::new(table));
    }
}
