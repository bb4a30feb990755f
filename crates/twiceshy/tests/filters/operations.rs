//! Any sequence of operations against an exact set, over every filter with a remote and the kinds of remote that it can have.

use proptest::prelude::*;
use twiceshy::remote::{ByHash, Mirror};
use twiceshy::testing::{Variant, decode, run};

/// Pseudo-random bytes from a seed.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..len).map(|_| next()).collect()
}

fn ten_thousand_operations(variant: Variant) {
    for (seed, cells, bits) in [(1, 150, 8), (2, 400, 6), (3, 60, 11), (4, 520, 17)] {
        let operations = decode(&bytes(seed + 100 * variant as u64, 3 * 2_500));
        let by_hash = run(variant, cells, bits, seed, ByHash::new(), &operations);
        assert_eq!(by_hash, Ok(()), "{variant:?} by hash, seed {seed}, {cells} cells of {bits} bits");
        if variant.kind().has_cells() {
            let mirror = run(variant, cells, bits, seed, Mirror::new(), &operations);
            assert_eq!(mirror, Ok(()), "{variant:?} with a mirror, seed {seed}, {cells} cells of {bits} bits");
        }
    }
}

macro_rules! long_runs {
    ($($name:ident: $variant:ident;)*) => {
        $(#[test]
        fn $name() {
            ten_thousand_operations(Variant::$variant);
        })*

        #[test]
        fn every_variant_has_its_long_run() {
            assert_eq!([$(Variant::$variant),*], Variant::ALL);
        }
    };
}

long_runs! {
    full_key_survives_ten_thousand_mixed_operations: FullKey;
    cyclic_survives_ten_thousand_mixed_operations: CyclicOneBit;
    cyclic_without_selectors_survives_ten_thousand_mixed_operations: CyclicNoBits;
    cyclic_with_four_bits_survives_ten_thousand_mixed_operations: CyclicFourBits;
    cyclic_refined_survives_ten_thousand_mixed_operations: CyclicRefined;
    cyclic_with_unequal_ranges_survives_ten_thousand_mixed_operations: CyclicUnequal;
    cyclic_with_offsets_survives_ten_thousand_mixed_operations: CyclicOffsets;
    swapping_survives_ten_thousand_mixed_operations: Swapping;
    swapping_all_survives_ten_thousand_mixed_operations: SwappingAll;
    swapping_three_by_two_survives_ten_thousand_mixed_operations: SwappingNarrow;
    cuckooing_survives_ten_thousand_mixed_operations: Cuckooing;
    cuckooing_shared_survives_ten_thousand_mixed_operations: CuckooingShared;
    cuckooing_shortest_survives_ten_thousand_mixed_operations: CuckooingShortest;
    cuckooing_two_tables_survives_ten_thousand_mixed_operations: CuckooingTwoTables;
    cuckooing_buckets_survives_ten_thousand_mixed_operations: CuckooingBuckets;
    quotient_survives_ten_thousand_mixed_operations: Quotient;
    telescoping_survives_ten_thousand_mixed_operations: Telescoping;
    telescoping_with_a_side_table_survives_ten_thousand_mixed_operations: TelescopingSide;
    telescoping_plain_survives_ten_thousand_mixed_operations: TelescopingPlain;
    extension_survives_ten_thousand_mixed_operations: Extension;
    extension_with_a_side_table_survives_ten_thousand_mixed_operations: ExtensionSide;
    broom_survives_ten_thousand_mixed_operations: Broom;
    broom_with_a_back_yard_survives_ten_thousand_mixed_operations: BroomBackYard;
    broom_by_rebuild_survives_ten_thousand_mixed_operations: BroomByRebuild;
    remembering_survives_ten_thousand_mixed_operations: Remembering;
    remembering_with_walks_survives_ten_thousand_mixed_operations: RememberingWalk;
    remembering_in_buckets_survives_ten_thousand_mixed_operations: RememberingBuckets;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_short_sequence_keeps_every_promise(
        variant in 0..Variant::ALL.len(),
        cells in 1u64..200,
        extra in 0u32..10,
        seed in any::<u64>(),
        input in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let variant = Variant::ALL[variant];
        let bits = variant.narrowest() + extra;
        let operations = decode(&input);
        prop_assert_eq!(run(variant, cells, bits, seed, ByHash::new(), &operations), Ok(()));
        if variant.kind().has_cells() {
            prop_assert_eq!(run(variant, cells, bits, seed, Mirror::new(), &operations), Ok(()));
        }
    }
}
