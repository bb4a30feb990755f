//! Checksums of values and log records: some stores do not notice that a page has changed on disk.

/// The length of a checksum.
const SUM: usize = 4;

/// Appends the checksum of a key and its value.
pub(crate) fn seal(key: &[u8], mut value: Vec<u8>) -> Vec<u8> {
    let sum = sum(key, &value);
    value.extend(sum);
    value
}

/// The value without its checksum; `None` if the checksum is wrong.
pub(crate) fn unseal(key: &[u8], mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let len = content(key, &bytes)?.len();
    bytes.truncate(len);
    Some(bytes)
}

/// The same for borrowed bytes.
pub(crate) fn content<'a>(key: &[u8], bytes: &'a [u8]) -> Option<&'a [u8]> {
    let (value, found) = bytes.split_last_chunk::<SUM>()?;
    (sum(key, value) == *found).then_some(value)
}

fn sum(key: &[u8], value: &[u8]) -> [u8; SUM] {
    let mut hasher = crc32fast::Hasher::new();
    // Otherwise a byte that moves from the key to the value would not be noticed.
    hasher.update(&(key.len() as u64).to_le_bytes());
    hasher.update(key);
    hasher.update(value);
    hasher.finalize().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_of_a_key_or_a_value_is_noticed() {
        for (key, value) in [(&b""[..], &b""[..]), (b"key", b""), (b"", b"value"), (b"key", b"value")] {
            let sealed = seal(key, value.to_vec());
            assert_eq!(unseal(key, sealed.clone()).as_deref(), Some(value));
            for at in 0..sealed.len() * 8 {
                let mut damaged = sealed.clone();
                damaged[at / 8] ^= 1 << (at % 8);
                assert_eq!(content(key, &damaged), None);
            }
            for at in 0..key.len() * 8 {
                let mut other = key.to_vec();
                other[at / 8] ^= 1 << (at % 8);
                assert_eq!(content(&other, &sealed), None);
            }
            assert!((0..sealed.len()).all(|len| content(key, &sealed[..len]).is_none()));
        }
        assert_eq!(content(b"ke", &seal(b"key", b"value".to_vec())), None);
    }
}
