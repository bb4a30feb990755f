//! `check`, `check --repair`, and stores that are only read.

mod bench;

use bench::Bench;
use serde_json::Value;
use std::ops::Bound;
use std::path::Path;
use std::time::SystemTime;
use twiceshy_store::{Change, Durability, RedbStore, SNAPSHOT_FILE, STORE_FILE, Space, Store};

fn lines(count: u32) -> Vec<u8> {
    (0..count).flat_map(|number| format!("key {number}\n").into_bytes()).collect()
}

fn filled(filter: &str) -> Bench {
    Bench::with_filter(filter, &lines(400))
}

/// Changes some entries of a map without the guard: every `step`-th.
fn tamper(bench: &Bench, space: Space, step: usize, change: impl Fn(&[u8], &[u8]) -> Vec<(Vec<u8>, Option<Vec<u8>>)>) {
    let store = RedbStore::open(bench.path("s").join(STORE_FILE)).expect("the file");
    let mut entries = Vec::new();
    let scanned = store.scan(space, Bound::Unbounded, &mut |key, value| {
        entries.push((key.to_vec(), value.to_vec()));
        true
    });
    scanned.expect("a scan");
    let changes = entries.iter().step_by(step).flat_map(|(key, value)| change(key, value));
    let changes: Vec<Change> = changes.map(|(key, value)| Change { space, key, value }).collect();
    assert!(!changes.is_empty());
    store.commit(&changes, Durability::Synced).expect("a commit");
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("one JSON object")
}

#[test]
fn keys_that_were_indexed_twice_under_a_wrong_hash_key_come_back_whole() {
    for filter in ["telescoping", "swapping", "broom"] {
        let bench = filled(filter);
        tamper(&bench, Space::Index, 3, |key, _| {
            let mut wrong = key.to_vec();
            wrong[7] ^= 0xAA;
            vec![(wrong, Some(Vec::new()))]
        });
        assert_eq!(json(&bench.out("check s --json", b"", 1))["ok"], false, "{filter}");
        let said = String::from_utf8(bench.yes("check s --repair", b"")).expect("text");
        assert!(said.starts_with("repaired: the index ") && said.contains("400 keys, all in order"), "{said}");
        assert_eq!(json(&bench.yes("check s --json", b""))["keys"], 400, "{filter}");
        assert_eq!(bench.yes("query s --count", &lines(500)), b"400\n", "{filter}");
        let report = bench.json("insert s", &lines(400));
        assert_eq!((&report["new"], &report["were_there"]), (&0.into(), &400.into()), "{filter}");
        assert_eq!(bench.json("remove s", &lines(400))["removed"], 400, "{filter}");
    }
}

#[test]
fn a_store_without_a_state_record_is_repaired_with_the_filter_that_is_asked_for() {
    let bench = filled("swapping");
    tamper(&bench, Space::Meta, 1, |key, _| vec![(key.to_vec(), Some(b"garbage".to_vec()))]);
    for command in ["insert s", "query s", "info s"] {
        let why = bench.error(command, b"a\n");
        assert!(why.contains("check --repair"), "{command}: {why}");
    }
    let report = json(&bench.out("check s --json", b"", 1));
    assert_eq!((&report["keys"], &report["ok"]), (&400.into(), &false.into()));
    let report = json(&bench.yes("check s --repair --filter broom --fpr 0.01 --json", b""));
    assert_eq!((&report["ok"], &report["keys"], &report["lost"]), (&true.into(), &400.into(), &Value::Array(vec![])));
    assert!(report["repaired"].as_array().is_some_and(|done| done.len() >= 2), "{report}");
    let info = bench.json("info s", b"");
    assert_eq!((&info["filter"], &info["fpr"]), (&"broom".into(), &0.01.into()));
    assert_eq!(bench.yes("query s --count", &lines(400)), b"400\n");
}

#[test]
fn what_cannot_be_made_right_is_named_and_the_status_is_one() {
    let bench = Bench::with_lines(&lines(400));
    tamper(&bench, Space::Values, 133, |key, value| {
        let mut wrong = value.to_vec();
        wrong[0] ^= 1;
        vec![(key.to_vec(), Some(wrong))]
    });
    assert_eq!(json(&bench.out("check s --json", b"", 1))["ok"], false);
    let why = bench.error("query s --values", &lines(400));
    assert!(why.contains("the value of the key key ") && why.contains("insert it again"), "{why}");
    let report = json(&bench.out("check s --repair --json", b"", 1));
    let lost = report["lost"].as_array().expect("a list");
    assert_eq!((lost.len(), &report["repaired"]), (4, &Value::Array(vec![])), "{report}");
    assert!(lost.iter().all(|lost| lost.as_str().is_some_and(|lost| lost.contains("key "))), "{report}");
    // As it says.
    let again: Vec<u8> = (0..400).flat_map(|number| format!("key {number}\t\n").into_bytes()).collect();
    bench.yes("insert s --values", &again);
    assert_eq!(json(&bench.yes("check s --json", b""))["ok"], true);
}

/// The bytes and times of the store's files.
fn files(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>, SystemTime)> {
    let entry = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.expect("a file");
        let time = entry.metadata().and_then(|about| about.modified()).expect("a time");
        (entry.file_name(), std::fs::read(entry.path()).expect("a file"), time)
    };
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("a folder").map(entry).collect();
    files.sort();
    files
}

#[test]
fn info_and_check_change_nothing_even_without_a_snapshot_or_with_a_damaged_index() {
    for filter in ["telescoping", "broom"] {
        let bench = filled(filter);
        for damage in ["none", "snapshot", "index"] {
            match damage {
                "snapshot" => std::fs::remove_file(bench.path("s").join(SNAPSHOT_FILE)).expect("a snapshot"),
                "index" => tamper(&bench, Space::Index, 7, |key, _| vec![(key.to_vec(), None)]),
                _ => {}
            }
            let before = files(&bench.path("s"));
            let wrong = damage == "index";
            bench.out("check s", b"", wrong.into());
            if !wrong {
                assert_eq!(bench.json("info s", b"")["keys"], 400);
            }
            assert!(files(&bench.path("s")) == before, "{filter}, {damage}");
        }
    }
}

/// A folder mounted read-only, which stops the superuser too. Skipped where mounting is not allowed.
#[cfg(target_os = "linux")]
#[test]
fn a_store_on_a_read_only_medium_can_be_queried_and_checked_but_not_changed() {
    use std::process::{Command, Stdio};
    for filter in ["telescoping", "broom"] {
        let bench = filled(filter);
        bench.file("keys", &lines(500));
        let mount = "mount --bind s s && mount -o remount,ro,bind s";
        let unshared = |inside: &str| {
            let mut command = Command::new("unshare");
            command.args(["-rm", "sh", "-c", &format!("{mount} && {inside}"), env!("CARGO_BIN_EXE_twiceshy")]);
            command.current_dir(bench.path("")).stdin(Stdio::null()).output()
        };
        if !unshared("! touch s/file 2> /dev/null").is_ok_and(|tried| tried.status.success()) {
            eprintln!("skipped: mounting is not allowed here");
            return;
        }
        let before = files(&bench.path("s"));
        let inside = "\"$0\" query s --count keys && \"$0\" info s > info && \"$0\" check s > check || exit 9
            \"$0\" insert s keys; echo $?";
        let output = unshared(inside).expect("it runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "400\n2\n", "{}", String::from_utf8_lossy(&output.stderr));
        assert!(files(&bench.path("s")) == before, "{filter}");
    }
}
