//! What a set in an engine looks like from outside: read without becoming a member, so that nobody waits for the reader.

mod checking;
mod index;
mod problem;
#[cfg(test)]
mod tests;
mod values;

pub use checking::Checked;
pub use problem::{Names, Problem};

use crate::background;
use crate::engine::{Engine, EngineError, Member, Open, Snapshot};
use crate::error::Error;
use crate::loading::{Loaded, Source, Unloaded};
use crate::names::{Head, MemberId, Shard};
use crate::record;
use crate::set::{Description, Level, is_complete};
use std::sync::Arc;
use std::time::Duration;
use twiceshy::Kind;

/// The most outbox entries that a survey counts.
const MOST_COUNTED: usize = 1_000;

/// How often a filter is loaded anew because others have moved its snapshot away.
const LOADS: usize = 5;

/// A description of a set in an engine, and of its state.
///
/// ```
/// # async fn example() -> Result<(), twiceshy_shared::Error> {
/// use std::sync::Arc;
/// use twiceshy_shared::{MemoryEngine, Set, Survey};
///
/// let engine = MemoryEngine::new();
/// Set::new().shards(4).create(&engine).await?;
/// let survey = Survey::take(Arc::new(engine)).await?;
/// assert_eq!((survey.shards.len(), survey.keys()), (4, 0));
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Survey {
    /// The kind of the filters.
    pub kind: Kind,
    /// The false-positive rate of the filters.
    pub rate: f64,
    /// What the set promises.
    pub level: Level,
    /// How long a member may answer after it has heard from the engine: the lease of an exact set, the stated time of another.
    pub lease: Duration,
    /// `true` if the values are not in the engine.
    pub beside: bool,
    /// `true` if the set has every row's key, as always if the values are in the engine. `false` if all look-ups go to the store until a
    /// [`Shared::resync`](crate::Shared::resync) has ended.
    pub complete: bool,
    /// The rows that were written past the guard and wait for their record.
    pub outbox: Waiting,
    /// The shards.
    pub shards: Vec<ShardSurvey>,
}

/// Rows that wait for their record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Their number.
    pub count: u64,
    /// `true` if there may be more than this.
    pub or_more: bool,
}

/// The state of one shard.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShardSurvey {
    /// The shard.
    pub shard: Shard,
    /// The last record of its log.
    pub head: Head,
    /// The newest saved filter.
    pub snapshot: Option<Snapshot>,
    /// The filter at the head; why it cannot be loaded, otherwise.
    pub filter: Result<FilterSurvey, String>,
    /// The processes that follow the shard.
    pub members: Vec<MemberSurvey>,
    /// Insertions that have begun and not ended.
    pub announcements: Announced,
}

/// A shard's filter: the newest snapshot, changed by the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterSurvey {
    /// The keys in the filter.
    pub keys: u64,
    /// Its cells.
    pub cells: u64,
    /// Its memory in bits.
    pub local_bits: u64,
    /// The digest of its bits. Copies at the same position have the same digest.
    pub digest: u64,
    /// The records since the snapshot.
    pub log_records: u64,
    /// Their bytes.
    pub log_bytes: u64,
}

/// A process that follows a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberSurvey {
    /// Its number.
    pub id: MemberId,
    /// The last position that it has acknowledged.
    pub acknowledged: u64,
    /// The records that it has not acknowledged.
    pub lag: u64,
    /// How often it has renewed its lease.
    pub renewed: u64,
}

/// Insertions that have begun and not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Announced {
    /// Their number.
    pub open: u64,
    /// Their keys.
    pub keys: u64,
    /// How many of them are of members that are gone. Any member closes these in time.
    pub abandoned: u64,
}

impl Survey {
    /// Reads the state of the set in an engine. It changes nothing, and this process does not become a member.
    pub async fn take(engine: Arc<dyn Engine>) -> Result<Survey, Error> {
        background::run(take(engine)).await
    }

    /// Checks that the index, the filters, the log and the values agree. It changes nothing, and this process does not become a member.
    ///
    /// The keys of the set are in memory meanwhile. Each shard is checked at one position of its log, and again from the beginning if others change
    /// it: [`Error::Moving`] if they always do.
    pub async fn check(engine: Arc<dyn Engine>) -> Result<Checked, Error> {
        background::run(checking::check(engine)).await
    }

    /// The keys in all filters that can be loaded.
    pub fn keys(&self) -> u64 {
        self.filters().map(|filter| filter.keys).sum()
    }

    /// The filters that can be loaded.
    pub fn filters(&self) -> impl Iterator<Item = &FilterSurvey> {
        self.shards.iter().filter_map(|shard| shard.filter.as_ref().ok())
    }
}

/// The description of the set in an engine.
async fn described(engine: &dyn Engine) -> Result<Description, Error> {
    let description = engine.description().await?.ok_or(Error::NoSet)?;
    Ok(Description::from_bytes(&description)?)
}

async fn take(engine: Arc<dyn Engine>) -> Result<Survey, Error> {
    let described = described(&*engine).await?;
    let (mut shards, mut complete) = (Vec::new(), true);
    for shard in (0..described.shards).map(Shard) {
        complete &= is_complete(&*engine, &described, shard).await?;
        shards.push(survey_shard(&Source { engine: &*engine, described: &described, shard }).await?);
    }
    let count = engine.outbox(0, MOST_COUNTED).await?.len();
    let Description { kind, rate, beside, time: lease, .. } = described;
    let level = if described.exact { Level::Exact } else { Level::Within(lease) };
    let outbox = Waiting { count: count as u64, or_more: count >= MOST_COUNTED };
    Ok(Survey { kind, rate, level, lease, beside, complete, outbox, shards })
}

async fn survey_shard(source: &Source<'_>) -> Result<ShardSurvey, Error> {
    let Source { engine, shard, .. } = *source;
    // In this order: a member joins before it announces, and acknowledges no more than the head.
    let open = engine.open(shard).await?;
    let members = engine.members(shard).await?;
    let (head, snapshot, filter) = match load(source).await {
        Ok(loaded) => (loaded.at, loaded.snapshot, Ok(FilterSurvey::of(&loaded))),
        Err(Unfit::Damaged(what)) => (engine.head(shard).await?, engine.newest(shard).await?, Err(what)),
        Err(Unfit::Other(error)) => return Err(error),
    };
    let member = |Member { id, renewed, acknowledged }: &Member| MemberSurvey {
        id: *id,
        acknowledged: *acknowledged,
        lag: head.position.saturating_sub(*acknowledged),
        renewed: *renewed,
    };
    let announcements = Announced::of(&open, &members);
    Ok(ShardSurvey { shard, head, snapshot, filter, members: members.iter().map(member).collect(), announcements })
}

/// Why there is no filter to look at.
enum Unfit {
    /// What the engine holds makes no filter.
    Damaged(String),
    Other(Error),
}

/// Loads the filter of a shard. Members may take away the parts of an older one meanwhile, and go on.
async fn load(source: &Source<'_>) -> Result<Loaded, Unfit> {
    let (mut unfit, mut behind) = (None, None);
    for _ in 0..LOADS {
        let loaded = match source.at_head().await {
            Ok(loaded) => loaded,
            Err(Unloaded::Unfit(what)) => {
                unfit = Some(what);
                continue;
            }
            Err(Unloaded::Engine(EngineError::Damaged(what))) => return Err(Unfit::Damaged(what)),
            Err(Unloaded::Engine(error)) => return Err(Unfit::Other(error.into())),
            Err(Unloaded::Other(error)) => return Err(Unfit::Other(error)),
        };
        let head = source.engine.head(source.shard).await.map_err(|error| Unfit::Other(error.into()))?;
        let seen = (loaded.at, head);
        if loaded.at.position < head.position && behind == Some(seen) {
            let (last, head) = (loaded.at.position, head.position);
            return Err(Unfit::Damaged(format!("the log ends after record {last}, and {head} were appended")));
        }
        if loaded.at.position >= head.position || behind.is_some() {
            return Ok(loaded);
        }
        behind = Some(seen);
    }
    Err(Unfit::Damaged(unfit.unwrap_or_default()))
}

impl FilterSurvey {
    fn of(loaded: &Loaded) -> FilterSurvey {
        let filter = &*loaded.filter;
        FilterSurvey {
            keys: filter.len(),
            cells: filter.cells(),
            local_bits: filter.local_bits(),
            digest: record::save(filter).1,
            log_records: loaded.records,
            log_bytes: loaded.bytes,
        }
    }
}

impl Announced {
    fn of(open: &[Open], members: &[Member]) -> Announced {
        let is_gone = |open: &&Open| members.iter().all(|member| member.id != open.member);
        Announced {
            open: open.len() as u64,
            keys: open.iter().map(|open| open.keys.len() as u64).sum(),
            abandoned: open.iter().filter(is_gone).count() as u64,
        }
    }
}
