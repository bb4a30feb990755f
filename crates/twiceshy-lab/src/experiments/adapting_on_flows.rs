//! 003 Figures 5 to 7: adaptive cuckoo filters on network traces.

use super::flows::{self, Grid, Scale};
use crate::experiment::{Budget, Contender, Experiment, Picture, Point, Setup, Size, Statement, Table, contest};
use crate::replay::Memory;

/// On skewed flows adaptive cuckoo filters have fewer false positives than the plain one at every A/S.
pub(super) struct AdaptingOnFlows;

const PLAIN: &str = "cuckoo, plain";

/// The best configurations, as 003 says.
const BEST: [&str; 2] = ["cyclic, s = 1", "swapping"];

fn contenders(bits: u32) -> Vec<Contender> {
    let mut all = vec![Contender::cuckoo(bits)];
    all.extend((1..=3).map(|s| Contender::cyclic(bits, s)));
    all.push(Contender::swapping(bits));
    all
}

fn widths(size: Size) -> &'static [u32] {
    size.of(&[8], &[8, 12], &[8, 12, 16])
}

fn grid(size: Size) -> Grid {
    Grid {
        traces: size.of(vec![0], vec![0], vec![0, 1, 2]),
        contenders: widths(size).iter().flat_map(|bits| contest::of_width(*bits, contenders(*bits))).collect(),
        ratios: size.of(vec![10], vec![1, 10, 100], vec![1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]),
        memory: Memory::Load(0.95),
        scale: Scale::Divided(size.of(150, 40, 1)),
        champions: &BEST,
    }
}

impl Experiment for AdaptingOnFlows {
    fn name(&self) -> &'static str {
        "adapting-on-flows"
    }

    fn claim(&self) -> &'static str {
        "On skewed flows adaptive cuckoo filters have fewer false positives than the plain one at every A/S"
    }

    fn measures(&self) -> &'static str {
        "False-positive rates of adaptive cuckoo filters on synthetic flows, over A/S"
    }

    fn source(&self) -> &'static str {
        "003, Figures 5 to 7"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let mut method = flows::method(size, "Flows and packets are divided by 40; only the first trace.");
        method.push(
            "As in the paper, all filters have cells of the same width, selectors included, at 95 % load.".into(),
        );
        method
    }

    fn columns(&self) -> &'static [&'static str] {
        contest::COLUMNS
    }

    fn budget(&self, size: Size) -> Budget {
        flows::budget(size)
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        grid(setup.size).points(setup)
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        contest::pictures(self.name(), table, contenders)
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        widths(size).iter().flat_map(|bits| [below_plain(table, size, *bits), best_two(table, size, *bits)]).collect()
    }
}

fn below_plain(table: &Table, size: Size, bits: u32) -> Statement {
    let at_point = |at| BEST.map(|filter| contest::ratio(table, at, filter, PLAIN).below(0.9));
    Statement::new(
        format!("section 4.2, {bits} bits: s = 1 and Swapping clearly outperform the cuckoo filter, for all A/S"),
        "false positives over those of the plain filter, in the typical trial: at most 0.9 at every A/S",
    )
    .every(grid(size).places(bits).into_iter().flat_map(at_point).collect())
}

fn best_two(table: &Table, size: Size, bits: u32) -> Statement {
    let at_point = |at| {
        let others = ["cyclic, s = 2", "cyclic, s = 3"];
        let of = |filter| others.map(|other| contest::ratio(table, at, filter, other).below(1.0));
        BEST.map(of).into_iter().flatten()
    };
    Statement::new(
        format!("section 4.2, {bits} bits: the best ACFs are s = 1 and Swapping"),
        "false positives of each over those of s = 2 and of s = 3, in the typical trial: below 1 at every A/S",
    )
    .every(grid(size).places(bits).into_iter().flat_map(at_point).collect())
}
