//! The broom filter and its promises.

use super::functions::{Age, Functions};
use super::level::Level;
use super::local::Local;
use super::operate::{Doubt, Stop};
use super::prints::Prints;
use super::rebuild::{Rebuild, Stage};
use super::rules::Rules;
use super::shape::{BroomForm, Shape};
use super::stats::Stats;
use super::storage::Storage;
use crate::error::{BuildError, InsertError, OptionsError, RebuildError, SeamError};
use crate::filter::{Adapted, Adaptive, Backed, Filter, Inserted, Progress, Removed};
use crate::hash::HashKey;
use crate::remote::{Frontier, Generation, OrderWords, Place, Plan, Remote, Write};
use crate::sizing;

/// The broom filter (001): whatever an adversary asks, inserts and removes, its next query is wrong with probability ε at most, times
/// a factor of 1.25. `docs/broom.md` has the proof, and what it assumes.
///
/// **Cost.** A slot takes the remainder, 2.125 bits of metadata and 3 bits for adaptivity; ghosts come to about half a bit a key,
/// and to some five where keys are replaced as fast as it errs. An insertion reads the remote only where it collides, and writes
/// two entries, or three in the form for small remainders; an adaptation reads three times, and moves three keys on to the next
/// hash function, as many entries out and in for each. The words that an operation touches do not
/// grow with the number of keys.
///
/// **Fingerprints** (4.1) are prefixes of a key's hash: quotient, remainder, and adaptivity bits as they are needed. No
/// fingerprint is a prefix of another (Invariant 7), whichever of the two functions made it, so a query matches one slot of a
/// level at most.
///
/// **Reclaiming** (4.2). Each extension of a fingerprint moves a frontier on by the share of its range in which c keys are
/// expected; these are re-inserted without adaptivity bits, under a new function. The range is that of a hash, not of the keys'
/// bytes, so a phase ends after as many extensions whatever is inserted. An extension that such a re-insertion causes adds to a
/// debt, and an operation pays no more than 2c at a time. The amortised form moves nothing until a c-th of the keys are extended,
/// and then asks for another hash key: see [`BroomOptions::reclaim_by_rebuild`](super::BroomOptions::reclaim_by_rebuild).
///
/// **Ghosts** (4.3). A removed key leaves its fingerprint behind, and so does a mistake about a fingerprint that had adaptivity
/// bits already. A key that comes takes bits up to the first that differs from each ghost of its quotient and remainder. This is
/// more than the paper has: an adversary may insert the mistakes that it was told of. `docs/broom.md` has the proof.
///
/// **What is forgotten.** Another table, by growing or recovering, has learned nothing; so it comes with new functions, and the
/// index of the remote is written anew.
///
/// **Two forms.** A key that finds no free slot within 1,024 of its quotient goes elsewhere. With small remainders (5.3) that is
/// a second level, a small table under hash words of its own. With large ones (5.4) it is a back yard of whole hashes, and
/// the level before it compares the first bits of remainders before the rest. See [`BroomForm`].
///
/// ```
/// use twiceshy::filter::{Adapted, Adaptive, Backed, Filter};
/// use twiceshy::hash::HashKey;
/// use twiceshy::quotient::BroomFilter;
/// use twiceshy::remote::ByHash;
///
/// let mut remote = ByHash::new();
/// let mut filter = BroomFilter::options(1_000, 0.01)?.build(HashKey::random()?, &mut remote)?;
/// filter.insert(b"owl", &mut remote)?;
/// let mistake = (0u32..).map(u32::to_le_bytes).find(|key| filter.contains(key));
/// assert_eq!(filter.adapt(&mistake.expect("one in a hundred thousand"), &mut remote)?, Adapted::Fixed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BroomFilter {
    pub(crate) local: Local,
    pub(crate) sequence: u64,
    /// A commit whose outcome is not known, and what it changes.
    pub(super) doubt: Option<Box<Doubt>>,
    pub(crate) reclaim: Reclaim,
    /// Keys that are owed to the new function.
    pub(crate) debt: u64,
    pub(crate) wants_rebuild: bool,
    pub(super) rebuild: Option<Rebuild>,
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

impl BroomFilter {
    pub(crate) fn build<R: Remote>(
        slots: u64,
        shape: Shape,
        reclaim: Reclaim,
        rules: Rules,
        hash: HashKey,
        remote: &mut R,
    ) -> Result<BroomFilter, BuildError<R::Error>> {
        if remote.knows_cells() {
            return Err(BuildError::NeedsRemoteByHash);
        }
        if remote.in_use().map_err(SeamError::Remote)?.is_some() {
            return Err(BuildError::RemoteInUse);
        }
        let sequence = remote.sequence().map_err(SeamError::Remote)?.saturating_add(1);
        let local = new_local(shape, rules, Functions::begin(hash, Generation(0), slots))?;
        let mut writes: Vec<Write> = Age::BOTH.iter().map(|age| begin_of(&local, *age)).collect();
        writes.push(Write::Frontier { at: Frontier::START });
        remote.commit(&Plan { sequence, writes }).map_err(SeamError::from)?;
        Ok(BroomFilter::over(local, sequence, reclaim))
    }

    pub(crate) fn over(local: Local, sequence: u64, reclaim: Reclaim) -> BroomFilter {
        BroomFilter {
            local,
            sequence,
            doubt: None,
            reclaim,
            debt: 0,
            wants_rebuild: false,
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
        let tables = &self.local.tables;
        let levels = || tables.iter().flat_map(|prints| prints.levels.iter());
        Stats {
            adaptivity_bits: levels().map(Level::adaptivity_bits).sum(),
            largest_group: levels().map(Level::largest_group).max().unwrap_or(0).into(),
            spilled_groups: levels().map(Level::spilled).sum(),
            second_level: tables.iter().map(Prints::aside).sum(),
            second_level_bits: tables.iter().map(Prints::aside_bits).sum(),
            ghosts: tables.iter().map(|prints| prints.ghosts.len()).sum(),
            ghost_bits: tables.iter().map(|prints| prints.ghosts.allocated_bits()).sum(),
            debt: self.debt,
            ..self.stats
        }
    }

    /// Whether a commit's outcome is unknown: see [`Backed::resolve`].
    pub fn is_in_doubt(&self) -> bool {
        self.doubt.is_some()
    }
}

pub(super) fn new_local(shape: Shape, rules: Rules, functions: Functions) -> Result<Local, OptionsError> {
    #[cfg(feature = "testing")]
    let functions = Functions { by_bytes: !rules.keep(super::rules::BroomRule::HashOrder), ..functions };
    let too_large = || OptionsError::Memory { cells: functions.slots[0], width: shape.width };
    let mut local = Local::new(shape, functions).ok_or_else(too_large)?;
    local.rules = rules;
    Ok(local)
}

pub(super) fn begin_of<S: Storage>(local: &Local<S>, age: Age) -> Write {
    let schema = local.schema(*local.functions.hash_key(age));
    Write::Begin { generation: local.functions.generation_of(age), schema }
}

impl Filter for BroomFilter {
    #[inline]
    fn contains(&self, key: &[u8]) -> bool {
        self.is_in_doubt() || self.local.contains(key)
    }

    fn len(&self) -> u64 {
        self.local.keys()
    }

    fn cells(&self) -> u64 {
        self.local.slots()
    }

    fn local_bits(&self) -> u64 {
        self.local.allocated_bits() + size_of::<Self>() as u64 * 8
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
        let levels = 0..local.shape.levels();
        let mut places = Vec::new();
        if let Some(doubt) = &self.doubt {
            for functions in [&local.functions, &doubt.edit.functions] {
                levels.clone().for_each(|level| places.extend(local.places(key, level, functions)));
            }
            return Some(places.into_iter());
        }
        for level in levels {
            let here = || local.spots(key).any(|spot| spot.level == level);
            // A key in the yard is behind the place of the first level.
            if level == 0 && local.is_in_yard(key) || here() {
                places.extend(local.places(key, level, &local.functions));
            }
        }
        Some(places.into_iter())
    }

    fn insert<R: Remote>(&mut self, key: &[u8], remote: &mut R) -> Result<Inserted, InsertError<R::Error>> {
        let planned = self.plan_insert(key, remote).map_err(|stop| match stop {
            Stop::Seam(error) => error.into(),
            Stop::Full => InsertError::Full { keys: self.len(), cells: self.cells() },
        })?;
        Ok(self.commit(planned, remote)?)
    }

    fn remove<R: Remote>(&mut self, key: &[u8], remote: &mut R) -> Result<Removed, SeamError<R::Error>> {
        let planned = self.plan_remove(key, remote)?;
        self.commit(planned, remote)
    }

    #[inline]
    fn answers(&self, key: &[u8]) -> bool {
        self.local.contains(key)
    }

    fn entries(&self, key: &[u8]) -> (Generation, OrderWords) {
        let functions = &self.local.functions;
        let age = functions.age(key);
        (functions.generation_of(age), functions.order_words(key, age, &self.local.shape))
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
            (Some(0), _) => self.doubt = None,
            (Some(1), true) => self.confirm(),
            _ => return Err(SeamError::out_of_step(self.sequence, found)),
        }
        Ok(())
    }

    /// Keys go to the new table as they take new functions, so each of them costs writes. A phase that has begun ends first.
    fn begin_grow<R: Remote>(&mut self, cells: u64, remote: &mut R) -> Result<(), RebuildError<R::Error>> {
        self.ready()?;
        sizing::check_slots(cells)?;
        if self.len() > self.local.shape.most(cells) {
            return Err(RebuildError::Full { keys: self.len(), cells });
        }
        self.begin_rebuild(Rebuild { cells: Some(cells), hash: None, stage: Stage::Waits }, remote)
    }

    /// The frontier goes on until all keys have functions that come from this hash key: first to the end of this phase, if it
    /// has begun, then through the next. They are never those of before, even if the hash key is.
    fn begin_rekey<R: Remote>(&mut self, hash: HashKey, remote: &mut R) -> Result<(), RebuildError<R::Error>> {
        self.ready()?;
        self.begin_rebuild(Rebuild { cells: None, hash: Some(hash), stage: Stage::Waits }, remote)
    }

    fn rebuild_step<R: Remote>(&mut self, limit: usize, remote: &mut R) -> Result<Progress, RebuildError<R::Error>> {
        self.ready()?;
        match self.rebuild {
            None => Err(RebuildError::NotBegun),
            Some(_) => self.sweep(limit.max(1), remote),
        }
    }

    fn is_rebuilding(&self) -> bool {
        self.rebuild.is_some()
    }

    /// Only with [`reclaim_by_rebuild`](super::BroomOptions::reclaim_by_rebuild), and then another hash key.
    fn wants_rebuild(&self) -> bool {
        self.wants_rebuild
    }

    fn validate<R: Remote>(&self, remote: &R) -> Result<(), String> {
        super::validate::check(self, remote)
    }
}

impl Adaptive for BroomFilter {
    fn adapt<R: Remote>(&mut self, query: &[u8], remote: &mut R) -> Result<Adapted, SeamError<R::Error>> {
        let planned = self.plan_adapt(query, remote)?;
        self.commit(planned, remote)
    }
}
