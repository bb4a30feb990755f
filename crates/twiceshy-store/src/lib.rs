//! An adaptive filter in front of a key-value store, kept consistent with it.
//!
//! Every look-up of an absent key costs a store a disk read or a network round trip. A filter turns most of them away. For
//! some keys it is wrong, and an ordinary filter is wrong about them every time they are asked for. The filters of
//! [`twiceshy`] are told that they were wrong, and change. A [`Guard`] puts one in front of a store, grows it, saves it, restores
//! it and lets it learn. Every answer comes from the store.
//!
//! ```
//! # #[cfg(feature = "redb")] {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("blocked");
//! use twiceshy_store::Guard;
//!
//! let blocked = Guard::open(&path)?;
//! blocked.insert(b"203.0.113.9", b"scanned our ports")?;
//! assert!(blocked.contains(b"203.0.113.9")?);
//! // Most absent keys never reach the store.
//! assert_eq!(blocked.get(b"198.51.100.1")?, None);
//! println!("{} look-ups turned away", blocked.stats().turned_away);
//! blocked.close()?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! That guard owns its store. [`Guard::beside`] stands beside one that you have, in the same process as all who write to it: see
//! [`Beside`].
//!
//! **Stores.** `Guard::open` keeps its data in a redb file. [`Options::open`] takes any [`Store`], the trait that a guard needs:
//! four ordered maps that change together. This crate has one in memory ([`Memory`]), one in a redb file (`RedbStore`, feature
//! `redb`, on by default), one in a fjall folder (`FjallStore`, feature `fjall`) and one in an SQLite file (`SqliteStore`, feature
//! `sqlite`). The module `contract` (feature `testing`) checks other implementations. A store that has values already is
//! [taken over](Options::take_over).
//!
//! ```
//! # #[cfg(feature = "sqlite")] {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("blocked.sqlite");
//! use twiceshy_store::{Options, SqliteStore};
//!
//! let blocked = Options::new().open(SqliteStore::open(&path)?)?;
//! blocked.insert(b"203.0.113.9", b"scanned our ports")?;
//! assert!(blocked.contains(b"203.0.113.9")?);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Features.** `redb` (on by default), `fjall`, `sqlite`: embedded stores. `metrics`: `Guard::publish` passes the [`Stats`] on to the
//! crate `metrics`. `tracing`: what happens to a guard is told to the crate `tracing`. `serde`: [`Stats`] can be serialized. `testing`:
//! the contract for stores, and stores that fail. Neither metrics nor events ever hold a key.

mod asking;
mod batch;
mod beside;
mod bulk;
#[cfg(any(feature = "fjall", feature = "redb"))]
mod caught;
mod changing;
mod checking;
mod choice;
#[cfg(feature = "testing")]
pub mod contract;
mod entry;
mod error;
#[cfg(feature = "testing")]
pub mod faulty;
#[cfg(feature = "fjall")]
mod fjall_store;
#[cfg(feature = "redb")]
mod folder;
mod growing;
mod guard;
#[cfg(feature = "testing")]
pub mod hooked;
mod index;
mod inner;
mod layout;
mod learning;
mod memory;
mod options;
mod pending;
mod planned;
mod policy;
mod queue;
mod rebuilding;
#[cfg(feature = "redb")]
mod redb_store;
mod remembered;
mod repairing;
mod rolling;
#[cfg(feature = "redb")]
mod salvaging;
mod saving;
mod snapshot;
#[cfg(feature = "sqlite")]
mod sqlite_store;
mod state;
mod stats;
mod status;
mod store;
mod striped;
mod sum;
mod taking_over;
mod teaching;
mod turns;
mod watch;

pub use beside::{Announcement, Beside, ResyncError, Resynced, Retirement, Tickets};
#[cfg(any(feature = "fjall", feature = "redb"))]
pub use caught::panics_become_errors;
pub use checking::Checked;
pub use error::Error;
#[cfg(feature = "fjall")]
pub use fjall_store::{FjallError, FjallStore};
#[cfg(feature = "redb")]
pub use folder::{KEYS_FILE, SNAPSHOT_FILE, STORE_FILE};
pub use guard::{Entries, Guard};
pub use memory::{Memory, MemoryError, MemoryStore};
pub use options::Options;
pub use planned::Planned;
pub use policy::Adapt;
#[cfg(feature = "redb")]
pub use redb_store::{RedbError, RedbOptions, RedbStore};
pub use repairing::Repaired;
#[cfg(feature = "sqlite")]
pub use sqlite_store::{SqliteError, SqliteStore};
pub use stats::Stats;
pub use status::{STATUS_FILE, Status};
pub use store::{Change, CommitError, Durability, Space, Store};
pub use twiceshy::Kind;
pub use twiceshy::memory::Limits;

/// The code in this crate's README, in that of the crate `twiceshy` and in the repository's is compiled and run. The last two are
/// links: a packaged crate holds copies.
#[cfg(all(doctest, feature = "redb"))]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../tests/readme/twiceshy.md")]
#[doc = include_str!("../tests/readme/root.md")]
struct Readme;
