//! Why an input cannot be read.

use std::io;

/// Why reading keys stopped. Every message names the input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// Reading failed.
    #[error("cannot read {name} after line {line}: {why}")]
    Io {
        /// The input.
        name: String,
        /// The number of lines read before.
        line: u64,
        /// The operating system's error.
        why: io::Error,
    },
    /// The input starts like an archive but cannot be unpacked to its end.
    #[error(
        "{name} is a damaged {format} archive after line {line} ({why}): fetch or make it again (`{format} -t FILE` tests it)"
    )]
    Archive {
        /// The input.
        name: String,
        /// The number of lines read before.
        line: u64,
        /// The archive's format, which is also the name of its program.
        format: &'static str,
        /// The decompressor's error.
        why: io::Error,
    },
    /// A line is too long to be a key.
    #[error(
        "{name}, line {line} is longer than {limit} bytes: keys are read one per line; raise the limit with --max-line if this line is a key"
    )]
    LongLine {
        /// The input.
        name: String,
        /// The number of the line.
        line: u64,
        /// The longest line allowed, in bytes.
        limit: u64,
    },
    /// The input is of a kind that is not read.
    #[error("{name} is {what}, which is not read: {remedy}")]
    Foreign {
        /// The input.
        name: String,
        /// What it is.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A line of a hosts file has several fields, and the first is not an address.
    #[error(
        "{name}, line {line}: `{field}` is not an IP address: a line of a hosts file is an address and then names, or one name; leave --hosts out for another list"
    )]
    NotHosts {
        /// The input.
        name: String,
        /// The number of the line.
        line: u64,
        /// The line's first field, shortened.
        field: String,
    },
}
