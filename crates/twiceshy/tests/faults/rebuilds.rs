//! A rebuild that fails half way: the old table answers for every key, and the next attempt goes on to the end.

use super::everywhere;
use super::scene::{Deed, Keys, Scene, check, finish, is_ordered, key, seam, state};
use twiceshy::error::RebuildError;
use twiceshy::hash::HashKey;
use twiceshy::remote::Remote;
use twiceshy::testing::{Subject, Variant};

const STEP: usize = 7;

/// Removes some keys and inserts others between a failure and the next attempt.
fn changed_meanwhile<F: Subject, R: Remote>(filter: &mut F, remote: &mut R, keys: &Keys) -> Keys {
    let gone = keys.iter().step_by(5).cloned().map(Deed::Remove);
    let come = (1000..1003).map(key).map(Deed::Insert);
    gone.chain(come).fold(keys.clone(), |keys, deed| {
        deed.perform(filter, remote).expect("nothing fails now");
        deed.done_to(&keys)
    })
}

fn steps<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    for rekey in [false, true] {
        let scene = Scene::<F, R>::rebuilding(variant, rekey, 0);
        for call in 0.. {
            let when = format!("{variant:?}, rekey {rekey}, call {call}");
            let (mut filter, mut remote) = scene.again();
            remote.fail_after(call);
            match finish(&mut filter, &mut remote, STEP) {
                Ok(()) => {
                    assert!(remote.heal(), "{when}: a failure was swallowed");
                    // At the least, every step walks on.
                    assert!(call > scene.keys.len() as u64 / STEP as u64, "{when}");
                    break;
                }
                Err(error) => assert!(is_ordered(&seam(error)), "{when}"),
            }
            assert!(filter.is_rebuilding(), "{when}: the rebuild is gone");
            assert_eq!(filter.cells(), scene.filter.cells(), "{when}: the old table is gone");
            check(&filter, &remote, &scene.keys, &when);
            let keys = changed_meanwhile(&mut filter, &mut remote, &scene.keys);
            check(&filter, &remote, &keys, &when);
            finish(&mut filter, &mut remote, STEP).expect("the next attempt completes");
            assert!(!filter.is_rebuilding(), "{when}");
            check(&filter, &remote, &keys, &when);
        }
    }
}

#[test]
fn a_rebuild_that_fails_at_any_call_keeps_the_old_table_and_goes_on_from_there() {
    everywhere!(steps);
}

/// A hash key under which the keys of a full filter do not fit.
fn tight_key<F: Subject, R: Remote + Clone>(filter: &F, remote: &R) -> HashKey {
    let tight =
        |hash: &HashKey| matches!(filter.clone().rekey(*hash, &mut remote.clone()), Err(RebuildError::Full { .. }));
    (100..400).map(HashKey::fixed).find(tight).expect("a hash key under which the keys do not fit")
}

fn giving_up<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    if variant.has_phases() {
        // Its keys are in both tables, so there is no way back: it takes no more keys than both can hold.
        return;
    }
    let mut scene: Scene<F, R> = if variant.has_cells() { Scene::full(variant) } else { Scene::roomy(variant) };
    let Scene { filter, remote, keys } = &mut scene;
    if variant.has_cells() {
        filter.begin_rekey(tight_key(filter, remote), remote).expect("nothing fails yet");
    } else {
        // A quotient table takes its keys under every hash key, and none is begun that is too small for them; but more may
        // come before they are brought over.
        filter.begin_grow(filter.len(), remote).expect("nothing fails yet");
        for number in 500..510 {
            filter.insert(&key(number), remote).expect("nothing fails yet");
            keys.insert(key(number));
        }
    }
    for call in 0.. {
        let when = format!("{variant:?}, call {call}");
        let (mut filter, mut remote) = scene.again();
        remote.fail_after(call);
        match finish(&mut filter, &mut remote, STEP) {
            Err(RebuildError::Full { .. }) => {
                assert!(remote.heal(), "{when}: a failure was swallowed");
                assert!(!filter.is_rebuilding(), "{when}");
                check(&filter, &remote, &scene.keys, &when);
                break;
            }
            Err(error) => assert!(is_ordered(&seam(error)), "{when}"),
            Ok(()) => panic!("{when}: the keys fitted"),
        }
        assert!(filter.is_rebuilding(), "{when}: a failure is not the end");
        check(&filter, &remote, &scene.keys, &when);
        let ended = finish(&mut filter, &mut remote, STEP);
        assert!(matches!(ended, Err(RebuildError::Full { .. })), "{when}: {ended:?}");
        assert!(!filter.is_rebuilding(), "{when}: a full table is given up");
        check(&filter, &remote, &scene.keys, &when);
        assert_eq!(state(remote.inner()).keys, scene.keys);
    }
}

#[test]
fn a_rebuild_that_is_full_is_given_up_whatever_fails_on_the_way() {
    everywhere!(giving_up);
}
