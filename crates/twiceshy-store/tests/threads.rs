//! Readers, writers and removers at once, against what each of them knows.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use twiceshy_store::{Adapt, FilterKind, MemoryStore, Options};

const KEYS: u64 = 4_000;

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

/// Keys of number 0 modulo 4 are always there; 1 modulo 4 never; those of 2 and 3 come and go, each by one thread, which
/// says in `stored` what it knows: 0 absent, 1 stored, 2 being changed.
#[test]
fn nobody_ever_gets_a_wrong_answer() {
    for kind in [FilterKind::Telescoping, FilterKind::Cyclic, FilterKind::Cuckooing, FilterKind::Broom] {
        let options = Options::new().filter(kind).false_positive_rate(0.05).adapt(Adapt::Always);
        let guard = options.open(MemoryStore::new()).expect("an empty store");
        guard.insert_all((0..KEYS).step_by(4).map(|number| (key(number), key(number)))).expect("memory");
        let stored: Vec<AtomicU64> = (0..KEYS).map(|number| AtomicU64::new(u64::from(number % 4 == 0))).collect();
        let ended = AtomicBool::new(false);
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
                        let was = mine.swap(2, Ordering::SeqCst);
                        if was == 0 {
                            assert!(guard.insert(&key(number), &key(number)).expect("memory"), "{kind}");
                        } else {
                            assert!(guard.remove(&key(number)).expect("memory"), "{kind}");
                        }
                        mine.store(1 - was, Ordering::SeqCst);
                        let found = guard.get(&key(number)).expect("memory");
                        assert_eq!(found.is_some(), was == 0, "{kind}: a writer does not see its own change");
                    }
                }));
            }
            for reader in 0..2u64 {
                let (guard, stored, ended) = (&guard, &stored, &ended);
                threads.spawn(move || {
                    let mut state = reader + 99;
                    while !ended.load(Ordering::Acquire) {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        let number = (state >> 33) % KEYS;
                        let before = stored[number as usize].load(Ordering::SeqCst);
                        let found = guard.contains(&key(number)).expect("memory");
                        let after = stored[number as usize].load(Ordering::SeqCst);
                        // Between two equal answers of its owner it may have gone and come: only fixed ones are certain.
                        match number % 4 {
                            0 => assert!(found, "{kind}: the stored key {number} is absent"),
                            1 => assert!(!found, "{kind}: the absent key {number} is stored"),
                            _ => assert!(before <= 2 && after <= 2),
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
            let there = stored[number as usize].load(Ordering::SeqCst) == 1;
            assert_eq!(guard.contains(&key(number)).expect("memory"), there, "{kind}: {number}");
        }
        assert_eq!(guard.check().expect("memory"), Ok(()), "{kind}");
        let stats = guard.stats().expect("memory");
        assert!(stats.adapted > 0 && stats.turned_away > 0, "{kind}: {stats:?}");
    }
}
