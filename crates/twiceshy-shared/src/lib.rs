//! One set for many processes on many machines.
//!
//! Each process has an adaptive filter of the set in its own memory, so that a look-up of an absent key costs no round trip. All agree with a
//! database that holds the set, and a mistake that one of them has paid for is fixed in all.
//!
//! ```
//! use twiceshy_shared::{MemoryEngine, Set, Shared};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), twiceshy_shared::Error> {
//! // In place of this: `PostgresEngine::new("postgres://user:password@host/database", "users")?`.
//! let engine = MemoryEngine::new();
//! Set::new().expected_keys(1_000_000).create(&engine).await?;
//!
//! // Two processes.
//! let (one, other) = (Shared::open(engine.clone()).await?, Shared::open(engine).await?);
//! one.insert(b"ann", b"Ann").await?;
//! assert!(other.may_contain(b"ann")); // no process denies it from now on
//! assert_eq!(other.get(b"bob").await?, None); // turned away in memory, unless the filter errs
//! # Ok(())
//! # }
//! ```
//!
//! Rows that stay in a database of your own: [`Set::beside`], then [`Shared::resync`], [`Shared::announce`] and [`Shared::get_or_load`]. For threads that may
//! block: [`Blocking`].

mod address;
mod background;
mod batches;
mod beside;
mod blocking;
mod clock;
#[cfg(feature = "testing")]
pub mod contract;
mod desk;
mod engine;
mod error;
mod guard;
mod inner;
mod known;
mod loading;
mod member;
mod memory;
mod names;
mod outbox;
#[cfg(feature = "postgres")]
mod postgres;
mod record;
#[cfg(feature = "redis")]
mod redis_engine;
mod replica;
#[cfg(feature = "testing")]
pub mod servers;
mod set;
mod spotted;
mod stats;
mod survey;
mod watch;

pub use address::{connect, is_address, shown};
pub use beside::{Resynced, Retirement, Ticket};
pub use blocking::Blocking;
pub use engine::{
    Append, Appended, Engine, EngineError, Entry, Log, Logged, MOST_RECORDS, Member, Open, Promise, Renewal, Renewed,
    Reply, Settle, Snapshot, Span,
};
pub use error::Error;
pub use guard::{Freshness, Opening, Shared, Token};
pub use memory::{Fate, Faults, MemoryEngine};
pub use names::{Announcement, Head, MemberId, Shard, SnapshotId};
#[cfg(feature = "postgres")]
pub use postgres::PostgresEngine;
#[cfg(feature = "redis")]
pub use redis_engine::RedisEngine;
pub use set::{Level, Set};
pub use stats::{CopyStats, Stats};
pub use survey::{Announced, Checked, FilterSurvey, MemberSurvey, Names, Problem, ShardSurvey, Survey, Waiting};
