//! The table's naive twin: a sorted list of runs, laid out again for every question.

use super::block::{Annex, Layout, SLOTS};
use super::numbers::{Quotient, Slot};
use super::table::{Table, spare_slots};
use crate::packed::word::{Portable, Word64, Work, dispatch};
use crate::rng::SplitMix64;
use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Clone, Debug, Default)]
struct Twin {
    runs: BTreeMap<Quotient, Vec<u32>>,
}

impl Twin {
    fn layout(&self) -> Vec<(Quotient, Range<Slot>)> {
        let mut end = Slot(0);
        let place = |(quotient, run): (&Quotient, &Vec<u32>)| {
            let start = end.max(quotient.slot());
            end = start + run.len() as u64;
            (*quotient, start..end)
        };
        self.runs.iter().map(place).collect()
    }

    fn taken(&self) -> Vec<Slot> {
        self.layout().into_iter().flat_map(|(_, run)| Slot::each(run)).collect()
    }

    fn first_free(&self, from: Slot) -> Slot {
        let taken = self.taken();
        (from.0..).map(Slot).find(|slot| taken.binary_search(slot).is_err()).unwrap()
    }

    fn insert(&mut self, quotient: Quotient, remainder: u32) {
        self.runs.entry(quotient).or_default().push(remainder);
    }

    fn remove(&mut self, quotient: Quotient, nth: usize) {
        let run = self.runs.get_mut(&quotient).unwrap();
        run.remove(nth);
        if run.is_empty() {
            self.runs.remove(&quotient);
        }
    }
}

/// Finds the run of a quotient with the fast instructions.
struct Run<'a>(&'a Table, Quotient);

impl Work for Run<'_> {
    type Output = Option<Range<Slot>>;

    fn run<W: Word64>(self) -> Self::Output {
        self.0.run::<W>(self.1)
    }
}

fn compare(table: &Table, twin: &Twin) {
    let layout = twin.layout();
    let runs: BTreeMap<Quotient, Range<Slot>> = layout.iter().cloned().collect();
    for quotient in (0..table.slots()).map(Quotient) {
        let run = table.run::<Portable>(quotient);
        assert_eq!(run, runs.get(&quotient).cloned(), "the run of {quotient}");
        assert_eq!(run, dispatch(Run(table, quotient)), "the run of {quotient}, fast");
        let remainders = run.map(|run| Slot::each(run).map(|slot| table.blocks.remainder(slot)).collect::<Vec<_>>());
        assert_eq!(remainders.as_ref(), twin.runs.get(&quotient), "what the run of {quotient} holds");
    }
    for block in table.blocks.numbers() {
        let slots = block.slots();
        let over = |(_, run): &(Quotient, Range<Slot>)| run.end > slots.start && run.start < slots.end;
        let expected: Vec<_> = layout.iter().filter(|run| over(run)).cloned().collect();
        assert_eq!(table.runs_over(block..block.next()).collect::<Vec<_>>(), expected, "the runs over block {block}");
    }
    assert_eq!(table.check(), Ok(twin.runs.values().map(|run| run.len() as u64).sum()));
}

/// Writes garbage to every slot that no run holds.
fn fill_free_slots_with_garbage(table: &mut Table, twin: &Twin, rng: &mut SplitMix64) {
    let taken = twin.taken();
    for slot in Slot::each(Slot(0)..table.end()).filter(|slot| taken.binary_search(slot).is_err()) {
        table.blocks.set_remainder(slot, rng.next() as u32);
    }
}

/// Inserts and removes at random, in phases with more of one or the other. `spread` is the number of quotients in use.
fn insert_and_remove(
    slots: u64,
    width: u32,
    annex: Annex,
    spread: u64,
    steps: u32,
    check_every: u32,
    seed: u64,
) -> u64 {
    let mut rng = SplitMix64::from_state(seed);
    let mut table = Table::new(slots, Layout::new(width, annex)).unwrap();
    let mut twin = Twin::default();
    let mut fullest = Slot(0);
    for step in 0..steps {
        fill_free_slots_with_garbage(&mut table, &twin, &mut rng);
        let grows = rng.below(10) < if (step / (steps / 3)).is_multiple_of(2) { 9 } else { 2 };
        let quotient = Quotient(rng.below(spread));
        if grows {
            let remainder = rng.next() as u32 & (u32::MAX >> (32 - width));
            let home = twin.layout().iter().rfind(|(at, _)| *at <= quotient).map_or(Slot(0), |(_, run)| run.end);
            let slot = home.max(quotient.slot());
            let free = twin.first_free(slot);
            match table.room(quotient) {
                Some(room) => {
                    assert_eq!((room.slot, room.free), (slot, free));
                    table.insert(room, remainder);
                    twin.insert(quotient, remainder);
                }
                None => assert!(free >= table.end(), "there is room at {free}"),
            }
        } else if let Some(run) = table.run::<Portable>(quotient) {
            let nth = rng.below(run.end - run.start);
            let gap = table.gap(quotient, &run, run.start + nth);
            table.remove(gap);
            twin.remove(quotient, nth as usize);
        }
        fullest = fullest.max(twin.layout().last().map_or(Slot(0), |(_, run)| run.end));
        if step % check_every == 0 {
            compare(&table, &twin);
        }
    }
    compare(&table, &twin);
    fullest.0
}

#[test]
fn the_table_agrees_with_its_twin_at_all_small_sizes_whatever_lies_in_free_slots() {
    for slots in (1..=70).chain([127, 128, 129, 191, 193]) {
        let width = 2 + (slots % 31) as u32;
        let annex = [Annex::Nothing, Annex::Code, Annex::Bytes][slots as usize % 3];
        insert_and_remove(slots, width, annex, slots, 260, 1, slots);
    }
}

#[test]
fn runs_and_clusters_of_many_blocks_and_saturated_offsets_agree_with_the_twin() {
    // All keys in the first few quotients: one cluster that spans many blocks, with offsets far above 255.
    let mut longest = 0;
    for (slots, spread) in [(2_000, 3), (1_500, 70), (900, 1)] {
        longest = longest.max(insert_and_remove(slots, 5, Annex::Code, spread, 2_400, 61, spread));
    }
    assert!(longest > 600, "the offsets never saturated: the longest cluster had {longest} slots");
}

#[test]
fn a_full_table_refuses_a_key_and_does_not_change() {
    let mut table = Table::new(100, Layout::new(9, Annex::Nothing)).unwrap();
    let mut stored = 0;
    while let Some(room) = table.room(Quotient(99)) {
        table.insert(room, stored);
        stored += 1;
    }
    assert_eq!(u64::from(stored), table.end() - Slot(99));
    assert_eq!(table.check(), Ok(u64::from(stored)));
}

#[test]
fn the_spare_slots_are_under_one_percent_from_a_hundred_thousand_on() {
    for slots in [100_000, 123_457, 1_000_000, 4_000_000_000] {
        let table = (slots + spare_slots(slots)).div_ceil(SLOTS) * SLOTS;
        assert!((table - slots) * 100 < slots, "{slots}");
    }
    assert!(spare_slots(1) >= 1 && spare_slots(u64::MAX) == 896);
}

#[test]
fn ninety_nine_percent_of_the_slots_can_be_filled_every_time() {
    for (slots, trials) in [(64, 300), (1_000, 100), (100_003, 8)] {
        for trial in 0..trials {
            let mut rng = SplitMix64::from_state(slots * 1_000 + trial);
            let mut table = Table::new(slots, Layout::new(2, Annex::Nothing)).unwrap();
            for stored in 0..slots * 99 / 100 {
                let room = table.room(Quotient(rng.below(slots)));
                let Some(room) = room else { panic!("full after {stored} of {slots}, trial {trial}") };
                table.insert(room, 1);
            }
        }
    }
}

#[test]
fn damaged_metadata_is_never_accepted() {
    let mut rng = SplitMix64::from_state(5);
    let mut table = Table::new(300, Layout::new(3, Annex::Nothing)).unwrap();
    for _ in 0..280 {
        table.insert(table.room(Quotient(rng.below(300))).unwrap(), 1);
    }
    let (mut refused, mut tried) = (0, 0);
    for block in table.blocks.numbers() {
        for bit in 0..8 * 17 {
            let mut bytes = table.blocks.as_bytes().to_vec();
            bytes[block.index() * (17 + 24) + bit / 8] ^= 1 << (bit % 8);
            let loaded = Table::from_bytes(300, Layout::new(3, Annex::Nothing), bytes).unwrap();
            tried += 1;
            // A runend more or less in the middle of a run is also a valid table if an occupied bit changes with it; a
            // single bit is not.
            refused += u32::from(!matches!(loaded, Ok((_, 280))));
        }
    }
    assert_eq!((refused, tried), (tried, tried), "a flipped bit was taken for a table of as many keys");
    assert!(Table::from_bytes(300, Layout::new(3, Annex::Nothing), vec![0; 10]).is_none());
}
