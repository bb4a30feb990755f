//! Tests that adversaries keep the rules and do what they document.

use super::adversary::{AdversaryName, Move};
use super::diary::Diary;
use super::dispatch::Recipe;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};
use super::tactics::Tactics;
use super::{Settings, run_against, run_many};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::collections::HashSet;
use twiceshy::Kind;
use twiceshy::quotient::{BroomFilter, BroomForm};

const KEYS: u64 = 96;

fn keys() -> Keys {
    Keys::new(KEYS, 1 << 40, 5).expect("few keys")
}

/// Plays a game to its end. Returns the oracle, and what was named.
fn played(filter: Kind, adversary: AdversaryName) -> (Oracle, Named) {
    let recipe = Recipe::named(filter, KEYS, 0.04).expect("a filter");
    let brief = Tactics { most_queries: 5_000, most_rounds: 100, ..Tactics::default() };
    let (oracle, named, _) = played_against(&recipe, &brief, adversary, 1);
    (oracle, named)
}

/// The same against a filter from a recipe, with what the adversary has recorded.
fn played_against(recipe: &Recipe, tactics: &Tactics, adversary: AdversaryName, seed: u64) -> (Oracle, Named, Diary) {
    let mut oracle = Oracle::setup(recipe, &keys(), Rng::new(seed)).expect("room for all");
    let mut notes = Notes::new(keys(), 0.04, recipe.anatomy, tactics, Rng::new(3));
    let named = adversary.adversary().play(&mut oracle, &mut notes);
    let named = named.unwrap_or_else(|error| panic!("{adversary}, seed {seed}: {error}"));
    (oracle, named, notes.diary)
}

/// A broom filter with a back yard, whatever the width.
fn with_yard(width: u32) -> Recipe {
    let options = BroomFilter::with_slots(KEYS + 8, width).form(BroomForm::BackYard);
    Recipe::broom(options, KEYS).expect("a filter")
}

/// How many of the initial keys are stored at the end.
fn left(oracle: &Oracle) -> u64 {
    keys().stored_keys().filter(|key| oracle.holds(key)).count() as u64
}

fn upper(share: f64) -> HashSet<Key> {
    let mut all: Vec<Key> = keys().stored_keys().collect();
    all.sort_unstable();
    all.split_off((KEYS as f64 * (1.0 - share)) as usize).into_iter().collect()
}

fn pool(named: &Named) -> HashSet<Key> {
    named.pool().iter().copied().collect()
}

#[test]
fn every_adversary_keeps_the_rules_and_names_absent_keys() {
    for &filter in Kind::ALL {
        for adversary in AdversaryName::ALL {
            let (oracle, named) = played(filter, adversary);
            let what = format!("{adversary} against {filter}");
            assert!(!named.pool().is_empty() && named.pool().iter().all(|key| !oracle.holds(key)), "{what}");
            assert_eq!(pool(&named).len(), named.pool().len(), "{what}: a key twice");
            let lost =
                keys().stored_keys().find(|key| oracle.holds(key) && !oracle.clone().lookup(key).expect("an answer"));
            assert_eq!(lost, None, "{what}: a stored key was lost");
        }
    }
}

#[test]
fn every_adversary_makes_the_moves_that_it_is_said_to_make_and_no_others() {
    for adversary in AdversaryName::ALL {
        let games = Kind::ALL.iter().map(|&filter| played(filter, adversary).0.counts());
        let made = games.fold([false; 3], |made, counts| {
            let counts = [counts.queries, counts.insertions, counts.deletions];
            std::array::from_fn(|it| made[it] || counts[it] > 0)
        });
        let said = [Move::Ask, Move::Insert, Move::Delete].map(|it| adversary.moves().contains(&it));
        assert_eq!(made, said, "{adversary}");
    }
}

/// A few that are decided by few games; docs/adversaries.md has all of them.
#[test]
fn the_filters_that_are_said_to_lose_do() {
    use AdversaryName::{Crash, DeleteReinsert, Fresh, Repeat};
    let adversaries = [Fresh, Repeat, DeleteReinsert, Crash];
    for &filter in Kind::ALL {
        let settings = Settings {
            filter: filter.into(),
            adversary: Fresh,
            keys: 500,
            epsilon: 0.01,
            phases: 0,
            games: 100,
            seed: 1,
            jobs: 2,
        };
        let recipe = Recipe::named(filter, settings.keys, settings.epsilon).expect("a filter");
        let reports = run_many(&settings, &adversaries, &recipe, &Tactics::default(), &|_| ()).expect("games");
        for (adversary, report) in adversaries.iter().zip(reports) {
            let said = adversary.beats().contains(&filter);
            assert_eq!(report.is_beaten(0.01), said, "{adversary} against {filter}: {report:?}");
        }
    }
}

#[test]
fn an_explanation_has_the_moves_and_the_losers() {
    assert!(AdversaryName::Fresh.explain().ends_with(" It does nothing else. Beats no filter."));
    assert!(
        AdversaryName::Cyclic
            .explain()
            .ends_with(" It asks. Beats cuckoo, cyclic, quotient and remembering with short fingerprints.")
    );
    assert!(AdversaryName::Swap.explain().ends_with(" It asks, inserts and deletes. Beats every filter except broom."));
    let rounds = " It asks. Beats cuckoo and quotient.";
    assert!(AdversaryName::Rounds.explain().ends_with(rounds), "{}", AdversaryName::Rounds.explain());
    for adversary in AdversaryName::ALL {
        assert!(adversary.help().ends_with('.') && !adversary.beats().contains(&Kind::Broom), "{adversary}");
    }
}

#[test]
fn swap_deletes_the_upper_half_and_inserts_an_eighth() {
    for filter in [Kind::Broom, Kind::Telescoping, Kind::Quotient] {
        let (oracle, named) = played(filter, AdversaryName::Swap);
        assert_eq!([oracle.counts().deletions, oracle.counts().insertions], [KEYS / 2, KEYS / 8], "{filter}");
        assert_eq!(oracle.counts().false_positives, KEYS / 8, "{filter}");
        assert_eq!(pool(&named), upper(0.5), "{filter}");
    }
}

#[test]
fn endless_replaces_four_keys_for_each_mistake_and_names_the_upper_three_quarters() {
    let (oracle, named) = played(Kind::Quotient, AdversaryName::Endless);
    let counts = oracle.counts();
    let (decoys, swapped) = (KEYS / 8, KEYS * 3 / 4);
    assert_eq!(counts.false_positives, KEYS);
    assert_eq!(counts.deletions, decoys + 4 * KEYS + swapped + 4 * swapped);
    assert_eq!(counts.insertions, counts.deletions, "the set is full again");
    assert_eq!((pool(&named), left(&oracle)), (upper(0.75), KEYS / 8));
}

#[test]
fn siblings_store_half_of_the_mistakes_and_name_the_other_half() {
    for (adversary, found, kept) in [
        (AdversaryName::Siblings, KEYS / 4, 0),
        (AdversaryName::SiblingsAges, KEYS / 4, 0),
        (AdversaryName::SiblingsFrontier, KEYS / 5, KEYS * 3 / 4),
        (AdversaryName::PhaseRiders, KEYS / 8, 0),
    ] {
        let (oracle, named) = played(Kind::Telescoping, adversary);
        assert_eq!(left(&oracle), kept, "{adversary}");
        assert_eq!(KEYS - oracle.room() - kept, found.div_ceil(2), "{adversary}: mistakes that are stored");
        assert_eq!(named.pool().len() as u64, found / 2, "{adversary}: the others");
    }
}

#[test]
fn growth_and_crash_name_mistakes_and_change_no_key() {
    for (adversary, mistakes) in
        [(AdversaryName::Growth, KEYS / 8), (AdversaryName::Crash, KEYS / 8), (AdversaryName::Lives, KEYS / 4)]
    {
        for &filter in Kind::ALL {
            let (oracle, named) = played(filter, adversary);
            assert_eq!(oracle.counts().false_positives, mistakes, "{adversary} against {filter}");
            assert_eq!((named.pool().len() as u64, left(&oracle)), (mistakes, KEYS), "{adversary} against {filter}");
            assert_eq!(oracle.counts().insertions + oracle.counts().deletions, 0, "{adversary} against {filter}");
        }
    }
}

#[test]
fn flood_fills_the_set_with_mistakes_and_full_oracle_leaves_a_little_room() {
    let (oracle, named) = played(Kind::Telescoping, AdversaryName::Flood);
    assert_eq!((left(&oracle), oracle.room()), (KEYS / 2, 0));
    // Every fourth mistake is left out; with the last one inserted, 48 of 63 are stored.
    assert_eq!(named.pool().len() as u64, KEYS / 2 + 15);
    let (oracle, named) = played(Kind::Telescoping, AdversaryName::FullOracle);
    assert_eq!((left(&oracle), oracle.room()), (KEYS / 2, 5));
    assert_eq!((named.pool().len(), oracle.counts().refusals), (1, 0), "a fresh key, since none was refused");
    assert!(oracle.counts().insertions > 2 * KEYS, "it tried");
}

#[test]
fn avoiders_name_keys_that_were_never_wrong_and_store_as_many_as_fit() {
    let (oracle, named) = played(Kind::Quotient, AdversaryName::Avoiders);
    assert_eq!((left(&oracle), oracle.room()), (0, 0));
    // Of 192 keys, three rounds at less than 4 % leave about 175, and 96 of them are stored.
    assert!((60..=95).contains(&named.pool().len()), "{}", named.pool().len());
}

#[test]
fn families_are_mixed_as_each_adversary_documents() {
    let (oracle, named) = played(Kind::Telescoping, AdversaryName::Few);
    assert_eq!((left(&oracle), KEYS - oracle.room()), (KEYS / 16, KEYS / 16 + KEYS / 12));
    assert_eq!(named.pool().len() as u64, KEYS / 12);
    let (oracle, named) = played(Kind::Telescoping, AdversaryName::Grandchildren);
    assert_eq!((left(&oracle), KEYS - oracle.room()), (KEYS / 2, KEYS / 2 + KEYS / 16));
    assert_eq!(named.pool().len() as u64, KEYS / 2 + KEYS / 16, "no child among them");
    let (oracle, named) = played(Kind::Telescoping, AdversaryName::Revenants);
    assert_eq!((left(&oracle), oracle.counts().deletions), (KEYS, 6 * KEYS));
    assert_eq!(named.pool().len() as u64, KEYS / 4);
    let (oracle, named) = played(Kind::Telescoping, AdversaryName::Seesaw);
    assert_eq!((left(&oracle), KEYS - oracle.room()), (0, KEYS / 4));
    assert_eq!(pool(&named), upper(1.0));
    let (oracle, named) = played(Kind::Telescoping, AdversaryName::Lottery);
    assert_eq!(KEYS - oracle.room(), KEYS * 3 / 4);
    // All keys that it knows: the set, an eighth, and eight times a thirty-second.
    assert_eq!(named.pool().len() as u64, KEYS + KEYS / 8 + 8 * (KEYS / 32) - KEYS * 3 / 4);
    let (oracle, named) = played(Kind::Telescoping, AdversaryName::Chain);
    assert!(oracle.counts().false_positives == 4 * (KEYS / 8) && !named.pool().is_empty());
}

#[test]
fn silent_siblings_are_keys_that_moved_the_frontier_in_a_window_of_one_phase() {
    for (recipe, form) in
        [(with_yard(5), "a yard"), (Recipe::named(Kind::Broom, KEYS, 0.04).expect("a filter"), "levels")]
    {
        for seed in 0..5 {
            let (oracle, named, _) = played_against(&recipe, &Tactics::default(), AdversaryName::SilentSiblings, seed);
            let phase = oracle.phase().expect("a frontier");
            assert_eq!((phase.ended, left(&oracle), oracle.room()), (1, 0, KEYS), "{form}, seed {seed}");
            // Each moves 3 of 96 keys, in 35 % of a phase; some moves are paid later, with another key.
            assert!((8..=12).contains(&named.pool().len()), "{form}, seed {seed}: {}", named.pool().len());
        }
    }
}

#[test]
fn a_key_is_named_while_all_others_of_its_pool_are_stored() {
    let recipe = Recipe::named(Kind::Quotient, KEYS, 0.3).expect("a filter");
    let empty = Oracle::setup(&recipe, &Keys::new(KEYS, 1 << 40, 5).expect("few keys"), Rng::new(1));
    let mut empty = empty.expect("room for all");
    empty.delete_all(&keys().stored_keys().collect::<Vec<_>>()).expect("they are stored");
    let pool: Vec<Key> = (0..70).map(|number| keys().absent(number)).collect();
    let mut wrong = HashSet::new();
    for key in &pool {
        let mut oracle = empty.clone();
        oracle.store(pool.iter().filter(|other| *other != key)).expect("there is room");
        wrong.extend(oracle.is_false_positive(key).then_some(*key));
    }
    assert!((3..40).contains(&wrong.len()), "{}", wrong.len());
    for seed in 0..20 {
        let (mut oracle, named) = (empty.clone(), Named::each_beside_the_others(pool.clone()));
        let outcome = named.decide(&mut oracle, &mut Rng::new(seed)).expect("the others have room");
        assert_eq!((outcome.nameable, outcome.nameable_wrong), (70, wrong.len() as u64));
        let drawn: Vec<&Key> = pool.iter().filter(|key| !oracle.holds(key)).collect();
        assert_eq!((drawn.len(), outcome.wins), (1, u64::from(wrong.contains(drawn[0]))), "seed {seed}");
    }
}

#[test]
fn probing_sees_many_moves_of_the_frontier_and_none_that_there_were_not() {
    let (recipe, mut sum) = (with_yard(6), Diary::default());
    for seed in 0..12 {
        let (oracle, _, diary) = played_against(&recipe, &Tactics::default(), AdversaryName::SilentProbing, seed);
        sum.add(&diary);
        let phase = oracle.phase().expect("a frontier");
        assert!(phase.ended == 1 && phase.part < 0.5, "seed {seed}: {phase:?}");
    }
    let Diary { moves_found, moves_missed, false_alarms, .. } = sum;
    let is_a_quarter = 4 * moves_found >= moves_found + moves_missed;
    assert!(moves_found > 15 && is_a_quarter && false_alarms == 0, "{sum:?}");
    let hasty = Tactics { most_queries: 1, ..Tactics::default() };
    let (_, named, diary) = played_against(&recipe, &hasty, AdversaryName::SilentProbing, 1);
    assert_eq!((named.pool().len(), diary.moves_found + diary.moves_missed), (1, 0), "it may not ask");
}

#[test]
fn crowding_keeps_several_keys_in_either_form_and_inserts_its_mistakes() {
    let played = |form: BroomForm| {
        let options = BroomFilter::options(500, 0.004).expect("a size that can be built").form(form);
        let recipe = Recipe::broom(options, 500).expect("a size that can be built");
        let (filter, adversary) = (Kind::Broom.into(), AdversaryName::Crowding);
        let settings =
            Settings { filter, adversary, keys: 500, epsilon: 0.004, phases: 0, games: 20, seed: 1, jobs: 2 };
        run_against(&settings, &recipe, &|_| ()).expect("games")
    };
    for report in [BroomForm::BackYard, BroomForm::TwoLevels].map(played) {
        assert!(report.nameable >= 20 * report.games && report.refusals == 0, "{report:?}");
        assert!(report.phases_at_end < 1.5 && report.false_positives > 100 * report.games, "{report:?}");
    }
}
