//! An operation as a whole: done on L under a journal, kept if the remote commits, and undone if not.

use super::filter::BroomFilter;
use super::rebuild::Rebuild;
use super::stats::Stats;
use crate::error::SeamError;
use crate::remote::{Plan, Remote, Write};

/// What an operation began with, beside L.
#[derive(Clone, Debug)]
pub(super) struct Open {
    debt: u64,
    wants_rebuild: bool,
    stats: Stats,
    /// What had begun, if the operation ends it or begins another.
    rebuild: Option<Option<Rebuild>>,
}

/// Why an operation stopped.
pub(super) enum Stop<E> {
    Seam(SeamError<E>),
    Full,
}

impl<E> From<SeamError<E>> for Stop<E> {
    fn from(error: SeamError<E>) -> Stop<E> {
        Stop::Seam(error)
    }
}

/// Why an operation that needs no room stopped.
pub(super) fn seam<E>(stop: Stop<E>) -> SeamError<E> {
    match stop {
        Stop::Seam(error) => error,
        // Only insertions and re-keyings say so, and they look for it.
        Stop::Full => SeamError::Disagree,
    }
}

impl BroomFilter {
    pub(super) fn ready<E>(&self) -> Result<(), SeamError<E>> {
        if self.is_in_doubt() { Err(SeamError::InDoubt) } else { Ok(()) }
    }

    pub(super) fn in_step<R: Remote>(&self, remote: &R) -> Result<(), SeamError<R::Error>> {
        let found = remote.sequence().map_err(SeamError::Remote)?;
        if found == self.sequence { Ok(()) } else { Err(SeamError::out_of_step(self.sequence, found)) }
    }

    /// Runs an operation: whatever it changes in L is undone unless the remote commits. Should it be cut off in the middle, the
    /// filter is in doubt, and the remote's number tells.
    pub(super) fn operate<R: Remote, T>(
        &mut self,
        remote: &mut R,
        work: impl FnOnce(&mut BroomFilter, &R) -> Result<(T, Vec<Write>), Stop<R::Error>>,
    ) -> Result<T, Stop<R::Error>> {
        self.ready()?;
        let (debt, wants_rebuild, stats) = (self.debt, self.wants_rebuild, self.stats);
        self.open = Some(Box::new(Open { debt, wants_rebuild, stats, rebuild: None }));
        self.local.begin();
        let planned = work(self, remote);
        let (value, writes) = match planned {
            Ok(planned) => planned,
            Err(stop) => {
                self.undo();
                return Err(stop);
            }
        };
        if !writes.is_empty() {
            let plan = Plan { sequence: self.sequence.saturating_add(1), writes };
            if let Err(error) = remote.commit(&plan).map_err(SeamError::from) {
                if !matches!(error, SeamError::Unknown(_)) {
                    self.undo();
                }
                return Err(error.into());
            }
            self.sequence = plan.sequence;
        }
        self.keep();
        Ok(value)
    }

    pub(super) fn keep(&mut self) {
        self.local.keep();
        self.open = None;
    }

    pub(super) fn undo(&mut self) {
        if let Some(open) = self.open.take() {
            (self.debt, self.wants_rebuild, self.stats) = (open.debt, open.wants_rebuild, open.stats);
            if let Some(before) = open.rebuild {
                self.rebuild = before;
            }
        }
        self.local.undo();
    }

    /// Ends or begins a rebuild within an operation.
    pub(super) fn set_rebuild(&mut self, rebuild: Option<Rebuild>) {
        let before = std::mem::replace(&mut self.rebuild, rebuild);
        if let Some(open) = &mut self.open {
            open.rebuild.get_or_insert(before);
        }
    }
}
