//! Inputs that are not text and cannot be unpacked here, recognised by their first bytes. Read as lines, they would be
//! a few keys of junk.

/// The number of first bytes needed to recognise a tar archive.
pub(super) const START: usize = 512;

/// The longest mark at the very start of a file. Only that of tar is further back.
const LONGEST_MARK: usize = 10;

/// The mark of a byte order, which some editors put before UTF-8 text. It is stripped from the first line.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A kind of input that is refused: its name, and what to do instead.
pub(super) type Foreign = (&'static str, &'static str);

const UTF_16: Foreign =
    ("UTF-16 or UTF-32 text", "convert it first, such as with `iconv -f UTF-16 -t UTF-8 FILE > NEW`");
const BZIP2: Foreign = ("a bzip2 archive", "unpack it first, such as with `bzip2 -dc FILE | twiceshy …`");
const ZIP: Foreign = ("a zip archive", "unpack it first, such as with `unzip -p FILE | twiceshy …`");
const SEVEN_ZIP: Foreign = ("a 7z archive", "unpack it first, such as with `7z x -so FILE | twiceshy …`");
const LZ4: Foreign = ("an lz4 archive", "unpack it first, such as with `lz4 -dc FILE | twiceshy …`");
const TAR: Foreign = ("a tar archive", "unpack it first, such as with `tar -xOf FILE | twiceshy …`");

/// The first bytes of refused kinds.
const MARKS: [(&[u8], Foreign); 7] = [
    (b"\xFF\xFE", UTF_16),
    (b"\xFE\xFF", UTF_16),
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", ZIP),
    (b"7z\xBC\xAF\x27\x1C", SEVEN_ZIP),
    (b"\x04\x22\x4D\x18", LZ4),
    (b"\0\0\xFE\xFF", UTF_16),
];

/// The first bytes of kinds that are read, beside those of `MARKS` that are not.
const READ_MARKS: [&[u8]; 3] = [b"\x1F\x8B\x08", b"\xFD7zXZ\0", b"\x28\xB5\x2F\xFD"];

/// bzip2: a digit follows, and then the start of a block or the end of the stream.
const BZIP2_MARK: &[u8] = b"BZh";
const BZIP2_NEXT: [&[u8]; 2] = [b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"];

/// A zstd frame to skip: the first byte is one of sixteen.
const SKIPPABLE_REST: &[u8] = b"\x2A\x4D\x18";

/// The refused kind of an input that starts with these bytes.
pub(super) fn foreign(start: &[u8]) -> Option<Foreign> {
    let bzip2 = || BZIP2_NEXT.iter().any(|next| start.get(4..).is_some_and(|rest| rest.starts_with(next)));
    if start.starts_with(BZIP2_MARK) && bzip2() {
        return Some(BZIP2);
    }
    if start.get(257..262) == Some(b"ustar") {
        return Some(TAR);
    }
    MARKS.iter().find(|(mark, _)| start.starts_with(mark)).map(|(_, kind)| *kind)
}

/// `true` if further bytes could still make this the start of an archive. Text is decided after
/// its first bytes, so that the first lines of a slow pipe need not wait for more.
pub(super) fn is_undecided(start: &[u8]) -> bool {
    let agrees = |mark: &&[u8]| start.iter().zip(mark.iter()).all(|(byte, expected)| byte == expected);
    let skippable = start.first().is_none_or(|first| (0x50..=0x5F).contains(first))
        && start.iter().skip(1).zip(SKIPPABLE_REST).all(|(byte, expected)| byte == expected);
    let marks = MARKS.iter().map(|(mark, _)| *mark);
    start.len() < LONGEST_MARK && (skippable || marks.chain(READ_MARKS).chain([BZIP2_MARK]).any(|mark| agrees(&mark)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_that_are_not_unpacked_are_known_by_their_first_bytes() {
        let mut tar = vec![0; 512];
        tar[..5].copy_from_slice(b"names");
        tar[257..262].copy_from_slice(b"ustar");
        for (start, kind) in [
            (b"BZh91AY&SY\x01".as_slice(), BZIP2),
            (b"BZh9\x17\x72\x45\x38\x50\x90", BZIP2),
            (b"PK\x03\x04rest", ZIP),
            (b"PK\x05\x06", ZIP),
            (b"7z\xBC\xAF\x27\x1C", SEVEN_ZIP),
            (b"\x04\x22\x4D\x18", LZ4),
            (b"\xFF\xFEa\0", UTF_16),
            (b"\xFE\xFF\0a", UTF_16),
            (b"\0\0\xFE\xFF", UTF_16),
            (&tar, TAR),
        ] {
            assert_eq!(foreign(start), Some(kind), "{start:?}");
        }
        for text in [b"".as_slice(), b"a\n", b"BZh\n", b"BZh9 is a name", b"PK\n", b"7z\n", &[b'a'; 512]] {
            assert_eq!(foreign(text), None, "{text:?}");
        }
    }

    #[test]
    fn text_is_decided_at_its_first_bytes_and_an_archive_only_when_it_is_whole() {
        for text in [b"a".as_slice(), b"PA", b"BZZ", b"\xEF", b"Z\n", b"a longer line"] {
            assert!(!is_undecided(text), "{text:?}");
        }
        for start in [b"".as_slice(), b"\x1F", b"\xFD7z", b"\x5A\x2A", b"P", b"PK\x03", b"BZh9", b"\xFF"] {
            assert!(is_undecided(start), "{start:?}");
        }
    }
}
