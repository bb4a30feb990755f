//! The statements about games and about the broom filter catch errors that are planted in the filters.

use twiceshy_lab::experiment::{Experiment, Finding, Folder, Planted, Setup, Size, Verdict, run};
use twiceshy_lab::experiments::named;

/// The findings of an experiment in the tiny size.
fn findings(name: &str, planted: Planted) -> Vec<Finding> {
    let experiments = named(&[name.to_owned()]).expect("an experiment").to_vec();
    let place = tempfile::tempdir().expect("a folder");
    let setup = Setup { planted, ..Setup::new(Size::Tiny, 1) };
    let folder = Folder::for_run(place.path(), &setup).expect("a new folder");
    run(&experiments, &folder, &setup, 1, &|_| ()).expect("a run");
    let experiment: &dyn Experiment = experiments[0];
    let table = folder.table(experiment).expect("a table").expect("complete");
    experiment.findings(&table, setup.size)
}

/// The verdict on the statement that begins like this.
fn verdict(findings: &[Finding], begins: &str) -> Verdict {
    let own = findings.iter().find(|finding| finding.paper.starts_with(begins));
    own.unwrap_or_else(|| panic!("no statement begins with {begins:?}")).verdict.clone()
}

/// Without an error no statement is refuted for want of a reason, and these agree; with it, they are refuted.
fn catches(name: &str, agree: &[&str], refuted: &[&str]) {
    let right = findings(name, Planted::Nothing);
    for finding in &right {
        assert_ne!(finding.verdict, Verdict::Unexplained, "{name}: {}: {}", finding.paper, finding.measured);
    }
    for begins in agree.iter().chain(refuted) {
        assert_eq!(verdict(&right, begins), Verdict::Agrees, "{name}: {begins}");
    }
    let wrong = findings(name, Planted::WrongRule);
    for begins in refuted {
        assert_eq!(verdict(&wrong, begins), Verdict::Unexplained, "{name}, with an error: {begins}");
    }
}

#[test]
fn a_filter_that_is_deaf_to_every_second_key_is_caught_by_attacks() {
    catches("cyclic-attack", &["Theorem 9: ", "Theorem 9, s = 2"], &["001 Lemma 13 and 004 Theorem 1"]);
    catches("timing-attack", &["section 4.3: a filter that forgets"], &["section 4.3: ghosts"]);
}

#[test]
fn a_filter_that_is_deaf_to_every_second_key_loses_the_adaptivity_game() {
    catches(
        "adaptivity-game",
        &["This project's: a filter that does not learn", "This project's: a filter that is recovered"],
        &["001 Lemma 13", "docs/broom.md", "004 Theorem 1"],
    );
}

#[test]
fn a_frontier_that_stands_still_is_caught_by_the_bits_that_pile_up() {
    catches("adaptivity-bits", &["Lemma 9: the same constant"], &["Lemma 9: O(n)"]);
    catches("adaptivity-bits-with-removals", &["section 4.3: what is remembered"], &["Lemma 14: O(n)"]);
}

#[test]
fn a_frontier_that_rebuilds_is_caught_by_its_costliest_mistake() {
    catches("frontier-or-rebuild", &["section 4.2: both pay"], &["section 4.2: with a frontier"]);
}

#[test]
fn filters_that_are_deaf_to_every_second_key_do_not_survive_the_attack_in_rounds() {
    catches(
        "lower-bound",
        &["Lemma 4", "Theorem 5: with n log", "Lemma 27"],
        &["Theorem 5 and Lemma 13", "Lemma 28", "Lemmas 25 and 26"],
    );
}
