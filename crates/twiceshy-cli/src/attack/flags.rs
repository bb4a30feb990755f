//! The special flags of `attack`: the filter's geometry, and how far an adversary searches.

use crate::numbers;
use clap::ValueEnum;
use twiceshy::quotient::BroomForm;
use twiceshy_lab::game::{AdversaryName, Tactics};
use twiceshy_lab::replay::{FilterName, FilterSpec, RemoteName};

/// An explicit geometry, instead of the one computed from --keys and --fpr.
#[derive(clap::Args)]
pub(super) struct Geometry {
    /// Bits of a cell, fingerprint and selector together; in the quotient family, bits of a remainder
    #[arg(long, conflicts_with = "fpr")]
    bits: Option<u32>,
    /// cyclic, with --bits: s, the selector bits of a cell (0 to 4) [default: 1]
    #[arg(long, requires = "bits")]
    selector_bits: Option<u32>,
    /// With --bits, cuckoo family: d, the number of tables (2 to 8)
    #[arg(long, requires = "bits", value_parser = numbers::count::<u64>)]
    tables: Option<u64>,
    /// With --bits, cuckoo family: c, the cells of a bucket (1 to 8)
    #[arg(long, requires = "bits", value_parser = numbers::count::<u64>)]
    cells_per_bucket: Option<u64>,
    /// With --bits: keys over cells [default: the load that the shape is planned for]
    #[arg(long, requires = "bits", value_parser = numbers::fraction)]
    pub(super) load: Option<f64>,
    /// With --bits: how the filter's keys are found; a mirror fills cuckoo filters of a million keys fastest
    #[arg(long, requires = "bits")]
    remote: Option<RemoteArg>,
}

#[derive(Clone, Copy, ValueEnum)]
enum RemoteArg {
    ByHash,
    Mirror,
}

/// The forms of a broom filter.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum FormArg {
    /// A second level, for small remainders
    TwoLevels,
    /// A back yard, for large remainders
    BackYard,
}

impl From<FormArg> for BroomForm {
    fn from(form: FormArg) -> BroomForm {
        match form {
            FormArg::TwoLevels => BroomForm::TwoLevels,
            FormArg::BackYard => BroomForm::BackYard,
        }
    }
}

impl Geometry {
    /// The filter's description; `None` if no geometry was given.
    pub(super) fn spec(&self, name: FilterName) -> Option<FilterSpec> {
        let remote = match self.remote {
            None | Some(RemoteArg::ByHash) => RemoteName::ByHash,
            Some(RemoteArg::Mirror) => RemoteName::Mirror,
        };
        Some(FilterSpec {
            tables: self.tables,
            cells_per_bucket: self.cells_per_bucket,
            selector_bits: self.selector_bits,
            remote,
            ..FilterSpec::new(name, self.bits?)
        })
    }
}

/// How far an adversary searches for keys that stay wrong.
#[derive(clap::Args)]
pub(super) struct Bounds {
    /// cyclic, swapping: c; the search tries c·v^j keys if j fingerprints of v values must agree [default: 2]
    #[arg(long, value_parser = numbers::fraction)]
    effort: Option<f64>,
    /// cyclic, swapping, unfixable, silent-probing: the most look-ups in a game's search [default: 4194304]
    #[arg(long, value_parser = numbers::count::<u64>)]
    most_queries: Option<u64>,
    /// cyclic, swapping, unfixable: 2^s, b or k, the assumed number of functions [default: the filter's]
    #[arg(long, value_parser = numbers::count::<u64>)]
    functions: Option<u64>,
    /// unfixable: c; at most c·k keys are suspects [default: 1024]
    #[arg(long, value_parser = numbers::count::<u64>)]
    most_suspects: Option<u64>,
    /// unfixable: the most permutation rounds in a game [default: 1048576]
    #[arg(long, value_parser = numbers::count::<u64>)]
    most_rounds: Option<u64>,
}

impl Bounds {
    /// The tactics from the flags. Fails if a bound applies to none of the adversaries.
    pub(super) fn tactics(&self, adversaries: &[AdversaryName]) -> anyhow::Result<Tactics> {
        use AdversaryName::{Cyclic, SilentProbing, Swapping, Unfixable};
        let owned: [(bool, &str, &[AdversaryName]); 5] = [
            (self.effort.is_some(), "--effort", &[Cyclic, Swapping]),
            (self.most_queries.is_some(), "--most-queries", &[Cyclic, Swapping, Unfixable, SilentProbing]),
            (self.functions.is_some(), "--functions", &[Cyclic, Swapping, Unfixable]),
            (self.most_suspects.is_some(), "--most-suspects", &[Unfixable]),
            (self.most_rounds.is_some(), "--most-rounds", &[Unfixable]),
        ];
        let unowned = |owners: &[AdversaryName]| !adversaries.iter().any(|adversary| owners.contains(adversary));
        if let Some((_, flag, owners)) = owned.iter().find(|(given, _, owners)| *given && unowned(owners)) {
            let list = |names: &[AdversaryName]| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
            anyhow::bail!("{flag} is a bound of --adversary {}, not of {}", list(owners), list(adversaries));
        }
        let usual = Tactics::default();
        Ok(Tactics {
            effort: self.effort.unwrap_or(usual.effort),
            most_queries: self.most_queries.unwrap_or(usual.most_queries),
            functions: self.functions,
            most_suspects: self.most_suspects.unwrap_or(usual.most_suspects),
            most_rounds: self.most_rounds.unwrap_or(usual.most_rounds),
        })
    }
}
