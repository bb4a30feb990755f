//! Entries of the store's maps that change behind the guard's back, and the repair of the store.

mod maps;

use super::Wrong;
use super::checking::check;
use super::folder::copy;
use super::model::{Model, shown};
use super::ordeal::{Scene, Tally};
use super::trouble::Trouble;
use super::watch::{PATIENCE, watched};
use crate::workload::rng::Rng;
use maps::{Harm, Tampering};
use twiceshy_store::{Adapt, Checked, Durability, Error, Guard, RedbStore, SNAPSHOT_FILE, STORE_FILE};

/// Changes the maps of a store, repairs it and checks it. The store as changed stays in the scene's folder.
pub(super) fn run(scene: Scene, rng: &mut Rng) -> Result<Tally, Trouble> {
    let count = 1 + rng.below(4) / 3 * rng.below(3);
    let drawn: Vec<Tampering> = (0..count).map(|_| Tampering::draw(rng)).collect();
    let without_snapshot = rng.below(3) == 0;
    with(&drawn, without_snapshot, scene, rng)
}

fn with(drawn: &[Tampering], without_snapshot: bool, scene: Scene, rng: &mut Rng) -> Result<Tally, Trouble> {
    let store = RedbStore::open(scene.folder.join(STORE_FILE)).map_err(Error::Store)?;
    let mut harm = Harm::default();
    for one in drawn {
        one.apply(&store, rng, &mut harm).map_err(Error::Store)?;
    }
    drop(store);
    if without_snapshot {
        std::fs::remove_file(scene.folder.join(SNAPSHOT_FILE))?;
    }
    copy(&scene.folder, &scene.beside)?;
    let names: Vec<&str> = drawn.iter().map(|one| one.name()).collect();
    let mut tally = watched(PATIENCE, move || repaired(&scene, &harm)).map_err(|trouble| {
        let before = if without_snapshot { ", no snapshot" } else { "" };
        trouble.after(&format!("{}{before}", names.join(" and ")))
    })?;
    drawn.iter().for_each(|one| *tally.done.entry(one.name().into()).or_default() += 1);
    Ok(tally)
}

/// Opens a damaged store, repairs it, puts back what is lost, and checks that everything is right again.
fn repaired(scene: &Scene, harm: &Harm) -> Result<Tally, Trouble> {
    let (turn, model) = (&scene.turn, &scene.model);
    let options = turn.options().adapt(Adapt::Always).durability(Durability::Seen).open_damaged(true);
    let guard = options.open_folder(&scene.beside)?;
    let missing = answers(&guard, model, harm)?;
    let found = guard.check()?;
    if found == Checked::Sound && (missing > 0 || !harm.is_empty()) {
        return Err(Trouble::answer(format!("check finds everything in order although {missing} keys are missing")));
    }
    let mut tally = Tally::default();
    if missing > harm.dropped.len() as u64 {
        // Allowed, since check finds it: a filter that was rebuilt from a damaged index.
        tally.done.insert("tampered maps, then keys turned away until the repair".into(), 1);
    }
    let done = guard.repair()?;
    (tally.repaired, tally.lost) = (u64::from(!done.repaired.is_empty()), done.lost.len() as u64);
    named(harm, &done.lost)?;
    let missing = answers(&guard, model, harm)?;
    if missing > harm.dropped.len() as u64 {
        return Err(Trouble::answer(format!("{missing} keys are missing after the repair")));
    }
    match guard.check()? {
        Checked::Sound if harm.altered.is_empty() => {}
        Checked::StoreDamaged(what) if !harm.altered.is_empty() && what.contains("is damaged") => {}
        other => return Err(Trouble::answer(format!("after the repair, check says: {other}"))),
    }
    put_back(&guard, model, harm)?;
    guard.close()?;
    check(turn, &scene.beside, |found| model.clone().exactly(found))?;
    Ok(tally)
}

/// Looks up every key. Returns how many are said to be absent. A wrong value is an error, and so is an altered one that
/// is not reported.
fn answers(guard: &Guard<RedbStore>, model: &Model, harm: &Harm) -> Result<u64, Trouble> {
    let mut missing = 0;
    for (key, right) in &model.0 {
        match guard.get(key) {
            Ok(Some(_)) if harm.altered.contains(key) => {
                return Err(Trouble::answer(format!("the altered value of {} is returned as right", shown(key))));
            }
            Ok(Some(value)) if value != *right => {
                return Err(Trouble::answer(format!("{} has a wrong value", shown(key))));
            }
            Ok(Some(_)) => {}
            Ok(None) => missing += 1,
            Err(Error::DamagedValue { .. }) if harm.altered.contains(key) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(missing)
}

/// Every altered value must be named as lost, and nothing that is not lost.
fn named(harm: &Harm, lost: &[String]) -> Result<(), Trouble> {
    // A key that has lost its value is known by its index entries only, and these may be gone too.
    let sure = harm.altered.len() + if harm.index_is_whole { harm.dropped.len() } else { 0 };
    let most = harm.altered.len() + harm.dropped.len();
    if (sure..=most).contains(&lost.len()) {
        return Ok(());
    }
    Err(Wrong::Answer(format!("the repair names {} losses instead of {sure} to {most}: {lost:?}", lost.len())).into())
}

/// Inserts again what was lost.
fn put_back(guard: &Guard<RedbStore>, model: &Model, harm: &Harm) -> Result<(), Trouble> {
    for key in harm.altered.iter().chain(&harm.dropped) {
        let new = guard.insert(key, model.get(key).map_or(&[][..], |value| value))?;
        if new != harm.dropped.contains(key) {
            return Err(Trouble::answer(format!("{} is said to be new: {new}", shown(key))));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::torture::testing::{KINDS, scene};
    use maps::TAMPERINGS;
    use twiceshy_store::Kind;

    #[test]
    fn every_tampering_is_repaired() {
        let mut wrong = Vec::new();
        for (number, kind) in KINDS.into_iter().enumerate() {
            for (seed, tampering) in TAMPERINGS.into_iter().enumerate() {
                let (_folder, scene) = scene(kind, 200);
                let without = (number + seed) % 2 == 0;
                if let Err(trouble) = with(&[tampering], without, scene, &mut Rng::new(seed as u64)) {
                    wrong.push(format!("{kind}: {trouble:?}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn a_wrong_value_and_a_missing_key_are_noticed() {
        let (_folder, scene) = scene(Kind::Telescoping, 50);
        let guard = scene.turn.options().open_folder(&scene.folder).expect("a store");
        assert!(matches!(answers(&guard, &scene.model, &Harm::default()), Ok(0)));
        let key = scene.model.0.keys().next().expect("a key").clone();
        let mut more = scene.model.clone();
        more.0.insert(b"never inserted".to_vec(), Vec::new());
        assert!(matches!(answers(&guard, &more, &Harm::default()), Ok(1)));
        let altered = Harm { altered: [key.clone()].into(), ..Harm::default() };
        assert!(answers(&guard, &scene.model, &altered).is_err(), "an altered value came back as right");
        more.0.insert(key, b"another value".to_vec());
        assert!(answers(&guard, &more, &Harm::default()).is_err());
    }
}
