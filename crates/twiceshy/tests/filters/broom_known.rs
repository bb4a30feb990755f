//! The broom filter's invariant: no absent key matches a stored key with which it is connected.
//!
//! A mistake tells the adversary that two hashes begin alike. So does the frontier, when it moves for a new key that matches a
//! stored one, or for a key that it passes. Beside the filter there is an exact record of these: a node for each key under each
//! function that it had, and nodes are joined when the filter told them apart. After each operation every absent key that the
//! tests know of is looked up, and may match only keys that it is not joined to. Win rates cannot see a rule that is missing: at
//! ε = 0.1 % it takes many thousand games for one match too many.

use std::collections::{BTreeMap, BTreeSet};
use twiceshy::AdaptiveFilter;
use twiceshy::filter::{Adapted, Filter, Removed};
use twiceshy::hash::HashKey;
use twiceshy::quotient::{BroomFilter, BroomForm, BroomOptions, BroomRule, take_broom_joins};
use twiceshy::remote::ByHash;

/// A key under one of its functions, in a level.
type Node = (usize, [u8; 16], u64);

/// What an adversary that sees every join knows so far.
#[derive(Default)]
struct Told {
    numbers: BTreeMap<Node, usize>,
    above: Vec<usize>,
}

impl Told {
    fn root(&mut self, node: Node) -> usize {
        let next = self.above.len();
        let mut at = *self.numbers.entry(node).or_insert(next);
        if at == next {
            self.above.push(at);
        }
        while self.above[at] != at {
            self.above[at] = self.above[self.above[at]];
            at = self.above[at];
        }
        at
    }

    fn join(&mut self, one: Node, other: Node) {
        let (one, other) = (self.root(one), self.root(other));
        self.above[one] = other;
    }

    fn connects(&mut self, one: Node, other: Node) -> bool {
        self.root(one) == self.root(other)
    }
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(z ^ (z >> 31)) * u128::from(bound)) >> 64) as u64
    }
}

/// The number of recent keys.
const RECENT: usize = 16;

struct World {
    options: BroomOptions,
    pair: AdaptiveFilter<BroomFilter>,
    stored: BTreeSet<u64>,
    /// Keys that are looked up after each operation.
    watched: Vec<u64>,
    /// The keys that were joined last, which the next operations choose as often as all others.
    recent: Vec<u64>,
    told: Told,
    rng: Rng,
    /// `true` if it looks for keys that match as they are inserted, `false` if only for mistakes.
    probes: bool,
    next: u64,
    most: usize,
    seen: Seen,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    mistakes: u64,
    /// Absent keys that matched a stored one, counted after each operation.
    matches: u64,
    /// Those of them that are connected with the key that they matched.
    told: u64,
    /// Joins that no mistake explains: by insertions, and by keys that the frontier passed.
    silent: u64,
    phases: u64,
    rebuilds: u64,
}

fn bytes(key: u64) -> [u8; 8] {
    // An order of bytes that has nothing to do with the numbers.
    key.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

fn number(key: &[u8]) -> u64 {
    // The inverse of the factor modulo 2^64.
    u64::from_be_bytes(key.try_into().expect("eight bytes")).wrapping_mul(0xF1DE_83E1_9937_733D)
}

impl World {
    fn new(options: BroomOptions, most: usize, seed: u64) -> World {
        take_broom_joins();
        World {
            options,
            pair: options.build(HashKey::fixed(seed), ByHash::new()).expect("options that can be"),
            stored: BTreeSet::new(),
            watched: Vec::new(),
            recent: Vec::new(),
            told: Told::default(),
            rng: Rng(seed),
            probes: seed.is_multiple_of(2),
            next: 0,
            most,
            seen: Seen::default(),
        }
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn node(&self, level: usize, key: u64) -> Node {
        (level, self.pair.filter().function_of(&bytes(key)).to_bytes(), key)
    }

    /// Joins the keys that the filter has told apart since the last time, and counts them.
    fn join(&mut self) -> u64 {
        let joins = take_broom_joins();
        for (level, keys) in &joins {
            let [one, other] = keys.each_ref().map(|(function, key)| (*level, function.to_bytes(), number(key)));
            self.told.join(one, other);
            for (.., key) in [one, other] {
                self.recent.retain(|known| *known != key);
                self.recent.push(key);
                if !self.watched.contains(&key) {
                    self.watched.push(key);
                }
            }
        }
        self.recent.drain(..self.recent.len().saturating_sub(RECENT));
        self.seen.silent += joins.len() as u64;
        joins.len() as u64
    }

    /// The pairs of nodes that a look-up of an absent key would tell of.
    fn pairs(&self, key: u64) -> Vec<(Node, Node)> {
        let owners = self.pair.filter().collisions(&bytes(key), self.pair.remote()).expect("the sets agree");
        owners.iter().map(|(level, owner)| (self.node(*level, key), self.node(*level, number(owner)))).collect()
    }

    fn insert(&mut self, key: u64) {
        if self.stored.len() < self.most && !self.stored.contains(&key) {
            assert!(self.pair.insert(&bytes(key)).expect("room for all"));
            self.stored.insert(key);
        }
    }

    fn remove(&mut self, key: u64) {
        if self.stored.remove(&key) {
            let removed = self.pair.take(&bytes(key)).expect("the sets agree");
            assert_eq!(removed, Removed::Gone);
        }
    }

    /// Asks for a key, and tells the filter if it is wrong. Whether it is.
    fn ask(&mut self, key: u64) -> bool {
        if self.stored.contains(&key) || !self.pair.contains(&bytes(key)) {
            return false;
        }
        let adapted = self.pair.was_wrong(&bytes(key)).expect("the sets agree");
        assert_ne!(adapted, Adapted::Stored);
        self.seen.mistakes += 1;
        let joins = self.join();
        assert!(joins > 0);
        self.seen.silent -= 1;
        true
    }

    /// Asks fresh keys until one is wrong, and watches it.
    fn mistake(&mut self) {
        for _ in 0..400 {
            let key = self.fresh();
            if self.ask(key) {
                return;
            }
        }
    }

    /// Inserts fresh keys and removes them again, until one matches a stored key, and watches it.
    fn silent_join(&mut self) {
        for _ in 0..400 {
            let key = self.fresh();
            self.insert(key);
            self.remove(key);
            if self.join() > 0 {
                return;
            }
        }
    }

    /// Inserts an absent key that is connected with another one, looks all up, and removes it again: what an adversary does that
    /// has lost the key between the two.
    fn reunion(&mut self) {
        let mut parts: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for at in 0..self.watched.len() {
            let key = self.watched[at];
            if self.stored.contains(&key) {
                continue;
            }
            for level in 0..2 {
                let node = self.node(level, key);
                if self.told.numbers.contains_key(&node) {
                    parts.entry(self.told.root(node)).or_default().push(key);
                }
            }
        }
        parts.retain(|_, keys| keys.len() > 1);
        let Some(part) = parts.values().nth(self.rng.below(parts.len().max(1) as u64) as usize) else { return };
        let key = part[self.rng.below(part.len() as u64) as usize];
        self.insert(key);
        self.join();
        self.check();
        self.remove(key);
    }

    fn any_watched(&mut self) -> u64 {
        let keys = if self.recent.is_empty() || self.rng.below(2) == 0 { &self.watched } else { &self.recent };
        keys[self.rng.below(keys.len() as u64) as usize]
    }

    fn step(&mut self, rebuilds: bool) {
        if self.watched.is_empty() {
            let key = self.fresh();
            self.watched.push(key);
        }
        match self.rng.below(if rebuilds { 400 } else { 396 }) {
            0..60 => self.mistake(),
            60..120 if self.probes => self.silent_join(),
            60..120 => self.mistake(),
            120..200 => {
                let key = self.any_watched();
                self.insert(key);
            }
            200..280 => {
                let key = self.any_watched();
                self.remove(key);
            }
            280..310 => {
                let key = self.fresh();
                self.watched.push(key);
                self.insert(key);
            }
            310..340 => self.reunion(),
            340..396 => {
                let key = self.any_watched();
                self.ask(key);
            }
            396 | 397 => {
                let cells = 20 + self.most as u64 * (10 + self.rng.below(10)) / 9;
                self.pair.begin_grow(cells).expect("large enough");
                self.seen.rebuilds += 1;
            }
            398 => {
                let hash = HashKey::fixed(self.rng.below(3));
                self.pair.begin_rekey(hash).expect("the sets agree");
                self.seen.rebuilds += 1;
            }
            _ => {
                let hash = HashKey::fixed(self.rng.below(1 << 40));
                self.seen.phases += self.pair.filter().stats().phases;
                let remote = self.pair.remote().clone();
                self.pair = self.options.recover(hash, remote).expect("the sets agree");
                self.seen.rebuilds += 1;
            }
        }
        while self.watched.len() > 3 * self.most {
            let at = self.rng.below(self.watched.len() as u64) as usize;
            let key = self.watched.swap_remove(at);
            self.remove(key);
        }
    }

    fn check(&mut self) {
        for at in 0..self.watched.len() {
            let key = self.watched[at];
            if self.stored.contains(&key) || !self.pair.contains(&bytes(key)) {
                continue;
            }
            self.seen.matches += 1;
            let pairs = self.pairs(key);
            self.seen.told += u64::from(pairs.into_iter().any(|(one, other)| self.told.connects(one, other)));
        }
    }

    fn run(mut self, steps: usize, rebuilds: bool, validates: bool) -> Seen {
        for step in 0..steps {
            self.step(rebuilds);
            self.join();
            self.check();
            if validates && step % 50 == 0 {
                self.pair.validate().expect("every invariant holds");
            }
        }
        self.seen.phases += self.pair.filter().stats().phases;
        self.seen
    }
}

/// Slots, bits and keys: small enough that most bases are met again and again.
const SIZES: [(u64, u32, usize); 5] = [(24, 2, 22), (60, 2, 50), (60, 4, 57), (40, 8, 38), (200, 3, 192)];

const FORMS: [BroomForm; 2] = [BroomForm::TwoLevels, BroomForm::BackYard];

fn played(
    change: impl Fn(BroomOptions) -> BroomOptions,
    steps: usize,
    rebuilds: bool,
    without: Option<BroomRule>,
) -> Seen {
    let mut all = Seen::default();
    for (slots, bits, most) in SIZES {
        for form in FORMS {
            for seed in 0..4 {
                let options = change(BroomFilter::with_slots(slots, bits).form(form));
                let options = without.map_or(options, |rule| options.without(rule));
                let seen = World::new(options, most, seed).run(steps, rebuilds, without.is_none());
                all.mistakes += seen.mistakes;
                all.matches += seen.matches;
                all.told += seen.told;
                all.silent += seen.silent;
                all.phases += seen.phases;
                all.rebuilds += seen.rebuilds;
            }
        }
    }
    all
}

#[test]
fn no_absent_key_matches_a_stored_key_with_which_it_is_connected() {
    for rebuilds in [false, true] {
        let seen = played(|options| options, 1_500, rebuilds, None);
        println!("rebuilds {rebuilds}: {seen:?}");
        assert!(seen.matches > 10_000 && seen.mistakes > 5_000 && seen.phases > 100, "{seen:?}");
        assert!(seen.silent > 3_000, "{seen:?}");
        assert_eq!(seen.told, 0, "{seen:?}");
    }
}

#[test]
fn the_amortised_form_keeps_to_it_as_well() {
    let seen = played(BroomOptions::reclaim_by_rebuild, 700, true, None);
    println!("by rebuild: {seen:?}");
    assert!(seen.matches > 2_000 && seen.mistakes > 2_000, "{seen:?}");
    assert_eq!(seen.told, 0, "{seen:?}");
}

#[test]
fn without_any_one_of_its_rules_it_does() {
    let rules = [
        (BroomRule::RemovalGhosts, false),
        (BroomRule::FirstDifference, false),
        (BroomRule::SecondMistake, false),
        (BroomRule::YardGhosts, false),
        (BroomRule::NewFunctions, true),
    ];
    for (rule, rebuilds) in rules {
        let seen = played(|options| options, 1_000, rebuilds, Some(rule));
        println!("without {rule:?}: {seen:?}");
        assert!(seen.told > 10, "without {rule:?}: {seen:?}");
    }
}

/// Two keys that were inserted and removed again, and matched the same stored key: how many such pairs were found, and in how
/// many the second is wrong about the first when the stored key is gone. No query was ever wrong about any of the three.
fn silent_pairs(form: BroomForm, without: Option<BroomRule>) -> (u64, u64) {
    let (mut found, mut wrong) = (0, 0);
    for trial in 0..500 {
        let options = BroomFilter::options(40, 0.008).expect("a size that can be built").form(form);
        let options = without.map_or(options, |rule| options.without(rule));
        let mut world = World::new(options, 40, trial);
        let set: Vec<u64> = (0..38).map(|_| world.fresh()).collect();
        set.iter().for_each(|key| world.insert(*key));
        while world.pair.filter().frontier().share() < 0.55 {
            world.mistake();
        }
        take_broom_joins();
        let begun = world.pair.filter().phases();
        // The keys that matched, with the node that each had and the node that it matched.
        let mut matched: Vec<(u64, Node, Node)> = Vec::new();
        let pair = loop {
            if world.pair.filter().phases() > begun || world.pair.filter().frontier().share() > 0.9 {
                break None;
            }
            let key = world.fresh();
            let pairs = world.pairs(key);
            let [(own, other)] = pairs[..] else { continue };
            // The key takes the new function, and outlives the phase; the stored one has the old function.
            if own.0 != 0 || own.1 == other.1 {
                continue;
            }
            world.insert(key);
            let joined = take_broom_joins().iter().any(|(_, keys)| number(&keys[0].1) == key);
            world.remove(key);
            if !joined || world.node(0, key) != own {
                continue;
            }
            if let Some((first, ..)) = matched.iter().find(|(_, node, of)| (node.1, *of) == (own.1, other)) {
                break Some((*first, key, own.1));
            }
            matched.push((key, own, other));
        };
        let Some((first, second, function)) = pair else { continue };
        while world.pair.filter().phases() == begun {
            world.mistake();
        }
        set.iter().for_each(|key| world.remove(*key));
        if [first, second].iter().any(|key| world.node(0, *key).1 != function) {
            continue;
        }
        found += 1;
        world.insert(first);
        wrong += u64::from(world.pair.filter().contains(&bytes(second)));
        world.pair.validate().expect("every invariant holds");
    }
    (found, wrong)
}

#[test]
fn two_keys_that_matched_the_same_key_when_they_were_inserted_do_not_match_each_other() {
    for form in FORMS {
        let (found, wrong) = silent_pairs(form, None);
        println!("{form:?}: {wrong} of {found}");
        assert!(found >= 30 && wrong == 0, "{form:?}: {wrong} of {found}");
    }
    let (found, wrong) = silent_pairs(BroomForm::BackYard, Some(BroomRule::YardGhosts));
    println!("without the rule: {wrong} of {found}");
    assert!(found >= 30 && wrong * 10 >= found * 9, "without the rule: {wrong} of {found}");
}
