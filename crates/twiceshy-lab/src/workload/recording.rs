//! Streams of requests that can be read from their start as often as wanted.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::capture::{self, Capture, Fault};
use super::flows::{Flows, Packets};
use super::lines::Lines;
use super::trace_error::TraceError;
use super::unpack::{Packing, Unpacked, unpack};

/// Where requests come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Recording {
    /// A text file with one key a line, or a packet capture (pcap or pcapng) whose packets are requests for their 5-tuples;
    /// plain or packed by gzip, xz or zstd. Which it is shows in the file's first bytes, whatever its name.
    File(PathBuf),
    /// The packets of synthetic flows, in the order of a seed.
    Flows(Flows, u64),
}

impl Recording {
    /// Begins to read.
    pub(super) fn open(&self) -> Result<Requests, TraceError> {
        match self {
            Self::File(path) => open_file(path),
            Self::Flows(flows, seed) => {
                let from = Source::Flows(Box::new(flows.requests(*seed)), 0);
                Ok(Requests { path: PathBuf::new(), packing: Packing::Plain, key: Vec::new(), from })
            }
        }
    }

    /// Distinct keys and requests, where both are known without reading.
    pub(super) fn known(&self) -> Option<(usize, u64)> {
        match self {
            Self::File(_) => None,
            Self::Flows(flows, _) => Some((flows.flows() as usize, flows.packets().into())),
        }
    }

    /// What errors call it.
    pub(super) fn name(&self) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            Self::Flows(flows, _) => flows.describe().into(),
        }
    }
}

/// What was passed over in a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Lines without a key.
    pub empty_lines: u64,
    /// Packets that are no IP packets.
    pub not_ip: u64,
    /// Packets of which too little was recorded to see their ports.
    pub cut_short: u64,
}

/// The requests of a recording, one after the other.
pub(super) struct Requests {
    path: PathBuf,
    packing: Packing,
    key: Vec<u8>,
    from: Source,
}

enum Source {
    Lines(Lines<Unpacked>),
    Capture(Box<Capture<Unpacked>>),
    Flows(Box<Packets>, u64),
}

impl Requests {
    /// Goes on to the next request; `false` at the end.
    pub(super) fn advance(&mut self) -> Result<bool, TraceError> {
        let more = match &mut self.from {
            Source::Lines(lines) => lines.advance().map_err(Fault::Io),
            Source::Capture(capture) => capture.advance(),
            Source::Flows(packets, asked) => {
                self.key.clear();
                Ok(packets.next_key().is_some_and(|key| {
                    self.key.extend_from_slice(key);
                    *asked += 1;
                    true
                }))
            }
        };
        more.map_err(|fault| explain(&self.path, self.packing, fault))
    }

    /// The key of the request that `advance` went to.
    pub(super) fn key(&self) -> &[u8] {
        match &self.from {
            Source::Lines(lines) => lines.key(),
            Source::Capture(capture) => capture.key(),
            Source::Flows(..) => &self.key,
        }
    }

    /// How many requests were read so far.
    pub(super) fn count(&self) -> u64 {
        match &self.from {
            Source::Lines(lines) => lines.keys(),
            Source::Capture(capture) => capture.keys(),
            Source::Flows(_, asked) => *asked,
        }
    }

    /// What was passed over so far.
    pub(super) fn skipped(&self) -> Skipped {
        match &self.from {
            Source::Lines(lines) => Skipped { empty_lines: lines.empty(), ..Skipped::default() },
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

fn open_file(path: &Path) -> Result<Requests, TraceError> {
    let io = |source| explain(path, Packing::Plain, Fault::Io(source));
    // Before opening: to open a pipe that nobody writes to would wait for ever.
    let kind = fs::metadata(path).map_err(io)?;
    if kind.is_dir() {
        return Err(TraceError::Directory { path: path.to_owned() });
    }
    if !kind.is_file() {
        return Err(TraceError::NotAFile { path: path.to_owned() });
    }
    let contents = unpack(File::open(path).map_err(io)?, capture::START)
        .map_err(|(packing, source)| explain(path, packing, Fault::Io(source)))?;
    let from = if capture::recognised(&contents.start) {
        Source::Capture(Box::new(Capture::new(&contents.start, contents.reader)))
    } else {
        Source::Lines(Lines::new(contents.reader))
    };
    Ok(Requests { path: path.to_owned(), packing: contents.packing, key: Vec::new(), from })
}

fn explain(path: &Path, packing: Packing, fault: Fault) -> TraceError {
    let path = path.to_owned();
    match (fault, packing.archive()) {
        (Fault::Damaged { at, packets, why }, _) => TraceError::Capture { path, at, packets, why },
        (Fault::LinkType { link }, _) => TraceError::LinkType { path, link },
        (Fault::Io(source), _) if source.kind() == io::ErrorKind::NotFound => TraceError::Missing { path },
        // What the operating system did not say, the unpacker said.
        (Fault::Io(source), Some(format)) if source.raw_os_error().is_none() => {
            TraceError::Archive { path, format, source }
        }
        (Fault::Io(source), _) => TraceError::Io { path, source },
    }
}
