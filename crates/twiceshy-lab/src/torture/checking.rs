//! Opens a store after a crash and checks everything about it.

use super::child::{ask, perform, stored};
use super::keys::{STORED, key, value};
use super::model::Model;
use super::script::Operation;
use super::{Turn, Wrong};
use std::path::Path;
use twiceshy_store::{Adapt, Durability, Guard, RedbStore, SNAPSHOT_FILE, STORE_FILE};

/// Where the filter came from when the store was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// No store, or an empty one.
    New,
    Snapshot,
    /// A snapshot, plus this many commits after it.
    RolledForward(u64),
    Rebuilt,
}

/// Opens a store, finds the model that matches its contents, and checks the store against it. Returns the model, where the
/// filter came from, and what the store holds now that it is closed.
pub(super) fn check(
    turn: &Turn,
    folder: &Path,
    expected: impl FnOnce(&Model) -> Result<Model, String>,
) -> Result<(Model, Origin, Model), Wrong> {
    let new = !folder.join(STORE_FILE).exists() || !folder.join(SNAPSHOT_FILE).exists();
    let guard = turn.options().adapt(Adapt::Always).durability(Durability::Seen).open_folder(folder)?;
    let model = expected(&stored(&guard)?).map_err(Wrong::Answer)?;
    guard.wait()?;
    let stats = guard.stats();
    let origin = match (stats.rolled_forward, stats.rebuilt) {
        (0, 0) if new => Origin::New,
        (0, 0) => Origin::Snapshot,
        (commits, 0) => Origin::RolledForward(commits),
        _ => Origin::Rebuilt,
    };
    sound(&guard, &model)?;
    for number in 0..STORED {
        ask(&guard, &key(number), &model)?;
    }
    let after = go_on(&guard, model.clone(), turn.round)?;
    guard.close()?;
    Ok((model, origin, after))
}

fn sound(guard: &Guard<RedbStore>, model: &Model) -> Result<(), Wrong> {
    if let Some(problem) = guard.check()?.problem() {
        return Err(Wrong::Answer(problem));
    }
    if guard.len()? != model.len() {
        return Err(Wrong::Answer(format!("the store counts {} keys instead of {}", guard.len()?, model.len())));
    }
    Ok(())
}

/// The store must still work: removes a stored key and inserts a new one.
fn go_on(guard: &Guard<RedbStore>, mut model: Model, round: u64) -> Result<Model, Wrong> {
    let one = key(round % STORED);
    let other = model.0.keys().next_back().cloned();
    let goes = other.into_iter().map(Operation::Remove);
    let comes = [Operation::Insert(one.clone(), value(round, 0, 0)), Operation::Remove(one)];
    for operation in goes.chain(comes) {
        perform(guard, &operation, &mut model)?;
    }
    sound(guard, &model)?;
    Ok(model)
}
