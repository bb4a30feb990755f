//! The memory of large tables.
//!
//! A look-up in a large table misses the processor's table of page addresses as well as its caches. With pages of 2 MB the
//! addresses of a table of gigabytes fit.

#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "the system is asked about a range of addresses"))]

/// Smaller tables are left to pages of the usual size: at most half of what is asked for could be large ones.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// This many zeros in large pages, where the system offers them; `None` if they cannot be allocated.
pub(crate) fn zeros(size: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).ok()?;
    ask_for_large_pages(&mut bytes);
    bytes.resize(size, 0);
    Some(bytes)
}

/// Asks for large pages behind a vector's unused capacity, before anything is written there. Whether there are any is not
/// said, and makes no difference but in speed.
#[cfg(target_os = "linux")]
fn ask_for_large_pages(bytes: &mut Vec<u8>) {
    /// The unit of addresses in such a request. A multiple of the page size of all usual systems.
    const PAGE: usize = 64 << 10;
    let spare = bytes.spare_capacity_mut();
    let (start, len) = (spare.as_mut_ptr(), spare.len());
    let before = start.addr().next_multiple_of(PAGE) - start.addr();
    if len < LARGE {
        return;
    }
    let inner = (len - before) / PAGE * PAGE;
    // SAFETY: the range lies in the vector's allocation. The advice changes how the system backs it, not what it holds.
    // It fails on systems without large pages, and then nothing changes.
    unsafe { libc::madvise(start.add(before).cast(), inner, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages(_: &mut Vec<u8>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_any_size_is_all_zeros_and_can_be_written() {
        for size in [0, 1, 4_095, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 9_000_001] {
            let mut bytes = zeros(size).unwrap();
            assert_eq!(bytes.len(), size);
            assert!(bytes.iter().all(|byte| *byte == 0));
            bytes.fill(7);
        }
        assert_eq!(zeros(isize::MAX as usize), None);
    }
}
