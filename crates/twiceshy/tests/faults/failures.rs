//! A call that fails: the error comes back, neither side has changed, and the next attempt works.

use super::everywhere;
use super::scene::{CELLS, Deed, Scene, check, finish, fitting_key, is_ordered, state};
use twiceshy::remote::Remote;
use twiceshy::testing::{Subject, Variant};

/// Lets the deed fail at its first call of the remote, at its second, and so on; how many calls it takes.
fn fail_at_each_call<F: Subject, R: Remote + Clone + Default>(scene: &Scene<F, R>, deed: &Deed, who: &str) -> u64 {
    let before = (scene.filter.to_bytes(), state(&scene.remote));
    for call in 0.. {
        let when = format!("{who}, {deed:?}, call {call}");
        let (mut filter, mut remote) = scene.again();
        remote.fail_after(call);
        match deed.perform(&mut filter, &mut remote) {
            Ok(()) => {
                assert!(remote.heal(), "{when}: a failure was swallowed");
                check(&filter, &remote, &deed.done_to(&scene.keys), &when);
                return call;
            }
            Err(error) => assert!(is_ordered(&error), "{when}: {error}"),
        }
        assert!(!filter.in_doubt(), "{when}: a failure is no doubt");
        assert!(filter.to_bytes() == before.0, "{when}: the filter has changed");
        assert_eq!(state(remote.inner()), before.1, "{when}: the remote has changed");
        assert_eq!(filter.is_rebuilding(), scene.filter.is_rebuilding(), "{when}");
        check(&filter, &remote, &scene.keys, &when);
        deed.perform(&mut filter, &mut remote).expect("the next attempt works");
        check(&filter, &remote, &deed.done_to(&scene.keys), &when);
        if filter.is_rebuilding() && finish(&mut filter, &mut remote, 9).is_ok() {
            check(&filter, &remote, &deed.done_to(&scene.keys), &when);
        }
    }
    unreachable!("some number of calls is enough")
}

fn name<R>(variant: Variant) -> String {
    format!("{variant:?} over {}", std::any::type_name::<R>())
}

fn insertion<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    let scene = Scene::<F, R>::crowded(variant);
    let calls = fail_at_each_call(&scene, &Deed::Insert(scene.newcomer()), &name::<R>(variant));
    // A match is read, a kicked key too, and then there is the commit; a quotient table moves slots without asking.
    assert!(calls >= if variant.has_cells() { 3 } else { 2 }, "{variant:?}: {calls} calls");
    let stored = scene.keys.first().expect("some key").clone();
    assert!(fail_at_each_call(&scene, &Deed::Insert(stored), &name::<R>(variant)) >= 1);
}

#[test]
fn a_failed_insertion_changes_nothing_and_the_next_one_works() {
    everywhere!(insertion);
}

fn reset<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    let (scene, newcomer) = Scene::<F, R>::brimful(variant);
    let calls = fail_at_each_call(&scene, &Deed::Insert(newcomer), &name::<R>(variant));
    assert_eq!(calls, 2, "{variant:?}: the keys of a block that is reset are read before the commit");
    let mistake = scene.mistake().expect("a filter that adapts");
    let calls = fail_at_each_call(&scene, &Deed::Adapt(mistake), &name::<R>(variant));
    assert_eq!(calls, 3, "{variant:?}: the number, the keys of the run, those of a block that is reset");
}

#[test]
fn a_failed_reset_changes_nothing_and_the_next_one_works() {
    // Those whose resets read the remote: an extension's does not.
    for variant in [Variant::Telescoping, Variant::TelescopingSide] {
        twiceshy::with_variant!(variant, |Kind| reset::<Kind, twiceshy::remote::ByHash>(variant));
    }
}

fn removal<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    let scene = Scene::<F, R>::crowded(variant);
    for key in scene.keys.iter().take(12) {
        let calls = fail_at_each_call(&scene, &Deed::Remove(key.clone()), &name::<R>(variant));
        assert!(calls >= 2, "{variant:?}: {calls} calls");
    }
}

#[test]
fn a_failed_removal_changes_nothing_and_the_next_one_works() {
    everywhere!(removal);
}

fn adaptation<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    let scene = Scene::<F, R>::crowded(variant);
    if let Some(mistake) = scene.mistake() {
        let calls = fail_at_each_call(&scene, &Deed::Adapt(mistake), &name::<R>(variant));
        assert!(calls >= 1, "{variant:?}: {calls} calls");
    }
}

#[test]
fn a_failed_adaptation_changes_nothing_and_the_next_one_works() {
    everywhere!(adaptation);
}

fn beginning<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    let scene = Scene::<F, R>::roomy(variant);
    let calls = fail_at_each_call(&scene, &Deed::BeginGrow(CELLS + 30), &name::<R>(variant));
    // The number is compared; a mirror's new cells are a commit as well.
    assert_eq!(calls, 1 + u64::from(scene.remote.knows_cells()), "{variant:?}: growth by hash only reads the number");
    let deed = Deed::BeginRekey(fitting_key(&scene.filter, &scene.remote));
    assert_eq!(fail_at_each_call(&scene, &deed, &name::<R>(variant)), 2);
}

#[test]
fn a_rebuild_that_fails_to_begin_has_not_begun() {
    everywhere!(beginning);
}

/// Everything once more while a second table is being filled.
fn while_rebuilding<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    for rekey in [false, true] {
        let scene = Scene::<F, R>::rebuilding(variant, rekey, 11);
        let who = format!("{} while rebuilding", name::<R>(variant));
        let newcomers = (1000..1004).map(super::scene::key);
        for newcomer in newcomers.chain([scene.newcomer()]) {
            fail_at_each_call(&scene, &Deed::Insert(newcomer), &who);
        }
        for key in scene.keys.iter().take(8) {
            fail_at_each_call(&scene, &Deed::Remove(key.clone()), &who);
        }
        if let Some(mistake) = scene.mistake() {
            fail_at_each_call(&scene, &Deed::Adapt(mistake), &who);
        }
        fail_at_each_call(&scene, &Deed::BeginGrow(CELLS + 50), &who);
        fail_at_each_call(&scene, &Deed::BeginRekey(fitting_key(&scene.filter, &scene.remote)), &who);
    }
}

#[test]
fn a_failure_while_a_second_table_is_filled_changes_neither_table() {
    everywhere!(while_rebuilding);
}
