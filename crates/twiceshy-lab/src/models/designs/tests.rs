//! Designs compared with known numbers and with the filters themselves.

use super::*;
use crate::replay::FilterSpec;
use twiceshy::Kind;
use twiceshy::cuckoo::CuckooFilter;
use twiceshy::filter::Filter;
use twiceshy::hash::HashKey;
use twiceshy::quotient::{BroomFilter, BroomForm};
use twiceshy::remote::ByHash;

fn rate(design: Design) -> f64 {
    design.static_rate(0.95).expect("a filter")
}

#[test]
fn the_rates_that_the_papers_and_the_tests_of_the_filters_give_come_out() {
    for (design, load, expected) in [
        (Design::Cuckoo { tables: 4, cells: 1, bits: 8 }, 0.95, "1.482"),
        (Design::Cuckoo { tables: 4, cells: 1, bits: 12 }, 0.95, "0.093"),
        (Design::Cyclic { tables: 4, bits: 9, selector_bits: 1 }, 0.95, "1.482"),
        (Design::Swapping { tables: 2, cells: 4, bits: 8 }, 0.95, "2.942"),
        (Design::Cuckooing { tables: 4, cells: 1, bits: 8 }, 0.95, "1.482"),
        (Design::PartialKey { tables: 2, cells: 4, bits: 8 }, 0.9, "2.784"),
        (Design::PartialKey { tables: 2, cells: 4, bits: 5 }, 0.9, "20.726"),
        (Design::Telescoping { bits: 8 }, 0.95, "0.370"),
    ] {
        let found = design.static_rate(load).expect("a filter");
        assert_eq!(format!("{:.3}", 100.0 * found), expected, "{design:?}");
    }
    // 256 · 7/8 − 1 values of the first function.
    let found = rate(Design::CyclicUnequal { tables: 4, bits: 8, split: 3 });
    assert!((found - (1.0 - (1.0f64 - 0.95 / 223.0).powi(4))).abs() < 1e-12);
    // Wide fingerprints keep all their digits.
    let found = rate(Design::Cuckoo { tables: 4, cells: 1, bits: 40 });
    assert!((found / (3.8 / ((1u64 << 40) - 1) as f64) - 1.0).abs() < 1e-10);
    let second = rate(Design::BroomTwoLevels { bits: 8 }) / rate(Design::Quotient { bits: 8 });
    assert!((1.0..1.02).contains(&second), "{second}");
}

#[test]
fn a_filter_takes_the_bits_of_its_design() {
    const CELLS: u64 = 400_000;
    let keys = 0.95 * CELLS as f64;
    let hash = HashKey::fixed(1);
    let plain = CuckooFilter::with_cells(CELLS, 9).build(hash).expect("options").local_bits();
    let mut bits = vec![(Design::PartialKey { tables: 2, cells: 4, bits: 9 }, plain)];
    for (design, kind, width) in [
        (Design::Cuckoo { tables: 4, cells: 1, bits: 11 }, Kind::FullKey, 11),
        (Design::Cyclic { tables: 4, bits: 9, selector_bits: 1 }, Kind::Cyclic, 9),
        (Design::CyclicUnequal { tables: 4, bits: 9, split: 1 }, Kind::Cyclic, 9),
        (Design::Swapping { tables: 2, cells: 4, bits: 12 }, Kind::Swapping, 12),
        (Design::Cuckooing { tables: 4, cells: 1, bits: 8 }, Kind::Cuckooing, 8),
        (Design::Quotient { bits: 7 }, Kind::Quotient, 7),
        (Design::Telescoping { bits: 8 }, Kind::Telescoping, 8),
        (Design::TelescopingPlain { bits: 8 }, Kind::TelescopingPlain, 8),
        (Design::Extension { bits: 12 }, Kind::Extension, 12),
    ] {
        let options = FilterSpec::new(kind, width).options(CELLS).expect("a filter of ours");
        bits.push((design, options.build(hash, ByHash::new()).expect("options").local_bits()));
    }
    // 2·log₂ log₂ 400,000 = 8.43.
    let yard = Design::BroomBackYard { bits: 12, signature: 9 };
    for (design, width, form) in
        [(Design::BroomTwoLevels { bits: 7 }, 7, BroomForm::TwoLevels), (yard, 12, BroomForm::BackYard)]
    {
        let filter = BroomFilter::with_slots(CELLS, width).form(form).build(hash, ByHash::new());
        bits.push((design, filter.expect("options").local_bits()));
    }
    for (design, found) in bits {
        let (found, expected) = (found as f64 / keys, design.bits_per_key(0.95).expect("a filter"));
        assert!((found / expected - 1.0).abs() < 0.005, "{design:?}: {found} for {expected}");
    }
}

#[test]
fn bloom_filters_take_the_bits_that_they_are_given_and_have_the_rates_of_their_models() {
    let classic = Design::Bloom { bits_per_key: 10.0, functions: 7 };
    let blocked = Design::BlockedBloom { block_bits: 512, bits_per_key: 10.0, functions: 7 };
    let split = Design::SplitBlockBloom { words: 8, word_bits: 32, bits_per_key: 10.0 };
    assert_eq!([classic, blocked, split].map(|design| design.bits_per_key(0.95)), [Ok(10.0); 3]);
    let rates = [classic, blocked, split].map(rate);
    assert_eq!(
        rates,
        [bloom::classic_rate(10.0, 7), bloom::blocked_rate(512, 7, 10.0), bloom::split_block_rate(8, 32, 10.0)]
    );
}

#[test]
fn numbers_that_are_no_filter_are_refused() {
    let quotient = Design::Quotient { bits: 8 };
    for load in [0.0, -1.0, 1.1, f64::NAN] {
        assert!(matches!(quotient.static_rate(load), Err(DesignError::Load(_))));
    }
    for design in [
        Design::Quotient { bits: 0 },
        Design::Quotient { bits: 64 },
        Design::Cyclic { tables: 4, bits: 2, selector_bits: 2 },
        Design::Cyclic { tables: 4, bits: 2, selector_bits: 3 },
        Design::CyclicUnequal { tables: 4, bits: 8, split: 0 },
        Design::CyclicUnequal { tables: 4, bits: 2, split: 3 },
        Design::BroomBackYard { bits: 8, signature: 9 },
    ] {
        assert_eq!(design.static_rate(0.9), Err(DesignError::Width(design)));
        assert_eq!(design.bits_per_key(0.9), Err(DesignError::Width(design)));
    }
    for design in [
        Design::Cuckoo { tables: 0, cells: 1, bits: 8 },
        Design::Bloom { bits_per_key: f64::NAN, functions: 7 },
        Design::BlockedBloom { block_bits: 0, bits_per_key: 8.0, functions: 7 },
        Design::SplitBlockBloom { words: 8, word_bits: 0, bits_per_key: 8.0 },
    ] {
        assert!(matches!(design.static_rate(0.9), Err(DesignError::Nothing(_))), "{design:?}");
    }
}
