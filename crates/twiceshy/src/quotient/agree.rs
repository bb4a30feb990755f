//! Compares the fast look-up with the slow one, which decodes all marks and compares slot by slot.

use super::block::SLOTS;
use super::local::{Change, Local, Lookup};
use super::numbers::{Block, Quotient, Slot};
use super::owners::match_run;
use super::plan;
use super::rule::Rule;
use super::strand::Strand;
use super::{
    ExtensionFilter, ExtensionSpec, Extensions, PlainRemainders, PlainSelectors, PlainTelescopingFilter, RuleSpec,
    SelectorCode, Selectors, TelescopingFilter,
};
use crate::codes::{ExtensionMark, Mark, Marks};
use crate::filter::{Adapted, Filter};
use crate::hash::HashKey;
use crate::packed::word::{Portable, Work};
use crate::quotient::Options;
use crate::remote::{ByHash, Generation, Key};
use crate::rng::SplitMix64;
use std::collections::BTreeMap;

fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// Looks a key up in all three ways, and returns the result that they agree on.
fn agreed<R: Rule>(local: &Local<R>, key: &[u8], context: &str) -> bool {
    let strand = local.strand(key);
    let run = local.run(local.quotient(key));
    let slowly = run.clone().is_some_and(|run| !local.hits(run, &strand).is_empty());
    let portably = run.is_some_and(|run| local.rule.matches(&local.marked, run, &strand));
    assert_eq!((portably, local.contains(key)), (slowly, slowly), "{context}");
    assert_eq!(Lookup { local, key }.run::<Portable>(), slowly, "{context}, portably");
    assert_eq!(local.table().run::<Portable>(local.quotient(key)), local.run(local.quotient(key)));
    slowly
}

/// A rule for which marks can be made up.
trait Invents: Rule {
    /// A mark that a slot of this key can have, sometimes an unlikely one.
    fn invent(&self, width: u32, owner: &Strand<'_>, random: &mut SplitMix64) -> Mark;
}

impl Invents for PlainRemainders {
    fn invent(&self, _: u32, _: &Strand<'_>, _: &mut SplitMix64) -> Mark {
        0
    }
}

fn invented_selector(random: &mut SplitMix64) -> Mark {
    match random.below(40) {
        0 => random.below(256) as Mark,
        1..=3 => random.below(16) as Mark,
        _ => random.below(4) as Mark,
    }
}

impl Invents for Selectors {
    fn invent(&self, _: u32, _: &Strand<'_>, random: &mut SplitMix64) -> Mark {
        invented_selector(random)
    }
}

impl Invents for PlainSelectors {
    fn invent(&self, _: u32, _: &Strand<'_>, random: &mut SplitMix64) -> Mark {
        invented_selector(random)
    }
}

impl Invents for Extensions {
    /// The owner's own bits after the remainder and the skips, one by one.
    fn invent(&self, width: u32, owner: &Strand<'_>, random: &mut SplitMix64) -> Mark {
        let skips = random.below(30).saturating_sub(26) as u32;
        let len = 1 + (random.next().trailing_zeros()).min(9);
        let at = u64::from(width + 10 * skips);
        let bits = (0..u64::from(len)).fold(0, |bits, i| bits << 1 | owner.bits(at + i, 1));
        ExtensionMark::new(skips, len, bits).map_or(0, ExtensionMark::mark)
    }
}

/// A full table, and the owner of each slot. Only quotients that `every` divides have keys: above 1, runs are long.
fn full<R: Rule>(slots: u64, width: u32, rule: R, seed: u64, every: u64) -> (Local<R>, BTreeMap<Slot, Key>) {
    let mut local = Local::new(slots, width, rule, 1_000, HashKey::fixed(seed), Generation(0)).unwrap();
    let mut runs: BTreeMap<Quotient, Vec<Key>> = BTreeMap::new();
    let empty = local.clone();
    let keys = (0..).map(key).filter(|key| empty.quotient(key).0.is_multiple_of(every));
    for key in keys.take(slots as usize * 19 / 20) {
        let room = plan::room(&local, local.quotient(&key)).unwrap();
        let remainder = plan::unmarked(&local, &local.strand(&key));
        local.apply(Change::insert(room, remainder));
        runs.entry(local.quotient(&key)).or_default().push(key[..].into());
    }
    let mut owners = BTreeMap::new();
    for (quotient, keys) in runs {
        owners.extend(match_run(&local, local.run(quotient).unwrap(), &keys).unwrap());
    }
    (local, owners)
}

/// Gives a share of the slots invented marks, with matching remainders. Blocks that overflow go to the side table.
fn scribble<R: Invents>(local: &mut Local<R>, owners: &BTreeMap<Slot, Key>, share: u64, random: &mut SplitMix64) {
    let mut change = Change::default();
    let mut on_the_side = 0;
    for block in local.table().blocks.numbers() {
        let mut marks: Marks = [0; SLOTS as usize];
        for (slot, owner) in owners.range(block.slots()) {
            let strand = local.strand(owner);
            let marked = random.below(64) < share;
            let mark = if marked { local.rule.invent(local.width(), &strand, random) } else { 0 };
            marks[slot.at() as usize] = mark;
            change.remainders.push((*slot, local.rule.remainder(local.width(), &strand, mark)));
        }
        change
            .marks
            .push((block, local.keep(block, &marks, &mut on_the_side).expect("there is room in the side table")));
    }
    local.apply(change);
}

/// Looks up stored keys, random queries, and queries for which a slot was forged: it has one of the query's remainders,
/// under the slot's own mark or under another.
fn compare<R: Invents>(name: &str, slots: u64, width: u32, rule: &R, seed: u64) -> [u64; 2] {
    let mut random = SplitMix64::from_state(seed);
    let mut met = [0, 0];
    for (share, every) in [(0, 1), (2, 1), (6, 1), (20, 1), (64, 1), (0, 10), (2, 10), (10, 10), (2, 25), (6, 25)] {
        let context = format!("{name}, {slots} slots of {width} bits, {share} of 64 marked, one in {every} quotients");
        let (mut local, owners) = full(slots, width, rule.clone(), seed, every);
        scribble(&mut local, &owners, share, &mut random);
        for owner in owners.values() {
            assert!(agreed(&local, owner, &context), "{context}: a stored key is absent");
        }
        for number in 0..600 {
            let query = key(1 << 40 | number);
            met[usize::from(agreed(&local, &query, &context))] += 1;
            let Some(run) = local.run(local.quotient(&query)) else { continue };
            let slot = run.start + random.below(run.end - run.start);
            let own = local.marks_of(slot..slot.next())[0];
            let strand = local.strand(&query);
            for mark in [own, own.wrapping_add(1) % 8, local.rule.invent(width, &strand, &mut random), 0] {
                let forged = local.rule.remainder(width, &strand, mark);
                local.marked.table.blocks.set_remainder(slot, forged);
                met[usize::from(agreed(&local, &query, &context))] += 1;
            }
        }
    }
    met
}

#[test]
fn a_fast_look_up_agrees_with_comparing_slot_by_slot_at_every_width() {
    let rule = |code, width| TelescopingFilter::with_slots(1, width).code(code).spec.rule(width).unwrap();
    let general = |x, y, width| rule(SelectorCode::General { x, y }, width);
    for width in 2..=32 {
        let seed = u64::from(width);
        let tuned = rule(SelectorCode::Tuned, width);
        for met in [
            compare("plain", 200, width, &PlainRemainders, seed),
            compare("selectors of bytes", 200, width, &PlainSelectors, seed),
            compare("selectors, general code", 200, width, &general(3, 6, width), seed),
            compare("selectors, narrow general code", 130, width, &general(2, 1, width), seed),
            compare("selectors, tuned code", 200, width, &tuned, seed),
            compare("extensions", 200, width, &ExtensionSpec.rule(width).unwrap(), seed),
        ] {
            assert!(met[0] > 100 && met[1] > 100, "{met:?}, width {width}");
        }
    }
}

#[test]
fn a_fast_look_up_agrees_about_codes_that_no_encoder_wrote() {
    let mut random = SplitMix64::from_state(9);
    for width in 2..=32 {
        let (mut telescoping, _) =
            full(200, width, TelescopingFilter::with_slots(1, width).spec.rule(width).unwrap(), 5, 1);
        let (mut extension, _) = full(200, width, ExtensionSpec.rule(width).unwrap(), 5, 1);
        for turn in 0..30 {
            for block in (0..3).map(Block) {
                let code = (random.next() >> 8 >> random.below(50)).min(crate::codes::ESCAPE - 1);
                telescoping.marked.table.blocks.set_code(block, code);
                extension.marked.table.blocks.set_code(block, code);
                telescoping.note_marks(block, &telescoping.marks(block));
                extension.note_marks(block, &extension.marks(block));
            }
            for number in 0..200 {
                agreed(&telescoping, &key(number), &format!("turn {turn}, telescoping, {width} bits"));
                agreed(&extension, &key(number), &format!("turn {turn}, extension, {width} bits"));
            }
        }
    }
}

/// Teaches a filter mistakes that it really makes, then compares everything that it was ever asked.
fn compare_after_adapting<S: RuleSpec>(options: &Options<S>, width: u32) {
    let mut pair = options.build(HashKey::fixed(3), ByHash::new()).unwrap();
    for number in 0..pair.filter().cells() * 19 / 20 {
        pair.insert(&key(number)).unwrap();
    }
    let queries = 1 << 40..(1 << 40) + (20_000 << (width / 2));
    let mistakes: Vec<[u8; 8]> = queries
        .map(key)
        .filter(|query| pair.contains(query) && pair.was_wrong(query).unwrap() == Adapted::Fixed)
        .collect();
    assert!(mistakes.len() > 300, "{} mistakes", mistakes.len());
    let context = format!("{width} bits");
    let local = &pair.filter().local;
    for number in 0..pair.len() {
        assert!(agreed(local, &key(number), &context), "{context}: a stored key is absent");
    }
    for query in mistakes.into_iter().chain((1 << 50..(1 << 50) + 5_000).map(key)) {
        agreed(local, &query, &context);
    }
}

#[test]
fn a_fast_look_up_agrees_after_every_kind_of_adaptation() {
    for width in 2..=9 {
        compare_after_adapting(&TelescopingFilter::with_slots(500, width), width);
        compare_after_adapting(&TelescopingFilter::with_slots(500, width).side_table(4), width);
        compare_after_adapting(&PlainTelescopingFilter::with_slots(500, width), width);
        compare_after_adapting(&ExtensionFilter::with_slots(500, width), width);
        compare_after_adapting(&ExtensionFilter::with_slots(500, width).side_table(4), width);
    }
}
