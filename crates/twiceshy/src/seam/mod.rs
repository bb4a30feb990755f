//! The protocol between a filter and its remote, whatever the filter's table looks like.
//!
//! Three rules keep L and R together, and none of them depends on what a table holds:
//! * **Plan, commit, apply.** A plan is made without changing L; R commits it whole or fails; then L changes. If the answer
//!   to a commit is lost, what was to be done to L is kept until R's sequence number tells whether it happened.
//! * **The cursor.** A table that is filled beside the one that answers holds exactly the keys up to the cursor of a walk
//!   over R: see [`Filling`].
//! * **Generations.** A new table whose entries in R would differ from those in use has a generation of R to itself, which
//!   begins, ends and is switched to in commits of its own: see [`rebuild`].
//!
//! A family of filters brings its table and its plans.

mod filling;
mod rebuild;
mod validate;

pub(crate) use filling::{Cut, Filling};

use crate::error::SeamError;
use crate::hash::HashKey;
use crate::remote::{CellId, Generation, Key, OrderWords, Plan, Position, Remote, Schema, Write};
use std::fmt::Debug;

/// One table L: what the protocol needs to know of it.
pub(crate) trait Table {
    /// What a plan does to the table; the default does nothing.
    type Change: Clone + Debug + Default;

    fn apply(&mut self, change: &Self::Change);

    fn generation(&self) -> Generation;

    fn hash(&self) -> HashKey;

    fn schema(&self) -> Schema;

    /// The words of a key, one for each order. That of order 0 is word 0 of the hash key: see [`Cut`].
    fn order_words(&self, key: &[u8]) -> OrderWords;

    /// The write that brings a key to the table's generation.
    fn addition(&self, key: &Key, cell: Option<CellId>) -> Write {
        Write::Add { generation: self.generation(), key: key.clone(), words: self.order_words(key), cell }
    }

    /// The write that takes a key from the table's generation.
    fn deletion(&self, key: &Key, cell: Option<CellId>) -> Write {
        Write::Remove { generation: self.generation(), key: key.clone(), words: self.order_words(key), cell }
    }
}

/// The filter's side of the seam: its tables, and which commit of R they stand at.
#[derive(Clone, Debug)]
pub(crate) struct Seam<T: Table> {
    /// The table that answers.
    pub(crate) live: T,
    /// The table that is being filled beside it.
    pub(crate) next: Option<Filling<T>>,
    /// The last commit that is applied.
    pub(crate) sequence: u64,
    /// Whether an operation asked for another table; a switch answers it.
    pub(crate) wants_rebuild: bool,
    /// Tables that were replaced.
    pub(crate) rebuilds: u32,
    doubt: Option<Pending<T>>,
}

/// What is to be done to L once R has committed.
#[derive(Clone, Debug)]
pub(crate) struct Pending<T: Table> {
    pub(crate) live: T::Change,
    pub(crate) next: T::Change,
    pub(crate) then: Then<T>,
}

/// What becomes of the table that is being filled.
#[derive(Clone, Debug)]
pub(crate) enum Then<T: Table> {
    Nothing,
    /// It holds the keys up to here, be it one more or a whole batch.
    Advance(Position),
    Begin(Box<Filling<T>>),
    Switch,
    Abandon,
}

impl<T: Table> Pending<T> {
    pub(crate) fn change(live: T::Change) -> Pending<T> {
        Pending { live, ..Pending::then(Then::Nothing) }
    }

    pub(crate) fn then(then: Then<T>) -> Pending<T> {
        Pending { live: T::Change::default(), next: T::Change::default(), then }
    }
}

impl<T: Table> Seam<T> {
    /// A filter that stands at this commit of its remote.
    pub(crate) fn over(live: T, sequence: u64) -> Seam<T> {
        Seam { live, next: None, sequence, wants_rebuild: false, rebuilds: 0, doubt: None }
    }

    /// All tables in memory: the one that answers, the one that is being filled, and one that will be if a lost answer was
    /// good.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &T> {
        let begun = self.doubt.as_ref().and_then(|pending| match &pending.then {
            Then::Begin(filling) => Some(&filling.table),
            _ => None,
        });
        std::iter::once(&self.live).chain(self.next.as_ref().map(|next| &next.table)).chain(begun)
    }

    /// Whether a commit's outcome is unknown.
    #[inline]
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    /// Refuses changes while a commit's outcome is unknown: a plan over L as it is may be a plan over what is no more.
    pub(crate) fn ready<E>(&self) -> Result<(), SeamError<E>> {
        if self.is_in_doubt() { Err(SeamError::InDoubt) } else { Ok(()) }
    }

    /// Refuses a remote that is at another commit: a plan that writes nothing has no commit to find it out.
    pub(crate) fn in_step<Rem: Remote>(&self, remote: &Rem) -> Result<(), SeamError<Rem::Error>> {
        let found = remote.sequence().map_err(SeamError::Remote)?;
        if found == self.sequence { Ok(()) } else { Err(SeamError::out_of_step(self.sequence, found)) }
    }

    /// Has R commit, then changes L. Where R has nothing to write there is no commit and no number.
    pub(crate) fn commit<Rem: Remote>(
        &mut self,
        writes: Vec<Write>,
        pending: Pending<T>,
        remote: &mut Rem,
    ) -> Result<(), SeamError<Rem::Error>> {
        if writes.is_empty() {
            self.apply(pending);
            return Ok(());
        }
        let plan = Plan { sequence: self.sequence.saturating_add(1), writes };
        match remote.commit(&plan).map_err(SeamError::from) {
            Ok(()) => {
                self.sequence = plan.sequence;
                self.apply(pending);
                Ok(())
            }
            Err(error) => {
                if matches!(error, SeamError::Unknown(_)) {
                    self.doubt = Some(pending);
                }
                Err(error)
            }
        }
    }

    fn apply(&mut self, pending: Pending<T>) {
        self.live.apply(&pending.live);
        if let Some(next) = &mut self.next {
            next.table.apply(&pending.next);
        }
        match pending.then {
            Then::Nothing => {}
            Then::Advance(at) => {
                if let Some(next) = &mut self.next {
                    next.cursor = Some(at);
                }
            }
            Then::Begin(filling) => self.next = Some(*filling),
            Then::Abandon => self.next = None,
            Then::Switch => {
                if let Some(next) = self.next.take() {
                    self.live = next.table;
                    self.wants_rebuild = false;
                    self.rebuilds = self.rebuilds.saturating_add(1);
                }
            }
        }
    }

    /// Finds out what became of a commit whose answer was lost, and applies or drops it.
    pub(crate) fn resolve<Rem: Remote>(&mut self, remote: &Rem) -> Result<(), SeamError<Rem::Error>> {
        let found = remote.sequence().map_err(SeamError::Remote)?;
        match (found.checked_sub(self.sequence), &self.doubt) {
            (Some(0), _) => self.doubt = None,
            (Some(1), Some(_)) => {
                self.sequence = found;
                if let Some(pending) = self.doubt.take() {
                    self.apply(pending);
                }
            }
            _ => return Err(SeamError::out_of_step(self.sequence, found)),
        }
        Ok(())
    }
}
