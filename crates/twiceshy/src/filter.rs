//! What filters promise, one trait for each promise.

use crate::error::{PlanError, StalePlan};
use crate::hash::HashKey;
use crate::kind::Kind;
use crate::persist::SaveError;
use crate::plan::{Plan, Stamp, Undo};
use crate::remote::{Generation, Key, Keys, OrderWords, Phase, Place, Position, Schema, Write};
use std::any::Any;
use std::fmt::Debug;
use std::io;

/// What every filter can do: answer from its own bits.
///
/// **Contract.** A key that was inserted and not removed is never reported absent, whatever happened in between. An absent
/// key is reported present with a small probability.
pub trait Filter {
    /// `true` if the key may be in the set; `false` if it is not.
    fn contains(&self, key: &[u8]) -> bool;

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

    /// The memory that the filter has allocated, in bits.
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
    /// The key is gone. Its fingerprint could not be told from others and stays as an orphan: a cell that may cause false
    /// positives until an adaptation or a rebuild clears it.
    LeftOrphan,
    /// The key was not stored; nothing changed.
    NotStored,
}

/// What an adaptation did about a false positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adapted {
    /// The query is absent from now on, until another change breaks it. Also if the filter turned it away already.
    Fixed,
    /// This call did not fix it; a later one may or may not. Do not loop.
    StillPresent,
    /// No adaptation of this filter fixes it: the query and a stored key agree in everything that could tell them apart,
    /// or the filter does not adapt.
    Unfixable,
    /// The query is a stored key; nothing changed.
    Stored,
}

/// What remains of a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There are more keys to go through.
    More,
    /// The new table answers from now on.
    Done,
    /// The keys do not fit into the new table. It is gone, and the old one goes on.
    GaveUp,
}

/// What a rebuild is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// At least this many cells, under the same hash key.
    Cells(u64),
    /// The same size under another hash key.
    Hash(HashKey),
}

/// What a filter can be asked to plan.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'k> {
    /// Put a key into the set. A stored key changes nothing.
    Insert(&'k [u8]),
    /// Take exactly this key out of the set.
    Remove(&'k [u8]),
    /// Learn that a query is not in the set, although the filter says *present*.
    Adapt(&'k [u8]),
    /// Bring in a key that is known not to be in the filter's set: see [`Backed::fill`].
    Bring(&'k Position),
    /// Begin a rebuild within the filter: only for filters whose [`Backed::successor`] is `None`.
    Begin(Target),
    /// Move up to this many keys on in a rebuild within the filter.
    Step(usize),
}

/// A filter whose fingerprints belong to keys that a remote knows.
///
/// **Contract.** [`Backed::plan`] never changes the filter. [`Backed::apply`] changes it in memory and fails only if the plan
/// was made for another state; then nothing changes. The owner commits the plan's writes in between, and sees to it that
/// the remote is at the filter's commit while a plan is made. So after an error nothing has changed on either side.
///
/// The trait is object-safe: `Box<dyn Backed>` is a filter of any kind. [`AdaptiveFilter`](crate::AdaptiveFilter) owns a
/// filter together with its remote and does all this.
pub trait Backed: Filter + Any + Debug + Send + Sync {
    /// Which filter it is.
    fn kind(&self) -> Kind;

    /// Every place that matches a key; none if the key is absent. A stored key may match another's fingerprint before its
    /// own, so a query is a false positive only if it is among the candidates of none of them.
    fn lookup(&self, key: &[u8]) -> Vec<Place>;

    /// Works out what an operation does, without changing anything. Reads keys only if the filter matches already or must
    /// know which key it displaces.
    fn plan(&self, operation: Operation<'_>, keys: &dyn Keys) -> Result<Plan, PlanError>;

    /// Changes the filter as planned. Touches memory only.
    fn apply(&mut self, plan: Plan) -> Result<Undo, StalePlan>;

    /// Takes back the plan that was applied last, bit for bit. Any other plan is refused, and nothing changes.
    fn undo(&mut self, undo: Undo) -> Result<(), StalePlan>;

    /// Which filter this is, and after which changes.
    fn stamp(&self) -> Stamp;

    /// The generation of the remote that the filter reads, and what its entries look like.
    fn layout(&self) -> (Generation, Schema);

    /// The two functions of a filter with a frontier, as the remote must know them; `None` for all others.
    fn phase(&self) -> Option<Phase> {
        None
    }

    /// Where the remote has, or would have, a key's entries: the generation, and a word for each order.
    fn entries(&self, key: &[u8]) -> (Generation, OrderWords);

    /// What the remote of a new filter must commit before the first insertion.
    fn opening(&self) -> Vec<Write> {
        let (generation, schema) = self.layout();
        vec![Write::Begin { generation, schema }]
    }

    /// An empty filter like this one for a rebuild, for this generation of the remote; `None` if this filter rebuilds
    /// itself, by [`Operation::Begin`] and [`Operation::Step`].
    fn successor(&self, target: Target, generation: Generation) -> Result<Option<Box<dyn Backed>>, PlanError>;

    /// Brings one key into a filter that does not answer yet. `keys` has just the keys that were brought before.
    fn fill(&mut self, at: &Position, keys: &dyn Keys) -> Result<(), PlanError> {
        let plan = self.plan(Operation::Bring(at), keys)?;
        self.apply(plan).map(drop).map_err(|StalePlan| PlanError::Disagree)
    }

    /// Changes places with a filled successor: this filter has its table from now on, and the successor is left with the
    /// old one. Statistics stay here. `false` if the successor is of another kind; then nothing changes.
    fn replace(&mut self, successor: &mut dyn Backed) -> bool;

    /// `true` if a rebuild within the filter has begun and not ended.
    fn is_rebuilding(&self) -> bool {
        false
    }

    /// `true` if the filter would be better for a rebuild: too many orphans, or adaptations that ran out of bounds.
    fn wants_rebuild(&self) -> bool;

    /// Checks every invariant, and that each of these keys, the filter's whole set, has a cell of its own. Returns the
    /// first thing that is wrong.
    fn validate(&self, stored: &[Key], keys: &dyn Keys) -> Result<(), String>;

    /// Writes the filter with its hash key and the number of its remote's last commit. [`Kind::load`] reads it.
    fn save(&self, sequence: u64, out: &mut dyn io::Write) -> Result<(), SaveError>;

    /// A copy.
    fn boxed(&self) -> Box<dyn Backed>;
}

impl<F: Filter + ?Sized> Filter for Box<F> {
    #[inline]
    fn contains(&self, key: &[u8]) -> bool {
        (**self).contains(key)
    }

    fn len(&self) -> u64 {
        (**self).len()
    }

    fn cells(&self) -> u64 {
        (**self).cells()
    }

    fn local_bits(&self) -> u64 {
        (**self).local_bits()
    }
}

impl Backed for Box<dyn Backed> {
    fn kind(&self) -> Kind {
        (**self).kind()
    }

    fn lookup(&self, key: &[u8]) -> Vec<Place> {
        (**self).lookup(key)
    }

    fn plan(&self, operation: Operation<'_>, keys: &dyn Keys) -> Result<Plan, PlanError> {
        (**self).plan(operation, keys)
    }

    fn apply(&mut self, plan: Plan) -> Result<Undo, StalePlan> {
        (**self).apply(plan)
    }

    fn undo(&mut self, undo: Undo) -> Result<(), StalePlan> {
        (**self).undo(undo)
    }

    fn stamp(&self) -> Stamp {
        (**self).stamp()
    }

    fn layout(&self) -> (Generation, Schema) {
        (**self).layout()
    }

    fn entries(&self, key: &[u8]) -> (Generation, OrderWords) {
        (**self).entries(key)
    }

    fn phase(&self) -> Option<Phase> {
        (**self).phase()
    }

    fn opening(&self) -> Vec<Write> {
        (**self).opening()
    }

    fn successor(&self, target: Target, generation: Generation) -> Result<Option<Box<dyn Backed>>, PlanError> {
        (**self).successor(target, generation)
    }

    fn fill(&mut self, at: &Position, keys: &dyn Keys) -> Result<(), PlanError> {
        (**self).fill(at, keys)
    }

    fn replace(&mut self, successor: &mut dyn Backed) -> bool {
        (**self).replace(successor)
    }

    fn is_rebuilding(&self) -> bool {
        (**self).is_rebuilding()
    }

    fn wants_rebuild(&self) -> bool {
        (**self).wants_rebuild()
    }

    fn validate(&self, stored: &[Key], keys: &dyn Keys) -> Result<(), String> {
        (**self).validate(stored, keys)
    }

    fn save(&self, sequence: u64, out: &mut dyn io::Write) -> Result<(), SaveError> {
        (**self).save(sequence, out)
    }

    fn boxed(&self) -> Box<dyn Backed> {
        (**self).boxed()
    }
}

impl Clone for Box<dyn Backed> {
    fn clone(&self) -> Box<dyn Backed> {
        (**self).boxed()
    }
}
