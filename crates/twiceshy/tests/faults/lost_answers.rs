//! The answer to a commit is lost, whether or not it happened: everything is present and no write is taken until the
//! remote's number was read; then both sides agree.

use super::everywhere;
use super::scene::{CELLS, Deed, Keys, Scene, check, finish, fitting_key, key, seam, state};
use twiceshy::cuckoo::FullKeyFilter;
use twiceshy::error::{InsertError, RebuildError, SeamError};
use twiceshy::filter::Backed;
use twiceshy::hash::HashKey;
use twiceshy::remote::{ByHash, CellId, Remote};
use twiceshy::testing::{Faulty, Subject, Variant};

/// What a filter in doubt may and may not do.
fn is_cautious<F: Subject, R: Remote>(filter: &mut F, remote: &mut Faulty<R>, when: &str) {
    assert!(filter.in_doubt(), "{when}: no doubt");
    let before = state(remote.inner());
    for number in 0..200 {
        let query = key(number * 37);
        assert!(filter.contains(&query), "{when}: in doubt, and yet a key is absent");
        assert!(filter.lookup(&query).is_some_and(|places| places.count() > 0), "{when}: no place to ask");
    }
    let refused = [
        matches!(filter.insert(b"new", remote), Err(InsertError::Seam(SeamError::InDoubt))),
        matches!(filter.remove(&key(1), remote), Err(SeamError::InDoubt)),
        matches!(filter.try_adapt(b"new", remote), None | Some(Err(SeamError::InDoubt))),
        matches!(filter.begin_grow(CELLS, remote), Err(RebuildError::Seam(SeamError::InDoubt))),
        matches!(filter.begin_rekey(HashKey::fixed(1), remote), Err(RebuildError::Seam(SeamError::InDoubt))),
        matches!(filter.rebuild_step(1, remote), Err(RebuildError::Seam(SeamError::InDoubt))),
        filter.to_bytes().is_empty(),
    ];
    assert_eq!(refused, [true; 7], "{when}: a write or a save was not refused");
    assert_eq!(state(remote.inner()), before, "{when}: a refused write reached the remote");
}

/// Whoever asks the remote at the places that a filter in doubt names finds every key, whatever became of the commit.
fn names_every_key<F: Subject, R: Remote>(filter: &F, remote: &Faulty<R>, keys: &Keys, when: &str) {
    for key in keys {
        let places: Vec<_> = filter.lookup(key).expect("everything is present").collect();
        let mut found = false;
        for place in &places {
            // A place may be of a generation that the remote does not have.
            let _ = remote.inner().candidates(place, &mut |stored| found |= stored == &key[..]);
        }
        assert!(found, "{when}: the key {key:02x?} is at none of {} places", places.len());
    }
}

/// Reads the remote's number, at the second attempt.
fn resolve<F: Subject, R: Remote>(filter: &mut F, remote: &mut Faulty<R>, when: &str) {
    remote.fail_after(0);
    assert!(matches!(filter.resolve(remote), Err(SeamError::Remote(_))), "{when}");
    assert!(filter.in_doubt(), "{when}: the doubt went without an answer");
    filter.resolve(remote).expect("the remote answers again");
    assert!(!filter.in_doubt(), "{when}: still in doubt");
    filter.resolve(remote).expect("a second resolution does nothing");
}

/// Loses the answer to the deed's commit, both ways; whether there was a commit.
fn lose_the_answer<F: Subject, R: Remote + Clone + Default>(scene: &Scene<F, R>, deed: &Deed, who: &str) -> bool {
    let mut committed = false;
    for happens in [true, false] {
        let when = format!("{who}, {deed:?}, happens {happens}");
        let (mut filter, mut remote) = scene.again();
        remote.lose_answer(happens);
        match deed.perform(&mut filter, &mut remote) {
            Ok(()) => assert!(remote.heal(), "{when}: a lost answer was swallowed"),
            Err(SeamError::Unknown(_)) => {
                committed = true;
                is_cautious(&mut filter, &mut remote, &when);
                let done = deed.done_to(&scene.keys);
                let both: Keys = scene.keys.iter().filter(|key| done.contains(*key)).cloned().collect();
                names_every_key(&filter, &remote, &both, &when);
                resolve(&mut filter, &mut remote, &when);
                check(&filter, &remote, if happens { &done } else { &scene.keys }, &when);
            }
            Err(other) => panic!("{when}: {other}"),
        }
        deed.perform(&mut filter, &mut remote).expect("the next attempt works");
        check(&filter, &remote, &deed.done_to(&scene.keys), &when);
    }
    committed
}

fn name<R>(variant: Variant) -> String {
    format!("{variant:?} over {}", std::any::type_name::<R>())
}

fn insertions_and_removals<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    let scene = Scene::<F, R>::crowded(variant);
    assert!(lose_the_answer(&scene, &Deed::Insert(scene.newcomer()), &name::<R>(variant)));
    for key in scene.keys.iter().take(10) {
        assert!(lose_the_answer(&scene, &Deed::Remove(key.clone()), &name::<R>(variant)));
    }
}

#[test]
fn a_lost_answer_to_an_insertion_or_removal_is_found_out() {
    everywhere!(insertions_and_removals);
}

#[test]
fn a_filter_in_doubt_names_every_cell_of_a_key_even_where_there_are_64() {
    for (tables, per_bucket) in [(2, 1), (4, 1), (2, 4), (8, 8)] {
        let mut remote = Faulty::new(ByHash::new());
        let options = FullKeyFilter::with_cells(200, 8).tables(tables).cells_per_bucket(per_bucket);
        let mut filter = options.build(HashKey::fixed(1), &mut remote).expect("options that can be");
        remote.lose_answer(false);
        assert!(filter.insert(b"owl", &mut remote).is_err());
        let places = filter.lookup(b"wren").expect("everything is present").map(|place| place.cell);
        let places: std::collections::BTreeSet<CellId> = places.collect();
        assert_eq!(places.len() as u64, tables * per_bucket);
    }
}

fn adaptation<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    let scene = Scene::<F, R>::crowded(variant);
    let Some(mistake) = scene.mistake() else { return };
    let committed = lose_the_answer(&scene, &Deed::Adapt(mistake), &name::<R>(variant));
    let in_place = format!("{variant:?}").starts_with("Cyclic");
    let hears = scene.remote.knows_cells() && !in_place || variant.has_phases();
    assert_eq!(committed, hears, "only a mirror hears of moves, and a remote of a broom filter of each mistake");
}

#[test]
fn a_lost_answer_to_an_adaptation_is_found_out() {
    everywhere!(adaptation);
}

fn beginnings<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    let scene = Scene::<F, R>::roomy(variant);
    let grow = lose_the_answer(&scene, &Deed::BeginGrow(CELLS + 30), &name::<R>(variant));
    assert_eq!(grow, scene.remote.knows_cells(), "{variant:?}");
    let deed = Deed::BeginRekey(fitting_key(&scene.filter, &scene.remote));
    assert!(lose_the_answer(&scene, &deed, &name::<R>(variant)));
}

#[test]
fn a_lost_answer_to_the_beginning_of_a_rebuild_is_found_out() {
    everywhere!(beginnings);
}

fn while_rebuilding<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    for rekey in [false, true] {
        let scene = Scene::<F, R>::rebuilding(variant, rekey, 11);
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

/// Loses the answer to the first commit of each step of a rebuild, the last one, which switches, among them.
fn steps<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    for (rekey, happens, limit) in
        [(false, true, 1), (true, true, 1), (true, false, 1), (true, true, 5), (true, false, 5)]
    {
        let scene = Scene::<F, R>::rebuilding(variant, rekey, 0);
        let writes = rekey || scene.remote.knows_cells() || variant.has_phases();
        let mut lost = 0;
        for step in 0.. {
            let when = format!("{variant:?}, rekey {rekey}, happens {happens}, step {step} of {limit}");
            let (mut filter, mut remote) = scene.again();
            for _ in 0..step {
                filter.rebuild_step(limit, &mut remote).expect("nothing fails yet");
            }
            if !filter.is_rebuilding() {
                break;
            }
            remote.lose_answer(happens);
            match filter.rebuild_step(limit, &mut remote) {
                Ok(_) => assert!(remote.heal() && !writes, "{when}: a lost answer was swallowed"),
                Err(error) => {
                    assert!(matches!(seam(error), SeamError::Unknown(_)), "{when}");
                    lost += 1;
                    is_cautious(&mut filter, &mut remote, &when);
                    resolve(&mut filter, &mut remote, &when);
                }
            }
            check(&filter, &remote, &scene.keys, &when);
            if filter.is_rebuilding() {
                finish(&mut filter, &mut remote, limit).expect("the next attempt completes");
                check(&filter, &remote, &scene.keys, &when);
            }
        }
        let least = scene.keys.len() / limit;
        assert!(if writes { lost > least } else { lost == 0 }, "{variant:?}: {lost} answers were lost");
    }
}

#[test]
fn a_lost_answer_to_any_step_of_a_rebuild_is_found_out() {
    everywhere!(steps);
}
