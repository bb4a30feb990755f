//! One hot path, many times, inside the function `measured`: `./instructions` counts what it executes.
//!
//! `instructions --list` prints the paths; `instructions PATH` takes one, and prints how many times.

use std::hint::black_box;
use twiceshy::AdaptiveFilter;
use twiceshy::cuckoo::{CuckooFilter, CuckooingFilter, CyclicFilter, FullKeyFilter, SwappingFilter};
use twiceshy::filter::{Backed, Filter};
use twiceshy::hash::HashKey;
use twiceshy::quotient::{ExtensionFilter, QuotientFilter, TelescopingFilter};
use twiceshy::remote::ByHash;

/// Stored keys: 95 % of the cells.
const KEYS: u64 = 9_500;
const CELLS: u64 = 10_000;
/// How often a path is taken.
const TIMES: u64 = 20_000;

const FILTERS: [&str; 7] = ["cuckoo", "cuckoo-full", "swapping", "cuckooing", "cyclic", "quotient", "telescoping"];
const ADAPTED: [&str; 2] = ["telescoping", "extension"];

fn key(number: u64) -> [u8; 8] {
    (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

/// What is counted. Its name is known to the script.
#[inline(never)]
fn measured(work: impl FnOnce() -> u64) -> u64 {
    black_box(work())
}

fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    if path == "--list" {
        paths().iter().for_each(|path| println!("{path}"));
        return;
    }
    let words: Vec<&str> = path.split(' ').collect();
    let [filter, operation, hash] = words[..] else {
        eprintln!("instructions: name a path, as --list shows them");
        std::process::exit(2);
    };
    let key = HashKey::fixed(1);
    let hash = if hash == "siphash" { key } else { key.for_trusted_keys() };
    let times = run(filter, operation, hash);
    println!("{}", times.unwrap_or(0));
}

fn paths() -> Vec<String> {
    let mut paths = Vec::new();
    for hash in ["xxh3", "siphash"] {
        for filter in FILTERS.into_iter().chain(["extension"]) {
            paths.extend(["absent", "stored", "batch"].map(|operation| format!("{filter} {operation} {hash}")));
        }
        for filter in ADAPTED {
            paths.extend(["absent-adapted", "stored-adapted"].map(|operation| format!("{filter} {operation} {hash}")));
        }
        paths.extend(["cuckoo", "quotient"].map(|filter| format!("{filter} insert {hash}")));
    }
    paths
}

/// Takes a path; `None` if there is no such path.
fn run(filter: &str, operation: &str, hash: HashKey) -> Option<u64> {
    match filter {
        "cuckoo" => {
            let mut filter = CuckooFilter::with_cells(CELLS, 12).build(hash).ok()?;
            if operation == "insert" {
                return Some(measured(|| {
                    (0..KEYS).filter(|number| filter.insert(&key(*number)).is_ok()).count() as u64
                }));
            }
            (0..KEYS).try_for_each(|number| filter.insert(&key(number))).ok()?;
            look(&filter, operation)
        }
        "quotient" => {
            let mut filter = QuotientFilter::keyless(KEYS, 1.0 / 256.0, hash).ok()?;
            if operation == "insert" {
                return Some(measured(|| {
                    (0..KEYS).filter(|number| filter.insert(&key(*number)).is_ok()).count() as u64
                }));
            }
            (0..KEYS).try_for_each(|number| filter.insert(&key(number)).map(drop)).ok()?;
            look(&filter, operation)
        }
        "cuckoo-full" => backed(FullKeyFilter::with_cells(CELLS, 11).build(hash, ByHash::new()).ok()?, operation),
        "swapping" => backed(SwappingFilter::with_cells(CELLS, 12).build(hash, ByHash::new()).ok()?, operation),
        "cuckooing" => backed(CuckooingFilter::with_cells(CELLS, 11).build(hash, ByHash::new()).ok()?, operation),
        "cyclic" => backed(CyclicFilter::with_cells(CELLS, 12).build(hash, ByHash::new()).ok()?, operation),
        "telescoping" => backed(TelescopingFilter::with_slots(CELLS, 8).build(hash, ByHash::new()).ok()?, operation),
        "extension" => backed(ExtensionFilter::with_slots(CELLS, 8).build(hash, ByHash::new()).ok()?, operation),
        _ => None,
    }
}

fn backed<F: Backed>(mut filter: AdaptiveFilter<F, ByHash>, operation: &str) -> Option<u64> {
    (0..KEYS).try_for_each(|number| filter.insert(&key(number)).map(drop)).ok()?;
    let Some(operation) = operation.strip_suffix("-adapted") else { return look(filter.filter(), operation) };
    // Ten distinct absent queries for each key, other ones than are asked below.
    for query in (11 * KEYS..21 * KEYS).map(|number| key(number + TIMES)) {
        if filter.contains(&query) {
            filter.was_wrong(&query).ok()?;
        }
    }
    look(filter.filter(), operation)
}

fn look(filter: &impl Filter, operation: &str) -> Option<u64> {
    let absent: Vec<[u8; 8]> = (KEYS..KEYS + TIMES).map(key).collect();
    let stored: Vec<[u8; 8]> = (0..TIMES).map(|number| key(number * 7 % KEYS)).collect();
    let count = |keys: &[[u8; 8]]| measured(|| keys.iter().filter(|key| filter.contains(&key[..])).count() as u64);
    match operation {
        "absent" => drop(black_box(count(&absent))),
        "stored" => assert_eq!(count(&stored), TIMES, "no stored key is absent"),
        "batch" => {
            let keys: Vec<&[u8]> = absent.iter().map(|key| &key[..]).collect();
            let mut found = vec![false; keys.len()];
            measured(|| {
                filter.contains_batch(&keys, &mut found);
                TIMES
            });
        }
        _ => return None,
    }
    Some(TIMES)
}
