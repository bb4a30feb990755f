//! Keys for a command: from its arguments, from files or from standard input.

use crate::output::{clear_progress, counted, note, progress_bar, spinner, warn};
use crate::own_files::OwnFiles;
use crate::place::Place;
use anyhow::{Context, anyhow, bail, ensure};
use indicatif::ProgressBar;
use serde::Serialize;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use twiceshy_lab::input::{Format, KeyReader, Purpose};

/// Where keys come from.
#[derive(clap::Args)]
pub(crate) struct Inputs {
    /// Files with one key per line, plain or packed with gzip, xz or zstd; standard input if none is given, or for
    /// `-`
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A key, taken as it is; may be repeated. No file is read, nor standard input
    #[arg(long = "key", value_name = "KEY", conflicts_with_all = ["files", "keep_cr", "comments", "hosts"])]
    keys: Vec<OsString>,
    /// Keep a carriage return at the end of a line as part of its key; it is stripped otherwise
    #[arg(long)]
    keep_cr: bool,
    /// Leave out comments: lines that start with `#`, perhaps after blanks, and the rest of a line from a `#` that
    /// follows a blank. With `--values` of `insert` and `remove`, only whole lines
    #[arg(long)]
    comments: bool,
    /// Read hosts files: each line is an IP address and names, or one name, and each name is a key, in small letters and
    /// without a dot at its end. Comments and the usual names of the machine itself are left out: localhost, localhost.localdomain, local, broadcasthost,
    /// ip6-localhost, ip6-loopback, ip6-localnet, ip6-mcastprefix, ip6-allnodes, ip6-allrouters, ip6-allhosts and 0.0.0.0
    #[arg(long)]
    hosts: bool,
    /// The longest line allowed, in bytes; K, M and G stand for 2^10, 2^20 and 2^30. A line is kept in memory
    #[arg(long, value_name = "BYTES", default_value = "16M", value_parser = bytes)]
    max_line: u64,
}

/// Lines or keys read between two updates of the progress bar.
const SHOWN_EVERY: u64 = 1 << 12;

/// The keys of all inputs, one input after another. Only one line is in memory. [`KeyReader`] says what a key is.
pub(crate) struct Lines {
    given: Option<std::vec::IntoIter<OsString>>,
    inputs: std::vec::IntoIter<PathBuf>,
    reader: KeyReader,
    is_open: bool,
    /// The current key, if it was given as an argument.
    key: Vec<u8>,
    keys: u64,
    bar: ProgressBar,
    /// Bytes read so far, before unpacking; `None` if the bar counts lines.
    bytes: Option<Arc<AtomicU64>>,
}

/// What was skipped.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Skipped {
    empty_lines: u64,
    comments: u64,
    /// Names in a hosts file that mean the machine itself.
    local_names: u64,
    /// Lines of a hosts file with nothing but an address.
    addresses_without_name: u64,
}

/// What was read and skipped, for reports.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Totals {
    /// Lines read from files and standard input.
    pub(crate) lines: u64,
    /// Keys, including repetitions.
    #[serde(skip)]
    pub(crate) keys: u64,
    skipped: Skipped,
    #[serde(skip)]
    were_given: bool,
}

impl Inputs {
    /// Checks that every input exists, is a file and does not belong to the store before anything is read, so that a
    /// typo changes nothing.
    ///
    /// Progress is shown if the input is not a terminal and, for a command that prints as it reads, the output goes to
    /// a file: a pipe may end on the same terminal.
    pub(crate) fn lines(&self, what: &str, prints: bool, format: Format, store: &Place) -> anyhow::Result<Lines> {
        let given = (!self.keys.is_empty()).then(|| self.keys.clone().into_iter());
        let files = match (&given, self.files.is_empty()) {
            (Some(_), _) => Vec::new(),
            (None, true) => vec![PathBuf::from("-")],
            (None, false) => self.files.clone(),
        };
        let own = OwnFiles::of(store.folder(), prints);
        let mut total = Some(0);
        for file in &files {
            total = total.zip(size(file)?).map(|(total, size)| total + size);
            own.refuse((!is_stdin(file)).then_some(file))?;
        }
        let typed = total.is_none() && io::stdin().is_terminal();
        if typed {
            note("reading keys from the terminal, one per line; end with Ctrl-D");
        }
        let bar = match total {
            _ if typed || prints && !own.prints_to_file() => ProgressBar::hidden(),
            Some(total) => progress_bar(total, what),
            None => spinner(what),
        };
        let Inputs { keep_cr, comments, hosts, max_line, .. } = *self;
        let mut format = format;
        (format.keep_cr, format.comments, format.hosts, format.max_line) = (keep_cr, comments, hosts, max_line);
        Ok(Lines {
            given,
            inputs: files.into_iter(),
            reader: KeyReader::new(format),
            is_open: false,
            key: Vec::new(),
            keys: 0,
            bar,
            bytes: total.map(|_| Arc::default()),
        })
    }
}

/// A number of bytes, such as 4096, 64K or 16M.
fn bytes(text: &str) -> anyhow::Result<u64> {
    let shift = match text.as_bytes().last() {
        Some(b'K' | b'k') => 10,
        Some(b'M' | b'm') => 20,
        Some(b'G' | b'g') => 30,
        _ => 0,
    };
    let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
    let number: u64 = digits.parse().map_err(|_| anyhow!("give a number of bytes, such as 4096, 64K or 16M"))?;
    let bytes = number.checked_mul(1 << shift).filter(|bytes| (1..=MOST_BYTES).contains(bytes));
    bytes.context("a line must be allowed 1 byte at least and 3G at most")
}

/// redb stores no longer key or value.
const MOST_BYTES: u64 = 3 << 30;

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// The size of a file in bytes; `None` if it is not known in advance.
fn size(file: &Path) -> anyhow::Result<Option<u64>> {
    if is_stdin(file) {
        return Ok(None);
    }
    if let place @ Place::Address(_) = Place::from(file.as_os_str().to_owned()) {
        bail!("{place} is an address, not a file: name the store first, then files with one key per line");
    }
    let about = file.metadata().with_context(|| cannot_read(file))?;
    ensure!(!about.is_dir(), "{} is a folder: name files with one key per line", file.display());
    Ok(about.is_file().then_some(about.len()))
}

fn cannot_read(file: &Path) -> String {
    format!("cannot read {}: name a file with one key per line, or `-` for standard input", file.display())
}

/// Counts the bytes that are read.
struct CountedRead<R> {
    input: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for CountedRead<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Lines {
    /// The next key; with --values, the next line.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<&[u8]>> {
        if let Some(given) = &mut self.given {
            let Some(key) = given.next() else { return Ok(None) };
            self.key = key.into_encoded_bytes();
            self.keys += 1;
            return Ok(Some(&self.key));
        }
        while !(self.is_open && self.reader.advance()?) {
            let Some(file) = self.inputs.next() else {
                self.bar.finish_and_clear();
                return Ok(None);
            };
            self.open(&file)?;
        }
        self.keys += 1;
        self.show();
        Ok(Some(self.reader.key()))
    }

    /// The next key if it was read already: never waits for input. After `None` there may be more.
    pub(crate) fn next_at_hand(&mut self) -> anyhow::Result<Option<&[u8]>> {
        if self.given.is_some() {
            return self.next();
        }
        if !(self.is_open && self.reader.advance_at_hand()?) {
            return Ok(None);
        }
        self.keys += 1;
        self.show();
        Ok(Some(self.reader.key()))
    }

    fn open(&mut self, file: &Path) -> anyhow::Result<()> {
        self.is_open = false;
        if is_stdin(file) {
            self.reader.open("standard input", io::stdin())?;
        } else {
            let input = File::open(file).with_context(|| cannot_read(file))?;
            let bytes = self.bytes.clone().unwrap_or_default();
            self.reader.open(file.display().to_string(), CountedRead { input, bytes })?;
        }
        self.is_open = true;
        Ok(())
    }

    /// What was read and skipped so far.
    pub(crate) fn totals(&self) -> Totals {
        let counts = self.reader.counts();
        let skipped = Skipped {
            empty_lines: counts.empty,
            comments: counts.comments,
            local_names: counts.local,
            addresses_without_name: counts.nameless,
        };
        Totals { lines: counts.lines, keys: self.keys, skipped, were_given: self.given.is_some() }
    }

    /// Where the last key came from, for messages.
    pub(crate) fn place(&self) -> String {
        if self.given.is_some() { format!("--key number {}", self.keys) } else { self.reader.place() }
    }

    /// Ends the reading: removes the progress bar, and prints what looked wrong. Returns the same for a JSON report.
    pub(crate) fn end(&self) -> Vec<String> {
        self.bar.finish_and_clear();
        clear_progress();
        let warnings = self.reader.warnings();
        warnings.iter().for_each(|warning| warn(warning));
        warnings
    }

    fn show(&self) {
        if self.keys.is_multiple_of(SHOWN_EVERY) {
            let bytes = self.bytes.as_ref().map(|bytes| bytes.load(Ordering::Relaxed));
            self.bar.set_position(bytes.unwrap_or(self.reader.counts().lines));
        }
    }
}

impl Totals {
    /// What was read, in words.
    pub(crate) fn read(&self) -> String {
        if self.were_given { format!("{} given", counted(self.keys, "key")) } else { self.lines_read() }
    }

    fn lines_read(&self) -> String {
        let Skipped { empty_lines, comments, local_names, addresses_without_name } = self.skipped;
        let skipped = [
            (empty_lines, counted(empty_lines, "empty line")),
            (comments, counted(comments, "comment")),
            (local_names, format!("{} of the machine itself", counted(local_names, "name"))),
            (
                addresses_without_name,
                format!("{} with an address and no name", counted(addresses_without_name, "line")),
            ),
        ];
        let skipped: Vec<String> =
            skipped.into_iter().filter(|(count, _)| *count > 0).map(|(_, words)| words).collect();
        let of_them = if skipped.is_empty() { String::new() } else { format!(" ({} skipped)", skipped.join(", ")) };
        format!("{} read{of_them}", counted(self.lines, "line"))
    }
}

impl Drop for Lines {
    /// Removes the progress bar from the screen.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The format of keys for a command that changes the set.
pub(crate) fn set_of_keys(values: bool) -> Format {
    let mut format = Format::new(Purpose::Set);
    format.values = values;
    format
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_bytes_has_a_unit_or_none() {
        for (text, number) in [("1", 1), ("4096", 4096), ("64K", 65_536), ("16m", 16 << 20), ("3G", 3 << 30)] {
            assert_eq!(bytes(text).ok(), Some(number), "{text}");
        }
        for text in ["", "0", "0M", "M", "-1", "1.5M", "1T", "4G", "99999999999999999999", "18014398509481984K", "é"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
