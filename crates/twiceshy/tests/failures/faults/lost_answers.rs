//! The answer to a commit is lost, whether or not it happened: its keys are present and no write is taken until the
//! remote's number was read; then both sides agree.

use super::everywhere;
use super::scene::{CELLS, Deed, Keys, Pair, Scene, check, finish, key, state};
use twiceshy::error::Error;
use twiceshy::hash::HashKey;
use twiceshy::persist::SaveError;
use twiceshy::remote::{Keys as _, Remote};
use twiceshy::testing::{Fault, Variant};

/// What a filter in doubt may and may not do. `keys` may be in the set.
fn is_cautious<R: Remote>(pair: &mut Pair<R>, keys: &Keys, when: &str) {
    assert!(pair.is_in_doubt(), "{when}: no doubt");
    let before = state(pair.remote().inner());
    assert!(keys.iter().all(|key| pair.contains(key)), "{when}: in doubt, and yet a key is absent");
    assert!((50_000..50_500).any(|number| !pair.contains(&key(number))), "{when}: other keys are turned away as ever");
    let refused = [
        pair.insert(b"new").is_err_and(in_doubt),
        pair.remove(&key(1)).is_err_and(in_doubt),
        pair.was_wrong(b"new").is_err_and(in_doubt),
        pair.begin_grow(CELLS).is_err_and(in_doubt),
        pair.begin_rekey(HashKey::fixed(1)).is_err_and(in_doubt),
        pair.rebuild_step(1).is_err_and(in_doubt),
        matches!(pair.save(&mut Vec::new()), Err(SaveError::InDoubt)),
    ];
    assert_eq!(refused, [true; 7], "{when}: a write or a save was not refused");
    assert_eq!(state(pair.remote().inner()), before, "{when}: a refused write reached the remote");
}

fn in_doubt(error: Error) -> bool {
    matches!(error, Error::InDoubt)
}

/// Reads the remote's number, at the second attempt.
fn resolve<R: Remote>(pair: &mut Pair<R>, when: &str) {
    pair.remote_mut().fail_after(0);
    assert!(pair.resolve().is_err_and(|error| Fault::refused(&error)), "{when}");
    assert!(pair.is_in_doubt(), "{when}: the doubt went without an answer");
    pair.resolve().expect("the remote answers again");
    assert!(!pair.is_in_doubt(), "{when}: still in doubt");
    pair.resolve().expect("a second resolution does nothing");
}

/// Loses the answer to the deed's commit, both ways; whether there was a commit.
fn lose_the_answer<R: Remote + Clone + Default>(scene: &Scene<R>, deed: &Deed, who: &str) -> bool {
    let mut committed = false;
    let done = deed.done_to(&scene.keys);
    for happens in [true, false] {
        let when = format!("{who}, {deed:?}, happens {happens}");
        let mut pair = scene.pair.clone();
        pair.remote_mut().lose_answer(happens);
        match deed.perform(&mut pair) {
            Ok(()) => assert!(pair.remote_mut().heal(), "{when}: a lost answer was swallowed"),
            Err(Error::Unknown(_)) => {
                committed = true;
                is_cautious(&mut pair, &scene.keys.union(&done).cloned().collect(), &when);
                resolve(&mut pair, &when);
                check(&pair, if happens { &done } else { &scene.keys }, &when);
            }
            Err(other) => panic!("{when}: {other}"),
        }
        deed.perform(&mut pair).expect("the next attempt works");
        check(&pair, &done, &when);
    }
    committed
}

fn name<R>(variant: Variant) -> String {
    format!("{variant:?} over {}", std::any::type_name::<R>())
}

fn insertions_and_removals<R: Remote + Clone + Default>(variant: Variant) {
    let scene = Scene::<R>::crowded(variant);
    assert!(lose_the_answer(&scene, &Deed::Insert(scene.newcomer()), &name::<R>(variant)));
    for key in scene.keys.iter().take(10) {
        assert!(lose_the_answer(&scene, &Deed::Remove(key.clone()), &name::<R>(variant)));
    }
}

#[test]
fn a_lost_answer_to_an_insertion_or_removal_is_found_out() {
    everywhere!(insertions_and_removals);
}

fn adaptation<R: Remote + Clone + Default>(variant: Variant) {
    let scene = Scene::<R>::crowded(variant);
    let Some(mistake) = scene.mistake() else { return };
    let committed = lose_the_answer(&scene, &Deed::Adapt(mistake), &name::<R>(variant));
    let in_place = format!("{variant:?}").starts_with("Cyclic");
    let hears = scene.pair.remote().knows_cells() && !in_place || variant.has_phases();
    assert_eq!(committed, hears, "only a mirror hears of moves, and a remote of a broom filter of each mistake");
}

#[test]
fn a_lost_answer_to_an_adaptation_is_found_out() {
    everywhere!(adaptation);
}

fn beginnings<R: Remote + Clone + Default>(variant: Variant) {
    let scene = Scene::<R>::roomy(variant);
    let grow = lose_the_answer(&scene, &Deed::BeginGrow(CELLS + 30), &name::<R>(variant));
    assert_eq!(grow, scene.pair.remote().knows_cells(), "{variant:?}");
    assert!(lose_the_answer(&scene, &scene.rekeying(), &name::<R>(variant)));
}

#[test]
fn a_lost_answer_to_the_beginning_of_a_rebuild_is_found_out() {
    everywhere!(beginnings);
}

fn while_rebuilding<R: Remote + Clone + Default>(variant: Variant) {
    for rekey in [false, true] {
        let scene = Scene::<R>::rebuilding(variant, rekey, 11);
        let who = format!("{} while rebuilding", name::<R>(variant));
        for newcomer in (1000..1006).map(key) {
            assert!(lose_the_answer(&scene, &Deed::Insert(newcomer), &who));
        }
        for key in scene.keys.iter().take(10) {
            assert!(lose_the_answer(&scene, &Deed::Remove(key.clone()), &who));
        }
    }
}

#[test]
fn a_lost_answer_while_a_second_table_is_filled_is_found_out_for_both_tables() {
    everywhere!(while_rebuilding);
}

/// Loses the answer to each commit of a rebuild in turn, the last one, which switches, among them.
fn steps<R: Remote + Clone + Default>(variant: Variant) {
    for (rekey, happens, limit) in
        [(false, true, 1), (false, false, 4), (true, true, 1), (true, false, 1), (true, true, 5), (true, false, 5)]
    {
        let scene = Scene::<R>::rebuilding(variant, rekey, 0);
        let writes = rekey || scene.pair.remote().knows_cells() || variant.has_phases();
        let mut lost = 0;
        loop {
            let when = format!("{variant:?}, rekey {rekey}, happens {happens}, commit {lost} in steps of {limit}");
            let mut pair = scene.pair.clone();
            pair.remote_mut().lose_answer_after(lost, happens);
            match finish(&mut pair, limit) {
                Ok(()) => {
                    assert!(pair.remote_mut().heal(), "{when}: a lost answer was swallowed");
                    break;
                }
                Err(error) => assert!(matches!(error, Error::Unknown(_)), "{when}: {error}"),
            }
            is_cautious(&mut pair, &scene.keys, &when);
            resolve(&mut pair, &when);
            check(&pair, &scene.keys, &when);
            if pair.is_rebuilding() {
                finish(&mut pair, limit).expect("the next attempt completes");
                check(&pair, &scene.keys, &when);
            }
            lost += 1;
        }
        let least = (scene.keys.len() / limit) as u64;
        assert!(if writes { lost > least } else { lost == 0 }, "{variant:?}: {lost} answers were lost");
    }
}

#[test]
fn a_lost_answer_to_any_step_of_a_rebuild_is_found_out() {
    everywhere!(steps);
}
