//! The lines of a hosts file: an IP address, then names, then perhaps a comment. Lists that people merge have names
//! alone on a line as well.

use std::net::IpAddr;
use std::ops::Range;

/// Names that a hosts file has for the machine itself. They are no entry of a block list.
const LOCAL: [&str; 12] = [
    "localhost",
    "localhost.localdomain",
    "local",
    "broadcasthost",
    "ip6-localhost",
    "ip6-loopback",
    "ip6-localnet",
    "ip6-mcastprefix",
    "ip6-allnodes",
    "ip6-allrouters",
    "ip6-allhosts",
    "0.0.0.0",
];

/// `true` for the bytes that separate fields.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The length of a line without its comment.
pub(super) fn before_comment(line: &[u8]) -> usize {
    line.iter().position(|byte| *byte == b'#').unwrap_or(line.len())
}

/// The first field at or after an offset.
pub(super) fn field(line: &[u8], from: usize) -> Option<Range<usize>> {
    let begin = from + line.get(from..)?.iter().position(|byte| !is_blank(*byte))?;
    let length = line[begin..].iter().position(|byte| is_blank(*byte)).unwrap_or(line.len() - begin);
    Some(begin..begin + length)
}

/// `true` if a field is an IP address, perhaps with the name of an interface behind a `%`.
pub(super) fn is_address(field: &[u8]) -> bool {
    let address = field.split(|byte| *byte == b'%').next().unwrap_or_default();
    std::str::from_utf8(address).is_ok_and(|text| text.parse::<IpAddr>().is_ok())
}

/// `true` if a line has an address and a name.
pub(super) fn is_entry(line: &[u8]) -> bool {
    // Most keys are no addresses: a look at the first byte spares them the rest.
    let Some(first) = field(line, 0) else { return false };
    let may_be = line[first.start].is_ascii_hexdigit() || line[first.start] == b':';
    may_be && field(&line[..before_comment(line)], first.end).is_some() && is_address(&line[first])
}

/// `true` if a name means the machine itself.
pub(super) fn is_local(name: &[u8]) -> bool {
    LOCAL.iter().any(|local| name.eq_ignore_ascii_case(local.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_an_address_and_a_name() {
        for line in ["0.0.0.0 a.com", "127.0.0.1\ta b", "::1 a", "fe80::1%lo0 a", "  10.0.0.1  a # why"] {
            assert!(is_entry(line.as_bytes()), "{line}");
        }
        for line in ["", "a.com", "0.0.0.0", "0.0.0.0 # a", "1.2.3 a", "beef cake", "a 0.0.0.0", "1.2.3.4, a"] {
            assert!(!is_entry(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn names_of_the_machine_itself_are_local() {
        for name in ["localhost", "LocalHost", "localhost.localdomain", "broadcasthost", "ip6-allnodes", "0.0.0.0"] {
            assert!(is_local(name.as_bytes()), "{name}");
        }
        for name in ["localhost.example.com", "ip6", "ip6-evil.com", "ip6-", "10.0.0.1", "", "example.com"] {
            assert!(!is_local(name.as_bytes()), "{name}");
        }
    }
}
