//! What the quotient family asks of its remote: one entry for each key, and nothing for what moves.

use super::{Draw, Pair, key, quotient, reads_a_reset};
use twiceshy::error::Error;
use twiceshy::filter::{Adapted, Filter, Progress};
use twiceshy::hash::HashKey;
use twiceshy::quotient::{
    ExtensionFilter, Options, PlainTelescopingFilter, QuotientFilter, Rule, RuleSpec, Stats, TelescopingFilter,
};
use twiceshy::remote::{ByHash, Counting, Counts};
use twiceshy::testing::saved;

const SLOTS: u64 = 1_000;
const WIDTH: u32 = 5;
const LOADS: [f64; 4] = [0.5, 0.7, 0.9, 0.95];

/// A filter over a remote that counts.
struct Counted<R: Rule> {
    pair: Pair<R, Counting<ByHash>>,
}

impl<R: Rule> Counted<R> {
    fn filled<S: RuleSpec<Rule = R>>(options: &Options<S>, load: f64) -> Counted<R> {
        Counted { pair: super::filled(options, load, HashKey::fixed(71), Counting::new(ByHash::new())) }
    }

    /// What one operation costs, how many reads of it were for resets, and what it returns.
    fn cost<T>(
        &mut self,
        operation: impl FnOnce(&mut Pair<R, Counting<ByHash>>) -> Result<T, Error>,
    ) -> (Counts, Stats, T) {
        self.pair.remote_mut().reset();
        let before = self.pair.filter().stats();
        let returned = operation(&mut self.pair).expect("the sets agree, and there is room");
        let after = self.pair.filter().stats();
        let mut since = Stats::default();
        since.reset_reads = after.reset_reads - before.reset_reads;
        since.resets_by_adapts = after.resets_by_adapts - before.resets_by_adapts;
        since.resets_by_shifts = after.resets_by_shifts - before.resets_by_shifts;
        since.shifted_slots = after.shifted_slots - before.shifted_slots;
        (self.pair.remote().counts(), since, returned)
    }

    /// Inserts a new key: one entry, and a read just where the filter matches already, but for resets.
    fn insert(&mut self, number: u64) -> Stats {
        let matched = self.pair.contains(&key(number));
        let (cost, since, inserted) = self.cost(|pair| pair.insert(&key(number)));
        assert!(inserted);
        assert_eq!((cost.writes, cost.commits, cost.keys_walked), (1, 1, 0), "key {number}");
        assert_eq!(cost.reads, u64::from(matched) + since.reset_reads, "key {number}");
        since
    }

    /// Removes a key: one entry, and one read, but for resets and for a second table.
    fn remove(&mut self, number: u64, tables: u64) -> Stats {
        let (cost, since, removed) = self.cost(|pair| pair.remove(&key(number)));
        assert!(removed);
        assert_eq!((cost.writes, cost.commits, cost.keys_walked), (1, 1, 0), "key {number}");
        assert!((1..=tables).contains(&(cost.reads - since.reset_reads)), "key {number}");
        since
    }

    /// Teaches the filter until this many mistakes were made: each reads once, and once more for each reset.
    fn teach(&mut self, from: u64, mistakes: u64) -> Stats {
        let mut met = Stats::default();
        let mut left = mistakes;
        for query in (from..).map(key) {
            let matched = self.pair.contains(&query);
            let (cost, since, adapted) = self.cost(|pair| pair.was_wrong(&query));
            assert_eq!(adapted, Adapted::Fixed);
            assert_eq!((cost.writes, cost.commits, cost.keys_walked), (0, 0, 0));
            assert_eq!(cost.reads, u64::from(matched) + since.reset_reads);
            let reads = since.resets_by_adapts * reads_a_reset::<R>();
            assert_eq!(since.reset_reads, reads, "one read brings the keys of a block");
            met.resets_by_adapts += since.resets_by_adapts;
            left -= u64::from(matched);
            if left == 0 {
                break;
            }
        }
        met
    }
}

/// A removal and an insertion at a time; how many resets and shifts that brought.
fn replace<R: Rule>(counted: &mut Counted<R>, turns: u64) -> Stats {
    let mut met = Stats::default();
    for turn in 0..turns {
        for since in [counted.remove(turn, 1), counted.insert(10_000 + turn)] {
            met.resets_by_shifts += since.resets_by_shifts;
            met.shifted_slots += since.shifted_slots;
        }
    }
    met
}

#[test]
fn an_insertion_and_a_removal_write_one_entry_whatever_they_shift_at_any_load() {
    for load in LOADS {
        let mut counted = Counted::filled(&QuotientFilter::with_slots(SLOTS, WIDTH), load);
        let met = replace(&mut counted, 300);
        assert!(met.shifted_slots > 100, "{} slots shifted at load {load}", met.shifted_slots);
        assert_eq!(counted.pair.remote().inner().len(), counted.pair.len() as usize);
    }
}

fn resets_cost_one_read_each<S: RuleSpec>(options: &Options<S>, expects_resets: bool) {
    let (mut by_adapts, mut by_shifts) = (0, 0);
    for load in LOADS {
        let mut counted = Counted::filled(options, load);
        for turn in 0..4 {
            by_adapts += counted.teach((1 << 40) + (turn << 30), 250).resets_by_adapts;
            let met = (turn * 120..turn * 120 + 120).map(|i| [counted.remove(i, 1), counted.insert(10_000 + i)]);
            by_shifts += met.flatten().map(|since| since.resets_by_shifts).sum::<u64>();
        }
        assert_eq!(counted.pair.validate(), Ok(()));
    }
    assert_eq!((by_adapts > 0, by_shifts > 0), (expects_resets, expects_resets), "{by_adapts} and {by_shifts}");
}

#[test]
fn an_adaptation_reads_once_and_writes_nothing_and_a_reset_reads_once_more() {
    resets_cost_one_read_each(&TelescopingFilter::with_slots(SLOTS, WIDTH), true);
    resets_cost_one_read_each(&TelescopingFilter::with_slots(SLOTS, WIDTH).side_table(100), false);
    resets_cost_one_read_each(&PlainTelescopingFilter::with_slots(SLOTS, WIDTH), false);
    resets_cost_one_read_each(&ExtensionFilter::with_slots(SLOTS, WIDTH), true);
}

#[test]
fn an_insertion_of_a_stored_key_reads_once_and_changes_nothing() {
    let mut counted = Counted::filled(&TelescopingFilter::with_slots(SLOTS, WIDTH), 0.9);
    counted.teach(1 << 40, 200);
    let before = saved(counted.pair.filter());
    for number in 0..counted.pair.len() {
        let (cost, _, again) = counted.cost(|pair| pair.insert(&key(number)));
        assert!(!again);
        assert_eq!((cost.reads, cost.writes, cost.commits), (1, 0, 0));
    }
    for number in 50_000..60_000 {
        let matched = counted.pair.contains(&key(number));
        let (cost, _, removed) = counted.cost(|pair| pair.remove(&key(number)));
        assert!(!removed);
        assert_eq!((cost.reads, cost.writes, cost.commits), (matched.into(), 0, 0));
    }
    assert!(saved(counted.pair.filter()) == before);
}

#[test]
fn a_read_brings_the_keys_of_one_quotient_and_no_others() {
    let mut counted = Counted::filled(&QuotientFilter::with_slots(SLOTS, WIDTH), 0.95);
    for number in 0..counted.pair.len() {
        let of = quotient(counted.pair.filter(), &key(number));
        let sharing =
            (0..counted.pair.len()).filter(|other| quotient(counted.pair.filter(), &key(*other)) == of).count();
        let (cost, ..) = counted.cost(|pair| pair.insert(&key(number)));
        assert_eq!(cost.keys_read, sharing as u64);
    }
}

/// Grows in steps between which keys come and go; each step walks on, and reads and writes nothing.
fn grows_by_a_walk_alone<S: RuleSpec>(options: &Options<S>, rekey: bool) {
    for load in LOADS {
        // Undisturbed: each key once.
        let mut counted = Counted::filled(options, load);
        let keys = counted.pair.len();
        let entries = if rekey { keys } else { 0 };
        let (cost, _, ()) =
            counted.cost(|pair| if rekey { pair.rekey(HashKey::fixed(3)) } else { pair.grow(2 * SLOTS + 1) });
        assert_eq!((cost.reads, cost.keys_walked, cost.writes), (0, keys, entries));
        assert_eq!(cost.commits > 0, rekey);
        assert_eq!(counted.pair.validate(), Ok(()));

        // Disturbed: what comes and goes is written once, and none of it by a step.
        let mut counted = Counted::filled(options, load);
        counted.pair.begin_grow(2 * SLOTS + 1).expect("nothing stands in the way");
        let (mut walked, mut draw, mut next) = (0, Draw(9 << 40), 10_000);
        let mut stored: Vec<u64> = (0..counted.pair.len()).collect();
        loop {
            let (cost, _, stepped) = counted.cost(|pair| pair.rebuild_step(7));
            assert_eq!((cost.reads, cost.writes, cost.commits), (0, 0, 0));
            walked += cost.keys_walked;
            if stepped == Progress::Done {
                break;
            }
            for _ in 0..2 {
                let gone = stored.swap_remove(draw.below(stored.len() as u64) as usize);
                counted.remove(gone, 2);
                counted.insert(next);
                stored.push(next);
                next += 1;
            }
            assert_eq!(counted.pair.validate(), Ok(()));
        }
        assert!(stored.iter().all(|number| counted.pair.contains(&key(*number))));
        assert_eq!((counted.pair.len(), counted.pair.filter().cells()), (stored.len() as u64, 2 * SLOTS + 1));
        assert!(walked >= stored.len() as u64 - (next - 10_000) && walked <= stored.len() as u64 + (next - 10_000));
        assert_eq!(counted.pair.validate(), Ok(()));
    }
}

#[test]
fn growth_walks_over_each_key_once_reads_no_candidates_and_writes_nothing() {
    grows_by_a_walk_alone(&QuotientFilter::with_slots(SLOTS, WIDTH), false);
    grows_by_a_walk_alone(&TelescopingFilter::with_slots(SLOTS, WIDTH), false);
    grows_by_a_walk_alone(&PlainTelescopingFilter::with_slots(SLOTS, WIDTH), false);
    grows_by_a_walk_alone(&ExtensionFilter::with_slots(SLOTS, WIDTH), false);
}

#[test]
fn another_hash_key_writes_each_key_once_more() {
    grows_by_a_walk_alone(&QuotientFilter::with_slots(SLOTS, WIDTH), true);
    grows_by_a_walk_alone(&ExtensionFilter::with_slots(SLOTS, WIDTH), true);
}
