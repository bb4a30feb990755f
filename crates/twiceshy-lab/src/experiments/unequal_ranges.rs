//! 003 Figure 4: Cyclic with unequal ranges.

use super::model_fit::fit;
use super::uniform_grid::{self, Kind, Point, rate};
use crate::experiment::{Experiment, Finding, Picture, Setup, Size, Table, Task};

/// A first function with most of the range helps if cells are large.
pub(super) struct UnequalRanges;

const SPLITS: [u32; 3] = [1, 2, 3];

const KINDS: [Kind; 6] = [
    Kind::Plain,
    Kind::Cyclic { s: 2 },
    Kind::Swapping,
    Kind::Unequal { r: 1, s: 2 },
    Kind::Unequal { r: 2, s: 2 },
    Kind::Unequal { r: 3, s: 2 },
];

const WIDTHS: [u32; 3] = [8, 12, 16];

const PER_KEY: u64 = 100;

fn ratios(size: Size) -> &'static [u64] {
    size.pick(&[1, 5, 20, 50, 100], &[1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
}

impl Experiment for UnequalRanges {
    fn name(&self) -> &'static str {
        "unequal-ranges"
    }

    fn claim(&self) -> &'static str {
        "A first fingerprint function with most of the range helps if cells are large"
    }

    fn source(&self) -> &'static str {
        "003, Figure 4"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let cells = size.pick("256 to 8,192 cells, 4 trials", "Up to 131,072 cells, 10 trials");
        vec![
            format!(
                "{cells} at 95 % load (fewer cells if a point would take too many queries), 100 queries per key, s = 2; r = 1, 2, 3 give the first function 1/2, 3/4, 7/8 of the values."
            ),
            "The model is that of section 3.2 with two corrections: the factor inside the printed product belongs \
             outside, and μ_j is ζ divided by the range R_j."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        uniform_grid::COLUMNS
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let mut tasks = Vec::new();
        for bits in WIDTHS {
            for kind in KINDS {
                let points = ratios(setup.size).iter().map(|&ratio| Point { kind, bits, per_key: PER_KEY, ratio });
                tasks.extend(points.filter_map(|point| point.task(setup)));
            }
        }
        tasks
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        uniform_grid::pictures(self.name(), table, &KINDS)
    }

    fn findings(&self, table: &Table, size: Size) -> Vec<Finding> {
        let fit = fit(table, |filter| filter.starts_with("cyclic, r"));
        let below = |bits: u32, ratios: &mut dyn Iterator<Item = u64>, splits: &[u32]| {
            let (mut better, mut all) = (0, 0);
            for ratio in ratios {
                for &r in splits {
                    let own = rate(table, Kind::Unequal { r, s: 2 }, bits, PER_KEY, ratio);
                    let swapping = rate(table, Kind::Swapping, bits, PER_KEY, ratio);
                    if let (Some(own), Some(swapping)) = (own, swapping) {
                        all += 1;
                        better += usize::from(own < swapping);
                    }
                }
            }
            (better, all)
        };
        let all = || ratios(size).iter().copied();
        let wide = below(16, &mut all(), &[2, 3]);
        let narrow = below(8, &mut all(), &SPLITS);
        let middle_small = below(12, &mut all().filter(|ratio| *ratio < 10), &[2, 3]);
        let middle_large = below(12, &mut all().filter(|ratio| *ratio >= 50), &[2, 3]);
        let of = |(better, all): (usize, usize)| format!("{better} of {all}");
        vec![
            fit.finding("section 3.2: the model, corrected"),
            Finding::new(
                "section 4.1: with 16 bits, r = 2, 3 are below Swapping",
                format!("at {} points", of(wide)),
                wide.0 * 4 >= wide.1 * 3,
            )
            .of(wide.1)
            .open_if(size == Size::Quick, "too few false positives with 16 bits in tables this small"),
            Finding::new(
                "section 4.1: with 12 bits there is a gain for A/S below 10 only",
                format!(
                    "r = 2, 3 below Swapping at {} points under 10, at {} from 50 on",
                    of(middle_small),
                    of(middle_large)
                ),
                middle_small.0 * 2 > middle_small.1 && middle_large.0 == 0,
            )
            .open_if(size == Size::Quick, "too few false positives at small A/S in tables this small"),
            Finding::new(
                "section 4.1: with 8 bits there is no benefit",
                format!("below Swapping at {} points", of(narrow)),
                narrow.0 == 0,
            )
            .of(narrow.1),
        ]
    }
}
