//! Filling a larger table, publishing it, and switching to it.
//!
//! One member fills the table from the index, in the order of the hash. Keys that come and go meanwhile wait in a queue, and are brought to the part of
//! the table that is filled. The index is always at the log's end, and the table behind it by the queue: so a plan for the table sees the index
//! without what is still in the queue. When all keys are in, the table is saved as a snapshot, and a record says that it takes the place of the
//! filter. What came after the snapshot is in that record, as plans: so it need not be saved again if others were faster.

use super::{Desk, PAUSE, Trouble};
use crate::engine::{Append, Appended, Snapshot};
use crate::error::Error;
use crate::known::{Known, missing, passed};
use crate::names::{Head, SnapshotId, random};
use crate::record::{self, Record, What};
use crate::stats::add;
use std::collections::VecDeque;
use twiceshy::error::PlanError;
use twiceshy::filter::{Backed, Operation, Target};
use twiceshy::plan::Plan;
use twiceshy::remote::{Generation, Key, Position, Schema};

/// The load at which a larger table is begun.
const GROWS_AT: f64 = 0.85;

/// How many keys are brought over at once.
const STEP: usize = 4_096;

/// How many records a saved table outlives: the log may be cut before its switch is committed.
const KEPT: u64 = 1 << 20;

/// A table that is being filled.
#[derive(Debug)]
pub(super) struct Growing {
    table: Box<dyn Backed>,
    /// The layout of the index.
    schema: Schema,
    generation: Generation,
    cursor: Option<Position>,
    /// Keys that came (`true`) or went, and are not in the table yet.
    pub(super) queue: VecDeque<(bool, Key)>,
    /// The saved table, and what was done to the table since.
    saved: Option<(Snapshot, Vec<Plan>)>,
    /// `true` if the walk has seen the last key.
    is_full_walk: bool,
}

impl Desk {
    /// Begins a larger table if one is needed, and goes on with one that was begun.
    pub(super) async fn grow_some(&mut self) -> Result<(), Trouble> {
        if self.growing.is_none() && !self.wants_growth().await? {
            return Ok(());
        }
        if self.growing.is_none() {
            self.begin_growth(0).await?;
        }
        match self.growth_step().await {
            Err(Trouble::Moved) => self.follow().await,
            // A table that is too small, or cannot be filled, is given up for a while.
            Err(Trouble::Full | Trouble::Other(_)) => {
                self.growing = None;
                self.growth_elsewhere = Some((self.copy().member(), self.inner.now().after(self.inner.time() * 10)));
                Ok(())
            }
            other => other,
        }
    }

    /// Grows until there is room for this many keys more, or until another member has grown.
    pub(super) async fn grow_at_once(&mut self, more: u64) -> Result<(), Trouble> {
        let cells = |desk: &Desk| desk.copy().read().filter().map_or(0, |filter| filter.cells());
        let before = cells(self);
        // A table that was begun for fewer keys may be too small.
        self.growing = None;
        while cells(self) == before {
            if self.inner.is_closed() {
                return Err(Trouble::Other(self.inner.ended()));
            }
            if self.grows_elsewhere().await? {
                // Two members that begin anew whenever the other one does would never end.
                tokio::time::sleep(PAUSE / 10).await;
                self.follow().await?;
                continue;
            }
            if self.growing.is_none() {
                self.begin_growth(more).await?;
            }
            match self.growth_step().await {
                Err(Trouble::Moved) => self.follow().await?,
                other => other?,
            }
        }
        Ok(())
    }

    /// `true` if another member fills a larger table, and is still there.
    async fn grows_elsewhere(&mut self) -> Result<bool, Trouble> {
        let now = self.inner.now();
        self.growth_elsewhere = self.growth_elsewhere.filter(|(_, until)| now < *until);
        let Some((member, _)) = self.growth_elsewhere else { return Ok(false) };
        if self.inner.engine.members(self.shard).await?.iter().all(|other| other.id != member) {
            self.growth_elsewhere = None;
        }
        Ok(self.growth_elsewhere.is_some())
    }

    /// `true` if the table is almost full and nobody else has said that it does something about it.
    async fn wants_growth(&mut self) -> Result<bool, Trouble> {
        let load = self.copy().read().filter().map_or(0.0, |filter| filter.load());
        Ok(load > GROWS_AT && !self.grows_elsewhere().await?)
    }

    /// Says that this member fills a larger table, and begins it.
    async fn begin_growth(&mut self, more: u64) -> Result<(), Trouble> {
        self.growing = None;
        let at = self.at();
        // Before anybody is told: a table that cannot be made keeps nobody else from making one.
        let (table, generation, schema) = {
            let replica = self.copy().read();
            let filter = replica.filter().ok_or(Trouble::Lost)?;
            let (generation, schema) = filter.layout();
            let cells =
                self.inner.described.cells((filter.len() + more + 100).saturating_mul(2)).map_err(Trouble::Other)?;
            let table = filter.successor(Target::Cells(cells.max(filter.cells() + 1)), generation);
            let table = table.map_err(|error| Trouble::Other(Error::Filter(error.to_string())))?;
            (table.ok_or(Trouble::Full)?, generation, schema)
        };
        let record = Record::of(What::Grow { member: self.copy().member() });
        let append = Append {
            record: record.to_bytes(),
            applied_by: Some(self.copy().member()),
            ..Append::after(self.shard, at)
        };
        match self.append(&append).await? {
            Appended::Done(_) => self.copy().write().applied(append.head()),
            _ => return self.follow().await,
        }
        self.growing = Some(Growing {
            table,
            schema,
            generation,
            cursor: None,
            queue: VecDeque::new(),
            saved: None,
            is_full_walk: false,
        });
        Ok(())
    }

    /// Does a bounded part of the work. `Moved` if others have appended records: catch up first.
    async fn growth_step(&mut self) -> Result<(), Trouble> {
        let Some(mut growing) = self.growing.take() else { return Ok(()) };
        let done = self.step(&mut growing).await;
        if !matches!(done, Ok(true)) {
            self.growing = Some(growing);
        }
        done.map(drop)
    }

    /// `true` if the table has taken the place of the filter.
    async fn step(&self, growing: &mut Growing) -> Result<bool, Trouble> {
        let at = self.at();
        self.bring_queue(growing, at).await?;
        if !growing.is_full_walk {
            let engine = &self.inner.engine;
            let (head, keys) = engine.walk(self.shard, growing.generation, growing.cursor.as_ref(), STEP).await?;
            if head != at {
                return Err(Trouble::Moved);
            }
            growing.is_full_walk = keys.is_empty();
            self.bring(growing, keys, at).await?;
            return Ok(false);
        }
        if growing.saved.is_none() {
            let (bytes, digest) = record::save(&*growing.table);
            // No record has this tag, so nobody who joins begins with a table that is not in use yet.
            let at = Head { position: at.position.saturating_add(KEPT), tag: random() };
            let snapshot = Snapshot { id: SnapshotId(random()), at, digest, bytes: bytes.len() as u64 };
            self.inner.engine.save(self.shard, snapshot, &bytes).await?;
            growing.saved = Some((snapshot, Vec::new()));
            return Ok(false);
        }
        self.switch_to(growing, at).await
    }

    /// Brings keys of the walk into the table.
    async fn bring(&self, growing: &mut Growing, keys: Vec<Position>, at: Head) -> Result<(), Trouble> {
        let mut known = Known::up_to(growing.schema.hash, growing.cursor.clone());
        for position in keys {
            loop {
                match growing.table.fill(&position, &known) {
                    Ok(()) => break,
                    Err(error) => self.fetch_missing(&mut known, at, error).await?,
                }
            }
            known.move_on(&position);
            growing.cursor = Some(position);
        }
        Ok(())
    }

    /// Brings the keys that came and went since to the table, where the walk has passed them.
    async fn bring_queue(&self, growing: &mut Growing, at: Head) -> Result<(), Trouble> {
        if growing.queue.is_empty() {
            return Ok(());
        }
        let mut known = match growing.is_full_walk {
            true => Known::default(),
            false => Known::up_to(growing.schema.hash, growing.cursor.clone()),
        };
        let (kind, schema, generation) = (self.inner.described.kind, growing.schema, growing.generation);
        let show = |known: &mut Known, key: &Key| known.show(key, generation, kind.order_words(&schema, key));
        // The index without all of these changes.
        for (comes, key) in growing.queue.iter().rev() {
            if *comes { known.hide(key) } else { show(&mut known, key) }
        }
        while let Some((comes, key)) = growing.queue.front().cloned() {
            let is_in = growing.is_full_walk || passed(growing.cursor.as_ref(), growing.schema.hash, &key);
            if is_in {
                self.bring_change(growing, comes, &key, &mut known, at).await?;
            }
            growing.queue.pop_front();
            if comes { show(&mut known, &key) } else { known.hide(&key) }
        }
        Ok(())
    }

    /// Brings one change to the table, with the index as it was before.
    async fn bring_change(
        &self,
        growing: &mut Growing,
        comes: bool,
        key: &Key,
        known: &mut Known,
        at: Head,
    ) -> Result<(), Trouble> {
        let position = Position { word: growing.schema.hash.words(key).word(0), key: key.clone() };
        let operation = if comes { Operation::Bring(&position) } else { Operation::Remove(key) };
        loop {
            match growing.table.plan(operation, &*known) {
                Ok(plan) => {
                    if let Some((_, since)) = &mut growing.saved {
                        since.push(plan.clone());
                    }
                    return growing.table.apply(plan).map(drop).map_err(|_| Trouble::Full);
                }
                Err(error) => self.fetch_missing(known, at, error).await?,
            }
        }
    }

    async fn fetch_missing(&self, known: &mut Known, at: Head, error: PlanError) -> Result<(), Trouble> {
        match (missing(&error), error) {
            (Some(span), _) => self.fetch_into(known, at, vec![span]).await,
            (None, PlanError::Full { .. }) => Err(Trouble::Full),
            (None, error) => Err(Trouble::Other(Error::Filter(error.to_string()))),
        }
    }

    /// Appends the record that puts the table in the place of the filter.
    async fn switch_to(&self, growing: &mut Growing, at: Head) -> Result<bool, Trouble> {
        let Some((to, plans)) = &growing.saved else { return Ok(false) };
        let digest = Some(record::save(&*growing.table).1);
        let record = Record { digest, plans: plans.clone(), ..Record::of(What::Switch { to: *to }) };
        let append = Append {
            record: record.to_bytes(),
            applied_by: Some(self.copy().member()),
            ..Append::after(self.shard, at)
        };
        // From the commit on, the filter must not be believed: others go on with the table.
        match self.append(&append).await? {
            Appended::Done(_) => {}
            _ => return Err(Trouble::Moved),
        }
        let mut replica = self.copy().write();
        replica.take_over(growing.table.boxed(), append.head());
        add(&self.inner.counters.grown, 1);
        Ok(true)
    }
}
