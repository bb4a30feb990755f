//! 000 Figures 1 to 4: Cuckooing on network traces.

use super::flows::{self, Grid, Scale};
use crate::experiment::contest::{self, At};
use crate::experiment::{
    Axis, Budget, Contender, Curve, Evidence, Experiment, Picture, Point, Setup, Size, Statement, Table,
};
use crate::replay::Memory;
use crate::statistics::Looks;

/// On skewed flows Cuckooing has the fewest false positives, especially for small A/S.
pub(super) struct CuckooingOnFlows;

const CUCKOOING: &str = "cuckooing";

const ADAPTIVE: [&str; 4] = ["cyclic, s = 1", "cyclic, s = 2", "cyclic, s = 3", "swapping"];

const PLAIN: &str = "cuckoo, plain";

/// The best of the others, as 000 says.
const NEXT_BEST: [&str; 2] = ["swapping", "cyclic, s = 1"];

/// The A/S up to which it is small.
const SMALL: u64 = 10;

fn contenders(bits: u32) -> Vec<Contender> {
    let mut all = vec![Contender::cuckoo(bits), Contender::cuckooing(bits)];
    all.extend((1..=3).map(|s| Contender::cyclic(bits, s)));
    all.push(Contender::swapping(bits));
    all
}

fn widths(size: Size) -> &'static [u32] {
    size.pick(&[8], &[8, 12, 16])
}

fn grid(size: Size) -> Grid {
    Grid {
        traces: size.of(vec![0], vec![0], vec![0, 1, 2]),
        contenders: widths(size).iter().flat_map(|bits| contest::of_width(*bits, contenders(*bits))).collect(),
        ratios: size.of(vec![1], vec![1, 5, 30], vec![1, 3, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]),
        memory: Memory::Load(0.95),
        scale: Scale::Divided(size.of(100, 40, 1)),
        champions: &[CUCKOOING],
    }
}

fn places(size: Size) -> impl Iterator<Item = At<'static>> {
    widths(size).iter().flat_map(move |bits| grid(size).places(*bits))
}

impl Experiment for CuckooingOnFlows {
    fn name(&self) -> &'static str {
        "cuckooing-on-flows"
    }

    fn claim(&self) -> &'static str {
        "On skewed flows Cuckooing has the fewest false positives of the cuckoo filters, especially for small A/S"
    }

    fn measures(&self) -> &'static str {
        "False-positive rates of the cuckoo filters on synthetic flows, cells of equal width"
    }

    fn source(&self) -> &'static str {
        "000, Figures 1 to 4"
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
        size.pick(Budget { first: 24, most: 48 }, flows::budget(size))
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        grid(setup.size).points(setup)
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let mut pictures = contest::pictures(self.name(), table, contenders);
        let measured = widths(Size::Paper).iter().filter(|bits| !table.only("cell_bits", **bits).is_empty());
        pictures.extend(measured.map(|bits| normalised(table, *bits)));
        pictures
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let looks = self.looks(table, size);
        vec![
            lowest(table, size, looks),
            lowest_for_few(table, size),
            stronger_than_plain(table, size),
            always(table, size, looks),
            factor(table, size),
        ]
    }
}

/// Figure 1, bottom right: the two best of the others relative to Cuckooing, with cells of one width.
fn normalised(table: &Table, bits: u32) -> Picture {
    let mut lines = Vec::new();
    for workload in table.values("workload") {
        let own = table.only("workload", workload.clone()).only("cell_bits", bits);
        for filter in NEXT_BEST {
            let over = own.medians_by("ratio", |rows| {
                let count =
                    |filter: &str| rows.iter().find(|row| row.text("filter") == filter)?.number("false_positives");
                // Half an event more, so that two zeros are equal: as in the statements.
                Some((count(filter)? + 0.5) / (count(CUCKOOING)? + 0.5))
            });
            let name = workload.to_string();
            let name = name.trim_start_matches("synthetic flows like ");
            if !over.is_empty() {
                lines.push(Curve::measured(format!("{filter}, {name}"), lines.len(), over));
            }
        }
    }
    Picture {
        name: format!("cuckooing-on-flows-normalised-{bits}-bits"),
        title: format!("False positives over those of Cuckooing, synthetic flows, {bits} bits a cell"),
        x: Axis::log("A/S: absent keys asked for over stored keys"),
        y: Axis::linear("times the false positives of Cuckooing, median over trials"),
        lines,
    }
}

/// What Figure 1 is said to show, at every A/S.
fn lowest(table: &Table, size: Size, looks: Looks) -> Statement {
    let places = places(size).filter(|at| at.cell_bits == 8).collect::<Vec<_>>();
    Statement::new(
        "section 4.1: Cuckooing has the strongest performance of all adaptive filters on traces, with f = 8",
        "its false positives over those of every other, in the typical trial: below 1 at every A/S",
    )
    .every(over_others(table, &places, &ADAPTIVE))
    .because(repeats_mistakes(table, &places, &ADAPTIVE, looks))
}

fn lowest_for_few(table: &Table, size: Size) -> Statement {
    let places = places(size).filter(|at| at.ratio <= SMALL).collect::<Vec<_>>();
    Statement::new(
        "section 4.1: Cuckooing's performance is particularly strong for small A/S",
        format!(
            "its false positives over those of every other adaptive filter, in the typical trial: below 1 at every A/S up to {SMALL}"
        ),
    )
    .every(over_others(table, &places, &ADAPTIVE))
}

/// Cuckooing's false positives over those of others.
fn over_others(table: &Table, places: &[At<'static>], others: &[&str]) -> Vec<Evidence> {
    let mut all = Vec::new();
    for at in places {
        all.extend(others.iter().map(|other| contest::ratio(table, *at, CUCKOOING, other).below(1.0)));
    }
    all
}

/// Why others are better where many keys are asked for.
fn repeats_mistakes(table: &Table, places: &[At<'static>], others: &[&str], looks: Looks) -> Statement {
    let (mut again, mut fewer) = (Vec::new(), Vec::new());
    for at in places {
        for other in
            others.iter().filter(|other| contest::ratio(table, *at, CUCKOOING, other).below(1.0).contradicts(looks))
        {
            let sample = |filter: &str, column: &str| contest::sample(table, *at, filter, column);
            let wrong =
                |filter| sample(filter, "false_positives").with(&sample(filter, "regret"), |all, each| all / each);
            let label = contest::compared(*at, CUCKOOING, other);
            again.push(Evidence::ratio(&label, &sample(CUCKOOING, "regret"), &sample(other, "regret")).above(1.1));
            fewer.push(Evidence::ratio(format!("{label}, keys"), &wrong(CUCKOOING), &wrong(other)).below(1.0));
        }
    }
    Statement::new(
        "Cuckooing is wrong about fewer keys there, but about each more often: with many keys asked for, it repeats mistakes",
        "at the points that surely do not hold: false positives for each key that it was ever wrong about, over the other's, above 1.1; \
         the number of such keys over the other's, below 1",
    )
    .every(again)
    .every(fewer)
}

fn stronger_than_plain(table: &Table, size: Size) -> Statement {
    let at_point = |at| contest::ratio(table, at, CUCKOOING, PLAIN).below(1.0);
    Statement::new(
        "section 1.1: the performance is stronger than a vanilla cuckoo filter's",
        "its false positives over the plain filter's, in the typical trial: below 1 at every A/S",
    )
    .every(places(size).map(at_point).collect())
}

/// The paper's stronger claim, for every width.
fn always(table: &Table, size: Size, looks: Looks) -> Statement {
    let (places, others) = (places(size).collect::<Vec<_>>(), [&ADAPTIVE[..], &[PLAIN]].concat());
    Statement::new(
        "section 4.1: Cuckooing always performs at least as well as every other cuckoo filter",
        "its false positives over those of every other, in the typical trial: at most 1 at every A/S",
    )
    .every(over_others(table, &places, &others))
    .because(repeats_mistakes(table, &places, &others, looks))
}

fn factor(table: &Table, size: Size) -> Statement {
    let at_point = |at| NEXT_BEST.map(|other| contest::ratio(table, at, other, CUCKOOING).within(1.6, 2.4));
    Statement::new(
        "section 4.1: frequently better than the others by nearly a factor of 2, since cells have neither a selector bit nor \
         twice the comparisons",
        "false positives of Swapping and of s = 1 over those of Cuckooing, in the typical trial: 1.6 to 2.4 at A/S 1",
    )
    .every(places(size).filter(|at| at.ratio == 1).flat_map(at_point).collect())
}
