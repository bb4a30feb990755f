//! Insertions and removals: the value, the index entry and the log in one commit.

use crate::batch::Batch;
use crate::entry::{Deed, Record};
use crate::error::Error;
use crate::inner::{Doubt, Inner, Planned, Trouble, Writer};
use crate::state::{Mark, State};
use crate::store::{CommitError, Durability, Space, Store};
use twiceshy::remote::{Key, Plan};

/// A change that a user asks for: a value for a key, or none.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) key: Key,
    pub(crate) value: Option<Vec<u8>>,
}

/// How many records of the log that nobody needs are thrown away with each commit: more than one comes.
const THROWN_AWAY: u64 = 16;

impl State {
    /// Makes this the state after a filter's plan, and puts what goes with it into the batch.
    pub(crate) fn advance(&mut self, plan: &Plan, deed: Deed, tag: u64, batch: &mut Batch) {
        batch.index(&plan.writes);
        plan.writes.iter().for_each(|write| self.apply(write));
        match &deed {
            Deed::Came(_) => self.len += 1,
            Deed::Went(_) => self.len = self.len.saturating_sub(1),
            Deed::Other => {}
        }
        self.last = Mark { number: plan.sequence, tag };
        batch.put(Space::Log, Record::key(self.last.number), Record { tag, deed }.to_bytes());
        let kept = self.log_from.number.saturating_add(1);
        for number in self.log_oldest..kept.min(self.log_oldest + THROWN_AWAY) {
            batch.delete(Space::Log, Record::key(number));
            self.log_oldest = number + 1;
        }
    }
}

impl<S: Store> Inner<S> {
    /// Makes one change. Whether the key was stored before.
    pub(crate) fn change(&self, wish: Wish) -> Result<bool, Error<S::Error>> {
        let mut writer = self.lock()?;
        self.forget_stale_snapshot(&mut writer);
        let stored = self.may_hold(&wish.key) && self.store.contains(Space::Values, &wish.key).map_err(Error::Store)?;
        if stored == wish.value.is_some() {
            // The set stays as it is: a new value, or nothing to take away.
            if stored {
                let mut batch = Batch::default();
                batch.wish(&wish);
                self.commit_batch(&mut writer, batch, self.durability).map_err(of_commit)?;
            }
            return Ok(stored);
        }
        self.make_room(&mut writer, u64::from(wish.value.is_some()))?;
        let keys = vec![wish.key.clone()];
        self.pending.enter(&keys);
        let changed = self.commit_one(&mut writer, &wish);
        if writer.doubt.is_none() {
            self.pending.leave(&keys);
        }
        changed?;
        self.after_change(&mut writer);
        Ok(stored)
    }

    fn commit_one(&self, writer: &mut Writer, wish: &Wish) -> Result<(), Error<S::Error>> {
        let planned = match self.plan_one(writer, wish) {
            Err(Trouble::Lost) => {
                self.rebuild(writer)?;
                self.plan_one(writer, wish)
            }
            planned => planned,
        };
        let (after, mut batch) = planned.map_err(of_trouble)?;
        batch.wish(wish);
        self.commit(writer, after, batch, vec![wish.key.clone()], self.durability)
    }

    /// Has the filter plan a change, and grow if it must: the state after it, and what is to be committed.
    fn plan_one(&self, writer: &mut Writer, wish: &Wish) -> Result<(State, Batch), Trouble<S::Error>> {
        let (before, mut batch) = (writer.state.clone(), Batch::default());
        let planned = self.plan_change(writer, &mut batch, wish);
        let mut after = std::mem::replace(&mut writer.state, before);
        if planned.is_err() && after.last != writer.state.last {
            // It has grown in a way that the store has not heard of.
            self.lose_filter();
        }
        after.advance(&planned?, wish.deed(), writer.tag(), &mut batch);
        Ok((after, batch))
    }

    /// Commits, and notes whether a disk has heard of it.
    pub(crate) fn commit_batch(
        &self,
        writer: &mut Writer,
        batch: Batch,
        durability: Durability,
    ) -> Result<(), CommitError<S::Error>> {
        writer.unsynced |= durability == Durability::Seen;
        self.store.commit(&batch.into_changes(), durability)?;
        writer.unsynced &= durability == Durability::Seen;
        Ok(())
    }

    /// Commits what a filter waits for, and tells it what became of it.
    pub(crate) fn commit(
        &self,
        writer: &mut Writer,
        after: State,
        mut batch: Batch,
        keys: Vec<Key>,
        durability: Durability,
    ) -> Result<(), Error<S::Error>> {
        after.write(&mut batch);
        match self.commit_batch(writer, batch, durability) {
            Ok(()) => {
                writer.state = after;
                self.resolve(&writer.state);
                Ok(())
            }
            Err(CommitError::Failed(error)) => {
                self.take_back(&writer.state);
                Err(Error::Store(error))
            }
            Err(CommitError::Unknown(error)) => {
                writer.doubt = Some(Doubt { after, keys, applied: false });
                Err(Error::Unknown(error))
            }
        }
    }

    /// Has the filter plan a change of the set over those of a batch, and grow if it must.
    fn plan_change(&self, writer: &mut Writer, batch: &mut Batch, wish: &Wish) -> Result<Plan, Trouble<S::Error>> {
        let mut tries = 0;
        loop {
            let planned = self.plan(&writer.state, batch, |filter, view| match wish.value {
                Some(_) => filter.insert(&wish.key, view).map(drop),
                None => filter.remove(&wish.key, view).map(drop),
            });
            tries += 1;
            match planned {
                Ok(Planned::Waits(plan)) => return Ok(plan),
                // It believes that there is nothing to do: the store knows better.
                Ok(Planned::Done(())) => return Err(Trouble::Lost),
                Err(Trouble::Full) if tries < 8 => self.grow_now(writer, batch, tries)?,
                Err(trouble) => return Err(trouble),
            }
        }
    }

    /// Makes changes together, all or none. How many of the keys were stored before.
    pub(crate) fn change_all(&self, wishes: &[Wish]) -> Result<u64, Error<S::Error>> {
        let mut writer = self.lock()?;
        self.forget_stale_snapshot(&mut writer);
        self.make_room(&mut writer, wishes.iter().filter(|wish| wish.value.is_some()).count() as u64)?;
        let keys: Vec<Key> = wishes.iter().map(|wish| wish.key.clone()).collect();
        self.pending.enter(&keys);
        let before = writer.state.clone();
        let mut changed = self.commit_all(&mut writer, wishes, &keys);
        for last_try in [false, true] {
            if changed.is_ok() || writer.doubt.is_some() {
                break;
            }
            // The filter has made changes that the store has not.
            writer.state = before.clone();
            self.lose_filter();
            if matches!(changed, Err(Error::Damaged)) && !last_try {
                changed = self.rebuild(&mut writer).and_then(|()| self.commit_all(&mut writer, wishes, &keys));
            }
        }
        if writer.doubt.is_none() {
            self.pending.leave(&keys);
        }
        let stored = changed?;
        self.after_change(&mut writer);
        Ok(stored)
    }

    /// Plans each change over those before it, and has the filter make it at once; then commits.
    fn commit_all(&self, writer: &mut Writer, wishes: &[Wish], keys: &[Key]) -> Result<u64, Error<S::Error>> {
        let (mut batch, mut stored_before) = (Batch::default(), 0);
        for wish in wishes {
            let stored = match batch.get(Space::Values, &wish.key) {
                Some(value) => value.is_some(),
                None => {
                    self.may_hold(&wish.key) && self.store.contains(Space::Values, &wish.key).map_err(Error::Store)?
                }
            };
            stored_before += u64::from(stored);
            if stored != wish.value.is_some() {
                let plan = self.plan_change(writer, &mut batch, wish).map_err(of_trouble)?;
                let tag = writer.tag();
                writer.state.advance(&plan, wish.deed(), tag, &mut batch);
                self.resolve(&writer.state);
            }
            if stored || wish.value.is_some() {
                batch.wish(wish);
            }
        }
        if batch.is_empty() {
            return Ok(stored_before);
        }
        let after = writer.state.clone();
        after.write(&mut batch);
        match self.commit_batch(writer, batch, self.durability) {
            Ok(()) => Ok(stored_before),
            Err(CommitError::Failed(error)) => Err(Error::Store(error)),
            Err(CommitError::Unknown(error)) => {
                writer.doubt = Some(Doubt { after, keys: keys.to_vec(), applied: true });
                Err(Error::Unknown(error))
            }
        }
    }
}

impl Wish {
    fn deed(&self) -> Deed {
        match self.value {
            Some(_) => Deed::Came(self.key.clone()),
            None => Deed::Went(self.key.clone()),
        }
    }
}

impl Batch {
    fn wish(&mut self, wish: &Wish) {
        match &wish.value {
            Some(value) => self.put(Space::Values, &*wish.key, value.clone()),
            None => self.delete(Space::Values, &*wish.key),
        }
    }
}

pub(crate) fn of_trouble<E>(trouble: Trouble<E>) -> Error<E> {
    match trouble {
        Trouble::Store(error) => Error::Store(error),
        Trouble::Full => Error::NoRoom,
        Trouble::Lost => Error::Damaged,
    }
}

pub(crate) fn of_commit<E>(error: CommitError<E>) -> Error<E> {
    match error {
        CommitError::Failed(error) => Error::Store(error),
        CommitError::Unknown(error) => Error::Unknown(error),
    }
}
