//! What can be wrong with a trace, and what would work instead.

use std::io;
use std::path::PathBuf;

/// Why a file cannot serve as a trace at the wanted ratio.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// There is no such file.
    #[error("there is no file {}; name a text file with one key a line, or a packet capture", path.display())]
    Missing {
        /// The name that was given.
        path: PathBuf,
    },
    /// The name is that of a directory.
    #[error("{} is a directory; name a text file with one key a line, or a packet capture", path.display())]
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
    /// The file begins like an archive, but cannot be unpacked.
    #[error("{} is a damaged {format} archive ({source}); fetch or make it again (`{format} -t FILE` says whether it is whole)", path.display())]
    Archive {
        /// The name that was given.
        path: PathBuf,
        /// The archive's format, which is also the name of the program that makes it.
        format: &'static str,
        /// What the unpacker said.
        source: io::Error,
    },
    /// The file begins like a packet capture, but is none from some byte on.
    #[error("{} is a damaged capture: at byte {at}, after {packets} packets, {why}; record it again, or cut it there", path.display())]
    Capture {
        /// The name that was given.
        path: PathBuf,
        /// Where the record begins that is wrong, in bytes of the unpacked file.
        at: u64,
        /// How many packets came before.
        packets: u64,
        /// What is wrong.
        why: String,
    },
    /// A capture of packets that are wrapped in an unknown way.
    #[error("{} holds packets of link type {link}, and only Ethernet, raw IP, loopback and Linux cooked captures are understood; convert it with `editcap -T ether` or the like", path.display())]
    LinkType {
        /// The name that was given.
        path: PathBuf,
        /// The number of the link type (see tcpdump's list).
        link: u16,
    },
    /// No line has a key, or no packet.
    #[error("{} holds no key; a trace has one key a line, or packets of IP, and at least two different keys", path.display())]
    Empty {
        /// The name that was given.
        path: PathBuf,
    },
    /// All requests are equal.
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
