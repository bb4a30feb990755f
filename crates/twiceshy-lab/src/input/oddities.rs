//! Keeps count of what looks wrong, and says it in words.

use super::format::{Format, Purpose};
use super::repeated::Repeated;

/// Something that a list of keys seldom has on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Oddity {
    CarriageReturn,
    Comment,
    HostsLine,
    NoName,
    BareName,
    Tab,
    EmptyKey,
    Blank,
    Binary,
    Syntax,
    Empty,
    Mark,
    AfterTheEnd,
}

impl Oddity {
    const ALL: [Oddity; 13] = [
        Oddity::CarriageReturn,
        Oddity::Comment,
        Oddity::HostsLine,
        Oddity::NoName,
        Oddity::BareName,
        Oddity::Tab,
        Oddity::EmptyKey,
        Oddity::Blank,
        Oddity::Binary,
        Oddity::Syntax,
        Oddity::Empty,
        Oddity::Mark,
        Oddity::AfterTheEnd,
    ];

    /// What one line does, and what several do.
    fn words(self) -> [&'static str; 2] {
        match self {
            Oddity::CarriageReturn => ["holds a carriage return", "hold a carriage return"],
            Oddity::Comment => ["is a comment or ends with one", "are comments or end with one"],
            Oddity::HostsLine => ["looks like a line of a hosts file", "look like lines of a hosts file"],
            Oddity::NoName => {
                ["is an address without a name and was skipped", "are addresses without a name and were skipped"]
            }
            Oddity::BareName => {
                ["is a name without an address and was taken", "are names without an address and were taken"]
            }
            Oddity::Tab => ["holds a tab", "hold a tab"],
            Oddity::EmptyKey => ["has nothing before its tab", "have nothing before their tabs"],
            Oddity::Blank => {
                ["has a blank at the start or end of its key", "have a blank at the start or end of their keys"]
            }
            Oddity::Binary => ["looks like binary data", "look like binary data"],
            Oddity::Syntax => [
                "looks like HTML, a rule of an ad blocker, or a comment",
                "look like HTML, rules of an ad blocker, or comments",
            ],
            Oddity::Empty => ["is empty and was skipped", "are empty and were skipped"],
            Oddity::Mark => ["begins with a byte-order mark", "begin with a byte-order mark"],
            Oddity::AfterTheEnd => [
                "is the last of an archive with other bytes after its end",
                "are the last of archives with other bytes after their ends",
            ],
        }
    }

    /// What to do about it.
    fn remedy(self, format: &Format) -> &'static str {
        match self {
            Oddity::CarriageReturn if format.keep_cr => "leave --keep-cr out to strip it at the end of lines",
            Oddity::CarriageReturn => {
                "it is part of the key; convert the ends of lines first, such as with `tr '\\r' '\\n'`"
            }
            Oddity::Comment if format.purpose == Purpose::Trace => {
                "remove them first, such as with `grep -v '^#'`, or they are keys"
            }
            Oddity::Comment => "add --comments to leave comments out",
            Oddity::HostsLine => "add --hosts to take the names in them as keys",
            Oddity::NoName => "leave --hosts out if the addresses are the keys",
            Oddity::BareName => "leave --hosts out for a list that has no addresses",
            Oddity::Tab => "it is part of the key; add --values if a value follows it",
            Oddity::EmptyKey => "it stands for the empty key; check that the keys come first",
            Oddity::Blank => {
                "it is part of the key; remove it first, such as with `sed 's/^[[:blank:]]*//; s/[[:blank:]]*$//'`"
            }
            Oddity::Binary => "check that this is a text file with one key per line",
            Oddity::Syntax => "it is the key as it stands; get the plain list, or turn it into one key per line first",
            Oddity::Empty => "if you mean the empty key, give it with --key ''",
            Oddity::Mark => "it is part of the key; a mark is left out only at the start of a file",
            Oddity::AfterTheEnd => "they were left out; if keys are missing, fetch the archive or make it again",
        }
    }
}

/// The oddities of all inputs so far.
#[derive(Debug, Default)]
pub(super) struct Oddities {
    found: [Option<Found>; Oddity::ALL.len()],
    repeated: Repeated,
}

#[derive(Debug)]
struct Found {
    lines: u64,
    first: String,
}

impl Oddities {
    /// Counts a line. `place` names it if it is the first of its kind.
    pub(super) fn count(&mut self, oddity: Oddity, place: impl FnOnce() -> String) {
        match &mut self.found[oddity as usize] {
            Some(found) => found.lines += 1,
            none => *none = Some(Found { lines: 1, first: place() }),
        }
    }

    /// Counts a key, to find one that comes suspiciously often.
    pub(super) fn count_key(&mut self, key: &[u8]) {
        self.repeated.add(key);
    }

    /// One sentence for each kind of oddity that was found.
    pub(super) fn warnings(&self, format: &Format) -> Vec<String> {
        let mut warnings = Vec::new();
        for (oddity, found) in Oddity::ALL.iter().zip(&self.found) {
            let Some(Found { lines, first }) = found else { continue };
            let ([one, several], remedy) = (oddity.words(), oddity.remedy(format));
            warnings.push(match lines {
                1 => format!("{first} {one}: {remedy}"),
                _ => format!("{lines} lines {several}, the first is {first}: {remedy}"),
            });
        }
        if let Some((line, at_least, lines)) = self.repeated.suspicious() {
            let line = String::from_utf8_lossy(line);
            warnings.push(format!(
                "at least {at_least} of {lines} keys are the same, `{}`: check that this is the right file; a key is \
                 stored once",
                line.escape_debug()
            ));
        }
        warnings
    }
}
