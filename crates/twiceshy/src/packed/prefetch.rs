//! Requests memory before it is read.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the instruction is only reachable as an intrinsic that is marked unsafe")
)]

/// Asks the processor to bring a byte's cache line near. Harmless for a byte that is not there; does nothing on processors
/// without such an instruction.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = bytes.as_ptr().wrapping_add(at);
        // SAFETY: the instruction is a hint: it reads nothing that the program sees, and an address without memory is ignored.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}
