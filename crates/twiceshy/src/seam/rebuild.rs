//! The first table of a filter, and every table that follows it.
//!
//! Tables are made in closures, called when R has been found fit for them: nothing is allocated for a remote that is
//! another's or ahead, and a table cannot be given a generation other than the one that it will have in R.

use super::{Filling, Pending, Seam, Table, Then};
use crate::error::{BuildError, OptionsError, RebuildError, SeamError};
use crate::hash::HashKey;
use crate::remote::{Generation, Plan, Position, Remote, Write};

impl<T: Table> Seam<T> {
    /// An empty table over an empty remote.
    pub(crate) fn build<Rem: Remote>(
        make: impl FnOnce(Generation) -> Result<T, OptionsError>,
        remote: &mut Rem,
    ) -> Result<Seam<T>, BuildError<Rem::Error>> {
        if remote.in_use().map_err(SeamError::Remote)?.is_some() {
            return Err(BuildError::RemoteInUse);
        }
        let sequence = remote.sequence().map_err(SeamError::Remote)?.saturating_add(1);
        let live = make(Generation(0))?;
        let writes = vec![Write::Begin { generation: live.generation(), schema: live.schema() }];
        remote.commit(&Plan { sequence, writes }).map_err(SeamError::from)?;
        Ok(Seam::over(live, sequence))
    }

    /// A table that stands in for the lost one of a remote with this many orders. It is never asked: a rebuild must begin
    /// and end before the filter is handed out.
    pub(crate) fn recover<Rem: Remote>(
        orders: u8,
        stand_in: impl FnOnce(Generation, HashKey) -> Result<T, OptionsError>,
        remote: &Rem,
    ) -> Result<Seam<T>, BuildError<Rem::Error>> {
        let in_use = remote.in_use().map_err(SeamError::Remote)?;
        let Some((generation, schema)) = in_use.filter(|(_, schema)| schema.orders == orders) else {
            return Err(BuildError::NothingToRecover { expected: orders });
        };
        let sequence = remote.sequence().map_err(SeamError::Remote)?;
        Ok(Seam::over(stand_in(generation, schema.hash)?, sequence))
    }

    /// Begins a table under this hash key beside the one that answers. One that has begun before is given up.
    pub(crate) fn begin<Rem: Remote>(
        &mut self,
        hash: HashKey,
        make: impl FnOnce(Generation) -> Result<T, OptionsError>,
        remote: &mut Rem,
    ) -> Result<(), RebuildError<Rem::Error>> {
        self.ready()?;
        self.in_step(remote)?;
        let source = (self.live.generation(), self.live.hash());
        let same_entries = hash == source.1 && !remote.knows_cells();
        let generation = Generation(source.0.0.saturating_add(u32::from(!same_entries)));
        let table = make(generation)?;
        let writes = if same_entries {
            self.next.as_ref().and_then(Filling::abandonment)
        } else {
            // This replaces the generation of a table that has begun before: it has the same number.
            Some(Write::Begin { generation, schema: table.schema() })
        };
        let filling = Filling { table, cursor: None, source };
        Ok(self.commit(writes.into_iter().collect(), Pending::then(Then::Begin(Box::new(filling))), remote)?)
    }

    /// Gives the table that is being filled up.
    pub(crate) fn abandon<Rem: Remote>(&mut self, remote: &mut Rem) -> Result<(), SeamError<Rem::Error>> {
        let writes = self.next.as_ref().and_then(Filling::abandonment).into_iter().collect();
        self.commit(writes, Pending::then(Then::Abandon), remote)
    }

    /// Up to `limit` keys after the cursor, which are to be placed in the new table; none where there are no more, and the
    /// new table has become the one that answers.
    ///
    /// Whoever places them commits [`Then::Advance`] along with each change of the new table, after every key or once at
    /// the end: the next batch begins behind the cursor. By hash, the keys are in the new table's own generation when they
    /// come back from here, so that a place of the new table has all its candidates; a remote that knows cells hears of
    /// each key with its cell.
    pub(crate) fn next_batch<Rem: Remote>(
        &mut self,
        limit: usize,
        remote: &mut Rem,
    ) -> Result<Option<Vec<Position>>, RebuildError<Rem::Error>> {
        self.ready()?;
        let Some(next) = &self.next else { return Err(RebuildError::NotBegun) };
        self.in_step(remote)?;
        let mut batch: Vec<Position> = Vec::new();
        remote
            .walk(next.source.0, next.cursor.as_ref(), limit.max(1), &mut |at| batch.push(at))
            .map_err(SeamError::Remote)?;
        let own = next.own_generation();
        if batch.is_empty() {
            let switch = own.then(|| Write::Switch { generation: next.table.generation() });
            self.commit(switch.into_iter().collect(), Pending::then(Then::Switch), remote)?;
            return Ok(None);
        }
        if own && !remote.knows_cells() {
            let writes = batch.iter().map(|at| next.table.addition(&at.key, None)).collect();
            self.commit(writes, Pending::then(Then::Nothing), remote)?;
        }
        Ok(Some(batch))
    }
}
