//! Makes a filter from its description.

use super::names::FilterName;
use super::spec::{FilterSpec, RemoteName};
use super::work::Work;
use std::any::Any;
use std::fmt::Debug;
use twiceshy::cuckoo::{
    self, CuckooingFilter, CyclicFilter, FullKeyCuckoo, FullKeyFilter, RememberingFilter, SwappingFilter,
};
use twiceshy::filter::{Adapted, Backed};
use twiceshy::hash::HashKey;
use twiceshy::memory::Limits;
use twiceshy::quotient::{
    self, ExtensionFilter, PlainTelescopingFilter, QuotientFilter, RankSelectFilter, TelescopingFilter,
};
use twiceshy::quotient::{BroomFilter, BroomOptions};
use twiceshy::remote::{ByHash, Mirror, Remote};
use twiceshy::{AdaptiveFilter, Error, Kind};

/// A filter of any kind over a remote.
pub(crate) type AnyFilter<R = AnyRemote> = AdaptiveFilter<dyn Backed, R>;

/// One of the remotes in memory.
pub(crate) type AnyRemote = Box<dyn InMemory>;

/// A remote that can be copied.
pub(crate) trait InMemory: Remote + Debug + Send + Sync {
    fn boxed(&self) -> AnyRemote;
}

impl<R: Remote + Clone + Debug + Send + Sync + 'static> InMemory for R {
    fn boxed(&self) -> AnyRemote {
        Box::new(self.clone())
    }
}

impl Clone for AnyRemote {
    fn clone(&self) -> AnyRemote {
        (**self).boxed()
    }
}

impl RemoteName {
    /// An empty remote.
    pub(crate) fn open(self) -> AnyRemote {
        match self {
            RemoteName::ByHash => Box::new(ByHash::new()),
            RemoteName::Mirror => Box::new(Mirror::new()),
        }
    }
}

/// The options of a filter of some kind.
pub(crate) trait Make<R>: Send + Sync {
    /// An empty filter over a remote that holds no set yet.
    fn build(&self, hash: HashKey, remote: R) -> Result<AnyFilter<R>, Error>;

    /// A filter for the set that a remote holds, and the number of the remote's last commit. Only a broom filter uses
    /// `hash`; the others keep the hash key of the remote.
    fn recover(&self, hash: HashKey, remote: &mut R) -> Result<(Box<dyn Backed>, u64), Error>;

    /// The counts of a filter that these options made.
    fn work(&self, filter: &dyn Backed) -> Work;
}

impl<S: cuckoo::RuleSpec, R: Remote> Make<R> for cuckoo::Options<S> {
    fn build(&self, hash: HashKey, remote: R) -> Result<AnyFilter<R>, Error> {
        Ok(as_in_papers(self.build(hash, remote)?))
    }

    fn recover(&self, _: HashKey, remote: &mut R) -> Result<(Box<dyn Backed>, u64), Error> {
        Ok(parts(self.recover(remote)?))
    }

    fn work(&self, filter: &dyn Backed) -> Work {
        work::<FullKeyCuckoo<S::Rule>>(filter, |filter| Work::of_cuckoo(&filter.stats()))
    }
}

impl<S: quotient::RuleSpec, R: Remote> Make<R> for quotient::Options<S> {
    fn build(&self, hash: HashKey, remote: R) -> Result<AnyFilter<R>, Error> {
        Ok(as_in_papers(self.build(hash, remote)?))
    }

    fn recover(&self, _: HashKey, remote: &mut R) -> Result<(Box<dyn Backed>, u64), Error> {
        Ok(parts(self.recover(remote)?))
    }

    fn work(&self, filter: &dyn Backed) -> Work {
        work::<RankSelectFilter<S::Rule>>(filter, |filter| Work::of_quotient(&filter.stats()))
    }
}

impl<R: Remote> Make<R> for BroomOptions {
    fn build(&self, hash: HashKey, remote: R) -> Result<AnyFilter<R>, Error> {
        Ok(as_in_papers(self.build(hash, remote)?))
    }

    fn recover(&self, hash: HashKey, remote: &mut R) -> Result<(Box<dyn Backed>, u64), Error> {
        Ok(parts(self.recover(hash, remote)?))
    }

    fn work(&self, filter: &dyn Backed) -> Work {
        work::<BroomFilter>(filter, |filter| Work::of_broom(&filter.stats()))
    }
}

/// A filter of any kind. It remembers no mistake, as in the papers, unless that is what it is made for.
fn as_in_papers<F: Backed, R: Remote>(made: AdaptiveFilter<F, R>) -> AnyFilter<R> {
    let mut filter = made.boxed();
    if filter.filter().kind() != Kind::Remembering {
        filter.limit_memory(Limits::OFF);
    }
    filter
}

fn parts<F: Backed, R: Remote>(made: AdaptiveFilter<F, R>) -> (Box<dyn Backed>, u64) {
    let sequence = made.sequence();
    (made.into_filter(), sequence)
}

fn work<F: Backed>(filter: &dyn Backed, of: impl Fn(&F) -> Work) -> Work {
    let filter: &dyn Any = filter;
    filter.downcast_ref().map_or_else(Work::default, of)
}

/// Tells a filter about a false positive. One that does not learn only reads the remote, as every false positive does, and
/// returns `None`.
pub(crate) fn told<R: Remote>(filter: &mut AnyFilter<R>, query: &[u8]) -> Result<Option<Adapted>, Error> {
    if filter.filter().kind().learns() {
        return filter.was_wrong(query).map(Some);
    }
    for place in filter.filter().lookup(query) {
        filter.remote().candidates(&place, &mut |_| ()).map_err(Error::Remote)?;
    }
    Ok(None)
}

/// `false` if there is no room for the keys.
pub(crate) fn has_room<T>(outcome: Result<T, Error>) -> Result<bool, Error> {
    match outcome {
        Ok(_) => Ok(true),
        Err(Error::Full { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

impl FilterSpec {
    /// The library's options for a filter of at least `cells` cells, or of `cells` slots. `None` for a rival.
    pub(crate) fn options<R: Remote>(&self, cells: u64) -> Option<Box<dyn Make<R>>> {
        let FilterName::Ours(kind) = self.name else { return None };
        let (bits, side) = (self.bits, self.side_table.unwrap_or(0));
        Some(match kind {
            Kind::FullKey => self.over_buckets(FullKeyFilter::with_cells(cells, bits)),
            Kind::Cyclic => {
                let options = CyclicFilter::with_cells(cells, bits);
                self.over_buckets(options.selectors(self.selectors()).refine(self.refine))
            }
            Kind::Swapping => self.over_buckets(SwappingFilter::with_cells(cells, bits).all_cells(self.all_cells)),
            Kind::Cuckooing => {
                let options = CuckooingFilter::with_cells(cells, bits);
                self.over_buckets(options.shared_fingerprint(self.shared_fingerprint).moves(self.moves()))
            }
            Kind::Remembering => self.over_buckets(RememberingFilter::with_cells(cells, bits)),
            Kind::Quotient => Box::new(QuotientFilter::with_slots(cells, bits)),
            Kind::Telescoping => {
                let mut options = TelescopingFilter::with_slots(cells, bits).side_table(side);
                if let Some(code) = self.code {
                    options = options.code(code);
                }
                if let Some(ratio) = self.expected_ratio {
                    options = options.expected_ratio(ratio);
                }
                Box::new(options)
            }
            Kind::TelescopingPlain => Box::new(PlainTelescopingFilter::with_slots(cells, bits)),
            Kind::Extension => Box::new(ExtensionFilter::with_slots(cells, bits).side_table(side)),
            Kind::Broom => Box::new(BroomFilter::with_slots(cells, bits)),
            _ => return None,
        })
    }

    fn over_buckets<S: cuckoo::RuleSpec, R: Remote>(&self, options: cuckoo::Options<S>) -> Box<dyn Make<R>> {
        let (tables, per_bucket) = self.buckets();
        Box::new(options.tables(tables).cells_per_bucket(per_bucket).search(self.search()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_of_the_library_can_be_made() {
        for kind in Kind::ALL {
            let options = FilterSpec::new(*kind, 8).options(1_000).expect("options for each kind");
            let mut filter = options.build(HashKey::fixed(1), RemoteName::ByHash.open()).expect("a filter");
            assert_eq!((filter.filter().kind(), filter.filter().cells()), (*kind, 1_000));
            assert!(filter.insert("owl").expect("there is room"), "{kind}");
            assert_eq!(options.work(filter.filter()).insertions, 1, "{kind}");
            let (again, _) = options.recover(HashKey::fixed(2), filter.remote_mut()).expect("the remote has the set");
            assert!(again.contains(b"owl") && again.len() == 1, "{kind}");
        }
    }
}
