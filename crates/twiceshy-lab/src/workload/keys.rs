//! Synthetic keys. They are distinct by construction, so no list is needed to keep stored and absent keys apart.

use super::rng::{Rng, scramble};

/// The keys of one trial: `stored` keys to put into a filter and `absent` keys to ask it for, eight bytes each.
///
/// Key `i` is a 64-bit bijection of `i`, chosen by the seed. The stored keys are the images of `0..stored`, the absent
/// keys those of the numbers that follow. So all are distinct without being stored: three words of memory, a few
/// nanoseconds per key. The bytes look random but are not secret.
///
/// ```
/// use twiceshy_lab::workload::keys::Keys;
///
/// let keys = Keys::new(1000, 10_000, 42).expect("far fewer than 2^64 keys");
/// assert_ne!(keys.stored(0), keys.absent(0));
/// assert_eq!(keys.stored_keys().count(), 1000);
/// ```
#[derive(Clone, Debug)]
pub struct Keys {
    stored: u64,
    absent: u64,
    whiten: [u64; 2],
}

impl Keys {
    /// The keys of a trial; `None` if there are more than eight bytes can name.
    pub fn new(stored: u64, absent: u64, seed: u64) -> Option<Self> {
        stored.checked_add(absent)?;
        let mut rng = Rng::stream(seed, 0x4B45_5953);
        Some(Self { stored, absent, whiten: [rng.word(), rng.word()] })
    }

    /// The number of stored keys.
    pub fn stored_len(&self) -> u64 {
        self.stored
    }

    /// The number of absent keys.
    pub fn absent_len(&self) -> u64 {
        self.absent
    }

    /// The stored key with a number in `0..stored_len()`. Higher numbers are absent keys.
    pub fn stored(&self, number: u64) -> [u8; 8] {
        self.key(number)
    }

    /// The absent key with a number in `0..absent_len()`, as yielded by a [query source](super::Queries).
    pub fn absent(&self, number: u64) -> [u8; 8] {
        self.key(self.stored.wrapping_add(number))
    }

    /// All stored keys, by number.
    pub fn stored_keys(&self) -> impl Iterator<Item = [u8; 8]> + '_ {
        (0..self.stored).map(|number| self.stored(number))
    }

    fn key(&self, number: u64) -> [u8; 8] {
        let [before, between] = self.whiten;
        scramble(scramble(number ^ before) ^ between).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn keys(stored: u64, absent: u64, seed: u64) -> Keys {
        Keys::new(stored, absent, seed).expect("the sum fits 64 bits")
    }

    #[test]
    fn no_absent_key_is_stored_and_none_comes_twice() {
        let keys = keys(20_000, 50_000, 9);
        let mut seen: HashSet<[u8; 8]> = keys.stored_keys().collect();
        seen.extend((0..keys.absent_len()).map(|number| keys.absent(number)));
        assert_eq!(seen.len(), 70_000);
    }

    #[test]
    fn the_seed_alone_decides_the_keys() {
        assert_eq!(keys(10, 10, 1).absent(3), keys(10, 99, 1).absent(3));
        assert_ne!(keys(10, 10, 1).absent(3), keys(10, 10, 2).absent(3));
        let expected = [106, 198, 236, 100, 19, 67, 69, 154];
        assert_eq!(keys(10, 10, 1).stored(0), expected);
    }

    #[test]
    fn each_bit_of_the_keys_is_set_half_the_time_within_four_deviations() {
        let keys = keys(40_000, 0, 5);
        let mut ones = [0u32; 64];
        for key in keys.stored_keys() {
            let word = u64::from_le_bytes(key);
            for (bit, count) in ones.iter_mut().enumerate() {
                *count += (word >> bit & 1) as u32;
            }
        }
        for count in ones {
            assert!((f64::from(count) - 20_000.0).abs() <= 4.0 * 100.0, "{count}");
        }
    }

    #[test]
    fn more_keys_than_eight_bytes_can_name_are_refused() {
        assert!(Keys::new(u64::MAX, 1, 0).is_none());
        assert!(Keys::new(u64::MAX, 0, 0).is_some());
    }
}
