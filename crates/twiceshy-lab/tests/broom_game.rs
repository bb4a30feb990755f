//! The broom filter in the adaptivity game: no adversary may win more often than ε, however long the filter has been in
//! use; and the same adversaries win against a filter that lacks what stops them.

use twiceshy::Kind;
use twiceshy::quotient::{BroomFilter, BroomForm, BroomOptions, BroomRule};
use twiceshy_lab::game::{AdversaryName, Recipe, Report, Settings, run, run_against};

/// Few keys, so that the frontier finishes a phase while `repeat` asks, and an ε at which n queries find a mistake in
/// 999 of 1,000 games: remainders of 3 bits have a rate of 11.1 %.
const KEYS: u64 = 60;
const EPSILON: f64 = 1.0 / 8.0;
const GAMES: u64 = 4_000;

/// Adversaries that only ask, or delete a key only to re-insert it. Those that insert mistakes need more keys to show
/// anything.
const ASKERS: [AdversaryName; 7] = [
    AdversaryName::Fresh,
    AdversaryName::Repeat,
    AdversaryName::Rounds,
    AdversaryName::DeleteReinsert,
    AdversaryName::Cyclic,
    AdversaryName::Swapping,
    AdversaryName::Unfixable,
];

/// Fewer games if a game is slow: `swapping` asks 8,192 keys.
fn games(adversary: AdversaryName) -> u64 {
    match adversary {
        AdversaryName::Swapping => 200,
        AdversaryName::Cyclic | AdversaryName::Unfixable => 1_000,
        _ => GAMES,
    }
}

/// How many keys `repeat` and `delete-reinsert` ask in search of a mistake: 16/ε.
const FRESH: f64 = 128.0;

/// The static rate of a filter after several phases. An extension leaves a third of what a fingerprint matches: half
/// with probability 1/2, a quarter with 1/4, and so on. A key has been extended 1/2c times on average since it took its
/// function, with c = 3; and if it met another with its quotient and remainder then, it had bits from the start.
fn in_use(new: f64) -> f64 {
    let met = -(1.0 - new).ln();
    met * (1.0 - met * 2.0 / 3.0) * (1.0 - 1.0 / 6.0 * 2.0 / 3.0)
}

/// A form of the broom filter, by name.
type Form = (&'static str, fn(BroomOptions) -> BroomOptions);

const FORMS: [Form; 2] = [
    ("two levels", |options| options.form(BroomForm::TwoLevels)),
    ("back yard", |options| options.form(BroomForm::BackYard)),
];

fn game(filter: Kind, adversary: AdversaryName, phases: u64) -> Settings {
    Settings { filter: filter.into(), adversary, keys: KEYS, epsilon: EPSILON, phases, games: GAMES, seed: 11, jobs: 2 }
}

fn broom() -> BroomOptions {
    BroomFilter::options(KEYS, EPSILON).expect("a size that can be built")
}

/// Games against a broom filter with these options.
fn against(form: &str, options: BroomOptions, settings: &Settings) -> Report {
    let recipe = Recipe::broom(options, KEYS).expect("a size that can be built");
    told(form, run_against(settings, &recipe, &|_| ()).expect("games that can be played"))
}

fn told(form: &str, report: Report) -> Report {
    println!(
        "{} against {} ({form}): {} of {} games, {:.1} look-ups and {:.2} false positives a game, phases {:.2} to {:.2}",
        report.adversary,
        report.filter,
        report.wins,
        report.games,
        a_game(&report, report.queries),
        a_game(&report, report.false_positives),
        report.phases_at_start,
        report.phases_at_end
    );
    report
}

fn a_game(report: &Report, count: u64) -> f64 {
    count as f64 / report.games as f64
}

/// Every adversary against every form; `rate` corrects the formula's static rate for the phases.
fn assert_no_win_above_epsilon(phases: u64, rate: fn(f64) -> f64) {
    for (form, make) in FORMS {
        for adversary in ASKERS {
            let settings = Settings { games: games(adversary), ..game(Kind::Broom, adversary, phases) };
            let report = against(form, make(broom()), &settings);
            let what = format!("{adversary} against {form} after {phases} phases");
            let z = report.deviations_above(EPSILON);
            assert!(z <= 4.0, "{what}: {} wins, {z:.2} deviations above ε", report.wins);
            assert_eq!(report.adapts, report.false_positives, "{what}: it learns from each mistake");
            assert_eq!(report.phases, phases, "{what}");
            match phases {
                0 => assert!(report.phases_at_start < 0.5, "{what}: {}", report.phases_at_start),
                _ => {
                    // An operation moves at most six keys, a tenth of them.
                    let beyond = report.phases_at_start - phases as f64;
                    assert!((0.5..0.61).contains(&beyond), "{what}: {beyond} of a phase");
                }
            }
            assert_search_was_real(adversary, &report, rate(report.static_rate), &what);
        }
    }
}

/// An adversary that found nothing has not shown anything. While it asks, the filter learns and has fewer mistakes to
/// find.
fn assert_search_was_real(adversary: AdversaryName, report: &Report, rate: f64, what: &str) {
    let mistakes = a_game(report, report.false_positives);
    let most_of = |count: f64, all: f64| (0.8..1.05).contains(&(count / all));
    match adversary {
        AdversaryName::Fresh => {
            let z = report.deviations_above(rate);
            assert!(z.abs() <= 4.0, "{what}: {} wins, {z:.2} deviations from {rate}", report.wins);
            assert_eq!(report.queries, 0, "{what}");
        }
        AdversaryName::Repeat => {
            // All that were wrong at first are asked ten more times.
            let wrong = (a_game(report, report.queries) - FRESH) / 10.0;
            assert!(most_of(wrong, FRESH * rate), "{what}: {wrong} keys were wrong at first");
            // In a phase a key takes another function once, and so does each key that it can meet: it may be wrong
            // again at the static rate for either.
            let (back, phases) = (mistakes / wrong - 1.0, report.phases_at_end - report.phases_at_start);
            assert!(back > 0.0 && back <= 2.0 * rate * phases, "{what}: {back} times again in {phases} phases");
        }
        AdversaryName::Rounds => {
            assert!(most_of(mistakes, KEYS as f64 * rate), "{what}: {mistakes} mistakes");
        }
        AdversaryName::DeleteReinsert => {
            assert!(mistakes > 0.999, "{what}: {mistakes} mistakes");
            let tried = a_game(report, report.deletions);
            assert!(tried > 0.99 * KEYS as f64, "{what}: {tried} deletions");
        }
        AdversaryName::Cyclic | AdversaryName::Swapping | AdversaryName::Unfixable => {
            let search = report.search.as_ref().expect("it searched");
            // Twice 8^2 or 8^4 keys, unless one was named; 1.5 · 512 / √60 = 99.1 for two hashes.
            let all = match adversary {
                AdversaryName::Cyclic => 128.0,
                AdversaryName::Swapping => 8_192.0,
                _ => 100.0,
            };
            let tried = a_game(report, search.elements);
            assert!((0.9..=1.0).contains(&(tried / all)), "{what}: {tried} keys");
            assert!(mistakes > 0.5 * rate * tried.min(128.0), "{what}: {mistakes} mistakes");
            // A mistake moves up to six keys to another function, and each of them meets the query in one of 512
            // values, so a key is seldom wrong twice in a row. Naming it then does not win more often.
            let named = a_game(report, search.named);
            assert!(named <= mistakes * 6.0 / 512.0, "{what}: {named} named a game");
            assert!(search.named_wins * 4 <= search.named, "{what}: {search:?}");
        }
        other => panic!("no expectation for {other}"),
    }
}

#[test]
fn no_adversary_beats_a_new_broom_filter() {
    assert_no_win_above_epsilon(0, |rate| rate);
}

#[test]
fn no_adversary_beats_a_broom_filter_after_several_phases() {
    assert_no_win_above_epsilon(3, in_use);
}

#[test]
fn asking_again_beats_a_quotient_filter_of_that_size() {
    for adversary in [AdversaryName::Repeat, AdversaryName::Rounds] {
        let report = run(&game(Kind::Quotient, adversary, 0), &|_| ()).expect("games that can be played");
        let report = told("plain", report);
        assert!(report.win_rate >= 0.99, "{adversary}: {}", report.win_rate);
    }
}

#[test]
fn deleting_and_inserting_beats_a_broom_filter_without_ghosts() {
    for (form, make) in FORMS {
        for phases in [0, 3] {
            let what = format!("{form} after {phases} phases");
            let play = |adversary| {
                let settings = Settings { games: 1_000, ..game(Kind::Broom, adversary, phases) };
                against(&format!("{form}, no ghosts"), make(broom()).without(BroomRule::RemovalGhosts), &settings)
            };
            // It wins about six games of ten. In the others the frontier passed x or y between finding y and the end:
            // each mistake moves three keys of the sixty.
            let timing = play(AdversaryName::DeleteReinsert);
            assert!(timing.win_rate > 0.5, "{what}: {}", timing.win_rate);
            // Ghosts do not matter against an adversary that only asks.
            let asking = play(AdversaryName::Rounds);
            assert!(asking.deviations_above(EPSILON) <= 4.0, "{what}: {}", asking.win_rate);
        }
    }
}
