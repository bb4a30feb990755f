//! What a filter asks of its remote: the costs that the papers count apart from the filter's own.

use twiceshy::AdaptiveFilter;
use twiceshy::cuckoo::{
    CuckooingFilter, CyclicFilter, FullKeyCuckoo, FullKeyFilter, Options, RememberingFilter, RuleSpec, SwappingFilter,
};
use twiceshy::error::Error;
use twiceshy::filter::{Backed, Filter, Removed};
use twiceshy::hash::HashKey;
use twiceshy::remote::{ByHash, Counting, Counts, Mirror, Remote};
use twiceshy::testing::saved;

const CELLS: u64 = 504;

fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// A filter over a remote that counts.
type Pair<Rule, R> = AdaptiveFilter<FullKeyCuckoo<Rule>, Counting<R>>;

/// A filter over a remote that counts from its first key on.
fn empty<S: RuleSpec, R: Remote + Default>(options: &Options<S>) -> Pair<S::Rule, R> {
    let mut pair = options.build(HashKey::fixed(3), Counting::new(R::default())).expect("options that can be");
    pair.remote_mut().reset();
    pair
}

/// Filled to this load.
fn filled<S: RuleSpec, R: Remote + Default>(options: &Options<S>, load: f64) -> Pair<S::Rule, R> {
    let mut pair: Pair<_, R> = empty(options);
    let keys = (pair.filter().cells() as f64 * load) as u64;
    for number in 0.. {
        if pair.len() == keys {
            break;
        }
        match pair.insert(&key(number)) {
            Ok(_) | Err(Error::Full { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    pair
}

/// What one operation costs, and what it returns.
fn cost<F: Backed, R: Remote, T>(
    pair: &mut AdaptiveFilter<F, Counting<R>>,
    operation: impl FnOnce(&mut AdaptiveFilter<F, Counting<R>>) -> T,
) -> (Counts, T) {
    pair.remote_mut().reset();
    let returned = operation(pair);
    (pair.remote().counts(), returned)
}

/// Inserts up to 95 % load and removes everything again: each time exactly `orders` entries in one commit.
fn writes_each_key_once_an_order<S: RuleSpec>(options: &Options<S>, orders: u64) {
    let mut pair: Pair<_, ByHash> = empty(options);
    let mut kicks = 0;
    let mut stored = Vec::new();
    for number in 0..CELLS * 95 / 100 {
        let before = pair.filter().stats().path_cells;
        let (cost, inserted) = cost(&mut pair, |pair| pair.insert(&key(number)));
        match inserted {
            Ok(inserted) => {
                assert_eq!((inserted, cost.writes, cost.commits), (true, orders, 1), "key {number}");
                kicks += pair.filter().stats().path_cells - before - 1;
                stored.push(number);
            }
            Err(Error::Full { .. }) => assert_eq!((cost.writes, cost.commits), (0, 0), "key {number}"),
            Err(other) => panic!("{other}"),
        }
    }
    assert!(kicks > 50, "{kicks} kicks are too few to tell");
    for number in stored {
        let (cost, removed) = cost(&mut pair, |pair| pair.take(&key(number)));
        assert_eq!(removed.expect("a remote that does not fail"), Removed::Gone);
        assert_eq!((cost.writes, cost.commits), (orders, 1), "key {number}");
    }
    assert!(pair.remote().inner().is_empty());
}

#[test]
fn an_insertion_and_a_removal_write_one_entry_for_each_table_whatever_they_move() {
    writes_each_key_once_an_order(&FullKeyFilter::with_cells(CELLS, 8), 4);
    writes_each_key_once_an_order(&FullKeyFilter::with_cells(CELLS, 8).tables(3).cells_per_bucket(2), 3);
    writes_each_key_once_an_order(&CyclicFilter::with_cells(CELLS, 9), 4);
    writes_each_key_once_an_order(&SwappingFilter::with_cells(CELLS, 8), 2);
    writes_each_key_once_an_order(&CuckooingFilter::with_cells(CELLS, 8), 4);
    writes_each_key_once_an_order(&RememberingFilter::with_cells(CELLS, 8), 2);
}

/// Adapts to mistakes: reads, and never a write or a commit.
fn adapts_without_a_write<S: RuleSpec>(options: &Options<S>, load: f64) {
    let mut pair: Pair<_, ByHash> = filled(options, load);
    let (mut mistakes, mut changed) = (0, 0);
    for query in (10_000..15_000).map(key) {
        if pair.contains(&query) {
            let before = saved(pair.filter());
            let (cost, adapted) = cost(&mut pair, |pair| pair.was_wrong(&query));
            adapted.expect("a remote that does not fail");
            assert_eq!((cost.writes, cost.commits, cost.keys_walked), (0, 0, 0));
            assert!(cost.reads > 0, "nobody knows an owner without asking");
            mistakes += 1;
            changed += u32::from(saved(pair.filter()) != before);
        }
    }
    assert!(mistakes > 5 && changed * 2 > mistakes, "{changed} of {mistakes} mistakes taught something");
}

#[test]
fn adaptations_write_nothing_at_any_load() {
    for load in [0.2, 0.6, 0.95] {
        adapts_without_a_write(&CyclicFilter::with_cells(CELLS, 8), load);
        adapts_without_a_write(&SwappingFilter::with_cells(CELLS, 8), load);
        adapts_without_a_write(&CuckooingFilter::with_cells(CELLS, 8), load);
        adapts_without_a_write(&RememberingFilter::with_cells(CELLS, 8), load);
    }
}

/// Grows in small steps: one walk over the keys, and never a write or a commit.
fn grows_without_a_write<S: RuleSpec>(options: &Options<S>, load: f64) {
    let mut pair: Pair<_, ByHash> = filled(options, load);
    let (cost, grown) = cost(&mut pair, |pair| pair.grow(3 * CELLS));
    grown.expect("a third of the load fits");
    assert!(pair.filter().cells() >= 3 * CELLS);
    assert_eq!((cost.writes, cost.commits, cost.keys_walked), (0, 0, pair.len()));
}

#[test]
fn growth_under_the_same_hash_key_walks_over_each_key_once_and_writes_nothing() {
    for load in [0.2, 0.95] {
        grows_without_a_write(&FullKeyFilter::with_cells(CELLS, 8), load);
        grows_without_a_write(&CyclicFilter::with_cells(CELLS, 8), load);
        grows_without_a_write(&SwappingFilter::with_cells(CELLS, 8), load);
        grows_without_a_write(&CuckooingFilter::with_cells(CELLS, 8), load);
        grows_without_a_write(&RememberingFilter::with_cells(CELLS, 8), load);
    }
}

#[test]
fn another_hash_key_writes_each_key_anew_in_every_order() {
    let mut pair: Pair<_, ByHash> = filled(&CyclicFilter::with_cells(CELLS, 8), 0.8);
    let (cost, rekeyed) = cost(&mut pair, |pair| pair.rekey(HashKey::fixed(77)));
    rekeyed.expect("the load fits under most hash keys");
    assert_eq!((cost.writes, cost.keys_walked), (4 * pair.len(), pair.len()));
}

#[test]
fn an_insertion_reads_nothing_where_nothing_matches_and_a_cell_is_free() {
    let mut pair: Pair<_, ByHash> = empty(&FullKeyFilter::with_cells(CELLS, 8));
    let (mut unread, mut matched, mut kicked) = (0, 0, 0);
    for number in 0..CELLS * 95 / 100 {
        let absent = !pair.contains(&key(number));
        let before = pair.filter().stats().path_cells;
        let (cost, inserted) = cost(&mut pair, |pair| pair.insert(&key(number)));
        inserted.expect("a load that fits");
        let free = pair.filter().stats().path_cells - before == 1;
        let reads = (absent && free, cost.reads);
        match reads {
            (true, 0) => unread += 1,
            (false, 1..) => *(if absent { &mut kicked } else { &mut matched }) += 1,
            other => panic!("key {number}: {other:?}"),
        }
    }
    assert!(unread > 300 && matched > 0 && kicked > 0, "{unread}, {matched} and {kicked}");
}

fn ignores_stored_keys<S: RuleSpec, R: Remote + Default>(options: &Options<S>) {
    let mut pair: Pair<_, R> = empty(options);
    for number in 0..400 {
        pair.insert(&key(number)).expect("a load that fits");
    }
    let before = (saved(pair.filter()), pair.filter().stats());
    for number in 0..400 {
        let (cost, again) = cost(&mut pair, |pair| pair.insert(&key(number)));
        assert!(!again.expect("a remote that does not fail"));
        assert_eq!((cost.writes, cost.commits), (0, 0));
        assert!(cost.reads > 0, "only the remote knows that it is stored");
    }
    assert!((saved(pair.filter()), pair.filter().stats()) == before, "an insertion of a stored key changed something");
}

#[test]
fn an_insertion_of_a_stored_key_changes_nothing_and_says_so() {
    ignores_stored_keys::<_, ByHash>(&FullKeyFilter::with_cells(CELLS, 8));
    ignores_stored_keys::<_, ByHash>(&CyclicFilter::with_cells(CELLS, 5));
    ignores_stored_keys::<_, Mirror>(&SwappingFilter::with_cells(CELLS, 8));
    ignores_stored_keys::<_, Mirror>(&CuckooingFilter::with_cells(CELLS, 5));
}

#[test]
fn a_removal_of_a_key_that_is_not_stored_writes_nothing() {
    let mut pair: Pair<_, ByHash> = filled(&FullKeyFilter::with_cells(CELLS, 6), 0.9);
    let before = saved(pair.filter());
    let mut asked = 0;
    for number in 10_000..11_000 {
        let (cost, removed) = cost(&mut pair, |pair| pair.take(&key(number)));
        assert_eq!(removed.expect("a remote that does not fail"), Removed::NotStored);
        assert_eq!((cost.writes, cost.commits), (0, 0));
        asked += cost.reads;
    }
    assert!(asked > 10 && saved(pair.filter()) == before);
}

#[test]
fn a_mirror_hears_of_the_newcomer_and_of_every_key_that_it_kicks() {
    let mut pair: Pair<_, Mirror> = empty(&CyclicFilter::with_cells(CELLS, 9));
    let mut kicks = 0;
    for number in 0..CELLS * 95 / 100 {
        let before = pair.filter().stats().path_cells;
        let (cost, inserted) = cost(&mut pair, |pair| pair.insert(&key(number)));
        inserted.expect("a load that fits");
        let path = pair.filter().stats().path_cells - before;
        assert_eq!((cost.writes, cost.commits), (path, 1), "key {number}");
        kicks += path - 1;
    }
    assert!(kicks > 50, "{kicks} kicks are too few to tell");
    for number in 0..CELLS * 95 / 100 {
        let (cost, removed) = cost(&mut pair, |pair| pair.take(&key(number)));
        assert_eq!(removed.expect("a remote that does not fail"), Removed::Gone);
        assert_eq!((cost.writes, cost.commits), (1, 1));
    }
}

/// Adapts to mistakes over a mirror; how many moves it heard of.
fn moves_heard_of<S: RuleSpec>(options: &Options<S>) -> u64 {
    let mut pair: Pair<_, Mirror> = filled(options, 0.9);
    let mut heard = 0;
    for query in (10_000..15_000).map(key) {
        if pair.contains(&query) {
            let before = pair.filter().stats().moved_by_adapts;
            let (cost, adapted) = cost(&mut pair, |pair| pair.was_wrong(&query));
            adapted.expect("a remote that does not fail");
            let moved = pair.filter().stats().moved_by_adapts - before;
            assert_eq!((cost.writes, cost.commits), (moved, u64::from(moved > 0)));
            heard += moved;
        }
    }
    heard
}

#[test]
fn a_mirror_hears_of_swaps_and_moves_and_not_of_selectors() {
    assert_eq!(moves_heard_of(&CyclicFilter::with_cells(CELLS, 8)), 0);
    assert!(moves_heard_of(&SwappingFilter::with_cells(CELLS, 8)) > 50);
    assert!(moves_heard_of(&CuckooingFilter::with_cells(CELLS, 8)) > 50);
}

#[test]
fn a_grown_filter_is_a_new_mirror_with_a_write_for_each_key_and_kick() {
    let mut pair: Pair<_, Mirror> = filled(&SwappingFilter::with_cells(CELLS, 8), 0.9);
    let keys = pair.len();
    let (cost, grown) = cost(&mut pair, |pair| pair.grow(3 * CELLS));
    grown.expect("a third of the load fits");
    assert!((keys..keys + keys / 10).contains(&cost.writes), "{} writes for {keys} keys", cost.writes);
}
