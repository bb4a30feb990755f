//! Runs the checker.

use std::time::Instant;

use stateright::{Checker, Expectation, HasDiscoveries, Model};

use crate::action::Action;
use crate::configuration::Configuration;
use crate::guard::Guard;
use crate::rules::Rules;

/// Searches all states of a configuration. Fails if an answer is wrong or a witness is missing.
///
/// The search has no bound on depth, number of states or time, so it ends only when no state is left.
pub(crate) fn holds(configuration: Configuration, rules: Rules, threads: usize) {
    let start = Instant::now();
    let checker = Guard::new(configuration, rules).checker().threads(threads).spawn_bfs().join();
    for property in checker.model().properties() {
        let path = checker.discovery(property.name).map(|path| path.into_actions());
        match property.expectation {
            Expectation::Sometimes => {
                assert!(path.is_some(), "{}: not reachable: {}", configuration.name, property.name);
            }
            _ => assert_eq!(path, None, "{}: violated: {}", configuration.name, property.name),
        }
    }
    assert!(checker.is_done(), "{}: states are left", configuration.name);
    println!(
        "{}: {} states, depth {}, {:.1} s",
        configuration.name,
        checker.unique_state_count(),
        checker.max_depth(),
        start.elapsed().as_secs_f32()
    );
}

/// The steps to a wrong answer, fewer than `below`.
pub(crate) fn counterexample(configuration: Configuration, rules: Rules, below: Option<usize>) -> Option<Vec<Action>> {
    let search = Guard::new(configuration, rules).checker().finish_when(HasDiscoveries::AnyFailures);
    let search = match below {
        Some(steps) => search.target_max_depth(steps + 1),
        None => search,
    };
    let checker = search.spawn_bfs().join();
    let failures =
        checker.model().properties().into_iter().filter(|property| property.expectation == Expectation::Always);
    let paths = failures.filter_map(|property| checker.discovery(property.name)).map(|path| path.into_actions());
    paths.min_by_key(Vec::len)
}
