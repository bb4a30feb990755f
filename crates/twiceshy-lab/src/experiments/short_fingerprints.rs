//! 002, Lemma 2: fingerprints must grow with the number of keys.

use crate::experiment::{
    Axis, Budget, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Row, Setup, Size, Statement, Table,
    TaskError, line,
};
use crate::models::insertion::overfull_groups;
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::collections::HashMap;
use twiceshy::CuckooFilter;
use twiceshy::cuckoo::Shape;
use twiceshy::hash::HashKey;
use twiceshy::sizing::design_load;

/// Filters with short fingerprints fill only if they are small.
pub(super) struct ShortFingerprints;

/// Cells of a bucket and bits of a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    per_bucket: u32,
    bits: u32,
}

const fn cell(per_bucket: u32, bits: u32) -> Cell {
    Cell { per_bucket, bits }
}

/// The filters that are filled.
fn filled(size: Size) -> Vec<Cell> {
    let cells: &[(u32, u32)] = size.of(
        &[(1, 4), (2, 2)],
        &[(1, 3), (1, 4), (1, 5), (2, 2), (2, 3), (4, 2)],
        &[(1, 4), (1, 6), (1, 8), (2, 2), (2, 3), (2, 4), (4, 2), (4, 3)],
    );
    cells.iter().map(|(per_bucket, bits)| cell(*per_bucket, *bits)).collect()
}

/// The filters whose groups are counted, without filling them. With b = 4 a few large groups decide, and nothing is clear.
fn counted(size: Size) -> &'static [Cell] {
    const COUNTED: [Cell; 2] = [cell(1, 2), cell(2, 2)];
    size.of(&COUNTED[..1], &COUNTED, &COUNTED)
}

/// The keys of those.
fn counted_keys(size: Size) -> u64 {
    size.of(60_000, 200_000, 1_000_000)
}

/// The expected numbers of groups at which filters are filled.
const GROUPS: [f64; 5] = [1.0 / 32.0, FEW, HALF, 2.0, MANY];
const FEW: f64 = 0.125;
const HALF: f64 = 0.5;
const MANY: f64 = 8.0;

/// The constant in f = O(log n / b), chosen before measuring, and the keys of the filters with such fingerprints.
const CONSTANT: f64 = 2.0;

fn enough_keys(size: Size) -> &'static [u64] {
    size.of(&[1_000], &[1_000, 16_000], &[1_000, 30_000, 1_000_000])
}

/// Fingerprints so wide that no two keys share one and a bucket.
const WIDE: u32 = 24;

impl Cell {
    /// Fingerprints of 2·log₂(n)/b bits.
    fn enough(per_bucket: u32, keys: u64) -> Cell {
        cell(per_bucket, (CONSTANT * (keys as f64).log2() / f64::from(per_bucket)).ceil() as u32)
    }

    fn name(self) -> String {
        format!("b = {}, f = {}", self.per_bucket, self.bits)
    }

    /// Two tables for this many keys, at the load that the library plans for.
    fn shape(self, keys: u64) -> Result<Shape, TaskError> {
        let per_bucket = u64::from(self.per_bucket);
        let cells = (keys as f64 / design_load(2, per_bucket)).ceil() as u64;
        Shape::with_cells(2, per_bucket, cells).map_err(TaskError::new)
    }

    fn filter(self, keys: u64, rng: &mut Rng) -> Result<CuckooFilter, TaskError> {
        let options = CuckooFilter::with_cells(self.shape(keys)?.cells(), self.bits);
        options.cells_per_bucket(self.per_bucket.into()).build(HashKey::fixed(rng.word())).map_err(TaskError::new)
    }

    /// The groups that the lemma expects. A fingerprint has 2^f − 1 values, not 2^f: one marks an empty cell.
    fn expected(self, keys: u64) -> Result<f64, TaskError> {
        let buckets = 2 * self.shape(keys)?.buckets();
        let groups = overfull_groups(keys, buckets, self.bits, self.per_bucket).map_err(TaskError::new)?;
        let values = f64::from(self.bits).exp2();
        Ok(groups * (values / (values - 1.0)).powi(2 * self.per_bucket as i32))
    }

    /// The fewest keys with at least this many expected groups.
    fn keys_for(self, groups: f64) -> u64 {
        let enough = |keys: u64| self.expected(keys).is_ok_and(|expected| expected >= groups);
        let (mut low, mut high) = (1, MOST_KEYS);
        while high - low > 1 {
            let middle = u64::midpoint(low, high);
            if enough(middle) { high = middle } else { low = middle }
        }
        high
    }
}

/// The widest cells that filters have.
const WIDEST: u32 = 32;

/// The filters with fingerprints that should be long enough, as far as cells can be so wide.
fn enough(size: Size) -> Vec<(Cell, u64)> {
    let each = |keys: &u64| [1, 2, 4].map(|per_bucket| (Cell::enough(per_bucket, *keys), *keys));
    enough_keys(size).iter().flat_map(each).filter(|(cell, _)| cell.bits <= WIDEST).collect()
}

/// More keys than any point has.
const MOST_KEYS: u64 = 1 << 30;

/// What is measured at a point.
#[derive(Clone, Copy, Debug)]
struct Filling {
    cell: Cell,
    keys: u64,
    /// `false` to count groups only.
    fills: bool,
}

/// How many filters of a trial are filled: more if they are small.
fn filters(keys: u64) -> u64 {
    (FILLED_KEYS / keys).clamp(1, 10)
}

const FILLED_KEYS: u64 = 20_000;

impl Filling {
    /// Groups of 2b + 1 keys with the same bucket and fingerprint, filters that have one, and filters in which some key found no
    /// room.
    fn measure(self, planted: Planted, seed: u64) -> Result<Vec<Line>, TaskError> {
        let Filling { cell, keys, fills } = self;
        let mut rng = Rng::stream(seed, keys);
        let expected = planted.model(cell.expected(keys)?);
        if !fills {
            let (_, _, groups) = self.filter(planted, &mut rng)?;
            return Ok(vec![line!["count", cell.per_bucket, cell.bits, keys, expected, groups]]);
        }
        let (mut all, mut with_group, mut fails, mut fails_without, mut fails_wide) = (0.0, 0u64, 0u64, 0u64, 0u64);
        for _ in 0..filters(keys) {
            let (mut filter, stored, groups) = self.filter(planted, &mut rng)?;
            let mut wide = Cell { bits: WIDE, ..cell }.filter(keys, &mut rng)?;
            let is_full = |filter: &mut CuckooFilter| stored.stored_keys().any(|key| filter.insert(&key).is_err());
            all += groups;
            with_group += u64::from(groups > 0.0);
            let is_failure = is_full(&mut filter);
            fails += u64::from(is_failure);
            fails_without += u64::from(is_failure && groups == 0.0);
            fails_wide += u64::from(is_full(&mut wide));
        }
        let mut line = line!["fill", cell.per_bucket, cell.bits, keys, expected, all / filters(keys) as f64];
        line.extend(line![with_group, fails, fails_without, fails_wide, filters(keys)]);
        Ok(vec![line])
    }

    /// An empty filter, keys for it, and how many groups of them are one key too large. With the planted error the fingerprints
    /// are wide.
    fn filter(self, planted: Planted, rng: &mut Rng) -> Result<(CuckooFilter, Keys, f64), TaskError> {
        let Filling { cell, keys, .. } = self;
        let bits = if planted == Planted::WrongRule { WIDE } else { cell.bits };
        let filter = Cell { bits, ..cell }.filter(keys, rng)?;
        let stored = Keys::new(keys, 0, rng.word()).ok_or_else(|| TaskError::new("too many keys"))?;
        let mut alike: HashMap<(u64, u32), u64> = HashMap::new();
        stored.stored_keys().for_each(|key| *alike.entry(filter.pair_of(&key)).or_default() += 1);
        let size = 2 * u64::from(cell.per_bucket) + 1;
        let groups = alike.values().map(|count| choose(*count, size)).sum();
        Ok((filter, stored, groups))
    }
}

/// "1/32, 1/8, 2": each a power of two.
fn listed(groups: &[f64]) -> String {
    let one = |groups: &f64| if *groups < 1.0 { format!("1/{}", groups.recip()) } else { groups.to_string() };
    groups.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// C(n, k).
fn choose(n: u64, k: u64) -> f64 {
    if n < k { 0.0 } else { (0..k).fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64) }
}

impl Experiment for ShortFingerprints {
    fn name(&self) -> &'static str {
        "short-fingerprints"
    }

    fn claim(&self) -> &'static str {
        "The fingerprints of partial-key cuckoo filters must grow with log n / b"
    }

    fn measures(&self) -> &'static str {
        "Partial-key filters that cannot be filled, over the number of keys, for short fingerprints"
    }

    fn source(&self) -> &'static str {
        "002, Lemma 2"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![
            format!(
                "For each bucket size b and fingerprint length f, filters are made for the numbers of keys at which the lemma expects \
                 {} groups of 2b + 1 keys with the same bucket and fingerprint, which have room for 2b. Counted are the \
                 groups, and whether all keys find room: two tables at the load that the library plans for (47 % for b = 1, 86.7 % \
                 for b = 2, 94.6 % for b = 4), breadth-first search. Beside it the same keys with fingerprints of {WIDE} bits.",
                listed(&GROUPS)
            ),
            format!(
                "The lemma's expected number is compared with the counted one at {} keys. That its bound is tight has no constant in \
                 002: here f = {CONSTANT}·log₂(n)/b, where that is at most {WIDEST} bits (with b = 1, up to 65,536 keys). A fingerprint has 2^f − 1 values, as 0 marks \
                 an empty cell, and the second bucket is a sum, not an exclusive or; neither changes the argument.",
                counted_keys(size)
            ),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "part",
            "cells_per_bucket",
            "bits",
            "keys",
            "expected_groups",
            "groups",
            "with_group",
            "fails",
            "fails_without_group",
            "fails_wide",
            "filters",
        ]
    }

    fn budget(&self, size: Size) -> Budget {
        size.of(Budget { first: 20, most: 80 }, Budget { first: 20, most: 160 }, Budget { first: 20, most: 80 })
    }

    /// A planted wrong rule: the filters have wide fingerprints.
    fn points(&self, setup: &Setup) -> Vec<Point> {
        let planted = setup.planted;
        let point = |filling: Filling| {
            let Filling { cell, keys, fills } = filling;
            let name = format!("{}, {keys} keys, {}", cell.name(), if fills { "filled" } else { "counted" });
            let work = keys as f64 * if fills { 6e-7 * filters(keys) as f64 } else { 2e-7 };
            Point::new(name, work, &(filling, planted), move |seed| filling.measure(planted, seed))
        };
        let mut points = Vec::new();
        for cell in filled(setup.size) {
            points.extend(GROUPS.map(|groups| point(Filling { cell, keys: cell.keys_for(groups), fills: true })));
        }
        for (cell, keys) in enough(setup.size) {
            points.push(point(Filling { cell, keys, fills: true }));
        }
        let keys = counted_keys(setup.size);
        points.extend(counted(setup.size).iter().map(|cell| point(Filling { cell: *cell, keys, fills: false })));
        points
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        // Long fingerprints do not fail.
        let mut fill = Table::new(table.columns().iter().cloned());
        let is_short = |row: &Row<'_>| row.text("part") == "fill" && row.number("bits").is_some_and(|bits| bits < 9.0);
        table.rows().filter(is_short).for_each(|row| fill.push(row.values().to_vec()));
        [1u32, 2, 4]
            .map(|per_bucket| {
                let own = fill.only("cells_per_bucket", per_bucket);
                let mut lines = Vec::new();
                for (look, bits) in own.values("bits").into_iter().enumerate() {
                    let own = own.only("bits", bits.clone());
                    lines.push(failures(&own, format!("f = {bits}"), look));
                    let chance = |(keys, groups): (f64, f64)| (keys, -f64::exp_m1(-groups));
                    let model = own.means("keys", "expected_groups").into_iter().map(chance).collect::<Vec<_>>();
                    lines.push(Curve::model(format!("f = {bits}, a group by Lemma 2"), look, model));
                }
                Picture {
                    name: format!("short-fingerprints-b-{per_bucket}"),
                    title: format!("Filters that cannot be filled, b = {per_bucket}"),
                    x: Axis::log("n, keys"),
                    y: Axis::linear("share of the filters"),
                    lines,
                }
            })
            .into()
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let fill = table.only("part", "fill");
        let of = |cell: Cell, keys: u64, column: &str, among: &str| {
            let own = fill.only("cells_per_bucket", cell.per_bucket).only("bits", cell.bits).only("keys", keys);
            Evidence::share(format!("{}, {keys} keys", cell.name()), &own.sample(column), &own.sample(among))
        };
        let share = |cells: &[Cell], groups: f64, column: &str, among: &str| -> Vec<Evidence> {
            cells.iter().map(|cell| of(*cell, cell.keys_for(groups), column, among)).collect()
        };
        let (all, looks) = (filled(size), self.looks(table, size));
        let count = |cell: &Cell| {
            let own = table.only("part", "count").only("cells_per_bucket", cell.per_bucket).only("bits", cell.bits);
            Evidence::ratio(cell.name(), &own.sample("groups"), &own.sample("expected_groups")).within(0.95, 1.05)
        };
        let below =
            |evidence: Vec<Evidence>, high: f64| evidence.into_iter().map(|it| it.below(high)).collect::<Vec<_>>();
        let above =
            |evidence: Vec<Evidence>, low: f64| evidence.into_iter().map(|it| it.above(low)).collect::<Vec<_>>();
        // The reason is for those that fail early; with the longest of these fingerprints hardly any do.
        let fails_early = |cell: &Cell| below(share(&[*cell], HALF, "fails", "filters"), 0.5)[0].contradicts(looks);
        let early: Vec<Cell> = all.iter().copied().filter(fails_early).collect();
        let other_causes = Statement::new(
            "the lemma counts one cause, and short fingerprints have others that come first: most filters that fail early have no \
             such group",
            format!(
                "for each b and f at which the statement surely fails, where {FEW} groups are expected: the share of failed filters without any group of \
                 2b + 1 keys, at least half; of filters with {WIDE} bits, those that fail, at most 25 %"
            ),
        )
        .every(above(share(&early, FEW, "fails_without_group", "fails"), 0.5))
        .every(below(share(&early, FEW, "fails_wide", "filters"), 0.25));
        vec![
            Statement::new(
                "Lemma 2: the expected number of groups of 2b + 1 keys with the same bucket and fingerprint",
                "groups counted over those expected: 0.95 to 1.05",
            )
            .every(counted(size).iter().map(count).collect()),
            Statement::new(
                "Lemma 2: f = Ω(log n / b), so a filter with fewer bits cannot be filled",
                format!(
                    "at the n for which it expects {MANY} groups, the share of filters that fail: at least 80 %; with {WIDE} bits: at \
                     most 25 %"
                ),
            )
            .every(above(share(&all, MANY, "fails", "filters"), 0.8))
            .every(below(share(&all, MANY, "fails_wide", "filters"), 0.25)),
            Statement::new(
                "This project: filters begin to fail at the n for which Lemma 2 expects half a group",
                format!("at the n for which it expects {HALF} groups, the share of filters that fail: at most half"),
            )
            .every(below(share(&all, HALF, "fails", "filters"), 0.5))
            .because(other_causes),
            Statement::new(
                "section 3.1: the bound is tight, f = O(log n / b) is enough",
                "with f = 2·log₂(n)/b, b = 1, 2 and 4, the share of filters that fail: at most 25 %",
            )
            .every(enough(size).into_iter().map(|(cell, keys)| of(cell, keys, "fails", "filters").below(0.25)).collect()),
        ]
    }
}

/// The share of the filters that fail, with 95 % intervals.
fn failures(table: &Table, label: String, look: usize) -> Curve {
    let at = |keys| {
        let own = table.only("keys", keys);
        let (yes, of) = (own.sample("fails").sum() as u64, own.sample("filters").sum() as u64);
        let share = (own.first("keys").unwrap_or(f64::NAN), yes as f64 / of as f64);
        (share, crate::interval::wilson(yes, of, crate::interval::Z95))
    };
    let (points, intervals): (Vec<_>, Vec<_>) = table.values("keys").into_iter().map(at).unzip();
    Curve::measured(label, look, points).within(intervals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_every_size_have_cells_that_can_be_made() {
        for size in [Size::Tiny, Size::Quick, Size::Paper] {
            let cells: Vec<Cell> = filled(size).into_iter().chain(enough(size).into_iter().map(|it| it.0)).collect();
            assert!(cells.iter().all(|cell| cell.filter(1_000, &mut Rng::new(1)).is_ok()), "{cells:?}");
        }
    }
}
