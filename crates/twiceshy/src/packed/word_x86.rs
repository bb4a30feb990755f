//! Rank and select with the instructions of x86-64.
//!
//! The unsafe part is the promise that the processor has an instruction. [`Instructions`] is the proof: only the detection
//! creates it, and [`X86`] can only be used through it.
//!
//! The instructions are written as assembly, not as intrinsics. A function with intrinsics must be compiled for the processors
//! that have them, and then it cannot be inlined into one that is compiled for all: every look-up paid for a call, and for moving
//! its registers out of the way. That was 40 of 228 instructions in the quotient filter.

#![expect(unsafe_code, reason = "instructions that not every processor has are used after their detection")]

use std::arch::asm;
use std::sync::atomic::{AtomicU8, Ordering};

use super::word::{Word64, Work};

/// Proof that this processor has BMI1, BMI2, LZCNT and POPCNT.
#[derive(Clone, Copy)]
pub(crate) struct Instructions(());

/// What the detection found: unknown, absent or present. A single load of one byte; std's cache takes a load and two tests
/// for each of the four features.
static FOUND: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const ABSENT: u8 = 1;
const PRESENT: u8 = 2;

impl Instructions {
    /// The proof, if the processor has them.
    #[inline(always)]
    pub(crate) fn detect() -> Option<Instructions> {
        // A relaxed load is enough: the byte guards no other memory, and every thread detects the same.
        let is_present = FOUND.load(Ordering::Relaxed) == PRESENT || Self::ask() == PRESENT;
        is_present.then_some(Instructions(()))
    }

    #[cold]
    #[inline(never)]
    fn ask() -> u8 {
        if FOUND.load(Ordering::Relaxed) != UNKNOWN {
            return ABSENT;
        }
        let all = is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let found = if all { PRESENT } else { ABSENT };
        FOUND.store(found, Ordering::Relaxed);
        found
    }

    /// Runs work that may use these instructions.
    #[inline(always)]
    pub(crate) fn run<K: Work>(self, work: K) -> K::Output {
        work.run::<X86>()
    }
}

/// One instruction of two sources and a target, which reads no memory. It may change the flags.
macro_rules! instruction {
    ($name:literal, $first:expr, $second:expr) => {{
        let target: u64;
        // SAFETY: only `Instructions::run` names `X86`, after the detection. The instruction has no effect but on its target.
        unsafe {
            asm!(
                concat!($name, " {}, {}, {}"),
                lateout(reg) target,
                in(reg) $first,
                in(reg) $second,
                options(pure, nomem, nostack)
            );
        }
        target
    }};
    ($name:literal, $source:expr) => {{
        let target: u64;
        // SAFETY: as above.
        unsafe { asm!(concat!($name, " {}, {}"), lateout(reg) target, in(reg) $source, options(pure, nomem, nostack)) };
        target
    }};
}

/// Counting with the processor's instructions. Private: only [`Instructions::run`] names it, after the detection.
///
/// PDEP is microcode on AMD's Zen 1 and Zen 2, and takes up to hundreds of cycles instead of three. It is used anyway:
/// these processors are becoming rare, recognizing them takes a list of models, and the results are the same.
struct X86;

impl Word64 for X86 {
    #[inline(always)]
    fn ones(word: u64) -> u32 {
        instruction!("popcnt", word) as u32
    }

    #[inline(always)]
    fn rank(word: u64, bits: u32) -> u32 {
        X86::ones(X86::low(word, bits))
    }

    #[inline(always)]
    fn low(word: u64, bits: u32) -> u64 {
        // BZHI looks at eight bits of the number, and leaves the word as it is from 64 on.
        instruction!("bzhi", word, u64::from(bits))
    }

    #[inline(always)]
    fn select(word: u64, nth: u32) -> u32 {
        debug_assert!(nth < 64, "one number {nth}");
        // PDEP puts bit i of its source where one number i of its mask is: the bit `nth` alone lands on the wanted one,
        // or nowhere, and zero has 64 trailing zeros. SHLX shifts by the lowest six bits of the number.
        let source = instruction!("shlx", 1u64, u64::from(nth));
        instruction!("tzcnt", X86::deposit(source, word)) as u32
    }

    #[inline(always)]
    fn length(word: u64) -> u32 {
        64 - instruction!("lzcnt", word) as u32
    }

    /// The compiler recognizes a maximum in every form, and makes a branch of it where it expects one to be cheaper.
    #[inline(always)]
    fn greater(one: u64, other: u64) -> u64 {
        let mut greater = one;
        // SAFETY: every processor has these two instructions, and they have no effect but on the target and the flags.
        unsafe {
            asm!(
                "cmp {0}, {1}",
                "cmovb {0}, {1}",
                inout(reg) greater,
                in(reg) other,
                options(pure, nomem, nostack)
            );
        }
        greater
    }

    #[inline(always)]
    fn deposit(word: u64, mask: u64) -> u64 {
        instruction!("pdep", word, mask)
    }

    #[inline(always)]
    fn extract(word: u64, mask: u64) -> u64 {
        instruction!("pext", word, mask)
    }
}
