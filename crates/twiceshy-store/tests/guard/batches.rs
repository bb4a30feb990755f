//! Asking for many keys at once gives the answers of asking for one after the other, and teaches the filter the same.

use std::collections::BTreeSet;
use twiceshy::Kind;
use twiceshy_store::{MemoryStore, Options};

fn key(number: u32) -> Vec<u8> {
    format!("key {}", number.wrapping_mul(0x9E37_79B9)).into_bytes()
}

#[test]
fn a_batch_has_the_answers_of_an_exact_set_and_is_counted_and_learned_from() {
    for kind in Kind::ALL.iter().copied().filter(|kind| kind.learns()) {
        let guard = Options::new()
            .filter(kind)
            .false_positive_rate(0.05)
            .background(false)
            .open(MemoryStore::new())
            .expect("options");
        let stored: BTreeSet<u32> = (0..2_000).map(|number| number * 3).collect();
        guard.insert_all(stored.iter().map(|number| (key(*number), b"v"))).expect("room");
        guard.wait().expect("no rebuild fails");
        let asked: Vec<u32> = (0..6_000).collect();
        let keys: Vec<Vec<u8>> = asked.iter().map(|number| key(*number)).collect();
        let expected: Vec<bool> = asked.iter().map(|number| stored.contains(number)).collect();
        let before = guard.stats();
        assert_eq!(guard.contains_all(&keys).expect("no store fails"), expected, "{kind}");
        let once = guard.stats();
        assert_eq!(once.found - before.found, 2_000, "{kind}");
        let wrong = once.false_positives - before.false_positives;
        assert_eq!(
            once.turned_away - before.turned_away + wrong + once.known_absent - before.known_absent,
            4_000,
            "{kind}"
        );
        assert!((20..400).contains(&wrong), "{kind}: {wrong} mistakes");
        // A second time there are far fewer.
        assert_eq!(guard.contains_all(&keys).expect("no store fails"), expected, "{kind}");
        let again = guard.stats().false_positives - once.false_positives;
        assert!(again * 2 < wrong, "{kind}: {again} after {wrong}");
        assert_eq!(guard.contains_all::<&[u8]>(&[]).expect("nothing to ask"), [false; 0]);
        // Removed and inserted keys are seen at once.
        guard.remove(&key(0)).expect("stored");
        guard.insert(&key(1), b"").expect("room");
        assert_eq!(guard.contains_all(&keys[..3]).expect("no store fails"), [false, true, false], "{kind}");
    }
}
