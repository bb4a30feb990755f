//! What looks wrong about a single line.

use super::foreign::BYTE_ORDER_MARK;
use super::format::{Format, Purpose};
use super::hosts;
use super::oddities::Oddity;

/// Calls `found` for each oddity of a line that becomes a key. Only the key is judged, not its value.
pub(super) fn inspect(line: &[u8], format: &Format, mut found: impl FnMut(Oddity)) {
    let key = key(line, format);
    if key.contains(&b'\r') {
        found(Oddity::CarriageReturn);
    }
    if !format.comments && has_comment(line, format) {
        found(Oddity::Comment);
    }
    if format.purpose != Purpose::Trace && !format.values && hosts::is_entry(line) {
        found(Oddity::HostsLine);
    }
    if key.starts_with(BYTE_ORDER_MARK) {
        found(Oddity::Mark);
    }
    if format.values && key.is_empty() {
        found(Oddity::EmptyKey);
    }
    // What is asked for may hold tabs: `query` warns of those that it does not find.
    if format.purpose == Purpose::Set && !format.values && has_tab_inside(line, format) {
        found(Oddity::Tab);
    }
    let at_edge = |edge: Option<&u8>| edge.is_some_and(|byte| hosts::is_blank(*byte));
    if at_edge(key.first()) || at_edge(key.last()) {
        found(Oddity::Blank);
    }
    if is_binary(key) {
        found(Oddity::Binary);
    }
    if format.purpose != Purpose::Trace && is_syntax(key) {
        found(Oddity::Syntax);
    }
}

/// `true` for what begins like HTML, a rule of an ad blocker, or a comment that does not begin with `#`.
fn is_syntax(key: &[u8]) -> bool {
    let starts: [&[u8]; 6] = [b"<", b"||", b"@@", b"!", b";", b"//"];
    starts.iter().any(|start| key.starts_with(start))
}

fn key<'a>(line: &'a [u8], format: &Format) -> &'a [u8] {
    let tab = line.iter().position(|byte| *byte == b'\t').filter(|_| format.values);
    tab.map_or(line, |tab| &line[..tab])
}

/// `true` if there is a tab that neither belongs to a comment or a hosts line nor is a blank at the edge.
fn has_tab_inside(line: &[u8], format: &Format) -> bool {
    let kept = without_comment(line, format).unwrap_or_default().trim_ascii();
    kept.contains(&b'\t') && !hosts::is_entry(line)
}

/// `true` if a comment would be left out of this line under [`Format::comments`].
fn has_comment(line: &[u8], format: &Format) -> bool {
    without_comment(line, format).is_none_or(|kept| kept.len() < line.len())
}

/// A line without its comment; `None` if it is nothing else.
pub(super) fn without_comment<'a>(line: &'a [u8], format: &Format) -> Option<&'a [u8]> {
    let marks = line.iter().enumerate().filter(|(_, byte)| **byte == b'#').map(|(at, _)| at);
    for at in marks {
        let before = &line[..at];
        if before.iter().all(|byte| hosts::is_blank(*byte)) {
            return None;
        }
        if format.values {
            break;
        }
        if before.last().is_some_and(|byte| hosts::is_blank(*byte)) {
            let end = before.iter().rposition(|byte| !hosts::is_blank(*byte)).map_or(0, |last| last + 1);
            return Some(&before[..end]);
        }
    }
    Some(line)
}

/// `true` for a NUL byte, or if more than half of the bytes cannot be printed.
pub(crate) fn is_binary(key: &[u8]) -> bool {
    let (mut nul, mut control, mut high) = (false, 0, 0);
    for byte in key {
        nul |= *byte == 0;
        control += usize::from(matches!(byte, 0..=8 | 10..=12 | 14..=31 | 127));
        high += usize::from(*byte >= 0x80);
    }
    let unprintable = if high > 0 && std::str::from_utf8(key).is_err() { control + high } else { control };
    nul || 2 * unprintable > key.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oddities(line: &[u8], format: &Format) -> Vec<Oddity> {
        let mut all = Vec::new();
        inspect(line, format, |oddity| all.push(oddity));
        all
    }

    #[test]
    fn an_ordinary_key_has_no_oddity() {
        let format = Format::new(Purpose::Set);
        for key in [
            "a",
            "a.com",
            "two words",
            "caf\u{e9}",
            "/a#b",
            "1.2.3.4",
            "https://a/?b=c#d",
            "\u{1f600}",
            "a;b",
            "a|b",
            "/a",
        ] {
            assert_eq!(oddities(key.as_bytes(), &format), [], "{key}");
        }
        assert_eq!(oddities(b"caf\xE9", &format), [], "Latin-1 is text");
    }

    #[test]
    fn each_oddity_is_seen() {
        let format = Format::new(Purpose::Set);
        for (line, expected) in [
            (b"a\r".as_slice(), Oddity::CarriageReturn),
            (b"a\rb", Oddity::CarriageReturn),
            (b"# a", Oddity::Comment),
            (b"#a", Oddity::Comment),
            (b"a.com # why", Oddity::Comment),
            (b"a.com\t# why", Oddity::Comment),
            (b"0.0.0.0 a.com", Oddity::HostsLine),
            (b"a\tb", Oddity::Tab),
            (b" a", Oddity::Blank),
            (b"a\t", Oddity::Blank),
            (b"a\0b", Oddity::Binary),
            (b"\x01\x02a", Oddity::Binary),
            (b"\xFF\xFEa", Oddity::Binary),
            (b"<!doctype html>", Oddity::Syntax),
            (b"||a.com^", Oddity::Syntax),
            (b"@@||a.com^", Oddity::Syntax),
            (b"! Title: a list", Oddity::Syntax),
            (b"; a zone", Oddity::Syntax),
            (b"// a", Oddity::Syntax),
        ] {
            assert_eq!(oddities(line, &format), [expected], "{line:?}");
        }
    }

    #[test]
    fn a_value_may_be_anything() {
        let format = Format { values: true, ..Format::new(Purpose::Set) };
        for line in [b"a\t".as_slice(), b"a\t#fff", b"a\t\0\x01", b"1.2.3.4\tname", b"a\tb # c"] {
            assert_eq!(oddities(line, &format), [], "{line:?}");
        }
        assert_eq!(oddities(b"\tb", &format), [Oddity::EmptyKey]);
        assert_eq!(oddities(b" a\tb", &format), [Oddity::Blank]);
        assert_eq!(oddities(b"# a\tb", &format), [Oddity::Comment]);
    }

    #[test]
    fn a_tab_is_noticed_in_a_set_unless_something_else_explains_it() {
        let set = Format::new(Purpose::Set);
        assert_eq!(oddities(b"a\tb # c", &set), [Oddity::Comment, Oddity::Tab]);
        for line in [b"0.0.0.0\ta.com".as_slice(), b"a\t# b", b"#\ta", b"\ta\t"] {
            assert!(!oddities(line, &set).contains(&Oddity::Tab), "{line:?}");
        }
        assert_eq!(oddities(b"a\tb", &Format::new(Purpose::Queries)), []);
        assert_eq!(oddities(b"a\tb", &Format::new(Purpose::Trace)), []);
    }

    #[test]
    fn a_comment_is_a_whole_line_or_follows_a_blank() {
        let format = Format::new(Purpose::Set);
        for (line, kept) in [
            ("a", Some("a")),
            ("a#b", Some("a#b")),
            ("a#b # c # d", Some("a#b")),
            ("a \t # b", Some("a")),
            ("a\t#", Some("a")),
            ("  # b", None),
            ("#", None),
            (" a", Some(" a")),
        ] {
            assert_eq!(without_comment(line.as_bytes(), &format), kept.map(str::as_bytes), "{line}");
        }
        let values = Format { values: true, ..Format::new(Purpose::Set) };
        assert_eq!(without_comment(b"a\t#b # c", &values), Some(b"a\t#b # c".as_slice()));
        assert_eq!(without_comment(b" # c", &values), None);
    }
}
