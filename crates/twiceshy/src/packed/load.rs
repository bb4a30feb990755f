//! Bytes at any place of a table.

#![expect(unsafe_code, reason = "a place is compared once, with the last one that all the bytes fit behind")]

/// The bytes from `at` on; zeros if they are not all there.
///
/// The slice methods compare twice: where the bytes begin and where they end.
#[inline(always)]
pub(crate) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> &[u8; N] {
    const { assert!(N > 0) };
    if at >= bytes.len().saturating_sub(N - 1) {
        return const { &[0; N] };
    }
    // SAFETY: `at + N - 1` is below the length, so N bytes from `at` on are in the slice, and live as long.
    unsafe { &*bytes.as_ptr().add(at).cast::<[u8; N]>() }
}

/// The eight bytes from `at` on, as a little-endian number; 0 if they are not all there.
#[inline(always)]
pub(crate) fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*chunk(bytes, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_the_next_bytes_and_zeros_where_they_are_not_all_there() {
        let bytes: Vec<u8> = (1..=20).collect();
        for len in 0..=20 {
            let bytes = &bytes[..len];
            for at in (0..30).chain([usize::MAX - 8, usize::MAX - 7, usize::MAX]) {
                let rest = bytes.get(at..).unwrap_or(&[]);
                assert_eq!(chunk::<3>(bytes, at), rest.first_chunk().unwrap_or(&[0; 3]), "{len} {at}");
                let eight = rest.first_chunk().unwrap_or(&[0; 8]);
                assert_eq!(word(bytes, at), u64::from_le_bytes(*eight), "{len} {at}");
            }
        }
    }
}
