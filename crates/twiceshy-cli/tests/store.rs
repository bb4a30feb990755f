//! The commands of a guarded store as their users meet them: keys of any bytes, exit statuses, errors that say what to do.

mod bench;

use bench::Bench;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::ops::Bound;
use std::path::Path;
use std::time::{Duration, Instant};
use twiceshy_store::{Change, Durability, Guard, RedbStore, SNAPSHOT_FILE, STATUS_FILE, STORE_FILE, Space, Store};

fn number(report: &Value, name: &str) -> f64 {
    report[name].as_f64().unwrap_or_else(|| panic!("no number {name} in {report}"))
}

fn counts<const N: usize>(report: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| report[name].as_u64().unwrap_or_else(|| panic!("no count {name} in {report}")))
}

fn lines(numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    numbers.flat_map(|number| format!("key {number}\n").into_bytes()).collect()
}

#[test]
fn each_command_reports_every_promised_name() {
    let bench = Bench::new();
    let made = bench.json("create s --filter swapping --fpr 0.01 --keys 5000", b"");
    assert_eq!((&made["path"], &made["filter"], &made["fpr"]), (&"s".into(), &"swapping".into(), &0.01.into()));
    assert!(number(&made, "cells") >= 5000.0);

    let inserted = bench.json("insert s", &lines(0..2500));
    assert_eq!(counts(&inserted, ["lines", "new", "were_there"]), [2500, 2500, 0]);
    let inserted = bench.json("insert s", &lines(2000..3000));
    assert_eq!(counts(&inserted, ["lines", "new", "were_there"]), [1000, 500, 500]);
    let removed = bench.json("remove s", &lines(2900..3100));
    assert_eq!(counts(&removed, ["lines", "removed", "were_absent"]), [200, 100, 100]);

    let asked = bench.json("query s", &lines(2800..4000));
    assert_eq!(asked["keys"].as_array().expect("keys").len(), 100);
    assert_eq!((&asked["keys"][0], &asked["keys"][99]), (&"key 2800".into(), &"key 2899".into()));
    assert_eq!(counts(&asked, ["asked", "present", "absent", "unfiltered"]), [1200, 100, 1100, 0]);
    let [turned_away, mistakes, _] = counts(&asked, ["turned_away", "false_positives", "adapted"]);
    assert_eq!(turned_away + mistakes, 1100);

    let info = bench.json("info s", b"");
    assert_eq!((&info["path"], &info["filter"], &info["rebuilt"]), (&"s".into(), &"swapping".into(), &false.into()));
    assert_eq!(counts(&info, ["keys", "rolled_forward"]), [2900, 0]);
    assert!((number(&info, "load") - 2900.0 / number(&info, "cells")).abs() < 1e-12);
    assert!((number(&info, "bits_per_key") - number(&info, "local_bits") / 2900.0).abs() < 1e-9);
    for (name, file) in [("store_bytes", STORE_FILE), ("snapshot_bytes", SNAPSHOT_FILE)] {
        assert_eq!(number(&info, name), bench.path("s").join(file).metadata().expect("a file").len() as f64);
    }

    let checked = bench.json("check s", b"");
    assert_eq!((&checked["path"], &checked["ok"], &checked["wrong"]), (&"s".into(), &true.into(), &Value::Null));
    assert_eq!(checked["keys"], 2900);
    for report in [&inserted, &removed, &asked, &checked] {
        assert!(number(report, "seconds") > 0.0);
    }
    assert!(number(&info, "open_seconds") > 0.0);
}

#[test]
fn the_text_reports_say_the_same() {
    let bench = Bench::new();
    let said = |arguments: &str, input: &[u8]| String::from_utf8(bench.yes(arguments, input)).expect("text");
    assert!(said("create s", b"").starts_with("s: a new store behind a telescoping filter of 1,0"));
    assert!(said("insert s", &lines(0..1500)).starts_with("s: 1,500 lines read, 1,500 keys new, 0 there before, "));
    assert!(said("remove s", b"key 7\nkey x\n").starts_with("s: 2 lines read, 1 key removed, 1 not there, "));
    let info = said("info s", b"");
    assert!(info.contains("telescoping") && info.contains("1,499"), "{info}");
    assert!(info.ends_with("The filter came from its snapshot.\n"), "{info}");
    assert!(said("check s", b"").starts_with("s: 1,499 keys, all in order, "));
}

#[test]
fn a_query_prints_the_members_or_the_others_in_the_order_of_the_input() {
    let bench = Bench::with_lines(b"b\na\nc\n");
    assert_eq!(bench.yes("query s", b"c\nx\na\nc\ny\n"), b"c\na\nc\n");
    assert_eq!(bench.yes("query s --absent", b"c\nx\na\nc\ny\n"), b"x\ny\n");
    let input = lines(0..500);
    bench.yes("insert s", &lines((0..500).step_by(3)));
    let split = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<BTreeSet<_>>();
    let (present, absent) = (split(&bench.yes("query s", &input)), split(&bench.yes("query s --absent", &input)));
    assert_eq!(present.intersection(&absent).count(), 1, "nothing but the end of the output");
    assert_eq!(present.union(&absent).cloned().collect::<BTreeSet<_>>(), split(&input));
    assert_eq!(bench.json("query s --absent", b"c\nx\n")["keys"], serde_json::json!(["x"]));
}

#[test]
fn the_exit_status_is_that_of_grep() {
    let bench = Bench::with_lines(b"a\nb\n");
    for (arguments, input, status, output) in [
        ("query s", "a\nx\n", 0, "a\n"),
        ("query s", "x\n", 1, ""),
        ("query s", "", 1, ""),
        ("query s --absent", "a\nb\n", 1, ""),
        ("query s --absent", "a\nx\n", 0, "x\n"),
        ("query s --quiet", "x\nb\n", 0, ""),
        ("query s --quiet --count", "x\n", 1, ""),
        ("query s --count", "a\nb\nx\na\n", 0, "3\n"),
        ("query s --count", "x\n", 1, "0\n"),
        ("query s --count --absent", "a\nb\nx\na\n", 0, "1\n"),
    ] {
        let out = bench.out(arguments, input.as_bytes(), status);
        assert_eq!(String::from_utf8_lossy(&out), output, "{arguments}");
    }
    for silent in ["--count", "--quiet"] {
        let report = bench.json(&format!("query s {silent}"), b"a\nb\nx\n");
        assert_eq!(counts(&report, ["asked", "present", "absent"]), [3, 2, 1]);
        assert!(report.get("keys").is_none(), "{report}");
    }
    let none = serde_json::from_slice::<Value>(&bench.out("query s --json", b"x\n", 1)).expect("JSON");
    assert_eq!(none["keys"], serde_json::json!([]));
    for wrong in ["query", "query s --colour", "query s --absent --values", "query elsewhere", "query s no-such-file"] {
        bench.error(wrong, b"a\n");
    }
}

#[test]
fn files_are_read_one_after_the_other_and_a_hyphen_is_standard_input() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    bench.file("one", b"a\nb");
    bench.file("two", b"c\n");
    let report = bench.json("insert s one - two", b"from the pipe");
    assert_eq!(counts(&report, ["lines", "new"]), [4, 4]);
    assert_eq!(bench.yes("query s two - one", b"from the pipe\nx\n"), b"c\nfrom the pipe\na\nb\n");
}

#[test]
fn a_key_is_any_bytes_but_the_end_of_its_line() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    let keys = b"x\n carriage return\r\n\x00\xff\xfe\n\ttab\n";
    assert_eq!(bench.run("insert s --keep-cr", keys).status.code(), Some(0));
    assert_eq!(bench.run("query s --keep-cr", keys).stdout, keys, "byte for byte");
    assert_eq!(bench.yes("query s --absent", b"carriage return\ntab\n"), b"carriage return\ntab\n");
    let report = bench.run("query s --json", b"\x00\xff\xfe\n").stdout;
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    assert_eq!(report["keys"], serde_json::json!(["\u{0}\u{fffd}\u{fffd}"]));
    assert_eq!(bench.json("check s", b"")["keys"], 4);
}

#[test]
fn a_line_may_be_a_megabyte_long() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    let long: Vec<u8> = (0..1 << 20).map(|at| b'a' + (at % 23) as u8).chain([b'\n']).collect();
    let input = [b"short\n".as_slice(), &long, b"end\n"].concat();
    assert_eq!(counts(&bench.json("insert s", &input), ["lines", "new"]), [3, 3]);
    assert_eq!(bench.yes("query s", &input), input);
    assert_eq!(counts(&bench.json("remove s", &long), ["removed"]), [1]);
    assert_eq!(bench.yes("query s --absent", &input), long);
    bench.yes("check s", b"");
}

#[test]
fn values_follow_a_tab_and_stay_if_the_key_is_inserted_without_one() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    let report = bench.json("insert s --values", b"a\t1\nb\t\nc\tx\ty\na\t2\n");
    assert_eq!(counts(&report, ["lines", "new", "were_there"]), [4, 3, 1]);
    assert_eq!(bench.yes("query s --values", b"a\nz\nc\nb\n"), b"a\t2\nc\tx\ty\nb\t\n");
    // The empty key is a key, and a warning.
    let of_nothing = bench.run("insert s --values", b"\tof nothing\n");
    assert!(String::from_utf8_lossy(&of_nothing.stderr).contains("nothing before its tab"));
    assert_eq!(bench.yes("query s --values --key=", b""), b"\tof nothing\n");
    bench.yes("insert s", b"a\n");
    bench.yes("insert s --values", b"c\tnew\n");
    let report = bench.json("query s --values", b"a\nc\n");
    assert_eq!(report["keys"], serde_json::json!([{ "key": "a", "value": "2" }, { "key": "c", "value": "new" }]));
    let why = bench.error("insert s --values", b"d\t1\ne\nf\t3\n");
    assert!(why.contains("1 key stored") && why.contains("standard input, line 2") && why.contains("tab"), "{why}");
    assert_eq!(bench.yes("query s", b"d\ne\nf\n"), b"d\n");
}

#[test]
fn what_was_read_before_an_error_is_stored_and_counted() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    bench.file("good", &lines(0..1500));
    // It can be opened but not read.
    let bad = Path::new("/proc/self/mem");
    if !bad.exists() {
        return;
    }
    let why = bench.error("insert s good /proc/self/mem good", b"");
    assert!(why.contains("1,500 keys stored") && why.contains("cannot read /proc/self/mem after line 0"), "{why}");
    assert_eq!(bench.json("check s", b"")["keys"], 1500);
    let why = bench.error("remove s good /proc/self/mem", b"");
    assert!(why.contains("1,500 keys removed"), "{why}");
    assert_eq!(bench.json("info s", b"")["keys"], 0);
    assert_eq!(bench.json("info s", b"")["bits_per_key"], Value::Null);
}

#[test]
fn an_input_that_cannot_be_read_changes_nothing() {
    let bench = Bench::with_lines(b"a\n");
    bench.file("good", b"b\n");
    std::fs::create_dir(bench.path("folder")).expect("a folder");
    for command in ["insert", "remove", "query"] {
        let why = bench.error(&format!("{command} s good missing"), b"");
        assert!(why.contains("cannot read missing") && why.contains("one key per line"), "{why}");
        let why = bench.error(&format!("{command} s good folder"), b"");
        assert!(why.contains("folder is a folder"), "{why}");
    }
    bench.out("query s", b"b\n", 1);
}

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let bench = Bench::new();
    bench.file("plain", b"");
    for command in ["insert", "remove", "query", "info", "check"] {
        let why = bench.error(&format!("{command} nowhere"), b"a\n");
        assert!(why.contains("`twiceshy create nowhere`"), "{command}: {why}");
        assert!(!bench.path("nowhere").exists(), "{command} made something");
        let why = bench.error(&format!("{command} plain"), b"a\n");
        assert!(why.contains("plain is a file"), "{command}: {why}");
    }
}

#[test]
fn a_store_that_is_there_is_not_made_again() {
    let bench = Bench::with_lines(b"a\n");
    let why = bench.error("create s --filter broom", b"");
    assert!(why.contains("already") && why.contains("`twiceshy insert s`"), "{why}");
    assert_eq!(bench.yes("query s", b"a\n"), b"a\n");
    // What else is in a folder does not matter.
    std::fs::create_dir(bench.path("mixed")).expect("a folder");
    bench.file("mixed/notes.txt", b"mine");
    bench.yes("create mixed", b"");
    assert_eq!(std::fs::read(bench.path("mixed/notes.txt")).expect("my file"), b"mine");
}

#[test]
fn a_store_that_cannot_be_made_leaves_nothing_behind() {
    let bench = Bench::new();
    for (wrong, hint) in [
        ("--fpr 0", "between 1e-9 and 1"),
        ("--fpr 2", "between 1e-9 and 1"),
        ("--fpr nan", "between 1e-9 and 1"),
        ("--keys 99999999999999999", "2^35"),
        ("--keys=-1", "invalid"),
        ("--filter bloom", "telescoping-plain"),
    ] {
        let why = bench.error(&format!("create s {wrong}"), b"");
        assert!(why.contains(hint), "{wrong}: {why}");
        assert!(!bench.path("s").exists(), "{wrong}");
    }
    // Left behind by a machine that stopped while it made a store.
    std::fs::create_dir(bench.path("s")).expect("a folder");
    drop(RedbStore::open(bench.path("s").join(STORE_FILE)).expect("an empty file"));
    assert!(bench.error("insert s", b"a\n").contains("`twiceshy create s`"));
    bench.yes("create s", b"");
    bench.yes("insert s", b"a\n");
}

#[test]
fn a_store_that_is_open_elsewhere_is_refused_with_a_reason() {
    let bench = Bench::with_lines(b"a\n");
    let guard = Guard::open(bench.path("s")).expect("the store");
    guard.wait().and_then(|()| guard.save()).expect("a folder");
    let here = format!("s is open in the process {}: close it first", std::process::id());
    for command in
        ["insert s", "remove s", "query s --wait 0s", "check s --wait 0s", "check s --repair --wait 0s", "create s"]
    {
        let why = bench.error(command, b"a\n");
        assert!(why.contains(&here), "{command}: {why}");
        assert_eq!(why.lines().count(), 1, "{why}");
    }
    guard.close().expect("closed");
    assert_eq!(bench.yes("query s", b"a\n"), b"a\n");
}

#[test]
fn a_store_that_is_open_elsewhere_is_waited_for() {
    let bench = Bench::with_lines(b"a\n");
    let guard = Guard::open(bench.path("s")).expect("the store");
    let begun = Instant::now();
    bench.error("query s --wait 300ms", b"a\n");
    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
    // Without its figures nothing is known of the process that has it.
    guard.wait().and_then(|()| guard.save()).expect("a folder");
    std::fs::remove_file(bench.path("s").join(STATUS_FILE)).expect("a file");
    assert!(bench.error("info s --wait 0s", b"").contains("s is open in another process"));
    let commands = ["query s", "info s", "check s"];
    let waiting = commands.map(|command| {
        let mut child = bench.command(command).spawn().expect("the command starts");
        child.stdin.take().expect("an input").write_all(b"a\n").expect("it waits");
        child
    });
    std::thread::sleep(Duration::from_millis(700));
    guard.close().expect("closed");
    for (command, child) in commands.iter().zip(waiting) {
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn many_queries_at_once_all_have_their_answer() {
    let bench = Bench::with_lines(&lines(0..40));
    let asked: String = (0..40).map(|number| format!("key {number}\n")).collect();
    bench.file("asked", asked.as_bytes());
    let line = "xargs -P4 -d '\\n' -n1 \"$0\" query s --key < asked | sort | uniq | wc -l";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line, env!("CARGO_BIN_EXE_twiceshy")]).current_dir(bench.path(""));
    let output = shell.output().expect("a shell");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "40", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_command_in_an_error_can_be_given_to_a_shell() {
    let bench = Bench::new();
    for (folder, quoted) in [("my store", "'my store'"), ("it's; echo $HOME", r"'it'\''s; echo $HOME'")] {
        let run = |command: &str| {
            let output = bench.command(command).arg(folder).output().expect("it runs");
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        let why = run("info");
        assert!(why.contains(&format!("`twiceshy create {quoted}`")), "{why}");
        run("create");
        let why = run("create");
        assert!(why.contains(&format!("`twiceshy insert {quoted}`")), "{why}");
    }
}

#[test]
fn keys_that_were_there_before_are_not_counted_as_stored() {
    let bench = Bench::with_lines(&lines(0..1000));
    let with_values: Vec<u8> = (990..1_003).flat_map(|number| format!("key {number}\tv\n").into_bytes()).collect();
    let why = bench.error("insert s --values", &[with_values, b"no value\n".to_vec()].concat());
    assert!(
        why.starts_with("twiceshy: 3 keys stored and 10 there before, and then: standard input, line 14: "),
        "{why}"
    );
    let why = bench.error("remove s --max-line 8", b"key 1\nkey x\nkey 12345\n");
    assert!(why.starts_with("twiceshy: 1 key removed and 1 not there, and then: "), "{why}");
}

#[test]
fn a_reader_that_goes_away_ends_a_query_quietly() {
    let bench = Bench::with_lines(b"a\n");
    for form in ["query s --absent", "query s --absent --json"] {
        let mut child = bench.command(form).spawn().expect("the command starts");
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().expect("an input");
        std::thread::spawn(move || drop(stdin.write_all(&lines(0..100_000))));
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
    bench.yes("check s", b"");
}

#[test]
fn a_damaged_snapshot_costs_time_and_no_key() {
    let bench = Bench::with_lines(&lines(0..2000));
    let snapshot = bench.path("s").join(SNAPSHOT_FILE);
    let whole = std::fs::read(&snapshot).expect("a snapshot");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damage in [b"garbage".as_slice(), b"", &whole[..whole.len() / 2], &flipped] {
        std::fs::write(&snapshot, damage).expect("a file");
        assert_eq!(bench.yes("query s --count", &lines(1000..3000)), b"1000\n");
        std::fs::write(&snapshot, damage).expect("a file");
        assert_eq!(bench.json("check s", b"")["ok"], true);
        std::fs::write(&snapshot, damage).expect("a file");
        // It changes nothing, so the filter is made anew each time.
        assert_eq!(bench.json("info s", b"")["rebuilt"], true);
        assert_eq!(bench.json("info s", b"")["rebuilt"], true);
        bench.yes("query s --count", &lines(0..1));
        assert_eq!(bench.json("info s", b"")["rebuilt"], false);
    }
}

#[test]
fn a_check_finds_an_index_entry_that_is_gone() {
    let bench = Bench::with_lines(&lines(0..50));
    let store = RedbStore::open(bench.path("s").join(STORE_FILE)).expect("the file");
    let mut entry = None;
    let first = &mut |key: &[u8], _: &[u8]| {
        entry = Some(key.to_vec());
        false
    };
    store.scan(Space::Index, Bound::Unbounded, first).expect("a scan");
    let change = Change { space: Space::Index, key: entry.expect("an entry"), value: None };
    store.commit(&[change], Durability::Synced).expect("a commit");
    drop(store);

    let said = String::from_utf8(bench.out("check s", b"", 1)).expect("text");
    assert!(said.starts_with("s: 50 keys, and something is wrong: ") && said.contains("check --repair"), "{said}");
    let report: Value = serde_json::from_slice(&bench.out("check s --json", b"", 1)).expect("JSON");
    assert_eq!((&report["ok"], &report["keys"]), (&false.into(), &50.into()));
    assert!(report["wrong"].as_str().is_some_and(|wrong| !wrong.is_empty()));
    bench.error("check nowhere", b"");
}

#[test]
fn a_store_file_that_is_something_else_is_refused() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("s")).expect("a folder");
    bench.file("s/store.redb", b"this is no database at all");
    for command in ["create s", "insert s", "query s", "info s", "check s"] {
        let why = bench.error(command, b"a\n");
        assert!(why.contains("store.redb cannot be opened"), "{command}: {why}");
    }
    assert_eq!(std::fs::read(bench.path("s/store.redb")).expect("the file"), b"this is no database at all");
}
