//! A panic is a bug. It ends in one sentence and an exit status, not in a backtrace or an abort.

use crate::temporary;
use std::any::Any;
use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe, Location, PanicHookInfo};
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit status after a panic: that of an error.
const FAILED: u8 = 2;

/// `true` after a panic in any thread.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// What the standard library says before it aborts the process.
const ABORTS: [&str; 2] = ["panic in a destructor during cleanup", "panic in a function that cannot unwind"];

/// Runs `work` and returns its exit status, or that of an error if a thread panicked meanwhile.
///
/// `is_caught` is `true` if the current thread is inside a call that turns panics into errors. Such a panic is no news:
/// the error tells.
pub(crate) fn exit_status(is_caught: fn() -> bool, work: impl FnOnce() -> u8) -> u8 {
    panic::set_hook(Box::new(move |info| {
        if !is_caught() {
            report(info);
        }
    }));
    // Unwinding deletes temporary folders. Nothing else is used afterwards.
    let status = panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or(FAILED);
    if PANICKED.load(Ordering::SeqCst) { FAILED } else { status }
}

/// The hook. Prints the first panic only: further ones are mostly its consequences.
fn report(info: &PanicHookInfo<'_>) {
    if !PANICKED.swap(true, Ordering::SeqCst) {
        // If stderr is closed, the exit status still tells.
        let _ = writeln!(io::stderr(), "{}", sentence(words(info.payload()), info.location()));
    }
    if ABORTS.contains(&words(info.payload())) {
        temporary::delete_all();
        std::process::exit(FAILED.into());
    }
}

/// The text that a panic came with.
fn words(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without words")
}

fn sentence(words: &str, location: Option<&Location<'_>>) -> String {
    // Failed assertions have several lines.
    let text: Vec<&str> = words.split_whitespace().collect();
    let place = location.map_or_else(String::new, |at| format!(", at {}:{}", at.file(), at.line()));
    format!("twiceshy: this is a bug: {}{place}; please report it", text.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Output};

    /// Set by the tests that run `child` in a process of its own.
    const WAY: &str = "TWICESHY_TEST_PANIC";

    struct PanicsInDrop;

    impl Drop for PanicsInDrop {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }

    #[test]
    #[ignore = "a process of its own, started by the other tests"]
    fn child() {
        let Ok(way) = std::env::var(WAY) else { return };
        let is_caught: fn() -> bool = if way == "caught" { || true } else { || false };
        let status = exit_status(is_caught, || {
            match way.as_str() {
                "main" => assert_eq!(1 + 1, 3, "sums\nare hard"),
                "thread" => drop(std::thread::spawn(|| panic!("in a thread")).join()),
                "twice" => {
                    let _first = PanicsInDrop;
                    panic!("before the destructor");
                }
                "caught" => drop(panic::catch_unwind(|| panic!("damaged"))),
                _ => {}
            }
            1
        });
        std::process::exit(status.into());
    }

    fn run(way: &str) -> (Option<i32>, Vec<String>) {
        let this = std::env::current_exe().expect("this program");
        let mut command = Command::new(this);
        command.args(["--exact", "panics::tests::child", "--ignored", "--nocapture"]).env(WAY, way);
        let Output { status, stderr, .. } = command.env("RUST_BACKTRACE", "full").output().expect("it runs");
        (status.code(), String::from_utf8_lossy(&stderr).lines().map(str::to_owned).collect())
    }

    #[test]
    fn a_panic_is_one_sentence_and_the_status_of_an_error() {
        for (way, words) in [
            ("main", "sums are hard left: 2 right: 3, at "),
            ("thread", "in a thread, at "),
            ("twice", "before the destructor, at "),
        ] {
            let (status, said) = run(way);
            assert_eq!(status, Some(2), "{way}: {said:?}");
            assert_eq!(said.len(), 1, "{way}: {said:?}");
            assert!(said[0].starts_with("twiceshy: this is a bug: ") && said[0].contains(words), "{said:?}");
            assert!(said[0].contains("panics.rs:") && said[0].ends_with("; please report it"), "{said:?}");
        }
    }

    #[test]
    fn work_that_does_not_panic_and_panics_that_are_caught_keep_their_status() {
        assert_eq!(run("nothing"), (Some(1), vec![]));
        assert_eq!(run("caught"), (Some(1), vec![]));
    }
}
