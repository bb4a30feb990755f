//! The three network traces of the experiments, as synthetic flows.

use crate::experiment::contest::{At, Contest};
use crate::experiment::{Budget, Contender, Point, Setup, Size};
use crate::replay::Memory;
use crate::workload::Workload;

/// A trace: its name, its workload, and its flows and packets.
struct Trace {
    label: &'static str,
    workload: &'static str,
    flows: f64,
    packets: f64,
}

const TRACES: [Trace; 3] = [
    Trace { label: "synthetic flows like Chicago A", workload: "flows:chicago-a", flows: 691_371.0, packets: 18.5e6 },
    Trace { label: "synthetic flows like Chicago B", workload: "flows:chicago-b", flows: 632_543.0, packets: 14.6e6 },
    Trace { label: "synthetic flows like San Jose", workload: "flows:san-jose", flows: 2_313_092.0, packets: 37.4e6 },
];

/// The text about flows for every experiment on them.
pub(super) fn method(size: Size, scaled: &str) -> Vec<String> {
    vec![
        format!(
            "The CAIDA captures of 2014 may not be redistributed, so the packets here are SYNTHETIC: as many flows and packets as \
             published for each of the three, and for the first the published sizes of its largest flow and its largest \
             thousand (003 section 4.2). Flows begin in random order, evenly over the time, and send the rest of their packets at \
             random times after that. {} The first flows of the stream are stored, with the number chosen to \
             give A/S; every packet of another flow is a query. Each trial has other flows and hash keys, the same for all \
             filters.",
            size.pick(scaled, "In full size.")
        ),
        "A few flows have most of the packets, so the mean over trials says little: pictures show the median trial, and statements are \
         about it, or, if fewer than 22 trials were planned, about the geometric mean. Real flows also come in bursts and end early, about \
         which nothing is published. \
         `twiceshy replay --workload trace:FILE` takes a real capture."
            .into(),
    ]
}

/// How many trials: medians say nothing with fewer than 22. In the papers' size ten, as in the papers, and more where a
/// statement is open.
pub(super) fn budget(size: Size) -> Budget {
    size.of(Budget { first: 24, most: 48 }, Budget { first: 24, most: 96 }, Budget { first: 10, most: 40 })
}

/// How the flows are scaled down.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scale {
    /// Flows and packets are divided by this.
    Divided(u64),
    /// The flows are as many as it takes to store this many keys.
    Storing(u64),
}

/// Filters over some of the traces at some ratios.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// The numbers of the traces.
    pub(super) traces: Vec<usize>,
    /// The filters, each with its width.
    pub(super) contenders: Vec<(u32, Contender)>,
    pub(super) ratios: Vec<u64>,
    pub(super) memory: Memory,
    pub(super) scale: Scale,
    pub(super) champions: &'static [&'static str],
}

impl Grid {
    pub(super) fn points(&self, setup: &Setup) -> Vec<Point> {
        let traces = self.traces.iter().flat_map(|trace| self.ratios.iter().map(|ratio| (&TRACES[*trace], *ratio)));
        traces.filter_map(|(trace, ratio)| Some(self.contest(trace, ratio)?.point(setup))).collect()
    }

    fn contest(&self, trace: &Trace, ratio: u64) -> Option<Contest> {
        let scale = match self.scale {
            Scale::Divided(scale) => scale,
            Scale::Storing(keys) => (trace.flows / ((1 + ratio) * keys) as f64) as u64,
        };
        // The names are from this file, and a test parses every one of them.
        let workload: Workload = format!("{}/{}", trace.workload, scale.max(1)).parse().ok()?;
        let packets = trace.packets / scale.max(1) as f64;
        Some(Contest {
            contenders: self.contenders.clone(),
            memory: self.memory,
            workload,
            workload_label: trace.label.to_owned(),
            ratio: ratio as f64,
            queries: None,
            champions: self.champions,
            work: packets * (2e-8 + 1.5e-8 * self.contenders.len() as f64)
                + trace.flows / scale.max(1) as f64 * self.contenders.len() as f64 * 1.2e-6 / (1 + ratio) as f64,
        })
    }

    /// Where filters of a width are compared.
    pub(super) fn places(&self, cell_bits: u32) -> Vec<At<'static>> {
        let at = |trace: &usize, ratio: &u64| At { workload: TRACES[*trace].label, cell_bits, ratio: *ratio };
        self.traces.iter().flat_map(|trace| self.ratios.iter().map(move |ratio| at(trace, ratio))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trace_is_a_valid_workload_at_every_scale() {
        for scale in [Scale::Divided(1), Scale::Divided(200), Scale::Storing(4_000), Scale::Storing(4_000_000)] {
            let grid = Grid {
                traces: vec![0, 1, 2],
                contenders: vec![(8, Contender::cuckoo(8))],
                ratios: vec![1, 2],
                memory: Memory::Load(0.95),
                scale,
                champions: &[],
            };
            assert_eq!(grid.points(&Setup::new(Size::Quick, 1)).len(), 6);
            assert_eq!(grid.places(8).len(), 6);
        }
    }
}
