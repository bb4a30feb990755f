//! Snapshots that the store has not written, or not last: whatever is there, the store must open, answer right and be in
//! order.

mod fork;
mod layout;
mod link;
mod odd;
mod old_version;
mod stranger;
mod wrong_bits;

use super::checking::{Origin, check};
use super::child::perform;
use super::keys::value;
use super::model::Model;
use super::ordeal::{Scene, Tally};
use super::script::Operation;
use super::trouble::Trouble;
use super::watch::{PATIENCE, watched};
use super::{Turn, Wrong};
use crate::workload::rng::Rng;
use std::path::Path;
use twiceshy_store::SNAPSHOT_FILE;

/// What is in the snapshot's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forgery {
    /// A filter with changed bits and right checksums, authenticated with a made-up secret.
    WrongBits,
    /// The same as a snapshot of version 1, which had no secret.
    OldVersion,
    /// A file of a terabyte that takes no room.
    Huge,
    /// A pipe without a writer.
    Pipe,
    /// A link to another file, where the next snapshot is written first.
    LinkBeside,
    /// A link to another file.
    LinkInPlace,
    /// The snapshot of another store with as many keys.
    Stranger,
    /// An older snapshot of the same store.
    RolledBack,
    /// The snapshot of a copy of the store that has gone another way.
    Forked,
}

const FORGERIES: [Forgery; 9] = [
    Forgery::WrongBits,
    Forgery::OldVersion,
    Forgery::Huge,
    Forgery::Pipe,
    Forgery::LinkBeside,
    Forgery::LinkInPlace,
    Forgery::Stranger,
    Forgery::RolledBack,
    Forgery::Forked,
];

impl Forgery {
    fn name(self) -> &'static str {
        match self {
            Forgery::WrongBits => "forged snapshot: changed bits, a made-up secret",
            Forgery::OldVersion => "forged snapshot: changed bits, version 1",
            Forgery::Huge => "forged snapshot: a file of a terabyte",
            Forgery::Pipe => "forged snapshot: a pipe",
            Forgery::LinkBeside => "forged snapshot: a link beside it",
            Forgery::LinkInPlace => "forged snapshot: a link in its place",
            Forgery::Stranger => "forged snapshot: another store's",
            Forgery::RolledBack => "forged snapshot: an older one of the store",
            Forgery::Forked => "forged snapshot: that of a copy gone another way",
        }
    }

    /// `true` if a filter from this snapshot must not be used.
    fn must_be_refused(self) -> bool {
        !matches!(self, Forgery::LinkBeside | Forgery::RolledBack)
    }
}

/// Forges a snapshot and checks the store.
pub(super) fn run(scene: Scene, rng: &mut Rng) -> Result<Tally, Trouble> {
    let drawn = FORGERIES[rng.below(FORGERIES.len() as u64) as usize];
    let forgery = if cfg!(unix) || !needs_unix(drawn) { drawn } else { Forgery::WrongBits };
    let mut rng = rng.clone();
    watched(PATIENCE, move || with(forgery, scene, &mut rng)).map_err(|trouble| trouble.after(forgery.name()))
}

fn needs_unix(forgery: Forgery) -> bool {
    matches!(forgery, Forgery::Pipe | Forgery::LinkBeside | Forgery::LinkInPlace)
}

fn with(forgery: Forgery, mut scene: Scene, rng: &mut Rng) -> Result<Tally, Trouble> {
    let path = scene.folder.join(SNAPSHOT_FILE);
    let own = std::fs::read(&path)?;
    let kind = scene.turn.filter;
    match forgery {
        Forgery::WrongBits => std::fs::write(&path, wrong_bits::forge(&own, kind, rng)?)?,
        Forgery::OldVersion => std::fs::write(&path, old_version::forge(&scene.folder, &own, kind, rng)?)?,
        Forgery::Huge => odd::huge(&path, &own, rng)?,
        Forgery::Pipe => odd::pipe(&path)?,
        Forgery::LinkBeside | Forgery::LinkInPlace => return link::check_link(scene, forgery),
        Forgery::Stranger => stranger::put(&scene, rng)?,
        Forgery::RolledBack => {
            work_on(&mut scene, rng, 0)?;
            std::fs::write(&path, own)?;
        }
        Forgery::Forked => return fork::check_fork(scene, rng),
    }
    checked(forgery, &scene.turn, &scene.folder, &scene.model)?;
    Ok(Tally::of(forgery.name()))
}

/// Checks a store with a forged snapshot.
fn checked(forgery: Forgery, turn: &Turn, folder: &Path, model: &Model) -> Result<(), Trouble> {
    let (_, origin, _) = check(turn, folder, |found| model.clone().exactly(found))?;
    if forgery.must_be_refused() && origin != Origin::Rebuilt {
        return Err(Wrong::Answer(format!("the store trusted it ({origin:?})")).into());
    }
    Ok(())
}

/// Opens a store, makes some changes, and closes it. `way` makes the values of two copies differ.
fn work_on(scene: &mut Scene, rng: &mut Rng, way: u64) -> Result<(), Trouble> {
    let guard = scene.turn.options().open_folder(&scene.folder)?;
    let count = 1 + rng.below(8);
    for number in 0..count {
        let key = format!("forger {way} {number}").into_bytes();
        perform(&guard, &Operation::Insert(key, value(scene.turn.round, number, 0)), &mut scene.model)?;
    }
    if way == 0
        && let Some(key) = scene.model.0.keys().next().cloned()
    {
        perform(&guard, &Operation::Remove(key), &mut scene.model)?;
    }
    Ok(guard.close()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::torture::testing::{KINDS, scene};
    use std::time::Duration;
    use twiceshy_store::Kind;

    #[test]
    fn every_forgery_is_withstood() {
        let mut wrong = Vec::new();
        for (number, kind) in KINDS.into_iter().enumerate() {
            for forgery in FORGERIES.into_iter().filter(|one| cfg!(unix) || !needs_unix(*one)) {
                let (_folder, scene) = scene(kind, 200);
                let work = move || with(forgery, scene, &mut Rng::new(number as u64));
                match watched(Duration::from_secs(20), work) {
                    Ok(tally) => assert_eq!(tally.done.len(), 1),
                    Err(trouble) => wrong.push(format!("{kind}, {forgery:?}: {trouble:?}")),
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn a_store_that_trusts_a_forged_snapshot_is_noticed() {
        let (_folder, scene) = scene(Kind::Telescoping, 200);
        // The snapshot is its own, so it is trusted.
        let trusted = checked(Forgery::WrongBits, &scene.turn, &scene.folder, &scene.model);
        assert!(matches!(trusted, Err(Trouble::Store(wrong)) if wrong.to_string().contains("trusted")));
    }
}
