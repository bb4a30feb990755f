use super::*;
use crate::experiment::{Evidence, Statement, Table};
use crate::line;
use crate::report::page::tests::report;

/// A report with made-up data of one experiment.
fn with(name: &str, table: Table, findings: Vec<Finding>) -> Report {
    let mut report = report();
    report.sections[0] = Section { name: name.into(), table, findings, ..report.sections[0].clone() };
    report
}

#[test]
fn a_finding_without_data_names_the_command_that_measures_it() {
    let page = findings_page(&report());
    for name in ["adaptivity-game", "selector-values", "remembering", "load-thresholds"] {
        let said = format!("Not measured in this run: <code>twiceshy lab run {name} --quick --seed 7</code>");
        assert!(page.contains(&said), "{name}");
    }
    assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("<script"));
}

#[test]
fn excesses_over_corollary_3_come_from_the_table() {
    let mut table = Table::new(["asked", "c", "selector", "share", "law", "corollary3", "point", "trial"]);
    for trial in 0..4u32 {
        for (k, share) in [(1u32, 0.5), (2, 2.0 + 0.001 * f64::from(trial))] {
            table.push(line!["repeatedly", 4u32, k, share, share, 1.0, "here", trial]);
        }
    }
    let report = with("selector-values", table, vec![]);
    let text = corollary3::topic(&report).measured.into_string();
    assert!(text.contains("2.00 (2.00 to 2.00)") && text.contains("1 of 2"), "{text}");
}

#[test]
fn games_against_the_broom_filter_come_from_the_table() {
    let mut table =
        Table::new(["adversary", "filter", "bits", "games", "wins", "static_rate", "pool_rate", "point", "trial"]);
    for (filter, wins) in [("broom", 1u32), ("telescoping", 40)] {
        (0..5u32).for_each(|trial| {
            table.push(line!["swap", filter, 4u32, 100u32, wins, 0.05, 0.01 * f64::from(wins + trial), filter, trial]);
        });
    }
    let report = with("adaptivity-game", table, vec![]);
    let text = lemma13::topic(&report).measured.into_string();
    assert!(text.contains("40.0 (") && text.contains("1.00 ("), "per cent of the games: {text}");
}

#[test]
fn every_statement_that_differs_is_on_the_page() {
    let of = |paper: &str, value: f64| {
        Statement::new(paper, "rate")
            .every(vec![Evidence::exact("rate", value).below(1.0)])
            .judge(crate::statistics::Looks::from(10))
    };
    let findings = vec![of("section 4.1: <low>", 2.0), of("section 4.2: high", 0.5), of("This project: low", 3.0)];
    let page = findings_page(&with("uniform-queries", Table::new(["a"]), findings));
    assert!(page.contains("section 4.1: &lt;low&gt;") && !page.contains("section 4.2: high"));
    assert!(page.contains("This project: low"), "our own mistakes too");
    assert!(page.contains("twiceshy lab run uniform-queries --quick --seed 7"));
}

#[test]
fn a_run_without_a_difference_says_so() {
    let page = findings_page(&with("uniform-queries", Table::new(["a"]), vec![]));
    assert!(page.contains("No statement of this run differs."));
}

#[test]
fn numbers_have_three_digits() {
    assert_eq!(
        [0.0, 0.000_123, 0.5, 0.9999, 12.345, 1234.5].map(shown),
        ["0", "1.23·10⁻⁴", "0.500", "1.00", "12.3", "1,234"]
    );
}
