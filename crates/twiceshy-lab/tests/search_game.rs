//! The attacks of paper 000 in the adaptivity game: they win where its theorems say so, and not if a filter is
//! adaptive.

use twiceshy::Kind;
use twiceshy_lab::game::{AdversaryName, Recipe, Report, Settings, Tactics, run_with};
use twiceshy_lab::replay::{FilterSpec, RemoteName};

/// Games against a filter of this geometry at this load.
fn play(spec: &FilterSpec, keys: u64, load: f64, adversary: AdversaryName, games: u64, tactics: &Tactics) -> Report {
    let recipe = Recipe::shaped(spec, keys, Some(load)).expect("a filter");
    let epsilon = recipe.static_rate();
    let settings = Settings { filter: spec.name, adversary, keys, epsilon, phases: 0, games, seed: 3, jobs: 2 };
    let report = run_with(&settings, &recipe, tactics, &|_| ()).expect("games that can be played");
    let Report { wins, win_rate_low, win_rate_high, queries, search, .. } = &report;
    println!(
        "{adversary} against {} of {} bits: {wins} of {games} games ({win_rate_low:.3} to {win_rate_high:.3}), {:.0} \
         look-ups a game, {search:?}",
        spec.name,
        spec.bits,
        *queries as f64 / games as f64
    );
    report
}

fn cyclic(fingerprint: u32, selector: u32) -> FilterSpec {
    let bits = fingerprint + selector;
    FilterSpec { selector_bits: Some(selector), ..FilterSpec::new(Kind::Cyclic, bits) }
}

#[test]
fn cycling_through_the_selectors_beats_a_cyclic_filter() {
    for (fingerprint, selector, games) in [(4, 1, 300), (5, 1, 300), (6, 1, 300), (3, 2, 60)] {
        let spec = cyclic(fingerprint, selector);
        let report = play(&spec, 500, 0.9, AdversaryName::Cyclic, games, &Tactics::default());
        let search = report.search.as_ref().expect("it searched");
        assert!(report.win_rate > 0.98, "{}", report.win_rate);
        assert_eq!(search.named_wins, search.named, "a selector is back at its start after a full cycle");
        // A key is found after v^(2^s) / 3.6 others, geometrically distributed. v is one value less under one function.
        let (values, functions) = (f64::from(1 << fingerprint), 1 << selector);
        let expected = values.powi(functions) * (1.0 - 1.0 / values) / 3.6;
        let tried = search.elements as f64 / games as f64 / expected;
        assert!((tried - 1.0).abs() < 4.0 / (games as f64).sqrt() + 0.1, "{tried} times as many keys as expected");
    }
}

#[test]
fn three_selector_bits_take_more_keys_than_a_bounded_search_tries() {
    let bounded = Tactics { most_queries: 50_000, ..Tactics::default() };
    let report = play(&cyclic(5, 3), 500, 0.9, AdversaryName::Cyclic, 40, &bounded);
    let search = report.search.as_ref().expect("it searched");
    assert_eq!((search.named, search.cut_short), (0, 40));
    let tried = search.elements / 40;
    assert!((40_000..50_000).contains(&tried), "{tried}: most keys are right the first time");
    assert!(report.deviations_above(report.static_rate) <= 4.0, "{}", report.wins);
}

#[test]
fn asking_through_the_swaps_beats_a_swapping_filter_of_few_bits() {
    for (bits, games) in [(3, 100), (4, 60)] {
        let spec = FilterSpec { remote: RemoteName::Mirror, ..FilterSpec::new(Kind::Swapping, bits) };
        let report = play(&spec, 500, 0.9, AdversaryName::Swapping, games, &Tactics::default());
        assert!(report.win_rate_low > 0.85, "{bits} bits: {}", report.win_rate);
        assert!(report.win_rate_low > report.static_rate + 0.1, "{bits} bits: asking nothing does not win as much");
    }
}

#[test]
fn a_birthday_attack_beats_a_cuckooing_filter() {
    let two_by_one = FilterSpec { tables: Some(2), ..FilterSpec::new(Kind::Cuckooing, 8) };
    let report = play(&two_by_one, 2_000, 0.5, AdversaryName::Unfixable, 40, &Tactics::default());
    let search = report.search.as_ref().expect("it searched");
    let suspects = search.suspects.as_ref().expect("it had suspects");
    // 1.5 · 2,000 · 255 / √2,000 = 17,105.9.
    assert_eq!(search.elements, 40 * 17_106);
    let ended = [search.named, suspects.too_few, suspects.too_many, suspects.no_permutation];
    assert_eq!(ended.iter().sum::<u64>(), 40, "{ended:?}: every game ends in one of four ways");
    assert!(search.named >= 30 && search.named_wins * 10 >= search.named * 9, "{search:?}");
    // The same filter with a limit of half as many suspects as there are.
    let strict = Tactics { most_suspects: 2, ..Tactics::default() };
    let report = play(&two_by_one, 2_000, 0.5, AdversaryName::Unfixable, 40, &strict);
    let suspects = report.search.and_then(|search| search.suspects).expect("it had suspects");
    assert!(suspects.too_many > 30, "{suspects:?}");
}

#[test]
fn a_birthday_attack_beats_a_cyclic_filter_if_it_knows_that_keys_keep_their_table() {
    let spec = FilterSpec { remote: RemoteName::Mirror, ..cyclic(8, 1) };
    let two = Tactics { functions: Some(2), ..Tactics::default() };
    let report = play(&spec, 2_000, 0.95, AdversaryName::Unfixable, 60, &two);
    assert!(report.win_rate_low > 0.6, "{}", report.win_rate);
    let search = report.search.expect("it searched");
    assert_eq!(search.named_wins, search.named);
    // As the paper counts, 4 · 2 hashes, it finds sets of two while it looks for eight.
    let eight = Tactics { most_rounds: 1_000, ..Tactics::default() };
    let report = play(&spec, 2_000, 0.95, AdversaryName::Unfixable, 10, &eight);
    assert_eq!(report.search.map(|search| search.named), Some(0));
}

#[test]
fn none_beats_a_telescoping_filter_with_two_queries_per_stored_key() {
    let bounded = Tactics { most_queries: 4_000, ..Tactics::default() };
    for (adversary, tactics) in [
        (AdversaryName::Cyclic, &bounded),
        (AdversaryName::Swapping, &bounded),
        (AdversaryName::Unfixable, &Tactics::default()),
    ] {
        let spec = FilterSpec::new(Kind::Telescoping, 5);
        let report = play(&spec, 2_000, 0.95, adversary, 400, tactics);
        let z = report.deviations_above(1.0 / 32.0);
        assert!(z <= 4.0, "{adversary}: {} wins, {z:.2} deviations above", report.wins);
        assert!(report.false_positives > 40 * report.games, "{adversary} did ask");
    }
}
