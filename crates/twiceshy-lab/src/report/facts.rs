//! Where the data come from: once for all experiments where they agree, and otherwise for each.

use super::number::grouped;
use super::{Report, Section};
use crate::experiment::Origin;
use maud::{Markup, html};
use std::collections::HashMap;

/// A fact about a measurement, and how it is read from an origin.
type Fact = (&'static str, fn(&Origin) -> String);

const FACTS: [Fact; 6] = [
    ("Version", |origin| origin.version.clone()),
    ("Commit", |origin| origin.commit.clone()),
    ("Build", |origin| origin.build.clone()),
    ("Machine", |origin| origin.machine.clone()),
    ("Cores", |origin| if origin.cores == 0 { String::new() } else { origin.cores.to_string() }),
    ("Date", |origin| origin.date.clone()),
];

const UNKNOWN: &str = "not recorded";

/// The value that all sections agree on; `None` if they do not.
fn common(sections: &[Section], of: fn(&Origin) -> String) -> Option<String> {
    let mut values = sections.iter().map(|section| told(section, of));
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// A fact of a section, in words.
fn told(section: &Section, of: fn(&Origin) -> String) -> String {
    section.origin.as_ref().map(of).filter(|value| !value.is_empty()).unwrap_or_else(|| UNKNOWN.into())
}

/// The facts that all experiments share, for the head of a page.
pub(super) fn of_report(report: &Report) -> Markup {
    let shared = FACTS.iter().map(|(name, of)| match common(&report.sections, *of) {
        // Older folders know the version only.
        Some(value) if *name == "Version" && value == UNKNOWN => (*name, report.version.clone()),
        Some(value) => (*name, value),
        None => (*name, "differs: see each experiment".into()),
    });
    let seconds: f64 = report.sections.iter().filter_map(|section| Some(section.origin.as_ref()?.all_seconds())).sum();
    html! {
        dl.facts {
            @for (name, value) in shared { div { dt { (name) } dd { (value) } } }
            div { dt { "Seed" } dd { (report.seed) } }
            div { dt { "Size" } dd { (report.size.as_str()) } }
            div { dt { "Experiments" } dd { (grouped(report.sections.len() as u64)) } }
            @if let Some(time) = duration(seconds).filter(|_| seconds > 0.0) { div { dt { "Time" } dd { (time) } } }
        }
    }
}

/// What holds for one experiment only, in a line.
pub(super) fn of_section(report: &Report, section: &Section) -> Option<String> {
    let differing = FACTS.iter().filter(|(_, of)| common(&report.sections, *of).is_none());
    let mut parts: Vec<String> =
        differing.map(|(name, of)| format!("{} {}", name.to_lowercase(), told(section, *of))).collect();
    let time = section.origin.as_ref().and_then(|origin| duration(origin.all_seconds()));
    parts.extend(time.map(|time| format!("measured in {time}")));
    parts.extend(trials(section));
    let earlier = section.origin.iter().flat_map(|origin| &origin.earlier);
    parts.extend(earlier.map(|it| format!("the first trials at commit {} on {}", it.commit, it.date)));
    let limit = section.origin.as_ref().and_then(|origin| origin.trials);
    parts.extend(
        limit.map(|most| format!("the run was limited to {most} trials, so statements that need more are open")),
    );
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// How many trials the points have.
fn trials(section: &Section) -> Option<String> {
    let mut last: HashMap<String, f64> = HashMap::new();
    for row in section.table.rows() {
        let trial = row.number("trial")?;
        last.entry(row.text("point")).and_modify(|last| *last = last.max(trial)).or_insert(trial);
    }
    let count = |pick: fn(f64, f64) -> f64| last.values().copied().reduce(pick).map(|last| last as u64 + 1);
    let (least, most) = (count(f64::min)?, count(f64::max)?);
    let range = if least == most { grouped(most) } else { format!("{} to {}", grouped(least), grouped(most)) };
    Some(if most == 1 { "1 trial a point".into() } else { format!("{range} trials a point") })
}

fn duration(seconds: f64) -> Option<String> {
    match seconds {
        s if !s.is_finite() || s < 0.0 => None,
        s if s < 120.0 => Some(format!("{s:.1} seconds")),
        s if s < 7200.0 => Some(format!("{:.0} minutes", s / 60.0)),
        s => Some(format!("{:.1} hours", s / 3600.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Table;
    use crate::line;
    use crate::report::page::tests::report;

    #[test]
    fn facts_that_agree_are_told_once_and_others_with_each_experiment() {
        let mut report = report();
        let mut second = report.sections[0].clone();
        if let Some(origin) = &mut second.origin {
            origin.date = "2026-11-19".into();
        }
        let alone = of_report(&report).into_string();
        assert!(alone.contains("A processor of 3 GHz") && alone.contains("2026-11-18"), "{alone}");
        assert_eq!(of_section(&report, &second).as_deref(), Some("measured in 95.0 seconds"));
        report.sections.push(second);
        assert!(!of_report(&report).into_string().contains("2026"));
        let told = of_section(&report, &report.sections[1]);
        assert_eq!(told.as_deref(), Some("date 2026-11-19 · measured in 95.0 seconds"));
    }

    #[test]
    fn what_is_not_recorded_is_said_to_be_so() {
        let mut report = report();
        report.sections[0].origin = None;
        let text = of_report(&report).into_string();
        assert_eq!(text.matches(UNKNOWN).count(), FACTS.len() - 1, "all but the version: {text}");
        assert_eq!(of_section(&report, &report.sections[0]), None);
    }

    #[test]
    fn trials_are_a_range_over_the_points() {
        let mut report = report();
        let mut table = Table::new(["point", "trial"]);
        [("here", 0u32), ("here", 1), ("there", 0)].iter().for_each(|(point, trial)| table.push(line![*point, *trial]));
        report.sections[0].table = table;
        let told = |report: &Report| of_section(report, &report.sections[0]).unwrap_or_default();
        assert!(told(&report).ends_with("1 to 2 trials a point"), "{}", told(&report));
        report.sections[0].table = report.sections[0].table.only("point", "there");
        assert!(told(&report).ends_with("1 trial a point"));
    }

    #[test]
    fn times_are_shown_in_the_unit_that_fits() {
        let told = [0.25, 600.0, 9000.0, f64::NAN].map(duration);
        assert_eq!(told.map(Option::unwrap_or_default), ["0.2 seconds", "10 minutes", "2.5 hours", ""]);
    }
}
