//! Controls of the adaptivity game: adversaries must win where theory says so, and as often as it says.

use twiceshy::Kind;
use twiceshy_lab::game::{AdversaryName, GameError, MOST_KEYS, Recipe, Report, Settings, Tactics, run, run_with};

/// Games at ε = 1/32. Remainders of 5 bits have a rate of 2.9 %, so n random keys have about 15 false positives among
/// them, and every adversary finds one.
fn game(filter: Kind, adversary: AdversaryName, games: u64) -> Settings {
    Settings { filter: filter.into(), adversary, keys: 500, epsilon: 1.0 / 32.0, phases: 0, games, seed: 7, jobs: 2 }
}

fn played(settings: &Settings) -> Report {
    let report = run(settings, &|_| ()).expect("games that can be played");
    println!(
        "{} against {}: {} of {} games, {:.1} look-ups and {:.2} false positives a game",
        report.adversary,
        report.filter,
        report.wins,
        report.games,
        report.queries as f64 / report.games as f64,
        report.false_positives as f64 / report.games as f64
    );
    report
}

#[test]
fn an_adversary_that_asks_nothing_wins_at_the_static_rate() {
    for filter in [Kind::Quotient, Kind::Telescoping, Kind::Cyclic, Kind::Swapping] {
        let small = Settings { keys: 100, epsilon: 0.06, ..game(filter, AdversaryName::Fresh, 8_000) };
        let report = played(&small);
        assert!(report.static_rate > 0.03 && report.static_rate <= 0.06, "{filter}: {}", report.static_rate);
        let z = report.deviations_above(report.static_rate);
        assert!(z.abs() < 4.0, "{filter}: {} wins, {z:.2} standard deviations from the formula", report.wins);
        assert_eq!([report.queries, report.false_positives, report.adapts], [0; 3], "{filter}");
    }
}

#[test]
fn asking_again_beats_a_filter_that_does_not_learn() {
    for filter in [Kind::Quotient, Kind::FullKey] {
        for adversary in [AdversaryName::Repeat, AdversaryName::Rounds] {
            let report = played(&game(filter, adversary, 400));
            assert!(report.win_rate >= 0.99, "{adversary} against {filter}: {}", report.win_rate);
            assert_eq!(report.adapts, 0, "{filter} does not learn");
        }
    }
}

#[test]
fn asking_again_gains_nothing_against_a_telescoping_filter() {
    for filter in [Kind::Telescoping, Kind::TelescopingPlain] {
        for adversary in [AdversaryName::Repeat, AdversaryName::Rounds] {
            let report = played(&game(filter, adversary, 400));
            let z = report.deviations_above(report.epsilon);
            assert!(z <= 4.0, "{adversary} against {filter}: {} wins, {z:.2} deviations above", report.wins);
            // It did ask, and found mistakes: about 500 · 2.9 %, with a deviation of 0.2 for the mean of 400 games.
            let found = report.false_positives as f64 / report.games as f64;
            assert!((found - 14.8).abs() < 1.0, "{adversary} against {filter}: {found} mistakes a game");
            assert_eq!(report.adapts, report.false_positives, "{filter} learns from each");
        }
    }
}

#[test]
fn deleting_and_inserting_beats_a_filter_that_forgets_deleted_keys() {
    for filter in [Kind::Extension, Kind::Telescoping] {
        // At ε = 1 % no block overflows in n queries, so only the deletion makes the filter forget.
        let at_one_percent = |adversary| Settings { epsilon: 0.01, ..game(filter, adversary, 300) };
        let timing = played(&at_one_percent(AdversaryName::DeleteReinsert));
        assert!(timing.win_rate > 0.95, "{filter}: {}", timing.win_rate);
        // The same filter holds against an adversary that only asks.
        let asking = played(&at_one_percent(AdversaryName::Rounds));
        assert!(asking.deviations_above(asking.epsilon) <= 4.0, "{filter}: {}", asking.win_rate);
        // Half the set is deleted and re-inserted before y is found: 250 keys, with a deviation of 8 for the mean of
        // 300 games.
        let tried = timing.deletions as f64 / timing.games as f64;
        assert!((tried - 252.0).abs() < 35.0, "{filter}: {tried} deletions a game");
        assert_eq!(timing.deletions, timing.insertions);
    }
}

#[test]
fn overflowing_the_blocks_of_a_telescoping_filter_beats_it() {
    // 512 distinct queries for 60 keys: 8.5 per key, where a block of 5-bit remainders overflows at three.
    let small = Settings { keys: 60, ..game(Kind::Telescoping, AdversaryName::Repeat, 300) };
    let report = played(&small);
    assert!(report.win_rate > 0.4 && report.win_rate < 0.8, "{}", report.win_rate);
    // A byte for each selector does not overflow.
    let report = played(&Settings { filter: Kind::TelescopingPlain.into(), ..small });
    assert!(report.deviations_above(report.epsilon) <= 4.0, "{}", report.win_rate);
}

#[test]
fn the_result_depends_on_the_seed_and_not_on_the_number_of_jobs() {
    let settings = game(Kind::Cuckooing, AdversaryName::DeleteReinsert, 24);
    let report = played(&settings);
    assert_eq!(report, played(&Settings { jobs: 5, ..settings.clone() }));
    assert_ne!(report.queries, played(&Settings { seed: 8, ..settings }).queries);
}

#[test]
fn games_with_a_handful_of_keys_are_played_to_the_end() {
    for &filter in Kind::ALL {
        for adversary in AdversaryName::ALL {
            for keys in [1, 2, 9] {
                let settings = Settings { keys, ..game(filter, adversary, 5) };
                let recipe = Recipe::named(filter, keys, settings.epsilon).expect("a filter");
                let brief = Tactics { most_queries: 5_000, most_rounds: 100, ..Tactics::default() };
                let report = run_with(&settings, &recipe, &brief, &|_| ()).expect("games that can be played");
                assert_eq!(report.search.is_some(), adversary.searches(), "{adversary} against {filter}");
            }
        }
    }
}

#[test]
fn games_that_cannot_be_played_are_refused() {
    let settings = game(Kind::Quotient, AdversaryName::Fresh, 1);
    let refused = |settings: Settings| run(&settings, &|_| ()).expect_err("a refusal");
    assert!(matches!(refused(Settings { games: 0, ..settings.clone() }), GameError::Setting(_)));
    assert!(matches!(refused(Settings { keys: MOST_KEYS + 1, ..settings.clone() }), GameError::Setting(_)));
    assert!(matches!(refused(Settings { keys: 0, ..settings.clone() }), GameError::Options(_)));
    for epsilon in [0.0, 1.0, 2.0, -1.0, f64::NAN, 1e-300] {
        assert!(matches!(refused(Settings { epsilon, ..settings.clone() }), GameError::Options(_)), "{epsilon}");
    }
}
