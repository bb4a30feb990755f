//! What the lines of an input mean.

/// The longest line allowed by default, in bytes. A line is kept in memory, and an archive of a few megabytes may hold
/// an endless one.
pub const MAX_LINE: u64 = 16 << 20;

/// What keys are read for. It decides what is worth a warning, and what the warning can advise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be stored or removed: each key is expected about once.
    Set,
    /// To be asked for: keys may repeat.
    Queries,
    /// Requests for an experiment: keys repeat, and there are no options for other formats.
    Trace,
}

/// How a line becomes a key.
///
/// The end of a line is `\n`; one `\r` before it, or at the end of the input, is stripped too. So is a byte-order mark
/// at the start of the first line. A line without bytes is skipped and counted. Every other line is a key, byte for byte, unless an option says otherwise.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Format {
    /// What the keys are read for.
    pub purpose: Purpose,
    /// `true` if a `\r` at the end of a line is part of the key.
    pub keep_cr: bool,
    /// `true` if comments are left out: lines whose first byte that is not blank is `#`, and the end of a line from a
    /// `#` that follows a blank, with the blanks before it. With `values`, only whole lines are comments, since a value
    /// may start with `#`.
    pub comments: bool,
    /// `true` if the input is a hosts file: a line is an IP address and names, and each name is a key, in small
    /// letters and without a dot at its end: such names are the same. A name alone on its line is a key too. A `#` anywhere begins a comment. Names of the machine itself, such as `localhost`, and
    /// addresses without a name are skipped and counted.
    pub hosts: bool,
    /// `true` if a key ends at the first tab of its line and a value follows. The reader returns the whole line; only
    /// the key is inspected.
    pub values: bool,
    /// The longest line allowed, in bytes without its end.
    pub max_line: u64,
}

impl Format {
    /// One key per line, with no option set.
    pub fn new(purpose: Purpose) -> Self {
        Self { purpose, keep_cr: false, comments: false, hosts: false, values: false, max_line: MAX_LINE }
    }
}
