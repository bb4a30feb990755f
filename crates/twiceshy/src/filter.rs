//! What filters promise, one trait for each promise.

use crate::error::{InsertError, RebuildError, SeamError};
use crate::hash::HashKey;
use crate::remote::{Generation, OrderWords, Place, Remote};

/// What every filter can do: answer from its own bits.
///
/// **Contract.** A key that was inserted and not removed is never reported absent, whatever happened in between. An absent
/// key is reported present with a small probability.
pub trait Filter {
    /// Whether the key may be in the set.
    fn contains(&self, key: &[u8]) -> bool;

    /// The number of keys in the filter.
    fn len(&self) -> u64;

    /// Whether no key is in it.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of cells or slots.
    fn cells(&self) -> u64;

    /// Keys over cells.
    fn load(&self) -> f64 {
        self.len() as f64 / self.cells() as f64
    }

    /// The bits that the filter holds in memory, from what it allocated, a table that is being filled included.
    fn local_bits(&self) -> u64;
}

/// Whether an insertion changed the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The key is new.
    New,
    /// The key was stored already; nothing changed.
    AlreadyStored,
}

/// Whether a removal changed the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// The key is gone, and so is its fingerprint.
    Gone,
    /// The key is gone; its fingerprint could not be told from others and stays as an orphan, a cell that may cause false
    /// positives until an adaptation or a rebuild clears it.
    LeftOrphan,
    /// The key was not stored; nothing changed.
    NotStored,
}

/// What remains of a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There are more keys to go through.
    More,
    /// The new table answers from now on.
    Done,
}

/// A filter whose fingerprints belong to keys that a [`Remote`] knows.
///
/// **Contract.** Every operation first plans without changing the filter, then has the remote commit the whole plan, and
/// only then changes the filter. So after an error nothing has changed on either side, with one exception: an answer of the
/// remote that was lost ([`SeamError::Unknown`]). Then the filter answers *present* to everything and refuses writes until
/// [`Backed::resolve`] has read the remote's sequence number.
///
/// All calls must be given the same remote.
pub trait Backed: Filter {
    /// All places that match a key; there is one, seldom more.
    type Places: Iterator<Item = Place>;

    /// Absent (`None`), or present with every matching place. A stored key may match another's fingerprint before its own,
    /// so a query is a false positive only if it is among the candidates of none of them.
    fn lookup(&self, key: &[u8]) -> Option<Self::Places>;

    /// Puts a key into the filter and the remote. Reads the remote only where the filter matches already or must know
    /// whom it displaces. A table that is being filled and has no room for the key is given up.
    fn insert<R: Remote>(&mut self, key: &[u8], remote: &mut R) -> Result<Inserted, InsertError<R::Error>>;

    /// Takes exactly this key out of the filter and the remote.
    fn remove<R: Remote>(&mut self, key: &[u8], remote: &mut R) -> Result<Removed, SeamError<R::Error>>;

    /// What the filter's own bits say of a key while a commit's outcome is unknown, where
    /// [`Filter::contains`] says *present* to be safe. Of every key but those that the commit brings or takes away it is the
    /// right answer: for who knows which these are.
    fn answers(&self, key: &[u8]) -> bool;

    /// Where the remote has, or would have, a key's entries: the generation, and a word for each order.
    fn entries(&self, key: &[u8]) -> (Generation, OrderWords);

    /// The number of the last commit that is applied to the filter.
    fn sequence(&self) -> u64;

    /// Says that the filter stands at another commit of its remote: for who has brought it to the set of that commit in
    /// another way than by the commits between. Changes nothing while a commit's outcome is unknown.
    fn stand_at(&mut self, sequence: u64);

    /// Finds out what became of a commit whose answer was lost, and applies or drops it. Where nothing is in doubt it only
    /// checks that filter and remote are at the same commit.
    fn resolve<R: Remote>(&mut self, remote: &R) -> Result<(), SeamError<R::Error>>;

    /// Begins a table of at least `cells` cells beside this one, under the same hash key. It is filled by
    /// [`Backed::rebuild_step`]; until then this table answers. One that has begun before is given up.
    ///
    /// Begin before the table is full: until the switch insertions need room in both. What this table has learned from its
    /// mistakes is not carried over.
    fn begin_grow<R: Remote>(&mut self, cells: u64, remote: &mut R) -> Result<(), RebuildError<R::Error>>;

    /// Begins a table under another hash key: a new generation of the remote. What this table has learned is not carried
    /// over.
    fn begin_rekey<R: Remote>(&mut self, hash: HashKey, remote: &mut R) -> Result<(), RebuildError<R::Error>>;

    /// Brings up to `limit` more keys into the table that was begun, and switches over after the last. `Full` gives the new
    /// table up, and the old one goes on; after any other error the keys brought over so far stay, and the next call goes on
    /// from there. `NotBegun` comes as well where an insertion found the new table full and gave it up.
    fn rebuild_step<R: Remote>(&mut self, limit: usize, remote: &mut R) -> Result<Progress, RebuildError<R::Error>>;

    /// Whether a rebuild has begun and not ended.
    fn is_rebuilding(&self) -> bool;

    /// Whether the filter would be better for a rebuild: too many orphans, or adaptations that ran out of bounds.
    fn wants_rebuild(&self) -> bool;

    /// Grows in one go.
    fn grow<R: Remote>(&mut self, cells: u64, remote: &mut R) -> Result<(), RebuildError<R::Error>> {
        self.begin_grow(cells, remote)?;
        run(self, remote)
    }

    /// Takes another hash key in one go.
    fn rekey<R: Remote>(&mut self, hash: HashKey, remote: &mut R) -> Result<(), RebuildError<R::Error>> {
        self.begin_rekey(hash, remote)?;
        run(self, remote)
    }

    /// Checks every internal invariant, and with the remote that each of its keys has a cell of its own. Costs a walk over
    /// all keys. While a commit's outcome is unknown there is nothing to check.
    fn validate<R: Remote>(&self, remote: &R) -> Result<(), String>;
}

/// How many keys a rebuild in one go brings over at a time.
const BATCH: usize = 1024;

fn run<F: Backed + ?Sized, R: Remote>(filter: &mut F, remote: &mut R) -> Result<(), RebuildError<R::Error>> {
    while filter.rebuild_step(BATCH, remote)? == Progress::More {}
    Ok(())
}

/// What became of a false positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adapted {
    /// The query is absent from now on, until another change breaks it; also where the filter turned it away already.
    Fixed,
    /// This call did not fix it; a later one may or may not. Do not loop.
    StillPresent,
    /// No adaptation of this filter fixes it: the query and a stored key agree in everything that could tell them apart.
    Unfixable,
    /// The query is a stored key; nothing changed.
    Stored,
}

/// A filter that learns from its mistakes.
pub trait Adaptive: Backed {
    /// Changes what the filter keeps of the keys that `query` collides with. A following look-up agrees with the outcome.
    fn adapt<R: Remote>(&mut self, query: &[u8], remote: &mut R) -> Result<Adapted, SeamError<R::Error>>;
}
