//! One set for many processes on many machines.
//!
//! Each process has an adaptive filter of the set in its own memory, so that a look-up of an absent key costs no round trip. All agree with a
//! database that holds the set, and a mistake that one of them has paid for is fixed in all.

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
mod stats;
mod survey;

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
