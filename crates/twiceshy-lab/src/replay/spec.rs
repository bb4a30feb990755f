//! The options of the filters, and which filters have them.

use super::ReplayError;
use super::layout::Layout;
use super::names::FilterName;
use crate::open::Foreign;
use twiceshy::Kind;
use twiceshy::cuckoo::{Moves, Search, Selectors};
use twiceshy::hash::HashKind;
use twiceshy::quotient::SelectorCode;

/// How insertions search for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// Shortest paths.
    BreadthFirst,
    /// Random walks.
    RandomWalk,
}

/// How Cuckooing moves keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovesName {
    /// The paper's random walk.
    Walk,
    /// Shortest paths.
    Shortest,
}

/// Which remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteName {
    /// The remote by hash.
    ByHash,
    /// The mirror of cells.
    Mirror,
}

/// A filter and its options. `None` stands for the filter's default; options that the filter does not have are refused.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are named after the filters' options")]
pub struct FilterSpec {
    pub name: FilterName,
    pub bits: u32,
    pub tables: Option<u64>,
    pub cells_per_bucket: Option<u64>,
    pub partial_key: bool,
    pub selector_bits: Option<u32>,
    pub range_split: Option<u32>,
    pub offsets: Option<Vec<u32>>,
    pub refine: bool,
    pub all_cells: bool,
    pub shared_fingerprint: bool,
    pub moves: Option<MovesName>,
    pub max_steps: Option<u32>,
    pub insertion: Insertion,
    pub search_bound: Option<u32>,
    pub side_table: Option<u32>,
    pub code: Option<SelectorCode>,
    pub expected_ratio: Option<f64>,
    pub cache_bits: Option<u32>,
    pub remote: RemoteName,
    pub hash: HashKind,
    /// The filter that [`FilterName::Foreign`] stands for.
    pub foreign: Option<Foreign>,
}

impl FilterSpec {
    /// A filter with its defaults.
    pub fn new(name: impl Into<FilterName>, bits: u32) -> FilterSpec {
        FilterSpec {
            name: name.into(),
            bits,
            tables: None,
            cells_per_bucket: None,
            partial_key: false,
            selector_bits: None,
            range_split: None,
            offsets: None,
            refine: false,
            all_cells: false,
            shared_fingerprint: false,
            moves: None,
            max_steps: None,
            insertion: Insertion::BreadthFirst,
            search_bound: None,
            side_table: None,
            code: None,
            expected_ratio: None,
            cache_bits: None,
            remote: RemoteName::ByHash,
            hash: HashKind::SipHash13,
            foreign: None,
        }
    }

    /// A filter from outside. Its memory is counted in cells of `bits` bits, like that of a Bloom filter.
    pub fn foreign(foreign: Foreign, bits: u32) -> FilterSpec {
        FilterSpec { foreign: Some(foreign), ..FilterSpec::new(FilterName::Foreign, bits) }
    }

    /// The filter's name in reports and errors.
    pub fn title(&self) -> &str {
        self.foreign.as_ref().map_or(self.name.as_str(), Foreign::name)
    }

    pub(crate) fn search(&self) -> Search {
        match (self.insertion, self.search_bound) {
            (Insertion::BreadthFirst, None) => Search::DEFAULT,
            (Insertion::BreadthFirst, Some(cells)) => Search::BreadthFirst { cells },
            (Insertion::RandomWalk, steps) => Search::RandomWalk { steps: steps.unwrap_or(5_000) },
        }
    }

    pub(crate) fn selectors(&self) -> Selectors {
        match (&self.offsets, self.range_split) {
            (Some(offsets), _) => Selectors::Offsets(offsets.clone()),
            (None, Some(split)) => Selectors::Unequal { split, bits: self.selector_bits.unwrap_or(1) },
            (None, None) => Selectors::Equal { bits: self.selector_bits.unwrap_or(1) },
        }
    }

    pub(crate) fn moves(&self) -> Moves {
        match (self.moves, self.max_steps) {
            (Some(MovesName::Shortest), cells) => Moves::ShortestPath { cells: cells.unwrap_or(5_000) },
            (_, Some(steps)) => Moves::Walk { steps },
            (_, None) => Moves::DEFAULT,
        }
    }

    /// The tables of a cuckoo filter and the cells of a bucket; the filter's defaults if not set.
    pub(crate) fn buckets(&self) -> (u64, u64) {
        let two_by_four = self.partial_key || self.name == Kind::Swapping.into();
        let (tables, cells) = match self.name {
            _ if two_by_four => (2, 4),
            FilterName::Ours(Kind::Remembering) => (2, 2),
            _ => (4, 1),
        };
        (self.tables.unwrap_or(tables), self.cells_per_bucket.unwrap_or(cells))
    }

    /// How the filter's table is laid out.
    pub(crate) fn layout(&self) -> Layout {
        match self.name {
            FilterName::Ours(_) if !FilterName::OVER_BUCKETS.contains(&self.name) => Layout::Slots,
            FilterName::Ours(Kind::Remembering) => {
                let (tables, per_window) = self.buckets();
                Layout::Windows { tables, per_window }
            }
            FilterName::Ours(_) | FilterName::CuckooCache => {
                let (tables, per_bucket) = self.buckets();
                Layout::Buckets { tables, per_bucket }
            }
            FilterName::Bloom | FilterName::BlockedBloom | FilterName::BloomListed | FilterName::Foreign => {
                Layout::Bits
            }
        }
    }

    /// The shape of the table, as text.
    pub(super) fn shape(&self) -> String {
        format!("{}{}", self.layout(), if self.partial_key { ", partial-key" } else { "" })
    }

    /// Every option that some filter lacks: whether it was given, and which filters have it. A default that is given
    /// explicitly counts as not given.
    fn owned_options(&self) -> [OwnedOption; 18] {
        use FilterName::{CuckooCache, Ours};
        const OVER_BUCKETS: &[FilterName] = FilterName::OVER_BUCKETS;
        [
            (self.tables.is_some(), "--tables", OVER_BUCKETS),
            (self.cells_per_bucket.is_some(), "--cells-per-bucket", OVER_BUCKETS),
            (self.insertion == Insertion::RandomWalk, "--insertion", OVER_BUCKETS),
            (self.search_bound.is_some(), "--search-bound", OVER_BUCKETS),
            (self.remote == RemoteName::Mirror, "--remote mirror", OVER_BUCKETS),
            (self.partial_key, "--partial-key", &[Ours(Kind::FullKey)]),
            (self.selector_bits.is_some(), "--selector-bits", &[Ours(Kind::Cyclic)]),
            (self.range_split.is_some(), "--range-split", &[Ours(Kind::Cyclic)]),
            (self.offsets.is_some(), "--offsets", &[Ours(Kind::Cyclic)]),
            (self.refine, "--refine", &[Ours(Kind::Cyclic)]),
            (self.all_cells, "--all-cells", &[Ours(Kind::Swapping)]),
            (self.shared_fingerprint, "--shared-fingerprint", &[Ours(Kind::Cuckooing)]),
            (self.moves.is_some(), "--moves", &[Ours(Kind::Cuckooing)]),
            (self.max_steps.is_some(), "--max-steps", &[Ours(Kind::Cuckooing)]),
            (self.side_table.is_some(), "--side-table", &[Ours(Kind::Telescoping), Ours(Kind::Extension)]),
            (self.code.is_some(), "--code", &[Ours(Kind::Telescoping)]),
            (self.expected_ratio.is_some(), "--expected-ratio", &[Ours(Kind::Telescoping)]),
            (self.cache_bits.is_some(), "--cache-bits", &[CuckooCache]),
        ]
    }

    /// Refuses options that the filter does not have.
    pub(crate) fn check(&self) -> Result<(), ReplayError> {
        let refuse = |why: String| Err(ReplayError::Setting(why));
        if let Some(why) = unknown_option(self.name, &self.owned_options()) {
            return refuse(why);
        }
        if self.offsets.is_some() && (self.range_split.is_some() || self.selector_bits.is_some()) {
            return refuse("--offsets already sets the functions: leave --selector-bits and --range-split out".into());
        }
        if self.code.is_some() && self.expected_ratio.is_some() {
            return refuse("--code already sets the code: leave --expected-ratio out".into());
        }
        if self.partial_key && self.remote == RemoteName::Mirror {
            return refuse("a partial-key filter needs no remote: leave --remote out".into());
        }
        Ok(())
    }
}

/// Whether an option was given, its name, and the filters that have it.
type OwnedOption = (bool, &'static str, &'static [FilterName]);

/// The error for the first given option that the filter does not have; `None` if it has them all.
fn unknown_option(name: FilterName, options: &[OwnedOption]) -> Option<String> {
    let (_, option, owners) = options.iter().find(|(given, _, owners)| *given && !owners.contains(&name))?;
    let owners: Vec<&str> = owners.iter().map(|owner| owner.as_str()).collect();
    let owners = match owners.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => owners.concat(),
    };
    Some(format!("{option} is an option of --filter {owners}, not of {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUCKOO: FilterName = FilterName::Ours(Kind::FullKey);
    const CUCKOOING: FilterName = FilterName::Ours(Kind::Cuckooing);
    const CYCLIC: FilterName = FilterName::Ours(Kind::Cyclic);
    const SWAPPING: FilterName = FilterName::Ours(Kind::Swapping);

    #[test]
    fn an_option_is_refused_to_a_filter_that_is_not_among_its_owners() {
        let options: [OwnedOption; 3] = [
            (false, "--first", &[CUCKOO]),
            (true, "--second", &[CYCLIC, SWAPPING, CUCKOO]),
            (true, "--third", &[CYCLIC]),
        ];
        assert_eq!(unknown_option(CYCLIC, &options), None);
        let third = unknown_option(SWAPPING, &options);
        assert_eq!(third.as_deref(), Some("--third is an option of --filter cyclic, not of swapping"));
        let second = unknown_option(CUCKOOING, &options);
        assert_eq!(
            second.as_deref(),
            Some("--second is an option of --filter cyclic, swapping or cuckoo, not of cuckooing")
        );
    }

    #[test]
    fn every_filter_over_buckets_takes_the_options_of_buckets() {
        for name in FilterName::OVER_BUCKETS {
            let spec = FilterSpec {
                tables: Some(3),
                cells_per_bucket: Some(2),
                insertion: Insertion::RandomWalk,
                search_bound: Some(9),
                remote: RemoteName::Mirror,
                ..FilterSpec::new(*name, 8)
            };
            assert!(spec.check().is_ok(), "{name}");
            let windows = *name == Kind::Remembering.into();
            assert_eq!(spec.shape(), if windows { "3 windows of 2" } else { "3×2" }, "{name}");
        }
    }

    #[test]
    fn a_filter_with_its_defaults_is_given_no_option_that_others_lack() {
        for name in FilterName::all() {
            let given = FilterSpec::new(name, 8).owned_options();
            assert!(given.iter().all(|(given, _, _)| !given), "{name}");
        }
    }
}
