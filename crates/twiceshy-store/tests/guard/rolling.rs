//! A snapshot that is behind its store is brought forward, with every kind of filter.

use std::collections::BTreeSet;
use std::path::Path;
use twiceshy::hash::HashKey;
use twiceshy_store::{Adapt, Checked, Guard, Kind, Memory, MemoryStore, Options};

/// A small generator: the tests need no more.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

/// Mistakes and collisions in plenty.
const RATE: f64 = 0.2;

fn open(memory: &Memory, kind: Kind, rate: f64, snapshot: Option<&Path>) -> Guard<MemoryStore> {
    let options = Options::new().filter(kind).false_positive_rate(rate).adapt(Adapt::Always).background(false);
    let options = options.hash_key(HashKey::fixed(7));
    let options = match snapshot {
        Some(path) => options.snapshot(path),
        None => options,
    };
    let guard = options.open(memory.open().expect("nobody has it open")).expect("its own store");
    guard.wait().expect("memory");
    guard
}

/// Changes the set and asks for absent keys, so that the filter learns.
fn work(guard: &Guard<MemoryStore>, set: &mut BTreeSet<u64>, random: &mut Random, steps: u64) {
    for _ in 0..steps {
        let number = random.below(800);
        match random.below(4) {
            0 => {
                guard.insert(&key(number), b"value").expect("memory");
                set.insert(number);
            }
            1 => {
                guard.remove(&key(number)).expect("memory");
                set.remove(&number);
            }
            _ => assert!(!guard.contains(&key(10_000 + random.below(5_000))).expect("memory")),
        }
    }
}

fn check(guard: &Guard<MemoryStore>, set: &BTreeSet<u64>, when: &str) {
    for number in 0..800 {
        assert_eq!(guard.contains(&key(number)).expect("memory"), set.contains(&number), "{when}: {number}");
    }
    assert_eq!(guard.check().expect("memory"), Checked::Sound, "{when}");
}

#[test]
fn a_filter_from_an_older_snapshot_is_brought_to_the_set_of_the_store() {
    for kind in Kind::ALL {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("filter");
        let (memory, mut set, mut random) = (Memory::new(), BTreeSet::new(), Random(3));
        let guard = open(&memory, *kind, RATE, Some(&path));
        for number in 0..600 {
            guard.insert(&key(number), b"value").expect("memory");
            set.insert(number);
        }
        work(&guard, &mut set, &mut random, 300);
        guard.close().expect("a folder");
        let (mut rolled, mut rebuilt) = (0, 0);
        for round in 0..40 {
            let when = format!("{kind}, round {round}");
            // As if the process had been killed: the snapshot stays as it was.
            let guard = open(&memory, *kind, RATE, None);
            work(&guard, &mut set, &mut random, 10 << (round % 4));
            let last = guard.stats();
            guard.close().expect("memory");
            let guard = open(&memory, *kind, RATE, Some(&path));
            let stats = guard.stats();
            assert_eq!((stats.keys, last.keys), (set.len() as u64, set.len() as u64), "{when}");
            rolled += u64::from(stats.rolled_forward > 0);
            rebuilt += stats.rebuilt;
            check(&guard, &set, &when);
            work(&guard, &mut set, &mut random, 20);
            check(&guard, &set, &when);
            guard.close().expect("a folder");
        }
        // What a broom filter has learned since cannot be brought forward, so it takes new functions.
        let expected = if *kind == Kind::Broom { (0, 40) } else { (rolled.max(30), 0) };
        assert_eq!((rolled, rebuilt), expected, "{kind}: brought forward, and made anew");
    }
}

#[test]
fn what_a_filter_has_learned_is_still_known_when_it_is_brought_forward() {
    for kind in Kind::ALL.iter().filter(|kind| kind.learns() && **kind != Kind::Broom) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("filter");
        let memory = Memory::new();
        let guard = open(&memory, *kind, 0.05, Some(&path));
        guard.insert_all((0..600).map(|number| (key(number), b""))).expect("memory");
        let asked = |guard: &Guard<MemoryStore>| {
            let before = guard.stats().false_positives;
            (10_000..12_000).for_each(|number| assert!(!guard.contains(&key(number)).expect("memory")));
            guard.stats().false_positives - before
        };
        let wrong = asked(&guard);
        for _ in 0..3 {
            asked(&guard);
        }
        guard.close().expect("a folder");
        let guard = open(&memory, *kind, 0.05, None);
        (600..610).for_each(|number| assert!(guard.insert(&key(number), b"").expect("memory")));
        (0..10).for_each(|number| assert!(guard.remove(&key(number)).expect("memory")));
        drop(guard);
        let guard = open(&memory, *kind, 0.05, Some(&path));
        assert_eq!(guard.stats().rebuilt, 0, "{kind}");
        let again = asked(&guard);
        assert!(
            wrong >= 8 && again * 2 <= wrong,
            "{kind}: wrong about {wrong}, and {again} when it was brought forward"
        );
    }
}
