//! Readers, writers and removers at once, against what each of them knows.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use twiceshy_store::hooked::{Call, Hook, Hooked};
use twiceshy_store::{
    Adapt, Change, Checked, CommitError, Durability, Kind, MemoryError, MemoryStore, Options, Space, Store,
};

const KEYS: u64 = 4_000;

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

/// Commits take a while, before and after: look-ups meet every moment of them.
struct Slow;

impl Hook for Slow {
    fn before(&self, call: Call<'_>) {
        if matches!(call, Call::Commit(..)) {
            std::thread::yield_now();
        }
    }

    fn after(&self, call: Call<'_>) {
        self.before(call);
    }
}

/// Keys of number 0 modulo 4 are always there; 1 modulo 4 never; those of 2 and 3 come and go, each by one thread, which
/// says in `stored` what it knows: how often it has begun to change a key, three times that, and 0 absent, 1 stored, 2 being
/// changed.
#[test]
fn nobody_ever_gets_a_wrong_answer() {
    for kind in [Kind::Telescoping, Kind::Cyclic, Kind::Cuckooing, Kind::Broom] {
        let options = Options::new().filter(kind).false_positive_rate(0.05).adapt(Adapt::Always);
        let guard = options.open(Hooked { inner: MemoryStore::new(), hook: Slow }).expect("an empty store");
        guard.insert_all((0..KEYS).step_by(4).map(|number| (key(number), key(number)))).expect("memory");
        let stored: Vec<AtomicU64> = (0..KEYS).map(|number| AtomicU64::new(u64::from(number % 4 == 0))).collect();
        let ended = AtomicBool::new(false);
        let certain = AtomicU64::new(0);
        std::thread::scope(|threads| {
            let mut writers = Vec::new();
            for remainder in [2u64, 3] {
                let (guard, stored) = (&guard, &stored);
                writers.push(threads.spawn(move || {
                    let mut state = remainder;
                    for _ in 0..12_000u32 {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        let number = (state >> 33) % (KEYS / 4) * 4 + remainder;
                        let mine = &stored[number as usize];
                        let known = mine.load(Ordering::SeqCst);
                        let (changes, was) = (known / 3 + 1, known % 3);
                        mine.store(changes * 3 + 2, Ordering::SeqCst);
                        if was == 0 {
                            assert!(guard.insert(&key(number), &key(number)).expect("memory"), "{kind}");
                        } else {
                            assert!(guard.remove(&key(number)).expect("memory"), "{kind}");
                        }
                        mine.store(changes * 3 + 1 - was, Ordering::SeqCst);
                        let found = guard.get(&key(number)).expect("memory");
                        assert_eq!(found.is_some(), was == 0, "{kind}: a writer does not see its own change");
                    }
                }));
            }
            for reader in 0..2u64 {
                let (guard, stored, ended, certain) = (&guard, &stored, &ended, &certain);
                threads.spawn(move || {
                    let mut state = reader + 99;
                    while !ended.load(Ordering::Acquire) {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        // The second reader asks for many keys at once.
                        let many = if reader == 0 { 1 } else { 100 };
                        let numbers: Vec<u64> = (0..many).map(|step| ((state >> 33) + step * 7) % KEYS).collect();
                        let keys: Vec<[u8; 8]> = numbers.iter().copied().map(key).collect();
                        let known = || -> Vec<u64> {
                            numbers.iter().map(|number| stored[*number as usize].load(Ordering::SeqCst)).collect()
                        };
                        let before = known();
                        let found = match &keys[..] {
                            [key] => vec![guard.contains(key).expect("memory")],
                            keys => guard.contains_all(keys).expect("memory"),
                        };
                        for (((number, found), before), after) in numbers.iter().zip(found).zip(before).zip(known()) {
                            // A key that does not change meanwhile has one right answer.
                            if before == after && before % 3 != 2 {
                                assert_eq!(found, before % 3 == 1, "{kind}: {number}");
                                certain.fetch_add(u64::from(number % 4 >= 2), Ordering::Relaxed);
                            }
                        }
                    }
                });
            }
            for writer in writers {
                writer.join().expect("no writer panics");
            }
            ended.store(true, Ordering::Release);
        });
        for number in 0..KEYS {
            let there = stored[number as usize].load(Ordering::SeqCst) % 3 == 1;
            assert_eq!(guard.contains(&key(number)).expect("memory"), there, "{kind}: {number}");
        }
        assert_eq!(guard.check().expect("memory"), Checked::Sound, "{kind}");
        let stats = guard.stats();
        assert!(certain.into_inner() > 1_000, "{kind}: keys that come and go were looked up");
        assert!(stats.adapted > 0 && stats.turned_away > 0, "{kind}: {stats:?}");
        assert_eq!(stats.disagreements, 0, "{kind}: a stored key was taken for a mistake");
    }
}

/// A store whose commits fail while `fails` is set. They take a while.
struct Failing {
    store: MemoryStore,
    fails: AtomicBool,
}

impl Store for Failing {
    type Error = MemoryError;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, MemoryError> {
        self.store.get(space, key)
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), MemoryError> {
        self.store.scan(space, from, found)
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<MemoryError>> {
        if self.fails.load(Ordering::SeqCst) {
            std::thread::yield_now();
            return Err(CommitError::Failed(MemoryError::InUse));
        }
        self.store.commit(changes, durability)
    }
}

/// All plans of a batch but the last are in the filter before the commit, and are taken back when it fails.
#[test]
fn keys_whose_removal_fails_are_found_at_all_times() {
    let store = Failing { store: MemoryStore::new(), fails: AtomicBool::new(false) };
    let guard = Options::new().open(store).expect("an empty store");
    let keys: Vec<[u8; 8]> = (0..256).map(key).collect();
    guard.insert_all(keys.iter().map(|key| (key, b"value"))).expect("memory");
    guard.store().fails.store(true, Ordering::SeqCst);
    let ended = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for reader in 0..2 {
            let (guard, keys, ended) = (&guard, &keys, &ended);
            threads.spawn(move || {
                while !ended.load(Ordering::Acquire) {
                    let found = match reader {
                        0 => guard.contains_all(keys).expect("memory"),
                        _ => guard.get_all(keys).map(|value| value.expect("memory").is_some()).collect(),
                    };
                    assert!(found.into_iter().all(|found| found), "reader {reader}: a key was never removed");
                }
            });
        }
        for _ in 0..1_500 {
            assert!(guard.remove_all(&keys[..64]).is_err(), "the commit fails");
        }
        ended.store(true, Ordering::Release);
    });
    assert_eq!(guard.check().expect("memory"), Checked::Sound);
}

/// Every look-up is counted once, and every false positive has come to an end once nobody asks any more: no thread was left
/// sleeping.
#[test]
fn the_counts_of_all_threads_add_up_and_all_mistakes_are_learned_from() {
    for kind in [Kind::Telescoping, Kind::Cuckooing, Kind::Broom] {
        let guard = Options::new().filter(kind).false_positive_rate(0.05).open(MemoryStore::new()).expect("empty");
        guard.insert_all((0..KEYS).map(|number| (key(number), b""))).expect("memory");
        const ASKED: u64 = 30_000;
        std::thread::scope(|threads| {
            for thread in 0..4u64 {
                let guard = &guard;
                threads.spawn(move || {
                    // Each key is asked for by two threads, and one in sixteen is stored.
                    let numbers: Vec<u64> = (0..ASKED).map(|number| number + thread / 2 * ASKED).collect();
                    let stored = |number: u64| number.is_multiple_of(16) && number < KEYS;
                    let asked: Vec<[u8; 8]> = numbers
                        .iter()
                        .map(|number| key(if stored(*number) { *number } else { number + KEYS }))
                        .collect();
                    if thread % 2 == 0 {
                        let found = guard.contains_all(&asked).expect("memory");
                        assert!(numbers.iter().zip(found).all(|(number, found)| found == stored(*number)));
                    } else {
                        for (number, key) in numbers.iter().zip(&asked) {
                            assert_eq!(guard.contains(key).expect("memory"), stored(*number));
                        }
                    }
                });
            }
        });
        let stats = guard.stats();
        let answered = stats.turned_away + stats.found + stats.false_positives + stats.known_absent + stats.unfiltered;
        assert_eq!(answered, 4 * ASKED, "{kind}: {stats:?}");
        assert_eq!((stats.found, stats.unfiltered), (2 * KEYS / 16, 0), "{kind}: {stats:?}");
        let began = std::time::Instant::now();
        loop {
            let stats = guard.stats();
            let ended = stats.adapted + stats.not_adapted + stats.merged + stats.skipped + stats.declined;
            if ended == stats.false_positives {
                break;
            }
            assert!(began.elapsed().as_secs() < 30, "{kind}: {stats:?}");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}
