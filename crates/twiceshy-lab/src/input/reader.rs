//! Reads keys line by line, in one reused buffer.

use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::InputError;
use super::foreign::{self, BYTE_ORDER_MARK};
use super::format::{Format, Purpose};
use super::hosts;
use super::inspect::{inspect, is_binary, without_comment};
use super::oddities::{Oddities, Oddity};
use super::unpack::{Contents, Packing, Unpacked, Wait, unpack};

/// Characters of a wrong field that are shown.
const SHOWN: usize = 40;

/// Reads the keys of one input after another. Only one line is in memory.
///
/// An input that starts like a gzip, xz or zstd archive is unpacked. A byte-order mark at the start of its first line is
/// stripped; UTF-16 text and archives of other kinds are refused.
///
/// ```
/// use twiceshy_lab::input::{Format, KeyReader, Purpose};
///
/// let mut reader = KeyReader::new(Format::new(Purpose::Set));
/// reader.open("users.txt", &b"ann\r\n\r\nbob"[..])?;
/// while reader.advance()? {
///     println!("{:?}", reader.key());
/// }
/// assert_eq!((reader.counts().lines, reader.counts().keys, reader.counts().empty), (3, 2, 1));
/// assert_eq!(reader.warnings().len(), 1);
/// # Ok::<(), twiceshy_lab::input::InputError>(())
/// ```
pub struct KeyReader {
    format: Format,
    source: Option<Source>,
    line: Vec<u8>,
    /// Where in the line the key is.
    key: Range<usize>,
    /// In a hosts file: where in the line the names begin that were not returned yet.
    names: Option<Range<usize>>,
    counts: Counts,
    /// `None` if nothing is inspected.
    oddities: Option<Oddities>,
}

/// What was read and skipped so far, over all inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Lines, including those that were skipped.
    pub lines: u64,
    /// Keys, including repetitions.
    pub keys: u64,
    /// Empty lines that were skipped.
    pub empty: u64,
    /// Lines that were skipped because they are nothing but a comment.
    pub comments: u64,
    /// Names in a hosts file that were skipped because they mean the machine itself.
    pub local: u64,
    /// Lines of a hosts file that were skipped because they are an address without a name.
    pub nameless: u64,
}

/// The current input.
struct Source {
    name: String,
    packing: Packing,
    reader: Unpacked,
    /// `true` once the end of an archive has been read that has other bytes after it.
    has_more: Arc<AtomicBool>,
    lines: u64,
}

impl KeyReader {
    /// A reader without an input.
    pub fn new(format: Format) -> Self {
        let (source, line, names, counts) = (None, Vec::new(), None, Counts::default());
        Self { format, source, line, key: 0..0, names, counts, oddities: Some(Oddities::default()) }
    }

    /// Looks for nothing odd: for an input that was read before.
    pub(crate) fn without_warnings(mut self) -> Self {
        self.oddities = None;
        self
    }

    /// Goes on with another input, which is called `name` in messages. Counts and warnings go on too.
    ///
    /// Lines of a slow pipe are returned as they come. An error leaves the reader without an input.
    pub fn open(&mut self, name: impl Into<String>, input: impl Read + Send + 'static) -> Result<(), InputError> {
        let name = name.into();
        match unpack(input, Wait::ForTheFirst) {
            Ok(contents) => self.open_unpacked(name, contents),
            Err((packing, why)) => {
                self.source = None;
                Err(unreadable(name, packing, 0, why))
            }
        }
    }

    /// The same with an input whose first bytes were looked at before.
    pub(crate) fn open_unpacked(&mut self, name: String, contents: Contents) -> Result<(), InputError> {
        let Contents { packing, start, reader, has_more } = contents;
        (self.source, self.names) = (None, None);
        if let Some((what, remedy)) = foreign::foreign(&start) {
            return Err(InputError::Foreign { name, what, remedy });
        }
        self.source = Some(Source { name, packing, reader, has_more, lines: 0 });
        Ok(())
    }

    /// Advances to the next key of the current input. Returns `false` at its end, and without an input. After an error
    /// the input is at its end.
    pub fn advance(&mut self) -> Result<bool, InputError> {
        self.advance_if(|_| true)
    }

    /// Advances to the next key if the rest of its line was read already: never waits for the input, and never reaches its
    /// end. Returns `false` if it would have to.
    pub fn advance_at_hand(&mut self) -> Result<bool, InputError> {
        self.advance_if(Source::has_line_at_hand)
    }

    fn advance_if(&mut self, may_read: fn(&Source) -> bool) -> Result<bool, InputError> {
        let more = self.find_key(may_read);
        match more {
            Ok(true) => self.counts.keys += 1,
            Ok(false) | Err(_) => (self.names, self.key) = (None, 0..0),
        }
        if more.is_err() {
            self.source = None;
        }
        more
    }

    /// The current key; with [`Format::values`], the whole line.
    pub fn key(&self) -> &[u8] {
        &self.line[self.key.clone()]
    }

    /// Where the current key is, for messages: the input and the number of its line.
    pub fn place(&self) -> String {
        self.source.as_ref().map_or_else(String::new, Source::place)
    }

    /// What was read and skipped so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What looks wrong in the lines read so far, and what to do about it: one sentence for each kind.
    pub fn warnings(&self) -> Vec<String> {
        self.oddities.as_ref().map_or_else(Vec::new, |oddities| oddities.warnings(&self.format))
    }

    /// Reads lines until one has a key, as long as the next one may be read.
    fn find_key(&mut self, may_read: fn(&Source) -> bool) -> Result<bool, InputError> {
        loop {
            if self.next_name() {
                return Ok(true);
            }
            let Some(source) = self.source.as_mut().filter(|source| may_read(source)) else { return Ok(false) };
            if !source.read_line(&mut self.line, &self.format)? {
                if source.has_more.swap(false, Ordering::Relaxed) {
                    self.notice(Oddity::AfterTheEnd);
                }
                return Ok(false);
            }
            self.counts.lines += 1;
            if self.format.hosts {
                self.begin_hosts_line()?;
            } else if self.take_line() {
                return Ok(true);
            }
        }
    }

    /// Makes a key of the line. Returns `false` if it is skipped.
    fn take_line(&mut self) -> bool {
        if self.line.is_empty() {
            self.counts.empty += 1;
            // Between comments an empty line is ordinary, and in traces it is only counted.
            if !self.format.comments && self.format.purpose != Purpose::Trace {
                self.notice(Oddity::Empty);
            }
            return false;
        }
        let kept = if self.format.comments {
            without_comment(&self.line, &self.format).map(<[u8]>::len)
        } else {
            Some(self.line.len())
        };
        let Some(length) = kept else {
            self.counts.comments += 1;
            return false;
        };
        self.key = 0..length;
        self.inspect_key();
        true
    }

    fn inspect_key(&mut self) {
        let Self { oddities: Some(oddities), source: Some(source), .. } = self else { return };
        let key = &self.line[self.key.clone()];
        inspect(key, &self.format, |oddity| oddities.count(oddity, || source.place()));
        if self.format.purpose == Purpose::Set {
            oddities.count_key(key);
        }
    }

    /// Checks the fields of a hosts line, and leaves its names to be returned.
    fn begin_hosts_line(&mut self) -> Result<(), InputError> {
        let end = hosts::before_comment(&self.line);
        let line = &self.line[..end];
        let Some(first) = hosts::field(line, 0) else {
            let skipped = if end < self.line.len() { &mut self.counts.comments } else { &mut self.counts.empty };
            *skipped += 1;
            return Ok(());
        };
        let is_alone = hosts::field(line, first.end).is_none();
        let is_address = hosts::is_address(&line[first.clone()]);
        if !is_address && !is_alone {
            let field: String = String::from_utf8_lossy(&line[first]).escape_debug().take(SHOWN).collect();
            let (name, line) = self.source.as_ref().map_or_else(Default::default, |it| (it.name.clone(), it.lines));
            return Err(InputError::NotHosts { name, line, field });
        }
        let binary = is_binary(line);
        self.names = Some(if is_address { first.end } else { first.start }..end);
        if binary {
            self.notice(Oddity::Binary);
        }
        if is_address && is_alone {
            self.counts.nameless += 1;
            self.notice(Oddity::NoName);
        } else if is_alone {
            self.notice(Oddity::BareName);
        }
        Ok(())
    }

    /// Advances to the next name of a hosts line. Returns `false` after the last one.
    fn next_name(&mut self) -> bool {
        let Some(names) = self.names.take() else { return false };
        let mut from = names.start;
        while let Some(mut name) = hosts::field(&self.line[..names.end], from) {
            from = name.end;
            // Names are compared without regard to case, and `a.com.` is the full name of `a.com`.
            self.line[name.clone()].make_ascii_lowercase();
            name.end -= usize::from(name.len() > 1 && self.line[name.end - 1] == b'.');
            if hosts::is_local(&self.line[name.clone()]) {
                self.counts.local += 1;
                continue;
            }
            (self.key, self.names) = (name, Some(from..names.end));
            if let (Some(oddities), Purpose::Set) = (&mut self.oddities, self.format.purpose) {
                oddities.count_key(&self.line[self.key.clone()]);
            }
            return true;
        }
        false
    }

    fn notice(&mut self, oddity: Oddity) {
        if let (Some(oddities), Some(source)) = (&mut self.oddities, &self.source) {
            oddities.count(oddity, || source.place());
        }
    }
}

impl Source {
    fn place(&self) -> String {
        format!("{}, line {}", self.name, self.lines)
    }

    /// `true` if the next line is in the buffer, with its end.
    fn has_line_at_hand(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }

    /// Reads the next line without its end. Returns `false` at the end of the input. Never reads much more than the
    /// limit, since a device or a broken file may have no end of line at all.
    fn read_line(&mut self, line: &mut Vec<u8>, format: &Format) -> Result<bool, InputError> {
        line.clear();
        let most = format.max_line.saturating_add((BYTE_ORDER_MARK.len() + b"\r\n".len()) as u64);
        let read = (&mut self.reader).take(most).read_until(b'\n', line);
        read.map_err(|why| unreadable(self.name.clone(), self.packing, self.lines, why))?;
        if self.lines == 0 && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        // Nothing is left, or a mark at the very end: even an empty line has an end.
        if line.is_empty() {
            return Ok(false);
        }
        self.lines += 1;
        line.pop_if(|last| *last == b'\n');
        if !format.keep_cr {
            line.pop_if(|last| *last == b'\r');
        }
        if line.len() as u64 > format.max_line {
            return Err(InputError::LongLine { name: self.name.clone(), line: self.lines, limit: format.max_line });
        }
        Ok(true)
    }
}

/// An error of an input, or of the archive that it is packed in.
fn unreadable(name: String, packing: Packing, line: u64, why: io::Error) -> InputError {
    match packing.archive() {
        // An error without an OS error code comes from the decompressor.
        Some(format) if why.raw_os_error().is_none() => InputError::Archive { name, line, format, why },
        _ => InputError::Io { name, line, why },
    }
}

#[cfg(test)]
mod tests;
