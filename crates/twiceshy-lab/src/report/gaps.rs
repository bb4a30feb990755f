//! What was left out: experiments without data, points without trials, values that no line of a picture has.

use super::Absent;
use crate::experiment::{Experiment, Folder, Kind, Picture, Setup, Table};

/// How many names are told before the rest is counted.
const TOLD: usize = 8;

/// An experiment that a folder has no data of, and why.
pub(super) fn absent(folder: &Folder, experiment: &dyn Experiment) -> Absent {
    let begun = folder.path().join("unfinished").join(experiment.name()).with_extension("jsonl").exists();
    let setup = Setup::new(folder.facts().size, folder.facts().seed);
    let why = if begun {
        "begun, but not complete: the same `twiceshy lab run` goes on with it"
    } else if experiment.points(&setup).is_empty() {
        "needs recorded traces, which are not part of the project: name their folder with `--data`"
    } else {
        "not run"
    };
    Absent {
        name: experiment.name().into(),
        measures: experiment.measures().into(),
        source: experiment.source().into(),
        why: why.into(),
    }
}

/// What of an experiment was not measured, in sentences.
pub(super) fn of_table(experiment: &dyn Experiment, setup: &Setup, table: &Table) -> Vec<String> {
    let measured: Vec<String> = table.values("point").iter().map(ToString::to_string).collect();
    let planned = experiment.points(setup);
    let missing = planned.iter().map(|point| &point.name).filter(|name| !measured.contains(name));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    let sentence = |names: String| format!("Planned, but without data: {names}.");
    (!missing.is_empty()).then(|| sentence(listed(&missing))).into_iter().collect()
}

/// The values of x that most measured lines of a picture have and others lack, in a sentence.
pub(super) fn of_picture(picture: &Picture) -> Option<String> {
    let measured = || picture.lines.iter().filter(|line| line.kind == Kind::Measured && !line.points.is_empty());
    // What is allocated differs in the last digits from filter to filter.
    let near = |one: f64, other: f64| (one - other).abs() <= 0.01 * one.abs();
    let has = |line: &crate::experiment::Curve, x: f64| line.points.iter().any(|point| near(point.0, x));
    let mut all: Vec<f64> = measured().flat_map(|line| line.points.iter().map(|point| point.0)).collect();
    all.sort_by(f64::total_cmp);
    all.dedup_by(|one, other| near(*one, *other));
    all.retain(|x| 2 * measured().filter(|line| has(line, *x)).count() > measured().count());
    let lacking = measured().filter_map(|line| {
        let missing: Vec<String> = all.iter().filter(|x| !has(line, **x)).map(ToString::to_string).collect();
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        (!missing.is_empty()).then(|| format!("{} at {}", line.label, listed(&missing)))
    });
    let lacking: Vec<String> = lacking.collect();
    (!lacking.is_empty()).then(|| format!("Not measured: {}.", lacking.join("; ")))
}

/// The first names, and how many there are besides.
fn listed(names: &[&str]) -> String {
    match names.len().checked_sub(TOLD) {
        None | Some(0) => names.join(", "),
        Some(rest) => format!("{} and {rest} more", names[..TOLD].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Axis, Curve, Size};
    use crate::experiments::ALL;

    #[test]
    fn a_line_that_ends_early_is_told_and_a_line_that_goes_further_is_not() {
        let line = |label: &str, ratios: &[f64]| {
            Curve::measured(label, 0, ratios.iter().map(|x| (*x, 0.1)).collect::<Vec<_>>())
        };
        let lines = vec![line("a", &[1.0, 5.0]), line("b", &[1.0, 5.0, 9.0]), line("c", &[1.0])];
        let axis = || Axis::log("");
        let picture = Picture { name: String::new(), title: String::new(), x: axis(), y: axis(), lines };
        assert_eq!(of_picture(&picture).as_deref(), Some("Not measured: c at 5."));
        let allocated = vec![line("a", &[4.21, 5.26]), line("b", &[4.22, 5.27]), line("c", &[5.27])];
        let told = of_picture(&Picture { lines: allocated, ..picture });
        assert_eq!(told.as_deref(), Some("Not measured: c at 4.21."));
    }

    #[test]
    fn points_without_a_line_are_named() {
        let experiment = ALL[0];
        let setup = Setup::new(Size::Tiny, 1);
        let planned = experiment.points(&setup);
        let empty = Table::new(["point"]);
        let told = of_table(experiment, &setup, &empty).concat();
        assert!(told.contains(&planned[0].name) && told.starts_with("Planned, but"), "{told}");
        let mut full = Table::new(["point"]);
        planned.iter().for_each(|point| full.push(crate::line![point.name.as_str()]));
        assert!(of_table(experiment, &setup, &full).is_empty());
    }
}
