//! The filters under test, behind one face.

use crate::cuckoo::{CuckooingFilter, CyclicFilter, FullKeyFilter, Moves, Search, Selectors, SwappingFilter};
use crate::error::{BuildError, SeamError};
use crate::filter::{Adapted, Adaptive, Backed};
use crate::hash::HashKey;
use crate::persist::LoadError;
use crate::quotient::{
    BroomFilter, BroomForm, ExtensionFilter, PlainTelescopingFilter, QuotientFilter, TelescopingFilter,
};
use crate::remote::Remote;

/// Every variant of a filter with a remote that the suite runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the filters and their options")]
pub enum Variant {
    FullKey,
    CyclicOneBit,
    CyclicNoBits,
    CyclicFourBits,
    CyclicRefined,
    CyclicUnequal,
    CyclicOffsets,
    Swapping,
    SwappingAll,
    SwappingNarrow,
    Cuckooing,
    CuckooingShared,
    CuckooingShortest,
    CuckooingTwoTables,
    CuckooingBuckets,
    Quotient,
    Telescoping,
    TelescopingSide,
    TelescopingPlain,
    Extension,
    ExtensionSide,
    Broom,
    BroomBackYard,
    BroomByRebuild,
}

impl Variant {
    /// All of them.
    pub const ALL: [Variant; 24] = [
        Variant::FullKey,
        Variant::CyclicOneBit,
        Variant::CyclicNoBits,
        Variant::CyclicFourBits,
        Variant::CyclicRefined,
        Variant::CyclicUnequal,
        Variant::CyclicOffsets,
        Variant::Swapping,
        Variant::SwappingAll,
        Variant::SwappingNarrow,
        Variant::Cuckooing,
        Variant::CuckooingShared,
        Variant::CuckooingShortest,
        Variant::CuckooingTwoTables,
        Variant::CuckooingBuckets,
        Variant::Quotient,
        Variant::Telescoping,
        Variant::TelescopingSide,
        Variant::TelescopingPlain,
        Variant::Extension,
        Variant::ExtensionSide,
        Variant::Broom,
        Variant::BroomBackYard,
        Variant::BroomByRebuild,
    ];

    /// Whether the variant can have a mirror of cells for a remote: the quotient family needs one by hash.
    pub fn has_cells(self) -> bool {
        use Variant::{Extension, ExtensionSide, Quotient, Telescoping, TelescopingPlain, TelescopingSide};
        let learns_in_place =
            matches!(self, Telescoping | TelescopingSide | TelescopingPlain | Extension | ExtensionSide);
        self != Quotient && !learns_in_place && !self.has_phases()
    }

    /// `true` if the variant's keys have one of two hash functions, and move on from one to the other.
    pub fn has_phases(self) -> bool {
        matches!(self, Variant::Broom | Variant::BroomBackYard | Variant::BroomByRebuild)
    }

    /// The narrowest cells that the variant's selectors fit into with some fingerprint.
    pub fn narrowest(self) -> u32 {
        match self {
            Variant::CyclicFourBits => 6,
            Variant::CyclicUnequal => 5,
            Variant::CyclicOffsets => 4,
            variant if !variant.has_cells() => 2,
            _ => 3,
        }
    }
}

/// A filter that the suite can drive without knowing its kind.
pub trait Subject: Backed + Clone {
    /// Adapts, where the filter can.
    fn try_adapt<R: Remote>(&mut self, query: &[u8], remote: &mut R) -> Option<Result<Adapted, SeamError<R::Error>>>;

    /// The saved bytes.
    fn to_bytes(&self) -> Vec<u8>;

    /// The filter from saved bytes.
    fn from_bytes(bytes: &[u8]) -> Result<Self, LoadError>;

    /// Whether a commit's outcome is unknown.
    fn in_doubt(&self) -> bool;

    /// Builds a variant of this kind with at least `cells` cells.
    fn build<R: Remote>(
        variant: Variant,
        cells: u64,
        bits: u32,
        hash: HashKey,
        remote: &mut R,
    ) -> Result<Self, BuildError<R::Error>>;
}

/// A kind of filter under test: how it adapts, and the options of its variants.
macro_rules! subject {
    ($kind:ty, $adapts:tt, |$variant:ident, $cells:ident, $bits:ident| $options:expr) => {
        impl Subject for $kind {
            subject!(@$adapts);

            fn to_bytes(&self) -> Vec<u8> {
                let mut bytes = Vec::new();
                // A filter in doubt is not saved; it compares as nothing.
                let _ = self.save(&mut bytes);
                bytes
            }

            fn from_bytes(mut bytes: &[u8]) -> Result<Self, LoadError> {
                Self::load(&mut bytes)
            }

            fn in_doubt(&self) -> bool {
                self.is_in_doubt()
            }

            fn build<R: Remote>(
                $variant: Variant,
                $cells: u64,
                $bits: u32,
                hash: HashKey,
                remote: &mut R,
            ) -> Result<Self, BuildError<R::Error>> {
                $options.build(hash, remote)
            }
        }
    };
    (@learns) => {
        fn try_adapt<R: Remote>(
            &mut self,
            query: &[u8],
            remote: &mut R,
        ) -> Option<Result<Adapted, SeamError<R::Error>>> {
            Some(self.adapt(query, remote))
        }
    };
    (@static) => {
        fn try_adapt<R: Remote>(&mut self, _: &[u8], _: &mut R) -> Option<Result<Adapted, SeamError<R::Error>>> {
            None
        }
    };
}

subject!(FullKeyFilter, static, |_variant, cells, bits| FullKeyFilter::with_cells(cells, bits));

subject!(CyclicFilter, learns, |variant, cells, bits| {
    let options = CyclicFilter::with_cells(cells, bits);
    match variant {
        Variant::CyclicNoBits => options.selectors(Selectors::Equal { bits: 0 }),
        Variant::CyclicFourBits => options.selectors(Selectors::Equal { bits: 4 }),
        Variant::CyclicRefined => options.selectors(Selectors::Equal { bits: 2 }).refine(true),
        Variant::CyclicUnequal => options.selectors(Selectors::Unequal { split: 2, bits: 1 }),
        Variant::CyclicOffsets => options.selectors(Selectors::Offsets(vec![5, 6, 11])),
        _ => options.search(Search::RandomWalk { steps: 300 }),
    }
});

subject!(SwappingFilter, learns, |variant, cells, bits| {
    let options = SwappingFilter::with_cells(cells, bits);
    match variant {
        Variant::SwappingAll => options.all_cells(true),
        Variant::SwappingNarrow => options.tables(3).cells_per_bucket(2).all_cells(true),
        _ => options,
    }
});

subject!(CuckooingFilter, learns, |variant, cells, bits| {
    let options = CuckooingFilter::with_cells(cells, bits);
    match variant {
        Variant::CuckooingShared => options.shared_fingerprint(true),
        Variant::CuckooingShortest => options.moves(Moves::ShortestPath { cells: 500 }),
        Variant::CuckooingTwoTables => options.tables(2).moves(Moves::Walk { steps: 20 }),
        Variant::CuckooingBuckets => options.tables(2).cells_per_bucket(3),
        _ => options,
    }
});

subject!(QuotientFilter, static, |_variant, cells, bits| QuotientFilter::with_slots(cells, bits));

subject!(TelescopingFilter, learns, |variant, cells, bits| {
    TelescopingFilter::with_slots(cells, bits).side_table(if variant == Variant::TelescopingSide { 2 } else { 0 })
});

subject!(PlainTelescopingFilter, learns, |_variant, cells, bits| PlainTelescopingFilter::with_slots(cells, bits));

subject!(ExtensionFilter, learns, |variant, cells, bits| {
    ExtensionFilter::with_slots(cells, bits).side_table(if variant == Variant::ExtensionSide { 2 } else { 0 })
});

subject!(BroomFilter, learns, |variant, cells, bits| {
    let options = BroomFilter::with_slots(cells, bits);
    match variant {
        Variant::BroomBackYard => options.form(BroomForm::BackYard),
        Variant::BroomByRebuild => options.reclaim_by_rebuild(),
        _ => options.form(BroomForm::TwoLevels),
    }
});

/// Calls `$body` with a filter of the variant's own type. The body sees it as `$filter`, or the error of building it.
#[macro_export]
#[doc(hidden)]
macro_rules! with_variant {
    ($variant:expr, |$kind:ident| $body:expr) => {
        match $variant {
            $crate::testing::Variant::FullKey => {
                type $kind = $crate::cuckoo::FullKeyFilter;
                $body
            }
            $crate::testing::Variant::CyclicOneBit
            | $crate::testing::Variant::CyclicNoBits
            | $crate::testing::Variant::CyclicFourBits
            | $crate::testing::Variant::CyclicRefined
            | $crate::testing::Variant::CyclicUnequal
            | $crate::testing::Variant::CyclicOffsets => {
                type $kind = $crate::cuckoo::CyclicFilter;
                $body
            }
            $crate::testing::Variant::Swapping
            | $crate::testing::Variant::SwappingAll
            | $crate::testing::Variant::SwappingNarrow => {
                type $kind = $crate::cuckoo::SwappingFilter;
                $body
            }
            $crate::testing::Variant::Cuckooing
            | $crate::testing::Variant::CuckooingShared
            | $crate::testing::Variant::CuckooingShortest
            | $crate::testing::Variant::CuckooingTwoTables
            | $crate::testing::Variant::CuckooingBuckets => {
                type $kind = $crate::cuckoo::CuckooingFilter;
                $body
            }
            $crate::testing::Variant::Quotient => {
                type $kind = $crate::quotient::QuotientFilter;
                $body
            }
            $crate::testing::Variant::Telescoping | $crate::testing::Variant::TelescopingSide => {
                type $kind = $crate::quotient::TelescopingFilter;
                $body
            }
            $crate::testing::Variant::TelescopingPlain => {
                type $kind = $crate::quotient::PlainTelescopingFilter;
                $body
            }
            $crate::testing::Variant::Extension | $crate::testing::Variant::ExtensionSide => {
                type $kind = $crate::quotient::ExtensionFilter;
                $body
            }
            $crate::testing::Variant::Broom
            | $crate::testing::Variant::BroomBackYard
            | $crate::testing::Variant::BroomByRebuild => {
                type $kind = $crate::quotient::BroomFilter;
                $body
            }
        }
    };
}

/// Builds a variant of a known kind.
pub fn build<F: Subject, R: Remote>(
    variant: Variant,
    cells: u64,
    bits: u32,
    hash: HashKey,
    remote: &mut R,
) -> Result<F, BuildError<R::Error>> {
    F::build(variant, cells, bits, hash, remote)
}
