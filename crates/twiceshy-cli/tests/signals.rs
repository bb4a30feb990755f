//! Commands that a signal ends: they say how far they came, and what they say is stored.
#![cfg(unix)]

mod bench;

use bench::Bench;
use std::io::Write as _;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

fn lines(numbers: std::ops::Range<u32>) -> Vec<u8> {
    numbers.flat_map(|number| format!("key {number}\n").into_bytes()).collect()
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
}

/// Exit status and complaint of a command that gets a signal when `is_ready`, while its input stays open.
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
fn a_signal_ends_a_command_with_its_number_and_with_how_far_it_came() {
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let bench = Bench::with_lines(&lines(0..500));
        let is_open = || bench.path("s").join(twiceshy_store::STATUS_FILE).exists();
        let status = || twiceshy_store::Status::read(bench.path("s")).map_or(0, |status| status.stats.keys);
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
fn a_check_that_a_signal_ends_says_that_it_did_not_end() {
    let bench = Bench::with_lines(&lines(0..10));
    // It waits for a store that is open here.
    let guard = twiceshy_store::Guard::open(bench.path("s")).expect("the store");
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
    command.args(["-c", "trap '' HUP; exec \"$0\" query s", env!("CARGO_BIN_EXE_twiceshy")]).current_dir(bench.path(""));
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("a shell");
    let begun = Instant::now();
    while !bench.path("s").join(twiceshy_store::STATUS_FILE).exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is not ready");
        std::thread::sleep(Duration::from_millis(10));
    }
    signal(&child, "HUP");
    std::thread::sleep(Duration::from_millis(300));
    child.stdin.take().expect("an input").write_all(b"a\n").expect("it still reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stdout), (Some(0), b"a\n".to_vec()));
}
