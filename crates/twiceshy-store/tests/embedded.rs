//! What the embedded stores must do besides the contract: refuse a second process, survive a kill and a full disk, and refuse
//! damaged files.
//!
//! Each test runs over each store. Other processes are this test program with another task. A program of its own: between fork and exec
//! such a process holds the file locks of this one, and other tests could find a file in use that they have closed.

use std::fmt::Debug;
use std::io::{BufRead, BufReader};
use std::ops::Bound;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use twiceshy_store::{
    Change, Checked, CommitError, Durability, Error, FjallError, FjallStore, Guard, Options, RedbError, RedbStore,
    Space, SqliteError, SqliteStore, Store,
};

/// A store in a folder.
trait Embedded: Store + Debug + Sized {
    const NAME: &'static str;
    /// `true` if a commit that is only seen survives when the process is killed.
    const SEEN_OUTLIVES_THE_PROCESS: bool = true;
    /// `true` if the store answers after a commit that failed half-way: it knows whether it will be there.
    const ANSWERS_IN_DOUBT: bool = false;
    fn open_in(folder: &Path) -> Result<Self, Self::Error>;
    fn is_in_use(error: &Self::Error) -> bool;
}

impl Embedded for RedbStore {
    const NAME: &'static str = "redb";
    const SEEN_OUTLIVES_THE_PROCESS: bool = false;
    const ANSWERS_IN_DOUBT: bool = true;

    fn open_in(folder: &Path) -> Result<RedbStore, RedbError> {
        RedbStore::open(folder.join("store"))
    }

    fn is_in_use(error: &RedbError) -> bool {
        matches!(error, RedbError::InUse(_))
    }
}

impl Embedded for FjallStore {
    const NAME: &'static str = "fjall";

    fn open_in(folder: &Path) -> Result<FjallStore, FjallError> {
        FjallStore::open(folder.join("store"))
    }

    fn is_in_use(error: &FjallError) -> bool {
        matches!(error, FjallError::InUse(_))
    }
}

impl Embedded for SqliteStore {
    const NAME: &'static str = "sqlite";

    fn open_in(folder: &Path) -> Result<SqliteStore, SqliteError> {
        SqliteStore::open(folder.join("store"))
    }

    fn is_in_use(error: &SqliteError) -> bool {
        matches!(error, SqliteError::InUse(_))
    }
}

/// Runs a generic test for each store.
macro_rules! over_all {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            #[test]
            fn redb() {
                super::$name::<super::RedbStore>();
            }

            #[test]
            fn fjall() {
                super::$name::<super::FjallStore>();
            }

            #[test]
            fn sqlite() {
                super::$name::<super::SqliteStore>();
            }
        }
    )*};
}

over_all!(
    a_second_open_is_refused_here_and_in_another_process,
    acknowledged_commits_survive_a_kill,
    a_kill_while_the_store_is_made_leaves_one_that_opens,
    a_full_disk_loses_nothing_that_was_acknowledged,
    values_of_the_store_are_taken_over,
    a_scan_may_ask_the_store,
);

/// Another process: this program, with a task.
fn process(store: &str, task: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "does_its_task_in_another_process", "--nocapture"]);
    command.env("TWICESHY_TASK", task).env("TWICESHY_STORE", store).env("TWICESHY_FOLDER", folder);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Kills a process when it goes out of scope.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The lines that a process prints for its task.
fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    lines.map_while(Result::ok).filter_map(|line| line.split_once("task: ").map(|(_, said)| said.to_owned()))
}

#[test]
fn does_its_task_in_another_process() {
    let Ok(task) = std::env::var("TWICESHY_TASK") else { return };
    let folder = std::env::var_os("TWICESHY_FOLDER").expect("a folder");
    match std::env::var("TWICESHY_STORE").expect("a store").as_str() {
        RedbStore::NAME => perform::<RedbStore>(&task, Path::new(&folder)),
        FjallStore::NAME => perform::<FjallStore>(&task, Path::new(&folder)),
        _ => perform::<SqliteStore>(&task, Path::new(&folder)),
    }
}

fn perform<S: Embedded>(task: &str, folder: &Path) {
    match task {
        "open" => match S::open_in(folder) {
            Ok(_) => println!("task: opened"),
            Err(error) => println!("task: {} {error}", S::is_in_use(&error)),
        },
        "commit" => {
            let store = S::open_in(folder).expect("nobody has it open");
            let first = last_number(&store) + 1;
            println!("task: {first}");
            for number in first.. {
                let durability = if number % 3 == 0 { Durability::Synced } else { Durability::Seen };
                store.commit(&numbered(number), durability).expect("it works");
                println!("task: {number}");
            }
        }
        // Until the disk is full.
        _ => {
            let guard = match S::open_in(folder).map(|store| Options::new().open(store)) {
                Ok(Ok(guard)) => guard,
                _ => return,
            };
            for number in 0u64.. {
                match guard.insert(&number.to_be_bytes(), &[7; 3_000]) {
                    Ok(_) => println!("task: {number}"),
                    Err(error) => {
                        let answers = guard.get(&number.to_be_bytes()).is_ok();
                        return println!("task: failed {} {answers} {error}", matches!(error, Error::Unknown(_)));
                    }
                }
            }
        }
    }
}

/// A commit of several entries in two maps. It counts itself.
fn numbered(number: u64) -> Vec<Change> {
    let put = |space, key: Vec<u8>| Change { space, key, value: Some(number.to_be_bytes().to_vec()) };
    let many = (0..5u8).map(|part| put(Space::Values, [&number.to_be_bytes()[..], &[part]].concat()));
    many.chain([put(Space::Meta, b"last".to_vec())]).collect()
}

fn last_number(store: &impl Store) -> u64 {
    let last = store.get(Space::Meta, b"last").expect("it answers");
    last.map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().expect("eight bytes")))
}

/// `true` if the store has the commits up to this number, all of each, and nothing else.
fn has_all_up_to(store: &impl Store, last: u64) -> bool {
    let mut there = Vec::new();
    let scanned = store.scan(Space::Values, Bound::Unbounded, &mut |key, value| {
        there.push((key.to_vec(), value.to_vec()));
        true
    });
    scanned.expect("it answers");
    let all = (1..=last).flat_map(numbered).filter(|change| change.space == Space::Values);
    there.into_iter().eq(all.map(|change| (change.key, change.value.unwrap_or_default())))
}

fn a_second_open_is_refused_here_and_in_another_process<S: Embedded>() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = S::open_in(folder.path()).expect("it is new");
    let refused = S::open_in(folder.path()).expect_err("it is open");
    assert!(S::is_in_use(&refused) && refused.to_string().contains("is open already"), "{refused}");
    let ask = || {
        let mut child = process(S::NAME, "open", folder.path()).spawn().expect("a process");
        let said: Vec<String> = lines(&mut child).collect();
        child.wait().expect("a process");
        said
    };
    let said = ask();
    assert!(said[0].starts_with("true") && said[0].contains("is open already"), "{said:?}");
    // A refused open has changed nothing.
    store.commit(&numbered(1), Durability::Synced).expect("it works");
    #[cfg(unix)]
    {
        let link = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink(folder.path().join("store"), link.path().join("store")).expect("a link");
        let refused = S::open_in(link.path()).expect_err("it is open by another name");
        assert!(S::is_in_use(&refused), "{refused}");
    }
    drop(store);
    assert_eq!(ask(), ["opened"]);
    assert_eq!(last_number(&S::open_in(folder.path()).expect("nobody has it open")), 1);
}

fn acknowledged_commits_survive_a_kill<S: Embedded>() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut acknowledged = 0;
    for round in 0..6u64 {
        let mut child = Killed(process(S::NAME, "commit", folder.path()).spawn().expect("a process"));
        let mut numbers = lines(&mut child.0).map(|number| number.parse::<u64>().expect("a number"));
        let first = numbers.next().expect("it opens");
        assert!(first > acknowledged, "{}: round {round}: {first} comes after {acknowledged}", S::NAME);
        numbers.by_ref().take(20 + 13 * round as usize).for_each(|number| acknowledged = number);
        child.0.kill().expect("it runs");
        // Those that it has acknowledged before it was killed.
        numbers.for_each(|number| acknowledged = number);
        drop(child);
        let store = S::open_in(folder.path()).expect("a killed process has no lock");
        let last = last_number(&store);
        // Every third commit is synced.
        let kept = if S::SEEN_OUTLIVES_THE_PROCESS { acknowledged } else { acknowledged / 3 * 3 };
        assert!(last >= kept, "{}: {last}, and {acknowledged} was acknowledged", S::NAME);
        assert!(has_all_up_to(&store, last), "{}: every commit is there, whole, up to the last", S::NAME);
        acknowledged = last;
    }
    assert!(acknowledged > 100);
}

fn a_kill_while_the_store_is_made_leaves_one_that_opens<S: Embedded>() {
    for round in 0..25 {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = Killed(process(S::NAME, "commit", folder.path()).spawn().expect("a process"));
        // It takes a few milliseconds to start.
        std::thread::sleep(Duration::from_micros(2_000 + 400 * round));
        child.0.kill().expect("it runs");
        drop(child);
        let store = S::open_in(folder.path()).unwrap_or_else(|error| panic!("{}: round {round}: {error}", S::NAME));
        store.commit(&numbered(1), Durability::Synced).expect("it works");
    }
}

/// A process may write no file larger than that of a fresh store and a little more.
fn a_full_disk_loses_nothing_that_was_acknowledged<S: Embedded>() {
    if cfg!(not(unix)) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // What is made first may be large, as redb's file is.
    for _ in 0..2 {
        drop(S::open_in(folder.path()).expect("nobody has it open"));
    }
    let inner = process(S::NAME, "fill", folder.path());
    let mut limited = Command::new("sh");
    // In blocks of 512 bytes. Writes beyond fail, since the signal is ignored.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 12000; exec \"$0\" \"$@\""]).arg(inner.get_program());
    limited.args(inner.get_args()).stdout(Stdio::piped()).stderr(Stdio::null());
    limited.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = Killed(limited.spawn().expect("a shell"));
    let said: Vec<String> = lines(&mut child.0).collect();
    assert!(child.0.wait().expect("a process").success(), "{}: no panic", S::NAME);
    let (error, numbers) = said.split_last().expect("it was opened");
    assert!(error.starts_with("failed") && numbers.len() > 100, "{}: {error} after {}", S::NAME, numbers.len());
    // What cannot be known before the next open is not answered.
    let unknown = error.starts_with("failed true");
    assert!(!unknown || S::ANSWERS_IN_DOUBT == error.starts_with("failed true true"), "{}: {error}", S::NAME);
    assert!(unknown || S::ANSWERS_IN_DOUBT, "{}: {error}", S::NAME);
    let guard = Options::new().open(S::open_in(folder.path()).expect("a store")).expect("a guarded store");
    let all = (0..numbers.len() as u64).all(|number| guard.contains(&number.to_be_bytes()).expect("it answers"));
    assert!(all, "{}: {error}", S::NAME);
    assert_eq!(guard.check().expect("it answers"), Checked::Sound, "{}: {error}", S::NAME);
    assert!(guard.insert(b"new", b"value").expect("there is room"));
}

fn values_of_the_store_are_taken_over<S: Embedded>() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = S::open_in(folder.path()).expect("it is new");
    let put = |number: u64| Change {
        space: Space::Values,
        key: number.to_be_bytes().to_vec(),
        value: Some(b"value".to_vec()),
    };
    store.commit(&(0..3_000).map(put).collect::<Vec<_>>(), Durability::Synced).expect("it works");
    let refused = Options::new().open(store).err().expect("a refusal");
    assert!(matches!(refused, Error::NotGuarded), "{refused}");
    let options = || Options::new().take_over(true).snapshot(folder.path().join("filter"));
    for round in 0..2 {
        let guard = options().open(S::open_in(folder.path()).expect("nobody has it open")).expect("its values");
        is_right(&guard);
        let stats = guard.stats();
        assert!(round == 0 || stats.unfiltered == 0 && stats.rebuilt == 0, "the second time there is a snapshot");
        guard.close().expect("it works");
    }
}

fn is_right<S: Store>(guard: &Guard<S>) {
    for number in 0..3_000u64 {
        assert_eq!(guard.get(&number.to_be_bytes()).expect("it answers").as_deref(), Some(&b"value"[..]));
    }
    assert_eq!((guard.len().expect("it counts"), guard.check().expect("it answers")), (3_000, Checked::Sound));
}

fn a_scan_may_ask_the_store<S: Embedded>() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = S::open_in(folder.path()).expect("it is new");
    store.commit(&numbered(1), Durability::Seen).expect("it works");
    let (mut found, mut committed) = (0, 1);
    let scanned = store.scan(Space::Values, Bound::Unbounded, &mut |key, value| {
        assert_eq!(store.get(Space::Values, key).expect("it answers").as_deref(), Some(value));
        // A commit goes on meanwhile, and the scan does not see it.
        committed += 1;
        store.commit(&numbered(committed), Durability::Seen).expect("it works");
        found += 1;
        true
    });
    scanned.expect("it answers");
    assert_eq!((found, last_number(&store)), (5, 6));
}

#[test]
fn a_key_that_fjall_cannot_have_is_refused_before_anything_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let guard = Options::new().open(FjallStore::open_in(folder.path()).expect("it is new")).expect("a new store");
    let long = vec![b'k'; 65_521];
    assert!(guard.insert(&long, b"value").expect("the longest one"));
    let longer = vec![b'k'; 65_522];
    let refused = guard.insert(&longer, b"value").expect_err("one byte more");
    assert!(matches!(refused, Error::KeyTooLong { len: 65_522, longest: 65_521 }), "{refused}");
    let batch = guard.insert_all([(&b"a"[..], b"1"), (&longer, b"2")]);
    assert!(matches!(batch, Err(Error::KeyTooLong { .. })));
    assert!(!guard.contains(b"a").expect("it answers"), "all of a batch or nothing");
    for key in [longer, vec![b'k'; 100_000]] {
        assert_eq!(guard.get(&key).expect("it answers"), None);
        assert!(!guard.remove(&key).expect("there is nothing to remove"));
    }
    assert_eq!((guard.len().expect("it counts"), guard.check().expect("it answers")), (1, Checked::Sound));
    drop(guard);
    let guard = Options::new().open(FjallStore::open_in(folder.path()).expect("nobody has it open"));
    let guard = guard.expect("its own store");
    assert!(guard.remove(&long).expect("it works"));
    // One that fjall can have, and the index cannot.
    let folder = tempfile::tempdir().expect("a folder");
    let store = FjallStore::open_in(folder.path()).expect("it is new");
    let change = Change { space: Space::Values, key: vec![1; 65_530], value: Some(Vec::new()) };
    store.commit(&[change], Durability::Synced).expect("it works");
    let refused = Options::new().take_over(true).open(store).err().expect("a refusal");
    assert!(matches!(refused, Error::KeyTooLong { len: 65_530, longest: 65_521 }), "{refused}");
}

#[test]
fn files_of_something_else_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("store");
    let text = b"not a store".repeat(1_000);
    std::fs::write(&file, &text).expect("a folder");
    assert!(matches!(SqliteStore::open(&file), Err(SqliteError::Damaged(_))));
    assert!(matches!(FjallStore::open(&file), Err(FjallError::Open { .. })));
    assert!(std::fs::read(&file).expect("a file") == text);
    std::fs::remove_file(&file).expect("a file");

    let other = rusqlite::Connection::open(&file).expect("a new file");
    other.execute_batch("CREATE TABLE birds (name TEXT)").expect("SQLite");
    drop(other);
    assert!(matches!(SqliteStore::open(&file), Err(SqliteError::NotAStore(_))));
    std::fs::remove_file(&file).expect("a file");

    let other = fjall::Database::builder(&file).open().expect("a new folder");
    drop(other.keyspace("birds", fjall::KeyspaceCreateOptions::default).expect("fjall"));
    drop(other);
    assert!(matches!(FjallStore::open(&file), Err(FjallError::NotAStore(_))));

    let missing = folder.path().join("no folder").join("store");
    assert!(matches!(SqliteStore::open(&missing), Err(SqliteError::Io { .. })));
    #[cfg(unix)]
    {
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("nowhere"), &link).expect("a link");
        assert!(matches!(SqliteStore::open(&link), Err(SqliteError::Io { .. })));
    }
}

#[test]
fn an_sqlite_file_without_one_of_its_tables_or_of_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for (sql, said) in [("DROP TABLE \"index\"", "`index` is missing"), ("PRAGMA user_version = 2", "newer version")] {
        let file = folder.path().join(said);
        drop(SqliteStore::open(&file).expect("it is new"));
        rusqlite::Connection::open(&file).expect("a file").execute_batch(sql).expect("SQLite");
        let refused = SqliteStore::open(&file).expect_err(said);
        assert!(refused.to_string().contains(said), "{refused}");
    }
}

#[test]
fn an_sqlite_commit_that_fails_before_its_end_leaves_nothing_and_the_next_one_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open_in(folder.path()).expect("it is new");
    let other = rusqlite::Connection::open(store.path()).expect("a file");
    other.execute_batch("DROP TABLE \"meta\"").expect("SQLite");
    let failed = store.commit(&numbered(1), Durability::Synced).expect_err("it lacks a table");
    assert!(matches!(failed, CommitError::Failed(SqliteError::Sqlite(_))), "{failed}");
    assert!(has_all_up_to(&store, 0));
    let others: Vec<Change> = numbered(1).into_iter().filter(|change| change.space != Space::Meta).collect();
    store.commit(&others, Durability::Seen).expect("a table that is there");
    assert!(has_all_up_to(&store, 1));
}

#[test]
fn text_in_place_of_a_blob_is_not_possible() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("store");
    drop(SqliteStore::open(&file).expect("it is new"));
    let other = rusqlite::Connection::open(&file).expect("a file");
    assert!(other.execute_batch("INSERT INTO \"values\" VALUES ('text', 'text')").is_err());
    other.execute_batch("INSERT INTO \"values\" VALUES (x'6b6579', x'76616c7565')").expect("two blobs");
    drop(other);
    let guard = Options::new().take_over(true).open(SqliteStore::open(&file).expect("nobody has it open"));
    assert_eq!(guard.expect("a value").get(b"key").expect("it answers").as_deref(), Some(&b"value"[..]));
}

/// A guarded store of 2,000 keys.
fn filled<S: Embedded>(folder: &Path) {
    let guard = Options::new().open(S::open_in(folder).expect("it is new")).expect("a new store");
    guard.insert_all((0..2_000u64).map(|key| (key.to_be_bytes(), [key as u8; 50]))).expect("it works");
    guard.close().expect("it works");
}

/// `true` if the store is refused, or no answer is wrong and a check finds the damage.
fn notices<S: Embedded>(folder: &Path) -> bool {
    let Ok(store) = S::open_in(folder) else { return true };
    let Ok(guard) = Options::new().open(store) else { return true };
    let mut noticed = false;
    for key in 0..2_000u64 {
        match guard.get(&key.to_be_bytes()) {
            Ok(Some(value)) => assert_eq!(value, [key as u8; 50]),
            Ok(None) | Err(_) => noticed = true,
        }
    }
    let checked = guard.check();
    assert!(!noticed || !matches!(checked, Ok(Checked::Sound)), "a missing key is noticed");
    noticed || !matches!(checked, Ok(Checked::Sound))
}

#[test]
fn a_damaged_sqlite_file_is_noticed_and_causes_no_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    filled::<SqliteStore>(folder.path());
    let file = folder.path().join("store");
    let whole = std::fs::read(&file).expect("a file");
    for page in 0..whole.len() / 4_096 {
        let mut damaged = whole.clone();
        damaged[page * 4_096..][..4_096].iter_mut().for_each(|byte| *byte ^= 0x5A);
        std::fs::write(&file, &damaged).expect("a file");
        assert!(notices::<SqliteStore>(folder.path()), "page {page}");
        std::fs::write(&file, &whole[..page * 4_096]).expect("a file");
        // An empty file is a new one.
        assert!(page == 0 || notices::<SqliteStore>(folder.path()), "cut before page {page}");
        let _ = std::fs::remove_file(folder.path().join("store-wal"));
        let _ = std::fs::remove_file(folder.path().join("store-shm"));
    }
}

#[test]
fn a_damaged_fjall_journal_causes_no_panic_and_no_value_that_was_never_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = FjallStore::open_in(folder.path()).expect("it is new");
    (1..=40).for_each(|number| store.commit(&numbered(number), Durability::Synced).expect("it works"));
    drop(store);
    let file = folder.path().join("store").join("0.jnl");
    let whole = std::fs::read(&file).expect("a journal");
    let end = whole.iter().rposition(|byte| *byte != 0).expect("something was written");
    let (mut refused, mut cut) = (0, 0);
    for at in (0..end).step_by(61) {
        let mut damaged = whole[..=end].to_vec();
        damaged[at] ^= 0x5A;
        std::fs::write(&file, &damaged).expect("a journal");
        match FjallStore::open_in(folder.path()) {
            Err(FjallError::Damaged(_)) => refused += 1,
            Err(other) => panic!("byte {at}: {other}"),
            Ok(store) => {
                // From the damage on, commits are lost without a word.
                let mut found = 0;
                let scanned = store.scan(Space::Values, Bound::Unbounded, &mut |key, value| {
                    found += 1;
                    assert_eq!(&key[..8], value, "byte {at}");
                    true
                });
                scanned.expect("what is there can be read");
                cut += usize::from(found < 40 * 5);
            }
        }
    }
    assert!(refused > 10 && cut > 10, "{refused} refused, {cut} cut");
}

#[test]
fn a_damaged_table_of_fjall_gives_errors_and_no_wrong_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    filled::<FjallStore>(folder.path());
    let path = folder.path().join("store");
    let database = fjall::Database::builder(&path).open().expect("nobody has it open");
    let tree = database.keyspace("twiceshy", fjall::KeyspaceCreateOptions::default).expect("its tree");
    tree.rotate_memtable_and_wait().expect("fjall");
    drop((tree, database));
    std::fs::remove_file(path.join("0.jnl")).expect("a journal whose entries are in the table now");
    let tables = std::fs::read_dir(path.join("keyspaces").join("1").join("tables")).expect("tables");
    let table =
        tables.map(|table| table.expect("a folder").path()).max_by_key(|table| table.metadata().expect("a file").len());
    let (table, mut noticed) = (table.expect("one table"), 0);
    let whole = std::fs::read(&table).expect("a table");
    let places = (0..whole.len()).step_by(1 + whole.len() / 40);
    for at in places.clone() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x5A;
        std::fs::write(&table, &damaged).expect("a table");
        noticed += usize::from(notices::<FjallStore>(folder.path()));
    }
    assert!(noticed * 10 > places.len() * 9, "{noticed} of {}", places.len());
}

#[test]
fn sqlite_verifies_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    filled::<SqliteStore>(folder.path());
    assert_eq!(
        SqliteStore::open_in(folder.path()).expect("a file").verify().expect("a sound file"),
        Vec::<String>::new()
    );
    let file = folder.path().join("store");
    let mut bytes = std::fs::read(&file).expect("a file");
    let last = bytes.len() - 4_096;
    bytes[last..].fill(0);
    std::fs::write(&file, bytes).expect("a file");
    let found = SqliteStore::open_in(folder.path()).expect("a file").verify().expect_err("a page of zeros");
    assert!(matches!(found, SqliteError::Damaged(_)), "{found}");
}

#[test]
fn a_commit_with_a_key_that_fjall_cannot_have_fails_without_effect() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = FjallStore::open_in(folder.path()).expect("it is new");
    let long = Change { space: Space::Values, key: vec![1; 65_535], value: None };
    let refused = store.commit(&[long], Durability::Seen).expect_err("it is too long");
    assert!(
        matches!(refused, CommitError::Failed(FjallError::TooLong { len: 65_535, longest: 65_534, .. })),
        "{refused}"
    );
}
