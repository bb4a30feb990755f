//! Which filter, with which options, over which remote.

use super::drive::drive;
use super::subject::{Learning, Settled, Subject};
use super::{Progress, ReplayError, Report, Settings};
use std::fmt;
use std::str::FromStr;
use twiceshy::cuckoo::{
    CuckooFilter, CuckooingFilter, CyclicFilter, FullKeyCuckoo, FullKeyFilter, Moves, Options, RuleSpec, Search,
    Selectors, SwappingFilter,
};
use twiceshy::error::{BuildError, OptionsError};
use twiceshy::filter::{Adaptive, Backed};
use twiceshy::hash::{HashKey, HashKind};
use twiceshy::remote::{ByHash, Counting, Mirror, Remote};

/// The filters, by the names that the command takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterName {
    /// The plain cuckoo filter: full-key 4×1, or partial-key 2×4.
    Cuckoo,
    /// The Cyclic filter.
    Cyclic,
    /// The Swapping filter.
    Swapping,
    /// The Cuckooing filter.
    Cuckooing,
}

impl FilterName {
    /// All names.
    pub const ALL: [FilterName; 4] =
        [FilterName::Cuckoo, FilterName::Cyclic, FilterName::Swapping, FilterName::Cuckooing];

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            FilterName::Cuckoo => "cuckoo",
            FilterName::Cyclic => "cyclic",
            FilterName::Swapping => "swapping",
            FilterName::Cuckooing => "cuckooing",
        }
    }
}

impl fmt::Display for FilterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for FilterName {
    type Err = String;

    fn from_str(text: &str) -> Result<FilterName, String> {
        let known = || FilterName::ALL.map(FilterName::as_str).join(", ");
        FilterName::ALL
            .into_iter()
            .find(|name| name.as_str() == text)
            .ok_or_else(|| format!("there is no filter `{text}` here: {}", known()))
    }
}

/// How insertions look for room.
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
    /// The paper's walk.
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

/// A filter and its options. What is `None` is left to the filter; what a filter does not know is refused.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are the options of the filters by their names")]
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
    pub remote: RemoteName,
    pub hash: HashKind,
}

impl FilterSpec {
    /// A filter with its defaults.
    pub fn new(name: FilterName, bits: u32) -> FilterSpec {
        FilterSpec {
            name,
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
            remote: RemoteName::ByHash,
            hash: HashKind::SipHash13,
        }
    }

    fn search(&self) -> Search {
        match (self.insertion, self.search_bound) {
            (Insertion::BreadthFirst, None) => Search::DEFAULT,
            (Insertion::BreadthFirst, Some(cells)) => Search::BreadthFirst { cells },
            (Insertion::RandomWalk, steps) => Search::RandomWalk { steps: steps.unwrap_or(5_000) },
        }
    }

    fn selectors(&self) -> Selectors {
        match (&self.offsets, self.range_split) {
            (Some(offsets), _) => Selectors::Offsets(offsets.clone()),
            (None, Some(split)) => Selectors::Unequal { split, bits: self.selector_bits.unwrap_or(1) },
            (None, None) => Selectors::Equal { bits: self.selector_bits.unwrap_or(1) },
        }
    }

    fn moves(&self) -> Moves {
        match (self.moves, self.max_steps) {
            (Some(MovesName::Shortest), cells) => Moves::ShortestPath { cells: cells.unwrap_or(5_000) },
            (_, Some(steps)) => Moves::Walk { steps },
            (_, None) => Moves::DEFAULT,
        }
    }

    /// The tables and the cells a bucket, by the filter's defaults where nobody chose.
    pub fn shape(&self) -> (u64, u64) {
        let two_by_four = self.partial_key || self.name == FilterName::Swapping;
        let (tables, cells) = if two_by_four { (2, 4) } else { (4, 1) };
        (self.tables.unwrap_or(tables), self.cells_per_bucket.unwrap_or(cells))
    }

    /// Refuses options that the filter does not have.
    fn check(&self) -> Result<(), ReplayError> {
        use FilterName::{Cuckoo, Cuckooing, Cyclic, Swapping};
        let given = [
            (self.partial_key, "--partial-key", Cuckoo),
            (self.selector_bits.is_some(), "--selector-bits", Cyclic),
            (self.range_split.is_some(), "--range-split", Cyclic),
            (self.offsets.is_some(), "--offsets", Cyclic),
            (self.refine, "--refine", Cyclic),
            (self.all_cells, "--all-cells", Swapping),
            (self.shared_fingerprint, "--shared-fingerprint", Cuckooing),
            (self.moves.is_some(), "--moves", Cuckooing),
            (self.max_steps.is_some(), "--max-steps", Cuckooing),
        ];
        let refuse = |why: String| Err(ReplayError::Setting(why));
        if let Some((_, option, owner)) = given.iter().find(|(given, _, owner)| *given && *owner != self.name) {
            return refuse(format!("{option} is an option of --filter {owner}, not of {}", self.name));
        }
        if self.offsets.is_some() && (self.range_split.is_some() || self.selector_bits.is_some()) {
            return refuse(
                "--offsets says all about the functions: leave --selector-bits and --range-split out".into(),
            );
        }
        if self.partial_key && self.remote == RemoteName::Mirror {
            return refuse("a partial-key filter needs no remote: leave --remote out".into());
        }
        Ok(())
    }
}

/// Builds the filter that the settings name, and drives it.
pub(super) fn dispatch(settings: &Settings, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report, ReplayError> {
    let spec = &settings.filter;
    spec.check()?;
    match spec.remote {
        RemoteName::ByHash => over::<ByHash>(settings, progress, ByHash::new),
        RemoteName::Mirror => over::<Mirror>(settings, progress, Mirror::new),
    }
}

fn over<R: Remote + Send + 'static>(
    settings: &Settings,
    progress: &(dyn Fn(Progress) + Sync),
    remote: fn() -> R,
) -> Result<Report, ReplayError> {
    let spec = &settings.filter;
    let (search, bits) = (spec.search(), spec.bits);
    match spec.name {
        FilterName::Cuckoo if spec.partial_key => drive(settings, progress, |cells, hash| {
            let (tables, per_bucket) = spec.shape();
            let options =
                CuckooFilter::with_cells(cells, bits).tables(tables).cells_per_bucket(per_bucket).search(search);
            Ok(options.build(hash)?)
        }),
        FilterName::Cuckoo => drive(settings, progress, |cells, hash| {
            let (filter, remote) = build(spec, FullKeyFilter::with_cells(cells, bits), hash, remote)?;
            Ok(Settled { filter, remote })
        }),
        FilterName::Cyclic => drive(settings, progress, |cells, hash| {
            let options = CyclicFilter::with_cells(cells, bits).selectors(spec.selectors()).refine(spec.refine);
            learning(build(spec, options, hash, remote)?)
        }),
        FilterName::Swapping => drive(settings, progress, |cells, hash| {
            learning(build(spec, SwappingFilter::with_cells(cells, bits).all_cells(spec.all_cells), hash, remote)?)
        }),
        FilterName::Cuckooing => drive(settings, progress, |cells, hash| {
            let options = CuckooingFilter::with_cells(cells, bits);
            let options = options.shared_fingerprint(spec.shared_fingerprint).moves(spec.moves());
            learning(build(spec, options, hash, remote)?)
        }),
    }
}

type Built<S, R> = (FullKeyCuckoo<<S as RuleSpec>::Rule>, Counting<R>);

fn build<S: RuleSpec, R: Remote>(
    spec: &FilterSpec,
    options: Options<S>,
    hash: HashKey,
    remote: fn() -> R,
) -> Result<Built<S, R>, ReplayError> {
    let (tables, per_bucket) = spec.shape();
    let mut remote = Counting::new(remote());
    let options = options.tables(tables).cells_per_bucket(per_bucket).search(spec.search());
    match options.build(hash, &mut remote) {
        Ok(filter) => Ok((filter, remote)),
        Err(BuildError::Options(error)) => Err(error.into()),
        Err(error) => Err(ReplayError::Seam(error.to_string())),
    }
}

fn learning<F: Adaptive + Backed, R: Remote>((filter, remote): (F, Counting<R>)) -> Result<Learning<F, R>, ReplayError>
where
    Learning<F, R>: Subject,
{
    Ok(Learning { filter, remote })
}

/// Refuses what cannot be, before any trial begins.
pub(super) fn check_shape(settings: &Settings, cells: u64) -> Result<(), ReplayError> {
    let (tables, per_bucket) = settings.filter.shape();
    twiceshy::cuckoo::Shape::with_cells(tables, per_bucket, cells).map_err(OptionsError::from)?;
    Ok(())
}
