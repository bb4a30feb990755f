//! The example of a filter from outside, as others will copy it.

#[expect(dead_code, reason = "a test has its own main")]
#[path = "../../examples/foreign_filter.rs"]
mod foreign_filter;

use twiceshy_lab::experiment::Verdict;

#[test]
fn a_filter_and_a_workload_from_outside_get_data_pictures_and_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let drawn = foreign_filter::measure(folder.path().to_str().expect("a plain path")).expect("a report");
    let page = std::fs::read_to_string(&drawn.page).expect("a page");
    for file in ["uniform.csv", "streams.csv", "uniform-uniform-queries.svg", "streams-knocking.svg"] {
        let text = std::fs::read_to_string(folder.path().join(file)).expect(file);
        assert!(text.contains("qfilter") && page.contains(file), "{file}");
    }
    for finding in drawn.sections.iter().flat_map(|section| &section.findings) {
        assert_eq!(finding.verdict, Verdict::Agrees, "{finding:#?}");
    }
}
