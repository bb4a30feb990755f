//! A recorded stream of requests, split into a stored set and queries as the papers do it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::key_set::KeySet;
use super::lines::Lines;
use super::trace_error::TraceError;

/// Large enough that system calls do not matter.
const BUFFER: usize = 1 << 16;

const COMPRESSED: [(&str, &[u8]); 2] = [("xz", b"\xFD7zXZ\0"), ("gzip", b"\x1F\x8B\x08")];

/// A text file of requests, one key a line, split into a stored set S and queries for the other keys.
///
/// With U distinct keys and a wanted ratio A/S, the first floor(U / (1 + A/S)) distinct keys are stored, and every
/// request for another key is a query, in order (003 section 4.2, 000 section 4). No such request can come before all
/// stored keys were seen, so nothing is lost by starting at the top of the file.
///
/// The file is read once to count and once more for each [`queries`](Self::queries). Memory is proportional to the
/// distinct keys, and after opening to the stored ones, however many requests there are. A line is stripped of `\n` or
/// `\r\n` and is otherwise taken as bytes; empty lines are skipped and counted.
///
/// ```no_run
/// use twiceshy_lab::workload::trace::Trace;
///
/// let trace = Trace::open("requests.txt", 10.0)?;
/// println!("{} stored, {} others", trace.stored().len(), trace.distinct_absent());
/// let mut queries = trace.queries()?;
/// while let Some(key) = queries.next_key()? {
///     println!("{} bytes", key.len());
/// }
/// # Ok::<(), twiceshy_lab::workload::trace_error::TraceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trace {
    path: PathBuf,
    stored: KeySet,
    distinct: usize,
    requests: u64,
    empty_lines: u64,
}

impl Trace {
    /// Reads the file once and splits its keys at the ratio `A/S`, a number above 0.
    pub fn open(path: impl AsRef<Path>, ratio: f64) -> Result<Self, TraceError> {
        let path = path.as_ref();
        if !(ratio.is_finite() && ratio > 0.0) {
            return Err(TraceError::Ratio { ratio });
        }
        let mut lines = open_lines(path)?;
        let mut keys = KeySet::default();
        while lines.advance().map_err(|source| io_error(path, source))? {
            keys.insert(lines.key());
        }
        let distinct = keys.len();
        keys.truncate(stored_keys(path, distinct, ratio)?);
        Ok(Self { path: path.to_owned(), stored: keys, distinct, requests: lines.keys(), empty_lines: lines.empty() })
    }

    /// The keys to store, in the order of their first request.
    pub fn stored(&self) -> &KeySet {
        &self.stored
    }

    /// How many distinct keys the queries ask for.
    pub fn distinct_absent(&self) -> usize {
        self.distinct - self.stored.len()
    }

    /// How many requests the file holds, those for stored keys included.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// How many empty lines were skipped.
    pub fn empty_lines(&self) -> u64 {
        self.empty_lines
    }

    /// Reads the file again, for the queries alone.
    pub fn queries(&self) -> Result<TraceQueries<'_>, TraceError> {
        Ok(TraceQueries { trace: self, lines: open_lines(&self.path)? })
    }
}

/// The queries of a [`Trace`], streamed from its file.
#[derive(Debug)]
pub struct TraceQueries<'a> {
    trace: &'a Trace,
    lines: Lines<BufReader<File>>,
}

impl TraceQueries<'_> {
    /// The next request for a key outside the stored set, or nothing at the end of the file.
    ///
    /// The end is an error if the file holds another number of requests than when it was opened.
    pub fn next_key(&mut self) -> Result<Option<&[u8]>, TraceError> {
        let path = &self.trace.path;
        while self.lines.advance().map_err(|source| io_error(path, source))? {
            if !self.trace.stored.contains(self.lines.key()) {
                return Ok(Some(self.lines.key()));
            }
        }
        if self.lines.keys() == self.trace.requests {
            Ok(None)
        } else {
            Err(TraceError::Changed { path: path.clone() })
        }
    }

    /// How many requests were read so far, those for stored keys included: progress towards [`Trace::requests`].
    pub fn requests_read(&self) -> u64 {
        self.lines.keys()
    }
}

fn stored_keys(path: &Path, distinct: usize, ratio: f64) -> Result<usize, TraceError> {
    let path = || path.to_owned();
    let stored = (distinct as f64 / (1.0 + ratio)).floor() as usize;
    match (distinct, stored) {
        (0, _) => Err(TraceError::Empty { path: path() }),
        (1, _) => Err(TraceError::OneKey { path: path() }),
        (_, 0) => Err(TraceError::NothingStored { path: path(), distinct, ratio, largest: distinct - 1 }),
        _ if stored == distinct => Err(TraceError::NoQuery { path: path(), distinct, ratio }),
        _ => Ok(stored),
    }
}

fn open_lines(path: &Path) -> Result<Lines<BufReader<File>>, TraceError> {
    // Before opening: to open a pipe that nobody writes to would wait for ever.
    let kind = fs::metadata(path).map_err(|source| io_error(path, source))?;
    if kind.is_dir() {
        return Err(TraceError::Directory { path: path.to_owned() });
    }
    if !kind.is_file() {
        return Err(TraceError::NotAFile { path: path.to_owned() });
    }
    let file = File::open(path).map_err(|source| io_error(path, source))?;
    let mut reader = BufReader::with_capacity(BUFFER, file);
    let start = reader.fill_buf().map_err(|source| io_error(path, source))?;
    match COMPRESSED.iter().find(|(_, magic)| start.starts_with(magic)) {
        Some((tool, _)) => Err(TraceError::Compressed { path: path.to_owned(), tool }),
        None => Ok(Lines::new(reader)),
    }
}

fn io_error(path: &Path, source: io::Error) -> TraceError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound => TraceError::Missing { path },
        _ => TraceError::Io { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use tempfile::NamedTempFile;

    fn file(text: &[u8]) -> NamedTempFile {
        let mut file = NamedTempFile::new().expect("a temporary file can be made");
        file.write_all(text).expect("it can be written");
        file
    }

    fn queries(trace: &Trace) -> Vec<String> {
        let mut queries = trace.queries().expect("the file is still there");
        let mut found = Vec::new();
        while let Some(key) = queries.next_key().expect("it did not change") {
            found.push(String::from_utf8_lossy(key).into_owned());
        }
        found
    }

    /// Seven distinct keys, a to g.
    const REQUESTS: &[u8] = b"a\nb\na\n\nc\nb\r\nd\nd\na\ne\nc\nf\nd\ng";

    #[test]
    fn the_first_distinct_keys_are_stored_and_every_other_request_is_a_query_in_order() {
        let file = file(REQUESTS);
        for (ratio, stored, asked) in
            [(1.0, "abc", "ddefdg"), (2.4, "ab", "cddecfdg"), (6.0, "a", "bcbddecfdg"), (0.2, "abcde", "fg")]
        {
            let trace = Trace::open(&file, ratio).expect("seven keys suffice");
            let kept: Vec<&[u8]> = trace.stored().iter().collect();
            assert_eq!(kept.concat(), stored.as_bytes());
            assert_eq!(trace.distinct_absent(), 7 - stored.len());
            assert_eq!(queries(&trace).concat(), asked);
            assert_eq!(queries(&trace).concat(), asked, "a second reading");
            assert_eq!((trace.requests(), trace.empty_lines()), (13, 1));
        }
    }

    #[test]
    fn a_trace_too_short_for_its_ratio_is_refused_with_a_ratio_that_works() {
        let file = file(REQUESTS);
        let error = Trace::open(&file, 6.5).expect_err("7 / 7.5 is below 1");
        assert!(error.to_string().contains("at most 6"), "{error}");
        assert!(Trace::open(&file, 6.0).is_ok());
        let error = Trace::open(&file, 1e-20).expect_err("all would be stored");
        assert!(error.to_string().contains("larger ratio"), "{error}");
        for ratio in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = Trace::open(&file, ratio).expect_err("no ratio");
            assert!(matches!(error, TraceError::Ratio { .. }));
        }
    }

    #[test]
    fn a_file_that_is_no_trace_is_refused_with_a_sentence_that_says_what_to_do() {
        let refusal = |path: &Path| Trace::open(path, 1.0).expect_err("no trace").to_string();
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let advice = [
            (refusal(&folder.path().join("none.txt")), "there is no file"),
            (refusal(folder.path()), "is a directory"),
            (refusal(file(b"").path()), "holds no key"),
            (refusal(file(b"\n\r\n").path()), "holds no key"),
            (refusal(file(b"a\na\n").path()), "two different keys"),
            (refusal(file(b"\xFD7zXZ\0rest").path()), "xz -dc"),
            (refusal(file(b"\x1F\x8B\x08rest").path()), "gzip -dc"),
        ];
        for (error, part) in advice {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_file_that_grew_since_it_was_opened_is_reported_at_its_end() {
        let mut file = file(REQUESTS);
        let trace = Trace::open(&file, 1.0).expect("seven keys suffice");
        file.write_all(b"\nh\n").expect("it can be written");
        let mut queries = trace.queries().expect("the file is still there");
        let error = loop {
            match queries.next_key() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the change went unnoticed"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, TraceError::Changed { .. }));
        assert_eq!(queries.requests_read(), 14);
    }
}
