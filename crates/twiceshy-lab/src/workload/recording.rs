//! Streams of requests that can be read repeatedly from their start.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::capture::{self, Capture, Fault};
use super::flows::{Flows, Packets};
use super::trace_error::TraceError;
use crate::input::{Format, InputError, KeyReader, Packing, Purpose, Unpacked, Wait, is_binary, unpack};

/// The source of requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Recording {
    /// A text file with one key per line, or a packet capture (pcap or pcapng) whose packets are requests for their
    /// 5-tuples; plain or compressed with gzip, xz or zstd. The format is detected from the file's first bytes, not
    /// from its name.
    File(PathBuf),
    /// The first requests of such a file, up to a number of them.
    Start(PathBuf, u64),
    /// The packets of synthetic flows, in an order chosen by a seed.
    Flows(Flows, u64),
}

impl Recording {
    /// Starts reading, and looks for what is odd about the lines.
    pub(super) fn open(&self) -> Result<Requests, TraceError> {
        self.open_with(KeyReader::new(Format::new(Purpose::Trace)))
    }

    /// Starts reading once more.
    pub(super) fn open_again(&self) -> Result<Requests, TraceError> {
        self.open_with(KeyReader::new(Format::new(Purpose::Trace)).without_warnings())
    }

    fn open_with(&self, lines: KeyReader) -> Result<Requests, TraceError> {
        match self {
            Self::File(path) => open_file(path, lines, u64::MAX),
            Self::Start(path, most) => open_file(path, lines, *most),
            Self::Flows(flows, seed) => {
                let from = Source::Flows(Box::new(flows.requests(*seed)), 0);
                Ok(Requests { path: PathBuf::new(), packing: Packing::Plain, key: Vec::new(), from, most: u64::MAX })
            }
        }
    }

    /// The numbers of distinct keys and of requests, if both are known without reading.
    pub(super) fn known(&self) -> Option<(usize, u64)> {
        match self {
            Self::File(_) | Self::Start(..) => None,
            Self::Flows(flows, _) => Some((flows.flows() as usize, flows.packets().into())),
        }
    }

    /// Its name in error messages.
    pub(super) fn name(&self) -> PathBuf {
        match self {
            Self::File(path) | Self::Start(path, _) => path.clone(),
            Self::Flows(flows, _) => flows.describe().into(),
        }
    }
}

/// Counts of what was skipped in a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Lines without a key.
    pub empty_lines: u64,
    /// Packets that are not IP packets.
    pub not_ip: u64,
    /// Packets recorded without their ports.
    pub cut_short: u64,
}

/// The requests of a recording, in order.
pub(super) struct Requests {
    path: PathBuf,
    packing: Packing,
    key: Vec<u8>,
    from: Source,
    /// How many requests are read.
    most: u64,
}

enum Source {
    Lines(Box<KeyReader>),
    Capture(Box<Capture<Unpacked>>),
    Flows(Box<Packets>, u64),
}

impl Requests {
    /// Advances to the next request. Returns `false` at the end.
    pub(super) fn advance(&mut self) -> Result<bool, TraceError> {
        if self.count() >= self.most {
            return Ok(false);
        }
        match &mut self.from {
            Source::Lines(lines) => lines.advance().map_err(|error| explain_lines(&self.path, error)),
            Source::Capture(capture) => capture.advance().map_err(|fault| explain(&self.path, self.packing, fault)),
            Source::Flows(packets, asked) => {
                self.key.clear();
                Ok(packets.next_key().is_some_and(|key| {
                    self.key.extend_from_slice(key);
                    *asked += 1;
                    true
                }))
            }
        }
    }

    /// The key of the current request.
    pub(super) fn key(&self) -> &[u8] {
        match &self.from {
            Source::Lines(lines) => lines.key(),
            Source::Capture(capture) => capture.key(),
            Source::Flows(..) => &self.key,
        }
    }

    /// `true` if the current request is a line that cannot be text.
    pub(super) fn is_binary_line(&self) -> bool {
        matches!(&self.from, Source::Lines(lines) if is_binary(lines.key()))
    }

    /// The number of requests read so far.
    pub(super) fn count(&self) -> u64 {
        match &self.from {
            Source::Lines(lines) => lines.counts().keys,
            Source::Capture(capture) => capture.keys(),
            Source::Flows(_, asked) => *asked,
        }
    }

    /// What looks wrong so far.
    pub(super) fn warnings(&self) -> Vec<String> {
        match &self.from {
            Source::Lines(lines) => lines.warnings(),
            Source::Capture(_) | Source::Flows(..) => Vec::new(),
        }
    }

    /// What was skipped so far.
    pub(super) fn skipped(&self) -> Skipped {
        match &self.from {
            Source::Lines(lines) => Skipped { empty_lines: lines.counts().empty, ..Skipped::default() },
            Source::Capture(capture) => {
                Skipped { not_ip: capture.not_ip(), cut_short: capture.cut_short(), ..Skipped::default() }
            }
            Source::Flows(..) => Skipped::default(),
        }
    }
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Requests({}, {} read)", self.path.display(), self.count())
    }
}

fn open_file(path: &Path, mut lines: KeyReader, most: u64) -> Result<Requests, TraceError> {
    let io = |source| explain(path, Packing::Plain, Fault::Io(source));
    // Checked before opening: opening a pipe without a writer would block.
    let kind = fs::metadata(path).map_err(io)?;
    if kind.is_dir() {
        return Err(TraceError::Directory { path: path.to_owned() });
    }
    if !kind.is_file() {
        return Err(TraceError::NotAFile { path: path.to_owned() });
    }
    let contents = unpack(File::open(path).map_err(io)?, Wait::ForAll)
        .map_err(|(packing, source)| explain(path, packing, Fault::Io(source)))?;
    let packing = contents.packing;
    let from = if capture::recognised(&contents.start) {
        Source::Capture(Box::new(Capture::new(&contents.start, contents.reader)))
    } else {
        let name = path.display().to_string();
        lines.open_unpacked(name, contents).map_err(|error| explain_lines(path, error))?;
        Source::Lines(Box::new(lines))
    };
    Ok(Requests { path: path.to_owned(), packing, key: Vec::new(), from, most })
}

fn explain(path: &Path, packing: Packing, fault: Fault) -> TraceError {
    let path = path.to_owned();
    match (fault, packing.archive()) {
        (Fault::Damaged { at, packets, why }, _) => TraceError::Capture { path, at, packets, why },
        (Fault::LinkType { link }, _) => TraceError::LinkType { path, link },
        (Fault::Io(why), _) if why.kind() == io::ErrorKind::NotFound => TraceError::Missing { path },
        // An error without an OS error code comes from the decompressor.
        (Fault::Io(why), Some(format)) if why.raw_os_error().is_none() => TraceError::Archive { path, format, why },
        (Fault::Io(why), _) => TraceError::Io { path, why },
    }
}

fn explain_lines(path: &Path, error: InputError) -> TraceError {
    let path = path.to_owned();
    match error {
        InputError::Io { why, .. } => TraceError::Io { path, why },
        InputError::Archive { format, why, .. } => TraceError::Archive { path, format, why },
        InputError::LongLine { line, limit, .. } => TraceError::LongLine { path, line, limit },
        error => TraceError::Text(error),
    }
}
