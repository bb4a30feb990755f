//! The full-key cuckoo filter: one engine under every fingerprint rule.
//!
//! Each operation plans over the table that answers (and over the one that is being filled, where the key belongs to its
//! set), has R commit, and applies.

use super::filling::{Filling, addition, deletion, place, unplace};
use super::fingerprint::{Function, Rule};
use super::local::{Change, Hits, Local};
use super::owners::Trouble;
use super::planner::{Finished, Planner};
use super::search::Search;
use super::shape::Shape;
use super::stats::Stats;
use crate::error::{BuildError, InsertError, OptionsError, RebuildError, SeamError};
use crate::filter::{Backed, Filter, Inserted, Progress, Removed};
use crate::hash::HashKey;
use crate::remote::{CellId, Generation, Key, Place, Plan, Position, Remote, Write};
use crate::rng::SplitMix64;

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
    pub(crate) live: Local<R>,
    pub(crate) next: Option<Filling<R>>,
    pub(crate) sequence: u64,
    pub(crate) rng: SplitMix64,
    pub(crate) search: Search,
    pub(crate) stats: Stats,
    pub(crate) wants_rebuild: bool,
    doubt: Option<Pending<R>>,
}

/// What is to be done to L once R has committed.
#[derive(Clone, Debug)]
struct Pending<R> {
    live: Change,
    next: Change,
    then: Then<R>,
}

#[derive(Clone, Debug)]
enum Then<R> {
    Nothing,
    /// One more key is in the table that is being filled.
    Advance(Position),
    Begin(Box<Filling<R>>),
    Switch,
    Abandon,
}

impl<R> Pending<R> {
    fn change(live: Change) -> Pending<R> {
        Pending { live, next: Change::default(), then: Then::Nothing }
    }

    fn then(then: Then<R>) -> Pending<R> {
        Pending { then, ..Pending::change(Change::default()) }
    }
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
        if remote.in_use().map_err(SeamError::Remote)?.is_some() {
            return Err(BuildError::RemoteInUse);
        }
        let sequence = remote.sequence().map_err(SeamError::Remote)?.saturating_add(1);
        let local = new_local(shape, width, hash, rule, Generation(0))?;
        let writes = vec![Write::Begin { generation: local.generation, schema: local.schema() }];
        remote.commit(&Plan { sequence, writes }).map_err(SeamError::from)?;
        Ok(FullKeyCuckoo::over(local, search, sequence))
    }

    /// A filter for the set that a remote holds, filled in one ordered scan of it.
    pub(crate) fn recover<Rem: Remote>(
        shape: Shape,
        width: u32,
        rule: R,
        search: Search,
        remote: &mut Rem,
    ) -> Result<Self, BuildError<Rem::Error>> {
        let in_use = remote.in_use().map_err(SeamError::Remote)?;
        let fits = in_use.filter(|(_, schema)| schema.orders == shape.tables());
        let Some((generation, schema)) = fits else {
            return Err(BuildError::NothingToRecover { expected: shape.tables() });
        };
        let sequence = remote.sequence().map_err(SeamError::Remote)?;
        // An empty table stands in for the lost one: it is never asked, and ends with the switch.
        let lost = new_local(
            Shape::new(shape.tables().into(), 1, 1).map_err(OptionsError::from)?,
            width,
            schema.hash,
            rule,
            generation,
        )?;
        let mut filter = FullKeyCuckoo::over(lost, search, sequence);
        filter.begin(shape, schema.hash, remote)?;
        while filter.rebuild_step(4096, remote)? == Progress::More {}
        Ok(filter)
    }

    fn over(live: Local<R>, search: Search, sequence: u64) -> Self {
        let rng = SplitMix64::for_key(&live.hash);
        FullKeyCuckoo::from_parts(live, search, sequence, rng)
    }

    /// A filter that was saved.
    pub(crate) fn from_parts(live: Local<R>, search: Search, sequence: u64, rng: SplitMix64) -> Self {
        let stats = Stats::default();
        FullKeyCuckoo { live, next: None, sequence, rng, search, stats, wants_rebuild: false, doubt: None }
    }

    /// The shape of the table that answers.
    pub fn shape(&self) -> Shape {
        self.live.shape
    }

    /// The width of a cell in bits, selector included.
    pub fn width(&self) -> u32 {
        self.live.cells.width()
    }

    /// The hash key in use.
    pub fn hash_key(&self) -> HashKey {
        self.live.hash
    }

    /// The cells that a look-up of `key` compares, table by table.
    pub fn cells_of(&self, key: &[u8]) -> impl Iterator<Item = CellId> + use<R> {
        self.live.shape.cells_of(&self.live.shape.buckets_of(&self.live.hash.words(key)))
    }

    /// The value that a cell holds for `key` under a fingerprint function: for experiments that count collisions.
    ///
    /// # Panics
    /// If the filter has no such function.
    pub fn value_of(&self, key: &[u8], function: Function) -> u32 {
        self.live.value(key, function)
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        Stats { orphans: self.live.orphans, ..self.stats }
    }

    /// Whether a commit's outcome is unknown: see [`Backed::resolve`].
    pub fn is_in_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    pub(crate) fn ready<E>(&self) -> Result<(), SeamError<E>> {
        if self.doubt.is_some() { Err(SeamError::InDoubt) } else { Ok(()) }
    }

    /// Has R commit, then changes L. Where R has nothing to write there is no commit and no number.
    fn commit<Rem: Remote>(
        &mut self,
        writes: Vec<Write>,
        pending: Pending<R>,
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

    /// Commits a plan that only moves keys or rewrites their fingerprints.
    pub(crate) fn commit_rewrite<Rem: Remote>(
        &mut self,
        finished: Finished,
        remote: &mut Rem,
    ) -> Result<(), SeamError<Rem::Error>> {
        let writes = finished.writes(self.live.generation, remote).collect();
        self.commit(writes, Pending::change(finished.change), remote)
    }

    fn apply(&mut self, pending: Pending<R>) {
        self.live.apply(&pending.live);
        if let Some(next) = &mut self.next {
            next.local.apply(&pending.next);
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
                    self.live = next.local;
                    self.wants_rebuild = false;
                    self.stats.rebuilds += 1;
                }
            }
        }
    }

    /// Refuses a remote that is at another commit: a plan that writes nothing has no commit to find it out.
    pub(crate) fn in_step<Rem: Remote>(&self, remote: &Rem) -> Result<(), SeamError<Rem::Error>> {
        let found = remote.sequence().map_err(SeamError::Remote)?;
        if found == self.sequence { Ok(()) } else { Err(SeamError::out_of_step(self.sequence, found)) }
    }

    fn planner<'a, Rem: Remote>(&self, local: &'a Local<R>, remote: &'a Rem) -> Planner<'a, R, Rem> {
        Planner::new(local, remote, None, self.rng.clone())
    }

    /// The planner of the table that answers.
    pub(crate) fn live_planner<'a, Rem: Remote>(&'a self, remote: &'a Rem) -> Planner<'a, R, Rem> {
        self.planner(&self.live, remote)
    }

    fn begin<Rem: Remote>(
        &mut self,
        shape: Shape,
        hash: HashKey,
        remote: &mut Rem,
    ) -> Result<(), RebuildError<Rem::Error>> {
        self.ready()?;
        self.in_step(remote)?;
        let same_entries = hash == self.live.hash && !remote.knows_cells();
        let generation = Generation(self.live.generation.0.saturating_add(u32::from(!same_entries)));
        let local = new_local(shape, self.width(), hash, self.live.rule.clone(), generation)?;
        let mut writes = Vec::new();
        if let Some(given_up) = self.next.as_ref().filter(|next| next.own_generation() && same_entries) {
            writes.push(Write::Abandon { generation: given_up.local.generation });
        }
        if !same_entries {
            writes.push(Write::Begin { generation, schema: local.schema() });
        }
        let filling = Filling::new(local, (self.live.generation, self.live.hash));
        Ok(self.commit(writes, Pending::then(Then::Begin(Box::new(filling))), remote)?)
    }

    /// Gives the table that is being filled up.
    fn abandon<Rem: Remote>(&mut self, remote: &mut Rem) -> Result<(), SeamError<Rem::Error>> {
        let own = self.next.as_ref().filter(|next| next.own_generation()).map(|next| next.local.generation);
        let writes = own.map(|generation| Write::Abandon { generation }).into_iter().collect();
        self.commit(writes, Pending::then(Then::Abandon), remote)
    }

    /// Brings one key into the table that is being filled.
    fn fill<Rem: Remote>(&mut self, at: Position, remote: &mut Rem) -> Result<bool, SeamError<Rem::Error>> {
        let Some(next) = &self.next else { return Ok(true) };
        let planner = Planner::new(&next.local, remote, Some(next.cut()), self.rng.clone());
        let Some(placed) = place(planner, &at.key, self.search).map_err(SeamError::from)? else { return Ok(false) };
        let mut writes: Vec<Write> = placed.finished.writes(next.local.generation, remote).collect();
        if remote.knows_cells() {
            writes.push(addition(&next.local, &at.key, Some(placed.cell)));
        }
        self.rng = placed.finished.rng;
        let pending = Pending { next: placed.finished.change, ..Pending::then(Then::Advance(at)) };
        self.commit(writes, pending, remote)?;
        Ok(true)
    }

    fn full<E>(&self) -> InsertError<E> {
        InsertError::Full { keys: self.live.keys, cells: self.live.shape.cells() }
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
        self.live.contains(key) || self.doubt.is_some()
    }

    fn len(&self) -> u64 {
        self.live.keys
    }

    fn cells(&self) -> u64 {
        self.live.shape.cells()
    }

    fn local_bits(&self) -> u64 {
        let tables = [Some(&self.live), self.next.as_ref().map(|next| &next.local)];
        tables.into_iter().flatten().map(|local| local.cells.allocated_bits()).sum::<u64>()
            + size_of::<Self>() as u64 * 8
    }
}

impl<R: Rule> Backed for FullKeyCuckoo<R> {
    type Places = CuckooPlaces;

    #[inline]
    fn lookup(&self, key: &[u8]) -> Option<CuckooPlaces> {
        let mut hits = self.live.hits(key);
        if self.doubt.is_some() {
            let cells = u32::from(self.live.shape.tables()) * u32::from(self.live.shape.cells_per_bucket());
            hits.hits = u64::MAX >> (64 - cells);
        }
        CuckooPlaces::new(self.live.shape, self.live.generation, hits)
    }

    fn insert<Rem: Remote>(&mut self, key: &[u8], remote: &mut Rem) -> Result<Inserted, InsertError<Rem::Error>> {
        self.ready()?;
        let matched: Vec<CellId> = self.live.cells_hit(&self.live.hits(key)).collect();
        let mut planner = self.live_planner(remote);
        if planner.owners.stores(key, &matched).map_err(SeamError::from)? {
            return Ok(Inserted::AlreadyStored);
        }
        let key = Key::from(key);
        let placed = place(planner, &key, self.search).map_err(SeamError::from)?;
        let Some(placed) = placed else { return Err(self.full()) };
        let mut writes: Vec<Write> = placed.finished.writes(self.live.generation, remote).collect();
        writes.push(addition(&self.live, &key, Some(placed.cell)));
        let mut pending = Pending::change(placed.finished.change);
        if let Some(next) = self.next.as_ref().filter(|next| next.has_passed(&key)) {
            let planner = Planner::new(&next.local, remote, Some(next.cut()), placed.finished.rng.clone());
            match place(planner, &key, self.search).map_err(SeamError::from)? {
                Some(second) => {
                    writes.extend(second.finished.writes(next.local.generation, remote));
                    if next.own_generation() {
                        writes.push(addition(&next.local, &key, Some(second.cell)));
                    }
                    pending.next = second.finished.change;
                }
                // The new table is full: it is given up, and the old one goes on.
                None => {
                    if next.own_generation() {
                        writes.push(Write::Abandon { generation: next.local.generation });
                    }
                    pending.then = Then::Abandon;
                }
            }
        }
        self.commit(writes, pending, remote)?;
        self.rng = placed.finished.rng;
        self.stats.insertion(placed.path);
        Ok(Inserted::New)
    }

    fn remove<Rem: Remote>(&mut self, key: &[u8], remote: &mut Rem) -> Result<Removed, SeamError<Rem::Error>> {
        self.ready()?;
        let matched: Vec<CellId> = self.live.cells_hit(&self.live.hits(key)).collect();
        let mut planner = self.live_planner(remote);
        if !planner.owners.stores(key, &matched)? {
            return Ok(Removed::NotStored);
        }
        let key = Key::from(key);
        let (finished, cell) = unplace(planner, &key)?;
        let mut writes = vec![deletion(&self.live, &key, cell)];
        let mut pending = Pending::change(finished.change);
        if let Some(next) = &self.next {
            let mut second = None;
            if next.has_passed(&key) {
                let planner = Planner::new(&next.local, remote, Some(next.cut()), self.rng.clone());
                let (finished, cell) = unplace(planner, &key)?;
                pending.next = finished.change;
                second = cell;
            }
            // By hash, a batch may be in the new generation before its keys are in the new table.
            if next.own_generation() && (second.is_some() || !remote.knows_cells()) {
                writes.push(deletion(&next.local, &key, second));
            }
        }
        self.commit(writes, pending, remote)?;
        self.stats.removals += 1;
        Ok(if cell.is_some() { Removed::Gone } else { Removed::LeftOrphan })
    }

    fn sequence(&self) -> u64 {
        self.sequence
    }

    fn resolve<Rem: Remote>(&mut self, remote: &Rem) -> Result<(), SeamError<Rem::Error>> {
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

    fn begin_grow<Rem: Remote>(&mut self, cells: u64, remote: &mut Rem) -> Result<(), RebuildError<Rem::Error>> {
        let old = self.live.shape;
        let shape = Shape::with_cells(old.tables().into(), old.cells_per_bucket().into(), cells);
        self.begin(shape.map_err(OptionsError::from)?, self.live.hash, remote)
    }

    fn begin_rekey<Rem: Remote>(&mut self, hash: HashKey, remote: &mut Rem) -> Result<(), RebuildError<Rem::Error>> {
        self.begin(self.live.shape, hash, remote)
    }

    fn rebuild_step<Rem: Remote>(
        &mut self,
        limit: usize,
        remote: &mut Rem,
    ) -> Result<Progress, RebuildError<Rem::Error>> {
        self.ready()?;
        let Some(next) = &self.next else { return Err(RebuildError::NotBegun) };
        let mut batch: Vec<Position> = Vec::new();
        remote
            .walk(next.source.0, next.cursor.as_ref(), limit.max(1), &mut |at| batch.push(at))
            .map_err(SeamError::Remote)?;
        let own = next.own_generation();
        if batch.is_empty() {
            let switch = Write::Switch { generation: next.local.generation };
            self.commit(own.then_some(switch).into_iter().collect(), Pending::then(Then::Switch), remote)?;
            return Ok(Progress::Done);
        }
        if own && !remote.knows_cells() {
            let writes = batch.iter().map(|at| addition(&next.local, &at.key, None)).collect();
            self.commit(writes, Pending::then(Then::Nothing), remote)?;
        }
        for at in batch {
            if !self.fill(at, remote)? {
                let new = self.next.as_ref().map(|next| &next.local);
                let (keys, cells) = new.map_or((0, 0), |new| (new.keys + 1, new.shape.cells()));
                self.abandon(remote)?;
                return Err(RebuildError::Full { keys: keys.max(self.live.keys), cells });
            }
        }
        Ok(Progress::More)
    }

    fn is_rebuilding(&self) -> bool {
        self.next.is_some()
    }

    fn wants_rebuild(&self) -> bool {
        self.wants_rebuild || self.live.orphans * ORPHAN_SHARE > self.live.shape.cells()
    }

    fn validate<Rem: Remote>(&self, remote: &Rem) -> Result<(), String> {
        super::validate::check(self, remote)
    }
}
