//! 004 Figure 2: the FireHose streams at equal memory.

use super::telescoping_on_flows::contenders;
use crate::experiment::{Experiment, Finding, Picture, Setup, Size, Table, Task, contest};
use crate::workload::Workload;

/// On the active set telescoping has the fewest false positives for moderate A/S, and extension has more.
pub(super) struct FireHose;

const BITS: u32 = 11;

/// Name, workload, queries at either size, and the distinct keys among them.
const STREAMS: [(&str, &str, u64, u64, f64); 2] = [
    ("active set", "active-set", 2_000_000, 10_000_000, 180_000.0),
    ("power law", "power-law", 5_000_000, 50_000_000, 90_000.0),
];

fn ratios(size: Size) -> &'static [u64] {
    size.pick(&[2, 5, 10, 20, 40, 80], &[1, 2, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100])
}

impl Experiment for FireHose {
    fn name(&self) -> &'static str {
        "firehose"
    }

    fn claim(&self) -> &'static str {
        "On the active set telescoping has the fewest false positives for moderate A/S, and extension has more"
    }

    fn source(&self) -> &'static str {
        "004, Figure 2"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![
            format!(
                "{} queries of the active-set generator and {} of the power law, as this project reads FireHose's description, with \
                 POW_EXP = −0.5 (the paper says 0.5 and 57 repeats per key in 10 million queries; −0.5 gives 54, 0.5 gives 76); |A| \
                 is what the stream has, and the stored set of other keys is |A| divided by the ratio. Means over {} trials at \
                 95 % load.",
                size.pick("2 million", "10 million"),
                size.pick("5 million", "50 million"),
                size.pick(1, 10)
            ),
            format!(
                "Equal memory: {BITS} bits a cell or slot for every filter, selectors and metadata included; the legend has what \
                 each really used. Broom, Bloom filters and lists of mistakes are not in the paper."
            ),
            contest::LARGER_EXTENSIONS.into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        contest::COLUMNS
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let trials = setup.size.pick(1, 10);
        let mut tasks = Vec::new();
        for (label, workload, quick, paper, distinct) in STREAMS {
            let Ok(workload) = workload.parse::<Workload>() else { continue };
            let queries = setup.size.pick(quick, paper);
            for contender in contenders(BITS) {
                for &ratio in ratios(setup.size) {
                    let filling = distinct / ratio as f64 * 6e-6;
                    let entry = contest::Entry {
                        contender: contender.clone().over_mirror(),
                        cell_bits: BITS,
                        workload: workload.clone(),
                        workload_label: label.to_owned(),
                        ratio: ratio as f64,
                        cells: None,
                        per_key: None,
                        queries: Some(queries),
                        trials,
                        work: f64::from(trials) * (filling + queries as f64 * 1.5e-7),
                    };
                    tasks.push(entry.task(setup));
                }
            }
        }
        tasks
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        contest::pictures(self.name(), table, contenders)
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        vec![
            lowest_at(table, "active set", 20.0),
            lowest_at(table, "active set", 10.0).because(
                "cells of 11 bits without selectors have half the first-time rate of remainders of 8, and at this A/S Cuckooing \
                 still fixes most of its mistakes permanently: telescoping overtakes it between 10 and 20",
            ),
            degrades(table),
            extension_is_worse(table, "active set", &[20.0, 40.0]),
            extension_is_worse(table, "power law", &[40.0, 80.0]),
            lowest_at(table, "power law", 20.0).because(
                "if the same keys are asked many times, the first mistake counts most, and cells of 11 bits without selectors \
                 make half as many as remainders of 8 bits",
            ),
            after_twenty(table),
        ]
    }
}

const OTHERS: [&str; 6] = ["extension", "cuckooing", "cyclic, s = 1", "cyclic, s = 2", "cyclic, s = 3", "swapping"];

fn rate(table: &Table, stream: &str, filter: &str, ratio: f64) -> f64 {
    contest::rate(table, stream, BITS, filter, ratio).unwrap_or(f64::NAN)
}

fn lowest_at(table: &Table, stream: &str, ratio: f64) -> Finding {
    let others = OTHERS.map(|filter| (filter, rate(table, stream, filter, ratio)));
    let (filter, best) = others.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("", f64::NAN));
    let own = rate(table, stream, "telescoping", ratio);
    Finding::new(
        format!("section 6.1, {stream}: TAF is the best for moderate A/S; here {ratio}"),
        format!("telescoping {own:.2e}, the best of the others is {filter} with {best:.2e}"),
        own <= best,
    )
}

fn degrades(table: &Table) -> Finding {
    let [at, past] = [20.0, 80.0].map(|ratio| rate(table, "active set", "telescoping", ratio));
    let [plain_at, plain_past] = [20.0, 80.0].map(|ratio| rate(table, "active set", "cuckoo, plain", ratio));
    Finding::new(
        "section 6.1: above A/S about 20 rebuilds become frequent and TAF degrades",
        format!("{at:.2e} at A/S 20, {past:.2e} at 80; the plain cuckoo filter {plain_at:.2e} and {plain_past:.2e}"),
        past > 2.0 * at,
    )
}

/// 004 on the rates after the blocks overflow.
fn after_twenty(table: &Table) -> Finding {
    let own = rate(table, "active set", "telescoping", 80.0);
    let [second, swapping, plain] =
        ["cyclic, s = 2", "swapping", "cuckoo, plain"].map(|filter| rate(table, "active set", filter, 80.0));
    Finding::new(
        "section 6.1: past A/S 20 TAF is similar to Cyclic with s = 2, and second to Swapping",
        format!("at A/S 80: telescoping {own:.2e}, s = 2 {second:.2e}, Swapping {swapping:.2e}, plain cuckoo {plain:.2e}"),
        own < 1.5 * second && own >= swapping,
    )
    .because(
        "most blocks have been reset by then (see the column resets), and a filter whose 8-bit remainders no longer learn \
         has twice the rate of a plain one of 11 bits",
    )
}

fn extension_is_worse(table: &Table, stream: &str, ratios: &[f64]) -> Finding {
    let over = |ratio: &f64| rate(table, stream, "extension", *ratio) / rate(table, stream, "telescoping", *ratio);
    let said = |ratio: &f64| format!("{:.1} at A/S {ratio}", over(ratio));
    Finding::new(
        format!("section 6.1, {stream}: exAF performs substantially worse than TAF"),
        format!(
            "extension's rate over telescoping's: {}; its blocks hold more here than in the paper",
            ratios.iter().map(said).collect::<Vec<_>>().join(", ")
        ),
        ratios.iter().all(|ratio| over(ratio) > 1.2),
    )
}
