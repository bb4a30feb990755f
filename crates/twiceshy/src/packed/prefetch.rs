//! Requests memory before it is read.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the instruction is only reachable as an intrinsic that is marked unsafe")
)]

/// Asks the processor to bring a byte's cache line near. Does nothing for a byte that is not there, and on processors
/// without such an instruction.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(byte) = bytes.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of a byte in the slice; and the instruction is a hint, without effect on memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}
