//! What filters promise, one trait for each promise.

use crate::batch;
use crate::error::{PlanError, StalePlan};
use crate::hash::HashKey;
use crate::kind::Kind;
use crate::persist::SaveError;
use crate::plan::{Plan, Stamp, Undo};
use crate::remote::{Generation, Key, Keys, OrderWords, Phase, Place, Position, Schema, Write};
use std::any::Any;
use std::fmt::Debug;
use std::io;

/// A filter answers from its own bits.
///
/// **Contract.** A key that was inserted and not removed is never reported absent, whatever happened in between. An absent
/// key is reported present with a small probability.
pub trait Filter {
    /// `true` if the key may be in the set; `false` if it is not.
    fn contains(&self, key: &[u8]) -> bool;

    /// Requests the memory that [`Filter::contains`] will read for this key, and does not wait for it.
    fn prefetch(&self, key: &[u8]) {
        let _ = key;
    }

    /// What [`Filter::contains`] says of each key: `found[i]` of `keys[i]`. In a table that is larger than the processor's
    /// caches this is several times as fast, since the memory for several keys is requested at once. If one slice is
    /// shorter, the rest of the other is left alone.
    fn contains_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        let prepare = |key: &[u8]| self.prefetch(key);
        batch::in_groups(keys, found, (), prepare, |key, ()| self.contains(key));
    }

    /// The number of keys in the filter.
    fn len(&self) -> u64;

    /// `true` if the filter holds no key.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of cells or slots.
    fn cells(&self) -> u64;

    /// Keys divided by cells.
    fn load(&self) -> f64 {
        self.len() as f64 / self.cells() as f64
    }

    /// The allocated memory in bits.
    fn local_bits(&self) -> u64;
}

/// What an insertion did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The key is new.
    New,
    /// The key was stored already; nothing changed.
    AlreadyStored,
}

/// What a removal did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// The key and its fingerprint are gone.
    Gone,
    /// The key is gone. Its fingerprint could not be distinguished from others and stays as an orphan: a cell that may
    /// cause false positives until an adaptation or a rebuild clears it.
    LeftOrphan,
    /// The key was not stored; nothing changed.
    NotStored,
}

/// What an adaptation did about a false positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adapted {
    /// The query is absent from now on, until another change breaks it. Also returned if it was absent already.
    Fixed,
    /// This call did not fix it; a later one may or may not. Do not loop.
    StillPresent,
    /// No state of this filter fixes it: the query and a stored key agree in everything that could distinguish them, the stored
    /// key has no other cell that it could move to, or the filter does not adapt. Another hash key may.
    Unfixable,
    /// The query is a stored key; nothing changed.
    Stored,
}

/// The progress of a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More keys remain.
    More,
    /// The new table is in use from now on.
    Done,
    /// The keys do not fit into the new table. It is dropped, and the old one stays in use.
    GaveUp,
}

/// The goal of a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// At least this many cells, under the same hash key.
    Cells(u64),
    /// The same size under another hash key.
    Hash(HashKey),
}

/// An operation to plan.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'k> {
    /// Insert a key. Inserting a stored key changes nothing.
    Insert(&'k [u8]),
    /// Remove exactly this key.
    Remove(&'k [u8]),
    /// Adapt to a query that the filter reports *present* but that is not in the set.
    Adapt(&'k [u8]),
    /// Adapt to a prefix of these queries in one plan, as [`Operation::Adapt`] would to one after the other, so that one
    /// commit serves many. [`Outcome::Learned`](crate::plan::Outcome::Learned) says how long the prefix is: at least one
    /// query, if there are any. Only filters whose learning [writes](Kind::learning_writes) take more than the first one.
    Learn(&'k [Key]),
    /// Bring in a key that is known not to be in the filter: see [`Backed::fill`].
    Bring(&'k Position),
    /// Begin a rebuild within the filter. Only for filters whose [`Backed::successor`] is `None`.
    Begin(Target),
    /// Process up to this many keys of a rebuild within the filter.
    Step(usize),
}

/// A filter whose fingerprints belong to keys that a remote knows.
///
/// **Contract.** [`Backed::plan`] never changes the filter. [`Backed::apply`] changes it in memory, and fails only if the
/// plan was made for another state; then nothing changes. The owner commits the plan's writes in between, and makes sure
/// that the remote is at the filter's commit while a plan is made. So after an error nothing has changed on either side.
///
/// The trait is object-safe: `Box<dyn Backed>` is a filter of any kind. [`AdaptiveFilter`](crate::AdaptiveFilter) owns a
/// filter together with its remote and does all this.
pub trait Backed: Filter + Any + Debug + Send + Sync {
    /// The kind of the filter.
    fn kind(&self) -> Kind;

    /// Every place that matches a key; empty if the key is absent. A stored key may match another key's fingerprint before
    /// its own, so a query is a false positive only if no place has it among its candidates.
    fn lookup(&self, key: &[u8]) -> Vec<Place>;

    /// [`Backed::lookup`] of each key, with the speed of [`Filter::contains_batch`].
    fn lookup_batch(&self, keys: &[&[u8]]) -> Vec<Vec<Place>> {
        let mut found = vec![false; keys.len()];
        self.contains_batch(keys, &mut found);
        keys.iter().zip(found).map(|(key, found)| if found { self.lookup(key) } else { Vec::new() }).collect()
    }

    /// Plans an operation without changing anything. Reads keys only if the filter matches the key or must know which key
    /// to displace.
    fn plan(&self, operation: Operation<'_>, keys: &dyn Keys) -> Result<Plan, PlanError>;

    /// Applies a plan. Touches memory only.
    fn apply(&mut self, plan: Plan) -> Result<Undo, StalePlan>;

    /// Takes back the plan that was applied last, bit for bit. Any other plan is refused, and nothing changes.
    fn undo(&mut self, undo: Undo) -> Result<(), StalePlan>;

    /// The stamp of the filter's state.
    fn stamp(&self) -> Stamp;

    /// The filter's own stamp, to record a commit that no plan has made.
    #[doc(hidden)]
    fn stamp_mut(&mut self) -> &mut Stamp;

    /// The generation of the remote that the filter reads, and the layout of its entries.
    fn layout(&self) -> (Generation, Schema);

    /// The two functions of a filter with a frontier, as the remote must know them; `None` for other filters.
    fn phase(&self) -> Option<Phase> {
        None
    }

    /// The location of a key's entries in the remote: the generation, and a word for each order.
    fn entries(&self, key: &[u8]) -> (Generation, OrderWords);

    /// What the remote of a new filter must commit before the first insertion.
    fn opening(&self) -> Vec<Write> {
        let (generation, schema) = self.layout();
        vec![Write::Begin { generation, schema }]
    }

    /// An empty filter like this one to rebuild into, for this generation of the remote; `None` if this filter rebuilds
    /// itself, by [`Operation::Begin`] and [`Operation::Step`].
    fn successor(&self, target: Target, generation: Generation) -> Result<Option<Box<dyn Backed>>, PlanError>;

    /// Brings one key into a filter that is not yet in use. `keys` has exactly the keys brought before.
    fn fill(&mut self, at: &Position, keys: &dyn Keys) -> Result<(), PlanError> {
        let plan = self.plan(Operation::Bring(at), keys)?;
        self.apply(plan).map(drop).map_err(|StalePlan| PlanError::Disagree)
    }

    /// Swaps tables with a filled successor: this filter gets the new table, and the successor the old one. Statistics stay
    /// here. `false` if the successor is of another kind; then nothing changes.
    fn replace(&mut self, successor: &mut dyn Backed) -> bool;

    /// `true` if a rebuild within the filter has begun and not ended.
    fn is_rebuilding(&self) -> bool {
        false
    }

    /// The cells of the table that a rebuild within the filter is for; `None` if it is for another hash key, or if there is
    /// no rebuild.
    fn rebuild_cells(&self) -> Option<u64> {
        None
    }

    /// `true` if a rebuild would improve the filter: it has too many orphans, or adaptations passed their bounds.
    fn wants_rebuild(&self) -> bool;

    /// `true` if that rebuild needs another hash key: under the same one a query and a key would agree as before.
    fn wants_hash_key(&self) -> bool {
        self.wants_rebuild()
    }

    /// Checks every invariant, and that each key in `stored`, the filter's whole set, has its own cell. Returns the first
    /// problem found.
    fn validate(&self, stored: &[Key], keys: &dyn Keys) -> Result<(), String>;

    /// Writes the filter with its hash key and the number of its remote's last commit. [`Kind::load`] reads it.
    fn save(&self, sequence: u64, out: &mut dyn io::Write) -> Result<(), SaveError>;

    /// A boxed copy.
    fn boxed(&self) -> Box<dyn Backed>;
}

impl Clone for Box<dyn Backed> {
    fn clone(&self) -> Box<dyn Backed> {
        (**self).boxed()
    }
}
