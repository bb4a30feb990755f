//! The report's page in a browser, and a report with a filter from outside. Without a browser its tests say so and pass: set
//! `CHROMIUM` to its path. With `TWICESHY_REPORT=path/to/report.html` that page is checked too.

mod browser;
mod foreign;
mod samples;

use browser::{browser, look_at};
use twiceshy_lab::report::{findings_page, page};

#[test]
fn the_page_is_correct_on_phones_and_desktops_in_light_and_dark() {
    let Some(browser) = browser() else { return println!("skipped: no Chromium; set CHROMIUM to its path") };
    let report = samples::report();
    let pictures: usize = report.sections.iter().map(|section| section.pictures.len()).sum();
    let seen = look_at(&browser, &page(&report));
    assert!(seen.faults.is_empty(), "{:#?}", seen.faults);
    assert_eq!((seen.frames, seen.pictures), (4, 4 * pictures));
    assert!(seen.texts > 4 * 10 * pictures && seen.least_contrast >= 4.5, "{seen:?}");
}

#[test]
fn the_page_of_findings_is_correct_on_phones_and_desktops_in_light_and_dark() {
    let Some(browser) = browser() else { return println!("skipped: no Chromium; set CHROMIUM to its path") };
    let seen = look_at(&browser, &findings_page(&samples::report()));
    assert!(seen.faults.is_empty(), "{:#?}", seen.faults);
    assert!(seen.frames == 4 && seen.least_contrast >= 4.5, "{seen:?}");
}

#[test]
fn a_report_named_in_the_environment_is_correct() {
    let Some(path) = std::env::var_os("TWICESHY_REPORT") else {
        return println!("skipped: TWICESHY_REPORT is not set");
    };
    let Some(browser) = browser() else { return println!("skipped: no Chromium; set CHROMIUM to its path") };
    let seen = look_at(&browser, &std::fs::read_to_string(path).expect("the report at TWICESHY_REPORT"));
    assert!(seen.faults.is_empty(), "{:#?}", seen.faults);
    assert!(seen.frames == 4 && seen.texts > 0, "{seen:?}");
}

#[test]
fn faults_of_a_page_are_found() {
    let Some(browser) = browser() else { return println!("skipped: no Chromium; set CHROMIUM to its path") };
    let page = r#"<!doctype html><body style="background: white">
        <p style="color: #999">too faint</p> <p style="width: 2000px">too wide</p>
        <figure><svg viewBox="0 0 300 200" width="300"><text x="20" y="50">one</text><text x="25" y="50">two</text>
        <text x="290" y="90">cut off here</text></svg></figure>
        <figure><svg viewBox="0 0 300 200" width="20"></svg></figure>
        <script>console.error("wrong")</script>"#;
    let faults = look_at(&browser, page).faults.join("\n");
    for fault in ["too faint", "scrolls sideways", "\"one\" over \"two\"", "is cut off", "picture 1 is 20", "console: "]
    {
        assert!(faults.contains(fault), "{fault} was not seen: {faults}");
    }
}
