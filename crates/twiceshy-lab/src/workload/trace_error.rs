//! The errors of traces.

use std::io;
use std::path::PathBuf;

use crate::input::InputError;

/// Why a file cannot be used as a trace at the given ratio.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// There is no such file.
    #[error("there is no file {}; name a text file with one key per line, or a packet capture", path.display())]
    Missing {
        /// The name that was given.
        path: PathBuf,
    },
    /// The name is that of a directory.
    #[error("{} is a directory; name a text file with one key per line, or a packet capture", path.display())]
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
    /// The file starts like an archive but cannot be unpacked.
    #[error("{} is a damaged {format} archive ({why}); fetch or make it again (`{format} -t FILE` tests it)", path.display())]
    Archive {
        /// The name that was given.
        path: PathBuf,
        /// The archive's format, which is also the name of its program.
        format: &'static str,
        /// The decompressor's error.
        why: io::Error,
    },
    /// The file starts like a packet capture but is damaged at some byte.
    #[error("{} is a damaged capture: at byte {at}, after {packets} packets, {why}; record it again, or cut it there", path.display())]
    Capture {
        /// The name that was given.
        path: PathBuf,
        /// The offset of the damaged record in the unpacked file.
        at: u64,
        /// The number of packets before it.
        packets: u64,
        /// What is wrong.
        why: String,
    },
    /// A capture with an unsupported link type.
    #[error("{} holds packets of link type {link}, which is not supported; convert it to Ethernet, raw IP, loopback or Linux cooked capture, such as with `editcap -T ether`", path.display())]
    LinkType {
        /// The name that was given.
        path: PathBuf,
        /// The number of the link type (see tcpdump's list).
        link: u16,
    },
    /// A line is too long to be a key.
    #[error("line {line} of {} is longer than {limit} bytes; a trace needs one key per line, or IP packets", path.display())]
    LongLine {
        /// The name that was given.
        path: PathBuf,
        /// The number of the line.
        line: u64,
        /// The longest line allowed, in bytes.
        limit: u64,
    },
    /// The file is no text in UTF-8 or plain bytes, or an archive of a kind that is not unpacked.
    #[error(transparent)]
    Text(InputError),
    /// There is no line or packet with a key.
    #[error("{} holds no key; a trace needs one key per line, or IP packets, and at least two different keys", path.display())]
    Empty {
        /// The name that was given.
        path: PathBuf,
    },
    /// All requests are equal.
    #[error("{} holds only one key, repeated; a trace needs two different keys, one to store and one to ask for", path.display())]
    OneKey {
        /// The name that was given.
        path: PathBuf,
    },
    /// The ratio is not a positive number.
    #[error("the ratio A/S must be a finite number above 0, such as 10, not {ratio}")]
    Ratio {
        /// The given ratio.
        ratio: f64,
    },
    /// The ratio is too large: no key would be stored.
    #[error("at A/S = {ratio} none of the {distinct} distinct keys of {} would be stored; use a ratio of at most {largest}", path.display())]
    NothingStored {
        /// The name that was given.
        path: PathBuf,
        /// The number of distinct keys in the trace.
        distinct: usize,
        /// The given ratio.
        ratio: f64,
        /// The largest ratio with a stored key.
        largest: usize,
    },
    /// The ratio is too small: no query would be left.
    #[error("at A/S = {ratio} all {distinct} distinct keys of {} would be stored and none asked for; use a larger ratio, such as 1", path.display())]
    NoQuery {
        /// The name that was given.
        path: PathBuf,
        /// The number of distinct keys in the trace.
        distinct: usize,
        /// The given ratio.
        ratio: f64,
    },
    /// A workload from outside failed.
    #[error("the workload {name} failed: {why}")]
    Foreign {
        /// Its name.
        name: String,
        /// What it says.
        why: String,
    },
    /// The file was modified between two reads.
    #[error("{} changed while it was in use; open the trace again once nothing writes to it", path.display())]
    Changed {
        /// The name that was given.
        path: PathBuf,
    },
    /// Reading failed.
    #[error("reading {} failed: {why}; check that the file can be read and try again", path.display())]
    Io {
        /// The name that was given.
        path: PathBuf,
        /// The operating system's error.
        why: io::Error,
    },
}
