//! The traces of a folder: which of its files are recordings of requests, and why the others are not.

use super::key_set::KeySet;
use super::named::Workload;
use super::recording::Recording;
use super::trace_error::TraceError;
use crate::experiment::contest::{file_name, label};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// A trace has at least this many requests.
const FEWEST_REQUESTS: u64 = 1_000;

/// One request in this many, or more, is for a key that came before. A list of distinct keys is not a trace.
const REPEATED: u64 = 100;

/// At least this many keys are stored.
const FEWEST_STORED: f64 = 200.0;

/// Endings that say nothing about the content of a file.
const ENDINGS: [&str; 9] = ["gz", "xz", "zst", "zstd", "txt", "log", "trace", "pcap", "pcapng"];

/// A trace in a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundTrace {
    /// Its file's name without endings, made fit for tables: unique within the folder.
    pub label: String,
    /// Its file.
    pub path: PathBuf,
    /// The requests that are used.
    pub requests: u64,
    /// The distinct keys among them.
    pub distinct: u64,
    /// `true` if the file has more requests, which are not used.
    pub is_cut: bool,
}

impl FoundTrace {
    /// The trace as a workload.
    pub fn workload(&self) -> Workload {
        if self.is_cut { Workload::Start(self.path.clone(), self.requests) } else { Workload::Trace(self.path.clone()) }
    }

    /// `true` if the trace has enough keys for this A/S.
    pub fn allows(&self, ratio: f64) -> bool {
        self.distinct as f64 / (1.0 + ratio) >= FEWEST_STORED
    }
}

/// What a folder holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FolderOfTraces {
    /// The traces, by the names of their files.
    pub traces: Vec<FoundTrace>,
    /// A line for each file that is skipped, which says why, and for each trace that is cut.
    pub notes: Vec<String>,
}

/// Looks through a folder. Every regular file is a trace if it can be read as one (see
/// [`Recording`]), has at least 1,000 requests, and repeats keys; else it is skipped with a
/// note. Hidden files are skipped without. Of each file only the first `most` requests are read.
///
/// A file is read once and its counts are kept, as long as its size and its time do not change.
pub fn traces(folder: &Path, most: u64) -> FolderOfTraces {
    let mut found = FolderOfTraces::default();
    let mut names: Vec<PathBuf> = match folder.read_dir() {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(error) => {
            found.notes.push(format!("{} cannot be read: {error}", folder.display()));
            return found;
        }
    };
    names.sort_unstable();
    for path in names {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        match counted(&path, most) {
            Ok(counts) => {
                if counts.is_cut {
                    found.notes.push(format!("{name}: only its first {most} requests are used"));
                }
                let Counts { requests, distinct, is_cut } = counts;
                let label = unique(&name, &found.traces);
                found.traces.push(FoundTrace { label, path, requests, distinct, is_cut });
            }
            Err(why) => found.notes.push(format!("{name} is skipped: {why}")),
        }
    }
    found
}

/// A label that differs from those of the others, also as the name of a picture's file.
fn unique(name: &str, others: &[FoundTrace]) -> String {
    let mut short = name;
    while let Some((rest, ending)) = short.rsplit_once('.')
        && ENDINGS.contains(&ending.to_ascii_lowercase().as_str())
        && !rest.is_empty()
    {
        short = rest;
    }
    let is_taken = |wanted: &str| others.iter().any(|other| file_name(&other.label) == file_name(wanted));
    let numbered = (2..).map(|number| format!("{} {number}", label(name)));
    let mut wanted = [label(short), label(name)].into_iter().chain(numbered);
    wanted.find(|wanted| !is_taken(wanted)).unwrap_or_default()
}

/// What a trace holds.
#[derive(Clone, Copy, Debug)]
struct Counts {
    requests: u64,
    distinct: u64,
    is_cut: bool,
}

/// A file at a time, and the most requests to read.
type Seen = (PathBuf, u64, Option<SystemTime>, u64);

static COUNTED: Mutex<Option<HashMap<Seen, Result<Counts, String>>>> = Mutex::new(None);

/// The counts of a trace, or why the file is not a trace.
fn counted(path: &Path, most: u64) -> Result<Counts, String> {
    let facts = path.metadata().map_err(|error| error.to_string())?;
    let seen = (path.to_owned(), facts.len(), facts.modified().ok(), most);
    let known = || COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(counts) = known().get_or_insert_default().get(&seen) {
        return counts.clone();
    }
    let counts = count(path, most);
    known().get_or_insert_default().insert(seen, counts.clone());
    counts
}

fn count(path: &Path, most: u64) -> Result<Counts, String> {
    let why = |error: TraceError| match error {
        TraceError::Directory { .. } => "it is a folder".to_owned(),
        TraceError::NotAFile { .. } => "it is not a regular file".to_owned(),
        error => error.to_string(),
    };
    // One more, to see whether the file ends there.
    let mut requests = Recording::Start(path.to_owned(), most.saturating_add(1)).open().map_err(why)?;
    let (mut keys, mut read, mut binary) = (KeySet::default(), 0u64, 0u64);
    while read < most && requests.advance().map_err(why)? {
        read += 1;
        keys.insert(requests.key());
        binary += u64::from(requests.is_binary_line());
        if binary > FEWEST_REQUESTS && 2 * binary > read {
            break;
        }
    }
    if 2 * binary > read {
        return Err("it holds binary data, not lines of text or packets".into());
    }
    if read < FEWEST_REQUESTS {
        return Err(format!("it has {read} requests, and a trace needs {FEWEST_REQUESTS}"));
    }
    let distinct = keys.len() as u64;
    if (read - distinct) * REPEATED < read {
        let repeated = read - distinct;
        return Err(format!("{repeated} of its {read} lines repeat a key: there is nothing to learn from"));
    }
    if (distinct as f64) < 2.0 * FEWEST_STORED {
        return Err(format!("it has {distinct} distinct keys, and a trace needs {}", 2.0 * FEWEST_STORED));
    }
    Ok(Counts { requests: read, distinct, is_cut: read == most && requests.advance().map_err(why)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::packed as pack;
    use std::fmt::Write as _;

    /// Requests for 1,000 keys, each four times.
    fn requests() -> String {
        (0..4_000).fold(String::new(), |mut text, line| {
            writeln!(text, "key {}", line * 7 % 1_000).expect("memory");
            text
        })
    }

    #[test]
    fn every_trace_of_a_folder_is_found_and_everything_else_is_skipped_with_a_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).expect("a file");
        let distinct = (0..5_000).map(|line| format!("{line}\n")).collect::<String>();
        write("web server.log", requests().as_bytes());
        write("web-server.txt.gz", &pack::gzip(requests().as_bytes()));
        write("2024.txt.zst", &pack::zstd(requests().as_bytes()));
        write("README.md", b"# About\n");
        write("names.txt", distinct.as_bytes());
        write("picture.png", &[0x89, b'P', b'N', b'G', 0, 10, 0, 10].repeat(2_000));
        write("old.zip", b"PK\x03\x04rest");
        write("broken.gz", b"\x1F\x8B\x08rest");
        write(".hidden", requests().as_bytes());
        std::fs::create_dir(folder.path().join("more")).expect("a folder");
        let found = traces(folder.path(), 1_000_000);
        let labels: Vec<&str> = found.traces.iter().map(|trace| trace.label.as_str()).collect();
        assert_eq!(labels, ["trace 2024", "web server", "web-server.txt.gz"]);
        assert!(
            found.traces.iter().all(|trace| (trace.requests, trace.distinct, trace.is_cut) == (4_000, 1_000, false))
        );
        assert!(found.traces[0].allows(4.0) && !found.traces[0].allows(4.1));
        for (name, why) in [
            ("README.md", "1 requests"),
            ("names.txt", "nothing to learn from"),
            ("picture.png", "binary data"),
            ("old.zip", "zip archive"),
            ("broken.gz", "damaged gzip archive"),
            ("more", "it is a folder"),
        ] {
            let note = found.notes.iter().find(|note| note.starts_with(&format!("{name} is skipped")));
            assert!(note.is_some_and(|note| note.contains(why)), "{name}: {:#?}", found.notes);
        }
        assert_eq!(found.notes.len(), 6, "{:#?}", found.notes);
        assert_eq!(traces(folder.path(), 1_000_000), found, "the second time from memory");
        assert_eq!(traces(&folder.path().join("none"), 9).traces, []);
    }

    #[test]
    fn a_long_trace_is_cut_and_its_start_is_a_workload() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("long"), requests()).expect("a file");
        let cut = traces(folder.path(), 3_000);
        assert_eq!((cut.traces[0].requests, cut.traces[0].is_cut), (3_000, true));
        assert!(cut.notes[0].contains("only its first 3000 requests"), "{:?}", cut.notes);
        assert_eq!(cut.traces[0].workload(), Workload::Start(folder.path().join("long"), 3_000));
        let recording = Recording::Start(folder.path().join("long"), 3_000);
        let trace = super::super::trace::Trace::of(recording, 1.0).expect("keys enough");
        let mut queries = trace.queries().expect("the file is there");
        let asked = std::iter::from_fn(|| queries.next_key().expect("it did not change").map(drop)).count();
        assert_eq!((trace.requests(), asked), (3_000, 1_500));
        assert!(!traces(folder.path(), 4_000).traces[0].is_cut);
    }
}
