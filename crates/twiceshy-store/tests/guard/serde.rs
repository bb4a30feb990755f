//! Stats go through serde under the names of their fields.
#![cfg(feature = "serde")]

use twiceshy_store::{Adapt, Memory, Options, Stats};

/// The counts of a guard that has answered a few look-ups.
fn stats() -> Stats {
    let store = Memory::new().open().expect("nobody else has it open");
    let guard = Options::new().adapt(Adapt::Never).open(store).expect("a new store");
    guard.insert(b"owl", b"").expect("memory");
    assert!(guard.contains(b"owl").expect("memory"));
    guard.stats()
}

#[test]
fn stats_come_back_from_json_as_they_were() {
    let stats = stats();
    let text = serde_json::to_string(&stats).expect("numbers");
    assert_eq!(serde_json::from_str::<Stats>(&text).expect("what was just written"), stats);
}

#[test]
fn stats_are_written_under_the_names_of_their_fields() {
    let stats = stats();
    let value = serde_json::to_value(stats).expect("numbers");
    let fields = value.as_object().expect("a map");
    assert_eq!((stats.keys, stats.found), (1, 1));
    assert_eq!((fields["keys"].as_u64(), fields["found"].as_u64()), (Some(1), Some(1)));
    assert_eq!(fields["local_bits"].as_u64(), Some(stats.local_bits));
    // Every field has a name in the debug output, too.
    let shown = format!("{stats:?}");
    assert!(fields.keys().all(|name| shown.contains(&format!(" {name}: "))), "{shown}");
    assert_eq!(fields.len(), shown.matches(": ").count());
}

#[test]
fn a_field_that_an_older_version_did_not_write_is_zero() {
    let old = serde_json::from_str::<Stats>(r#"{"keys": 7}"#).expect("a map");
    assert_eq!((old.keys, old.found, old.cells), (7, 0, 0));
}
