//! Fingerprints that a removal has to leave behind: with very narrow cells whole clusters of keys and cells hang
//! together, and nobody can tell whose is whose. They are counted, cleared when they can be told, and never cost a key.

use std::collections::BTreeSet;
use twiceshy::AdaptiveFilter;
use twiceshy::cuckoo::{
    CuckooingFilter, CyclicFilter, CyclicSpec, FullKeyCuckoo, FullKeyFilter, Options, PlainSpec, Rule, RuleSpec,
};
use twiceshy::filter::{Filter, Removed};
use twiceshy::hash::HashKey;
use twiceshy::remote::ByHash;

const CELLS: u64 = 1200;

fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// A filter with its keys, and an exact copy of its set.
struct Scene<R> {
    pair: AdaptiveFilter<FullKeyCuckoo<R>>,
    stored: BTreeSet<u64>,
}

impl<R: Rule> Scene<R> {
    fn filled<S: RuleSpec<Rule = R>>(options: &Options<S>, seed: u64, keys: u64) -> Scene<R> {
        let mut pair = options.build(HashKey::fixed(seed), ByHash::new()).expect("options that can be");
        let stored: BTreeSet<u64> = (0..keys).filter(|number| pair.insert(&key(*number)).is_ok()).collect();
        Scene { pair, stored }
    }

    /// Removes the key, and checks what that says and counts.
    fn remove(&mut self, number: u64) -> Removed {
        let before = self.pair.filter().stats().orphans;
        let removed = self.pair.take(&key(number)).expect("a remote that does not fail");
        assert_ne!(removed, Removed::NotStored);
        let left = u64::from(removed == Removed::LeftOrphan);
        assert_eq!(self.pair.filter().stats().orphans, before + left, "an orphan is counted where one is left");
        self.stored.remove(&number);
        removed
    }

    fn check(&self) {
        assert!(self.stored.iter().all(|number| self.pair.contains(&key(*number))), "a stored key is absent");
        assert_eq!(self.pair.len(), self.stored.len() as u64);
        assert_eq!(self.pair.validate(), Ok(()));
    }

    /// Removes every other key, with all checks now and then.
    fn thin_out(&mut self) -> u64 {
        let numbers: Vec<u64> = self.stored.iter().copied().step_by(2).collect();
        let mut orphans = 0;
        for (turn, number) in numbers.into_iter().enumerate() {
            orphans += u64::from(self.remove(number) == Removed::LeftOrphan);
            if turn % 25 == 0 {
                self.check();
            }
        }
        self.check();
        orphans
    }
}

/// Sixteen cells are compared for each key: what hangs together hangs together widely.
fn full_key(bits: u32) -> Options<PlainSpec> {
    FullKeyFilter::with_cells(CELLS, bits).tables(2).cells_per_bucket(8)
}

fn cyclic(bits: u32) -> Options<CyclicSpec> {
    CyclicFilter::with_cells(CELLS, bits).tables(2).cells_per_bucket(8)
}

/// The orphans that the removal of 500 of 1000 keys leaves.
fn left_behind<S: RuleSpec>(options: &Options<S>) -> u64 {
    Scene::filled(options, 1, 1000).thin_out()
}

#[test]
fn removals_from_narrow_cells_leave_orphans_and_from_wide_cells_none() {
    let orphans = [
        left_behind(&full_key(3)),
        left_behind(&cyclic(4)),
        left_behind(&CyclicFilter::with_cells(CELLS, 3)),
        left_behind(&full_key(8)),
        left_behind(&CyclicFilter::with_cells(CELLS, 5)),
    ];
    println!("{orphans:?}");
    assert!(orphans[..3].iter().all(|left| (20..450).contains(left)), "{orphans:?}");
    assert_eq!(orphans[3..], [0, 0]);
}

#[test]
fn a_rebuild_is_wanted_exactly_when_orphans_pass_one_cell_in_64() {
    let mut scene = Scene::filled(&full_key(3), 2, 1000);
    let mut wanted = Vec::new();
    for number in scene.stored.clone() {
        scene.remove(number);
        let orphans = scene.pair.filter().stats().orphans;
        assert_eq!(scene.pair.wants_rebuild(), orphans * 64 > scene.pair.filter().cells(), "{orphans} orphans");
        wanted.push(scene.pair.wants_rebuild());
    }
    assert!(wanted.contains(&true) && wanted.contains(&false), "both sides of the bound are seen");
    scene.check();
}

#[test]
fn growing_to_the_same_size_clears_every_orphan() {
    for seed in 3..6 {
        let mut scene = Scene::filled(&full_key(3), seed, 1000);
        assert!(scene.thin_out() > 0 && scene.pair.wants_rebuild());
        let wrong = |scene: &Scene<_>| (10_000..30_000).filter(|number| scene.pair.contains(&key(*number))).count();
        let before = wrong(&scene);
        let cells = scene.pair.filter().cells();
        scene.pair.grow(cells).expect("half the keys fit");
        assert_eq!((scene.pair.filter().stats().orphans, scene.pair.filter().cells()), (0, cells));
        assert!(!scene.pair.wants_rebuild());
        assert!(wrong(&scene) < before, "orphans cause false positives until they are cleared");
        scene.check();
    }
}

/// Adapts to many mistakes; how many orphans that cleared.
fn cleared_by_adapting<R: Rule>(mut scene: Scene<R>) -> u64 {
    let left = scene.thin_out();
    assert_eq!(scene.pair.filter().stats().orphans, left);
    for query in 10_000..12_000 {
        if scene.pair.contains(&key(query)) {
            let before = scene.pair.filter().stats().orphans;
            scene.pair.was_wrong(&key(query)).expect("a remote that does not fail");
            assert!(scene.pair.filter().stats().orphans <= before, "an adaptation leaves no orphan");
            if query % 50 == 0 {
                scene.check();
            }
        }
    }
    scene.check();
    println!("{left} orphans were left by removals, {} by adaptations", scene.pair.filter().stats().orphans);
    left - scene.pair.filter().stats().orphans
}

#[test]
fn adaptations_clear_orphans_that_turn_out_to_be_nobodys() {
    assert!(cleared_by_adapting(Scene::filled(&cyclic(4), 7, 1000)) > 0);
    assert!(cleared_by_adapting(Scene::filled(&CyclicFilter::with_cells(CELLS, 3), 8, 1000)) > 0);
    let cuckooing = CuckooingFilter::with_cells(CELLS, 3).tables(2).cells_per_bucket(8);
    assert!(cleared_by_adapting(Scene::filled(&cuckooing, 9, 1000)) > 0);
}

#[test]
fn an_insertion_may_take_the_cell_of_an_orphan() {
    let mut scene = Scene::filled(&full_key(3), 10, 1100);
    let left = scene.thin_out();
    assert!(left > 0);
    for number in 5_000..5_600 {
        if scene.pair.insert(&key(number)).is_ok() {
            scene.stored.insert(number);
        }
    }
    scene.check();
    assert!(scene.pair.filter().stats().orphans < left, "no orphan of {left} was found on the way");
}
