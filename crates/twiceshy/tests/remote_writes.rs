//! What a filter asks of its remote: the costs that the papers count apart from the filter's own.

use twiceshy::cuckoo::{
    CuckooingFilter, CyclicFilter, FullKeyCuckoo, FullKeyFilter, Options, Rule, RuleSpec, Saved, SwappingFilter,
};
use twiceshy::error::InsertError;
use twiceshy::filter::{Adaptive, Backed, Filter, Inserted, Removed};
use twiceshy::hash::HashKey;
use twiceshy::remote::{ByHash, Counting, Counts, Mirror, Remote};

const CELLS: u64 = 504;

fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// A filter over a remote that counts from its first key on.
struct Counted<R, Rem> {
    filter: FullKeyCuckoo<R>,
    remote: Counting<Rem>,
}

impl<R: Rule + Saved, Rem: Remote + Default> Counted<R, Rem> {
    fn new<S: RuleSpec<Rule = R>>(options: &Options<S>) -> Counted<R, Rem> {
        let mut remote = Counting::new(Rem::default());
        let filter = options.build(HashKey::fixed(3), &mut remote).expect("options that can be");
        remote.reset();
        Counted { filter, remote }
    }

    /// Filled to this load, counting from there on.
    fn filled<S: RuleSpec<Rule = R>>(options: &Options<S>, load: f64) -> Counted<R, Rem> {
        let mut counted = Counted::new(options);
        let keys = (counted.filter.cells() as f64 * load) as u64;
        for number in 0.. {
            if counted.filter.len() == keys {
                break;
            }
            match counted.filter.insert(&key(number), &mut counted.remote) {
                Ok(_) | Err(InsertError::Full { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
        counted.remote.reset();
        counted
    }

    /// What one operation costs, and what it returns.
    fn cost<T>(&mut self, operation: impl FnOnce(&mut FullKeyCuckoo<R>, &mut Counting<Rem>) -> T) -> (Counts, T) {
        self.remote.reset();
        let returned = operation(&mut self.filter, &mut self.remote);
        (self.remote.counts(), returned)
    }

    fn saved(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.filter.save(&mut bytes).expect("a filter that is not in doubt");
        bytes
    }
}

/// Inserts up to 95 % load and removes everything again: each time exactly `orders` entries in one commit.
fn writes_each_key_once_an_order<S: RuleSpec<Rule: Saved>>(options: &Options<S>, orders: u64) {
    let mut counted: Counted<_, ByHash> = Counted::new(options);
    let mut kicks = 0;
    let mut stored = Vec::new();
    for number in 0..CELLS * 95 / 100 {
        let before = counted.filter.stats().path_cells;
        let (cost, inserted) = counted.cost(|filter, remote| filter.insert(&key(number), remote));
        match inserted {
            Ok(inserted) => {
                assert_eq!((inserted, cost.writes, cost.commits), (Inserted::New, orders, 1), "key {number}");
                kicks += counted.filter.stats().path_cells - before - 1;
                stored.push(number);
            }
            Err(InsertError::Full { .. }) => assert_eq!((cost.writes, cost.commits), (0, 0), "key {number}"),
            Err(other) => panic!("{other}"),
        }
    }
    assert!(kicks > 50, "{kicks} kicks are too few to tell");
    for number in stored {
        let (cost, removed) = counted.cost(|filter, remote| filter.remove(&key(number), remote));
        assert_eq!(removed.expect("a remote that does not fail"), Removed::Gone);
        assert_eq!((cost.writes, cost.commits), (orders, 1), "key {number}");
    }
    assert!(counted.remote.inner().is_empty());
}

#[test]
fn an_insertion_and_a_removal_write_one_entry_for_each_table_whatever_they_move() {
    writes_each_key_once_an_order(&FullKeyFilter::with_cells(CELLS, 8), 4);
    writes_each_key_once_an_order(&FullKeyFilter::with_cells(CELLS, 8).tables(3).cells_per_bucket(2), 3);
    writes_each_key_once_an_order(&CyclicFilter::with_cells(CELLS, 9), 4);
    writes_each_key_once_an_order(&SwappingFilter::with_cells(CELLS, 8), 2);
    writes_each_key_once_an_order(&CuckooingFilter::with_cells(CELLS, 8), 4);
}

/// Adapts to mistakes: reads, and never a write or a commit.
fn adapts_without_a_write<S: RuleSpec<Rule: Saved>>(options: &Options<S>, load: f64)
where
    FullKeyCuckoo<S::Rule>: Adaptive,
{
    let mut counted: Counted<_, ByHash> = Counted::filled(options, load);
    let (mut mistakes, mut changed) = (0, 0);
    for query in (10_000..15_000).map(key) {
        if counted.filter.contains(&query) {
            let before = counted.saved();
            let (cost, adapted) = counted.cost(|filter, remote| filter.adapt(&query, remote));
            adapted.expect("a remote that does not fail");
            assert_eq!((cost.writes, cost.commits, cost.keys_walked), (0, 0, 0));
            assert!(cost.reads > 0, "nobody knows an owner without asking");
            mistakes += 1;
            changed += u32::from(counted.saved() != before);
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
    }
}

/// Grows in small steps: one walk over the keys, and never a write or a commit.
fn grows_without_a_write<S: RuleSpec<Rule: Saved>>(options: &Options<S>, load: f64) {
    let mut counted: Counted<_, ByHash> = Counted::filled(options, load);
    let (cost, grown) = counted.cost(|filter, remote| filter.grow(3 * CELLS, remote));
    grown.expect("a third of the load fits");
    assert!(counted.filter.cells() >= 3 * CELLS);
    assert_eq!((cost.writes, cost.commits, cost.keys_walked), (0, 0, counted.filter.len()));
}

#[test]
fn growth_under_the_same_hash_key_walks_over_each_key_once_and_writes_nothing() {
    for load in [0.2, 0.95] {
        grows_without_a_write(&FullKeyFilter::with_cells(CELLS, 8), load);
        grows_without_a_write(&CyclicFilter::with_cells(CELLS, 8), load);
        grows_without_a_write(&SwappingFilter::with_cells(CELLS, 8), load);
        grows_without_a_write(&CuckooingFilter::with_cells(CELLS, 8), load);
    }
}

#[test]
fn another_hash_key_writes_each_key_anew_in_every_order() {
    let mut counted: Counted<_, ByHash> = Counted::filled(&CyclicFilter::with_cells(CELLS, 8), 0.8);
    let (cost, rekeyed) = counted.cost(|filter, remote| filter.rekey(HashKey::fixed(77), remote));
    rekeyed.expect("the load fits under most hash keys");
    assert_eq!((cost.writes, cost.keys_walked), (4 * counted.filter.len(), counted.filter.len()));
}

#[test]
fn an_insertion_reads_nothing_where_nothing_matches_and_a_cell_is_free() {
    let mut counted: Counted<_, ByHash> = Counted::new(&FullKeyFilter::with_cells(CELLS, 8));
    let (mut unread, mut matched, mut kicked) = (0, 0, 0);
    for number in 0..CELLS * 95 / 100 {
        let absent = !counted.filter.contains(&key(number));
        let before = counted.filter.stats().path_cells;
        let (cost, inserted) = counted.cost(|filter, remote| filter.insert(&key(number), remote));
        inserted.expect("a load that fits");
        let free = counted.filter.stats().path_cells - before == 1;
        let reads = (absent && free, cost.reads);
        match reads {
            (true, 0) => unread += 1,
            (false, 1..) => *(if absent { &mut kicked } else { &mut matched }) += 1,
            other => panic!("key {number}: {other:?}"),
        }
    }
    assert!(unread > 300 && matched > 0 && kicked > 0, "{unread}, {matched} and {kicked}");
}

fn ignores_stored_keys<S: RuleSpec<Rule: Saved>, Rem: Remote + Default>(options: &Options<S>) {
    let mut counted: Counted<_, Rem> = Counted::new(options);
    for number in 0..400 {
        counted.filter.insert(&key(number), &mut counted.remote).expect("a load that fits");
    }
    let before = (counted.saved(), counted.filter.stats());
    for number in 0..400 {
        let (cost, again) = counted.cost(|filter, remote| filter.insert(&key(number), remote));
        assert_eq!(again.expect("a remote that does not fail"), Inserted::AlreadyStored);
        assert_eq!((cost.writes, cost.commits), (0, 0));
        assert!(cost.reads > 0, "only the remote knows that it is stored");
    }
    assert!((counted.saved(), counted.filter.stats()) == before, "an insertion of a stored key changed something");
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
    let mut counted: Counted<_, ByHash> = Counted::filled(&FullKeyFilter::with_cells(CELLS, 6), 0.9);
    let before = counted.saved();
    let mut asked = 0;
    for number in 10_000..11_000 {
        let (cost, removed) = counted.cost(|filter, remote| filter.remove(&key(number), remote));
        assert_eq!(removed.expect("a remote that does not fail"), Removed::NotStored);
        assert_eq!((cost.writes, cost.commits), (0, 0));
        asked += cost.reads;
    }
    assert!(asked > 10 && counted.saved() == before);
}

#[test]
fn a_mirror_hears_of_the_newcomer_and_of_every_key_that_it_kicks() {
    let mut counted: Counted<_, Mirror> = Counted::new(&CyclicFilter::with_cells(CELLS, 9));
    let mut kicks = 0;
    for number in 0..CELLS * 95 / 100 {
        let before = counted.filter.stats().path_cells;
        let (cost, inserted) = counted.cost(|filter, remote| filter.insert(&key(number), remote));
        inserted.expect("a load that fits");
        let path = counted.filter.stats().path_cells - before;
        assert_eq!((cost.writes, cost.commits), (path, 1), "key {number}");
        kicks += path - 1;
    }
    assert!(kicks > 50, "{kicks} kicks are too few to tell");
    for number in 0..CELLS * 95 / 100 {
        let (cost, removed) = counted.cost(|filter, remote| filter.remove(&key(number), remote));
        assert_eq!(removed.expect("a remote that does not fail"), Removed::Gone);
        assert_eq!((cost.writes, cost.commits), (1, 1));
    }
}

/// Adapts to mistakes over a mirror; how many moves it heard of.
fn moves_heard_of<S: RuleSpec<Rule: Saved>>(options: &Options<S>) -> u64
where
    FullKeyCuckoo<S::Rule>: Adaptive,
{
    let mut counted: Counted<_, Mirror> = Counted::filled(options, 0.9);
    let mut heard = 0;
    for query in (10_000..15_000).map(key) {
        if counted.filter.contains(&query) {
            let before = counted.filter.stats().moved_by_adapts;
            let (cost, adapted) = counted.cost(|filter, remote| filter.adapt(&query, remote));
            adapted.expect("a remote that does not fail");
            let moved = counted.filter.stats().moved_by_adapts - before;
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
    let mut counted: Counted<_, Mirror> = Counted::filled(&SwappingFilter::with_cells(CELLS, 8), 0.9);
    let keys = counted.filter.len();
    let (cost, grown) = counted.cost(|filter, remote| filter.grow(3 * CELLS, remote));
    grown.expect("a third of the load fits");
    assert!((keys..keys + keys / 10).contains(&cost.writes), "{} writes for {keys} keys", cost.writes);
}
