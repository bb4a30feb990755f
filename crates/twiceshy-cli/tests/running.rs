//! Commands while another process has the store open, and when a signal ends them.

mod bench;

use bench::Bench;
use serde_json::Value;
use std::io::Write as _;
#[cfg(unix)]
use std::process::Command;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use twiceshy_store::{Guard, KEYS_FILE, RedbStore, STATUS_FILE, Status};

/// A process that has the store `s` open and waits for lines.
struct Other(Child);

impl Other {
    fn start(bench: &Bench) -> Other {
        let mut command = bench.command("insert s");
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut other = Other(child.expect("the command"));
        other.0.stdin.as_mut().expect("a pipe").write_all(b"b\n").expect("it reads");
        let began = Instant::now();
        while Status::read(bench.path("s")).map(|status| status.pid).ok() != Some(other.0.id()) {
            assert!(began.elapsed() < Duration::from_secs(60), "it has not opened the store");
            std::thread::sleep(Duration::from_millis(10));
        }
        other
    }

    fn kill(&mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it ends");
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The store, open in this process. Nothing changes any more, so its status is not written again.
fn quiet(bench: &Bench) -> Guard<RedbStore> {
    let guard = Guard::open(bench.path("s")).expect("the store");
    guard.wait().and_then(|()| guard.save()).expect("a folder");
    guard
}

#[test]
fn info_shows_the_figures_of_the_process_that_has_the_store_open() {
    let bench = Bench::with_filter("swapping", b"a\n");
    let closed = bench.json("info s", b"");
    assert!(closed.get("running").is_none(), "{closed}");
    let other = Other::start(&bench);
    let info = bench.json("info s", b"");
    let running = &info["running"];
    assert_eq!((&running["pid"], &running["exists"]), (&other.0.id().into(), &true.into()));
    assert_eq!(running["version"], env!("CARGO_PKG_VERSION"));
    assert!(running["written_seconds_ago"].as_u64().is_some() && running["opened_seconds_ago"].as_u64().is_some());
    assert_eq!(running["stats"]["keys"], info["keys"]);
    for name in ["path", "filter", "fpr", "snapshot_bytes"] {
        assert_eq!(info[name], closed[name], "{name}");
    }
    assert_eq!(info["open_seconds"], Value::Null);
    let names = |value: &Value| value.as_object().expect("a map").keys().cloned().collect::<Vec<_>>();
    assert!(names(&closed).iter().all(|name| names(&info).contains(name)), "{info}");

    let text = String::from_utf8(bench.yes("info s", b"")).expect("text");
    assert!(text.contains("look-ups turned away") && text.contains("swapping"), "{text}");
    assert!(text.contains(&format!("The process {} (twiceshy ", other.0.id())), "{text}");
    assert!(text.contains("has the store open. These are its figures of "), "{text}");
}

#[test]
fn info_says_so_if_the_process_that_wrote_the_figures_is_gone() {
    let bench = Bench::with_lines(b"a\n");
    let mut other = Other::start(&bench);
    let left = std::fs::read(bench.path("s").join(STATUS_FILE)).expect("it is open");
    other.kill();
    assert!(bench.path("s").join(STATUS_FILE).exists(), "a killed process deletes nothing");
    assert!(bench.json("info s", b"").get("running").is_none(), "nobody has it open");

    let guard = quiet(&bench);
    std::fs::write(bench.path("s").join(STATUS_FILE), left).expect("a folder");
    let info = bench.json("info s", b"");
    assert_eq!((&info["running"]["pid"], &info["running"]["exists"]), (&other.0.id().into(), &false.into()));
    let text = String::from_utf8(bench.yes("info s", b"")).expect("text");
    assert!(text.contains("does not run here any more"), "{text}");
    guard.close().expect("a folder");
}

#[test]
fn a_status_that_makes_no_sense_is_not_shown() {
    let bench = Bench::with_lines(b"a\n");
    let guard = quiet(&bench);
    let path = bench.path("s").join(STATUS_FILE);
    let good = std::fs::read_to_string(&path).expect("it is open");
    let mut hostile: Vec<Vec<u8>> =
        vec![Vec::new(), vec![b'x'; 1 << 20], good.replace("keys 1", "keys 9").into_bytes()];
    hostile.push(good.replace("telescoping", "\u{1b}[2Jtelescoping").into_bytes());
    for bytes in hostile {
        bench.file(&format!("s/{STATUS_FILE}"), &bytes);
        for command in ["info s", "info s --json"] {
            let why = bench.error(command, b"");
            assert!(why.contains("close it first") && why.contains("is no valid status"), "{why}");
            assert!(why.lines().count() == 1 && !why.contains('\u{1b}'), "{why}");
        }
    }
    std::fs::remove_file(&path).expect("a file");
    let why = bench.error("info s --wait 0s", b"");
    assert!(why.contains("close it first") && !why.contains("status"), "{why}");
    #[cfg(unix)]
    {
        // To open a pipe would wait for a writer.
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.is_ok_and(|status| status.success()));
        assert!(bench.error("info s", b"").contains("is no valid status"));
    }
    guard.close().expect("a folder");
}

#[test]
fn info_describes_a_guard_beside_a_store_and_other_commands_leave_it_alone() {
    let bench = Bench::new();
    let folder = bench.path("guard");
    let guard = Guard::beside(&folder).expect("a folder");
    for complete in [false, true] {
        if complete {
            let keys = (0..100u64).map(|key| Ok::<_, std::convert::Infallible>(key.to_be_bytes()));
            guard.adopt(|| Ok(keys)).expect("a folder");
        }
        guard.save().expect("a folder");
        let name = if complete { "complete" } else { "incomplete" };
        let copy = bench.path(name);
        std::fs::create_dir(&copy).expect("a folder");
        std::fs::copy(folder.join(KEYS_FILE), copy.join(KEYS_FILE)).expect("a file");
        let about = bench.json(&format!("info {name}"), b"");
        assert_eq!(
            (&about["complete"], &about["keys"]),
            (&complete.into(), &(100 * u64::from(complete)).into()),
            "{about}"
        );
        // The copy is what a process leaves that dies.
        assert_eq!((&about["cut_off"], &about["needs_resync"]), (&complete.into(), &true.into()), "{about}");
        let words = String::from_utf8(bench.yes(&format!("info {name}"), b"")).expect("text");
        assert_eq!(words.contains("may have cut tickets off"), complete, "{words}");
    }
    let open = bench.json("info guard", b"");
    assert_eq!(open["running"]["pid"], std::process::id(), "{open}");
    guard.close().expect("a folder");
    let closed = bench.json("info guard", b"");
    assert_eq!((&closed["cut_off"], &closed["needs_resync"]), (&false.into(), &false.into()), "{closed}");
    for command in ["query", "insert", "check"] {
        let refused = bench.run(&format!("{command} guard"), b"");
        let words = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && words.contains("Guard::beside"), "{command}: {words}");
    }
}

#[cfg(unix)]
fn lines(numbers: std::ops::Range<u32>) -> Vec<u8> {
    numbers.flat_map(|number| format!("key {number}\n").into_bytes()).collect()
}

#[cfg(unix)]
fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
}

/// Exit status and complaint of a command that gets a signal when `is_ready`, while its input stays open.
#[cfg(unix)]
fn ended(mut child: Child, name: &str, is_ready: impl Fn() -> bool) -> (Option<i32>, String) {
    let input = child.stdin.take();
    let begun = Instant::now();
    while !is_ready() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is not ready");
        std::thread::sleep(Duration::from_millis(10));
    }
    // It may just have read its last line.
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, name);
    let output = child.wait_with_output().expect("it ends");
    drop(input);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
#[cfg(unix)]
fn a_signal_ends_a_command_with_its_number_and_with_how_far_it_came() {
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let bench = Bench::with_lines(&lines(0..500));
        let is_open = || bench.path("s").join(STATUS_FILE).exists();
        let status = || Status::read(bench.path("s")).map_or(0, |status| status.stats.keys);
        for (command, input, told) in [
            ("insert s", lines(400..4_400), "3,900 keys stored and 100 there before"),
            ("remove s", lines(3_400..5_400), "1,000 keys removed and 1,000 not there"),
            ("query s", lines(0..2_048), "2,048 keys asked for"),
        ] {
            let before = status();
            let mut child = bench.command(command).spawn().expect("the command starts");
            child.stdin.as_mut().expect("an input").write_all(&input).expect("it reads");
            // What a query prints would fill its pipe.
            let out = child.stdout.take();
            let reader = std::thread::spawn(move || out.map(std::io::read_to_string));
            let (code, why) = ended(child, name, || is_open() && (command.starts_with("query") || status() != before));
            assert_eq!(code, Some(128 + number), "{command}: {why}");
            assert_eq!(why, format!("twiceshy: ended by SIG{name}: {told}\n"), "{command}");
            drop(reader.join().expect("no panic"));
        }
        assert_eq!(bench.json("check s", b"")["keys"], 3_400, "after SIG{name}");
    }
}

#[test]
#[cfg(unix)]
fn a_check_that_a_signal_ends_says_that_it_did_not_end() {
    let bench = Bench::with_lines(&lines(0..10));
    // It waits for a store that is open here.
    let guard = Guard::open(bench.path("s")).expect("the store");
    for (arguments, told) in [
        ("check s --wait 1min", "the check had not ended, and has changed nothing"),
        ("check s --repair --wait 1min", "the repair had not ended: run it again"),
    ] {
        let child = bench.command(arguments).spawn().expect("the command starts");
        let (code, why) = ended(child, "TERM", || true);
        assert_eq!((code, why), (Some(143), format!("twiceshy: ended by SIGTERM: {told}\n")));
    }
    guard.close().expect("closed");
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_that_the_parent_ignores_ends_nothing() {
    let bench = Bench::with_lines(b"a\n");
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' HUP; exec \"$0\" query s", env!("CARGO_BIN_EXE_twiceshy")])
        .current_dir(bench.path(""));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("a shell");
    let begun = Instant::now();
    while !bench.path("s").join(STATUS_FILE).exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is not ready");
        std::thread::sleep(Duration::from_millis(10));
    }
    signal(&child, "HUP");
    std::thread::sleep(Duration::from_millis(300));
    child.stdin.take().expect("an input").write_all(b"a\n").expect("it still reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stdout), (Some(0), b"a\n".to_vec()));
}
