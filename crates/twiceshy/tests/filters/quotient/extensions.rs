//! Extensions that are too long to be kept as they are: keys and queries that share many bits behind quotient and remainder.
//!
//! One stored key in a tiny table, so that the first bits of a string decide alone: the lowest 24 of hash word 0, then word 1.
//! Among some millions of keys there are pairs that share 40 of them.

use super::key;
use twiceshy::AdaptiveFilter;
use twiceshy::filter::Adapted;
use twiceshy::hash::HashKey;
use twiceshy::quotient::ExtensionFilter;
use twiceshy::remote::ByHash;

const WIDTH: u32 = 2;
/// What ten more bits add to a mark where they are skipped.
const SKIP: u16 = 2048;

fn hash() -> HashKey {
    HashKey::fixed(41).for_trusted_keys()
}

/// Pairs of numbers with a property of their keys' words 0, and the bits that they share at the beginning of their strings.
fn pairs(numbers: u64, among: impl Fn(u64) -> bool) -> Vec<(u32, u64, u64)> {
    let strand = |number: u64| {
        let key = key(number);
        let hash = hash();
        let (word, next) = (hash.words(&key).word(0), hash.words(&key).word(1));
        among(word).then(|| ((word & 0xFF_FFFF | next << 24).reverse_bits(), number))
    };
    let mut strands: Vec<(u64, u64)> = (0..numbers).filter_map(strand).collect();
    strands.sort_unstable();
    strands.windows(2).map(|pair| ((pair[0].0 ^ pair[1].0).leading_zeros(), pair[0].1, pair[1].1)).collect()
}

/// A filter of `slots` slots that holds one key, and a mistake that it makes.
fn holding(slots: u64, stored: u64, query: u64) -> AdaptiveFilter<ExtensionFilter> {
    let options = ExtensionFilter::with_slots(slots, WIDTH);
    let mut pair = options.build(hash(), ByHash::new()).expect("options that can be");
    pair.insert(&key(stored)).expect("an empty table");
    assert!(pair.contains(&key(query)), "they share a quotient and a remainder");
    pair
}

fn only_mark(filter: &ExtensionFilter) -> u16 {
    (0..filter.blocks()).flat_map(|block| filter.marks(block)).sum()
}

#[test]
fn a_query_that_shares_up_to_39_more_bits_with_a_key_is_fixed_by_skipping_tens_of_them() {
    let mut met = [0; 4];
    // In the second slot of a block: where the first one has a mark, the unlikeliest are no codes.
    for (shared, stored, query) in
        pairs(1 << 21, |word| word >> 63 == 1).into_iter().filter(|(shared, ..)| *shared >= WIDTH)
    {
        let behind = shared - WIDTH;
        let skips = (behind / 10) as usize;
        if behind >= 40 || met[skips] >= 40 {
            continue;
        }
        met[skips] += 1;
        let mut pair = holding(2, stored, query);
        assert_eq!(pair.was_wrong(&key(query)).expect("the sets agree"), Adapted::Fixed, "{behind} bits");
        assert!(!pair.contains(&key(query)) && pair.contains(&key(stored)), "{behind} bits");
        assert_eq!(usize::from(only_mark(pair.filter()) / SKIP), skips, "{behind} bits");
        assert_eq!((pair.validate(), pair.wants_rebuild()), (Ok(()), false));
    }
    assert!(met[0] > 0 && met[1] >= 40 && met[2] >= 40 && met[3] >= 3, "{met:?} pairs by their skips");
}

/// A new hash key tells the two apart.
fn is_mended_by_a_new_hash_key(mut pair: AdaptiveFilter<ExtensionFilter>, stored: u64, query: u64) {
    let keys = (50..).map(HashKey::fixed).take(40);
    for hash in keys {
        pair.rekey(hash).expect("a load that fits");
        assert!(!pair.wants_rebuild(), "a new table answers the wish");
        assert_eq!(pair.was_wrong(&key(query)).expect("the sets agree"), Adapted::Fixed);
        assert!(!pair.contains(&key(query)) && pair.contains(&key(stored)));
        assert_eq!(pair.validate(), Ok(()));
    }
}

#[test]
fn a_query_that_shares_40_more_bits_is_unfixable_until_there_is_another_hash_key() {
    let found = pairs(1 << 22, |_| true).into_iter().find(|(shared, ..)| *shared >= WIDTH + 40);
    let (shared, stored, query) = found.expect("two expected pairs");
    let mut pair = holding(1, stored, query);
    for turn in 1..4 {
        let adapted = pair.was_wrong(&key(query)).expect("the sets agree");
        assert_eq!(adapted, Adapted::Unfixable, "{shared} bits");
        assert!(pair.contains(&key(query)) && pair.contains(&key(stored)));
        assert_eq!((pair.validate(), pair.wants_rebuild(), pair.filter().stats().out_of_marks), (Ok(()), true, turn));
        assert_eq!(only_mark(pair.filter()), 0, "what tells nothing apart is not kept");
    }
    is_mended_by_a_new_hash_key(pair, stored, query);
}

/// In the last slot of a block, 63 zeros come before the mark and leave some 33 bits of the code for it.
#[test]
fn an_extension_that_fits_into_no_code_is_left_out_and_a_new_hash_key_is_wanted() {
    let last = |word: u64| word >> 58 == 63;
    let (mut fixed, mut left) = (0, 0);
    let mut least = u32::MAX;
    for (shared, stored, query) in pairs(1 << 22, last).into_iter().filter(|(shared, ..)| *shared >= WIDTH + 18) {
        let behind = shared - WIDTH;
        let mut pair = holding(64, stored, query);
        match pair.was_wrong(&key(query)).expect("the sets agree") {
            Adapted::Fixed => {
                fixed += 1;
                assert!(!pair.contains(&key(query)) && !pair.wants_rebuild(), "{behind} bits");
            }
            Adapted::StillPresent => {
                left += 1;
                least = least.min(behind);
                assert!(pair.contains(&key(query)) && pair.wants_rebuild(), "{behind} bits");
                assert_eq!((only_mark(pair.filter()), pair.filter().stats().out_of_marks), (0, 1), "{behind} bits");
                if left == 1 {
                    is_mended_by_a_new_hash_key(pair.clone(), stored, query);
                }
            }
            other => panic!("{behind} bits: {other:?}"),
        }
        assert!(pair.contains(&key(stored)));
        assert_eq!(pair.validate(), Ok(()));
    }
    assert!(fixed > 10 && left > 0, "{fixed} fixed, {left} left");
    assert!(least >= 24, "{least} shared bits are said to fit");
}
