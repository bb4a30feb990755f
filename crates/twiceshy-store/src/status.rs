//! What a running guard says about itself in a file beside its store, for those who cannot open the store meanwhile. Its bytes
//! are described in `docs/format.md`. Nobody relies on it: it is not synced, and if it cannot be written, nothing fails.

use crate::choice::Choice;
use crate::snapshot::create_private;
use crate::stats::Stats;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use twiceshy::Kind;

/// The status of a running guard, in the store's folder.
pub const STATUS_FILE: &str = "status.twiceshy";

/// How often the status is written at most.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);

/// The first line.
const TITLE: &str = "twiceshy status 1";

/// A longer file is not ours.
const MOST_BYTES: u64 = 8 << 10;

/// What a process that has a store open says about it: see [`Status::read`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Status {
    /// The process.
    pub pid: u32,
    /// The version of this crate in that process.
    pub version: String,
    /// When the store was opened, in seconds since 1970.
    pub opened: u64,
    /// When the status was written, in seconds since 1970. It is written at most once a second, and only if a figure has changed.
    pub written: u64,
    /// The filter that the store was created with.
    pub filter: Kind,
    /// Its false-positive rate.
    pub rate: f64,
    /// The figures.
    pub stats: Stats,
}

impl Status {
    /// Reads the status in a store's folder. There is one while a guard has the store open for writing, and after a process
    /// that did not close it.
    ///
    /// The error is [`io::ErrorKind::NotFound`] if the folder has no status file, and [`io::ErrorKind::InvalidData`] if it is damaged. It has a
    /// checksum, but anyone who can write to the folder can forge it.
    pub fn read(folder: impl AsRef<Path>) -> io::Result<Status> {
        let path = folder.as_ref().join(STATUS_FILE);
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, format!("{} is no valid status", path.display()));
        // A link is not followed, and opening a pipe would wait for its writer.
        if !path.symlink_metadata()?.is_file() {
            return Err(invalid());
        }
        let mut bytes = Vec::new();
        File::open(&path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(invalid());
        }
        std::str::from_utf8(&bytes).ok().and_then(Status::parse).ok_or_else(invalid)
    }

    /// How long ago the status was written; 0 if the clock was set back since.
    pub fn age(&self) -> Duration {
        Duration::from_secs(now().saturating_sub(self.written))
    }

    fn to_text(&self) -> String {
        let Status { pid, version, opened, written, filter, rate, mut stats } = self.clone();
        let mut text = format!(
            "{TITLE}\npid {pid}\nversion {version}\nopened {opened}\nwritten {written}\nfilter {filter}\nrate {rate}\n"
        );
        let (counted, held) = stats.named();
        for (name, value) in held.into_iter().chain(counted) {
            let _ = writeln!(text, "{name} {value}");
        }
        let sum = crc32fast::hash(text.as_bytes());
        let _ = writeln!(text, "sum {sum:08x}");
        text
    }

    /// Names that are not known are ignored, and figures that are missing are 0: other versions have others.
    fn parse(text: &str) -> Option<Status> {
        // The sum is the last line, and of all before it.
        let at = text.strip_suffix('\n')?.rfind('\n')? + 1;
        let (body, sum) = text.split_at(at);
        if sum != format!("sum {:08x}\n", crc32fast::hash(body.as_bytes())) {
            return None;
        }
        let mut lines = body.lines();
        if lines.next() != Some(TITLE) {
            return None;
        }
        let mut values = HashMap::new();
        for line in lines {
            let (name, value) = line.split_once(' ')?;
            if values.insert(name, value).is_some() {
                return None;
            }
        }
        let number = |name: &str| values.get(name)?.parse().ok();
        let mut stats = Stats::default();
        let (counted, held) = stats.named();
        for (name, figure) in held.into_iter().chain(counted).filter(|(name, _)| values.contains_key(name)) {
            *figure = number(name)?;
        }
        // It may be printed on a terminal.
        let version = values.get("version").filter(|version| {
            version.len() <= 32 && version.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-".contains(&byte))
        })?;
        Some(Status {
            pid: values.get("pid")?.parse().ok().filter(|pid| *pid > 0)?,
            version: (*version).to_owned(),
            opened: number("opened")?,
            written: number("written")?,
            filter: values.get("filter")?.parse().ok()?,
            rate: values.get("rate")?.parse().ok().filter(|rate| *rate > 0.0 && *rate < 1.0)?,
            stats,
        })
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The status file of a guard. Deleted when the guard is dropped.
pub(crate) struct StatusFile {
    path: PathBuf,
    choice: Choice,
    opened: u64,
    /// When the last status was written, and its figures.
    last: Mutex<Option<(Instant, Stats)>>,
}

impl StatusFile {
    pub(crate) fn new(path: PathBuf, choice: Choice) -> StatusFile {
        StatusFile { path, choice, opened: now(), last: Mutex::default() }
    }

    /// Writes the status, unless it was just written. `at_once` if it was just written, too. If it cannot be written, the next
    /// one may be.
    pub(crate) fn tell(&self, at_once: bool, stats: impl FnOnce() -> Stats) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if !at_once && last.is_some_and(|(written, _)| written.elapsed() < INTERVAL) {
            return;
        }
        let stats = stats();
        if last.is_none_or(|(_, before)| before != stats) {
            let _ = self.write(stats);
            *last = Some((Instant::now(), stats));
        }
    }

    fn write(&self, stats: Stats) -> io::Result<()> {
        let status = Status {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            opened: self.opened,
            written: now(),
            filter: self.choice.kind,
            rate: self.choice.rate,
            stats,
        };
        let beside = self.beside();
        let written = create_private(&beside, &self.path)
            .and_then(|mut file| file.write_all(status.to_text().as_bytes()))
            .and_then(|()| std::fs::rename(&beside, &self.path));
        written.inspect_err(|_| drop(std::fs::remove_file(&beside)))
    }

    fn beside(&self) -> PathBuf {
        let mut path = self.path.as_os_str().to_owned();
        path.push(".new");
        path.into()
    }
}

impl Drop for StatusFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        let mut stats = Stats::default();
        let (counted, held) = stats.named();
        for ((_, figure), number) in counted.into_iter().chain(held).zip(1 << 60..) {
            *figure = number;
        }
        Status { pid: 77, version: "1.2.3-rc+4".into(), opened: 5, written: 9, filter: Kind::Broom, rate: 0.001, stats }
    }

    /// The text with another body, and the sum that it needs.
    fn with_sum(text: &str, from: &str, to: &str) -> String {
        let body = text.rsplit_once("sum ").expect("a sum").0.replace(from, to);
        assert_ne!(body, text);
        format!("{body}sum {:08x}\n", crc32fast::hash(body.as_bytes()))
    }

    #[test]
    fn a_status_is_read_as_it_was_written_and_every_damage_is_found() {
        let text = status().to_text();
        assert_eq!(Status::parse(&text), Some(status()));
        assert!(text.len() as u64 * 4 < MOST_BYTES);
        for at in 0..text.len() {
            assert_eq!(Status::parse(&text[..at]), None, "{at} bytes");
            let mut damaged = text.clone().into_bytes();
            damaged[at] ^= 1;
            assert_eq!(std::str::from_utf8(&damaged).ok().and_then(Status::parse), None, "byte {at}");
        }
        assert_eq!(Status::parse(&format!("{text}\n")), None);
    }

    #[test]
    fn a_status_that_was_just_written_is_not_written_again_unless_it_must_be() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = StatusFile::new(folder.path().join(STATUS_FILE), Choice { kind: Kind::Broom, rate: 0.1 });
        let keys = |at_once, keys| {
            file.tell(at_once, || Stats { keys, ..Stats::default() });
            Status::read(folder.path()).expect("it was written").stats.keys
        };
        assert_eq!((keys(false, 1), keys(false, 2), keys(true, 3)), (1, 1, 3));
    }

    #[test]
    fn a_forged_status_is_refused_if_it_makes_no_sense() {
        let text = status().to_text();
        for (from, to) in [
            ("pid 77", "pid 0"),
            ("pid 77", "pid -1"),
            ("pid 77", "pid 77777777777777"),
            ("pid 77\n", ""),
            ("pid 77", "pid 77\npid 78"),
            ("1.2.3", "\u{1b}[2J"),
            ("1.2.3", "1.2.3 and more"),
            ("1.2.3", &"1".repeat(40)),
            ("broom", "bloom"),
            ("rate 0.001", "rate NaN"),
            ("rate 0.001", "rate 1e9"),
            ("keys ", "keys x"),
            ("keys ", "keys 99999999999999999999"),
            ("status 1", "status 2"),
            ("written 9", "written"),
        ] {
            assert_eq!(Status::parse(&with_sum(&text, from, to)), None, "{from} became {to}");
        }
    }

    #[test]
    fn a_status_of_another_version_may_have_other_figures() {
        let text = status().to_text();
        let more = with_sum(&text, "pid 77", "unheard_of 5 apples\npid 77");
        assert_eq!(Status::parse(&more), Some(status()));
        let fewer = with_sum(&text, "queued ", "asleep ");
        assert_eq!(Status::parse(&fewer).map(|status| status.stats.queued), Some(0));
    }
}
