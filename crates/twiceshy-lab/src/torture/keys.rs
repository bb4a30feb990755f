//! The keys and values used in torture.

/// Keys with smaller numbers are inserted and removed; those from here on are only looked up.
pub(super) const STORED: u64 = 4_000;

/// The exclusive upper bound of all key numbers.
pub(super) const ASKED: u64 = STORED + STORED / 4;

/// The key of a number: one is empty, some are prefixes of others, and a few are longer than a page.
pub(super) fn key(number: u64) -> Vec<u8> {
    if number == 0 {
        return Vec::new();
    }
    let mut key = number.to_string().into_bytes();
    let dots = match number % 397 {
        0 => 5_000,
        1..=20 => 100,
        rest => rest % 20,
    };
    key.resize(key.len() + dots as usize, b'.');
    key
}

/// A value that no other operation of a round writes, unless it is empty.
pub(super) fn value(round: u64, operation: u64, position: usize) -> Vec<u8> {
    if position % 11 == 10 {
        return Vec::new();
    }
    let mut value = format!("{round}/{operation}/{position}").into_bytes();
    let dots = (operation as usize + position) * 7 % 100;
    value.resize(value.len() + dots, b'.');
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_numbers_share_a_key() {
        let keys: BTreeSet<Vec<u8>> = (0..ASKED).map(key).collect();
        assert_eq!(keys.len() as u64, ASKED);
        assert!(keys.contains(&[][..]));
        assert!(keys.iter().any(|key| key.len() > 4_096));
    }
}
