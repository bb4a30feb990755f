//! The broom filter and its promises.

use super::frontier::Deeds;
use super::functions::{Age, Functions};
use super::growing::Filling;
use super::known::Known;
use super::level::Level;
use super::local::Local;
use super::operate::{Open, Stop, seam};
use super::shape::{BroomForm, Shape};
use super::stats::Stats;
use crate::error::{BuildError, InsertError, OptionsError, RebuildError, SeamError};
use crate::filter::{Adapted, Adaptive, Backed, Filter, Inserted, Progress, Removed};
use crate::hash::HashKey;
use crate::remote::{Generation, Key, OrderWords, Phase, Place, Plan, Remote, Write};
use crate::sizing;

/// The broom filter (001): a mistake does not come back until the query's hash function or the key's has changed.
///
/// **Cost.** A slot takes the remainder, 2.125 bits of metadata and 3 bits for adaptivity. An insertion reads the remote only
/// where it collides, and writes an entry, or two in the form for small remainders; an adaptation reads twice, and moves a few
/// keys on to the next hash function, as many entries out and in for each. Every operation touches a bounded number of words.
///
/// **Fingerprints** (4.1) are prefixes of a key's hash: quotient, remainder, and adaptivity bits as they are needed. No
/// fingerprint is a prefix of another (Invariant 7), whichever of the two functions made it, so a query matches one slot of a
/// level at most.
///
/// **Reclaiming** (4.2). Keys above a frontier, in byte order, have the old function, the others the new one. Each extension
/// of a fingerprint moves the frontier on by c keys, which are re-inserted without adaptivity bits. An extension that such a
/// re-insertion causes adds to a debt, and an operation pays no more than 2c at a time. The amortised form moves nothing until
/// a c-th of the keys are extended, and then asks for another hash key:
/// see [`BroomOptions::reclaim_by_rebuild`](super::BroomOptions::reclaim_by_rebuild).
///
/// **Removal** (4.3) leaves a ghost where there were adaptivity bits: a key that comes back, or another like it, takes at least
/// those bits.
///
/// **What is forgotten.** A table that is made from the remote, by growing or recovering, has no adaptivity bits and no ghosts,
/// and the same functions: mistakes that were fixed come back, a third to a half of them. Take another hash key after it
/// ([`Backed::rekey`]) where that matters.
///
/// **Two forms.** A key that finds no free slot within 1,024 of its quotient goes elsewhere. With small remainders (5.3) that is
/// a second level, a small table under hash words of its own. With large ones (5.4) it is a back yard of whole hashes, and
/// the level before it compares the first bits of remainders before the rest. See [`BroomForm`].
#[derive(Clone, Debug)]
pub struct BroomFilter {
    pub(crate) local: Local,
    pub(crate) sequence: u64,
    /// What the operation in progress began with; there still where its outcome is not known.
    pub(super) open: Option<Box<Open>>,
    pub(crate) reclaim: Reclaim,
    /// Keys that are owed to the new function.
    pub(crate) debt: u64,
    pub(crate) wants_rebuild: bool,
    /// Whether the frontier waits where it is.
    pub(super) held: bool,
    pub(crate) rebuild: Option<Rebuild>,
    pub(crate) stats: Stats,
}

/// How adaptivity bits are reclaimed (4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reclaim {
    /// Keys for each extension.
    pub(crate) c: u32,
    /// All at once: the filter asks for another hash key when as many keys are owed as there are.
    pub(crate) by_rebuild: bool,
}

/// What has begun.
#[derive(Clone, Debug)]
pub(crate) enum Rebuild {
    /// A larger table, under the same functions.
    Grow(Box<Filling>),
    /// A function for all keys: the frontier goes on until it is the old one.
    Rekey {
        wanted: HashKey,
        /// Whether it is: by a step of the rebuild or by other operations, whose phases end as well.
        reached: bool,
    },
}

impl BroomFilter {
    pub(crate) fn build<R: Remote>(
        slots: u64,
        shape: Shape,
        reclaim: Reclaim,
        hash: HashKey,
        remote: &mut R,
    ) -> Result<BroomFilter, BuildError<R::Error>> {
        if remote.key_order().is_none() {
            return Err(BuildError::NeedsKeyOrder);
        }
        if remote.in_use().map_err(SeamError::Remote)?.is_some() {
            return Err(BuildError::RemoteInUse);
        }
        let sequence = remote.sequence().map_err(SeamError::Remote)?.saturating_add(1);
        let local = new_local(slots, shape, Functions::begin(hash), Generation(0))?;
        let mut writes: Vec<Write> = Age::BOTH.iter().map(|age| begin_of(&local, *age)).collect();
        writes.push(Write::Frontier { key: None });
        remote.commit(&Plan { sequence, writes }).map_err(SeamError::from)?;
        Ok(BroomFilter::over(local, sequence, reclaim))
    }

    /// A filter for the set that a remote holds, under its functions and frontier. Its entries say which form the filter has.
    pub(crate) fn recover<R: Remote>(
        slots: u64,
        shape: impl Fn(BroomForm) -> Shape,
        reclaim: Reclaim,
        remote: &mut R,
    ) -> Result<BroomFilter, BuildError<R::Error>> {
        let Some(ordered) = remote.key_order() else { return Err(BuildError::NeedsKeyOrder) };
        let phase = ordered.phase().map_err(SeamError::Remote)?;
        let form = |phase: &Phase| match (phase.old.1.orders, phase.new.1.orders) {
            (1, 1) => Some(BroomForm::BackYard),
            (2, 2) => Some(BroomForm::TwoLevels),
            _ => None,
        };
        let Some((phase, form)) = phase.and_then(|phase| form(&phase).map(|form| (phase, form))) else {
            return Err(BuildError::NothingToRecover { expected: shape(BroomForm::TwoLevels).levels() as u8 });
        };
        let functions = Functions { old: phase.old.1.hash, new: phase.new.1.hash, frontier: phase.frontier };
        let sequence = remote.sequence().map_err(SeamError::Remote)?;
        let stand_in = new_local(1, shape(form), functions, phase.old.0)?;
        let mut filter = BroomFilter::over(stand_in, sequence, reclaim);
        filter.begin_grow(slots, remote)?;
        while filter.rebuild_step(4096, remote)? == Progress::More {}
        filter.stats = Stats::default();
        Ok(filter)
    }

    pub(crate) fn over(local: Local, sequence: u64, reclaim: Reclaim) -> BroomFilter {
        BroomFilter {
            local,
            sequence,
            open: None,
            reclaim,
            debt: 0,
            wants_rebuild: false,
            held: false,
            rebuild: None,
            stats: Stats::default(),
        }
    }

    /// The width of a remainder in bits.
    pub fn width(&self) -> u32 {
        self.local.shape.width
    }

    /// Where it keeps the keys that its first level has no place for.
    pub fn form(&self) -> BroomForm {
        self.local.shape.form
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        let levels = &self.local.levels;
        Stats {
            adaptivity_bits: levels.iter().map(Level::adaptivity_bits).sum(),
            largest_group: levels.iter().map(Level::largest_group).max().unwrap_or(0).into(),
            spilled_groups: levels.iter().map(Level::spilled).sum(),
            second_level: self.local.aside(),
            second_level_bits: self.local.aside_bits(),
            ghosts: self.local.ghosts.len(),
            debt: self.debt,
            ..self.stats
        }
    }

    /// Whether a commit's outcome is unknown: see [`Backed::resolve`].
    pub fn is_in_doubt(&self) -> bool {
        self.open.is_some()
    }
}

pub(super) fn new_local(
    slots: u64,
    shape: Shape,
    functions: Functions,
    generation: Generation,
) -> Result<Local, OptionsError> {
    Local::new(slots, shape, functions, generation).ok_or(OptionsError::Memory { cells: slots, width: shape.width })
}

pub(super) fn begin_of(local: &Local, age: Age) -> Write {
    Write::Begin { generation: local.generation(age), schema: local.schema(*local.functions.hash_key(age)) }
}

impl Filter for BroomFilter {
    #[inline]
    fn contains(&self, key: &[u8]) -> bool {
        self.is_in_doubt() || self.local.contains(key)
    }

    fn len(&self) -> u64 {
        self.local.keys
    }

    fn cells(&self) -> u64 {
        self.local.slots()
    }

    fn local_bits(&self) -> u64 {
        let next = match &self.rebuild {
            Some(Rebuild::Grow(filling)) => filling.local.allocated_bits(),
            _ => 0,
        };
        self.local.allocated_bits() + next + size_of::<Self>() as u64 * 8
    }
}

impl Backed for BroomFilter {
    type Places = std::vec::IntoIter<Place>;

    /// Two places for each level that matches: the key behind a slot may have the one function or the other. While a commit's
    /// outcome is unknown, those of both outcomes: of generations that the remote may not have.
    fn lookup(&self, key: &[u8]) -> Option<Self::Places> {
        if !self.contains(key) {
            return None;
        }
        let local = &self.local;
        let mut places = Vec::new();
        if let Some((functions, generation)) = local.before() {
            (0..local.levels.len()).for_each(|level| places.extend(local.places(key, level, functions, generation)));
        }
        // A key in the yard is behind the level's own place.
        let all = self.is_in_doubt() || local.yard.is_some();
        for level in 0..local.levels.len() {
            if all || local.spots(key).any(|spot| spot.level == level) {
                places.extend(local.places(key, level, &local.functions, local.generation));
            }
        }
        Some(places.into_iter())
    }

    fn insert<R: Remote>(&mut self, key: &[u8], remote: &mut R) -> Result<Inserted, InsertError<R::Error>> {
        let inserted = self.operate(remote, |filter, remote| {
            let mut known = Known::new(remote);
            if filter.local.contains(key) && known.stores(&filter.local, key)? {
                return Ok((Inserted::AlreadyStored, Vec::new()));
            }
            if !filter.local.place(key, &known)? {
                return Err(Stop::Full);
            }
            if let Some(passed) = filter.passed().filter(|passed| passed(key))
                && let Some(Rebuild::Grow(filling)) = &mut filter.rebuild
            {
                // A new table that is full is given up, and the old one goes on.
                if !filling.local.place(key, &Known::cut(remote, &passed))? {
                    filter.set_rebuild(None);
                }
            }
            let mut deeds = Deeds { came: Some(Key::from(key)), ..Deeds::default() };
            known.here.extend(deeds.came.clone());
            filter.settle(&mut known, &mut deeds)?;
            filter.stats.insertions += 1;
            Ok((Inserted::New, filter.tell(deeds)))
        });
        inserted.map_err(|stop| match stop {
            Stop::Seam(error) => error.into(),
            Stop::Full => InsertError::Full { keys: self.len(), cells: self.cells() },
        })
    }

    fn remove<R: Remote>(&mut self, key: &[u8], remote: &mut R) -> Result<Removed, SeamError<R::Error>> {
        let removed = self.operate(remote, |filter, remote| {
            let mut known = Known::new(remote);
            if !filter.local.contains(key) || !known.stores(&filter.local, key)? {
                filter.in_step(remote)?;
                return Ok((Removed::NotStored, Vec::new()));
            }
            let age = filter.local.functions.age(key);
            let gone = Key::from(key);
            if let Some((spot, bits)) = filter.local.unplace(key, &known)? {
                filter.local.ghosts.add(age, (spot.level as u8, spot.quotient), bits);
            }
            if let Some(passed) = filter.passed().filter(|passed| passed(key))
                && let Some(Rebuild::Grow(filling)) = &mut filter.rebuild
            {
                filling.local.unplace(key, &Known::cut(remote, &passed))?;
            }
            let mut deeds = Deeds { went: Some(filter.entry(&gone, age, false)), ..Deeds::default() };
            known.gone = Some(gone);
            filter.settle(&mut known, &mut deeds)?;
            filter.stats.removals += 1;
            Ok((Removed::Gone, filter.tell(deeds)))
        });
        removed.map_err(seam)
    }

    #[inline]
    fn answers(&self, key: &[u8]) -> bool {
        self.local.contains(key)
    }

    fn entries(&self, key: &[u8]) -> (Generation, OrderWords) {
        let age = self.local.functions.age(key);
        (self.local.generation(age), self.local.functions.order_words(key, age, self.local.levels.len()))
    }

    fn sequence(&self) -> u64 {
        self.sequence
    }

    fn stand_at(&mut self, sequence: u64) {
        if !self.is_in_doubt() {
            self.sequence = sequence;
        }
    }

    fn resolve<R: Remote>(&mut self, remote: &R) -> Result<(), SeamError<R::Error>> {
        let found = remote.sequence().map_err(SeamError::Remote)?;
        match (found.checked_sub(self.sequence), self.is_in_doubt()) {
            (Some(0), _) => self.undo(),
            (Some(1), true) => {
                self.sequence = found;
                self.keep();
            }
            _ => return Err(SeamError::out_of_step(self.sequence, found)),
        }
        Ok(())
    }

    /// Needs no write: the new table is filled under the same functions, and the frontier waits meanwhile. It has no ghosts.
    fn begin_grow<R: Remote>(&mut self, cells: u64, remote: &mut R) -> Result<(), RebuildError<R::Error>> {
        self.ready()?;
        sizing::check_slots(cells)?;
        if self.len() > self.local.shape.most(cells) {
            return Err(RebuildError::Full { keys: self.len(), cells });
        }
        self.in_step(remote)?;
        let functions = self.local.functions.clone();
        let local = new_local(cells, self.local.shape, functions, self.local.generation)?;
        self.rebuild = Some(Rebuild::Grow(Box::new(Filling { local, age: Age::Old, cursor: None })));
        Ok(())
    }

    /// The frontier goes on until all keys have this function: first to the end of this phase, then through the next.
    fn begin_rekey<R: Remote>(&mut self, hash: HashKey, remote: &mut R) -> Result<(), RebuildError<R::Error>> {
        self.ready()?;
        self.in_step(remote)?;
        let begun = self.operate(remote, |filter, _| {
            let begins = filter.local.functions.frontier.is_none();
            let reached = begins && hash == filter.local.functions.old;
            filter.set_rebuild(Some(Rebuild::Rekey { wanted: hash, reached }));
            if !begins || reached {
                return Ok(((), Vec::new()));
            }
            // No key has the new function yet: it can be another.
            filter.local.functions.new = hash;
            Ok(((), vec![begin_of(&filter.local, Age::New)]))
        });
        begun.map_err(|stop| seam(stop).into())
    }

    fn rebuild_step<R: Remote>(&mut self, limit: usize, remote: &mut R) -> Result<Progress, RebuildError<R::Error>> {
        self.ready()?;
        match &self.rebuild {
            None => Err(RebuildError::NotBegun),
            Some(Rebuild::Grow(_)) => self.fill(limit.max(1), remote),
            Some(Rebuild::Rekey { .. }) => self.sweep(limit.max(1), remote),
        }
    }

    fn is_rebuilding(&self) -> bool {
        self.rebuild.is_some()
    }

    /// A larger table, where a key that was to take the next function found no room; or, with
    /// [`reclaim_by_rebuild`](super::BroomOptions::reclaim_by_rebuild), another hash key.
    fn wants_rebuild(&self) -> bool {
        self.wants_rebuild
    }

    fn validate<R: Remote>(&self, remote: &R) -> Result<(), String> {
        super::validate::check(self, remote)
    }
}

impl Adaptive for BroomFilter {
    fn adapt<R: Remote>(&mut self, query: &[u8], remote: &mut R) -> Result<Adapted, SeamError<R::Error>> {
        let adapted = self.operate(remote, |filter, remote| {
            if !filter.local.contains(query) {
                return Ok((Adapted::Fixed, Vec::new()));
            }
            filter.in_step(remote)?;
            let (mut known, mut deeds) = (Known::new(remote), Deeds::default());
            if known.stores(&filter.local, query)? {
                return Ok((Adapted::Stored, Vec::new()));
            }
            let spots: Vec<_> = filter.local.spots(query).collect();
            // Who is like a whole hash cannot be told from it.
            let mut alike = spots.is_empty();
            for spot in spots {
                let hash = filter.local.hash(query, spot.level);
                alike |= !filter.local.extend(spot, hash, &known)?;
            }
            filter.settle(&mut known, &mut deeds)?;
            filter.stats.adapts += 1;
            let writes = filter.tell(deeds);
            let outcome = match (filter.local.contains(query), alike) {
                (false, _) => Adapted::Fixed,
                (true, true) => Adapted::Unfixable,
                (true, false) => Adapted::StillPresent,
            };
            Ok((outcome, writes))
        });
        adapted.map_err(seam)
    }
}
