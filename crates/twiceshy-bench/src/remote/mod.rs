//! Remotes as lean as they can be for keys of 8 bytes, so that an insertion's time is the filter's and not a tree's.
//!
//! * [`CellMirror`], for the cuckoo kinds: one array from a cell to its key.
//! * [`FlatByHash`], for the quotient kinds and broom: one flat table, ordered by hash word, for each order and generation.
//!
//! They answer as the library's [`Mirror`](twiceshy::remote::Mirror) and [`ByHash`](twiceshy::remote::ByHash) do. They refuse
//! what the benchmark never does: keys of another length, the key of eight zero bytes (which marks an empty place), and,
//! in the mirror, a second generation.

mod cell_mirror;
mod flat_by_hash;
mod sorted_table;

pub use cell_mirror::CellMirror;
pub use flat_by_hash::FlatByHash;

use twiceshy::remote::{CellId, Generation, Key, Remote};

/// Why a lean remote refused a commit or a question. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeanError {
    /// A key that the remote cannot store.
    #[error("a lean remote stores keys of 8 bytes that are not all zero, not {0:?}")]
    Key(Vec<u8>),
    /// A generation that does not exist.
    #[error("the remote has no generation {}", .0.0)]
    NoGeneration(Generation),
    /// A generation that is in use cannot begin again.
    #[error("the remote's generation {} is in use", .0.0)]
    GenerationInUse(Generation),
    /// The mirror and the filter disagree about a cell.
    #[error("the mirror and the filter disagree about cell {}", .0.0)]
    Cell(CellId),
    /// The mirror was not told the cell of a key.
    #[error("a mirror of cells must be told the cell of every key")]
    NoCell,
    /// A change that only other remotes support.
    #[error("a lean mirror of cells has one generation and no frontier: use a remote of the library")]
    OneGeneration,
}

/// A lean remote, as the benchmark uses it.
pub trait Lean: Remote + Default {
    /// All keys with the cells that they were added to, in no particular order. The cell is `None` in a remote by hash.
    fn added(&self) -> Vec<(u64, Option<CellId>)>;
}

/// The number of a key: its big-endian bytes, so that numbers sort as keys do. 0 marks an empty place.
fn number(key: &[u8]) -> Result<u64, LeanError> {
    let bytes = <[u8; 8]>::try_from(key).ok();
    let number = bytes.map(u64::from_be_bytes).filter(|number| *number != 0);
    number.ok_or_else(|| LeanError::Key(key.to_vec()))
}

/// The key of a number.
fn key(number: u64) -> Key {
    Key::from(&number.to_be_bytes()[..])
}
