//! A guard for a key-value store.

mod batch;
mod entry;
mod memory;
#[cfg(feature = "redb")]
mod redb_store;
mod state;
mod store;
mod view;

pub use memory::{Memory, MemoryError, MemoryStore};
#[cfg(feature = "redb")]
pub use redb_store::{RedbError, RedbStore};
pub use store::{Change, CommitError, Durability, Space, Store};
