//! What an adaptation says, and what a look-up says after it.

use super::{filled, key, reads_a_reset, saved};
use twiceshy::filter::{Adapted, Adaptive, Backed, Filter};
use twiceshy::hash::HashKey;
use twiceshy::quotient::{
    ExtensionFilter, Options, PlainTelescopingFilter, RankSelectFilter, RuleSpec, Saved, TelescopingFilter,
};
use twiceshy::remote::ByHash;

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

fn says_what_is<S: RuleSpec<Rule: Saved>>(options: &Options<S>)
where
    RankSelectFilter<S::Rule>: Adaptive,
{
    let mut remote = ByHash::new();
    let mut filter = filled(options, 0.95, HashKey::fixed(21), &mut remote);
    let (mut mistakes, stored) = (0, filter.len());
    for query in (1 << 40..(1 << 40) + 12_000).map(key) {
        let present = filter.contains(&query);
        let before = saved(&filter);
        assert_eq!(filter.adapt(&query, &mut remote).expect("the sets agree"), Adapted::Fixed);
        assert!(!filter.contains(&query), "said to be fixed, and present");
        assert_eq!(saved(&filter) != before, present, "an adaptation changes something just where it fixes something");
        mistakes += u64::from(present);
    }
    let before = saved(&filter);
    for number in 0..stored {
        assert_eq!(filter.adapt(&key(number), &mut remote).expect("the sets agree"), Adapted::Stored);
    }
    assert!(saved(&filter) == before, "an adaptation to a stored key changed something");
    let stats = filter.stats();
    assert_eq!((stats.adapts, stats.out_of_marks, filter.wants_rebuild()), (mistakes, 0, false));
    assert!(mistakes > 150, "{mistakes} mistakes");
}

#[test]
fn every_mistake_is_fixed_at_once_and_a_stored_key_is_told_from_it() {
    every_learner!(says_what_is, 701, 3);
    every_learner!(says_what_is, 701, 5);
    every_learner!(says_what_is, 700, 6);
}

/// Fills every slot of one block and teaches it until its code overflows: the very query that overflows it is fixed too.
fn fixes_what_overflows<S: RuleSpec<Rule: Saved>>(options: &Options<S>)
where
    RankSelectFilter<S::Rule>: Adaptive,
{
    let mut overflowed = 0;
    for seed in 0..20 {
        let mut remote = ByHash::new();
        let mut filter = filled(options, 1.0, HashKey::fixed(seed), &mut remote);
        assert_eq!(filter.len(), filter.cells());
        for query in (1 << 40..(1 << 40) + (200 << filter.width())).map(key) {
            let before = filter.stats();
            if filter.contains(&query) {
                assert_eq!(filter.adapt(&query, &mut remote).expect("the sets agree"), Adapted::Fixed, "seed {seed}");
                assert!(!filter.contains(&query), "seed {seed}");
            }
            let resets = filter.stats().resets_by_adapts - before.resets_by_adapts;
            assert_eq!(filter.stats().reset_reads - before.reset_reads, resets * reads_a_reset::<S::Rule>());
            overflowed += resets;
        }
        filter.validate(&remote).expect("every key has its slot");
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
