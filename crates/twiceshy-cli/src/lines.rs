//! Keys from files or standard input, one per line.

use crate::output::{grouped, progress_bar, spinner};
use crate::own_files::OwnFiles;
use anyhow::{Context, anyhow, bail, ensure};
use indicatif::ProgressBar;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};

/// Where keys come from.
#[derive(clap::Args)]
pub(crate) struct Inputs {
    /// Files with one key per line; standard input if none is given, or for `-`
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The longest line allowed, in bytes; K, M and G stand for 2^10, 2^20 and 2^30. A line is kept in memory
    #[arg(long, value_name = "BYTES", default_value = "16M", value_parser = bytes)]
    max_line: u64,
}

/// Bytes read between two updates of the progress bar.
const SHOWN_EVERY: u64 = 1 << 16;

const BUFFER: usize = 1 << 16;

/// The lines of all inputs, one input after another. Only one line is in memory.
///
/// A line is the bytes before its `\n`, whatever they are; an empty line is the empty key. The last line of an
/// input may lack its `\n`.
pub(crate) struct Lines {
    inputs: std::vec::IntoIter<PathBuf>,
    source: Option<Source>,
    line: Vec<u8>,
    max_line: u64,
    lines: u64,
    bytes: u64,
    shown: u64,
    bar: ProgressBar,
    bar_of_bytes: bool,
}

/// The current input.
struct Source {
    name: String,
    reader: Box<dyn BufRead>,
    lines: u64,
}

impl Inputs {
    /// Checks that every input exists, is a file and does not belong to the store before anything is read, so that a
    /// typo changes nothing.
    ///
    /// Progress is shown if the input is not a terminal and, for a command that prints as it reads, the output is
    /// not one either.
    pub(crate) fn lines(&self, what: &str, prints: bool, store: &Path) -> anyhow::Result<Lines> {
        let files = if self.files.is_empty() { vec![PathBuf::from("-")] } else { self.files.clone() };
        let own = OwnFiles::of(store, prints);
        let mut total = Some(0);
        for file in &files {
            total = total.zip(size(file)?).map(|(total, size)| total + size);
            own.refuse((!is_stdin(file)).then_some(file))?;
        }
        let busy = prints && io::stdout().is_terminal() || total.is_none() && io::stdin().is_terminal();
        let bar = match total {
            _ if busy => ProgressBar::hidden(),
            Some(total) => progress_bar(total, what),
            None => spinner(what),
        };
        Ok(Lines {
            inputs: files.into_iter(),
            source: None,
            line: Vec::new(),
            max_line: self.max_line,
            lines: 0,
            bytes: 0,
            shown: 0,
            bar,
            bar_of_bytes: total.is_some(),
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
    let about = file.metadata().with_context(|| cannot_read(file))?;
    ensure!(!about.is_dir(), "{} is a folder: name files with one key per line", file.display());
    Ok(about.is_file().then_some(about.len()))
}

fn cannot_read(file: &Path) -> String {
    format!("cannot read {}: name a file with one key per line, or `-` for standard input", file.display())
}

impl Source {
    fn open(file: &Path) -> anyhow::Result<Source> {
        let (name, reader): (String, Box<dyn BufRead>) = if is_stdin(file) {
            ("standard input".into(), Box::new(io::stdin().lock()))
        } else {
            let opened = File::open(file).with_context(|| cannot_read(file))?;
            (file.display().to_string(), Box::new(BufReader::with_capacity(BUFFER, opened)))
        };
        Ok(Source { name, reader, lines: 0 })
    }

    /// Reads the next line with its end. Returns its length, 0 at the end of the input. Never reads more than the
    /// limit, since a device or a broken file may have no end of line at all.
    fn read(&mut self, line: &mut Vec<u8>, max: u64) -> anyhow::Result<usize> {
        let got = (&mut self.reader).take(max.saturating_add(1)).read_until(b'\n', line);
        let read = got.with_context(|| format!("cannot read {} after line {}", self.name, self.lines))?;
        self.lines += 1;
        if read as u64 > max && line.last() != Some(&b'\n') {
            bail!(
                "{}, line {} is longer than {} bytes: keys are read one per line; raise the limit with --max-line if \
                 this line is a key",
                self.name,
                grouped(self.lines),
                grouped(max)
            );
        }
        Ok(read)
    }
}

impl Lines {
    /// The next line, without its end.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<&[u8]>> {
        self.line.clear();
        let mut read = 0;
        while read == 0 {
            if self.source.is_none() {
                let Some(file) = self.inputs.next() else { return Ok(None) };
                self.source = Some(Source::open(&file)?);
            }
            let Some(source) = &mut self.source else { return Ok(None) };
            read = source.read(&mut self.line, self.max_line)?;
            if read == 0 {
                self.source = None;
            }
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        }
        self.count(read as u64);
        Ok(Some(&self.line))
    }

    /// The number of lines read so far.
    pub(crate) fn lines_read(&self) -> u64 {
        self.lines
    }

    /// Where the last line came from, for messages.
    pub(crate) fn place(&self) -> String {
        self.source.as_ref().map_or_else(String::new, |source| format!("{}, line {}", source.name, source.lines))
    }

    fn count(&mut self, bytes: u64) {
        self.lines += 1;
        self.bytes += bytes;
        if self.bytes >= self.shown + SHOWN_EVERY {
            self.shown = self.bytes;
            self.bar.set_position(if self.bar_of_bytes { self.bytes } else { self.lines });
        }
    }
}

impl Drop for Lines {
    /// Removes the progress bar from the screen.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static [u8], max: u64) -> (Vec<Vec<u8>>, Option<String>) {
        let mut source = Source { name: "a file".into(), reader: Box::new(text), lines: 0 };
        let mut lines = Vec::new();
        loop {
            let mut line = Vec::new();
            match source.read(&mut line, max) {
                Ok(0) => return (lines, None),
                Ok(_) => lines.push(line),
                Err(error) => return (lines, Some(error.to_string())),
            }
        }
    }

    #[test]
    fn a_line_may_have_the_limit_and_no_byte_more() {
        for whole in [b"abc\nabc\n".as_slice(), b"abc\nabc"] {
            let (lines, error) = read(whole, 3);
            assert_eq!((lines.concat(), error), (whole.to_vec(), None));
            let (lines, error) = read(whole, 2);
            assert!(lines.is_empty());
            assert!(error.is_some_and(|error| error.starts_with("a file, line 1 is longer than 2 bytes")));
        }
        let (lines, error) = read(b"a\nabcd\nb\n", 3);
        assert_eq!(lines, [b"a\n"]);
        assert!(error.is_some_and(|error| error.contains("line 2") && error.contains("--max-line")));
    }

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
