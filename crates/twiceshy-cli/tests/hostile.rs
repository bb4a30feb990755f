//! The command where things are wrong: no room, endless input, pipes and links where files should be.
#![cfg(target_os = "linux")]

mod bench;

use bench::Bench;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use twiceshy_store::{SNAPSHOT_FILE, STORE_FILE};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A bench with a store `s` of three keys whose filter cannot be saved: a folder is in its place. This stops the
/// superuser too.
fn without_room() -> Bench {
    let bench = Bench::with_lines(b"a\nb\nc\n");
    block_snapshot(&bench, "s");
    bench
}

fn block_snapshot(bench: &Bench, store: &str) {
    let place = bench.path(store).join(SNAPSHOT_FILE);
    let _ = std::fs::remove_file(&place);
    std::fs::create_dir_all(place.join("full")).expect("a folder");
}

/// What a command says of it.
const UNSAVED: &str =
    "the filter could not be saved, and the next command makes it from the last one that was, or from the keys";

/// The output of a command that warns that the filter could not be saved, and ends with this status.
fn warned(bench: &Bench, arguments: &str, input: &[u8], status: i32) -> Vec<u8> {
    let Output { status: ended, stdout, stderr } = bench.run(arguments, input);
    let said = text(&stderr);
    assert_eq!(ended.code(), Some(status), "{arguments}: {said}");
    assert_eq!(said.lines().count(), 1, "{arguments}: {said}");
    assert!(said.starts_with("twiceshy: warning: s/filter.twiceshy: "), "{arguments}: {said}");
    assert!(said.ends_with(&format!(": {UNSAVED}\n")), "{said}");
    stdout
}

#[test]
fn a_filter_that_could_not_be_saved_is_made_from_the_one_that_was_saved_last_or_from_the_keys() {
    let bench = Bench::with_lines(b"a\nb\nc\n");
    let origin = |from: &str| {
        let info = text(&bench.yes("info s", b""));
        assert!(info.contains(from), "{info}");
    };
    // The file that is renamed to the snapshot cannot be written.
    std::fs::create_dir_all(bench.path("s").join("filter.twiceshy.new/full")).expect("a folder");
    let why = text(&bench.run("insert s", b"d\n").stderr);
    assert!(why.contains(UNSAVED), "{why}");
    origin("The filter came from its snapshot, brought forward over 1 commit");
    std::fs::remove_file(bench.path("s").join(SNAPSHOT_FILE)).expect("the last one");
    origin("The filter was rebuilt from the store");
}

#[test]
fn a_filter_that_cannot_be_saved_costs_a_warning_and_no_answer() {
    let bench = without_room();
    for (arguments, input, status, start) in [
        ("insert s", "d\ne\n", 0, "s: 2 lines read, 2 keys new, 0 there before"),
        ("remove s", "e\nf\n", 0, "s: 2 lines read, 1 key removed, 1 not there"),
        ("query s", "d\ne\na\n", 0, "d\na\n"),
        ("query s", "e\n", 1, ""),
        ("query s --absent --count", "e\nf\n", 0, "2\n"),
        ("query s --quiet", "a\n", 0, ""),
    ] {
        let said = text(&warned(&bench, arguments, input.as_bytes(), status));
        assert!(said.starts_with(start) && start.is_empty() == said.is_empty(), "{arguments}: {said}");
    }
    // These save nothing, so there is nothing to warn of.
    assert!(text(&bench.yes("info s", b"")).starts_with("s\n\nfilter "));
    assert!(text(&bench.yes("check s", b"")).starts_with("s: 4 keys, all in order, "));
    std::fs::remove_dir_all(bench.path("s").join(SNAPSHOT_FILE)).expect("the folder");
    assert_eq!(bench.yes("query s", b"a\nd\ne\n"), b"a\nd\n");
}

#[test]
fn the_warning_is_in_the_json_report_too() {
    let bench = without_room();
    for arguments in ["insert s", "remove s", "query s --absent", "query s --count --absent"] {
        let said = warned(&bench, &format!("{arguments} --json"), b"x\n", 0);
        let report: Value = serde_json::from_slice(&said).expect("one JSON object");
        let warning = report["warning"].as_str().unwrap_or_else(|| panic!("{arguments}: {report}"));
        assert!(warning.contains("could not be saved"), "{arguments}: {report}");
    }
    std::fs::remove_dir_all(bench.path("s").join(SNAPSHOT_FILE)).expect("the folder");
    for arguments in ["insert s", "remove s", "query s --absent", "info s", "check s"] {
        assert!(bench.json(arguments, b"x\n").get("warning").is_none(), "{arguments}");
    }
}

#[test]
fn a_store_is_made_even_if_its_filter_cannot_be_saved() {
    let bench = Bench::new();
    block_snapshot(&bench, "s");
    let said = text(&warned(&bench, "create s", b"", 0));
    assert!(said.starts_with("s: a new store"), "{said}");
    warned(&bench, "insert s", b"a\n", 0);
    assert_eq!(warned(&bench, "query s", b"a\nb\n", 0), b"a\n");
}

#[test]
fn work_that_fails_is_an_error_with_and_without_a_warning() {
    let bench = without_room();
    let why = bench.error("insert s --values", b"d\t1\nno tab\n");
    let lines: Vec<&str> = why.lines().collect();
    assert_eq!(lines.len(), 2, "{why}");
    assert!(lines[0].starts_with("twiceshy: warning: ") && lines[1].starts_with("twiceshy: 1 key stored"), "{why}");
    bench.file("keys", b"d\n");
    bench.error("query s keys missing", b"");
    warned(&bench, "query s keys", b"", 0);
}

#[test]
fn an_output_without_room_is_an_error_and_the_changes_stay() {
    if !Path::new("/dev/full").exists() {
        return eprintln!("skipped: there is no /dev/full here");
    }
    let bench = Bench::with_lines(b"a\n");
    bench.file("keys", b"b\nc\n");
    for arguments in ["insert s keys", "insert s keys --json", "query s keys", "query s keys --json", "info s"] {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("a device");
        let Output { status, stderr, .. } = bench.command(arguments).stdout(full).output().expect("it runs");
        let why = text(&stderr);
        assert_eq!(status.code(), Some(2), "{arguments}: {why}");
        assert!(why.starts_with("twiceshy: cannot write to standard output: No space left"), "{arguments}: {why}");
    }
    assert_eq!(bench.yes("query s", b"a\nb\nc\n"), b"a\nb\nc\n");
}

/// Runs a script in which `$0` is the command, in the bench's folder.
fn script(bench: &Bench, script: &str) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_twiceshy")]).current_dir(bench.path(""));
    shell.stdin(Stdio::null()).output().expect("a shell")
}

/// Runs a script as its own superuser, with a tiny disk mounted at `full`; `None` where that is not allowed.
fn with_tiny_disk(bench: &Bench, kilobytes: u32, inside: &str) -> Option<Output> {
    std::fs::create_dir_all(bench.path("full")).expect("a folder");
    let mount = format!("mount -t tmpfs -o size={kilobytes}k none full");
    let unshared = |inside: &str| {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", &format!("{mount} && {inside}"), env!("CARGO_BIN_EXE_twiceshy")]);
        command.current_dir(bench.path("")).stdin(Stdio::null()).output()
    };
    if !unshared("true").is_ok_and(|tried| tried.status.success()) {
        eprintln!("skipped: mounting is not allowed here");
        return None;
    }
    Some(unshared(inside).expect("it runs"))
}

#[test]
fn a_full_disk_leaves_every_key_and_answer() {
    let bench = Bench::new();
    bench.file("keys", b"a\nb\nc\n");
    let inside = "\"$0\" create full/s > /dev/null && \"$0\" insert full/s keys > /dev/null || exit 90
        rm full/s/filter.twiceshy; cat /dev/zero > full/rest 2> /dev/null
        \"$0\" query full/s keys || exit 91; \"$0\" info full/s > info || exit 92; \"$0\" check full/s || exit 93";
    let Some(Output { status, stdout, stderr }) = with_tiny_disk(&bench, 4096, inside) else { return };
    let (said, why) = (text(&stdout), text(&stderr));
    assert_eq!(status.code(), Some(0), "{said}{why}");
    assert!(said.starts_with("a\nb\nc\nfull/s: 3 keys, all in order, "), "{said}");
    assert_eq!(why.matches(UNSAVED).count(), 1, "{why}");
    assert!(why.lines().all(|line| line.contains("No space left")) && !why.contains("commit"), "{why}");
}

#[test]
fn a_store_for_which_there_is_no_room_leaves_nothing_behind() {
    let bench = Bench::new();
    let inside = "cat /dev/zero > full/mine 2> /dev/null; \"$0\" create full/new/s; echo $?; find full";
    let Some(Output { stdout, stderr, .. }) = with_tiny_disk(&bench, 96, inside) else { return };
    let why = text(&stderr);
    assert_eq!(text(&stdout), "2\nfull\nfull/mine\n", "{why}");
    assert!(why.starts_with("twiceshy: full/new/s"), "{why}");
}

#[test]
fn a_filter_for_which_memory_is_lacking_leaves_nothing_behind() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("mine")).expect("a folder");
    bench.file("mine/notes.txt", b"mine");
    for store in ["new/folder/s", "mine", "mine/new"] {
        let Output { status, stdout, stderr } =
            script(&bench, &format!("ulimit -v 1000000; exec \"$0\" create {store} --keys 10000000000"));
        let why = text(&stderr);
        assert_eq!((status.code(), text(&stdout)), (Some(2), String::new()), "{why}");
        assert!(why.starts_with("twiceshy: ") && why.contains("cannot be allocated"), "{why}");
    }
    let found = script(&bench, "find . | sort");
    assert_eq!(text(&found.stdout), ".\n./mine\n./mine/notes.txt\n");
    bench.yes("create new/folder/s", b"");
}

#[test]
fn a_new_folder_is_for_its_owner_only() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("mine")).expect("a folder");
    let mode = |name: &str| bench.path(name).metadata().expect("it exists").permissions().mode() & 0o777;
    let before = mode("mine");
    bench.yes("create mine/new/s", b"");
    assert_eq!([mode("mine"), mode("mine/new"), mode("mine/new/s")], [before, 0o700, 0o700]);
}

#[test]
fn an_endless_line_is_refused_within_a_bounded_memory() {
    let bench = Bench::with_lines(b"a\n");
    bench.file("good", b"b\n");
    for command in ["insert", "remove", "query"] {
        let Output { status, stderr, .. } =
            script(&bench, &format!("ulimit -v 1000000; exec \"$0\" {command} s good /dev/zero"));
        let why = text(&stderr);
        assert_eq!(status.code(), Some(2), "{command}: {why}");
        assert!(why.contains("/dev/zero, line 1 is longer than 16777216 bytes"), "{command}: {why}");
        assert!(why.contains("--max-line"), "{command}: {why}");
    }
}

#[test]
fn an_endless_line_in_an_archive_is_refused() {
    let bench = Bench::new();
    let packed = script(&bench, "head -c 40000000 /dev/zero | gzip -1 > line.gz");
    assert!(packed.status.success() && bench.path("line.gz").metadata().expect("a file").len() < 1_000_000);
    for arguments in
        ["advise --keys 1000 --fpr 0.01 --trace line.gz", "replay --filter cyclic --workload trace:line.gz"]
    {
        let why = bench.error(arguments, b"");
        assert!(why.contains("line 1 of line.gz is longer than 16777216 bytes"), "{arguments}: {why}");
    }
}

#[test]
fn the_longest_line_is_an_option() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    let why = bench.error("insert s --max-line 3", b"abc\nabcd\nabc\n");
    assert!(why.contains("1 key stored") && why.contains("standard input, line 2 is longer than 3 bytes"), "{why}");
    assert_eq!(bench.yes("query s --max-line 3", b"abc\n"), b"abc\n");
    let mut long = vec![b'x'; 10_000_000];
    long.push(b'\n');
    assert_eq!(bench.json("insert s", &long)["new"], 1);
    assert_eq!(bench.yes("query s --count", &long), b"1\n");
    assert!(bench.error("query s --max-line 9M", &long).contains("longer than 9437184 bytes"));
    for wrong in ["0", "many", "4G"] {
        assert!(bench.error(&format!("query s --max-line {wrong}"), b"").contains("--max-line"), "{wrong}");
    }
}

#[test]
fn a_file_of_the_store_is_not_an_input_by_any_name() {
    let bench = Bench::with_lines(b"a\n");
    bench.file("good", b"b\n");
    for name in [STORE_FILE, SNAPSHOT_FILE] {
        let (file, other) = (bench.path("s").join(name), |way: &str| format!("{way}-{name}"));
        symlink(&file, bench.path(&other("soft"))).expect("a link");
        std::fs::hard_link(&file, bench.path(&other("hard"))).expect("a link");
        let before = std::fs::read(&file).expect("the file");
        for command in ["insert s", "remove s", "query s --quiet"] {
            let named = [format!("s/{name}"), format!("./s/../s/{name}"), other("soft"), other("hard")];
            let named = named.map(|input| format!("{command} good {input}"));
            let redirected = ["", "good -", "/dev/stdin"].map(|input| format!("{command} {input}"));
            for arguments in named.iter().chain(&redirected) {
                let stdin = File::open(&file).expect("the file");
                let Output { status, stderr, .. } = bench.command(arguments).stdin(stdin).output().expect("it runs");
                let why = text(&stderr);
                assert_eq!(status.code(), Some(2), "{arguments}: {why}");
                assert!(why.contains("is a file of the store itself"), "{arguments}: {why}");
            }
        }
        assert!(std::fs::read(&file).expect("the file") == before, "{name} was changed");
    }
    bench.out("query s", b"b\n", 1);
}

#[test]
fn a_file_that_the_output_is_appended_to_is_not_an_input() {
    let bench = Bench::with_lines(b"a\n");
    bench.file("keys", b"a\nb\n");
    for arguments in ["query s keys", "query s keys --absent --json"] {
        let append = OpenOptions::new().append(true).open(bench.path("keys")).expect("the file");
        let Output { status, stderr, .. } = bench.command(arguments).stdout(append).output().expect("it runs");
        assert_eq!(status.code(), Some(2));
        assert!(text(&stderr).contains("keys is also the output"), "{}", text(&stderr));
    }
    assert_eq!(std::fs::read(bench.path("keys")).expect("the file"), b"a\nb\n");
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

#[test]
fn a_pipe_with_a_name_is_an_input_like_any_other() {
    let bench = Bench::new();
    bench.yes("create s", b"");
    make_pipe(&bench.path("pipe"));
    let pipe = bench.path("pipe");
    let writer = std::thread::spawn(move || std::fs::write(pipe, b"a\nb\nc"));
    assert_eq!(bench.json("insert s pipe", b"")["new"], 3);
    writer.join().expect("no panic").expect("all is read");
}

/// The output of a command that must end within some seconds.
fn soon(bench: &Bench, arguments: &str) -> Output {
    let mut child = bench.command(arguments).stdin(Stdio::null()).spawn().expect("the command starts");
    let until = Instant::now() + Duration::from_secs(20);
    while child.try_wait().expect("its status").is_none() {
        if Instant::now() > until {
            child.kill().expect("it ends");
            panic!("{arguments} hangs");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("it has ended")
}

#[test]
fn a_pipe_in_place_of_the_snapshot_stops_nobody() {
    let bench = Bench::with_lines(b"a\nb\n");
    bench.file("keys", b"a\nx\n");
    std::fs::remove_file(bench.path("s").join(SNAPSHOT_FILE)).expect("the snapshot");
    make_pipe(&bench.path("s").join(SNAPSHOT_FILE));
    for (arguments, start) in
        [("query s keys", "a\n"), ("insert s keys", "s: 2 lines read, 1 key new"), ("check s", "s: 3")]
    {
        let Output { status, stdout, stderr } = soon(&bench, arguments);
        assert_eq!(status.code(), Some(0), "{arguments}: {}", text(&stderr));
        assert!(text(&stdout).starts_with(start), "{arguments}: {}", text(&stdout));
    }
}

#[test]
fn a_link_in_place_of_the_snapshot_leads_to_no_damage() {
    for name in [SNAPSHOT_FILE.to_owned(), format!("{SNAPSHOT_FILE}.new")] {
        let bench = Bench::with_lines(b"a\nb\n");
        bench.file("victim", b"precious");
        bench.file("keys", b"c\n");
        let place = bench.path("s").join(&name);
        let _ = std::fs::remove_file(&place);
        symlink(bench.path("victim"), &place).expect("a link");
        for arguments in ["insert s keys", "query s keys", "remove s keys", "check s"] {
            assert_eq!(bench.run(arguments, b"").status.code(), Some(0), "{arguments}");
            let victim = std::fs::read(bench.path("victim")).expect("the file");
            assert!(victim == b"precious", "{arguments} writes through {name}");
        }
    }
}

#[test]
fn a_standard_error_that_is_closed_changes_no_answer() {
    let bench = without_room();
    bench.file("keys", b"a\nx\n");
    let mut command = bench.command("query s keys");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = command.stderr(writer).output().expect("it runs");
    assert_eq!((output.status.code(), output.stdout), (Some(0), b"a\n".to_vec()));
}
