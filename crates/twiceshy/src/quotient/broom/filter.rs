//! The broom filter: operations, the frontier, and what the remote hears of them.

use super::functions::{Age, Functions};
use super::known::Known;
use super::local::{LEVELS, Local};
use super::stats::Stats;
use crate::error::{BuildError, InsertError, OptionsError, RebuildError, SeamError};
use crate::filter::{Adapted, Adaptive, Backed, Filter, Inserted, Progress, Removed};
use crate::hash::{HashKey, words_of};
use crate::remote::{CellId, Generation, Key, Order, OrderWords, Phase, Place, Plan, Position, Remote, Write};
use crate::sizing;

/// The broom filter (001), whose mistakes do not come back until both hash functions have changed.
///
/// **Cost.** A slot takes the remainder, 2.125 bits of metadata and 3 bits for adaptivity. An insertion reads the remote only
/// where it collides, and writes two entries, one for each level; an adaptation reads once, and moves a few keys on to the next
/// hash function, two entries out and two in for each. A look-up touches a bounded number of words.
///
/// **Fingerprints** (4.1) are prefixes of a key's hash: quotient, remainder, and adaptivity bits as they are needed. No
/// fingerprint is a prefix of another (Invariant 7), whichever of the two functions made it, so a query matches one slot of a
/// level at most.
///
/// **Reclaiming** (4.2). Keys above a frontier, in byte order, have the old function, the others the new one. Each extension
/// of a fingerprint moves the frontier on by c keys, which are re-inserted without adaptivity bits. An extension that such a
/// re-insertion causes adds to a debt, and an operation pays no more than 2c at a time.
///
/// **Removal** (4.3) leaves a ghost where there were adaptivity bits: a key that comes back, or another like it, takes at least
/// those bits. A table that is rebuilt from the remote has no ghosts.
///
/// **Two levels** (5.3): a key that finds no free slot within 1,024 of its quotient goes to a second level, a small table under
/// words of its own. The form for large remainders (5.4) is not built.
#[derive(Clone, Debug)]
pub struct BroomFilter {
    pub(crate) local: Local,
    pub(crate) sequence: u64,
    /// What the operation in progress began with; there still where its outcome is not known.
    open: Option<Box<Open>>,
    pub(crate) c: u32,
    /// Keys that are owed to the new function.
    pub(crate) debt: u64,
    pub(crate) wants_rebuild: bool,
    pub(crate) rebuild: Option<Rebuild>,
    pub(crate) stats: Stats,
}

/// What has begun.
#[derive(Clone, Debug)]
pub(crate) enum Rebuild {
    /// A larger table, under the same functions.
    Grow(Box<Filling>),
    /// A function for all keys: the frontier goes on until it is the old one.
    Rekey(HashKey),
}

/// L′ of a growing filter: it holds the keys up to the cursor, first those of the old function, then those of the new.
#[derive(Clone, Debug)]
pub(crate) struct Filling {
    pub(crate) local: Local,
    pub(crate) age: Age,
    pub(crate) cursor: Option<Position>,
}

/// What an operation began with, beside L.
#[derive(Clone, Debug)]
struct Open {
    debt: u64,
    wants_rebuild: bool,
    stats: Stats,
    /// What had begun, if the operation ends it or begins another.
    rebuild: Option<Option<Rebuild>>,
}

/// Why an operation stopped.
enum Stop<E> {
    Seam(SeamError<E>),
    Full,
}

impl<E> From<SeamError<E>> for Stop<E> {
    fn from(error: SeamError<E>) -> Stop<E> {
        Stop::Seam(error)
    }
}

/// What an operation did, in the remote's terms.
#[derive(Default)]
struct Deeds {
    came: Option<Key>,
    /// A key that went, with the write that says so.
    went: Option<Write>,
    moved: Vec<Key>,
    phase_ended: bool,
}

impl BroomFilter {
    pub(crate) fn build<R: Remote>(
        slots: u64,
        width: u32,
        c: u32,
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
        let local = new_local(slots, width, Functions::begin(hash), Generation(0))?;
        let mut writes: Vec<Write> = Age::BOTH.iter().map(|age| begin_of(&local, *age)).collect();
        writes.push(Write::Frontier { key: None });
        remote.commit(&Plan { sequence, writes }).map_err(SeamError::from)?;
        Ok(BroomFilter::over(local, sequence, c))
    }

    /// A filter for the set that a remote holds, under its functions and frontier.
    pub(crate) fn recover<R: Remote>(
        slots: u64,
        width: u32,
        c: u32,
        remote: &mut R,
    ) -> Result<BroomFilter, BuildError<R::Error>> {
        let Some(ordered) = remote.key_order() else { return Err(BuildError::NeedsKeyOrder) };
        let phase = ordered.phase().map_err(SeamError::Remote)?;
        let fits = |phase: &Phase| phase.old.1.orders == LEVELS as u8 && phase.new.1.orders == LEVELS as u8;
        let Some(phase) = phase.filter(fits) else {
            return Err(BuildError::NothingToRecover { expected: LEVELS as u8 });
        };
        let functions = Functions { old: phase.old.1.hash, new: phase.new.1.hash, frontier: phase.frontier };
        let sequence = remote.sequence().map_err(SeamError::Remote)?;
        let stand_in = new_local(1, width, functions, phase.old.0)?;
        let mut filter = BroomFilter::over(stand_in, sequence, c);
        filter.begin_grow(slots, remote)?;
        while filter.rebuild_step(4096, remote)? == Progress::More {}
        filter.stats = Stats::default();
        Ok(filter)
    }

    pub(crate) fn over(local: Local, sequence: u64, c: u32) -> BroomFilter {
        BroomFilter {
            local,
            sequence,
            open: None,
            c,
            debt: 0,
            wants_rebuild: false,
            rebuild: None,
            stats: Stats::default(),
        }
    }

    /// The width of a remainder in bits.
    pub fn width(&self) -> u32 {
        self.local.width
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        let [first, second] = &self.local.levels;
        Stats {
            adaptivity_bits: first.adaptivity_bits() + second.adaptivity_bits(),
            largest_group: first.largest_group().max(second.largest_group()).into(),
            spilled_groups: first.spilled() + second.spilled(),
            second_level: second.used(),
            ghosts: self.local.ghosts.len(),
            debt: self.debt,
            ..self.stats
        }
    }

    /// Whether a commit's outcome is unknown: see [`Backed::resolve`].
    pub fn is_in_doubt(&self) -> bool {
        self.open.is_some()
    }

    fn ready<E>(&self) -> Result<(), SeamError<E>> {
        if self.is_in_doubt() { Err(SeamError::InDoubt) } else { Ok(()) }
    }

    fn in_step<R: Remote>(&self, remote: &R) -> Result<(), SeamError<R::Error>> {
        let found = remote.sequence().map_err(SeamError::Remote)?;
        if found == self.sequence { Ok(()) } else { Err(SeamError::out_of_step(self.sequence, found)) }
    }

    fn locals(&mut self) -> impl Iterator<Item = &mut Local> {
        let next = match &mut self.rebuild {
            Some(Rebuild::Grow(filling)) => Some(&mut filling.local),
            _ => None,
        };
        std::iter::once(&mut self.local).chain(next)
    }

    /// Runs an operation: whatever it changes in L is undone unless the remote commits. Should it be cut off in the middle, the
    /// filter is in doubt, and the remote's number tells.
    fn operate<R: Remote, T>(
        &mut self,
        remote: &mut R,
        work: impl FnOnce(&mut BroomFilter, &R) -> Result<(T, Vec<Write>), Stop<R::Error>>,
    ) -> Result<T, Stop<R::Error>> {
        self.ready()?;
        let (debt, wants_rebuild, stats) = (self.debt, self.wants_rebuild, self.stats);
        self.open = Some(Box::new(Open { debt, wants_rebuild, stats, rebuild: None }));
        self.locals().for_each(Local::begin);
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

    fn keep(&mut self) {
        self.locals().for_each(Local::keep);
        self.open = None;
    }

    fn undo(&mut self) {
        if let Some(open) = self.open.take() {
            (self.debt, self.wants_rebuild, self.stats) = (open.debt, open.wants_rebuild, open.stats);
            if let Some(before) = open.rebuild {
                self.rebuild = before;
            }
        }
        self.locals().for_each(Local::undo);
    }

    /// Ends or begins a rebuild within an operation.
    fn set_rebuild(&mut self, rebuild: Option<Rebuild>) {
        let before = std::mem::replace(&mut self.rebuild, rebuild);
        if let Some(open) = &mut self.open {
            open.rebuild.get_or_insert(before);
        }
    }

    /// The write for a key's entries in the generation of an age.
    fn entry(&self, key: &Key, age: Age, adds: bool) -> Write {
        let (generation, key) = (self.local.generation(age), key.clone());
        let words = OrderWords::new(&self.local.functions.order_words(&key, age));
        match adds {
            true => Write::Add { generation, key, words, cell: None },
            false => Write::Remove { generation, key, words, cell: None },
        }
    }

    /// Pays some of the debt: keys above the frontier take the new function. While a larger table is being filled the frontier
    /// waits.
    fn pay<R: Remote>(
        &mut self,
        most: u64,
        known: &mut Known<'_, R>,
        deeds: &mut Deeds,
    ) -> Result<(), SeamError<R::Error>> {
        if matches!(self.rebuild, Some(Rebuild::Grow(_))) {
            return Ok(());
        }
        for _ in 0..most {
            let Some(key) = known.next_above(self.local.functions.frontier.as_ref())? else {
                deeds.phase_ended = true;
                break;
            };
            if !self.local.has_room(&key, Age::New) {
                self.wants_rebuild = true;
                break;
            }
            self.local.unplace(&key, known)?;
            self.local.functions.frontier = Some(key.clone());
            known.here.retain(|here| *here != key);
            if !self.local.place(&key, known)? {
                return Err(SeamError::Disagree);
            }
            known.here.push(key.clone());
            if deeds.came.as_ref() != Some(&key) {
                deeds.moved.push(key);
            }
            self.stats.moved += 1;
            self.debt = self.debt.saturating_sub(1);
        }
        Ok(())
    }

    /// What one operation pays: the extensions that it caused make the debt, and it pays no more than its bound.
    fn settle<R: Remote>(&mut self, known: &mut Known<'_, R>, deeds: &mut Deeds) -> Result<(), SeamError<R::Error>> {
        let c = u64::from(self.c);
        self.debt = self.debt.saturating_add(self.local.extends * c);
        let caused = self.local.extends;
        self.pay(self.debt.min(2 * c), known, deeds)?;
        self.debt = self.debt.saturating_add((self.local.extends - caused) * c);
        self.stats.extends += self.local.extends;
        Ok(())
    }

    /// What the remote is told of an operation; ends the phase, if it has come to its end.
    fn tell(&mut self, deeds: Deeds) -> Vec<Write> {
        let mut writes: Vec<Write> = deeds.went.into_iter().collect();
        writes.extend(deeds.moved.iter().map(|key| self.entry(key, Age::Old, false)));
        let came = deeds.came.iter().map(|key| self.entry(key, self.local.functions.age(key), true));
        writes.extend(came);
        writes.extend(deeds.moved.iter().map(|key| self.entry(key, Age::New, true)));
        // The frontier has moved if it has passed a key, be it one that has just come.
        let moved = !deeds.moved.is_empty() || deeds.came.is_some() && deeds.came == self.local.functions.frontier;
        if deeds.phase_ended {
            writes.extend(self.end_phase());
        } else if moved {
            writes.push(Write::Frontier { key: self.local.functions.frontier.clone() });
        }
        writes
    }

    /// The new function becomes the old one, and another one the new.
    fn end_phase(&mut self) -> Vec<Write> {
        let Functions { new: old, .. } = self.local.functions;
        let new = match self.rebuild {
            Some(Rebuild::Rekey(wanted)) if wanted != old => wanted,
            _ => old.successor(),
        };
        self.local.functions = Functions { old, new, frontier: None };
        self.local.generation = self.local.generation(Age::New);
        self.local.ghosts.end_phase();
        self.stats.phases += 1;
        let switch = Write::Switch { generation: self.local.generation };
        vec![switch, begin_of(&self.local, Age::New), Write::Frontier { key: None }]
    }

    /// The keys that the table being filled holds, as a test.
    fn passed(&self) -> Option<impl Fn(&[u8]) -> bool + use<>> {
        let Some(Rebuild::Grow(filling)) = &self.rebuild else { return None };
        let (age, cursor) = (filling.age, filling.cursor.clone());
        let functions = self.local.functions.clone();
        Some(move |key: &[u8]| has_passed(&functions, age, cursor.as_ref(), key))
    }
}

/// The same for a given one.
pub(crate) fn passed_by<'a>(filter: &'a BroomFilter, filling: &'a Filling) -> impl Fn(&[u8]) -> bool + 'a {
    move |key| has_passed(&filter.local.functions, filling.age, filling.cursor.as_ref(), key)
}

fn has_passed(functions: &Functions, at: Age, cursor: Option<&Position>, key: &[u8]) -> bool {
    let age = functions.age(key);
    let word = functions.order_words(key, age)[0];
    age < at || age == at && cursor.is_some_and(|cursor| (word, key) <= (cursor.word, &*cursor.key))
}

fn new_local(slots: u64, width: u32, functions: Functions, generation: Generation) -> Result<Local, OptionsError> {
    Local::new(slots, width, functions, generation).ok_or(OptionsError::Memory { cells: slots, width })
}

fn begin_of(local: &Local, age: Age) -> Write {
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

    /// Two places for each level that matches: the key behind a slot may have the one function or the other.
    fn lookup(&self, key: &[u8]) -> Option<Self::Places> {
        if !self.contains(key) {
            return None;
        }
        let doubt = self.is_in_doubt();
        let matching = (0..LEVELS).filter(|level| doubt || self.local.spots(key).any(|spot| spot.level == *level));
        let places = matching.flat_map(|level| {
            let quotient = self.local.hash(key, level).quotient;
            let words = words_of(quotient, quotient, self.local.levels[level].slots());
            Age::BOTH.map(|age| Place {
                generation: self.local.generation(age),
                order: Order(level as u8),
                words: words.clone(),
                cell: CellId(quotient),
            })
        });
        Some(places.collect::<Vec<_>>().into_iter())
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
            let (spot, bits) = filter.local.unplace(key, &known)?;
            filter.local.ghosts.add(age, (spot.level as u8, spot.quotient), bits);
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

    fn sequence(&self) -> u64 {
        self.sequence
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
        if self.len() > sizing::quotient_most(cells) {
            return Err(RebuildError::Full { keys: self.len(), cells });
        }
        self.in_step(remote)?;
        let functions = self.local.functions.clone();
        let local = new_local(cells, self.width(), functions, self.local.generation)?;
        self.rebuild = Some(Rebuild::Grow(Box::new(Filling { local, age: Age::Old, cursor: None })));
        Ok(())
    }

    /// The frontier goes on until all keys have this function: first to the end of this phase, then through the next.
    fn begin_rekey<R: Remote>(&mut self, hash: HashKey, remote: &mut R) -> Result<(), RebuildError<R::Error>> {
        self.ready()?;
        self.in_step(remote)?;
        let begun = self.operate(remote, |filter, _| {
            filter.set_rebuild(Some(Rebuild::Rekey(hash)));
            if filter.local.functions.frontier.is_some() {
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
            Some(Rebuild::Rekey(_)) => self.sweep(limit.max(1), remote),
        }
    }

    fn is_rebuilding(&self) -> bool {
        self.rebuild.is_some()
    }

    fn wants_rebuild(&self) -> bool {
        self.wants_rebuild
    }

    fn validate<R: Remote>(&self, remote: &R) -> Result<(), String> {
        super::validate::check(self, remote)
    }
}

fn seam<E>(stop: Stop<E>) -> SeamError<E> {
    match stop {
        Stop::Seam(error) => error,
        // Only insertions say so.
        Stop::Full => SeamError::Disagree,
    }
}

impl BroomFilter {
    /// Brings some more keys into the larger table.
    fn fill<R: Remote>(&mut self, limit: usize, remote: &R) -> Result<Progress, RebuildError<R::Error>> {
        self.in_step(remote)?;
        let Some(Rebuild::Grow(filling)) = &mut self.rebuild else { return Err(RebuildError::NotBegun) };
        let mut batch: Vec<Position> = Vec::new();
        let generation = self.local.generation(filling.age);
        let walked = remote.walk(generation, filling.cursor.as_ref(), limit, &mut |at| batch.push(at));
        walked.map_err(SeamError::Remote)?;
        if batch.is_empty() && filling.age == Age::Old {
            (filling.age, filling.cursor) = (Age::New, None);
            return Ok(Progress::More);
        }
        if batch.is_empty() {
            if let Some(Rebuild::Grow(filling)) = self.rebuild.take() {
                self.local = filling.local;
                self.wants_rebuild = false;
                self.stats.rebuilds += 1;
            }
            return Ok(Progress::Done);
        }
        for at in batch {
            let (functions, age, cursor) = (&self.local.functions, filling.age, filling.cursor.clone());
            let passed = |key: &[u8]| has_passed(functions, age, cursor.as_ref(), key);
            filling.local.begin();
            match filling.local.place(&at.key, &Known::cut(remote, &passed)) {
                Ok(true) => {
                    filling.local.keep();
                    filling.cursor = Some(at);
                }
                Ok(false) => {
                    let (keys, cells) = (self.local.keys, filling.local.slots());
                    self.rebuild = None;
                    return Err(RebuildError::Full { keys, cells });
                }
                Err(error) => {
                    filling.local.undo();
                    return Err(error.into());
                }
            }
        }
        Ok(Progress::More)
    }

    /// Moves the frontier on by some keys, towards another function for all of them.
    fn sweep<R: Remote>(&mut self, limit: usize, remote: &mut R) -> Result<Progress, RebuildError<R::Error>> {
        let swept = self.operate(remote, |filter, remote| {
            let (mut known, mut deeds) = (Known::new(remote), Deeds::default());
            let debt = filter.debt;
            filter.pay(limit as u64, &mut known, &mut deeds)?;
            filter.debt = debt;
            let stuck = deeds.moved.is_empty() && !deeds.phase_ended;
            let writes = filter.tell(deeds);
            let reached =
                matches!(filter.rebuild, Some(Rebuild::Rekey(wanted)) if wanted == filter.local.functions.old);
            if reached {
                filter.set_rebuild(None);
                filter.wants_rebuild = false;
                filter.stats.rebuilds += 1;
            }
            if stuck { Err(Stop::Full) } else { Ok((if reached { Progress::Done } else { Progress::More }, writes)) }
        });
        match swept {
            Ok(progress) => Ok(progress),
            Err(Stop::Seam(error)) => Err(error.into()),
            Err(Stop::Full) => {
                self.rebuild = None;
                Err(RebuildError::Full { keys: self.len(), cells: self.cells() })
            }
        }
    }
}

impl Adaptive for BroomFilter {
    fn adapt<R: Remote>(&mut self, query: &[u8], remote: &mut R) -> Result<Adapted, SeamError<R::Error>> {
        let adapted = self.operate(remote, |filter, remote| {
            let spots: Vec<_> = filter.local.spots(query).collect();
            if spots.is_empty() {
                return Ok((Adapted::Fixed, Vec::new()));
            }
            filter.in_step(remote)?;
            let (mut known, mut deeds) = (Known::new(remote), Deeds::default());
            if known.stores(&filter.local, query)? {
                return Ok((Adapted::Stored, Vec::new()));
            }
            let mut alike = false;
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
