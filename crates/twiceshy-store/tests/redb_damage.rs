//! A redb file with damaged bytes: every call answers or returns an error, and none panics or hangs.
//!
//! A program of its own: it measures the memory of the process.
#![cfg(feature = "redb")]

use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use twiceshy_store::panics_become_errors;
use twiceshy_store::{Change, Durability, Options, RedbError, RedbStore, STORE_FILE, Space, Store};

const PAGE: usize = 4_096;
const KEYS: u32 = 3_000;

fn key(number: u32) -> Vec<u8> {
    format!("key {number:06}").into_bytes()
}

/// A store of a guard, closed: its file's bytes.
fn sound() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let guard = Options::new().open_folder(folder.path()).expect("a store");
    let entries = (0..KEYS).map(|number| (key(number), vec![b'v'; number as usize % 60]));
    guard.insert_all(entries).expect("room");
    guard.close().expect("closed");
    std::fs::read(folder.path().join(STORE_FILE)).expect("the file")
}

/// A small generator: the same damage in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ word >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// A name, and what happens to the bytes.
type Damage = (String, Box<dyn FnOnce(&mut Vec<u8>)>);

fn flip(at: usize, bit: usize) -> Damage {
    (format!("bit {bit} of byte {at}"), Box::new(move |bytes| bytes[at] ^= 1 << bit))
}

fn spoil_page(used: &[usize], random: &mut Random) -> Damage {
    let start = used[random.below(used.len())] * PAGE;
    let other = used[random.below(used.len())] * PAGE;
    let way = random.below(4);
    let noise: Vec<u8> = (0..PAGE).map(|_| random.next() as u8).collect();
    let damage = move |bytes: &mut Vec<u8>| match way {
        0 => bytes[start..][..PAGE].fill(0),
        1 => bytes[start..][..PAGE].fill(0xFF),
        2 => bytes[start..][..PAGE].copy_from_slice(&noise),
        _ => {
            let first = bytes[start..][..PAGE].to_vec();
            bytes.copy_within(other..other + PAGE, start);
            bytes[other..][..PAGE].copy_from_slice(&first);
        }
    };
    (format!("page at {start}, way {way}, other page at {other}"), Box::new(damage))
}

/// All pointers of a branch page lead to one place.
fn point(start: usize, pointer: u64) -> Damage {
    let damage = move |bytes: &mut Vec<u8>| {
        let children = usize::from(u16::from_le_bytes([bytes[start + 2], bytes[start + 3]])) + 1;
        for child in bytes[start + 8 + 16 * children..][..8 * children].chunks_exact_mut(8) {
            child.copy_from_slice(&pointer.to_le_bytes());
        }
    };
    (format!("pointers of the page at {start} are {pointer:x}"), Box::new(damage))
}

/// Many ways to damage a file. Most of it is unused, so pages that hold something are preferred.
fn damages(sound: &[u8]) -> Vec<Damage> {
    let mut random = Random(7);
    let pages = 0..sound.len() / PAGE;
    let used: Vec<usize> = pages.filter(|page| sound[page * PAGE..][..PAGE].iter().any(|byte| *byte != 0)).collect();
    let mut all: Vec<Damage> = Vec::new();
    // A bit in every other byte of the header.
    all.extend((0..320).step_by(2).map(|at| flip(at, random.below(8))));
    // The first bytes of a page say what it is, how many entries it has, and where they are.
    for within in [48, PAGE] {
        let at = |random: &mut Random| used[random.below(used.len())] * PAGE + random.below(within);
        all.extend((0..100).map(|_| flip(at(&mut random), random.below(8))));
    }
    all.extend((0..60).map(|_| spoil_page(&used, &mut random)));
    let branches = used.iter().copied().filter(|page| *page > 0 && sound[page * PAGE] == 2);
    for (number, page) in branches.take(20).enumerate() {
        // The first leads back to the page itself.
        let wild = [page as u64 - 1, 20 << 59, 16 << 59, 0xF_FFFF, 0xFFFF << 20];
        all.extend(wild.into_iter().take(if number < 6 { 5 } else { 1 }).map(|pointer| point(page * PAGE, pointer)));
    }
    for len in [1, 100, 320, PAGE, PAGE + 1, sound.len() / 2, sound.len() - PAGE, sound.len() - 1] {
        all.push((format!("cut to {len} bytes"), Box::new(move |bytes| bytes.truncate(len))));
    }
    all.push(("longer by a page".to_owned(), Box::new(|bytes| bytes.extend([7; PAGE]))));
    all
}

/// All entries of all maps.
type Contents = Vec<(Space, Vec<u8>, Vec<u8>)>;

fn contents(store: &RedbStore) -> Result<Contents, RedbError> {
    let mut all = Contents::new();
    for space in Space::ALL {
        store.scan(space, Bound::Unbounded, &mut |key, value| {
            all.push((space, key.to_vec(), value.to_vec()));
            assert!(all.len() < 100_000, "a scan without an end");
            true
        })?;
    }
    Ok(all)
}

/// What became of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// It could not be opened.
    AtOpen,
    /// The check found something that it could not repair.
    Damaged,
    /// The check repaired it.
    Repaired,
    /// The check found nothing, and all entries are there.
    Nothing,
    /// The check found nothing, and entries are missing or wrong.
    Wrong,
}

/// Opens the file for reading, and has it checked.
fn check(path: &Path, whole: &Contents) -> Found {
    let Ok(store) = RedbStore::open_read_only(path) else { return Found::AtOpen };
    match store.verify() {
        Err(_) => Found::Damaged,
        Ok(problems) if !problems.is_empty() => Found::Repaired,
        Ok(_) if contents(&store).is_ok_and(|contents| contents == *whole) => Found::Nothing,
        Ok(_) => Found::Wrong,
    }
}

/// Everything that a store can be asked for. `true` if a call failed.
fn use_store(path: &Path) -> bool {
    let Ok(store) = RedbStore::open(path) else { return true };
    let mut failed = false;
    for number in (0..KEYS).step_by(100) {
        failed |= store.get(Space::Values, &key(number)).is_err();
    }
    failed |= contents(&store).is_err();
    for durability in [Durability::Seen, Durability::Synced] {
        let put = |space, number| Change { space, key: key(number), value: Some(b"new".to_vec()) };
        let changes = [put(Space::Values, 1), put(Space::Values, 2_999), put(Space::Log, 5), put(Space::Index, 9)];
        failed |= store.commit(&changes, durability).is_err();
    }
    failed |= store.verify().is_err();
    failed | store.contains(Space::Values, &key(7)).is_err()
}

/// Runs `work` in a thread of its own, for at most `seconds`.
fn in_time<T: Send + 'static>(seconds: u64, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(work()));
    receive.recv_timeout(Duration::from_secs(seconds)).expect("an answer in time")
}

fn quiet_hook() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !panics_become_errors() {
            before(info);
        }
    }));
}

/// The most memory that this process has had, in MB.
#[cfg(target_os = "linux")]
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1_000
}

#[test]
fn no_damage_makes_a_call_panic_or_hang_and_the_check_misses_none() {
    quiet_hook();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.redb");
    let sound = sound();
    std::fs::write(&path, &sound).expect("a file");
    let whole = contents(&RedbStore::open_read_only(&path).expect("sound")).expect("sound");
    let (mut found, mut failed) = (Vec::new(), 0);
    for (name, damage) in damages(&sound) {
        let mut bytes = sound.clone();
        damage(&mut bytes);
        std::fs::write(&path, &bytes).expect("a file");
        let (path, whole) = (path.clone(), whole.clone());
        let outcome = in_time(20, move || {
            catch_unwind(AssertUnwindSafe(|| {
                let found = check(&path, &whole);
                assert!(std::fs::read(&path).expect("the file") == bytes, "a check changed the file");
                let failed = use_store(&path);
                let in_use = matches!(RedbStore::open(&path), Err(RedbError::InUse(_)));
                assert!(!in_use, "a lock was left behind");
                (found, failed)
            }))
        });
        let Ok((this, call_failed)) = outcome else { panic!("{name} made a call panic") };
        assert!(this != Found::Wrong, "{name}: the check missed it");
        found.push(this);
        failed += usize::from(call_failed);
    }
    let number = |what| found.iter().filter(|found| **found == what).count();
    let [refused, damaged, repaired, nothing] =
        [Found::AtOpen, Found::Damaged, Found::Repaired, Found::Nothing].map(number);
    println!(
        "{} files: {refused} cannot be opened, the check gives up {damaged} and repairs {repaired}, {nothing} hold all \
         entries; {failed} with a call that failed",
        found.len()
    );
    assert!(refused > 50 && damaged > 50 && nothing > 50 && failed > 50);
    // redb would have made room for pages of up to 4 GiB.
    #[cfg(target_os = "linux")]
    assert!(peak_memory() < 300, "{} MB", peak_memory());
}
