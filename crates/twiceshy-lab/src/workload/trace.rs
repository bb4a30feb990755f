//! A recorded stream of requests, split into a stored set and queries as in the papers.

use std::path::{Path, PathBuf};

use super::key_set::KeySet;
use super::recording::{Recording, Requests, Skipped};
use super::trace_error::TraceError;

/// A recording of requests, split into a stored set S and queries for the other keys.
///
/// With U distinct keys and a ratio A/S, the first floor(U / (1 + A/S)) distinct keys are stored, and every request for
/// another key is a query, in order (003 section 4.2, 000 section 4). Such a request cannot come before all stored keys
/// were seen, so nothing is lost by starting at the beginning.
///
/// A file is read once to count and once more for each [`queries`](Self::queries); see [`Recording`] for the formats.
/// Synthetic flows are generated up to the last stored key, and once more for each `queries`. Memory is proportional to
/// the distinct keys, and after opening to the stored ones, regardless of the number of requests. Lines of text are read
/// by a [`KeyReader`](crate::input::KeyReader) without options: empty ones are skipped and counted, as are packets
/// without a key.
///
/// ```no_run
/// use twiceshy_lab::workload::trace::Trace;
///
/// let trace = Trace::open("requests.txt.xz", 10.0)?;
/// println!("{} stored, {} others", trace.stored().len(), trace.distinct_absent());
/// let mut queries = trace.queries()?;
/// while let Some(key) = queries.next_key()? {
///     println!("{} bytes", key.len());
/// }
/// # Ok::<(), twiceshy_lab::workload::trace_error::TraceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trace {
    recording: Recording,
    stored: KeySet,
    distinct: usize,
    requests: u64,
    skipped: Skipped,
    warnings: Vec<String>,
}

impl Trace {
    /// Reads a file once and splits its keys at the ratio `A/S`, a number above 0.
    pub fn open(path: impl AsRef<Path>, ratio: f64) -> Result<Self, TraceError> {
        Self::of(Recording::File(path.as_ref().to_owned()), ratio)
    }

    /// Splits the keys of any recording at the ratio `A/S`, a number above 0.
    pub fn of(recording: Recording, ratio: f64) -> Result<Self, TraceError> {
        if !(ratio.is_finite() && ratio > 0.0) {
            return Err(TraceError::Ratio { ratio });
        }
        let mut requests = recording.open()?;
        let mut stored = KeySet::default();
        let (distinct, count) = match recording.known() {
            Some((distinct, count)) => {
                let wanted = stored_keys(|| recording.name(), distinct, ratio)?;
                while stored.len() < wanted && requests.advance()? {
                    stored.insert(requests.key());
                }
                (distinct, count)
            }
            None => {
                while requests.advance()? {
                    stored.insert(requests.key());
                }
                let distinct = stored.len();
                stored.truncate(stored_keys(|| recording.name(), distinct, ratio)?);
                (distinct, requests.count())
            }
        };
        let (skipped, warnings) = (requests.skipped(), requests.warnings());
        Ok(Self { recording, stored, distinct, requests: count, skipped, warnings })
    }

    /// A recording whose requests are all queries: none of its keys is stored.
    pub fn misses(recording: Recording) -> Result<Self, TraceError> {
        let mut requests = recording.open()?;
        let mut keys = KeySet::default();
        while requests.advance()? {
            keys.insert(requests.key());
        }
        if keys.is_empty() {
            return Err(TraceError::Empty { path: recording.name() });
        }
        let (distinct, count, stored) = (keys.len(), requests.count(), KeySet::default());
        let (skipped, warnings) = (requests.skipped(), requests.warnings());
        Ok(Self { recording, stored, distinct, requests: count, skipped, warnings })
    }

    /// The keys to store, in the order of their first request.
    pub fn stored(&self) -> &KeySet {
        &self.stored
    }

    /// The number of distinct keys that the queries ask for.
    pub fn distinct_absent(&self) -> usize {
        self.distinct - self.stored.len()
    }

    /// The number of requests in the recording, including those for stored keys.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The number of empty lines skipped.
    pub fn empty_lines(&self) -> u64 {
        self.skipped.empty_lines
    }

    /// What was skipped: empty lines, and packets without a key.
    pub fn skipped(&self) -> Skipped {
        self.skipped
    }

    /// What looks wrong about the lines of a text file, such as comments that were taken as keys: one sentence for each
    /// kind, which says what to do.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Reads the recording again, for the queries.
    pub fn queries(&self) -> Result<TraceQueries<'_>, TraceError> {
        Ok(TraceQueries { trace: self, requests: self.recording.open_again()? })
    }
}

/// The queries of a [`Trace`], streamed.
#[derive(Debug)]
pub struct TraceQueries<'a> {
    trace: &'a Trace,
    requests: Requests,
}

impl TraceQueries<'_> {
    /// The next request for a key outside the stored set; `None` at the end.
    ///
    /// The end is an error if there were more or fewer requests than when the trace was opened.
    pub fn next_key(&mut self) -> Result<Option<&[u8]>, TraceError> {
        while self.requests.advance()? {
            if !self.trace.stored.contains(self.requests.key()) {
                return Ok(Some(self.requests.key()));
            }
        }
        if self.requests.count() == self.trace.requests {
            Ok(None)
        } else {
            Err(TraceError::Changed { path: self.trace.recording.name() })
        }
    }

    /// The number of requests read so far, including those for stored keys: progress towards [`Trace::requests`].
    pub fn requests_read(&self) -> u64 {
        self.requests.count()
    }
}

pub(super) fn stored_keys(path: impl Fn() -> PathBuf, distinct: usize, ratio: f64) -> Result<usize, TraceError> {
    let stored = (distinct as f64 / (1.0 + ratio)).floor() as usize;
    match (distinct, stored) {
        (0, _) => Err(TraceError::Empty { path: path() }),
        (1, _) => Err(TraceError::OneKey { path: path() }),
        (_, 0) => Err(TraceError::NothingStored { path: path(), distinct, ratio, largest: distinct - 1 }),
        _ if stored == distinct => Err(TraceError::NoQuery { path: path(), distinct, ratio }),
        _ => Ok(stored),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::packed as unpack;
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
    fn a_compressed_trace_is_split_like_a_plain_one_regardless_of_its_name() {
        let parts = [&REQUESTS[..7], &REQUESTS[7..]];
        for pack in [unpack::gzip, unpack::zstd] {
            let file = file(&parts.map(pack).concat());
            let trace = Trace::open(&file, 1.0).expect("seven keys suffice");
            assert_eq!(queries(&trace).concat(), "ddefdg");
        }
        let trace = Trace::open(file(unpack::XZ), 1.0).map(|trace| trace.stored().iter().collect::<Vec<_>>().concat());
        assert_eq!(trace.expect("two keys suffice"), b"fig");
    }

    #[test]
    fn a_trace_says_what_looks_wrong_and_offers_no_option_that_it_lacks() {
        let file = file(b"\xEF\xBB\xBF# requests\na\r\n\n10.0.0.1 GET\na\na\n b\n");
        let trace = Trace::open(&file, 1.0).expect("four keys");
        let warnings = trace.warnings();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains(", line 1 is a comment") && warnings[0].contains("grep -v"), "{warnings:?}");
        assert!(warnings[1].contains(", line 7 has a blank") && !warnings.concat().contains("--"), "{warnings:?}");
        assert_eq!((trace.requests(), trace.empty_lines()), (6, 1));
        assert!(Trace::open(self::file(REQUESTS), 1.0).expect("seven keys").warnings().is_empty());
    }

    #[test]
    fn synthetic_flows_are_split_as_if_they_were_read_from_a_file() {
        let flows = "chicago-a/2000".parse::<crate::workload::flows::Flows>().expect("a scale");
        let trace = Trace::of(Recording::Flows(flows, 5), 3.0).expect("345 flows suffice");
        let (mut packets, mut keys, mut asked) = (flows.requests(5), KeySet::default(), Vec::new());
        let stored = (f64::from(flows.flows()) / 4.0) as usize;
        while let Some(key) = packets.next_key() {
            if keys.len() < stored {
                keys.insert(key);
            }
            if !keys.contains(key) {
                asked.push(*key);
            }
        }
        assert!(trace.stored().iter().eq(keys.iter()));
        assert_eq!(trace.distinct_absent(), flows.flows() as usize - stored);
        let mut queries = trace.queries().expect("nothing to open");
        for key in asked {
            assert_eq!(queries.next_key().expect("no file"), Some(&key[..]));
        }
        assert_eq!(queries.next_key().expect("the count is right"), None);
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
    fn a_file_that_is_not_a_trace_is_refused_with_advice() {
        let refusal = |path: &Path| Trace::open(path, 1.0).expect_err("no trace").to_string();
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let advice = [
            (refusal(&folder.path().join("none.txt")), "there is no file"),
            (refusal(folder.path()), "is a directory"),
            (refusal(file(b"").path()), "holds no key"),
            (refusal(file(b"\n\r\n").path()), "holds no key"),
            (refusal(file(b"a\na\n").path()), "two different keys"),
            (refusal(file(b"\xFD7zXZ\0rest").path()), "damaged xz archive"),
            (refusal(file(b"\x1F\x8B\x08rest").path()), "damaged gzip archive"),
            (refusal(file(b"\x28\xB5\x2F\xFDrest").path()), "damaged zstd archive"),
            (refusal(file(b"PK\x03\x04rest").path()), "is a zip archive, which is not read: unpack it first"),
            (refusal(file(b"\xFF\xFEa\0\n\0").path()), "UTF-16"),
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
