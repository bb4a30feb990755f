//! A call that fails: the error comes back, neither side has changed, and the next attempt works.

use super::everywhere;
use super::scene::{CELLS, Deed, Scene, check, finish, key, state};
use twiceshy::remote::{ByHash, Keys, Remote};
use twiceshy::testing::{Fault, Variant, saved};

/// Lets the deed fail at its first call of the remote, at its second, and so on; how many calls it takes.
fn fail_at_each_call<R: Remote + Clone + Default>(scene: &Scene<R>, deed: &Deed, who: &str) -> u64 {
    let before = (saved(scene.pair.filter()), state(scene.pair.remote().inner()));
    for call in 0.. {
        let when = format!("{who}, {deed:?}, call {call}");
        let mut pair = scene.pair.clone();
        pair.remote_mut().fail_after(call);
        match deed.perform(&mut pair) {
            Ok(()) => {
                assert!(pair.remote_mut().heal(), "{when}: a failure was swallowed");
                check(&pair, &deed.done_to(&scene.keys), &when);
                return call;
            }
            Err(error) => assert!(Fault::refused(&error), "{when}: {error}"),
        }
        assert!(!pair.is_in_doubt(), "{when}: a failure is no doubt");
        assert!(saved(pair.filter()) == before.0, "{when}: the filter has changed");
        assert_eq!(state(pair.remote().inner()), before.1, "{when}: the remote has changed");
        assert_eq!(pair.is_rebuilding(), scene.pair.is_rebuilding(), "{when}");
        check(&pair, &scene.keys, &when);
        deed.perform(&mut pair).expect("the next attempt works");
        check(&pair, &deed.done_to(&scene.keys), &when);
        if pair.is_rebuilding() && finish(&mut pair, 9).is_ok() {
            check(&pair, &deed.done_to(&scene.keys), &when);
        }
    }
    unreachable!("some number of calls is enough")
}

fn name<R>(variant: Variant) -> String {
    format!("{variant:?} over {}", std::any::type_name::<R>())
}

fn insertion<R: Remote + Clone + Default>(variant: Variant) {
    let scene = Scene::<R>::crowded(variant);
    let calls = fail_at_each_call(&scene, &Deed::Insert(scene.newcomer()), &name::<R>(variant));
    // A match is read, a kicked key too, and then there is the commit; a quotient table moves slots without asking.
    assert!(calls >= if variant.kind().has_cells() { 3 } else { 2 }, "{variant:?}: {calls} calls");
    let stored = scene.keys.first().expect("some key").clone();
    assert!(fail_at_each_call(&scene, &Deed::Insert(stored), &name::<R>(variant)) >= 1);
}

#[test]
fn a_failed_insertion_changes_nothing_and_the_next_one_works() {
    everywhere!(insertion);
}

#[test]
fn a_failed_reset_changes_nothing_and_the_next_one_works() {
    // Those whose resets read the remote: an extension's does not.
    for variant in [Variant::Telescoping, Variant::TelescopingSide] {
        let (scene, newcomer) = Scene::<ByHash>::brimful(variant);
        let calls = fail_at_each_call(&scene, &Deed::Insert(newcomer), &name::<ByHash>(variant));
        assert_eq!(calls, 2, "{variant:?}: the keys of a block that is reset are read before the commit");
        let mistake = scene.mistake().expect("a filter that adapts");
        let calls = fail_at_each_call(&scene, &Deed::Adapt(mistake), &name::<ByHash>(variant));
        assert_eq!(calls, 4, "{variant:?}: number, identity, the keys of the run, those of a block that is reset");
    }
}

fn removal<R: Remote + Clone + Default>(variant: Variant) {
    let scene = Scene::<R>::crowded(variant);
    for key in scene.keys.iter().take(12) {
        let calls = fail_at_each_call(&scene, &Deed::Remove(key.clone()), &name::<R>(variant));
        assert!(calls >= 2, "{variant:?}: {calls} calls");
    }
}

#[test]
fn a_failed_removal_changes_nothing_and_the_next_one_works() {
    everywhere!(removal);
}

fn adaptation<R: Remote + Clone + Default>(variant: Variant) {
    let scene = Scene::<R>::crowded(variant);
    if let Some(mistake) = scene.mistake() {
        let calls = fail_at_each_call(&scene, &Deed::Adapt(mistake), &name::<R>(variant));
        assert!(calls >= 2, "{variant:?}: {calls} calls");
    }
}

#[test]
fn a_failed_adaptation_changes_nothing_and_the_next_one_works() {
    everywhere!(adaptation);
}

fn beginning<R: Remote + Clone + Default>(variant: Variant) {
    let scene = Scene::<R>::roomy(variant);
    let calls = fail_at_each_call(&scene, &Deed::BeginGrow(CELLS + 30), &name::<R>(variant));
    // Number and identity are compared; a mirror's new cells are a commit as well.
    let commits = u64::from(scene.pair.remote().knows_cells());
    assert_eq!(calls, 2 + commits, "{variant:?}: growth by hash only reads number and identity");
    assert_eq!(fail_at_each_call(&scene, &scene.rekeying(), &name::<R>(variant)), 3);
}

#[test]
fn a_rebuild_that_fails_to_begin_has_not_begun() {
    everywhere!(beginning);
}

/// Everything once more while a second table is being filled.
fn while_rebuilding<R: Remote + Clone + Default>(variant: Variant) {
    for rekey in [false, true] {
        let scene = Scene::<R>::rebuilding(variant, rekey, 11);
        let who = format!("{} while rebuilding", name::<R>(variant));
        let newcomers = (1000..1004).map(key).chain([scene.newcomer()]).map(Deed::Insert);
        let gone = scene.keys.iter().take(8).cloned().map(Deed::Remove);
        let rest = [Deed::BeginGrow(CELLS + 50), scene.rekeying()];
        for deed in newcomers.chain(gone).chain(scene.mistake().map(Deed::Adapt)).chain(rest) {
            fail_at_each_call(&scene, &deed, &who);
        }
    }
}

#[test]
fn a_failure_while_a_second_table_is_filled_changes_neither_table() {
    everywhere!(while_rebuilding);
}
