//! Insertions, removals and adaptations in turn at 70 to 95 % load, with remainders that divide no word.
//!
//! Blocks overflow all the time, by adaptations and by marks that insertions and removals carry into them. A reset that
//! forgets the selectors and not the remainders, or the other way round, loses keys.

use super::{Draw, Pair, key};
use twiceshy::filter::Adapted;
use twiceshy::hash::HashKey;
use twiceshy::quotient::{
    ExtensionFilter, Options, PlainTelescopingFilter, Rule, RuleSpec, SelectorCode, Stats, TelescopingFilter,
};
use twiceshy::remote::ByHash;

const SLOTS: u64 = 16_001;

/// Turns of a long run, each of which ends with a look-up of every key.
const TURNS: u64 = 6;

struct Mixed<R: Rule> {
    pair: Pair<R>,
    stored: Vec<u64>,
    next: u64,
    draw: Draw,
    /// Queries that were mistakes once.
    mistakes: Vec<u64>,
    asked: u64,
}

impl<R: Rule> Mixed<R> {
    fn insert(&mut self) {
        assert!(self.pair.insert(&key(self.next)).expect("a load that fits"));
        self.stored.push(self.next);
        self.next += 1;
    }

    fn remove(&mut self) {
        let chosen = self.draw.below(self.stored.len() as u64) as usize;
        let gone = self.stored.swap_remove(chosen);
        assert!(self.pair.remove(&key(gone)).expect("the sets agree"));
    }

    /// Asks for an absent key; whether it was a mistake.
    fn ask(&mut self, query: u64) -> bool {
        let query = key(query);
        if !self.pair.contains(&query) {
            return false;
        }
        let adapted = self.pair.was_wrong(&query).expect("the sets agree");
        assert_eq!((adapted, self.pair.contains(&query)), (Adapted::Fixed, false));
        true
    }

    /// A turn with up to this many mistakes: towards 95 % load or back to 70 %, and queries all the while.
    fn turn(&mut self, load: f64, mistakes: u64) {
        let wanted = (SLOTS as f64 * load) as usize;
        let mut left = mistakes;
        let changes = wanted.abs_diff(self.stored.len()) as u64 * 3;
        for change in 0..changes {
            // Two steps forward, one back.
            if (self.stored.len() < wanted) == (change % 3 != 2) {
                self.insert()
            } else {
                self.remove()
            }
            // Old mistakes come again, and new ones are looked for until there is one.
            if left > 0 && change * mistakes / changes >= mistakes - left {
                let again = self.mistakes.len() as u64;
                if again > 0 && self.draw.below(3) == 0 {
                    let old = self.mistakes[self.draw.below(again) as usize];
                    self.ask(old);
                }
                let mut query = (1 << 40) + self.asked;
                while !self.ask(query) {
                    query += 1;
                }
                self.asked = query + 1 - (1 << 40);
                self.mistakes.push(query);
                left -= 1;
            }
        }
        let lost = self.stored.iter().filter(|number| !self.pair.contains(&key(**number))).count();
        assert_eq!(lost, 0, "of {} keys", self.stored.len());
    }
}

/// A long run; what it met.
fn live<S: RuleSpec>(options: &Options<S>, mistakes: u64) -> (Stats, u64) {
    let pair = options.build(HashKey::fixed(11).for_trusted_keys(), ByHash::new()).expect("options that can be");
    let mut mixed = Mixed { pair, stored: Vec::new(), next: 0, draw: Draw(1 << 20), mistakes: Vec::new(), asked: 0 };
    (0..SLOTS * 3 / 4).for_each(|_| mixed.insert());
    let mut beside = 0;
    for turn in 0..TURNS {
        mixed.turn(if turn % 2 == 0 { 0.95 } else { 0.7 }, mistakes / TURNS);
        beside = mixed.pair.filter().stats().side_blocks.max(beside);
        if turn % 2 == 0 || turn + 1 == TURNS {
            assert_eq!(mixed.pair.validate(), Ok(()), "after turn {turn}");
        }
    }
    let stats = mixed.pair.filter().stats();
    println!(
        "{:>9} queries, {:5} mistakes, {:5} resets by adapts, {:5} by shifts, {beside} blocks beside",
        mixed.asked, stats.adapts, stats.resets_by_adapts, stats.resets_by_shifts
    );
    (stats, beside)
}

/// Mistakes for a width: enough for every block to overflow, where the code allows less the wider it is.
fn mistakes(width: u32) -> u64 {
    match width {
        3 => 24_000,
        5 => 16_000,
        7 => 10_000,
        9 => 9_000,
        11 => 4_000,
        _ => 3_500,
    }
}

/// Runs every kind with remainders of this width.
fn every_kind(width: u32) {
    let mut telescoping = TelescopingFilter::with_slots(SLOTS, width);
    if width > 10 {
        // A code that overflows early, since mistakes are rare.
        telescoping = telescoping.code(SelectorCode::General { x: 14, y: 8 });
    }
    let extension = ExtensionFilter::with_slots(SLOTS, width);
    let mistakes = mistakes(width);
    for (stats, _) in [live(&telescoping, mistakes), live(&extension, mistakes)] {
        assert!(stats.resets_by_adapts > 20 && stats.resets_by_shifts > 20, "{stats:?}");
    }
    // A side table for some blocks, and then for all.
    let (stats, beside) = live(&telescoping.clone().side_table(12), mistakes);
    assert!(stats.resets_by_adapts > 5 && stats.resets_by_shifts > 5 && beside == 12, "{stats:?}, {beside} beside");
    let (stats, beside) = live(&telescoping.side_table(1_000), mistakes);
    assert_eq!((stats.resets_by_adapts, stats.resets_by_shifts, stats.reset_reads), (0, 0, 0));
    assert!(beside > 20, "{beside} blocks beside");
    let (stats, beside) = live(&PlainTelescopingFilter::with_slots(SLOTS, width), mistakes);
    assert_eq!((stats.resets_by_adapts, stats.resets_by_shifts, beside), (0, 0, 0));
}

#[test]
fn no_key_is_lost_to_resets_with_remainders_of_3_bits() {
    every_kind(3);
}

#[test]
fn no_key_is_lost_to_resets_with_remainders_of_5_bits() {
    every_kind(5);
}

#[test]
fn no_key_is_lost_to_resets_with_remainders_of_7_bits() {
    every_kind(7);
}

#[test]
fn no_key_is_lost_to_resets_with_remainders_of_9_bits() {
    every_kind(9);
}

#[test]
fn no_key_is_lost_to_resets_with_remainders_of_11_bits() {
    every_kind(11);
}

#[test]
fn no_key_is_lost_to_resets_with_remainders_of_13_bits() {
    every_kind(13);
}
