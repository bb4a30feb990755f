//! Look-ups of absent keys through a guard, for callgrind and perf: no clock is read on the way.
//!
//! ```sh
//! cargo build --profile profiling -p twiceshy-store --example guard_lookups
//! valgrind --tool=callgrind --toggle-collect='guard_lookups::measured*' \
//!     target/profiling/examples/guard_lookups FOLDER telescoping turned-away 100000
//! ```
//!
//! The folder gets a redb store of a million keys for each filter, or has it from the last time. *Turned away* are keys that
//! the filter knows to be absent; *mistakes* are keys that it lets pass, each asked for once; *mixed* are absent keys as they
//! come. The quotient filter never learns; the others do before they answer, so that one thread does all the work. Prints the number of look-ups, what the guard counted, and the time.

use std::error::Error;
use std::hint::black_box;
use std::ops::Bound;
use std::path::Path;
use std::time::Instant;
use twiceshy_store::{Adapt, Durability, Guard, Kind, Options, RedbOptions, RedbStore, Space, Store};

/// Keys in the store.
const KEYS: u64 = 1_000_000;

fn key(number: u64) -> [u8; 16] {
    u128::from(number).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835).to_be_bytes()
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, filter, what, count] = &arguments[..] else {
        return Err("give a folder, a filter, turned-away, mistakes or mixed, and a number of look-ups".into());
    };
    let (kind, count): (Kind, usize) = (filter.parse()?, count.parse()?);
    let folder = Path::new(folder).join(filter);
    let adapts = kind != Kind::Quotient;
    let asked = choose(&open(&folder, kind, false)?, what, count)?;
    // The filter has learned nothing yet.
    let guard = open(&folder, kind, adapts)?;
    let begun = Instant::now();
    measured(&guard, &asked);
    let took = begun.elapsed();
    let stats = guard.stats();
    println!(
        "{} look-ups, {} turned away, {} mistakes, {} learned, {} ns each",
        asked.len(),
        stats.turned_away,
        stats.false_positives,
        stats.adapted,
        took.as_nanos() / asked.len().max(1) as u128
    );
    Ok(())
}

/// Opens a store without saving what is learned.
fn open(folder: &Path, kind: Kind, adapts: bool) -> Result<Guard<RedbStore>, Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let adapt = if adapts { Adapt::Always } else { Adapt::Never };
    let (file, snapshot) = (folder.join("store"), folder.join("snapshot"));
    let options = || Options::new().filter(kind).adapt(adapt).expected_keys(KEYS).durability(Durability::Seen);
    if !snapshot.exists() {
        let guard = options().snapshot(&snapshot).open(RedbStore::open(&file)?)?;
        guard.insert_all((0..KEYS).map(|number| (key(number), [b'.'; 100])))?;
        guard.close()?;
    }
    let copy = folder.join("snapshot.copy");
    std::fs::copy(&snapshot, &copy)?;
    let store = RedbStore::open_with(&file, &RedbOptions::new().cache(1 << 30))?;
    for space in [Space::Values, Space::Index] {
        // All pages are in redb's cache from now on.
        store.scan(space, Bound::Unbounded, &mut |_, _| true)?;
    }
    let options = options().background(false).snapshot(copy);
    Ok(options.open(store)?)
}

/// Absent keys of the kind that is asked for. The guard does not learn, so each is asked for as often as need be.
fn choose(guard: &Guard<RedbStore>, what: &str, count: usize) -> Result<Vec<[u8; 16]>, Box<dyn Error>> {
    let mistakes = |keys: &[[u8; 16]]| -> Result<u64, Box<dyn Error>> {
        let before = guard.stats().false_positives;
        guard.contains_all(keys)?;
        Ok(guard.stats().false_positives - before)
    };
    let mut chosen = Vec::with_capacity(count);
    for first in (KEYS..).step_by(AT_ONCE as usize) {
        if chosen.len() >= count {
            break;
        }
        let some: Vec<[u8; 16]> = (first..first + AT_ONCE).map(key).collect();
        if what == "mixed" {
            chosen.extend(some);
        } else if mistakes(&some)? == 0 {
            chosen.extend(some.iter().filter(|_| what == "turned-away"));
        } else {
            for key in some {
                if (mistakes(&[key])? > 0) == (what == "mistakes") {
                    chosen.push(key);
                }
            }
        }
    }
    chosen.truncate(count);
    Ok(chosen)
}

/// Keys that are asked for together while keys are chosen.
const AT_ONCE: u64 = 16;

#[inline(never)]
fn measured(guard: &Guard<RedbStore>, asked: &[[u8; 16]]) {
    for key in asked {
        assert!(!black_box(guard.contains(key)).unwrap_or(true), "a key is absent");
    }
}
