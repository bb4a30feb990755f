//! The filters that a guard can have, as one type.

use crate::store::Store;
use crate::view::{Stop, View};
use std::io;
use twiceshy::cuckoo::{CuckooingFilter, CyclicFilter, FullKeyFilter, SwappingFilter};
use twiceshy::error::{BuildError, OptionsError};
use twiceshy::filter::{Adapted, Adaptive, Backed, Filter, Inserted, Progress, Removed};
use twiceshy::hash::HashKey;
use twiceshy::persist::{LoadError, SaveError};
use twiceshy::quotient::{BroomFilter, ExtensionFilter, PlainTelescopingFilter, QuotientFilter, TelescopingFilter};
use twiceshy::remote::{Generation, OrderWords, Remote};

/// Declares the kinds, and the filter that is one of them.
macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident($filter:ty) = $code:literal, $name:literal, $learns:ident;)*) => {
        /// Which filter a guard has.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum FilterKind {
            $($(#[$about])* $kind,)*
        }

        impl FilterKind {
            /// All of them.
            pub const ALL: &[FilterKind] = &[$(FilterKind::$kind),*];

            /// The name as it is written.
            pub fn name(self) -> &'static str {
                match self {
                    $(FilterKind::$kind => $name,)*
                }
            }

            pub(crate) fn code(self) -> u8 {
                match self {
                    $(FilterKind::$kind => $code,)*
                }
            }
        }

        /// A filter of one of the kinds.
        #[derive(Debug)]
        pub(crate) enum AnyFilter {
            $($kind(Box<$filter>),)*
        }

        macro_rules! each {
            ($any:expr, $own:ident => $body:expr) => {
                match $any {
                    $(AnyFilter::$kind($own) => $body,)*
                }
            };
        }

        impl Size {
            /// The cells that a filter of this size has.
            pub(crate) fn cells(&self) -> Result<u64, OptionsError> {
                match self.kind {
                    $(FilterKind::$kind => {
                        let (shape, _) = <$filter>::options(self.keys, self.rate)?.geometry()?;
                        Ok(cells!($kind, shape))
                    })*
                }
            }

            /// An empty filter over an empty remote.
            pub(crate) fn build<R: Remote>(
                &self,
                hash: HashKey,
                remote: &mut R,
            ) -> Result<AnyFilter, BuildError<R::Error>> {
                match self.kind {
                    $(FilterKind::$kind => {
                        let filter = <$filter>::options(self.keys, self.rate)?.build(hash, remote)?;
                        Ok(AnyFilter::$kind(Box::new(filter)))
                    })*
                }
            }

            /// A filter for the keys that a remote holds. One that must not go on with the remote's functions takes others, from
            /// this hash key.
            pub(crate) fn recover<R: Remote>(
                &self,
                hash: HashKey,
                remote: &mut R,
            ) -> Result<AnyFilter, BuildError<R::Error>> {
                match self.kind {
                    $(FilterKind::$kind => {
                        let options = <$filter>::options(self.keys, self.rate)?;
                        Ok(AnyFilter::$kind(Box::new(recover!($kind, options, hash, remote)?)))
                    })*
                }
            }

            /// A filter of this kind that was saved.
            pub(crate) fn load(&self, mut bytes: &[u8]) -> Result<AnyFilter, LoadError> {
                match self.kind {
                    $(FilterKind::$kind => Ok(AnyFilter::$kind(Box::new(<$filter>::load(&mut bytes)?))),)*
                }
            }
        }

        impl AnyFilter {
            /// Learns from a false positive; none where the kind does not learn.
            pub(crate) fn adapt<S: Store>(
                &mut self,
                query: &[u8],
                view: &mut View<'_, S>,
            ) -> Result<Option<Adapted>, Stop<S::Error>> {
                match self {
                    $(AnyFilter::$kind(filter) => $learns!(filter, query, view),)*
                }
            }
        }
    };
}

macro_rules! learns {
    ($filter:expr, $query:expr, $view:expr) => {
        Ok(Some($filter.adapt($query, $view)?))
    };
}

macro_rules! settled {
    ($filter:expr, $query:expr, $view:expr) => {{
        let _ = ($filter, $query, $view);
        Ok(None)
    }};
}

/// Only a broom filter takes new functions.
macro_rules! recover {
    (Broom, $options:expr, $hash:expr, $remote:expr) => {
        $options.recover($hash, $remote)
    };
    ($kind:ident, $options:expr, $hash:expr, $remote:expr) => {
        $options.recover($remote)
    };
}

/// The first part of a geometry as a number of cells.
macro_rules! cells {
    (Cuckoo, $shape:expr) => {
        $shape.cells()
    };
    (Cyclic, $shape:expr) => {
        $shape.cells()
    };
    (Swapping, $shape:expr) => {
        $shape.cells()
    };
    (Cuckooing, $shape:expr) => {
        $shape.cells()
    };
    ($kind:ident, $shape:expr) => {
        $shape
    };
}

kinds! {
    /// The plain cuckoo filter, which does not learn. Four index entries for each key.
    Cuckoo(FullKeyFilter) = 1, "cuckoo", settled;
    /// The Cyclic cuckoo filter. Four index entries for each key.
    Cyclic(CyclicFilter) = 2, "cyclic", learns;
    /// The Swapping cuckoo filter. Two index entries for each key.
    Swapping(SwappingFilter) = 3, "swapping", learns;
    /// The Cuckooing filter. Four index entries for each key.
    Cuckooing(CuckooingFilter) = 4, "cuckooing", learns;
    /// The plain quotient filter, which does not learn. One index entry for each key.
    Quotient(QuotientFilter) = 5, "quotient", settled;
    /// The telescoping filter. One index entry for each key.
    Telescoping(TelescopingFilter) = 6, "telescoping", learns;
    /// The telescoping filter with a byte for each selector. One index entry for each key.
    TelescopingPlain(PlainTelescopingFilter) = 7, "telescoping-plain", learns;
    /// The extension filter. One index entry for each key.
    Extension(ExtensionFilter) = 8, "extension", learns;
    /// The broom filter, for hostile clients. Two or three index entries for each key. Its adaptations, its growth and its
    /// recovery after a crash write to the index.
    Broom(BroomFilter) = 9, "broom", learns;
}

impl FilterKind {
    /// Whether the filter learns from its mistakes.
    pub fn learns(self) -> bool {
        !matches!(self, FilterKind::Cuckoo | FilterKind::Quotient)
    }
}

impl std::fmt::Display for FilterKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for FilterKind {
    type Err = String;

    fn from_str(name: &str) -> Result<FilterKind, String> {
        FilterKind::ALL.iter().copied().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<&str> = FilterKind::ALL.iter().map(|kind| kind.name()).collect();
            format!("there is no filter {name:?}: take one of {}", names.join(", "))
        })
    }
}

/// What a filter is made for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size {
    pub(crate) kind: FilterKind,
    pub(crate) rate: f64,
    pub(crate) keys: u64,
}

impl Size {
    /// Kind and rate as the store keeps them.
    pub(crate) fn choice(&self) -> Vec<u8> {
        let mut bytes = vec![self.kind.code()];
        bytes.extend(self.rate.to_le_bytes());
        bytes
    }

    /// The size for so many keys of a choice that a store has kept.
    pub(crate) fn from_choice(choice: &[u8], keys: u64) -> Option<Size> {
        let (code, rate) = choice.split_first()?;
        let kind = FilterKind::ALL.iter().copied().find(|kind| kind.code() == *code)?;
        Some(Size { kind, rate: f64::from_le_bytes(rate.try_into().ok()?), keys })
    }
}

impl AnyFilter {
    /// What its own bits say.
    #[inline]
    pub(crate) fn answers(&self, key: &[u8]) -> bool {
        each!(self, filter => filter.answers(key))
    }

    pub(crate) fn len(&self) -> u64 {
        each!(self, filter => filter.len())
    }

    pub(crate) fn cells(&self) -> u64 {
        each!(self, filter => filter.cells())
    }

    pub(crate) fn local_bits(&self) -> u64 {
        each!(self, filter => filter.local_bits())
    }

    pub(crate) fn sequence(&self) -> u64 {
        each!(self, filter => filter.sequence())
    }

    pub(crate) fn entries(&self, key: &[u8]) -> (Generation, OrderWords) {
        each!(self, filter => filter.entries(key))
    }

    pub(crate) fn stand_at(&mut self, sequence: u64) {
        each!(self, filter => filter.stand_at(sequence))
    }

    pub(crate) fn insert<S: Store>(&mut self, key: &[u8], view: &mut View<'_, S>) -> Result<Inserted, Stop<S::Error>> {
        Ok(each!(self, filter => filter.insert(key, view))?)
    }

    pub(crate) fn remove<S: Store>(&mut self, key: &[u8], view: &mut View<'_, S>) -> Result<Removed, Stop<S::Error>> {
        Ok(each!(self, filter => filter.remove(key, view))?)
    }

    /// Applies or drops the plan that waits, by the number that the view says.
    pub(crate) fn resolve<S: Store>(&mut self, view: &View<'_, S>) -> Result<(), Stop<S::Error>> {
        Ok(each!(self, filter => filter.resolve(view))?)
    }

    pub(crate) fn is_rebuilding(&self) -> bool {
        each!(self, filter => filter.is_rebuilding())
    }

    pub(crate) fn wants_rebuild(&self) -> bool {
        each!(self, filter => filter.wants_rebuild())
    }

    pub(crate) fn begin_grow<S: Store>(&mut self, cells: u64, view: &mut View<'_, S>) -> Result<(), Stop<S::Error>> {
        Ok(each!(self, filter => filter.begin_grow(cells, view))?)
    }

    pub(crate) fn rebuild_step<S: Store>(
        &mut self,
        limit: usize,
        view: &mut View<'_, S>,
    ) -> Result<Progress, Stop<S::Error>> {
        Ok(each!(self, filter => filter.rebuild_step(limit, view))?)
    }

    pub(crate) fn validate<R: Remote>(&self, remote: &R) -> Result<(), String> {
        each!(self, filter => filter.validate(remote))
    }

    pub(crate) fn save(&self, out: &mut dyn io::Write) -> Result<(), SaveError> {
        each!(self, filter => filter.save(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names_and_codes_of_their_own() {
        for kind in FilterKind::ALL {
            assert_eq!(kind.name().parse(), Ok(*kind));
            let size = Size { kind: *kind, rate: 0.001, keys: 5 };
            assert_eq!(Size::from_choice(&size.choice(), 5), Some(size));
            assert!(size.cells().is_ok_and(|cells| cells >= 5));
        }
        assert!("bloom".parse::<FilterKind>().is_err_and(|error| error.contains("telescoping")));
        assert_eq!(Size::from_choice(&[99, 0, 0, 0, 0, 0, 0, 0, 0], 5), None);
        assert_eq!(Size::from_choice(&[1, 0], 5), None);
    }
}
