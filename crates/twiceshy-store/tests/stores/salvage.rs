//! Files that redb cannot repair: what can be read is copied, and the rest is named.
#![cfg(feature = "redb")]

use super::support::quiet_hook;
use std::collections::BTreeSet;
use std::path::Path;
use twiceshy_store::{Checked, Guard, Kind, Options, RedbError, STORE_FILE};

const KEYS: u32 = 3_000;
const PAGE: usize = 4_096;

/// Keys that are close together, so that a flipped bit breaks their order; or far apart, so that it does not.
fn key(number: u32, apart: bool) -> Vec<u8> {
    let far = u128::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
    if apart { far.to_be_bytes().to_vec() } else { format!("key {number}").into_bytes() }
}

/// A key as messages show it.
fn shown(key: &[u8]) -> String {
    key.iter().flat_map(|byte| std::ascii::escape_default(*byte)).map(char::from).collect()
}

fn value(number: u32) -> Vec<u8> {
    format!("the value of {number}, which is not short").into_bytes()
}

fn filled(folder: &Path, kind: Kind, apart: bool) {
    let guard = Options::new().filter(kind).open_folder(folder).expect("a folder");
    guard.insert_all((0..KEYS).map(|number| (key(number, apart), value(number)))).expect("a folder");
    guard.close().expect("a folder");
}

/// A small generator.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// Damages one page that redb uses.
fn damage(bytes: &mut [u8], state: &mut u64) {
    let used: Vec<usize> = (1..bytes.len() / PAGE).filter(|page| matches!(bytes[page * PAGE], 1 | 2)).collect();
    let page = used[next(state) % used.len()] * PAGE;
    match next(state) % 3 {
        0 => bytes[page + next(state) % PAGE] ^= 1 << (next(state) % 8),
        1 => bytes[page..page + PAGE].fill(0),
        _ => bytes[page + 8..page + PAGE].iter_mut().for_each(|byte| *byte = next(state) as u8),
    }
}

#[test]
fn every_key_of_a_damaged_file_is_copied_or_named() {
    quiet_hook();
    let (mut state, mut salvaged, mut copied, mut lost) = (7, 0, 0, 0);
    for (kind, apart) in
        [(Kind::Telescoping, false), (Kind::Telescoping, true), (Kind::Swapping, true), (Kind::Broom, false)]
    {
        let folder = tempfile::tempdir().expect("a folder");
        filled(folder.path(), kind, apart);
        let sound = std::fs::read(folder.path().join(STORE_FILE)).expect("a file");
        for round in 0..25 {
            let folder = tempfile::tempdir().expect("a folder");
            let mut bytes = sound.clone();
            damage(&mut bytes, &mut state);
            std::fs::write(folder.path().join(STORE_FILE), &bytes).expect("a folder");
            let when = format!("{kind}, round {round}");
            let done = match Options::new().create(false).repair_folder(folder.path()) {
                Ok(done) => done,
                // The file's own root is gone.
                Err(error) => {
                    assert!(!error.to_string().is_empty(), "{when}");
                    continue;
                }
            };
            let guard: Guard<_> = Options::new().create(false).open_folder(folder.path()).expect(&when);
            // A store whose state record cannot be read gets the filter of the options.
            assert!([kind, Kind::Telescoping].contains(&guard.filter().expect(&when).0), "{when}");
            let mut missing = BTreeSet::new();
            for number in 0..KEYS {
                match guard.get(&key(number, apart)) {
                    Ok(Some(found)) => assert_eq!(found, value(number), "{when}"),
                    _ => drop(missing.insert(shown(&key(number, apart)))),
                }
            }
            // Of very many, not all are named.
            let ranges = done.lost.iter().any(|lost| lost.contains("missing") || lost.contains(" more: "));
            for key in &missing {
                let named = done.lost.iter().any(|lost| lost.contains(&format!("the key {key} ")));
                assert!(named || ranges, "{when}: {key} is lost without a word: {:?}", done.lost);
            }
            assert!(guard.insert(b"new", b"").expect(&when), "{when}");
            drop(guard);
            let kept = folder.path().join(format!("{STORE_FILE}.damaged-1"));
            if kept.exists() {
                salvaged += 1;
                copied += KEYS as usize - missing.len();
                lost += missing.len();
                let guard = Options::new().create(false).open_folder(folder.path()).expect(&when);
                assert_eq!(guard.check().expect(&when), Checked::Sound, "{when}");
            }
        }
    }
    println!("{salvaged} files salvaged: {copied} keys copied, {lost} lost");
    // With debug assertions, redb refuses to open more of them.
    assert!(salvaged > 5 && lost * 10 < copied, "{salvaged} files: {copied} keys copied, {lost} lost");
}

#[test]
fn a_file_that_is_no_store_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(STORE_FILE);
    std::fs::write(&path, b"no store at all").expect("a folder");
    let refused = Options::new().create(false).repair_folder(folder.path());
    assert!(matches!(refused, Err(twiceshy_store::Error::Store(RedbError::Open { .. }))));
    assert_eq!(std::fs::read(&path).expect("a file"), b"no store at all");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}
