//! Adapting: the part that all adaptive cuckoo filters share.

use super::fingerprint::Rule;
use super::full_key::FullKeyCuckoo;
use super::local::Located;
use super::owners::Trouble;
use super::planner::Planner;
use crate::error::SeamError;
use crate::filter::{Adapted, Adaptive};
use crate::remote::{CellId, Remote};

/// What a rule's own way to adapt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The plan is made; whether it fixes the query shows in the cells.
    Planned,
    /// The query agrees with a stored key in all that an adaptation can change.
    Unfixable,
    /// The plan passed its bound: nothing is to be done, and a rebuild is wanted.
    OverBound,
}

/// A rule that knows how to fix a false positive.
pub(crate) trait Plans: Rule {
    /// Plans the changes for a query that collides with the owners of these cells.
    fn plan<Rem: Remote>(
        &self,
        planner: &mut Planner<'_, Self, Rem>,
        query: &Located,
        cells: &[CellId],
    ) -> Result<Verdict, Trouble<Rem::Error>>
    where
        Self: Sized;
}

impl<R: Plans> Adaptive for FullKeyCuckoo<R> {
    fn adapt<Rem: Remote>(&mut self, query: &[u8], remote: &mut Rem) -> Result<Adapted, SeamError<Rem::Error>> {
        self.seam.ready()?;
        let hits = self.seam.live.hits(query);
        if hits.hits == 0 {
            return Ok(Adapted::Fixed);
        }
        self.seam.in_step(remote)?;
        let cells: Vec<CellId> = self.seam.live.cells_hit(&hits).collect();
        let query = Located { key: query.into(), buckets: hits.buckets };
        let mut planner = self.live_planner(remote);
        if planner.owners.stores(&query.key, &cells)? {
            return Ok(Adapted::Stored);
        }
        let verdict = self.seam.live.rule.plan(&mut planner, &query, &cells)?;
        if verdict == Verdict::OverBound {
            // Another walk may be luckier.
            self.rng = planner.rng;
            self.stats.adapts += 1;
            self.stats.over_bound += 1;
            self.seam.wants_rebuild = true;
            return Ok(Adapted::StillPresent);
        }
        let outcome = match (planner.is_present(&query), verdict) {
            (false, _) => Adapted::Fixed,
            (true, Verdict::Unfixable) => Adapted::Unfixable,
            (true, _) => Adapted::StillPresent,
        };
        let finished = planner.finish(0);
        let (sizes, moved, rng) = (finished.sizes, finished.moves.len(), finished.rng.clone());
        self.commit_rewrite(finished, remote)?;
        self.rng = rng;
        self.stats.adaptation(sizes, moved);
        Ok(outcome)
    }
}
