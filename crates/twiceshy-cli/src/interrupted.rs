//! SIGINT, SIGTERM and SIGHUP: the command says how far it came, clears up, and ends with 128 and the signal's number, as programs do that a
//! signal ends.

use crate::output::clear_progress;
use crate::{shared, temporary};
use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// How far the command came, in words. Locked while a change is under way, so that what is said is what is stored.
static HOW_FAR: Mutex<String> = Mutex::new(String::new());
static WATCH: Once = Once::new();

/// How long a signal waits for the change under way. A silent server must not keep the user waiting.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says what an interruption from now on leaves behind.
pub(crate) fn tell(how_far: String) {
    *HOW_FAR.lock().unwrap_or_else(PoisonError::into_inner) = how_far;
}

/// Makes a change that an interruption waits for. It returns how far the command came with it.
pub(crate) fn during(change: impl FnOnce() -> anyhow::Result<String>) -> anyhow::Result<()> {
    let mut how_far = HOW_FAR.lock().unwrap_or_else(PoisonError::into_inner);
    *how_far = change()?;
    Ok(())
}

/// Watches for signals from now on. Must be called before the first thread is started, and by no command that starts other programs: they
/// would be deaf to the signals.
pub(crate) fn watch() {
    WATCH.call_once(start);
}

#[cfg(unix)]
fn start() {
    use nix::sys::signal::{SigSet, Signal};
    // What the parent ignores stays ignored, as `nohup` wants it.
    let ignored = ignored();
    let all = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
    let signals: SigSet = all.into_iter().filter(|signal| ignored >> (*signal as u32 - 1) & 1 == 0).collect();
    // Without this thread a signal ends the process at once, as ever.
    let watch = move || {
        while let Ok(signal) = signals.wait() {
            end(signal.as_str(), signal as i32);
        }
    };
    if signals.thread_block().is_ok() && thread::Builder::new().spawn(watch).is_err() {
        let _ = signals.thread_unblock();
    }
}

/// The ignored signals: the bit of signal n is n − 1. Only Linux tells.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(not(unix))]
fn start() {
    // The number of SIGINT.
    drop(ctrlc::set_handler(|| end("Ctrl-C", 2)));
}

fn end(signal: &str, number: i32) {
    let how_far = how_far();
    clear_progress();
    let told = match how_far.as_deref().map(String::as_str) {
        Some("") => String::new(),
        Some(told) => format!(": {told}"),
        None => ": a change was under way, and may have been made".to_owned(),
    };
    // If stderr is closed, the exit status still tells.
    let _ = writeln!(io::stderr(), "twiceshy: ended by {signal}{told}");
    shared::leave();
    temporary::delete_all();
    std::process::exit(128 + number);
}

/// How far the command came. It makes no further change as long as this is held. `None` if a change does not end.
fn how_far() -> Option<MutexGuard<'static, String>> {
    let begun = Instant::now();
    loop {
        match HOW_FAR.try_lock() {
            Ok(told) => return Some(told),
            Err(TryLockError::Poisoned(told)) => return Some(told.into_inner()),
            Err(TryLockError::WouldBlock) if begun.elapsed() > PATIENCE => return None,
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
        }
    }
}
