//! Keys from files or standard input, one per line.

use crate::output::{progress_bar, spinner};
use anyhow::{Context, ensure};
use indicatif::ProgressBar;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};

/// Where keys come from.
#[derive(clap::Args)]
pub(crate) struct Inputs {
    /// Files with one key per line; standard input if none is given, or for `-`
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
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
    /// Checks that every input exists and is a file before anything is read, so that a typo changes nothing.
    ///
    /// Progress is shown if the input is not a terminal and, for a command that prints as it reads, the output is
    /// not one either.
    pub(crate) fn lines(&self, what: &str, prints: bool) -> anyhow::Result<Lines> {
        let files = if self.files.is_empty() { vec![PathBuf::from("-")] } else { self.files.clone() };
        let mut total = Some(0);
        for file in &files {
            total = total.zip(size(file)?).map(|(total, size)| total + size);
        }
        let busy = prints && io::stdout().is_terminal() || total.is_none() && io::stdin().is_terminal();
        let bar = match total {
            _ if busy => ProgressBar::hidden(),
            Some(total) => progress_bar(total, what),
            None => spinner(what),
        };
        let (inputs, source, line) = (files.into_iter(), None, Vec::new());
        Ok(Lines { inputs, source, line, lines: 0, bytes: 0, shown: 0, bar, bar_of_bytes: total.is_some() })
    }
}

/// The size of a file in bytes; `None` if it is not known in advance.
fn size(file: &Path) -> anyhow::Result<Option<u64>> {
    if file == Path::new("-") {
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
        let (name, reader): (String, Box<dyn BufRead>) = if file == Path::new("-") {
            ("standard input".into(), Box::new(io::stdin().lock()))
        } else {
            let opened = File::open(file).with_context(|| cannot_read(file))?;
            (file.display().to_string(), Box::new(BufReader::with_capacity(BUFFER, opened)))
        };
        Ok(Source { name, reader, lines: 0 })
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
            let got = source.reader.read_until(b'\n', &mut self.line);
            read = got.with_context(|| format!("cannot read {} after line {}", source.name, source.lines))?;
            source.lines += 1;
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
