//! A filter that grows before it is full, a few keys with each insertion.

use crate::batch::Batch;
use crate::changing::of_trouble;
use crate::entry::Deed;
use crate::error::Error;
use crate::inner::{Inner, Planned, Trouble, Writer, capacity};
use crate::kind::{AnyFilter, Size};
use crate::store::{Durability, Store};
use crate::view::{Stop, View};
use std::sync::PoisonError;

/// How full a filter is when it begins to grow. Those that come until it is full bring many more along than there are.
const GROWS_AT: f64 = 0.85;

/// How full a filter may become meanwhile. Above it insertions are slow, and then fail.
const FULL_AT: f64 = 0.93;

/// How many keys an insertion brings along.
const BROUGHT_ALONG: u64 = 64;

/// How many keys are brought along while look-ups wait: a few microseconds' work.
const AT_ONCE: u64 = 256;

impl<S: Store> Inner<S> {
    /// Sees to it that so many keys more will fit.
    pub(crate) fn make_room(&self, writer: &mut Writer, more: u64) -> Result<(), Error<S::Error>> {
        let made = match self.need(writer, more) {
            Need::Nothing => Ok(()),
            Need::Growth(pace) => {
                self.begin_growth(writer, None, more).and_then(|()| self.bring_along(writer, None, pace)).map(drop)
            }
            Need::Rebuild(cells) => {
                writer.content_until = writer.state.last.number.saturating_add(writer.state.len / 2 + 1_000);
                self.begin(writer, None, cells)
            }
            Need::MoreKeys(pace) => self.bring_along(writer, None, pace).map(drop),
        };
        match made {
            Ok(()) => Ok(()),
            // It goes on with the table that it has; an insertion that finds no room grows it at once.
            Err(Trouble::Full) => Ok(()),
            Err(Trouble::Lost) => self.rebuild(writer),
            Err(trouble) => Err(of_trouble(trouble)),
        }
    }

    fn need(&self, writer: &Writer, more: u64) -> Need {
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        let Some(filter) = &*filter else { return Need::Nothing };
        let load = (filter.len() + more) as f64 / filter.cells() as f64;
        // A batch for which there is no room waits for the end of it.
        let pace = if load > FULL_AT { u64::MAX } else { more.saturating_mul(BROUGHT_ALONG) };
        match (filter.is_rebuilding(), load > GROWS_AT) {
            (true, _) => Need::MoreKeys(pace),
            (false, true) => Need::Growth(pace),
            (false, false) if filter.wants_rebuild() && writer.state.last.number >= writer.content_until => {
                Need::Rebuild(filter.cells())
            }
            (false, false) => Need::Nothing,
        }
    }

    fn begin_growth(&self, writer: &mut Writer, batch: Option<&mut Batch>, more: u64) -> Result<(), Trouble<S::Error>> {
        let keys = capacity(writer.state.len.saturating_add(more)).saturating_mul(4) / 3;
        let size = Size::from_choice(&writer.state.choice, keys).ok_or(Trouble::Lost)?;
        self.begin(writer, batch, size.cells().map_err(|_| Trouble::Full)?)
    }

    fn begin(&self, writer: &mut Writer, batch: Option<&mut Batch>, cells: u64) -> Result<(), Trouble<S::Error>> {
        self.grow(writer, batch, |filter, view| filter.begin_grow(cells.max(filter.cells()), view))
    }

    /// Brings so many keys into the larger table. Whether it is the one that answers now.
    fn bring_along(
        &self,
        writer: &mut Writer,
        mut batch: Option<&mut Batch>,
        keys: u64,
    ) -> Result<bool, Trouble<S::Error>> {
        let mut left = keys;
        while left > 0 {
            let some = left.min(AT_ONCE);
            left -= some;
            self.grow(writer, batch.as_deref_mut(), |filter, view| filter.rebuild_step(some as usize, view).map(drop))?;
            if !self.grows() {
                self.counters.grown.add(1);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn grows(&self) -> bool {
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        filter.as_ref().is_some_and(AnyFilter::is_rebuilding)
    }

    /// One step of growth. A filter whose growth writes to the index has that committed at once; or put into a batch, with the
    /// changes before it.
    fn grow(
        &self,
        writer: &mut Writer,
        batch: Option<&mut Batch>,
        work: impl FnMut(&mut AnyFilter, &mut View<'_, S>) -> Result<(), Stop<S::Error>>,
    ) -> Result<(), Trouble<S::Error>> {
        let nothing = Batch::default();
        let Planned::Waits(plan) = self.plan(&writer.state, batch.as_deref().unwrap_or(&nothing), work)? else {
            return Ok(());
        };
        let tag = writer.tag();
        match batch {
            Some(batch) => {
                writer.state.advance(&plan, Deed::Other, tag, batch);
                self.resolve(&writer.state);
                Ok(())
            }
            None => {
                let (mut after, mut batch) = (writer.state.clone(), nothing);
                after.advance(&plan, Deed::Other, tag, &mut batch);
                self.commit(writer, after, batch, Vec::new(), Durability::Seen).map_err(|error| match error {
                    Error::Store(error) | Error::Unknown(error) => Trouble::Store(error),
                    _ => Trouble::Lost,
                })
            }
        }
    }

    /// Grows to the end, within a batch: there is no room for the next key. With each try that was not enough the table is larger.
    pub(crate) fn grow_now(&self, writer: &mut Writer, batch: &mut Batch, tries: u32) -> Result<(), Trouble<S::Error>> {
        if !self.grows() {
            let more = writer.state.len.saturating_mul(1 << tries.min(16));
            self.begin_growth(writer, Some(batch), more)?;
        }
        while !self.bring_along(writer, Some(batch), AT_ONCE)? {}
        Ok(())
    }
}

/// What a filter needs before the next insertion.
enum Need {
    Nothing,
    /// A larger table, and so many keys in it at once.
    Growth(u64),
    /// The same table made anew.
    Rebuild(u64),
    /// So many keys more in the table that has begun.
    MoreKeys(u64),
}
