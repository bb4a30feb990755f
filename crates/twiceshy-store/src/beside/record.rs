//! What the guard's own file keeps: a record for each key, and one for the guard.

use super::live::Standing;

/// A key in the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyRecord {
    pub(crate) standing: Standing,
    /// The last resync that has seen its row.
    pub(crate) seen: u32,
}

impl KeyRecord {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.standing == Standing::Open)];
        bytes.extend(self.seen.to_le_bytes());
        bytes
    }

    /// What cannot be read counts as open: its key stays.
    pub(crate) fn from_bytes(bytes: &[u8]) -> KeyRecord {
        match bytes {
            [open @ (0 | 1), a, b, c, d] => KeyRecord {
                standing: if *open == 1 { Standing::Open } else { Standing::Settled },
                seen: u32::from_le_bytes([*a, *b, *c, *d]),
            },
            _ => KeyRecord { standing: Standing::Open, seen: 0 },
        }
    }
}

/// Where the guard's record is, in the map of records.
pub(crate) const BESIDE: &[u8] = b"beside";

/// Its version.
const VERSION: u8 = 2;

/// The guard's own record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BesideRecord {
    /// `true` if the set has every row's key. Until then all look-ups go to the loader.
    pub(crate) complete: bool,
    /// `true` if no ticket was open when the guard was closed, and none was dropped since the last resync.
    pub(crate) tidy: bool,
    /// The number of the last resync.
    pub(crate) resync: u32,
}

impl BesideRecord {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![VERSION, u8::from(self.complete) | u8::from(self.tidy) << 1];
        bytes.extend(self.resync.to_le_bytes());
        let sum = crc32fast::hash(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    /// Reads the record. What is damaged or of a newer version counts as incomplete: a resync makes it whole.
    pub(crate) fn from_bytes(bytes: &[u8]) -> BesideRecord {
        BesideRecord::parse(bytes).unwrap_or_default()
    }

    fn parse(bytes: &[u8]) -> Option<BesideRecord> {
        let (body, sum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return None;
        }
        let (flags, resync) = match body {
            // Version 1 had 12 bytes more, which nothing needs.
            [1, flags, resync @ .., _, _, _, _, _, _, _, _, _, _, _, _] | [VERSION, flags, resync @ ..] => {
                (flags, resync)
            }
            _ => return None,
        };
        let (complete, tidy) = (flags & 1 != 0, flags & 2 != 0);
        Some(BesideRecord { complete, tidy, resync: u32::from_le_bytes(resync.try_into().ok()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_written_and_damaged_ones_keep_the_key_and_ask_for_a_resync() {
        for standing in [Standing::Open, Standing::Settled] {
            let record = KeyRecord { standing, seen: 0x0102_0304 };
            assert_eq!(KeyRecord::from_bytes(&record.to_bytes()), record);
        }
        for bytes in [&[][..], &[0], &[2, 0, 0, 0, 0], &[0; 6]] {
            assert_eq!(KeyRecord::from_bytes(bytes), KeyRecord { standing: Standing::Open, seen: 0 });
        }
        let record = BesideRecord { complete: true, tidy: false, resync: 7 };
        let bytes = record.to_bytes();
        assert_eq!(BesideRecord::from_bytes(&bytes), record);
        let mut older = [&[1, 1, 7, 0, 0, 0][..], &[9; 12]].concat();
        older.extend(crc32fast::hash(&older).to_le_bytes());
        assert_eq!(BesideRecord::from_bytes(&older), record);
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1;
            assert!(!BesideRecord::from_bytes(&bytes).complete);
            assert!(!BesideRecord::from_bytes(&bytes[..at]).complete);
        }
    }
}
