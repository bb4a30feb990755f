//! Asks the processor for a cache line before it is read.

/// `true` if [`prefetch`] does something on this processor.
pub(crate) const HAS_PREFETCH: bool = cfg!(target_arch = "x86_64");

/// Asks for the cache line of the byte at `at`. A position outside the slice is harmless.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    let address = bytes.as_ptr().wrapping_add(at).cast();
    #[expect(unsafe_code, reason = "a hint: the processor reads nothing that a program can see, and no address faults")]
    // SAFETY: every x86-64 processor has the instruction, and it accepts any address.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(address);
    }
}

/// Does nothing: there is no stable hint for this processor.
#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn prefetch(_: &[u8], _: usize) {}
