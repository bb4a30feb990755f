//! A table that is being filled from the remote beside the one that answers.

use super::Table;
use crate::hash::HashKey;
use crate::remote::{CellId, Generation, Key, Position, Remote, Write};

/// L′: the new table, and how far it has come.
///
/// Its set is the keys up to the cursor, in the order of the source: candidates are cut to those, and insertions and
/// removals up to the cursor are made in it as well.
#[derive(Clone, Debug)]
pub(crate) struct Filling<T> {
    pub(crate) table: T,
    pub(crate) cursor: Option<Position>,
    /// The generation that the keys come from, and the hash key that orders it.
    pub(crate) source: (Generation, HashKey),
}

impl<T: Table> Filling<T> {
    /// Whether the new table has a generation of R to itself.
    pub(crate) fn own_generation(&self) -> bool {
        self.table.generation() != self.source.0
    }

    pub(crate) fn cut(&self) -> Cut<'_> {
        Cut { cursor: self.cursor.as_ref(), hash: self.source.1 }
    }

    /// Whether the new table holds, or would have to hold, this key already.
    pub(crate) fn has_passed(&self, key: &[u8]) -> bool {
        self.cut().holds(key)
    }

    /// What R must hear of a key that comes to the new table as it comes to the old one: nothing, where both read the same
    /// entries.
    pub(crate) fn addition(&self, key: &Key, cell: Option<CellId>) -> Option<Write> {
        self.own_generation().then(|| self.table.addition(key, cell))
    }

    /// What R must hear of a key that is removed, whether the new table holds it already or not.
    pub(crate) fn deletion<Rem: Remote>(&self, key: &Key, cell: Option<CellId>, remote: &Rem) -> Option<Write> {
        // By hash, a batch may be in the new generation before its keys are in the new table.
        let written = self.own_generation() && (cell.is_some() || !remote.knows_cells());
        written.then(|| self.table.deletion(key, cell))
    }

    /// What R must hear when the new table is given up.
    pub(crate) fn abandonment(&self) -> Option<Write> {
        self.own_generation().then(|| Write::Abandon { generation: self.table.generation() })
    }
}

/// The keys that L holds so far while it is being filled: those up to the cursor, by the order word 0 of the hash key that
/// the source is ordered by.
///
/// The order word 0 of every family is word 0 of the key's hash, unchanged. So a key can be compared with the cursor under
/// the source's hash key alone: no table is asked, and its shape does not matter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut<'a> {
    cursor: Option<&'a Position>,
    hash: HashKey,
}

impl Cut<'_> {
    pub(crate) fn holds(&self, key: &[u8]) -> bool {
        let word = self.hash.words(key).word(0);
        self.cursor.is_some_and(|cursor| (word, key) <= (cursor.word, &*cursor.key))
    }
}
