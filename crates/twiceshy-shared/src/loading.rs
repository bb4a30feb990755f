//! A shard's filter as its engine holds it: the newest snapshot, and the records after it.

use crate::engine::{Engine, EngineError, Log, Logged, MOST_RECORDS, Snapshot};
use crate::error::Error;
use crate::names::{Head, Shard};
use crate::record::{self, Record, What};
use crate::set::Description;
use twiceshy::filter::Backed;
use twiceshy::plan::Plan;

/// About how many bytes of the log are read at once.
const READ: usize = 1 << 20;

/// Why a filter could not be loaded.
#[derive(Debug)]
pub(crate) enum Unloaded {
    /// The parts do not fit together, for this reason. They may have changed meanwhile: load it anew.
    Unfit(String),
    Engine(EngineError),
    Other(Error),
}

impl From<EngineError> for Unloaded {
    fn from(error: EngineError) -> Unloaded {
        Unloaded::Engine(error)
    }
}

/// The way to the filter of one shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) engine: &'a dyn Engine,
    pub(crate) described: &'a Description,
    pub(crate) shard: Shard,
}

/// A filter at the head, and what it was made of.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) filter: Box<dyn Backed>,
    pub(crate) at: Head,
    pub(crate) snapshot: Option<Snapshot>,
    /// The records since the snapshot, and their bytes.
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

impl Source<'_> {
    /// The filter of the newest snapshot, or an empty one.
    pub(crate) async fn start(&self) -> Result<Loaded, Unloaded> {
        let snapshot = self.engine.newest(self.shard).await?;
        let (filter, at) = match &snapshot {
            Some(snapshot) => (self.load(snapshot).await?, snapshot.at),
            None => (self.described.empty_filter().map_err(Unloaded::Other)?, self.root().await?),
        };
        Ok(Loaded { filter, at, snapshot, records: 0, bytes: 0 })
    }

    /// The head before the first record. A shard that nobody has joined does not know its set.
    async fn root(&self) -> Result<Head, EngineError> {
        let head = self.engine.head(self.shard).await?;
        Ok(if head == Head::default() { head } else { self.described.root() })
    }

    /// A saved filter.
    pub(crate) async fn load(&self, snapshot: &Snapshot) -> Result<Box<dyn Backed>, Unloaded> {
        let gone = || Unloaded::Unfit("a saved filter is gone".to_owned());
        let bytes = self.engine.load(self.shard, snapshot.id).await?.ok_or_else(gone)?;
        if record::digest(&bytes) != snapshot.digest {
            return Err(EngineError::Damaged("a saved filter does not match its digest".to_owned()).into());
        }
        let loaded = self.described.kind.load(&mut &bytes[..]);
        let damaged = |error| EngineError::Damaged(format!("a saved filter cannot be read: {error}")).into();
        loaded.map(|(filter, _)| filter).map_err(damaged)
    }

    /// The next records after a position, and `true` if there are no more.
    pub(crate) async fn records(&self, after: Head) -> Result<(Vec<Logged>, bool), Unloaded> {
        let unfit = |what: &str| Err(Unloaded::Unfit(format!("the log {what} record {}", after.position)));
        let records = match self.engine.read(self.shard, after, READ).await? {
            Log::Records(records) => records,
            Log::Cut => return unfit("was cut after"),
            Log::Broken => return unfit("has lost or replaced"),
        };
        let bytes: usize = records.iter().map(|logged| logged.record.len()).sum();
        let is_last = bytes < READ && records.len() < MOST_RECORDS;
        Ok((records, is_last))
    }

    /// The table that takes the place of the filter at a switch.
    pub(crate) async fn switched(&self, to: &Snapshot, plans: Vec<Plan>) -> Result<Box<dyn Backed>, Unloaded> {
        let mut filter = self.load(to).await?;
        apply(&mut filter, plans)?;
        Ok(filter)
    }

    /// The filter at the head, without being a member.
    pub(crate) async fn at_head(&self) -> Result<Loaded, Unloaded> {
        let mut loaded = self.start().await?;
        loop {
            let (records, is_last) = self.records(loaded.at).await?;
            for logged in records {
                self.advance(&mut loaded, &logged).await?;
            }
            if is_last {
                return Ok(loaded);
            }
        }
    }

    async fn advance(&self, loaded: &mut Loaded, logged: &Logged) -> Result<(), Unloaded> {
        let Record { digest, what, plans, .. } = next(logged, loaded.at)?;
        let named = |unloaded| match unloaded {
            Unloaded::Unfit(what) => Unloaded::Unfit(format!("record {}: {what}", logged.at.position)),
            other => other,
        };
        match what {
            What::Change => apply(&mut loaded.filter, plans).map_err(named)?,
            What::Grow { .. } => {}
            What::Switch { to } => loaded.filter = self.switched(&to, plans).await.map_err(named)?,
        }
        if digest.is_some_and(|digest| digest != record::save(&*loaded.filter).1) {
            return Err(named(Unloaded::Unfit("the filter after it does not match its digest".to_owned())));
        }
        loaded.at = logged.at;
        loaded.records += 1;
        loaded.bytes += logged.record.len() as u64;
        Ok(())
    }
}

/// The record that follows a position.
pub(crate) fn next(logged: &Logged, after: Head) -> Result<Record, Unloaded> {
    if logged.at.position != after.position + 1 {
        let what = format!("record {} follows record {}", logged.at.position, after.position);
        return Err(Unloaded::Unfit(what));
    }
    Ok(Record::from_bytes(&logged.record)?)
}

fn apply(filter: &mut Box<dyn Backed>, plans: Vec<Plan>) -> Result<(), Unloaded> {
    let unfit = |_| Unloaded::Unfit("it was made for another state of the filter".to_owned());
    plans.into_iter().try_for_each(|plan| filter.apply(plan).map(drop).map_err(unfit))
}
