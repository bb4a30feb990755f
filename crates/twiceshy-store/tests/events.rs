//! What a guard tells through the crate `tracing`: each event once, with its level, and never a key.
//!
//! A program of its own: a subscriber gets the events of the whole process.
#![cfg(feature = "tracing")]

use std::fmt::{Debug, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, Once, PoisonError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use twiceshy_store::faulty::Faulty;
use twiceshy_store::{Change, Checked, Durability, Guard, Kind, Memory, MemoryStore, Options, Space, Store};

/// An event: its level, its message, the guard's name, and all that was told.
#[derive(Clone, Debug)]
struct Told {
    level: Level,
    message: String,
    guard: String,
    all: String,
}

static TOLD: Mutex<Vec<Told>> = Mutex::new(Vec::new());

/// Keeps all events of the process: a guard tells from its own threads too.
struct Collector;

impl Subscriber for Collector {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target() == "twiceshy_store"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let (message, guard, all) = Default::default();
        let mut told = Told { level: *event.metadata().level(), message, guard, all };
        event.record(&mut told);
        TOLD.lock().unwrap_or_else(PoisonError::into_inner).push(told);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Visit for Told {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "guard" {
            self.guard = value.to_owned();
        }
        self.record_debug(field, &value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        }
        let _ = write!(self.all, "{}={value:?} ", field.name());
    }
}

/// Collects from here on.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Collector).expect("the only subscriber"));
}

/// The events of a guard, which must not name a key.
fn told(guard: &str) -> Vec<Told> {
    let all = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let own: Vec<Told> = all.iter().filter(|told| told.guard == guard).cloned().collect();
    assert!(own.iter().all(|told| !told.all.contains("secret")), "{own:?}");
    own
}

/// How many events of a guard have this level and this message.
fn count(guard: &str, level: Level, message: &str) -> usize {
    told(guard).iter().filter(|told| told.level == level && told.message.starts_with(message)).count()
}

/// A key that nobody may see.
fn key(number: u64) -> String {
    format!("secret {}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

fn fill(guard: &Guard<impl Store>, keys: std::ops::Range<u64>) {
    guard.insert_all(keys.map(|number| (key(number), b"secret"))).expect("memory");
}

fn ask(guard: &Guard<impl Store>, keys: std::ops::Range<u64>) {
    assert!(keys.map(key).all(|key| !guard.contains(key.as_bytes()).expect("memory")));
}

#[test]
fn a_guards_life_is_told() {
    listen();
    let (name, memory, folder) = ("life", Memory::new(), tempfile::tempdir().expect("a folder"));
    let open = |snapshot: &Path| {
        let options = Options::new().name(name).background(false).snapshot(snapshot).false_positive_rate(1.0 / 16.0);
        options.open(memory.open().expect("nobody has it open")).expect("its own store")
    };
    let guard = open(&folder.path().join("snapshot"));
    assert_eq!(count(name, Level::INFO, "opened"), 1);
    fill(&guard, 0..2_000);
    assert!(count(name, Level::INFO, "grown") > 0 && count(name, Level::INFO, "re-keyed") == 0);
    guard.ask_for_hash_key().expect("memory");
    (2_000..2_100).for_each(|number| fill(&guard, number..number + 1));
    assert_eq!(count(name, Level::INFO, "re-keyed"), 1);
    let grown = count(name, Level::INFO, "grown") as u64;
    ask(&guard, 3_000..6_000);
    let stats = guard.stats();
    assert!(stats.false_positives > 0 && stats.grown == grown + 1, "{stats:?}");
    assert_eq!(count(name, Level::DEBUG, "false positive") as u64, stats.false_positives);
    assert!(count(name, Level::DEBUG, "learned") > 0);
    guard.save().expect("a folder");
    assert_eq!(count(name, Level::INFO, "saved"), 1);
    guard.close().expect("a folder");
    assert_eq!(count(name, Level::INFO, "closed"), 1);
    assert_eq!(count(name, Level::INFO, "rebuilt"), 0);

    let guard = open(&folder.path().join("another"));
    guard.wait().expect("memory");
    drop(guard);
    assert_eq!((count(name, Level::INFO, "rebuilt"), count(name, Level::INFO, "closed")), (1, 2));
    assert!(told(name).iter().all(|told| told.level >= Level::INFO), "nothing was wrong: {:?}", told(name));
}

#[test]
fn commits_that_fail_are_told() {
    listen();
    let name = "commits";
    let options = Options::new().name(name).background(false);
    let guard = options.open(Faulty::new(MemoryStore::new())).expect("an empty store");
    fill(&guard, 0..10);
    guard.store().fail_commit();
    assert!(guard.insert(key(20).as_bytes(), b"").is_err());
    let counts = || (count(name, Level::WARN, "a commit failed"), count(name, Level::WARN, "the answer to a commit"));
    assert_eq!(counts(), (1, 0));
    guard.store().lose_answer(true);
    assert!(guard.insert(key(20).as_bytes(), b"").is_err());
    assert_eq!(counts(), (1, 1));
}

#[test]
fn a_snapshot_that_cannot_be_saved_is_told() {
    listen();
    let (name, folder) = ("unsaved", tempfile::tempdir().expect("a folder"));
    let options = Options::new().name(name).snapshot(folder.path().join("missing").join("snapshot"));
    let guard = options.open(MemoryStore::new()).expect("an empty store");
    assert!(guard.save().is_err());
    assert_eq!(count(name, Level::WARN, "the snapshot could not be saved"), 1);
    assert!(guard.close().is_err());
    assert_eq!(count(name, Level::WARN, "closed with an error"), 1);
}

#[test]
fn a_flood_of_skipped_mistakes_is_told_a_few_times() {
    listen();
    let name = "skipped";
    let options = Options::new().name(name).filter(Kind::Broom).false_positive_rate(1.0 / 16.0).queue(0);
    let guard = options.open(MemoryStore::new()).expect("an empty store");
    fill(&guard, 0..500);
    ask(&guard, 1_000..5_000);
    let skipped = guard.stats().skipped;
    assert!(skipped > 64, "{skipped}");
    assert_eq!(count(name, Level::WARN, "mistakes were skipped") as u32, skipped.ilog2() + 1);
}

#[test]
fn damage_is_told_without_the_names_of_keys() {
    listen();
    let (name, memory) = ("damage", Arc::new(Memory::new()));
    let put = |space, key: &[u8], value: &[u8]| {
        let change = Change { space, key: key.to_vec(), value: Some(value.to_vec()) };
        memory.open().expect("nobody has it open").commit(&[change], Durability::Synced).expect("memory");
    };
    let open = || {
        let options = Options::new().name(name).background(false).open_damaged(true);
        options.open(memory.open().expect("nobody has it open")).expect("its own store")
    };
    let damage =
        |what: &str| told(name).iter().filter(|told| told.message == "damaged" && told.all.contains(what)).count();
    fill(&open(), 0..10);
    put(Space::Values, key(3).as_bytes(), b"another secret");
    let guard = open();
    assert!(guard.get(key(3).as_bytes()).is_err());
    assert_eq!(damage("checksum"), 1);
    assert!(matches!(guard.check(), Ok(Checked::StoreDamaged(what)) if what.contains("secret")), "a key is named");
    assert_eq!(damage("says a check"), 1);
    assert_eq!(guard.repair().expect("memory").lost.len(), 1);
    assert_eq!(count(name, Level::INFO, "repaired"), 1);
    drop(guard);
    put(Space::Meta, b"state", b"garbage");
    drop(open());
    assert_eq!(damage("the state record"), 1);
    assert_eq!(count(name, Level::WARN, "damaged"), 3);
}

#[test]
fn a_row_that_was_denied_is_told_once_a_minute() {
    listen();
    let name = "drift";
    let guard = Options::new().name(name).open_beside(MemoryStore::new()).expect("an empty store");
    for _ in 0..3 {
        guard.adopt(|| Ok::<_, std::io::Error>([] as [std::io::Result<&str>; 0])).expect("memory");
        assert!(guard.is_complete() && !guard.seen(key(1)));
    }
    assert_eq!(guard.stats().denied_rows, 3);
    assert_eq!(count(name, Level::ERROR, "the filter denied a row"), 1);
    assert!(told(name).iter().any(|told| told.message.contains("call `resync`")));
}
