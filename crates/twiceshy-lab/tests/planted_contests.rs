//! The statements about skewed streams catch a filter that breaks its rule.

use std::fmt::Write as _;
use std::path::PathBuf;
use twiceshy_lab::experiment::{Finding, Folder, Planted, Setup, Size, Verdict, run};
use twiceshy_lab::experiments::named;

/// Runs an experiment at its tiny size.
fn findings(name: &str, planted: Planted) -> Vec<Finding> {
    findings_with(name, planted, None)
}

/// The same, with a folder of traces.
fn findings_with(name: &str, planted: Planted, data: Option<PathBuf>) -> Vec<Finding> {
    let names = [name.to_owned()];
    let experiment = named(&names).expect("a known experiment")[0];
    let setup = Setup { planted, data, ..Setup::new(Size::Tiny, 1) };
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

#[test]
fn filters_that_hear_of_no_mistake_are_no_better_on_a_trace_from_any_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = (0..40_000u64).fold(String::new(), |mut text, line| {
        // 12,000 keys, some of them asked for again and again.
        let key = if line.is_multiple_of(3) { line / 3 } else { line * line % 12_007 * (line % 7) % 12_000 };
        writeln!(text, "key-{key}").expect("memory");
        text
    });
    std::fs::write(folder.path().join("of mine.log"), lines).expect("a file");
    std::fs::write(folder.path().join("notes.md"), "not a trace").expect("a file");
    let data = || Some(folder.path().to_owned());
    let no_more = "no more false positives than a plain cuckoo filter";
    let right = findings_with("recorded-traces", Planted::Nothing, data());
    let cuckooing = format!("cuckooing has {no_more}");
    assert_eq!(verdict(&right, &cuckooing), Verdict::Agrees, "{right:#?}");
    assert_eq!(verdict(&right, "same memory"), Verdict::Agrees, "{right:#?}");
    let wrong = findings_with("recorded-traces", Planted::WrongRule, data());
    assert_ne!(verdict(&wrong, &cuckooing), Verdict::Agrees, "{wrong:#?}");
    assert!(matches!(verdict(&wrong, &format!("telescoping has {no_more}")), Verdict::Differs(_)), "{wrong:#?}");
}
