//! Loading many keys: the index is written at once, and the filter when all are there.

use crate::batch::Batch;
use crate::changing::Edit;
use crate::error::Error;
use crate::inner::{Doubt, Inner, Work, Writer};
use crate::state::Mark;
use crate::store::{Change, CommitError, Durability, Space, Store};
use std::sync::PoisonError;
use twiceshy::filter::Backed;
use twiceshy::remote::{Key, Write};

impl<S: Store> Inner<S> {
    /// Takes the filter away, so that look-ups go to the store. It knows the index entries of keys.
    pub(crate) fn begin_load(&self) -> Result<Box<dyn Backed>, Error<S::Error>> {
        let mut writer = self.lock()?;
        drop(self.set_growth(&mut writer, None));
        let filter = self.filter.write().unwrap_or_else(PoisonError::into_inner).take();
        writer.stale_snapshot = self.snapshot.is_some();
        let filter = filter.ok_or(Error::Interrupted)?;
        // From now on nobody makes a filter: a broom filter would take other functions, and have other entries.
        writer.loading = true;
        Ok(filter)
    }

    /// All keys are there: the next change or look-up of the learner makes a filter.
    pub(crate) fn end_load(&self) {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).loading = false;
    }

    /// Makes changes, all or none, without a filter. `maker` is the filter that was taken away. The store is consistent after
    /// each commit: if the process ends, the next open builds the filter.
    pub(crate) fn load(
        &self,
        maker: &dyn Backed,
        edits: &[Edit],
        also: Option<&Change>,
        durability: Durability,
    ) -> Result<(), Error<S::Error>> {
        let mut writer = self.lock_settled()?;
        if writer.damaged {
            return Err(Error::Damaged);
        }
        self.forget_stale_snapshot(&mut writer);
        let keys: Vec<Key> = edits.iter().map(|edit| edit.key.clone()).collect();
        self.pending.enter(&keys);
        self.queue.take_out(&keys);
        let loaded = self.try_load(&mut writer, maker, edits, also, durability, &keys);
        if writer.doubt.is_none() {
            self.pending.leave(&keys);
        }
        loaded
    }

    fn try_load(
        &self,
        writer: &mut Writer,
        maker: &dyn Backed,
        edits: &[Edit],
        also: Option<&Change>,
        durability: Durability,
        keys: &[Key],
    ) -> Result<(), Error<S::Error>> {
        let (mut after, mut batch) = (writer.state.clone(), Batch::default());
        for edit in edits {
            let stored = match batch.get(Space::Values, &edit.key) {
                Some(value) => value.is_some(),
                None => self.store.contains(Space::Values, &edit.key).map_err(Error::Store)?,
            };
            let (generation, words) = maker.entries(&edit.key);
            let key = edit.key.clone();
            match (stored, edit.value.is_some()) {
                (false, true) => {
                    after.len += 1;
                    batch.index(&Write::Add { generation, key, words, cell: None });
                }
                (true, false) => {
                    after.len = after.len.saturating_sub(1);
                    batch.index(&Write::Remove { generation, key, words, cell: None });
                }
                (false, false) => continue,
                (true, true) => {}
            }
            batch.edit(edit, after.sums);
        }
        also.into_iter().for_each(|also| batch.also(also));
        after.last = Mark { number: after.last.number.saturating_add(1), tag: writer.tag() };
        // No snapshot can be brought forward over this.
        after.cut_log();
        after.write(&mut batch);
        match self.commit_batch(writer, batch, durability) {
            Ok(()) => {
                self.set_state(writer, after);
                Ok(())
            }
            Err(CommitError::Failed(error)) => Err(Error::Store(error)),
            Err(CommitError::Unknown(error)) => {
                writer.doubt = Some(Doubt { after, keys: keys.to_vec(), work: Work::default() });
                Err(Error::Unknown(error))
            }
        }
    }
}
