//! 002 section 2.1: Proposition 1 and Lemma 1, checked on every insertion into real tables.

use crate::experiment::{
    Axis, Budget, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Sample, Setup, Size, Statement, Table,
    TaskError, line,
};
use crate::interval::{Z95, wilson};
use crate::models::cuckoo_graph::{CuckooGraph, Fate, degrees, least_distinct_share};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use twiceshy::cuckoo::{CuckooTable, Walk};
use twiceshy::hash::HashKey;

/// An insertion fails if and only if the graph says so.
pub(super) struct CuckooGraphs;

/// δ of all tables.
const SLACK: f64 = 0.1;

/// The bounds that stand in for `Max`, beside the paper's own: with that one, hardly any path is too long.
const SHORT: [u64; 4] = [1, 2, 4, 8];

/// From how many cells of a table the cycles are counted.
const STARTS: u64 = 200;

/// The keys of a table, and the tables of a trial.
fn tables(size: Size) -> &'static [(u64, u64)] {
    size.of(&[(30, 100), (300, 4)], &[(30, 200), (300, 20), (3_000, 2)], &[(30, 400), (1_000, 20), (100_000, 2)])
}

/// What the insertions of a trial showed.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    tables: u64,
    /// Tables in which something was not as Proposition 1, item 3, or Lemma 1 says.
    wrong_tables: [u64; 2],
    walks: u64,
    /// Failures for the reasons (a), (b) and (c), with the paper's `Max`.
    failed: [u64; 3],
    /// The same with a short one.
    failed_short: [u64; 3],
    /// Walks that failed in none of the cases, walks that did not fail in one, and walks of another length.
    unforeseen: [u64; 3],
    most_outgoing: u64,
    most_cycles: u64,
    /// The smallest share of Lemma 1.
    least_share: f64,
}

impl Tally {
    fn count(&mut self, fate: Fate, walk: &Walk, is_short: bool) {
        self.walks += 1;
        match fate {
            Fate::Fails(why) => {
                let failed = if is_short { &mut self.failed_short } else { &mut self.failed };
                failed[why as usize] += 1;
                self.unforeseen[1] += u64::from(walk.ends);
            }
            Fate::Succeeds(cells) => {
                self.unforeseen[0] += u64::from(!walk.ends);
                self.unforeseen[2] += u64::from(walk.ends && walk.cells.len() as u64 != cells);
            }
        }
    }

    fn line(&self, keys: u64) -> Line {
        let mut line = line![keys, self.tables, self.wrong_tables[0], self.wrong_tables[1], self.walks];
        let counts = [self.failed, self.failed_short, self.unforeseen];
        line.extend(counts.into_iter().flatten().flat_map(|count| line![count]));
        line.extend(line![self.most_outgoing, self.most_cycles, self.least_share]);
        line
    }
}

/// Fills a table until it is re-hashed, or holds all keys that it has room for, beside a graph of it.
fn fill(stored: u64, seed: u64, planted: Planted, tally: &mut Tally) -> Result<(), TaskError> {
    let mut rng = Rng::new(seed);
    let mut table = CuckooTable::alternating(stored, SLACK, HashKey::fixed(rng.word())).map_err(TaskError::new)?;
    let keys = Keys::new(stored, 0, rng.word()).ok_or_else(|| TaskError::new("too many keys"))?;
    let max = table.most_displaced().ok_or_else(|| TaskError::new("the table does not alternate"))?;
    let mut graph = CuckooGraph::new(table.shape().cells() as usize);
    let mut wrong = false;
    for (number, key) in keys.stored_keys().enumerate() {
        let cells = cells_of(&table, &key)?;
        let walk_of = |max| table.walk(&key, max).ok_or_else(|| TaskError::new("the table is not 2×1"));
        for short in SHORT {
            // With the planted error the walk stops a step too early.
            let real = short - u64::from(planted == Planted::WrongRule);
            tally.count(graph.fate(cells, short), &walk_of(real)?, true);
        }
        let walk = walk_of(max)?;
        tally.count(graph.fate(cells, max), &walk, false);
        let path: Vec<u32> = walk.cells.iter().map(|cell| cell.0 as u32).collect();
        tally.least_share = tally.least_share.min(least_distinct_share(&graph.keys_along(&path)));
        table.insert(&key).map_err(TaskError::new)?;
        // What the table then does is what its walk said.
        let is_rehashed = table.rehashes() > 0;
        tally.unforeseen[usize::from(!walk.ends)] += u64::from(is_rehashed == walk.ends);
        if is_rehashed {
            break;
        }
        graph.insert(cells, &path);
        wrong |= table.find(&key).map(|cell| cell.0 as u32) != graph.cell_of(number as u32);
    }
    if table.rehashes() == 0 {
        // Every key is where the graph has it, and the real cells make a graph with the proposition's first two properties.
        let mut directed = Vec::new();
        for (number, key) in (0..).zip(keys.stored_keys()) {
            let [first, second] = cells_of(&table, &key)?;
            let at = table.find(&key).ok_or_else(|| TaskError::new("a stored key is missing"))?.0 as u32;
            wrong |= Some(at) != graph.cell_of(number);
            directed.push(if at == first { (first, second) } else { (second, first) });
        }
        let vertices = table.shape().cells();
        let starts = (0..vertices.min(STARTS)).map(|_| rng.below(vertices) as u32);
        let found = degrees(vertices as usize, &directed, starts);
        tally.most_outgoing = tally.most_outgoing.max(found.most_outgoing);
        tally.most_cycles = tally.most_cycles.max(found.most_cycles);
    }
    tally.unforeseen[2] += u64::from(wrong);
    Ok(())
}

/// Both cells of a key.
fn cells_of(table: &CuckooTable, key: &[u8]) -> Result<[u32; 2], TaskError> {
    let mut cells = table.cells_of(key).map(|cell| cell.0 as u32);
    cells.next().zip(cells.next()).map(<[u32; 2]>::from).ok_or_else(|| TaskError::new("a key has no two cells"))
}

fn measure(stored: u64, count: u64, planted: Planted, seed: u64) -> Result<Vec<Line>, TaskError> {
    let mut rng = Rng::stream(seed, stored);
    let mut tally = Tally { tables: count, least_share: 1.0, ..Tally::default() };
    for _ in 0..count {
        let before = tally.unforeseen;
        let mut own = Tally { least_share: 1.0, ..tally };
        fill(stored, rng.word(), planted, &mut own)?;
        own.wrong_tables[0] += u64::from(own.unforeseen != before);
        own.wrong_tables[1] += u64::from(own.least_share < 1.0 / 3.0);
        tally = Tally { least_share: own.least_share.min(tally.least_share), ..own };
    }
    Ok(vec![tally.line(stored)])
}

impl Experiment for CuckooGraphs {
    fn name(&self) -> &'static str {
        "cuckoo-graph"
    }

    fn claim(&self) -> &'static str {
        "An insertion fails if and only if the cuckoo graph has one of three shapes around its key"
    }

    fn measures(&self) -> &'static str {
        "Insertions that fail, by the shape of the cuckoo graph around the key"
    }

    fn source(&self) -> &'static str {
        "002, Proposition 1 and Lemma 1"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let sizes: Vec<String> = tables(size).iter().map(|(keys, _)| keys.to_string()).collect();
        vec![
            format!(
                "Tables of Algorithm 2 with δ = {SLACK} and room for {} keys are filled until they are full or re-hashed, beside a \
                 graph that is made from the keys' cells alone. Before each insertion the graph says whether it fails, why, and \
                 how many cells it visits; then the table's own walk is compared with that. The keys of the walk are those of \
                 Lemma 1.",
                sizes.join(", ")
            ),
            format!(
                "With the paper's Max no path is too long, so the same is done with {SHORT:?} in place of Max before each insertion, \
                 on the same table. A case is counted as the first of (c), (a) and (b) that holds."
            ),
            format!(
                "Items 1 and 2 are checked on the cells of full tables, from {STARTS} cells of each: edges lead from a cell, and \
                 independent cycles are reached from it."
            ),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "keys",
            "tables",
            "tables_against_proposition",
            "tables_against_lemma",
            "walks",
            "long_paths",
            "long_returns",
            "bad_configurations",
            "long_paths_short_max",
            "long_returns_short_max",
            "bad_configurations_short_max",
            "failed_without_case",
            "case_without_failure",
            "other_length",
            "most_outgoing",
            "most_cycles",
            "least_distinct_share",
        ]
    }

    fn budget(&self, _: Size) -> Budget {
        Budget { first: 12, most: 48 }
    }

    /// A planted wrong rule: with a short bound, walks stop a step too early.
    fn points(&self, setup: &Setup) -> Vec<Point> {
        let planted = setup.planted;
        let point = |&(stored, count): &(u64, u64)| {
            let measure = move |seed: u64| measure(stored, count, planted, seed);
            let work = (stored * count) as f64 * 4e-6;
            Point::new(format!("{stored} keys"), work, &(stored, count, planted), measure)
        };
        tables(setup.size).iter().map(point).collect()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let of = |(look, (label, column)): (usize, (&str, &str))| {
            let share = |keys| {
                let own = table.only("keys", keys);
                let (with, tables) = (own.sample(column).sum(), own.sample("tables").sum());
                ((own.first("keys").unwrap_or(f64::NAN), with / tables), wilson(with as u64, tables as u64, Z95))
            };
            let (shares, intervals): (Vec<_>, Vec<_>) = table.values("keys").into_iter().map(share).unzip();
            Curve::measured(label, look, shares).within(intervals)
        };
        let kinds = [
            ("(a), a path longer than Max", "long_paths"),
            ("(b), a cycle and a path longer than Max", "long_returns"),
            ("(c), two cycles", "bad_configurations"),
        ];
        vec![Picture {
            name: "cuckoo-graph".into(),
            title: format!("Tables re-hashed while they are filled, by the case of Proposition 1, δ = {SLACK}"),
            x: Axis::log("keys"),
            y: Axis::linear("share of the tables"),
            lines: kinds.into_iter().enumerate().map(of).collect(),
        }]
    }

    fn statements(&self, table: &Table, _: Size) -> Vec<Statement> {
        // Unknown, if nothing was measured.
        let over_all = |name: &str, of: fn(f64, f64) -> f64| {
            table.rows().filter_map(|row| row.number(name)).reduce(of).unwrap_or(f64::NAN)
        };
        let words = |name: &str| name.replace('_', " ");
        let most = |name: &str| Evidence::exact(words(name), over_all(name, f64::max));
        let sum = |name: &str| Evidence::exact(words(name), over_all(name, |a, b| a + b));
        let wrong = |name: &str| Evidence::share("tables against it", &all(table, name), &all(table, "tables"));
        let least = over_all("least_distinct_share", f64::min);
        vec![
            Statement::new(
                "Proposition 1, items 1 and 2: at most one edge leads from a vertex, and a path has at most one cycle",
                "over all full tables, the most edges that lead from a cell: 1; the most cycles reached from one: 1, and one was",
            )
            .every(vec![most("most_outgoing").within(1.0, 1.0), most("most_cycles").within(1.0, 1.0)]),
            Statement::new(
                "Proposition 1, item 3: an insertion fails if and only if (a), (b) or (c) holds",
                "failures without a case, cases without a failure, and walks of another length than the graph's: 0. Tables with any: \
                 below 1 %. Failures for (a), (b), (c): at least 50 each",
            )
            .every(["failed_without_case", "case_without_failure", "other_length"].map(|it| sum(it).below(0.0)).into())
            .every(vec![wrong("tables_against_proposition").below(0.01)])
            .every(
                ["long_paths_short_max", "long_returns_short_max", "bad_configurations"]
                    .map(|it| sum(it).above(50.0))
                    .into(),
            ),
            Statement::new(
                "Lemma 1: a third of any prefix of a walk is a run of distinct keys that begins with the new key",
                "the smallest share over all prefixes of all walks: at least 1/3. Tables with less: below 1 %",
            )
            .every(vec![Evidence::exact("smallest share", least).above(1.0 / 3.0)])
            .every(vec![wrong("tables_against_lemma").below(0.01)]),
            Statement::new(
                "With the paper's Max only bad configurations make insertions fail, as its choice intends",
                "failures for (c) among all, with Max: at least 95 %",
            )
            .every(vec![
                Evidence::share(
                    "(c)",
                    &all(table, "bad_configurations"),
                    &["long_paths", "long_returns"]
                        .iter()
                        .fold(all(table, "bad_configurations"), |sum, name| sum.with(&all(table, name), |a, b| a + b)),
                )
                .above(0.95),
            ]),
        ]
    }
}

/// For each trial, the sum of a column over all sizes of tables.
fn all(table: &Table, column: &str) -> Sample {
    table.sample_by(|rows| Some(rows.iter().filter_map(|row| row.number(column)).sum()))
}
