//! The filters under test, in one list.

use crate::cuckoo::{
    CuckooingFilter, CyclicFilter, FullKeyFilter, Moves, RememberingFilter, Search, Selectors, SwappingFilter,
};
use crate::error::{Error, OptionsError};
use crate::filter::Backed;
use crate::hash::HashKey;
use crate::kind::Kind;
use crate::pair::AdaptiveFilter;
use crate::quotient::{
    BroomFilter, BroomForm, ExtensionFilter, PlainTelescopingFilter, QuotientFilter, TelescopingFilter,
};
use crate::remote::{Generation, Remote};

/// Declares the variants: the kind, the narrowest cells that have room for a fingerprint, and the options.
macro_rules! variants {
    ($($variant:ident = $kind:ident, $narrowest:literal, |$cells:ident, $bits:ident| $options:expr;)*) => {
        /// Every variant of a filter with a remote that the suite runs over.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names are the filters and their options")]
        pub enum Variant {
            $($variant,)*
        }

        impl Variant {
            /// All of them.
            pub const ALL: &[Variant] = &[$(Variant::$variant),*];

            /// The kind of filter.
            pub fn kind(self) -> Kind {
                match self {
                    $(Variant::$variant => Kind::$kind,)*
                }
            }

            /// The narrowest cells that hold the variant's selectors and some fingerprint.
            pub fn narrowest(self) -> u32 {
                match self {
                    $(Variant::$variant => $narrowest,)*
                }
            }

            /// An empty filter with at least `cells` cells of `bits` bits.
            fn make(self, cells: u64, bits: u32, hash: HashKey) -> Result<Box<dyn Backed>, OptionsError> {
                match self {
                    $(Variant::$variant => {
                        let ($cells, $bits) = (cells, bits);
                        Ok(Box::new($options.make(hash, Generation(0))?))
                    })*
                }
            }
        }
    };
}

variants! {
    FullKey = FullKey, 3, |cells, bits| FullKeyFilter::with_cells(cells, bits);
    CyclicOneBit = Cyclic, 3, |cells, bits| CyclicFilter::with_cells(cells, bits).search(Search::RandomWalk { steps: 300 });
    CyclicNoBits = Cyclic, 3, |cells, bits| CyclicFilter::with_cells(cells, bits).selectors(Selectors::Equal { bits: 0 });
    CyclicFourBits = Cyclic, 6, |cells, bits| {
        CyclicFilter::with_cells(cells, bits).selectors(Selectors::Equal { bits: 4 })
    };
    CyclicRefined = Cyclic, 3, |cells, bits| {
        CyclicFilter::with_cells(cells, bits).selectors(Selectors::Equal { bits: 2 }).refine(true)
    };
    CyclicUnequal = Cyclic, 5, |cells, bits| {
        CyclicFilter::with_cells(cells, bits).selectors(Selectors::Unequal { split: 2, bits: 1 })
    };
    CyclicOffsets = Cyclic, 4, |cells, bits| {
        CyclicFilter::with_cells(cells, bits).selectors(Selectors::Offsets(vec![5, 6, 11]))
    };
    Swapping = Swapping, 3, |cells, bits| SwappingFilter::with_cells(cells, bits);
    SwappingAll = Swapping, 3, |cells, bits| SwappingFilter::with_cells(cells, bits).all_cells(true);
    SwappingNarrow = Swapping, 3, |cells, bits| {
        SwappingFilter::with_cells(cells, bits).tables(3).cells_per_bucket(2).all_cells(true)
    };
    Cuckooing = Cuckooing, 3, |cells, bits| CuckooingFilter::with_cells(cells, bits);
    CuckooingShared = Cuckooing, 3, |cells, bits| CuckooingFilter::with_cells(cells, bits).shared_fingerprint(true);
    CuckooingShortest = Cuckooing, 3, |cells, bits| {
        CuckooingFilter::with_cells(cells, bits).moves(Moves::ShortestPath { cells: 500 })
    };
    CuckooingTwoTables = Cuckooing, 3, |cells, bits| {
        CuckooingFilter::with_cells(cells, bits).tables(2).moves(Moves::Walk { steps: 20 })
    };
    CuckooingBuckets = Cuckooing, 3, |cells, bits| {
        CuckooingFilter::with_cells(cells, bits).tables(2).cells_per_bucket(3)
    };
    Quotient = Quotient, 2, |cells, bits| QuotientFilter::with_slots(cells, bits);
    Telescoping = Telescoping, 2, |cells, bits| TelescopingFilter::with_slots(cells, bits);
    TelescopingSide = Telescoping, 2, |cells, bits| TelescopingFilter::with_slots(cells, bits).side_table(2);
    TelescopingPlain = TelescopingPlain, 2, |cells, bits| PlainTelescopingFilter::with_slots(cells, bits);
    Extension = Extension, 2, |cells, bits| ExtensionFilter::with_slots(cells, bits);
    ExtensionSide = Extension, 2, |cells, bits| ExtensionFilter::with_slots(cells, bits).side_table(2);
    Broom = Broom, 2, |cells, bits| BroomFilter::with_slots(cells, bits).form(BroomForm::TwoLevels);
    BroomBackYard = Broom, 2, |cells, bits| BroomFilter::with_slots(cells, bits).form(BroomForm::BackYard);
    BroomByRebuild = Broom, 2, |cells, bits| BroomFilter::with_slots(cells, bits).reclaim_by_rebuild();
    Remembering = Remembering, 3, |cells, bits| RememberingFilter::with_cells(cells, bits);
    RememberingWalk = Remembering, 3, |cells, bits| {
        RememberingFilter::with_cells(cells, bits).cells_per_bucket(3).search(Search::RandomWalk { steps: 300 })
    };
    RememberingBuckets = Remembering, 3, |cells, bits| {
        RememberingFilter::with_cells(cells, bits).aligned(true).cells_per_bucket(4)
    };
}

impl Variant {
    /// A filter with at least `cells` cells of `bits` bits, or of the variant's narrowest width, over a remote that holds
    /// no set yet.
    pub fn build<R: Remote>(
        self,
        cells: u64,
        bits: u32,
        hash: HashKey,
        remote: R,
    ) -> Result<AdaptiveFilter<dyn Backed, R>, Error> {
        AdaptiveFilter::over(self.make(cells, bits.max(self.narrowest()), hash)?, remote)
    }

    /// `true` if the variant has two hash functions, and its keys move from one to the other.
    pub fn has_phases(self) -> bool {
        self.kind() == Kind::Broom
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_variant() {
        let has_one = |kind: &&Kind| Variant::ALL.iter().any(|variant| variant.kind() == **kind);
        assert_eq!(Kind::ALL.iter().find(|kind| !has_one(kind)), None);
        for variant in Variant::ALL {
            let filter = variant.make(60, variant.narrowest(), HashKey::fixed(1)).unwrap();
            assert_eq!(filter.kind(), variant.kind());
        }
    }
}
