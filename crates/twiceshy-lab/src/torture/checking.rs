//! A store that was left by a crash is opened, and everything about it is checked.

use super::child::{ask, perform, stored};
use super::keys::{STORED, key, value};
use super::model::Model;
use super::script::Operation;
use super::{Turn, Wrong};
use std::path::Path;
use twiceshy_store::{Adapt, Durability, Guard, RedbStore, SNAPSHOT_FILE, STORE_FILE};

/// Where the filter of a store that was opened came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// There was no store, or one without anything in it.
    New,
    Snapshot,
    /// A snapshot, and so many commits after it.
    RolledForward(u64),
    Rebuilt,
}

/// Opens a store, finds the model that it should hold by what it does, and checks it against that.
pub(super) fn check(
    turn: &Turn,
    folder: &Path,
    expected: impl FnOnce(&Model) -> Result<Model, String>,
) -> Result<(Model, Origin), Wrong> {
    let new = !folder.join(STORE_FILE).exists() || !folder.join(SNAPSHOT_FILE).exists();
    let guard = turn.options().adapt(Adapt::Always).durability(Durability::Seen).open_folder(folder)?;
    let model = expected(&stored(&guard)?).map_err(Wrong::Answer)?;
    guard.wait()?;
    let stats = guard.stats()?;
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
    go_on(&guard, model.clone(), turn.round)?;
    guard.close()?;
    Ok((model, origin))
}

fn sound(guard: &Guard<RedbStore>, model: &Model) -> Result<(), Wrong> {
    guard.check()?.map_err(Wrong::Answer)?;
    if guard.len()? != model.len() {
        return Err(Wrong::Answer(format!("{} keys are counted, and there are {}", guard.len()?, model.len())));
    }
    Ok(())
}

/// Life goes on: keys come and go, a stored one and a new one.
fn go_on(guard: &Guard<RedbStore>, mut model: Model, round: u64) -> Result<(), Wrong> {
    let one = key(round % STORED);
    let other = model.0.keys().next_back().cloned();
    let goes = other.into_iter().map(Operation::Remove);
    let comes = [Operation::Insert(one.clone(), value(round, 0, 0)), Operation::Remove(one)];
    for operation in goes.chain(comes) {
        perform(guard, &operation, &mut model)?;
    }
    sound(guard, &model)
}
