//! 003 Figures 5 to 7: adaptive cuckoo filters on network traces.

use super::flows::{self, COUNT, label};
use crate::experiment::{Contender, Experiment, Finding, Picture, Setup, Size, Table, Task, contest};

/// On skewed flows adaptive cuckoo filters have fewer false positives than the plain one at every A/S.
pub(super) struct AdaptingOnFlows;

fn contenders(bits: u32) -> Vec<Contender> {
    let mut all = vec![Contender::cuckoo(bits)];
    all.extend((1..=3).map(|s| Contender::cyclic(bits, s)));
    all.push(Contender::swapping(bits));
    all
}

fn widths(size: Size) -> &'static [u32] {
    size.pick(&[8, 12], &[8, 12, 16])
}

fn ratios(size: Size) -> &'static [u64] {
    size.pick(&[1, 5, 10, 30, 100], &[1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
}

impl Experiment for AdaptingOnFlows {
    fn name(&self) -> &'static str {
        "adapting-on-flows"
    }

    fn claim(&self) -> &'static str {
        "On skewed flows adaptive cuckoo filters have fewer false positives than the plain one at every A/S"
    }

    fn source(&self) -> &'static str {
        "003, Figures 5 to 7"
    }

    fn method(&self, size: Size) -> Vec<String> {
        flows::method(size, size.pick(2, 3))
    }

    fn columns(&self) -> &'static [&'static str] {
        contest::COLUMNS
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let trials = setup.size.pick(2, 3);
        let of_width =
            |bits: &u32| flows::tasks(setup, 0..COUNT, *bits, &contenders(*bits), ratios(setup.size), trials);
        widths(setup.size).iter().flat_map(of_width).collect()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        contest::pictures(self.name(), table, contenders)
    }

    fn findings(&self, table: &Table, size: Size) -> Vec<Finding> {
        widths(size).iter().flat_map(|&bits| [below_plain(table, bits, size), best_two(table, bits, size)]).collect()
    }
}

fn below_plain(table: &Table, bits: u32, size: Size) -> Finding {
    let (mut below, mut all, mut worst) = (0, 0, (0.0, String::new()));
    for trace in 0..COUNT {
        for &ratio in ratios(size) {
            let rate = |filter: &str| contest::rate(table, label(trace), bits, filter, ratio as f64);
            let Some(plain) = rate("cuckoo, plain").filter(|rate| *rate > 0.0) else { continue };
            for filter in ["cyclic, s = 1", "swapping"] {
                let Some(own) = rate(filter) else { continue };
                all += 1;
                below += usize::from(own < plain);
                if own / plain > worst.0 {
                    worst = (own / plain, format!("{filter}, {}, A/S {ratio}", label(trace)));
                }
            }
        }
    }
    Finding::new(
        format!("section 4.2, {bits} bits: s = 1 and Swapping clearly outperform the cuckoo filter for all A/S"),
        format!("below it at {below} of {all} points; at worst {:.2} times it ({})", worst.0, worst.1),
        below == all,
    )
    .because("a few flows have most of the packets, so one flow can decide a point: one that the plain filter happens to be right about, or one that collides with a key under every function. Section 4.2 sees that variability only in the plain filter; here a large flow that collides under all functions affects an adaptive one too")
    .of(all)
}

fn best_two(table: &Table, bits: u32, size: Size) -> Finding {
    let (mut best, mut all) = (0, 0);
    for trace in 0..COUNT {
        for &ratio in ratios(size) {
            let rate =
                |filter: &str| contest::rate(table, label(trace), bits, filter, ratio as f64).unwrap_or(f64::NAN);
            let better = rate("cyclic, s = 1").min(rate("swapping"));
            all += 1;
            best += usize::from(better <= rate("cyclic, s = 2").min(rate("cyclic, s = 3")));
        }
    }
    Finding::new(
        format!("section 4.2, {bits} bits: the best ACFs are s = 1 and Swapping"),
        format!("one of them is lowest at {best} of {all} points"),
        best * 10 >= all * 8,
    )
    .because("more selector bits help if a bucket meets many flows, since in a shuffled stream no flow ends early")
}
