//! The keys of a text trace, line by line, in one reused buffer.

use std::io::{BufRead, Read};

use super::capture::Fault;

/// The longest line allowed, in bytes, since a line is kept in memory and an archive of a few megabytes may hold an
/// endless one.
pub(super) const MAX_LINE: u64 = 16 << 20;

/// Reads one key per line: any bytes before the line end, which is `\n` or `\r\n`. Empty lines are skipped and counted.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    keys: u64,
    empty: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, line: Vec::new(), keys: 0, empty: 0 }
    }

    /// Advances to the next key. Returns `false` at the end.
    pub(super) fn advance(&mut self) -> Result<bool, Fault> {
        loop {
            self.line.clear();
            let read = (&mut self.reader).take(MAX_LINE + 1).read_until(b'\n', &mut self.line).map_err(Fault::Io)?;
            if read == 0 {
                return Ok(false);
            }
            if read as u64 > MAX_LINE && self.line.last() != Some(&b'\n') {
                return Err(Fault::LongLine { line: self.keys + self.empty + 1 });
            }
            self.strip(b'\n');
            self.strip(b'\r');
            if !self.line.is_empty() {
                break;
            }
            self.empty += 1;
        }
        self.keys += 1;
        Ok(true)
    }

    /// The current key.
    pub(super) fn key(&self) -> &[u8] {
        &self.line
    }

    /// The number of keys read so far, repetitions included.
    pub(super) fn keys(&self) -> u64 {
        self.keys
    }

    /// The number of empty lines skipped so far.
    pub(super) fn empty(&self) -> u64 {
        self.empty
    }

    fn strip(&mut self, end: u8) {
        self.line.pop_if(|last| *last == end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    fn keys(text: &[u8]) -> (Vec<Vec<u8>>, u64) {
        let mut lines = Lines::new(text);
        let mut keys = Vec::new();
        while lines.advance().expect("memory is readable") {
            keys.push(lines.key().to_vec());
        }
        (keys, lines.empty())
    }

    #[test]
    fn a_line_end_is_stripped_once_and_is_optional_on_the_last_line() {
        let (found, empty) = keys(b"a\nb\r\n c \nd\r\r\n\xFF\0");
        let expected: [&[u8]; 5] = [b"a", b"b", b" c ", b"d\r", b"\xFF\0"];
        assert_eq!(found, expected);
        assert_eq!(empty, 0);
    }

    #[test]
    fn empty_lines_are_counted_but_are_not_keys() {
        let (found, empty) = keys(b"\n\na\n\r\n");
        assert_eq!(found, [b"a"]);
        assert_eq!(empty, 3);
        assert_eq!(keys(b""), (vec![], 0));
    }

    #[test]
    fn a_line_of_ten_megabytes_is_one_key() {
        let mut text = vec![b'x'; 10_000_000];
        text.extend_from_slice(b"\ny\n");
        let (found, _) = keys(&text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].len(), 10_000_000);
    }

    #[test]
    fn an_endless_line_is_refused_at_the_limit() {
        let endless = io::BufReader::new(io::repeat(b'x'));
        let mut lines = Lines::new(io::Cursor::new(b"a\n\n").chain(endless));
        assert!(lines.advance().is_ok_and(|more| more));
        assert!(matches!(lines.advance(), Err(Fault::LongLine { line: 3 })));
        let longest = [vec![b'x'; MAX_LINE as usize], b"\n".to_vec()].concat();
        assert_eq!(keys(&longest).0[0].len() as u64, MAX_LINE);
    }
}
