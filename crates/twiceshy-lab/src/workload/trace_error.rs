//! What can be wrong with a trace, and what would work instead.

use std::io;
use std::path::PathBuf;

/// Why a file cannot serve as a trace at the wanted ratio.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// There is no such file.
    #[error("there is no file {}; name a text file with one key a line", path.display())]
    Missing {
        /// The name that was given.
        path: PathBuf,
    },
    /// The name is that of a directory.
    #[error("{} is a directory; name a text file with one key a line", path.display())]
    Directory {
        /// The name that was given.
        path: PathBuf,
    },
    /// A pipe, a socket or a device.
    #[error("{} is not a regular file, and a trace is read more than once; save it to a file first", path.display())]
    NotAFile {
        /// The name that was given.
        path: PathBuf,
    },
    /// The file begins like one that a compressor wrote.
    #[error("{} is compressed; decompress it first: {tool} -dc {} > trace.txt", path.display(), path.display())]
    Compressed {
        /// The name that was given.
        path: PathBuf,
        /// The program that decompresses it.
        tool: &'static str,
    },
    /// No line has a key.
    #[error("{} holds no key; a trace has one key a line, at least two different ones", path.display())]
    Empty {
        /// The name that was given.
        path: PathBuf,
    },
    /// All lines are equal.
    #[error("{} holds one key only, again and again; a trace needs two different keys, one to store and one to ask for", path.display())]
    OneKey {
        /// The name that was given.
        path: PathBuf,
    },
    /// The ratio is no positive number.
    #[error("a ratio A/S of {ratio} is impossible; give a finite number above 0, such as 10")]
    Ratio {
        /// The ratio that was asked for.
        ratio: f64,
    },
    /// So few keys would be stored that there is none.
    #[error("at A/S = {ratio} none of the {distinct} distinct keys of {} would be stored; ask for a ratio of at most {largest}", path.display())]
    NothingStored {
        /// The name that was given.
        path: PathBuf,
        /// How many distinct keys the trace has.
        distinct: usize,
        /// The ratio that was asked for.
        ratio: f64,
        /// The largest ratio that leaves a key to store.
        largest: usize,
    },
    /// So many keys would be stored that no query is left.
    #[error("at A/S = {ratio} all {distinct} distinct keys of {} would be stored and none asked for; ask for a larger ratio, such as 1", path.display())]
    NoQuery {
        /// The name that was given.
        path: PathBuf,
        /// How many distinct keys the trace has.
        distinct: usize,
        /// The ratio that was asked for.
        ratio: f64,
    },
    /// Somebody wrote to the file between two readings.
    #[error("{} changed while it was in use; open the trace again once nothing writes to it", path.display())]
    Changed {
        /// The name that was given.
        path: PathBuf,
    },
    /// Reading failed.
    #[error("reading {} failed: {source}; check that the file can be read and try again", path.display())]
    Io {
        /// The name that was given.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}
