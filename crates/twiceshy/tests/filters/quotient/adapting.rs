//! What an adaptation says, and what a look-up says after it.

use super::{filled, key, reads_a_reset};
use twiceshy::filter::{Adapted, Filter};
use twiceshy::hash::HashKey;
use twiceshy::quotient::{ExtensionFilter, Options, PlainTelescopingFilter, RuleSpec, TelescopingFilter};
use twiceshy::remote::ByHash;
use twiceshy::testing::saved;

/// Calls a check with options of every kind that learns.
macro_rules! every_learner {
    ($check:ident, $slots:expr, $width:expr) => {{
        $check(&TelescopingFilter::with_slots($slots, $width));
        $check(&TelescopingFilter::with_slots($slots, $width).side_table(3));
        $check(&PlainTelescopingFilter::with_slots($slots, $width));
        $check(&ExtensionFilter::with_slots($slots, $width));
        $check(&ExtensionFilter::with_slots($slots, $width).side_table(3));
    }};
}

fn says_what_is<S: RuleSpec>(options: &Options<S>) {
    let mut pair = filled(options, 0.95, HashKey::fixed(21), ByHash::new());
    let (mut mistakes, stored) = (0, pair.len());
    for query in (1 << 40..(1 << 40) + 12_000).map(key) {
        let present = pair.contains(&query);
        let before = saved(pair.filter());
        assert_eq!(pair.was_wrong(&query).expect("the sets agree"), Adapted::Fixed);
        assert!(!pair.contains(&query), "said to be fixed, and present");
        assert_eq!(
            saved(pair.filter()) != before,
            present,
            "an adaptation changes something just where it fixes something"
        );
        mistakes += u64::from(present);
    }
    let before = saved(pair.filter());
    for number in 0..stored {
        assert_eq!(pair.was_wrong(&key(number)).expect("the sets agree"), Adapted::Stored);
    }
    assert!(saved(pair.filter()) == before, "an adaptation to a stored key changed something");
    let stats = pair.filter().stats();
    assert_eq!((stats.adapts, stats.out_of_marks, pair.wants_rebuild()), (mistakes, 0, false));
    assert!(mistakes > 150, "{mistakes} mistakes");
}

#[test]
fn every_mistake_is_fixed_at_once_and_a_stored_key_is_told_from_it() {
    every_learner!(says_what_is, 701, 3);
    every_learner!(says_what_is, 701, 5);
    every_learner!(says_what_is, 700, 6);
}

/// Fills every slot of one block and teaches it until its code overflows: the very query that overflows it is fixed too.
fn fixes_what_overflows<S: RuleSpec>(options: &Options<S>) {
    let mut overflowed = 0;
    for seed in 0..20 {
        let mut pair = filled(options, 1.0, HashKey::fixed(seed), ByHash::new());
        assert_eq!(pair.len(), pair.filter().cells());
        for query in (1 << 40..(1 << 40) + (200 << pair.filter().width())).map(key) {
            let before = pair.filter().stats();
            if pair.contains(&query) {
                assert_eq!(pair.was_wrong(&query).expect("the sets agree"), Adapted::Fixed, "seed {seed}");
                assert!(!pair.contains(&query), "seed {seed}");
            }
            let resets = pair.filter().stats().resets_by_adapts - before.resets_by_adapts;
            assert_eq!(pair.filter().stats().reset_reads - before.reset_reads, resets * reads_a_reset::<S::Rule>());
            overflowed += resets;
        }
        pair.validate().expect("every key has its slot");
    }
    assert!(overflowed > 40, "{overflowed} overflows");
}

#[test]
fn the_query_that_overflows_a_block_is_fixed_like_any_other() {
    fixes_what_overflows(&TelescopingFilter::with_slots(64, 5));
    fixes_what_overflows(&TelescopingFilter::with_slots(64, 8));
    fixes_what_overflows(&ExtensionFilter::with_slots(64, 5));
    fixes_what_overflows(&ExtensionFilter::with_slots(64, 8));
    fixes_what_overflows(&ExtensionFilter::with_slots(63, 2));
}
