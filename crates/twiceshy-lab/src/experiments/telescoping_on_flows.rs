//! 004 Figures 3 and 4, left: telescoping and extension on network traces, at equal memory.

use super::flows::{self, COUNT, label};
use crate::experiment::{Contender, Experiment, Finding, Picture, Setup, Size, Table, Task, contest};

/// On flows at equal memory the rate is that of first-time queries, and Cuckooing's is lowest.
pub(super) struct TelescopingOnFlows;

const BITS: u32 = 11;

/// The paper's filters, and some that it leaves out.
pub(super) fn contenders(bits: u32) -> Vec<Contender> {
    let mut all = vec![Contender::telescoping(bits), Contender::extension(bits), Contender::cuckooing(bits)];
    all.extend((1..=3).map(|s| Contender::cyclic(bits, s)));
    all.extend([
        Contender::swapping(bits),
        Contender::broom(bits),
        Contender::cuckoo(bits),
        Contender::quotient(bits),
        Contender::bloom(bits),
        Contender::blocked_bloom(bits),
        Contender::cached(bits),
        Contender::listed(bits),
    ]);
    all
}

fn ratios(size: Size) -> &'static [u64] {
    size.pick(&[1, 5, 20, 50, 100], &[1, 3, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
}

impl Experiment for TelescopingOnFlows {
    fn name(&self) -> &'static str {
        "telescoping-on-flows"
    }

    fn claim(&self) -> &'static str {
        "On flows at equal memory all adaptive filters are near their first-time rate, and Cuckooing's is lowest"
    }

    fn source(&self) -> &'static str {
        "004, Figures 3 and 4 left"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let mut method = flows::method(size, size.pick(2, 3));
        method.push(format!(
            "Equal memory: {BITS} bits a cell or slot for every filter, selectors and metadata included (telescoping and extension \
             have 8-bit remainders). The broom filter, which the paper does not measure, has 5-bit remainders. Rivals in the same \
             memory: Bloom filters of two kinds; a plain cuckoo filter of {} bits with a list of its latest mistakes; a Bloom \
             filter that lists all its mistakes (001 Lemma 28), whose memory grows.",
            BITS - 1
        ));
        method.push(contest::LARGER_EXTENSIONS.into());
        method
    }

    fn columns(&self) -> &'static [&'static str] {
        contest::COLUMNS
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        flows::tasks(setup, 0..COUNT, BITS, &contenders(BITS), ratios(setup.size), setup.size.pick(2, 3))
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        contest::pictures(self.name(), table, contenders)
    }

    fn findings(&self, table: &Table, size: Size) -> Vec<Finding> {
        vec![cuckooing_wins(table), like_each_other(table), beside_a_cache(table, size)]
    }
}

fn cuckooing_wins(table: &Table) -> Finding {
    let (mut lowest, mut all) = (0, 0);
    for trace in 0..COUNT {
        for ratio in [1.0, 5.0] {
            let rate = |filter: &str| contest::rate(table, label(trace), BITS, filter, ratio).unwrap_or(f64::NAN);
            let others = ["telescoping", "extension", "cyclic, s = 1", "cyclic, s = 2", "cyclic, s = 3", "swapping"];
            all += 1;
            lowest += usize::from(rate("cuckooing") <= others.map(rate).into_iter().fold(f64::INFINITY, f64::min));
        }
    }
    Finding::new(
        "section 6.1: on traces Cuckooing has the advantage, since it uses no bits for adapting",
        format!("lowest of the paper's filters at {lowest} of {all} points with A/S 1 and 5"),
        lowest == all,
    )
    .because("with so few false positives, chance decides between filters of nearly the same first-time rate")
}

fn like_each_other(table: &Table) -> Finding {
    let mut ratios = Vec::new();
    for trace in 0..COUNT {
        let rate = |filter: &str| contest::rate(table, label(trace), BITS, filter, 5.0).unwrap_or(f64::NAN);
        let peers = (rate("swapping") + rate("cyclic, s = 1")) / 2.0;
        ratios.extend(["telescoping", "extension"].map(|filter| rate(filter) / peers));
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
    Finding::new(
        "section 6.1: TAF and exAF perform similarly to Swapping and s = 1 on traces",
        format!("{mean:.2} times the mean of those two at A/S 5"),
        (0.4..2.5).contains(&mean),
    )
}

fn beside_a_cache(table: &Table, size: Size) -> Finding {
    let mut worse = Vec::new();
    for trace in 0..COUNT {
        for &ratio in ratios(size) {
            let rate = |filter: &str| contest::rate(table, label(trace), BITS, filter, ratio as f64);
            worse.extend(rate("cuckoo with cache").zip(rate("telescoping")).map(|(cache, own)| cache / own.max(1e-12)));
        }
    }
    let (below, all) = (worse.iter().filter(|ratio| **ratio < 1.0).count(), worse.len());
    Finding::open(
        "No paper compares with a list of recent mistakes in the same memory",
        format!(
            "a plain filter with such a list has fewer false positives than telescoping at {below} of {all} points"
        ),
        "not a claim of a paper, but a rival that they leave out",
    )
}
