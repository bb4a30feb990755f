//! The child process: works on the store until it is done or killed.

use super::model::{Model, shown};
use super::script::{Operation, Script};
use super::word::Word;
use super::{Turn, Wrong};
use std::io::Write;
use std::path::Path;
use twiceshy_store::{Guard, RedbStore};

/// Performs a turn's operations on the store in a folder, checks every answer, and reports each operation to `out`.
pub fn work(turn: &Turn, folder: &Path, out: &mut impl Write) -> Result<(), Wrong> {
    let worked = work_through(turn, folder, out);
    if let Err(wrong) = &worked {
        // The parent may be gone, so an error here is ignored.
        drop(say(out, &Word::Wrong(wrong.to_string())));
    }
    worked
}

fn work_through(turn: &Turn, folder: &Path, out: &mut impl Write) -> Result<(), Wrong> {
    let script = Script::new(turn.seed, turn.round);
    let options = turn.options().adapt(script.adapt()).durability(script.durability());
    let guard = options.open_folder(folder)?;
    say(out, &Word::Opened)?;
    let mut model = stored(&guard)?;
    for (operation, operations) in script.zip(1..=turn.operations) {
        perform(&guard, &operation, &mut model)?;
        let stats = guard.stats();
        say(out, &Word::Did { operations, adapted: stats.adapted, grown: stats.grown })?;
    }
    guard.close()?;
    say(out, &Word::Closed)
}

/// Writes a line and flushes it, so that the parent receives it whatever happens next.
fn say(out: &mut impl Write, word: &Word) -> Result<(), Wrong> {
    out.write_all(format!("{word}\n").as_bytes())?;
    Ok(out.flush()?)
}

/// Reads what the store holds.
pub(super) fn stored(guard: &Guard<RedbStore>) -> Result<Model, Wrong> {
    Ok(Model(guard.iter().collect::<Result<_, _>>()?))
}

/// Performs an operation on the store and on the model. They must agree on what was there before, and on the changed
/// keys afterwards.
pub(super) fn perform(guard: &Guard<RedbStore>, operation: &Operation, model: &mut Model) -> Result<(), Wrong> {
    let stored = model.apply(operation);
    let (said, right) = match operation {
        Operation::Insert(key, value) => (u64::from(guard.insert(key, value)?), 1 - stored),
        Operation::Remove(key) => (u64::from(guard.remove(key)?), stored),
        Operation::InsertAll(entries) => {
            let new = guard.insert_all(entries.iter().map(|(key, value)| (key, value)))?;
            (new, entries.len() as u64 - stored)
        }
        Operation::RemoveAll(keys) => (guard.remove_all(keys)?, stored),
        Operation::Ask(_) => (0, 0),
        Operation::Save => {
            guard.save()?;
            (0, 0)
        }
    };
    if said != right {
        return Err(Wrong::Answer(format!("{} returned {said} instead of {right}", operation.name())));
    }
    operation.keys().try_for_each(|key| ask(guard, key, model))
}

/// Looks up a key with `contains` and `get`.
pub(super) fn ask(guard: &Guard<RedbStore>, key: &[u8], model: &Model) -> Result<(), Wrong> {
    let right = model.get(key);
    if guard.contains(key)? != right.is_some() {
        let said = if right.is_some() { "turned away" } else { "said to be stored but is not" };
        return Err(Wrong::Answer(format!("{} is {said}", shown(key))));
    }
    if guard.get(key)?.as_ref() != right {
        return Err(Wrong::Answer(format!("{} has a wrong value", shown(key))));
    }
    Ok(())
}
