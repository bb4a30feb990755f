use super::super::format::MAX_LINE;
use super::super::unpack::tests::{XZ, gzip, zstd};
use super::*;
use std::collections::VecDeque;

fn read(format: Format, inputs: &[&[u8]]) -> (Vec<String>, KeyReader, Option<InputError>) {
    let mut reader = KeyReader::new(format);
    let mut keys = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        let opened = reader.open(format!("file {number}"), io::Cursor::new(input.to_vec()));
        let mut more = opened.and_then(|()| reader.advance());
        while let Ok(true) = more {
            keys.push(String::from_utf8_lossy(reader.key()).into_owned());
            more = reader.advance();
        }
        if let Err(error) = more {
            return (keys, reader, Some(error));
        }
    }
    (keys, reader, None)
}

fn keys(format: Format, text: &[u8]) -> Vec<String> {
    let (keys, _, error) = read(format, &[text]);
    assert!(error.is_none(), "{error:?}");
    keys
}

fn plain() -> Format {
    Format::new(Purpose::Set)
}

#[test]
fn a_line_end_is_stripped_once_and_is_optional_on_the_last_line() {
    assert_eq!(keys(plain(), b"a\nb\r\n c \nd\r\r\ne\r"), ["a", "b", " c ", "d\r", "e"]);
    let keep_cr = Format { keep_cr: true, ..plain() };
    assert_eq!(keys(keep_cr, b"a\nb\r\n\r\nc\r"), ["a", "b\r", "\r", "c\r"]);
}

#[test]
fn empty_lines_are_counted_but_are_not_keys() {
    let (found, reader, _) = read(plain(), &[b"\n\na\n\r\n", b"", b"\n", b"b"]);
    assert_eq!(found, ["a", "b"]);
    let counts = reader.counts();
    assert_eq!((counts.lines, counts.keys, counts.empty), (6, 2, 4));
    assert_eq!(
        reader.warnings(),
        [
            "4 lines are empty and were skipped, the first is file 0, line 1: if you mean the empty key, give it with --key ''"
        ]
    );
}

#[test]
fn a_byte_order_mark_is_stripped_at_the_start_of_each_input_and_nowhere_else() {
    let (found, reader, _) =
        read(plain(), &[b"\xEF\xBB\xBFa\nb", b"\xEF\xBB\xBFc", b"\xEF\xBB\xBF", b"\xEF\xBB\xBF\nd"]);
    assert_eq!(found, ["a", "b", "c", "d"]);
    assert_eq!((reader.counts().lines, reader.counts().empty), (5, 1));
    assert_eq!(keys(Format { max_line: 2, ..plain() }, b"\xEF\xBB\xBFab\r\nc\n"), ["ab", "c"]);
    // A key may be any bytes.
    let (found, reader, _) = read(plain(), &[b"a\n\xEF\xBB\xBFa\n\xEF\xBB\xBF"]);
    assert_eq!(found, ["a", "\u{feff}a", "\u{feff}"]);
    let warning = "2 lines begin with a byte-order mark, the first is file 0, line 2: it is part of the key";
    assert!(reader.warnings().len() == 1 && reader.warnings()[0].starts_with(warning), "{:?}", reader.warnings());
}

#[test]
fn bytes_after_the_end_of_a_gzip_archive_are_a_warning_and_cost_no_line() {
    let two = [gzip(b"a\nb\n"), gzip(b"c\nd")].concat();
    for more in [&b"junk"[..], b"\0", &[0; 100_000], b"\n", b"\x1Fjunk", b"\x1F\x8Bjunk"] {
        let (found, reader, error) = read(plain(), &[&[&two, more].concat(), b"e\n"]);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(found, ["a", "b", "c", "d", "e"], "{} bytes more", more.len());
        let warning = "file 0, line 4 is the last of an archive with other bytes after its end: they were left out";
        assert!(reader.warnings().len() == 1 && reader.warnings()[0].starts_with(warning), "{:?}", reader.warnings());
    }
    let (found, reader, _) = read(plain(), &[&two]);
    assert_eq!((found.len(), reader.warnings()), (4, vec![]));
    // A further member that is cut short is damage.
    let whole = [&two[..], &gzip(b"e\n")].concat();
    for cut in two.len() + 1..whole.len() {
        assert!(read(plain(), &[&whole[..cut]]).2.is_some(), "{cut} of {}", whole.len());
    }
}

#[test]
fn packed_inputs_are_unpacked_one_after_another() {
    let (found, ..) = read(plain(), &[&gzip(b"a\r\nb"), XZ, &zstd(b"\xEF\xBB\xBFc\n"), b"d\n"]);
    assert_eq!(found, ["a", "b", "fig", "pear", "c", "d"]);
}

#[test]
fn an_archive_that_is_cut_short_is_an_error_at_its_line() {
    let text: String = (0..100_000).map(|number| format!("key {number}\n")).collect();
    let archive = gzip(text.as_bytes());
    let (found, mut reader, error) = read(plain(), &[b"x\n", &archive[..archive.len() / 2]]);
    let error = error.expect("it is cut").to_string();
    assert!(found.len() > 1_000, "{}", found.len());
    let after = format!("file 1 is a damaged gzip archive after line {}", found.len() - 1);
    assert!(error.starts_with(&after) && error.contains("gzip -t"), "{error}");
    assert!(!reader.advance().expect("the end"), "nothing follows an error");
    assert_eq!(reader.key(), b"");
}

#[test]
fn other_kinds_of_input_are_refused_even_within_an_archive() {
    let mut tar = vec![0; 600];
    tar[257..262].copy_from_slice(b"ustar");
    for (input, what) in [
        (b"PK\x03\x04....".to_vec(), "a zip archive"),
        (tar.clone(), "a tar archive"),
        (gzip(&tar), "a tar archive"),
        (b"\xFF\xFEa\0\n\0".to_vec(), "UTF-16"),
        (zstd(b"\xFF\xFEa\0\n\0"), "UTF-16"),
    ] {
        let (found, _, error) = read(plain(), &[&input]);
        let error = error.expect("a refusal").to_string();
        assert!(found.is_empty() && error.starts_with("file 0 is ") && error.contains(what), "{error}");
        assert!(error.contains("first, such as with `"), "{error}");
    }
}

#[test]
fn comments_are_left_out_and_counted() {
    let text = b"# a list\n\na.com\n  # more\nb.com # why\n#\nc#d\n";
    let (found, reader, _) = read(Format { comments: true, ..plain() }, &[text]);
    assert_eq!(found, ["a.com", "b.com", "c#d"]);
    let counts = reader.counts();
    assert_eq!((counts.lines, counts.comments, counts.empty), (7, 3, 1));
    assert_eq!(reader.warnings(), [""; 0]);
    let (found, reader, _) = read(plain(), &[text]);
    assert_eq!(found.len(), 6);
    let warning = "4 lines are comments or end with one, the first is file 0, line 1: add --comments";
    assert!(reader.warnings().iter().any(|it| it.starts_with(warning)), "{:?}", reader.warnings());
}

#[test]
fn each_name_of_a_hosts_file_is_a_key_but_those_of_the_machine() {
    let text = b"# hosts\n127.0.0.1 localhost a.com\n\n::1 ip6-localhost ip6-loopback\n0.0.0.0\tb.com  c.com # d.com\n\
        0.0.0.0 0.0.0.0\n255.255.255.255 broadcasthost\r\nfe80::1%lo0 localhost\n  0.0.0.0 e.com#f\n10.0.0.1\n";
    let (found, reader, error) = read(Format { hosts: true, ..plain() }, &[text]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(found, ["a.com", "b.com", "c.com", "e.com"]);
    let counts = reader.counts();
    assert_eq!((counts.lines, counts.keys, counts.comments, counts.empty, counts.local), (10, 4, 1, 1, 6));
    assert_eq!(counts.nameless, 1);
    let warning =
        "file 0, line 10 is an address without a name and was skipped: leave --hosts out if the addresses are the keys";
    assert_eq!(reader.warnings(), [warning]);
    let (_, reader, _) = read(plain(), &[text]);
    let hosts = reader.warnings().into_iter().find(|it| it.contains("hosts file")).expect("a warning");
    assert!(hosts.starts_with("7 lines look like lines of a hosts file, the first is file 0, line 2: add --hosts"));
}

#[test]
fn names_of_a_hosts_file_are_in_small_letters_and_have_no_dot_at_the_end() {
    let text = b"0.0.0.0 ADS.Example a.com. . LocalHost. b..\nC.COM.\n";
    let (found, reader, error) = read(Format { hosts: true, ..plain() }, &[text]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(found, ["ads.example", "a.com", ".", "b.", "c.com"]);
    assert_eq!(reader.counts().local, 1);
    assert_eq!(keys(plain(), b"ADS.Example\na.com.\n"), ["ADS.Example", "a.com."], "other lists are taken as they are");
}

#[test]
fn a_name_alone_on_a_line_of_a_hosts_file_is_a_key() {
    let text = b"0.0.0.0 a.com\nb.com # why\nlocalhost\n  c.com\r\n0.0.0.0 ip6-evil.com\n";
    let (found, reader, error) = read(Format { hosts: true, ..plain() }, &[text]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(found, ["a.com", "b.com", "c.com", "ip6-evil.com"]);
    assert_eq!(reader.counts().local, 1);
    let warning = "3 lines are names without an address and were taken, the first is file 0, line 2: leave --hosts out";
    assert!(reader.warnings().len() == 1 && reader.warnings()[0].starts_with(warning), "{:?}", reader.warnings());
}

#[test]
fn a_line_of_several_fields_without_an_address_is_no_hosts_line() {
    let (found, _, error) = read(Format { hosts: true, ..plain() }, &[b"0.0.0.0 a.com\nb.com d\n0.0.0.0 c.com\n"]);
    let error = error.expect("no address").to_string();
    assert_eq!(found, ["a.com"]);
    assert!(error.starts_with("file 0, line 2: `b.com` is not an IP address") && error.contains("leave --hosts out"));
}

#[test]
fn a_suspicious_key_is_noticed_in_sets_only() {
    let text = [b"same\n".repeat(60), (0..60).flat_map(|i| format!("{i}\n").into_bytes()).collect()].concat();
    for (purpose, expected) in [(Purpose::Set, 1), (Purpose::Queries, 0), (Purpose::Trace, 0)] {
        let (_, reader, _) = read(Format::new(purpose), &[&text]);
        assert_eq!(reader.warnings().len(), expected, "{purpose:?}");
        assert!(reader.warnings().iter().all(|it| it.contains("of 120 keys are the same, `same`")), "{purpose:?}");
    }
    let hosts: String = (0..200).map(|_| "0.0.0.0 a.com\n").collect();
    let (_, reader, _) = read(Format { hosts: true, ..plain() }, &[hosts.as_bytes()]);
    assert!(reader.warnings()[0].starts_with("at least 200 of 200 keys are the same, `a.com`"));
}

#[test]
fn a_line_may_have_the_limit_and_no_byte_more() {
    let limited = |max_line| Format { max_line, ..plain() };
    for whole in [b"abc\nabc\n".as_slice(), b"abc\nabc", b"abc\r\nabc\r\n", b"abc\r\nabc\r"] {
        assert_eq!(keys(limited(3), whole), ["abc", "abc"], "{whole:?}");
        let (found, _, error) = read(limited(2), &[whole]);
        assert!(found.is_empty());
        assert!(error.is_some_and(|error| error.to_string().starts_with("file 0, line 1 is longer than 2 bytes")));
    }
    let (found, _, error) = read(limited(3), &[b"a\n\nabcd\nb\n"]);
    assert_eq!(found, ["a"]);
    assert!(
        error.is_some_and(|error| error.to_string().contains("line 3") && error.to_string().contains("--max-line"))
    );
    assert!(read(Format { keep_cr: true, ..limited(3) }, &[b"abc\r\n"]).2.is_some());
}

#[test]
fn an_endless_line_is_refused_at_the_limit() {
    let mut reader = KeyReader::new(plain());
    reader.open("endless", io::Cursor::new(b"a\n\n").chain(io::repeat(b'x'))).expect("text");
    assert!(reader.advance().is_ok_and(|more| more));
    assert!(matches!(reader.advance(), Err(InputError::LongLine { line: 3, limit: MAX_LINE, .. })));
    let longest = [vec![b'x'; MAX_LINE as usize], b"\n".to_vec()].concat();
    assert_eq!(keys(plain(), &longest)[0].len() as u64, MAX_LINE);
}

/// A pipe whose writer is slow: each reading returns one piece, and one too many is a failure.
struct Pieces(VecDeque<&'static [u8]>);

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let piece = self.0.pop_front().ok_or_else(|| io::Error::other("it would have to wait"))?;
        into[..piece.len()].copy_from_slice(piece);
        Ok(piece.len())
    }
}

#[test]
fn a_line_of_a_slow_pipe_is_returned_before_the_next_arrives() {
    let mut reader = KeyReader::new(plain());
    reader.open("pipe", Pieces([b"P".as_slice(), b"Q\n", b"b\n"].into())).expect("text");
    for expected in [b"PQ".as_slice(), b"b"] {
        assert!(reader.advance().expect("a line"));
        assert_eq!(reader.key(), expected);
    }
    let error = reader.advance().expect_err("no more").to_string();
    assert_eq!(error, "cannot read pipe after line 2: it would have to wait");
}

#[test]
fn keys_at_hand_end_where_the_reader_would_have_to_wait_even_after_lines_without_a_key() {
    let mut format = plain();
    format.comments = true;
    let mut reader = KeyReader::new(format);
    // The first bytes are looked at before, and are a piece of their own.
    reader.open("pipe", Pieces([b"a\nb\n# no key\n\nc".as_slice(), b"d\n"].into())).expect("text");
    assert!(!reader.advance_at_hand().expect("nothing was read"), "a pipe that is not waited for has no line");
    let mut found = Vec::new();
    assert!(reader.advance().expect("a line"));
    found.push(reader.key().to_vec());
    while reader.advance_at_hand().expect("it does not wait") {
        found.push(reader.key().to_vec());
    }
    assert_eq!(found, [b"a", b"b"]);
    assert!(reader.advance().expect("the rest of the line"));
    assert_eq!((reader.key(), reader.counts().keys, reader.counts().comments), (&b"cd"[..], 3, 1));
    assert!(!reader.advance_at_hand().expect("it does not wait"));
}
