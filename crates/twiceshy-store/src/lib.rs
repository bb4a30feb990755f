//! A guard for a key-value store.

mod batch;
mod changing;
mod checking;
mod entry;
mod error;
mod growing;
mod guard;
mod inner;
mod kind;
mod learning;
mod memory;
mod options;
mod pending;
mod policy;
mod queue;
mod recorder;
#[cfg(feature = "redb")]
mod redb_store;
mod rolling;
mod saving;
mod snapshot;
mod state;
mod stats;
mod store;
mod view;

pub use error::Error;
pub use guard::{Entries, Guard};
pub use kind::FilterKind;
pub use memory::{Memory, MemoryError, MemoryStore};
pub use options::Options;
pub use policy::Adapt;
#[cfg(feature = "redb")]
pub use redb_store::{RedbError, RedbStore};
pub use stats::Stats;
pub use store::{Change, CommitError, Durability, Space, Store};
