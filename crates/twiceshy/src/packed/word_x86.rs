//! Rank and select with the instructions of x86-64.
//!
//! The unsafe part is the promise that the processor has an instruction. [`Instructions`] is the proof: only the detection
//! creates it, and [`X86`] can only be used through it.

#![expect(unsafe_code, reason = "instructions that not every processor has are called after their detection")]

use std::arch::x86_64::{_bzhi_u64, _pdep_u64, _pext_u64};
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
        let found = match FOUND.load(Ordering::Relaxed) {
            UNKNOWN => Self::ask(),
            known => known,
        };
        (found == PRESENT).then_some(Instructions(()))
    }

    #[cold]
    fn ask() -> u8 {
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
        // SAFETY: `self` exists only if all the features were detected.
        unsafe { with_features(work) }
    }
}

#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn with_features<K: Work>(work: K) -> K::Output {
    work.run::<X86>()
}

/// Counting with the processor's instructions. Private: only [`with_features`] names it, after the detection.
///
/// PDEP is microcode on AMD's Zen 1 and Zen 2, and takes up to hundreds of cycles instead of three. It is used anyway:
/// these processors are becoming rare, recognizing them takes a list of models, and the results are the same.
struct X86;

impl Word64 for X86 {
    #[inline(always)]
    fn rank(word: u64, bits: u32) -> u32 {
        X86::low(word, bits).count_ones()
    }

    #[inline(always)]
    fn low(word: u64, bits: u32) -> u64 {
        // BZHI looks at eight bits of the number, and leaves the word as it is from 64 on.
        // SAFETY: see `X86`.
        unsafe { _bzhi_u64(word, bits) }
    }

    #[inline(always)]
    fn select(word: u64, nth: u32) -> u32 {
        // PDEP puts bit i of its source where one number i of its mask is: the bit `nth` alone lands on the wanted one,
        // or nowhere, and zero has 64 trailing zeros.
        let source = 1u64.checked_shl(nth).unwrap_or(0);
        // SAFETY: see `X86`.
        unsafe { _pdep_u64(source, word) }.trailing_zeros()
    }

    #[inline(always)]
    fn deposit(word: u64, mask: u64) -> u64 {
        // SAFETY: see `X86`.
        unsafe { _pdep_u64(word, mask) }
    }

    #[inline(always)]
    fn extract(word: u64, mask: u64) -> u64 {
        // SAFETY: see `X86`.
        unsafe { _pext_u64(word, mask) }
    }
}
