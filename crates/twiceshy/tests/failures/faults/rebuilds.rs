//! A rebuild that fails half way: the old table answers for every key, and the next attempt goes on to the end.

use super::everywhere;
use super::scene::{Deed, Keys, Pair, Scene, check, finish, key};
use twiceshy::error::Error;
use twiceshy::hash::HashKey;
use twiceshy::remote::Remote;
use twiceshy::testing::{Fault, Variant};

const STEP: usize = 7;

/// Removes some keys and inserts others between a failure and the next attempt.
fn changed_meanwhile<R: Remote>(pair: &mut Pair<R>, keys: &Keys) -> Keys {
    let gone = keys.iter().step_by(5).cloned().map(Deed::Remove);
    let come = (1000..1003).map(key).map(Deed::Insert);
    gone.chain(come).fold(keys.clone(), |keys, deed| {
        deed.perform(pair).expect("nothing fails now");
        deed.done_to(&keys)
    })
}

fn steps<R: Remote + Clone + Default>(variant: Variant) {
    for rekey in [false, true] {
        let scene = Scene::<R>::rebuilding(variant, rekey, 0);
        for call in 0.. {
            let when = format!("{variant:?}, rekey {rekey}, call {call}");
            let mut pair = scene.pair.clone();
            pair.remote_mut().fail_after(call);
            match finish(&mut pair, STEP) {
                Ok(()) => {
                    assert!(pair.remote_mut().heal(), "{when}: a failure was swallowed");
                    // At the least, every step walks on.
                    assert!(call > scene.keys.len() as u64 / STEP as u64, "{when}");
                    break;
                }
                Err(error) => assert!(Fault::refused(&error), "{when}: {error}"),
            }
            assert!(pair.is_rebuilding(), "{when}: the rebuild is gone");
            assert_eq!(pair.filter().cells(), scene.pair.filter().cells(), "{when}: the old table is gone");
            check(&pair, &scene.keys, &when);
            let keys = changed_meanwhile(&mut pair, &scene.keys);
            check(&pair, &keys, &when);
            finish(&mut pair, STEP).expect("the next attempt completes");
            assert!(!pair.is_rebuilding(), "{when}");
            check(&pair, &keys, &when);
        }
    }
}

#[test]
fn a_rebuild_that_fails_at_any_call_keeps_the_old_table_and_goes_on_from_there() {
    everywhere!(steps);
}

/// A hash key under which the keys of a full filter do not fit.
fn tight_key<R: Remote + Clone>(pair: &Pair<R>) -> HashKey {
    let tight = |hash: &HashKey| matches!(pair.clone().rekey(*hash), Err(Error::Full { .. }));
    (100..400).map(HashKey::fixed).find(tight).expect("a hash key under which the keys do not fit")
}

fn giving_up<R: Remote + Clone + Default>(variant: Variant) {
    if variant.has_phases() {
        // Its keys are in both tables, so there is no way back: it takes no more keys than both can hold.
        return;
    }
    let has_cells = variant.kind().has_cells();
    let mut scene: Scene<R> = if has_cells { Scene::full(variant) } else { Scene::roomy(variant) };
    let Scene { pair, keys } = &mut scene;
    if has_cells {
        pair.begin_rekey(tight_key(pair)).expect("nothing fails yet");
    } else {
        // A quotient table takes its keys under every hash key, and none is begun that is too small for them; but more may
        // come before they are brought over.
        pair.begin_grow(pair.len()).expect("nothing fails yet");
        for number in 500..510 {
            pair.insert(&key(number)).expect("nothing fails yet");
            keys.insert(key(number));
        }
    }
    for call in 0.. {
        let when = format!("{variant:?}, call {call}");
        let mut pair = scene.pair.clone();
        pair.remote_mut().fail_after(call);
        match finish(&mut pair, STEP) {
            Err(Error::Full { .. }) => {
                assert!(pair.remote_mut().heal(), "{when}: a failure was swallowed");
                assert!(!pair.is_rebuilding(), "{when}");
                check(&pair, &scene.keys, &when);
                break;
            }
            Err(error) => assert!(Fault::refused(&error), "{when}: {error}"),
            Ok(()) => panic!("{when}: the keys fitted"),
        }
        assert!(pair.is_rebuilding(), "{when}: a failure is not the end");
        check(&pair, &scene.keys, &when);
        let ended = finish(&mut pair, STEP);
        assert!(matches!(ended, Err(Error::Full { .. })), "{when}: {ended:?}");
        assert!(!pair.is_rebuilding(), "{when}: a full table is given up");
        check(&pair, &scene.keys, &when);
    }
}

#[test]
fn a_rebuild_that_is_full_is_given_up_whatever_fails_on_the_way() {
    everywhere!(giving_up);
}
