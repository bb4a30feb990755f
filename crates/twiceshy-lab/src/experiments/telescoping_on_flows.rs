//! 004 Figures 3 and 4, left: telescoping and extension on network traces, at equal memory.

use super::flows::{self, Grid, Scale};
use crate::experiment::contest::{self, At};
use crate::experiment::{Budget, Contender, Evidence, Experiment, Picture, Point, Setup, Size, Statement, Table};
use crate::replay::Memory;

/// On flows at equal memory the rate is that of first-time queries, and Cuckooing's is lowest.
pub(super) struct TelescopingOnFlows;

const BITS: u32 = 11;

/// The memory of all filters on the streams of 004: that of the first, the telescoping filter.
pub(super) const MEMORY: Memory = Memory::LikeFirst(0.95);

/// The filters that 004 compares with Cuckooing.
const OTHERS: [&str; 6] = ["telescoping", "extension", "cyclic, s = 1", "cyclic, s = 2", "cyclic, s = 3", "swapping"];

/// The filters of 004.
pub(super) fn of_the_paper(bits: u32) -> Vec<Contender> {
    let mut all = vec![Contender::telescoping(bits), Contender::extension(bits), Contender::cuckooing(bits)];
    all.extend((1..=3).map(|s| Contender::cyclic(bits, s)));
    all.push(Contender::swapping(bits));
    all
}

/// The paper's filters, and some that it leaves out.
pub(super) fn contenders(bits: u32) -> Vec<Contender> {
    let mut all = of_the_paper(bits);
    all.extend([
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

/// That the filters of a point have the same memory. Those that grow with what they learn are left out.
pub(super) fn equal_memory(table: &Table) -> Statement {
    let labels = contenders(BITS).into_iter().map(|contender| contender.label);
    let fixed: Vec<String> = labels.filter(|label| label != "Bloom with list" && label != "broom").collect();
    contest::equal_memory(table, &fixed.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The paper's filters and the rivals that a statement is about, or all.
fn chosen(size: Size) -> Vec<Contender> {
    let mut few = of_the_paper(BITS);
    few.extend([Contender::cuckoo(BITS), Contender::cached(BITS)]);
    size.pick(few, contenders(BITS))
}

fn grid(size: Size) -> Grid {
    Grid {
        traces: size.of(vec![0], vec![0], vec![0, 1, 2]),
        contenders: contest::of_width(BITS, chosen(size)),
        // Fourteen filters on 70 million packets take most of a minute at each A/S: half as many as in the figures.
        ratios: size.pick(vec![1, 5], vec![1, 3, 5, 10, 20, 50, 100]),
        memory: MEMORY,
        scale: size.of(Scale::Storing(2_000), Scale::Storing(8_000), Scale::Divided(1)),
        champions: &["cuckooing"],
    }
}

impl Experiment for TelescopingOnFlows {
    fn name(&self) -> &'static str {
        "telescoping-on-flows"
    }

    fn claim(&self) -> &'static str {
        "On flows at equal memory all adaptive filters are near their first-time rate, and Cuckooing's is lowest"
    }

    fn measures(&self) -> &'static str {
        "False-positive rates on synthetic flows at equal memory, over A/S"
    }

    fn source(&self) -> &'static str {
        "004, Figures 3 and 4 left"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let mut method = flows::method(size, "Of the first trace, as many flows as it takes to store 8,000 keys.");
        method.extend([
            contest::EQUAL_MEMORY.into(),
            format!(
                "Rivals in the same memory: Bloom filters of two kinds; a plain cuckoo filter of {} bits with a list of its latest \
                 mistakes; a Bloom filter that lists all its mistakes (001 Lemma 28), whose memory grows.",
                BITS - 1
            ),
            contest::LARGER_EXTENSIONS.into(),
        ]);
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
        vec![
            equal_memory(table),
            cuckooing_wins(table, size),
            like_each_other(table, size),
            beside_a_cache(table, size),
        ]
    }
}

fn places(size: Size, ratios: &[u64]) -> impl Iterator<Item = At<'static>> {
    grid(size).places(BITS).into_iter().filter(|at| ratios.contains(&at.ratio))
}

fn cuckooing_wins(table: &Table, size: Size) -> Statement {
    let at_point = |at| OTHERS.map(|other| contest::ratio(table, at, "cuckooing", other).below(1.0));
    Statement::new(
        "section 6.1: on traces Cuckooing has the advantage, since it uses no bits for adapting",
        "its false positives over those of every other filter of the paper, in the typical trial: below 1 at A/S 1 and 5",
    )
    .every(places(size, &[1, 5]).flat_map(at_point).collect())
}

fn like_each_other(table: &Table, size: Size) -> Statement {
    let at_point = |at| {
        let pairs = ["telescoping", "extension"].map(|own| ["swapping", "cyclic, s = 1"].map(|peer| (own, peer)));
        let of = move |(own, peer)| contest::ratio(table, at, own, peer).within(0.8, 1.25);
        pairs.into_iter().flatten().map(of).collect::<Vec<Evidence>>()
    };
    Statement::new(
        "section 6.1: TAF and exAF perform similarly to Swapping and s = 1 on traces",
        "false positives of each over those of each, in the typical trial: 0.8 to 1.25 at A/S 5",
    )
    .every(places(size, &[5]).flat_map(at_point).collect())
}

fn beside_a_cache(table: &Table, size: Size) -> Statement {
    let at_point = |at| contest::ratio(table, at, "cuckoo with cache", "telescoping").within(0.8, 1.25);
    Statement::new(
        "This project: a plain filter with a list of its latest mistakes, which no paper compares with, has about as many false \
         positives as TAF",
        "its false positives over those of TAF, in the typical trial: 0.8 to 1.25 at A/S 5",
    )
    .every(places(size, &[5]).map(at_point).collect())
}
