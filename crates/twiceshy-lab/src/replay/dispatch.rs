//! From a name to a filter that is driven.

use super::baseline;
use super::drive::drive;
use super::names::FilterName;
use super::spec::RemoteName;
use super::subject::Pair;
use super::{Progress, ReplayError, Report, Settings};
use twiceshy::cuckoo::{CuckooFilter, FullKeyCuckoo, Options, RuleSpec};
use twiceshy::error::BuildError;
use twiceshy::hash::HashKey;
use twiceshy::quotient::{self, BroomFilter, PlainTelescopingFilter, QuotientFilter, RankSelectFilter};
use twiceshy::remote::{ByHash, Counting, Mirror, Remote};

/// Builds the filter that the settings name, and drives it.
pub(super) fn dispatch(settings: &Settings, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report, ReplayError> {
    settings.filter.check()?;
    match settings.filter.name {
        FilterName::Broom => return broom(settings, progress),
        FilterName::Bloom | FilterName::BlockedBloom | FilterName::CuckooCache | FilterName::BloomListed => {
            return baseline::dispatch(settings, progress);
        }
        _ => {}
    }
    match settings.filter.remote {
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
    let bits = spec.bits;
    match spec.name {
        FilterName::Cuckoo if spec.partial_key => drive(settings, progress, |cells, hash| {
            let (tables, per_bucket) = spec.buckets();
            let options = CuckooFilter::with_cells(cells, bits).tables(tables).cells_per_bucket(per_bucket);
            Ok(options.search(spec.search()).build(hash)?)
        }),
        FilterName::Cuckoo => drive(settings, progress, |cells, hash| {
            let (filter, remote) = cuckoo(&spec.full_key(cells), hash, remote)?;
            Ok(Pair::settled(filter, remote))
        }),
        FilterName::Cyclic => drive(settings, progress, |cells, hash| {
            let (filter, remote) = cuckoo(&spec.cyclic(cells), hash, remote)?;
            Ok(Pair::learning(filter, remote))
        }),
        FilterName::Swapping => drive(settings, progress, |cells, hash| {
            let (filter, remote) = cuckoo(&spec.swapping(cells), hash, remote)?;
            Ok(Pair::learning(filter, remote))
        }),
        FilterName::Cuckooing => drive(settings, progress, |cells, hash| {
            let (filter, remote) = cuckoo(&spec.cuckooing(cells), hash, remote)?;
            Ok(Pair::learning(filter, remote))
        }),
        FilterName::Quotient => drive(settings, progress, |slots, hash| {
            let (filter, remote) = quotient(&QuotientFilter::with_slots(slots, bits), hash, remote)?;
            Ok(Pair::settled(filter, remote))
        }),
        FilterName::Telescoping => drive(settings, progress, |slots, hash| {
            let (filter, remote) = quotient(&spec.telescoping(slots), hash, remote)?;
            Ok(Pair::learning(filter, remote))
        }),
        FilterName::TelescopingPlain => drive(settings, progress, |slots, hash| {
            let (filter, remote) = quotient(&PlainTelescopingFilter::with_slots(slots, bits), hash, remote)?;
            Ok(Pair::learning(filter, remote))
        }),
        FilterName::Extension => drive(settings, progress, |slots, hash| {
            let (filter, remote) = quotient(&spec.extension(slots), hash, remote)?;
            Ok(Pair::learning(filter, remote))
        }),
        FilterName::Broom => broom(settings, progress),
        FilterName::Bloom | FilterName::BlockedBloom | FilterName::CuckooCache | FilterName::BloomListed => {
            baseline::dispatch(settings, progress)
        }
    }
}

fn broom(settings: &Settings, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report, ReplayError> {
    drive(settings, progress, |slots, hash| {
        let mut remote = Counting::new(ByHash::new());
        let options = BroomFilter::with_slots(slots, settings.filter.bits);
        let filter = options.build(hash, &mut remote).map_err(refused)?;
        Ok(Pair::learning(filter, remote))
    })
}

/// A filter of the quotient family, over a new remote.
fn quotient<S: quotient::RuleSpec, R: Remote>(
    options: &quotient::Options<S>,
    hash: HashKey,
    remote: fn() -> R,
) -> Result<(RankSelectFilter<S::Rule>, Counting<R>), ReplayError> {
    let mut remote = Counting::new(remote());
    let filter = options.build(hash, &mut remote).map_err(refused)?;
    Ok((filter, remote))
}

fn refused<E>(error: BuildError<E>) -> ReplayError
where
    BuildError<E>: std::fmt::Display,
{
    match error {
        BuildError::Options(error) => error.into(),
        error => ReplayError::Seam(error.to_string()),
    }
}

type Built<S, R> = (FullKeyCuckoo<<S as RuleSpec>::Rule>, Counting<R>);

/// A full-key filter of the cuckoo family, over a new remote.
fn cuckoo<S: RuleSpec, R: Remote>(
    options: &Options<S>,
    hash: HashKey,
    remote: fn() -> R,
) -> Result<Built<S, R>, ReplayError> {
    let mut remote = Counting::new(remote());
    let filter = options.build(hash, &mut remote).map_err(refused)?;
    Ok((filter, remote))
}
