//! The status file of a running guard.
#![cfg(feature = "redb")]

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};
use twiceshy_store::{Adapt, Guard, Kind, Options, STATUS_FILE, Status};

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

/// The names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("a file").file_name().into_string().expect("text");
    let mut names: Vec<String> = fs::read_dir(folder).expect("a folder").map(name).collect();
    names.sort();
    names
}

/// Waits for a status that is as it should be.
fn soon(folder: &Path, is_right: impl Fn(&Status) -> bool) -> Status {
    let began = Instant::now();
    loop {
        let status = Status::read(folder).expect("the store is open");
        if is_right(&status) {
            return status;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{status:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_running_guard_writes_its_figures_beside_the_store_and_deletes_them_when_it_is_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(Status::read(folder.path()).expect_err("there is no store").kind(), ErrorKind::NotFound);
    let options = Options::new().filter(Kind::Swapping).false_positive_rate(0.01);
    let guard = options.open_folder(folder.path()).expect("a new store");
    let status = Status::read(folder.path()).expect("the store is open");
    assert_eq!((status.pid, status.filter, status.rate), (std::process::id(), Kind::Swapping, 0.01));
    assert_eq!((status.version.as_str(), status.stats), (env!("CARGO_PKG_VERSION"), guard.stats()));
    assert!(status.age() < Duration::from_secs(600) && status.opened <= status.written, "{status:?}");

    guard.insert_all((0..100).map(|number| (key(number), b""))).expect("a folder");
    assert!((100..5_000).all(|number| !guard.contains(&key(number)).expect("a folder")));
    guard.wait().expect("a folder");
    // Nobody saves: the learner writes it.
    let stats = guard.stats();
    assert!(stats.turned_away > 4_000);
    soon(folder.path(), |status| status.stats == stats);

    guard.insert(&key(100), b"").expect("a folder");
    guard.save().expect("a folder");
    assert_eq!(Status::read(folder.path()).expect("it was saved").stats, guard.stats());
    guard.close().expect("a folder");
    assert_eq!(Status::read(folder.path()).expect_err("it is closed").kind(), ErrorKind::NotFound);
    assert!(names(folder.path()).iter().all(|name| !name.starts_with(STATUS_FILE)), "{:?}", names(folder.path()));

    drop(Guard::open(folder.path()).expect("its own store"));
    assert!(Status::read(folder.path()).is_err(), "dropping closes, too");
}

#[test]
fn a_status_is_not_written_again_while_nothing_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let guard = Guard::open(folder.path()).expect("a new store");
    guard.insert(b"key", b"").expect("a folder");
    soon(folder.path(), |status| status.stats == guard.stats());
    let modified = || folder.path().join(STATUS_FILE).metadata().and_then(|about| about.modified()).expect("a file");
    let before = modified();
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(modified(), before);
}

#[test]
fn a_busy_guard_writes_its_status_at_most_once_a_second() {
    let folder = tempfile::tempdir().expect("a folder");
    let guard = Guard::open(folder.path()).expect("a new store");
    let (began, mut texts) = (Instant::now(), std::collections::BTreeSet::new());
    while began.elapsed() < Duration::from_millis(3_300) {
        assert!(!guard.contains(b"absent").expect("a folder"));
        texts.insert(fs::read(folder.path().join(STATUS_FILE)).expect("it is never missing"));
    }
    // The first, and one at the end of each second.
    assert!(texts.len() as u64 <= 2 + began.elapsed().as_secs(), "{} were written", texts.len());
    soon(folder.path(), |status| status.stats == guard.stats());
}

#[test]
fn only_a_guard_that_may_write_writes_a_status() {
    let folder = tempfile::tempdir().expect("a folder");
    Guard::open(folder.path()).expect("a new store").close().expect("a folder");
    let before = names(folder.path());
    let guard = Options::new().read_only(true).open_folder(folder.path()).expect("its own store");
    assert_eq!(names(folder.path()), before);
    guard.close().expect("a folder");
    assert_eq!(names(folder.path()), before);
    // Without a learner it is written when the store is opened and when it is saved.
    let guard = Options::new().adapt(Adapt::Never).open_folder(folder.path()).expect("its own store");
    guard.insert(b"key", b"").expect("a folder");
    guard.save().expect("a folder");
    assert_eq!(Status::read(folder.path()).expect("it was saved").stats, guard.stats());
}

#[cfg(unix)]
#[test]
fn a_status_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let _guard = Guard::open(folder.path()).expect("a new store");
    let about = folder.path().join(STATUS_FILE).metadata().expect("a file");
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
}

/// Whatever is in the place of the status, the guard works.
#[test]
fn a_status_that_cannot_be_written_does_no_harm() {
    for name in [STATUS_FILE.to_owned(), format!("{STATUS_FILE}.new")] {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join(&name)).expect("a folder");
        fs::write(folder.path().join(&name).join("file"), b"mine").expect("a folder");
        let guard = Guard::open(folder.path()).expect("a new store");
        guard.insert(b"key", b"").expect("a folder");
        guard.save().expect("a folder");
        assert!(Status::read(folder.path()).is_err());
        guard.close().expect("a folder");
        assert_eq!(fs::read(folder.path().join(&name).join("file")).expect("it stays"), b"mine");
        assert!(Guard::open(folder.path()).expect("its own store").contains(b"key").expect("a folder"));
    }
}

#[cfg(unix)]
#[test]
fn links_in_the_place_of_a_status_are_not_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let victim = folder.path().join("victim");
    let guard = Guard::open(folder.path()).expect("a new store");
    let precious = fs::read(folder.path().join(STATUS_FILE)).expect("it is open");
    guard.close().expect("a folder");
    fs::write(&victim, &precious).expect("a folder");
    for name in [STATUS_FILE.to_owned(), format!("{STATUS_FILE}.new")] {
        std::os::unix::fs::symlink(&victim, folder.path().join(name)).expect("a folder");
    }
    assert_eq!(Status::read(folder.path()).expect_err("a link").kind(), ErrorKind::InvalidData);
    let guard = Guard::open(folder.path()).expect("its own store");
    assert_eq!(Status::read(folder.path()).expect("the guard's own").pid, std::process::id());
    guard.close().expect("a folder");
    assert_eq!(fs::read(&victim).expect("a file"), precious);
}

#[test]
fn what_is_no_status_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(STATUS_FILE);
    let guard = Guard::open(folder.path()).expect("a new store");
    let good = fs::read(&path).expect("it is open");
    guard.close().expect("a folder");
    let huge = [&good[..], &vec![b'\n'; 1 << 20]].concat();
    for bytes in [&b""[..], b"\n", b"\n\n", b"sum 00000000\n", b"\xff\xfe", &good[1..], &good[..good.len() - 1], &huge]
    {
        fs::write(&path, bytes).expect("a folder");
        let refused = Status::read(folder.path()).expect_err("no status");
        assert_eq!(refused.kind(), ErrorKind::InvalidData, "{} bytes", bytes.len());
    }
    fs::write(&path, good).expect("a folder");
    assert!(Status::read(folder.path()).is_ok());
}
