//! 003 Figures 1 to 3: adaptive cuckoo filters under uniformly repeated queries.

use super::model_fit::fit;
use super::uniform_grid::{self, Kind, Point, rate};
use crate::experiment::{Experiment, Finding, Picture, Setup, Size, Table, Task};

/// Adaptive cuckoo filters have lower rates the more queries are repeated, as their models predict.
pub(super) struct UniformQueries;

const KINDS: [Kind; 5] =
    [Kind::Plain, Kind::Cyclic { s: 1 }, Kind::Cyclic { s: 2 }, Kind::Cyclic { s: 3 }, Kind::Swapping];

const WIDTHS: [u32; 3] = [8, 12, 16];

const PER_KEY: [u64; 3] = [10, 100, 1000];

fn ratios(size: Size) -> &'static [u64] {
    size.pick(&[1, 5, 20, 50, 100], &[1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
}

impl Experiment for UniformQueries {
    fn name(&self) -> &'static str {
        "uniform-queries"
    }

    fn claim(&self) -> &'static str {
        "Adaptive cuckoo filters have lower rates the more queries are repeated, as their models predict"
    }

    fn source(&self) -> &'static str {
        "003, Figures 1 to 3"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let cells = size.pick("256 to 8,192 cells, 4 trials", "Up to 131,072 cells, 10 trials");
        vec![
            format!(
                "{cells} at 95 % load; absent keys are asked for with equal probability, 10, 100 or 1,000 times each on average, and \
                 the filter adapts to every false positive. If a point would take more queries than {}, its table is smaller; \
                 if that is too small to mean anything, the point is left out.",
                size.pick("3 million", "2,000 million, or 100 million with 8 bits")
            ),
            "If mistakes are rare, the queries between two of them are skipped by their exact law (geometric), so that each \
             look-up that matters is real. Models: section 3.1 with finitely many queries and binomial collisions for Cyclic, \
             section 3.3 by sampling for Swapping."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        uniform_grid::COLUMNS
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let mut tasks = Vec::new();
        for bits in WIDTHS {
            for per_key in PER_KEY {
                for kind in KINDS {
                    let points = ratios(setup.size).iter().map(|&ratio| Point { kind, bits, per_key, ratio });
                    tasks.extend(points.filter_map(|point| point.task(setup)));
                }
            }
        }
        tasks
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        uniform_grid::pictures(self.name(), table, &KINDS)
    }

    fn findings(&self, table: &Table, size: Size) -> Vec<Finding> {
        let ratios = ratios(size);
        vec![
            fit(table, |filter| filter.starts_with("cyclic"))
                .finding("section 4.1: the error of the estimates is in most cases well below 5 % (Cyclic)"),
            fit(table, |filter| filter == "swapping").finding("section 4.1: the same for Swapping, by sampling"),
            wins_at(table, 12, ratios),
            wins_at(table, 16, ratios),
            loses_when_many(table, ratios),
            swapping_is_better(table, ratios),
            repeats_help(table, ratios),
            single_mistakes(table),
        ]
    }
}

const ADAPTIVE: [Kind; 4] = [Kind::Cyclic { s: 1 }, Kind::Cyclic { s: 2 }, Kind::Cyclic { s: 3 }, Kind::Swapping];

/// Every measured point of the grid as (adaptive rate, plain rate).
fn pairs(table: &Table, bits: u32, ratios: &[u64]) -> Vec<(f64, f64, u64)> {
    let mut pairs = Vec::new();
    for kind in ADAPTIVE {
        for per_key in PER_KEY {
            for &ratio in ratios {
                let own = rate(table, kind, bits, per_key, ratio);
                let plain = rate(table, Kind::Plain, bits, per_key, ratio);
                pairs.extend(own.zip(plain).map(|(own, plain)| (own, plain, ratio)));
            }
        }
    }
    pairs
}

fn wins_at(table: &Table, bits: u32, ratios: &[u64]) -> Finding {
    // A plain filter of a small table may have no false positives at all.
    let pairs: Vec<_> = pairs(table, bits, ratios).into_iter().filter(|(_, plain, _)| *plain > 0.0).collect();
    let above: Vec<String> = pairs
        .iter()
        .filter(|(own, plain, _)| own >= plain)
        .map(|(own, plain, ratio)| format!("A/S {ratio}: {own:.2e} against {plain:.2e}"))
        .collect();
    let worse = above.len();
    Finding::new(
        format!("section 4.1: with {bits} bits the ACFs outperform the cuckoo filter for all A/S"),
        format!("below the plain filter at {} of {} points; above it at {}", pairs.len() - worse, pairs.len(), above.join("; ")),
        worse == 0,
    )
    .because("selector bits cost fingerprint bits: if many keys share a bucket and few of their queries are repeats, this adds more collisions than learning removes")
    .of(pairs.len())
}

fn loses_when_many(table: &Table, ratios: &[u64]) -> Finding {
    let pairs = pairs(table, 8, ratios);
    let small = pairs.iter().filter(|(_, _, ratio)| *ratio <= 1);
    let large = pairs.iter().filter(|(_, _, ratio)| *ratio >= 50);
    let share = |pairs: &mut dyn Iterator<Item = &(f64, f64, u64)>| {
        let all: Vec<bool> = pairs.map(|(own, plain, _)| own < plain).collect();
        (all.iter().filter(|below| **below).count(), all.len())
    };
    let (small, large) = (share(&mut small.into_iter()), share(&mut large.into_iter()));
    Finding::new(
        "section 4.1: with 8 bits an ACF has the lower rate only when A/S is small",
        format!(
            "below the plain filter at {} of {} points with A/S 1, at {} of {} with 50 and more",
            small.0, small.1, large.0, large.1
        ),
        small.0 * 2 > small.1 && large.0 == 0,
    )
}

/// The false positives of Swapping at a point.
fn seen(table: &Table, bits: u32, per_key: u64, ratio: u64) -> f64 {
    let own = table.only("filter", "swapping").only("cell_bits", bits).only("per_key", per_key);
    own.only("ratio", ratio).first("false_positives").unwrap_or(0.0)
}

fn swapping_is_better(table: &Table, ratios: &[u64]) -> Finding {
    let (mut better, mut all) = (0, 0);
    for bits in WIDTHS {
        for per_key in PER_KEY {
            for &ratio in ratios {
                let Some(swapping) = rate(table, Kind::Swapping, bits, per_key, ratio) else { continue };
                if seen(table, bits, per_key, ratio) < 100.0 {
                    continue;
                }
                let cyclic = ADAPTIVE[..3].iter().filter_map(|kind| rate(table, *kind, bits, per_key, ratio));
                let Some(best) = cyclic.reduce(f64::min) else { continue };
                all += 1;
                better += usize::from(swapping <= best);
            }
        }
    }
    Finding::new(
        "section 4.1: the second variant (Swapping) is better than the first in almost all cases",
        format!("not above the best Cyclic at {better} of {all} points with a hundred false positives or more"),
        better * 4 >= all * 3,
    )
    .of(all)
}

fn repeats_help(table: &Table, ratios: &[u64]) -> Finding {
    let (mut better, mut all) = (0, 0);
    for kind in ADAPTIVE {
        for &ratio in ratios {
            let [few, many] = [10, 100].map(|per_key| rate(table, kind, 12, per_key, ratio));
            if let (Some(few), Some(many)) = (few, many) {
                all += 1;
                better += usize::from(many < few);
            }
        }
    }
    Finding::new(
        "section 4.1: the performance improves when the number of queries a key increases",
        format!("12 bits: lower with 100 queries a key than with 10 at {better} of {all} points"),
        better == all,
    )
    .of(all)
}

/// If a key meets at most one stored key, Swapping is wrong about it once, and the plain filter every time.
fn single_mistakes(table: &Table) -> Finding {
    let gain = |ratio: u64| {
        let [swapping, plain] =
            [Kind::Swapping, Kind::Plain].map(|kind| rate(table, kind, 16, 100, ratio).filter(|rate| *rate > 0.0));
        swapping.zip(plain).map(|(swapping, plain)| plain / swapping)
    };
    let gains: Vec<f64> = [20, 50, 100].into_iter().filter_map(gain).collect();
    let mean = gains.iter().sum::<f64>() / gains.len().max(1) as f64;
    Finding::new(
        "section 4.1: the gain of Swapping is about n_e/2 if A/S times the plain rate is far below 1",
        format!("16 bits, 100 queries a key, A/S 20 to 100: {mean:.0} times, where 50 is n_e/2"),
        (35.0..65.0).contains(&mean),
    )
    .open_if(
        gains.len() < 3 || table.only("cell_bits", 16u32).first("cells").is_none_or(|cells| cells < 100_000.0),
        "too few false positives in tables this small",
    )
}
