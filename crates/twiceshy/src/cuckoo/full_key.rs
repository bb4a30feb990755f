//! The full-key cuckoo filter: one engine under every fingerprint rule.
//!
//! Each operation plans over the table that answers (and over the one that is being filled, where the key belongs to its
//! set), and leaves the rest to the [seam](crate::seam): R commits, and the changes are applied.

use super::fingerprint::{Function, Rule};
use super::local::{Hits, Local};
use super::owners::Trouble;
use super::placing::{place, unplace};
use super::planner::{Finished, Planner};
use super::search::Search;
use super::shape::Shape;
use super::stats::Stats;
use super::validate::check_table;
use crate::error::{BuildError, InsertError, OptionsError, RebuildError, SeamError};
use crate::filter::{Backed, Filter, Inserted, Progress, Removed};
use crate::hash::HashKey;
use crate::remote::{CellId, Generation, Key, OrderWords, Place, Position, Remote, Write};
use crate::rng::SplitMix64;
use crate::seam::{Pending, Seam, Table, Then};

/// The share of the cells that orphans may take before the filter wants to be rebuilt: one in this many.
const ORPHAN_SHARE: u64 = 64;

/// A cuckoo filter whose buckets come from the whole key, so that cells can change without the key losing its place.
///
/// Insertions look for room breadth-first unless [`Options::search`](super::Options::search) asks for the papers' random
/// walk. The rule `R` says which fingerprint function a cell uses. See [`FullKeyFilter`](super::FullKeyFilter),
/// [`CyclicFilter`](super::CyclicFilter), [`SwappingFilter`](super::SwappingFilter) and
/// [`CuckooingFilter`](super::CuckooingFilter), which are this type under their rules.
#[derive(Clone, Debug)]
pub struct FullKeyCuckoo<R> {
    pub(crate) seam: Seam<Local<R>>,
    pub(crate) rng: SplitMix64,
    pub(crate) search: Search,
    pub(crate) stats: Stats,
}

/// The places of a cuckoo filter that match a query.
#[derive(Clone, Debug)]
pub struct CuckooPlaces {
    shape: Shape,
    generation: Generation,
    hits: Hits,
}

impl CuckooPlaces {
    pub(crate) fn new(shape: Shape, generation: Generation, hits: Hits) -> Option<CuckooPlaces> {
        (hits.hits != 0).then_some(CuckooPlaces { shape, generation, hits })
    }
}

impl Iterator for CuckooPlaces {
    type Item = Place;

    fn next(&mut self) -> Option<Place> {
        if self.hits.hits == 0 {
            return None;
        }
        let bit = self.hits.hits.trailing_zeros() as u64;
        self.hits.hits &= self.hits.hits - 1;
        let per_bucket = u64::from(self.shape.cells_per_bucket());
        let table = (bit / per_bucket) as u8;
        let CellId(first) = self.shape.first_cell(table, self.hits.buckets[usize::from(table)]);
        Some(self.shape.place(CellId(first + bit % per_bucket), self.generation))
    }
}

impl<R: Rule> FullKeyCuckoo<R> {
    /// An empty filter over an empty remote.
    pub(crate) fn build<Rem: Remote>(
        shape: Shape,
        width: u32,
        rule: R,
        search: Search,
        hash: HashKey,
        remote: &mut Rem,
    ) -> Result<Self, BuildError<Rem::Error>> {
        let seam = Seam::build(|generation| new_local(shape, width, hash, rule, generation), remote)?;
        Ok(FullKeyCuckoo::over(seam, search))
    }

    /// A filter for the set that a remote holds, filled in one ordered scan of it.
    pub(crate) fn recover<Rem: Remote>(
        shape: Shape,
        width: u32,
        rule: R,
        search: Search,
        remote: &mut Rem,
    ) -> Result<Self, BuildError<Rem::Error>> {
        let smallest = Shape::new(shape.tables().into(), 1, 1).map_err(OptionsError::from)?;
        let stand_in = |generation, hash| new_local(smallest, width, hash, rule, generation);
        let mut filter = FullKeyCuckoo::over(Seam::recover(shape.tables(), stand_in, remote)?, search);
        filter.begin(shape, filter.hash_key(), remote)?;
        while filter.rebuild_step(4096, remote)? == Progress::More {}
        filter.seam.rebuilds = 0;
        Ok(filter)
    }

    fn over(seam: Seam<Local<R>>, search: Search) -> Self {
        let rng = SplitMix64::for_key(&seam.live.hash);
        FullKeyCuckoo::from_parts(seam, search, rng)
    }

    /// A filter that was saved.
    pub(crate) fn from_parts(seam: Seam<Local<R>>, search: Search, rng: SplitMix64) -> Self {
        FullKeyCuckoo { seam, rng, search, stats: Stats::default() }
    }

    /// The shape of the table that answers.
    pub fn shape(&self) -> Shape {
        self.seam.live.shape
    }

    /// The width of a cell in bits, selector included.
    pub fn width(&self) -> u32 {
        self.seam.live.cells.width()
    }

    /// The hash key in use.
    pub fn hash_key(&self) -> HashKey {
        self.seam.live.hash
    }

    /// The cells that a look-up of `key` compares, table by table.
    pub fn cells_of(&self, key: &[u8]) -> impl Iterator<Item = CellId> + use<R> {
        let live = &self.seam.live;
        live.shape.cells_of(&live.shape.buckets_of(&live.hash.words(key)))
    }

    /// The value that a cell holds for `key` under a fingerprint function: for experiments that count collisions.
    ///
    /// # Panics
    /// If the filter has no such function.
    pub fn value_of(&self, key: &[u8], function: Function) -> u32 {
        self.seam.live.value(key, function)
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        let (orphans, rebuilds) = (self.seam.live.orphans, self.seam.rebuilds.into());
        Stats { orphans, rebuilds, ..self.stats }
    }

    /// Whether a commit's outcome is unknown: see [`Backed::resolve`].
    pub fn is_in_doubt(&self) -> bool {
        self.seam.is_in_doubt()
    }

    /// Commits a plan that only moves keys or rewrites their fingerprints.
    pub(crate) fn commit_rewrite<Rem: Remote>(
        &mut self,
        finished: Finished,
        remote: &mut Rem,
    ) -> Result<(), SeamError<Rem::Error>> {
        let writes = finished.writes(self.seam.live.generation, remote).collect();
        self.seam.commit(writes, Pending::change(finished.change), remote)
    }

    /// The planner of the table that answers.
    pub(crate) fn live_planner<'a, Rem: Remote>(&'a self, remote: &'a Rem) -> Planner<'a, R, Rem> {
        Planner::new(&self.seam.live, remote, None, self.rng.clone())
    }

    fn begin<Rem: Remote>(
        &mut self,
        shape: Shape,
        hash: HashKey,
        remote: &mut Rem,
    ) -> Result<(), RebuildError<Rem::Error>> {
        let (width, rule) = (self.width(), self.seam.live.rule.clone());
        self.seam.begin(hash, |generation| new_local(shape, width, hash, rule, generation), remote)
    }

    /// Brings one key into the table that is being filled.
    fn fill<Rem: Remote>(&mut self, at: Position, remote: &mut Rem) -> Result<bool, SeamError<Rem::Error>> {
        let Some(next) = &self.seam.next else { return Ok(true) };
        let planner = Planner::new(&next.table, remote, Some(next.cut()), self.rng.clone());
        let Some(placed) = place(planner, &at.key, self.search).map_err(SeamError::from)? else { return Ok(false) };
        let mut writes: Vec<Write> = placed.finished.writes(next.table.generation, remote).collect();
        if remote.knows_cells() {
            writes.push(next.table.addition(&at.key, Some(placed.cell)));
        }
        self.rng = placed.finished.rng;
        let pending = Pending { next: placed.finished.change, ..Pending::then(Then::Advance(at)) };
        self.seam.commit(writes, pending, remote)?;
        Ok(true)
    }

    fn full<E>(&self) -> InsertError<E> {
        InsertError::Full { keys: self.seam.live.keys, cells: self.seam.live.shape.cells() }
    }
}

fn new_local<R: Rule>(
    shape: Shape,
    width: u32,
    hash: HashKey,
    rule: R,
    generation: Generation,
) -> Result<Local<R>, OptionsError> {
    Local::new(shape, width, hash, rule, generation).ok_or(OptionsError::Memory { cells: shape.cells(), width })
}

impl<E> From<Trouble<E>> for SeamError<E> {
    fn from(trouble: Trouble<E>) -> SeamError<E> {
        match trouble {
            Trouble::Remote(error) => SeamError::Remote(error),
            Trouble::Disagree => SeamError::Disagree,
        }
    }
}

impl<R: Rule> Filter for FullKeyCuckoo<R> {
    #[inline]
    fn contains(&self, key: &[u8]) -> bool {
        self.seam.live.contains(key) || self.seam.is_in_doubt()
    }

    fn len(&self) -> u64 {
        self.seam.live.keys
    }

    fn cells(&self) -> u64 {
        self.seam.live.shape.cells()
    }

    fn local_bits(&self) -> u64 {
        self.seam.tables().map(|local| local.cells.allocated_bits()).sum::<u64>() + size_of::<Self>() as u64 * 8
    }
}

impl<R: Rule> Backed for FullKeyCuckoo<R> {
    type Places = CuckooPlaces;

    #[inline]
    fn lookup(&self, key: &[u8]) -> Option<CuckooPlaces> {
        let live = &self.seam.live;
        let mut hits = live.hits(key);
        if self.seam.is_in_doubt() {
            let cells = u32::from(live.shape.tables()) * u32::from(live.shape.cells_per_bucket());
            hits.hits = u64::MAX >> (64 - cells);
        }
        CuckooPlaces::new(live.shape, live.generation, hits)
    }

    fn insert<Rem: Remote>(&mut self, key: &[u8], remote: &mut Rem) -> Result<Inserted, InsertError<Rem::Error>> {
        self.seam.ready()?;
        let matched: Vec<CellId> = self.seam.live.cells_hit(&self.seam.live.hits(key)).collect();
        let mut planner = self.live_planner(remote);
        if planner.owners.stores(key, &matched).map_err(SeamError::from)? {
            return Ok(Inserted::AlreadyStored);
        }
        let key = Key::from(key);
        let placed = place(planner, &key, self.search).map_err(SeamError::from)?;
        let Some(placed) = placed else { return Err(self.full()) };
        let mut writes: Vec<Write> = placed.finished.writes(self.seam.live.generation, remote).collect();
        writes.push(self.seam.live.addition(&key, Some(placed.cell)));
        let mut pending = Pending::change(placed.finished.change);
        if let Some(next) = self.seam.next.as_ref().filter(|next| next.has_passed(&key)) {
            let planner = Planner::new(&next.table, remote, Some(next.cut()), placed.finished.rng.clone());
            match place(planner, &key, self.search).map_err(SeamError::from)? {
                Some(second) => {
                    writes.extend(second.finished.writes(next.table.generation, remote));
                    writes.extend(next.addition(&key, Some(second.cell)));
                    pending.next = second.finished.change;
                }
                // The new table is full: it is given up, and the old one goes on.
                None => {
                    writes.extend(next.abandonment());
                    pending.then = Then::Abandon;
                }
            }
        }
        self.seam.commit(writes, pending, remote)?;
        self.rng = placed.finished.rng;
        self.stats.insertion(placed.path);
        Ok(Inserted::New)
    }

    fn remove<Rem: Remote>(&mut self, key: &[u8], remote: &mut Rem) -> Result<Removed, SeamError<Rem::Error>> {
        self.seam.ready()?;
        let matched: Vec<CellId> = self.seam.live.cells_hit(&self.seam.live.hits(key)).collect();
        let mut planner = self.live_planner(remote);
        if !planner.owners.stores(key, &matched)? {
            // Nothing will be written that could find out that the remote has gone on without this filter.
            self.seam.in_step(remote)?;
            return Ok(Removed::NotStored);
        }
        let key = Key::from(key);
        let (finished, cell) = unplace(planner, &key)?;
        let mut writes = vec![self.seam.live.deletion(&key, cell)];
        let mut pending = Pending::change(finished.change);
        if let Some(next) = &self.seam.next {
            let mut second = None;
            if next.has_passed(&key) {
                let planner = Planner::new(&next.table, remote, Some(next.cut()), self.rng.clone());
                let (finished, cell) = unplace(planner, &key)?;
                pending.next = finished.change;
                second = cell;
            }
            writes.extend(next.deletion(&key, second, remote));
        }
        self.seam.commit(writes, pending, remote)?;
        self.stats.removals += 1;
        Ok(if cell.is_some() { Removed::Gone } else { Removed::LeftOrphan })
    }

    #[inline]
    fn answers(&self, key: &[u8]) -> bool {
        self.seam.live.contains(key)
    }

    fn entries(&self, key: &[u8]) -> (Generation, OrderWords) {
        (self.seam.live.generation(), self.seam.live.order_words(key))
    }

    fn sequence(&self) -> u64 {
        self.seam.sequence
    }

    fn stand_at(&mut self, sequence: u64) {
        if !self.seam.is_in_doubt() {
            self.seam.sequence = sequence;
        }
    }

    fn resolve<Rem: Remote>(&mut self, remote: &Rem) -> Result<(), SeamError<Rem::Error>> {
        self.seam.resolve(remote)
    }

    fn begin_grow<Rem: Remote>(&mut self, cells: u64, remote: &mut Rem) -> Result<(), RebuildError<Rem::Error>> {
        let old = self.seam.live.shape;
        let shape = Shape::with_cells(old.tables().into(), old.cells_per_bucket().into(), cells);
        self.begin(shape.map_err(OptionsError::from)?, self.seam.live.hash, remote)
    }

    fn begin_rekey<Rem: Remote>(&mut self, hash: HashKey, remote: &mut Rem) -> Result<(), RebuildError<Rem::Error>> {
        self.begin(self.seam.live.shape, hash, remote)
    }

    fn rebuild_step<Rem: Remote>(
        &mut self,
        limit: usize,
        remote: &mut Rem,
    ) -> Result<Progress, RebuildError<Rem::Error>> {
        let Some(batch) = self.seam.next_batch(limit, remote)? else { return Ok(Progress::Done) };
        for at in batch {
            if !self.fill(at, remote)? {
                let new = self.seam.next.as_ref().map(|next| &next.table);
                let (keys, cells) = new.map_or((0, 0), |new| (new.keys + 1, new.shape.cells()));
                self.seam.abandon(remote)?;
                return Err(RebuildError::Full { keys: keys.max(self.seam.live.keys), cells });
            }
        }
        Ok(Progress::More)
    }

    fn is_rebuilding(&self) -> bool {
        self.seam.next.is_some()
    }

    fn wants_rebuild(&self) -> bool {
        self.seam.wants_rebuild || self.seam.live.orphans * ORPHAN_SHARE > self.seam.live.shape.cells()
    }

    fn validate<Rem: Remote>(&self, remote: &Rem) -> Result<(), String> {
        self.seam.check(remote, |table, keys| check_table(table, keys, remote))
    }
}
