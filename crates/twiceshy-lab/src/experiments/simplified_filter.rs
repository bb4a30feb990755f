//! 002 section 3.1: cuckoo filters without the second hash function.

use crate::baseline::SimplifiedFilter;
use crate::experiment::{
    Axis, Budget, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Setup, Size, Statement, Table, TaskError,
    line,
};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use twiceshy::CuckooFilter;
use twiceshy::cuckoo::Search;
use twiceshy::hash::HashKey;

/// Without the second hash function, keys stay near each other and tables fill worse.
pub(super) struct SimplifiedFilters;

/// The most keys that an insertion moves, in both filters.
const KICKS: u32 = 500;

/// The cells of a bucket in the comparison of loads.
const PER_BUCKET: u32 = 4;

/// The bits of the fingerprints, rising.
fn widths(size: Size) -> &'static [u32] {
    size.of(&[4, 8], &[4, 6, 8, 10, 12], &[4, 6, 8, 10, 12, 14, 16])
}

/// log₂ of the buckets of the small and of the large table.
fn logs(size: Size) -> [u32; 2] {
    size.of([8, 11], [9, 13], [12, 18])
}

/// 002's example of a short fingerprint: the two locations are less than 256 buckets from each other.
const PAPER_BITS: u32 = 8;

/// The constant in f = O(log n / b): any would do, this one was chosen before measuring.
const CONSTANT: f64 = 2.0;

/// The load that the tables of the upper bound are filled to, in buckets of two and of four.
const BOUND_LOAD: [(u32, f64); 2] = [(2, 0.65), (4, 0.75)];

/// Both filters with the same keys, cells and bits.
#[derive(Clone, Copy, Debug)]
struct Pair {
    log_buckets: u32,
    per_bucket: u32,
    bits: u32,
}

impl Pair {
    /// Buckets for which the fingerprint is 2·log₂(n)/b bits long.
    fn bound(log_buckets: u32, per_bucket: u32, load: f64) -> Pair {
        let keys = load * f64::from(per_bucket) * f64::from(log_buckets).exp2();
        let bits = (CONSTANT * keys.log2() / f64::from(per_bucket)).ceil() as u32;
        Pair { log_buckets, per_bucket, bits }
    }

    fn cells(self) -> u64 {
        u64::from(self.per_bucket) << self.log_buckets
    }

    fn name(self) -> String {
        format!("b = {}, f = {}, {} cells", self.per_bucket, self.bits, self.cells())
    }

    /// The loads at which the first key finds no room.
    fn measure(self, planted: Planted, seed: u64) -> Result<Vec<Line>, TaskError> {
        let (cells, mut rng) = (self.cells(), Rng::stream(seed, u64::from(self.log_buckets)));
        let keys = Keys::new(cells + 1, 0, rng.word()).ok_or_else(|| TaskError::new("too many keys"))?;
        let options = CuckooFilter::with_cells(cells, self.bits).cells_per_bucket(self.per_bucket.into());
        let walk = options.search(Search::RandomWalk { steps: KICKS });
        let mut ordinary = walk.build(HashKey::fixed(rng.word())).map_err(TaskError::new)?;
        let stored = keys.stored_keys().take_while(|key| ordinary.insert(key).is_ok()).count();
        // With the planted error the second location does not stay near the first: fingerprints are as wide as the table.
        let bits = if planted == Planted::WrongRule { self.log_buckets.max(self.bits) } else { self.bits };
        let (hash, per_bucket) = (HashKey::fixed(rng.word()), self.per_bucket as usize);
        let mut simplified = SimplifiedFilter::new(self.log_buckets, per_bucket, bits, KICKS, hash, rng.word());
        let near = keys.stored_keys().take_while(|key| simplified.insert(key)).count();
        let load = |stored: usize| stored as f64 / cells as f64;
        Ok(vec![line![self.per_bucket, self.bits, cells, load(stored), load(near), 1u64]])
    }

    /// Its lines in a table.
    fn of(self, table: &Table) -> Table {
        table.only("point", self.name())
    }
}

/// The pairs of a run: those of the comparison, and those of the upper bound.
fn pairs(size: Size) -> (Vec<Pair>, Vec<(Pair, f64)>) {
    let log_and_bits = logs(size).into_iter().flat_map(|log| widths(size).iter().map(move |bits| (log, *bits)));
    let compared = log_and_bits.map(|(log_buckets, bits)| Pair { log_buckets, per_bucket: PER_BUCKET, bits });
    let bounded = BOUND_LOAD.into_iter().flat_map(|(per_bucket, load)| {
        logs(size).map(|log_buckets| (Pair::bound(log_buckets, per_bucket, load), load))
    });
    (compared.collect(), bounded.collect())
}

impl Experiment for SimplifiedFilters {
    fn name(&self) -> &'static str {
        "simplified-filter"
    }

    fn claim(&self) -> &'static str {
        "Without a second hash function the two locations of a key are near each other, and O(log n / b) bits are enough"
    }

    fn measures(&self) -> &'static str {
        "The load at which the first key finds no room, with and without the second hash function"
    }

    fn source(&self) -> &'static str {
        "002, section 3.1"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let [small, large] = logs(size).map(|log| u64::from(PER_BUCKET) << log);
        vec![
            format!(
                "Eppstein's simplified filter has the locations h(x) and h(x) ⊕ φ(x), in one table of {small} or {large} cells in buckets \
                 of {PER_BUCKET}. It is filled by Algorithm 3, up to {KICKS} random kicks, until the first key finds no room; beside it \
                 the library's partial-key filter with as many cells, bits and kicks. The simplified filter is a baseline of the \
                 lab, not a filter of the library, since it fills worse."
            ),
            format!(
                "The upper bound f = O(log n / b) has no constant in 002: here f = {CONSTANT}·log₂(n)/b, and tables count as filled at a \
                 load of 65 % with b = 2 and 75 % with b = 4. With b = 1 that would be more than 30 bits."
            ),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        &["cells_per_bucket", "bits", "cells", "ordinary_load", "simplified_load", "filters"]
    }

    fn budget(&self, size: Size) -> Budget {
        size.pick(Budget { first: 20, most: 160 }, Budget { first: 20, most: 80 })
    }

    /// A planted wrong rule: the simplified filter has fingerprints as wide as its table.
    fn points(&self, setup: &Setup) -> Vec<Point> {
        let planted = setup.planted;
        let point = |pair: Pair| {
            let work = pair.cells() as f64 * 4e-7;
            Point::new(pair.name(), work, &(pair, planted), move |seed| pair.measure(planted, seed))
        };
        let (compared, bounded) = pairs(setup.size);
        let mut points: Vec<Point> = compared.into_iter().map(point).collect();
        for (pair, _) in bounded {
            if points.iter().all(|point| point.name != pair.name()) {
                points.push(point(pair));
            }
        }
        points
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let four = table.only("cells_per_bucket", PER_BUCKET);
        let mut lines = Vec::new();
        for (look, cells) in four.values("cells").into_iter().enumerate() {
            let own = four.only("cells", cells.clone());
            lines.push(loads(&own, "ordinary_load", format!("{cells} cells, two hash functions"), 2 * look));
            lines.push(loads(&own, "simplified_load", format!("{cells} cells, simplified"), 2 * look + 1));
        }
        vec![Picture {
            name: "simplified-filter".into(),
            title: format!("The load at which the first key finds no room, b = {PER_BUCKET}"),
            x: Axis::own_range("f, bits of a fingerprint"),
            y: Axis::linear("keys over cells"),
            lines,
        }]
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let (compared, bounded) = pairs(size);
        let [small, large] = logs(size);
        let is_near = |pair: &&Pair| pair.log_buckets == large && pair.bits <= PAPER_BITS;
        let beside = |pair: &Pair| {
            let own = pair.of(table);
            Evidence::ratio(pair.name(), &own.sample("simplified_load"), &own.sample("ordinary_load")).below(0.98)
        };
        let grows = |bits: u32| {
            let own =
                |log_buckets| Pair { log_buckets, per_bucket: PER_BUCKET, bits }.of(table).sample("simplified_load");
            Evidence::ratio(format!("f = {bits}"), &own(large), &own(small)).below(0.98)
        };
        let reaches = |(pair, load): &(Pair, f64)| {
            let own = pair.of(table);
            let reached = own.sample("simplified_load").map(|found| f64::from(u8::from(found >= *load)));
            Evidence::share(pair.name(), &reached, &own.sample("filters")).above(0.8)
        };
        vec![
            Statement::new(
                "section 3.1: without h₂ the range of the two locations is a significant limitation",
                "the large table, f up to 8: its load over that of the ordinary filter, below 0.98",
            )
            .every(compared.iter().filter(is_near).map(beside).collect()),
            Statement::new(
                "section 3.1: f must grow with n",
                "f = 4 and 8: the load of the large table over that of the small one, below 0.98",
            )
            .every([4, 8].map(grows).into()),
            Statement::new(
                "section 3.1: f = O(log n / b) is enough for the simplified filter",
                "with f = 2·log₂(n)/b, b = 2 and 4, the share of tables that reach a load of 65 and 75 %: at least 80 %",
            )
            .every(bounded.iter().map(reaches).collect()),
        ]
    }
}

/// The mean loads over the bits, with 95 % intervals.
fn loads(table: &Table, column: &str, label: String, look: usize) -> Curve {
    Curve::measured(label, look, table.means("bits", column))
}
