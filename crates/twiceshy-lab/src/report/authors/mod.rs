//! The page about what was found, written for the papers' authors. The words are ours; numbers come from the data
//! of the folder, or are calculated where the page says so. If the folder lacks an experiment, the page says how to measure it.

mod corollary3;
mod differing;
mod lemma13;
mod loads;
mod near_half;
mod remembering;

use super::number::{plain, scientific};
use super::shell::{shell, words};
use super::{Report, Section, facts, findings};
use crate::experiment::{Finding, Size};
use crate::interval;
use maud::{Markup, html};

/// A finding: what the paper says, what was measured, why, and how to see it.
struct Topic {
    /// Its anchor on the page.
    id: &'static str,
    /// What it is about, with its place in the paper.
    heading: &'static str,
    /// What the paper says, in our words.
    paper: Markup,
    /// What the folder's data say.
    measured: Markup,
    /// Why that is so.
    why: Markup,
    /// The commands that show it, each with what it does.
    commands: Vec<(String, &'static str)>,
}

/// The page of findings.
pub fn findings_page(report: &Report) -> String {
    let topics = [
        (Some(lemma13::EXPERIMENT), lemma13::topic(report)),
        (Some(corollary3::EXPERIMENT), corollary3::topic(report)),
        // Calculated.
        (None, near_half::topic()),
        (Some(loads::EXPERIMENT), loads::topic(report)),
        (Some(remembering::EXPERIMENT), remembering::topic(report)),
    ];
    // Those without data in this run come last.
    let is_there = |(name, _): &(Option<&str>, Topic)| name.is_none_or(|name| section(report, name).is_some());
    let (there, absent): (Vec<_>, Vec<_>) = topics.into_iter().partition(is_there);
    let topics: Vec<Topic> = there.into_iter().chain(absent).map(|(_, topic)| topic).collect();
    let body = html! {
        header {
            h1 { "What we found while measuring five papers again" }
            p {
                "For the papers' authors. We implemented the filters of your papers, and then measured what the papers say. Most of it \
                 holds: " a href="./report.html" { "the report" } " has every statement, with its verdict. This page is about the rest: \
                 where a statement does not hold as printed, what we think the reason is, and how to see it. We may be wrong too. \
                 Each finding names the command that shows it, so that you can check."
            }
            p {
                "The numbers under “Measured” are drawn from the data of this run, or calculated where that is said. Intervals in tables are 95 % \
                 intervals over independent trials; those of verdicts are wider. The files that are named, such as " code { "docs/broom.md" }
                ", are in the repository."
            }
            (facts::of_report(report))
            ul.contents {
                @for topic in &topics { li { a href={ "#" (topic.id) } { (topic.heading) } } }
                li { a href="#differing" { (differing::HEADING) } }
            }
        }
        main {
            @for topic in &topics { (section_markup(topic)) }
            (differing::section(report))
        }
    };
    shell("twiceshy: what we found, for the papers' authors", &body)
}

fn section_markup(topic: &Topic) -> Markup {
    html! {
        section id=(topic.id) {
            h2 { (topic.heading) }
            h3 { "The paper" }
            (topic.paper)
            h3 { "Measured" }
            (topic.measured)
            h3 { "Why" }
            (topic.why)
            h3 { "See it" }
            dl.commands { @for (command, what) in &topic.commands { dt { code { (command) } } dd { (words(what)) } } }
        }
    }
}

/// The experiment's section, if the folder has its data.
fn section<'a>(report: &'a Report, name: &str) -> Option<&'a Section> {
    report.sections.iter().find(|section| section.name == name)
}

/// The command that measures an experiment as this run was measured.
fn command(report: &Report, name: &str) -> String {
    let size = match report.size {
        Size::Paper => "",
        Size::Tiny | Size::Quick => " --quick",
    };
    format!("twiceshy lab run {name}{size} --seed {}", report.seed)
}

/// What stands in place of data that the folder does not have.
fn not_measured(report: &Report, name: &str) -> Markup {
    html! { p.missing { "Not measured in this run: " code { (command(report, name)) } } }
}

/// What an experiment's data say, or how to get them.
fn measured(report: &Report, name: &str, told: impl Fn(&Section) -> Markup) -> Markup {
    section(report, name).map_or_else(|| not_measured(report, name), told)
}

/// The findings whose statement satisfies a condition, as a table.
fn chosen(section: &Section, wanted: impl Fn(&str) -> bool) -> Markup {
    let chosen: Vec<Finding> = section.findings.iter().filter(|finding| wanted(&finding.paper)).cloned().collect();
    if chosen.is_empty() {
        return html! { p.missing { "No statement about it was tested in this run." } };
    }
    findings::table(&chosen)
}

/// "1.25 (1.21 to 1.29)": the mean of a sample with its interval.
fn mean(values: &[f64]) -> String {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    match interval::student(values) {
        Some(interval) => within(mean, interval),
        None => shown(mean),
    }
}

/// An estimate with its interval.
fn within(estimate: f64, (low, high): (f64, f64)) -> String {
    format!("{} ({} to {})", shown(estimate), shown(low), shown(high))
}

/// A number with about three digits.
fn shown(number: f64) -> String {
    match number.abs() {
        size if !size.is_finite() => "–".into(),
        0.0 => "0".into(),
        size if size < 1e-3 => scientific(number),
        size => {
            // Rounded first: 0.9999 has the decimals of 1.
            let rounded = format!("{size:.2e}").parse().unwrap_or(size);
            plain(number, (2.0 - rounded.log10().floor()).clamp(0.0, 5.0) as usize)
        }
    }
}

/// A paragraph; text between backquotes is code.
fn paragraph(text: &str) -> Markup {
    html! { p { (words(text)) } }
}

#[cfg(test)]
mod tests;
