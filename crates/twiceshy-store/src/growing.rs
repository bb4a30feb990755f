//! A filter that grows before it is full, a few keys with each insertion.

use crate::batch::Batch;
use crate::changing::of_trouble;
use crate::error::Error;
use crate::inner::{Inner, Planned, Trouble, Writer, capacity};
use crate::kind::{AnyFilter, Size};
use crate::state::State;
use crate::store::Store;
use std::sync::PoisonError;
use twiceshy::filter::Progress;

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
        let nothing = Batch::default();
        let made = match self.need(writer, more) {
            Need::Nothing => Ok(()),
            Need::Growth(pace) => self
                .begin_growth(&writer.state, &nothing, more)
                .and_then(|()| self.bring_along(&writer.state, &nothing, pace))
                .map(drop),
            Need::Rebuild(cells) => {
                writer.content_until = writer.state.last.number.saturating_add(writer.state.len / 2 + 1_000);
                self.begin(&writer.state, &nothing, cells)
            }
            Need::MoreKeys(pace) => self.bring_along(&writer.state, &nothing, pace).map(drop),
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

    fn begin_growth(&self, state: &State, batch: &Batch, more: u64) -> Result<(), Trouble<S::Error>> {
        let keys = capacity(state.len.saturating_add(more)).saturating_mul(4) / 3;
        let size = Size::from_choice(&state.choice, keys).ok_or(Trouble::Lost)?;
        self.begin(state, batch, size.cells().map_err(|_| Trouble::Full)?)
    }

    fn begin(&self, state: &State, batch: &Batch, cells: u64) -> Result<(), Trouble<S::Error>> {
        self.plan(state, batch, |filter, view| filter.begin_grow(cells.max(filter.cells()), view)).map(drop)
    }

    /// Brings so many keys into the larger table. Whether it is the one that answers now.
    fn bring_along(&self, state: &State, batch: &Batch, keys: u64) -> Result<bool, Trouble<S::Error>> {
        let mut left = keys;
        while left > 0 {
            let some = left.min(AT_ONCE);
            left -= some;
            let step = self.plan(state, batch, |filter, view| filter.rebuild_step(some as usize, view))?;
            if matches!(step, Planned::Done(Progress::Done)) {
                self.counters.grown.add(1);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Grows to the end: there is no room for the next key. With each try that was not enough the table is larger.
    pub(crate) fn grow_now(&self, state: &State, batch: &Batch, tries: u32) -> Result<(), Trouble<S::Error>> {
        let grows = |filter: &Option<AnyFilter>| filter.as_ref().is_some_and(AnyFilter::is_rebuilding);
        if !grows(&self.filter.read().unwrap_or_else(PoisonError::into_inner)) {
            self.begin_growth(state, batch, state.len.saturating_mul(1 << tries.min(16)))?;
        }
        while !self.bring_along(state, batch, AT_ONCE)? {}
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
