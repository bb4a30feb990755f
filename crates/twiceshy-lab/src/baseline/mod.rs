//! The baselines for adaptive filters: Bloom filters, and filters that keep a list of their mistakes.
//!
//! None of these learns in the sense of the papers. A list of mistakes is the rival that the papers tend to leave out:
//! it is simple, and as good as long as the mistakes that matter fit.

mod bloom;
mod list;
mod mistakes;
mod simplified;

pub use bloom::{Bits, BlockedBloom, Bloom, Hashed};
pub use list::{Evicts, MistakeList};
pub use mistakes::{Listed, WithMistakes};
pub use simplified::SimplifiedFilter;
