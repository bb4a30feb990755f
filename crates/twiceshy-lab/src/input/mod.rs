//! Keys from text, one per line: the only reader of lines in this project. The command's lists and the text traces of
//! the experiments go through it, so that a list and a query in the same form have the same keys.
//!
//! [`Format`] says what a line means; [`KeyReader`] reads one input after another, with memory for one line, and keeps
//! count of what looks wrong ([`KeyReader::warnings`]).

mod error;
mod foreign;
mod format;
mod gzip_members;
mod hosts;
mod inspect;
mod oddities;
mod reader;
mod repeated;
mod unpack;
mod zstd_frames;

pub use error::InputError;
pub use format::{Format, MAX_LINE, Purpose};
pub(crate) use inspect::is_binary;
pub use reader::{Counts, KeyReader};
pub(crate) use unpack::{Packing, Unpacked, Wait, unpack};

#[cfg(test)]
pub(crate) use unpack::tests as packed;
