//! `twiceshy info` while another process has the store open.

mod bench;

use bench::Bench;
use serde_json::Value;
use std::io::Write as _;
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
    let why = bench.error("info s", b"");
    assert!(why.contains("close it first") && !why.contains("status"), "{why}");
    #[cfg(unix)]
    {
        // To open a pipe would wait for a writer.
        let made = std::process::Command::new("mkfifo").arg(&path).status();
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
