//! The statements about skewed streams catch a filter that breaks its rule.

use twiceshy_lab::experiment::{Finding, Folder, Planted, Setup, Size, Verdict, run};
use twiceshy_lab::experiments::named;

/// Runs an experiment at its tiny size.
fn findings(name: &str, planted: Planted) -> Vec<Finding> {
    let names = [name.to_owned()];
    let experiment = named(&names).expect("a known experiment")[0];
    let setup = Setup { planted, ..Setup::new(Size::Tiny, 1) };
    let place = tempfile::tempdir().expect("a folder");
    let folder = Folder::for_run(place.path(), &setup).expect("a new folder");
    run(&[experiment], &folder, &setup, 1, &|_| ()).expect("a run");
    let table = folder.table(experiment).expect("a table").expect("complete");
    experiment.findings(&table, setup.size)
}

/// The verdict on the statement that contains some words.
fn verdict(findings: &[Finding], words: &str) -> Verdict {
    let of_words = findings.iter().find(|finding| finding.paper.contains(words));
    of_words
        .map(|finding| finding.verdict.clone())
        .unwrap_or_else(|| panic!("no statement has `{words}`: {findings:#?}"))
}

/// Without an error nothing differs, and the named statements agree; with a wrong rule the named statements differ.
fn caught(experiment: &str, agreeing: &[&str], differing: &[&str]) {
    let right = findings(experiment, Planted::Nothing);
    for finding in &right {
        assert!(matches!(finding.verdict, Verdict::Agrees | Verdict::Open(_)), "{finding:#?}");
    }
    for words in agreeing {
        assert_eq!(verdict(&right, words), Verdict::Agrees, "{words}: {right:#?}");
    }
    let wrong = findings(experiment, Planted::WrongRule);
    for words in differing {
        assert_eq!(verdict(&wrong, words), Verdict::Unexplained, "{words}: {wrong:#?}");
    }
}

#[test]
fn adaptive_cuckoo_filters_that_hear_of_no_mistake_do_not_outperform_the_plain_one() {
    let statements = ["clearly outperform the cuckoo filter", "the best ACFs are"];
    caught("adapting-on-flows", &statements, &statements);
}

#[test]
fn cuckooing_that_hears_of_no_mistake_does_not_have_the_strongest_performance() {
    let strongest = "strongest performance";
    caught("cuckooing-on-flows", &[strongest], &[strongest, "always performs", "factor of 2"]);
}

#[test]
fn telescoping_and_broom_filters_that_do_not_learn_are_whittled_down() {
    let statements = ["TAF does very well", "a broom filter has no such limit"];
    caught("whittling-stream", &statements, &statements);
}
