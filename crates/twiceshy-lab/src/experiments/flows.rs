//! The three network traces of the experiments, as synthetic flows.

use crate::experiment::{Contender, Setup, Size, Task, contest};
use crate::workload::Workload;

/// Name, workload, the divisor of its flows and packets at the quick size, and its packets in millions.
const TRACES: [(&str, &str, u64, f64); 3] = [
    ("synthetic flows like Chicago A", "flows:chicago-a", 40, 18.5),
    ("synthetic flows like Chicago B", "flows:chicago-b", 40, 14.6),
    ("synthetic flows like San Jose", "flows:san-jose", 130, 37.4),
];

/// The text about flows for every experiment on them.
pub(super) fn method(size: Size, trials: u32) -> Vec<String> {
    vec![
        format!(
            "The CAIDA captures of 2014 may not be redistributed, so the packets here are SYNTHETIC: as many flows and packets as \
             published for each of the three, and for the first the published sizes of its largest flow and its largest \
             thousand (003 section 4.2). Flows begin in random order, evenly over the time, and send the rest of their packets at \
             random times after that. {} The first flows of the stream are stored, with the number chosen to \
             give A/S; every packet of another flow is a query; means over {trials} trials (000 has ten) at 95 % load.",
            size.pick("Flows and packets are divided by 40, those of San Jose by 130.", "In full size.")
        ),
        "Real flows also come in bursts and end early, about which nothing is published. `twiceshy replay --workload trace:FILE` takes \
         a real capture."
            .into(),
    ]
}

/// The label of a trace.
pub(super) fn label(trace: usize) -> &'static str {
    TRACES[trace].0
}

pub(super) const COUNT: usize = TRACES.len();

/// Entries of one width: every contender at every ratio over some of the traces.
pub(super) fn tasks(
    setup: &Setup,
    traces: std::ops::Range<usize>,
    cell_bits: u32,
    contenders: &[Contender],
    ratios: &[u64],
    trials: u32,
) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (label, workload, scale, packets) in &TRACES[traces] {
        let scale = setup.size.pick(*scale, 1);
        let scaled = format!("{workload}/{scale}");
        // The names are from this file, and a test parses every one of them.
        let Ok(workload) = scaled.parse::<Workload>() else { continue };
        for contender in contenders {
            for &ratio in ratios {
                let packets = packets * 1e6 / scale as f64;
                let entry = contest::Entry {
                    contender: contender.clone().over_mirror(),
                    cell_bits,
                    workload: workload.clone(),
                    workload_label: (*label).to_owned(),
                    ratio: ratio as f64,
                    cells: None,
                    per_key: None,
                    queries: None,
                    trials,
                    work: packets * f64::from(trials) * 3e-7,
                };
                tasks.push(entry.task(setup));
            }
        }
    }
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trace_is_a_valid_workload() {
        for size in [Size::Quick, Size::Paper] {
            let setup = Setup::new(size, 1);
            assert_eq!(tasks(&setup, 0..COUNT, 8, &[Contender::cuckoo(8)], &[1, 2], 1).len(), 6);
        }
    }
}
