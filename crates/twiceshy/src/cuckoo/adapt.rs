//! Adapting: the part that all adaptive cuckoo filters share.

use super::edit::{Counted, Edit};
use super::exceptions::{Bits, most};
use super::fingerprint::Rule;
use super::full_key::{ADAPT, FullKeyCuckoo};
use super::local::Located;
use super::planner::Planner;
use crate::error::PlanError;
use crate::filter::Adapted;
use crate::plan::{self, Outcome, Plan};
use crate::remote::{CellId, Keys, Write};

/// The result of a rule's plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The plan is made. The cells show whether it fixes the query.
    Planned,
    /// The query agrees with a stored key in everything that an adaptation can change.
    Unfixable,
    /// The query collides with a key that has the same cell in every placement of the stored keys.
    Stuck,
    /// The plan passed its bound: nothing changes, and a rebuild is wanted.
    OverBound,
    /// The rule does not adapt.
    Static,
}

/// A rule's way to fix a false positive.
pub trait Adapting {
    /// Plans the changes for a query that collides with the owners of these cells.
    fn plan(&self, planner: &mut Planner<'_, Self>, query: &Located, cells: &[CellId]) -> Result<Verdict, PlanError>
    where
        Self: Sized;
}

impl<R: Rule> FullKeyCuckoo<R> {
    pub(super) fn plan_adapt(&self, query: &[u8], keys: &dyn Keys) -> Result<Plan, PlanError> {
        let local = &self.local;
        let nothing = |outcome| Ok(Plan::nothing(self.stamp, Outcome::Adapted(outcome)));
        let hits = local.hits(query);
        if hits.hits == 0 {
            return nothing(Adapted::Fixed);
        }
        let cells: Vec<CellId> = local.cells_hit(&hits).collect();
        let query = Located { key: query.into(), buckets: hits.buckets };
        let mut planner = self.planner(keys);
        if planner.owners.stores(&query.key, &cells)? {
            return nothing(Adapted::Stored);
        }
        let becomes = self.stamp.after_key(ADAPT, &local.order_words(&query.key));
        let verdict = local.rule.plan(&mut planner, &query, &cells)?;
        if verdict == Verdict::Static {
            return nothing(Adapted::Unfixable);
        }
        let mut taken_for = Vec::new();
        for cell in &cells {
            taken_for.extend(planner.owners.may_own(*cell)?);
        }
        let asked = query.key.clone();
        let plan = |outcome, writes: Vec<Write>, edit| {
            Plan::new(self.stamp, becomes, Outcome::Adapted(outcome), writes, plan::Edit::Cuckoo(edit))
        };
        if verdict == Verdict::OverBound {
            // Another walk may succeed.
            let (rng, counted) = (planner.rng.state(), Counted::OverBound);
            let edit = Edit { cells: Vec::new(), keys: 0, orphans: 0, rng, counted, flipped: None };
            return Ok(plan(Adapted::StillPresent, Vec::new(), edit).about(&asked, taken_for));
        }
        let flipped = match planner.is_present(&query) {
            true if R::LISTS => self.exception_for(&query.key, keys)?,
            _ => None,
        };
        let outcome = match (planner.is_present(&query) && flipped.is_none(), verdict) {
            (false, _) => Adapted::Fixed,
            (true, Verdict::Unfixable | Verdict::Stuck) => Adapted::Unfixable,
            (true, _) => Adapted::StillPresent,
        };
        let mut finished = planner.finish(0);
        if verdict == Verdict::Stuck && finished.edit.cells.is_empty() {
            // Not even a count: the owner of a log would write it at every report.
            return Ok(Plan::nothing(self.stamp, Outcome::Adapted(outcome)).about(&asked, taken_for));
        }
        finished.edit.flipped = flipped;
        finished.edit.counted = match outcome {
            Adapted::StillPresent if R::LISTS => Counted::Refused,
            _ => Counted::Adaptation { sizes: finished.sizes, moved: finished.moves.len() as u64 },
        };
        let writes = finished.writes(local.generation, keys).collect();
        Ok(plan(outcome, writes, finished.edit).about(&asked, taken_for))
    }

    /// The exception that would turn this query away; `None` if there is no room, or if a stored key has the same bits. A remote that
    /// knows cells cannot tell.
    pub(super) fn exception_for(&self, query: &[u8], keys: &dyn Keys) -> Result<Option<Bits>, PlanError> {
        let local = &self.local;
        if keys.knows_cells() || local.exceptions.len() >= most(&local.shape) {
            return Ok(None);
        }
        let (bits, mut hides) = (Bits::of(&local.hash.words(query)), false);
        keys.candidates(&bits.place(local.generation), &mut |key| hides |= Bits::of(&local.hash.words(key)) == bits)?;
        Ok((!hides).then_some(bits))
    }
}
