//! A table that is being filled from the remote beside the one that answers.

use super::fingerprint::{Function, Rule};
use super::local::{Local, Located};
use super::owners::{Cut, Trouble};
use super::planner::{Finished, Lodger, Planner};
use super::search::Search;
use crate::hash::HashKey;
use crate::remote::{CellId, Generation, Key, OrderWords, Position, Remote, Write};
use std::rc::Rc;

/// L′: the new table, and how far it has come.
///
/// Its set is the keys up to the cursor, in the order of the source: candidates are cut to those, and insertions and
/// removals up to the cursor are made in it as well.
#[derive(Clone, Debug)]
pub(crate) struct Filling<R> {
    pub(crate) local: Local<R>,
    pub(crate) cursor: Option<Position>,
    /// The generation that the keys come from, and the hash key that orders it.
    pub(crate) source: (Generation, HashKey),
}

impl<R: Rule> Filling<R> {
    pub(crate) fn new(local: Local<R>, source: (Generation, HashKey)) -> Filling<R> {
        Filling { local, cursor: None, source }
    }

    /// Whether the new table has a generation of R to itself.
    pub(crate) fn own_generation(&self) -> bool {
        self.local.generation != self.source.0
    }

    pub(crate) fn cut(&self) -> Cut<'_> {
        Cut { cursor: self.cursor.as_ref(), hash: self.source.1 }
    }

    /// Whether the new table holds, or would have to hold, this key already.
    pub(crate) fn has_passed(&self, key: &[u8]) -> bool {
        self.cut().holds(key)
    }
}

/// A planned insertion: the changes of one table, and the cell of the newcomer.
pub(crate) struct Placed {
    pub(crate) finished: Finished,
    pub(crate) cell: CellId,
    pub(crate) path: usize,
}

/// Plans a cell for a key that is not in the table's set; `None` where there is no room.
pub(crate) fn place<R: Rule, Rem: Remote>(
    mut planner: Planner<'_, R, Rem>,
    key: &Key,
    search: Search,
) -> Result<Option<Placed>, Trouble<Rem::Error>> {
    let newcomer = Lodger { located: Rc::new(planner.local.locate(key.clone())), function: Function(0) };
    let mut rng = planner.rng.clone();
    let found = search.find(&mut planner, newcomer.buckets(), &mut rng)?;
    planner.rng = rng;
    let Some(path) = found else { return Ok(None) };
    planner.follow(&path, newcomer.clone())?;
    let Some(cell) = planner.drafted_cell(&newcomer.located) else { return Ok(None) };
    Ok(Some(Placed { finished: planner.finish(1), cell, path: path.0.len() }))
}

/// Plans a removal of a stored key; the cell is `None` where it cannot be told, and an orphan stays.
pub(crate) fn unplace<R: Rule, Rem: Remote>(
    mut planner: Planner<'_, R, Rem>,
    key: &Key,
) -> Result<(Finished, Option<CellId>), Trouble<Rem::Error>> {
    let located: Rc<Located> = Rc::new(planner.local.locate(key.clone()));
    let cell = planner.owners.cell_of(&located)?;
    match cell {
        Some(cell) => planner.clear(cell),
        None => planner.leave_orphan(),
    }
    Ok((planner.finish(-1), cell))
}

/// The write that brings a key to a table's generation.
pub(crate) fn addition<R: Rule>(local: &Local<R>, key: &Key, cell: Option<CellId>) -> Write {
    Write::Add { generation: local.generation, key: key.clone(), words: order_words(local, key), cell }
}

/// The write that takes a key from a table's generation.
pub(crate) fn deletion<R: Rule>(local: &Local<R>, key: &Key, cell: Option<CellId>) -> Write {
    Write::Remove { generation: local.generation, key: key.clone(), words: order_words(local, key), cell }
}

fn order_words<R: Rule>(local: &Local<R>, key: &Key) -> OrderWords {
    local.shape.order_words(&local.hash.words(key))
}
