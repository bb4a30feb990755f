//! Planning a cell for a new key, and the removal of a key.

use super::fingerprint::{Function, Rule};
use super::local::{Local, Located};
use super::planner::{Finished, Occupant, Planner};
use super::search::{Path, Search, breadth_first};
use super::shortcut::place_by_lists;
use crate::error::PlanError;
use crate::remote::{CellId, Key, Keys};
use crate::rng::SplitMix64;
use std::rc::Rc;

/// A planned insertion: the changes of one table, and the new key's cell.
pub(crate) struct Placed {
    pub(crate) finished: Finished,
    pub(crate) cell: CellId,
    pub(crate) path: usize,
}

/// Plans a cell for a key that is not in the table's set; `None` if there is no room.
pub(crate) fn place_new<R: Rule>(
    local: &Local<R>,
    rng: &SplitMix64,
    key: &Key,
    search: Search,
    keys: &dyn Keys,
) -> Result<Option<Placed>, PlanError> {
    match place_by_lists(local, rng.state(), key, search, keys)? {
        Some(placed) => Ok(Some(placed)),
        None => place(Planner::new(local, keys, rng.clone()), key, search),
    }
}

/// The same, in any table and over any remote.
pub(crate) fn place<R: Rule>(
    mut planner: Planner<'_, R>,
    key: &Key,
    search: Search,
) -> Result<Option<Placed>, PlanError> {
    let newcomer = Occupant { located: Rc::new(planner.local.locate(key.clone())), function: Function(0) };
    let careful = if R::LISTS { careful_path(&mut planner, &newcomer, search)? } else { None };
    let found = match careful {
        Some(path) => Some(path),
        None => {
            let mut rng = planner.rng.clone();
            let found = search.find(&mut planner, newcomer.buckets(), &mut rng)?;
            planner.rng = rng;
            found
        }
    };
    let Some(path) = found else { return Ok(None) };
    planner.follow(&path, newcomer.clone())?;
    let Some(cell) = planner.drafted_cell(&newcomer.located) else { return Ok(None) };
    Ok(Some(Placed { finished: planner.finish(1), cell, path: path.0.len() }))
}

/// The shortest path on which no key, old or new, goes to where a query of its memory matches it: else to remove a key and to insert it
/// again would undo what was learned.
fn careful_path<R: Rule>(
    planner: &mut Planner<'_, R>,
    newcomer: &Occupant,
    search: Search,
) -> Result<Option<Path>, PlanError> {
    let Search::BreadthFirst { cells: budget } = search else { return Ok(None) };
    let own = planner.local.shape.cells_of(newcomer.buckets());
    let barred: Vec<CellId> = own.filter(|cell| planner.recalls(&newcomer.located, *cell)).collect();
    planner.is_careful = true;
    let path = breadth_first(planner, newcomer.buckets(), |cell| !barred.contains(&cell), budget);
    planner.is_careful = false;
    path
}

/// Plans the removal of a stored key. The cell is `None` if it cannot be determined; then an orphan stays.
pub(crate) fn unplace<R: Rule>(
    mut planner: Planner<'_, R>,
    key: &Key,
) -> Result<(Finished, Option<CellId>), PlanError> {
    let located: Rc<Located> = Rc::new(planner.local.locate(key.clone()));
    let cell = planner.owners.cell_of(&located)?;
    match cell {
        Some(cell) => planner.clear(cell),
        None => planner.leave_orphan(),
    }
    Ok((planner.finish(-1), cell))
}
