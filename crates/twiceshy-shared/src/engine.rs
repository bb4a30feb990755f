//! What an engine must be able to do to hold a shared set.

use crate::names::{Announcement, Head, MemberId, Shard, SnapshotId};
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use twiceshy::remote::{Generation, Key, Order, OrderWords, Position};

/// What an engine answers, once it has.
pub type Reply<'a, T> = Pin<Box<dyn Future<Output = Result<T, EngineError>> + Send + 'a>>;

/// An error of an engine.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Nothing has happened.
    #[error("{0} (nothing was changed)")]
    Failed(String),
    /// It may have happened, or may happen later. Not for a request that changes nothing.
    #[error("the engine's answer was lost, so the request may have been carried out: {0}")]
    Unknown(String),
    /// What the engine holds cannot be understood.
    #[error("the set in the engine is damaged: {0}")]
    Damaged(String),
}

impl EngineError {
    /// The error of a request that changes nothing, so nothing may have been carried out.
    pub(crate) fn of_read(self) -> EngineError {
        match self {
            EngineError::Unknown(what) => EngineError::Failed(what),
            other => other,
        }
    }
}

/// The strongest promise that a set in an engine can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// No key whose insertion was acknowledged is denied. The engine never loses what it has committed.
    Exact,
    /// No such key is denied after a stated time, except while the engine replaces a failed machine.
    Within,
}

/// The entries of one key in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The generation.
    pub generation: Generation,
    /// The key.
    pub key: Key,
    /// Its word for each order.
    pub words: OrderWords,
}

/// A part of the index: the keys whose word of this order lies between two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The generation.
    pub generation: Generation,
    /// The order.
    pub order: Order,
    /// The lowest word.
    pub first: u64,
    /// The highest word.
    pub last: u64,
}

/// A record of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Its position and tag.
    pub at: Head,
    /// Its bytes.
    pub record: Vec<u8>,
}

/// What follows a position in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Log {
    /// These records, the first of which follows the position. Empty if it is the head.
    Records(Vec<Logged>),
    /// The log no longer goes back to this position.
    Cut,
    /// The log has another record at this position, or ends before it: the engine has lost records.
    Broken,
}

/// A transaction that appends a record, changes the index with it, and may do more.
///
/// **Contract.** All of it happens, or nothing. It happens only if the shard's head is `after`, if none of `unopened` has an open
/// announcement besides those in `close`, if none of `rowless` has a value, and if all announcements in `close` are open.
#[derive(Clone, Debug, Default)]
pub struct Append {
    /// The shard.
    pub shard: Shard,
    /// The head that the record follows.
    pub after: Head,
    /// The tag of the record: a random number.
    pub tag: u64,
    /// The record.
    pub record: Vec<u8>,
    /// Keys that come into the index.
    pub add: Vec<Entry>,
    /// Keys that leave it.
    pub remove: Vec<Entry>,
    /// Announcements that are opened.
    pub open: Vec<Open>,
    /// Announcements that are closed.
    pub close: Vec<Announcement>,
    /// Values that are written or, if `None`, deleted, in this order: of a key that is named twice, the last one counts.
    pub values: Vec<(Key, Option<Vec<u8>>)>,
    /// Keys that must have no open announcement.
    pub unopened: Vec<Key>,
    /// Keys that must have no value.
    pub rowless: Vec<Key>,
    /// Entries of the outbox that are deleted.
    pub moved: Vec<u64>,
    /// The member that has applied the record already, and acknowledges it with this transaction.
    pub applied_by: Option<MemberId>,
}

/// What became of an [`Append`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The record is the head now. These keys had a value that was deleted.
    Done(Vec<Key>),
    /// The head was another.
    Moved,
    /// These keys have an open announcement, or a value that they must not have.
    Busy(Vec<Key>),
    /// An announcement to be closed is not open.
    Closed,
}

/// The value's transaction of an insertion.
///
/// **Contract.** All values are written and all announcements closed, if all of them are open; otherwise nothing happens. An engine
/// whose shards are on several machines may treat the shards apart.
#[derive(Clone, Debug, Default)]
pub struct Settle {
    /// The announcements.
    pub close: Vec<(Shard, Announcement)>,
    /// The values.
    pub values: Vec<(Shard, Key, Vec<u8>)>,
}

/// An open announcement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// Its number.
    pub id: Announcement,
    /// The member that has opened it.
    pub member: MemberId,
    /// Its keys.
    pub keys: Vec<Key>,
}

/// A member as the engine knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its number.
    pub id: MemberId,
    /// How often it has renewed its lease.
    pub renewed: u64,
    /// The last position that it has acknowledged: it will never deny a key that was announced up to there.
    pub acknowledged: u64,
}

/// A member of a shard is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// The shard.
    pub shard: Shard,
    /// The member.
    pub member: MemberId,
    /// The position that it acknowledges: at most the head is taken.
    pub acknowledged: u64,
}

/// The answer to a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// The head when the renewal was carried out.
    pub head: Head,
    /// `true` if no row that was written past the guard waits for its record.
    pub outbox_is_empty: bool,
}

/// A saved filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its number.
    pub id: SnapshotId,
    /// The position of the filter.
    pub at: Head,
    /// The digest of its bytes.
    pub digest: u64,
    /// Their number.
    pub bytes: u64,
}

/// [`Engine::read`] may stop after this many records.
pub const MOST_RECORDS: usize = 1_024;

/// An engine: a database that holds one shared set, and that all its members reach.
///
/// **Contract.** Every request is one transaction: all of it happens or nothing, and a request sees every transaction whose answer
/// arrived before it was sent. [`EngineError::Failed`] is returned only if nothing has happened and nothing will. What was committed is
/// never lost, unless [`Engine::promise`] says that it may be; then the tags of the log's records show it.
///
/// The suite `contract` (feature `testing`) checks an implementation.
pub trait Engine: Debug + Send + Sync + 'static {
    /// What a set in this engine can promise.
    fn promise(&self) -> Promise;

    /// The length of the longest key.
    fn longest_key(&self) -> usize;

    /// The length of the longest value.
    fn longest_value(&self) -> usize {
        64 << 20
    }

    /// Makes an empty set with this description and number of shards. `false` if there is one already.
    fn create<'a>(&'a self, description: &'a [u8], shards: u32) -> Reply<'a, bool>;

    /// The description of the set; `None` if there is no set.
    fn description(&self) -> Reply<'_, Option<Vec<u8>>>;

    /// Makes this a member of a shard, durably, and acknowledges the head. A shard without records gets `root` as the tag of its head: a
    /// process that knows the set under another root, from before it was dropped and made anew, cannot append to it.
    fn join(&self, shard: Shard, member: MemberId, root: u64) -> Reply<'_, ()>;

    /// Ends a membership.
    fn leave(&self, shard: Shard, member: MemberId) -> Reply<'_, ()>;

    /// `true` if one request renews the memberships of all shards. `false` if the shards may be on several machines: then a member renews each shard
    /// with a request of its own, so that a machine that does not answer holds up no other shard.
    fn renews_together(&self) -> bool {
        true
    }

    /// Renews memberships, durably. `None` for one that has ended. An error means that some may have been renewed, and that none has ended.
    fn renew<'a>(&'a self, renewals: &'a [Renewal]) -> Reply<'a, Vec<Option<Renewed>>>;

    /// Acknowledges a position: at most the head is taken, and what was acknowledged is never lowered. Need not be durable.
    fn acknowledge(&self, shard: Shard, member: MemberId, position: u64) -> Reply<'_, ()>;

    /// The members of a shard.
    fn members(&self, shard: Shard) -> Reply<'_, Vec<Member>>;

    /// Ends the membership of another member, if it has renewed its lease exactly this often. `true` if it has.
    fn strike(&self, shard: Shard, member: MemberId, renewed: u64) -> Reply<'_, bool>;

    /// The head of a shard.
    fn head(&self, shard: Shard) -> Reply<'_, Head>;

    /// The records after a position: at least one, if there are any, not many more bytes than `limit`, and no fewer records than make so many
    /// bytes, unless that would be more than [`MOST_RECORDS`].
    fn read(&self, shard: Shard, after: Head, limit: usize) -> Reply<'_, Log>;

    /// The keys of parts of the index, and the head that they belong to.
    fn candidates<'a>(&'a self, shard: Shard, spans: &'a [Span]) -> Reply<'a, (Head, Vec<Vec<Key>>)>;

    /// The next keys of a generation in order 0 after a key, and the head that they belong to.
    fn walk<'a>(
        &'a self,
        shard: Shard,
        generation: Generation,
        after: Option<&'a Position>,
        limit: usize,
    ) -> Reply<'a, (Head, Vec<Position>)>;

    /// Appends a record.
    fn append<'a>(&'a self, append: &'a Append) -> Reply<'a, Appended>;

    /// Writes values and closes their announcements. `false` if one of these is not open: then nothing was written.
    fn settle<'a>(&'a self, settle: &'a Settle) -> Reply<'a, bool>;

    /// The open announcements of a shard.
    fn open(&self, shard: Shard) -> Reply<'_, Vec<Open>>;

    /// The values of keys. A key belongs to one shard, so an engine may keep the values of all shards together.
    fn get<'a>(&'a self, keys: &'a [(Shard, Key)]) -> Reply<'a, Vec<Option<Vec<u8>>>>;

    /// The keys that have a value, in an order of the engine's own: the first `limit` after a key, and fewer only if there are no more. A key
    /// whose value was there all the time is returned once. For checks.
    fn keys_of_values<'a>(&'a self, after: Option<&'a Key>, limit: usize) -> Reply<'a, Vec<Key>>;

    /// The oldest keys that were written past the guard, with the numbers of their outbox entries, above this one.
    fn outbox(&self, after: u64, limit: usize) -> Reply<'_, Vec<(u64, Key)>>;

    /// Keeps a saved filter. Readers see all of it or nothing.
    fn save<'a>(&'a self, shard: Shard, snapshot: Snapshot, bytes: &'a [u8]) -> Reply<'a, ()>;

    /// The bytes of a saved filter; `None` if it is gone.
    fn load(&self, shard: Shard, id: SnapshotId) -> Reply<'_, Option<Vec<u8>>>;

    /// The newest snapshot of a shard: the one with the highest position, of those whose position and tag are those of a record that the log
    /// has, or of the last one that was cut. Members save others, too, which only a record names.
    fn newest(&self, shard: Shard) -> Reply<'_, Option<Snapshot>>;

    /// Deletes the records up to a position, and the snapshots of lower positions.
    fn cut(&self, shard: Shard, up_to: u64) -> Reply<'_, ()>;

    /// Waits until records may have been appended to some of these shards after these positions, and returns those shards; after `timeout` none.
    /// It may miss some: members ask from time to time.
    fn wait<'a>(&'a self, known: &'a [(Shard, u64)], timeout: Duration) -> Reply<'a, Vec<Shard>>;
}
