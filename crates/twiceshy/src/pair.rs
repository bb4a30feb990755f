//! A filter together with its keys.

mod rebuilding;
mod teaching;

use crate::batch;
use crate::error::{Error, OptionsError};
use crate::filter::{Adapted, Backed, Inserted, Operation, Removed};
use crate::growth::{self, Beside, Growth};
use crate::hash::HashKey;
use crate::key::AsKey;
use crate::kind::Kind;
use crate::memory::{Lesson, Limits, Memory, Recalling};
use crate::persist::SaveError;
use crate::plan::{Learned, Mistake, Outcome, Plan};
use crate::quotient::BroomFilter;
use crate::remote::{
    ByHash, Commit, CommitError, Frontier, Generation, Key, Phase, Position, Remote, RemoteError, Schema, Write,
    same_history,
};
use std::io;

/// A filter that learns from its mistakes, and the keys behind its fingerprints.
///
/// The keys are in memory unless another [`Remote`] is given. The filter is a boxed one of any [`Kind`] unless it comes from
/// the options of one kind, such as [`TelescopingFilter::options`](crate::quotient::RankSelectFilter::options).
///
/// ```
/// use twiceshy::AdaptiveFilter;
///
/// let mut blocked = AdaptiveFilter::new(1_000, 0.01)?;
/// blocked.insert("203.0.113.9")?;
/// assert!(blocked.contains("203.0.113.9"));
/// if blocked.contains("198.51.100.1") {
///     // The store says that it is not there. The filter was wrong, and changes.
///     blocked.was_wrong("198.51.100.1")?;
/// }
/// # Ok::<(), twiceshy::Error>(())
/// ```
///
/// **A failed change has no effect.** Every change is planned, then committed to the remote, then applied to the filter.
/// After an error nothing has changed on either side, with one exception: the remote's answer was lost
/// ([`Error::Unknown`]). Then the keys of that change are reported *present*, and other changes are refused, until
/// [`AdaptiveFilter::resolve`] has read the remote's sequence number.
#[derive(Debug)]
pub struct AdaptiveFilter<F: ?Sized = dyn Backed, R = ByHash> {
    filter: Box<F>,
    remote: R,
    /// The number of the remote's last commit that is applied to the filter.
    sequence: u64,
    growth: Option<Growth>,
    doubt: Option<Box<Doubt>>,
    memory: Memory,
    /// Teaches a filter that has rebuilt itself.
    lesson: Option<Lesson>,
}

/// A commit whose outcome is unknown, and what to do if it happened.
#[derive(Clone, Debug)]
struct Doubt {
    /// The identity that it gives the remote.
    identity: u64,
    /// The keys that it adds or removes.
    keys: Vec<Key>,
    then: Then,
}

/// What follows a commit.
#[derive(Clone, Debug)]
enum Then {
    Nothing,
    Apply(Box<Plan>, Option<Box<Beside>>),
    Begin(Growth),
    Bring(Position, Plan),
    Teach(Box<Plan>),
    GiveUp,
    Switch,
}

impl AdaptiveFilter {
    /// A telescoping filter for `keys` keys at this false-positive rate, under a random hash key.
    pub fn new(keys: u64, rate: f64) -> Result<AdaptiveFilter, Error> {
        AdaptiveFilter::of(Kind::Telescoping, keys, rate)
    }

    /// A filter of this kind for `keys` keys at this false-positive rate, under a random hash key.
    pub fn of(kind: Kind, keys: u64, rate: f64) -> Result<AdaptiveFilter, Error> {
        kind.build(keys, rate, HashKey::random()?, ByHash::new())
    }
}

impl Kind {
    /// A filter of this kind for `keys` keys at this false-positive rate, over a remote that holds no set yet.
    pub fn build<R: Remote>(
        self,
        keys: u64,
        rate: f64,
        hash: HashKey,
        remote: R,
    ) -> Result<AdaptiveFilter<dyn Backed, R>, Error> {
        AdaptiveFilter::over(self.make(keys, rate, hash, Generation(0))?, remote)
    }

    /// A filter of this kind for the set that a remote already holds: after a crash, or if a saved filter was damaged. It
    /// has learned nothing.
    ///
    /// It keeps the hash key that the remote knows. A broom filter takes new functions from `hash`, which must be a hash
    /// key that it never had, and writes every key to the remote once more.
    pub fn recover<R: Remote>(
        self,
        keys: u64,
        rate: f64,
        hash: HashKey,
        remote: R,
    ) -> Result<AdaptiveFilter<dyn Backed, R>, Error> {
        if self.learning_writes() {
            return Ok(BroomFilter::options(keys, rate)?.recover(hash, remote)?.boxed());
        }
        AdaptiveFilter::recovered(|hash, generation| self.make(keys, rate, hash, generation), remote)
    }
}

/// Returns an error for a mirror of cells if the filter's keys have no fixed cells.
fn fits(filter: &(impl Backed + ?Sized), remote: &dyn Remote) -> Result<(), Error> {
    if remote.knows_cells() && !filter.kind().has_cells() { Err(Error::NeedsRemoteByHash) } else { Ok(()) }
}

/// The number of keys or remembered queries per step when the caller gives none.
const BATCH: usize = 1024;

impl<F: Backed + ?Sized, R: Remote> AdaptiveFilter<F, R> {
    /// A new filter over a remote that holds no set yet.
    pub(crate) fn over(mut filter: Box<F>, mut remote: R) -> Result<Self, Error> {
        fits(&*filter, &remote)?;
        if remote.in_use().map_err(Error::Remote)?.is_some() {
            return Err(Error::RemoteInUse);
        }
        let sequence = remote.sequence().map_err(Error::Remote)?.saturating_add(1);
        let follows = remote.identity().map_err(Error::Remote)?;
        let stamp = filter.stamp().as_committed();
        remote.commit(&Commit { sequence, follows, identity: stamp.committed, writes: filter.opening() })?;
        *filter.stamp_mut() = stamp;
        Ok(AdaptiveFilter::at(filter, remote, sequence))
    }

    fn at(filter: Box<F>, remote: R, sequence: u64) -> Self {
        let memory = Memory::new(Limits::default());
        AdaptiveFilter { filter, remote, sequence, growth: None, doubt: None, memory, lesson: None }
    }

    /// A filter for the set that a remote holds, filled in one ordered scan.
    pub(crate) fn recovered(
        make: impl FnOnce(HashKey, Generation) -> Result<Box<F>, OptionsError>,
        remote: R,
    ) -> Result<Self, Error> {
        let in_use = remote.in_use().map_err(Error::Remote)?;
        let (generation, hash) = in_use.map_or((Generation(0), HashKey::fixed(0)), |(at, schema)| (at, schema.hash));
        let mut filter = make(hash, generation)?;
        fits(&*filter, &remote)?;
        let expected = filter.layout().1.orders;
        let Some((_, schema)) = in_use.filter(|(_, schema)| schema.orders == expected) else {
            return Err(Error::NothingToRecover { expected });
        };
        let sequence = remote.sequence().map_err(Error::Remote)?;
        filter.stamp_mut().committed = remote.identity().map_err(Error::Remote)?;
        if remote.knows_cells() {
            // A mirror must be told every cell: the keys go to a new generation of it.
            let mut pair = AdaptiveFilter::at(filter, remote, sequence);
            pair.grow(pair.filter.cells())?;
            return Ok(pair);
        }
        let mut cursor = None;
        loop {
            let mut batch = Vec::new();
            let walked = remote.walk(generation, cursor.as_ref(), 4 * BATCH, &mut |at| batch.push(at));
            walked.map_err(Error::Remote)?;
            if batch.is_empty() {
                return Ok(AdaptiveFilter::at(filter, remote, sequence));
            }
            growth::fill(&mut *filter, &mut cursor, schema.hash, batch, &remote)?;
        }
    }

    /// Combines a [loaded](Kind::load) filter, the number of its last commit, and its remote. If the remote is at another
    /// commit, this fails with [`Error::OutOfStep`], and if it is another filter's, with [`Error::OtherRemote`]: recover the
    /// filter from the remote.
    ///
    /// Another filter's remote has another hash key, or another [identity](Commit::identity). A file of version 1 and a
    /// [`Remote`] without [`identity`](Remote::identity) have none: there only hash keys are compared.
    pub fn from_parts(filter: Box<F>, sequence: u64, remote: R) -> Result<Self, Error> {
        fits(&*filter, &remote)?;
        let pair = AdaptiveFilter::at(filter, remote, sequence);
        pair.in_step()?;
        if pair.has_its_layout().map_err(Error::Remote)? { Ok(pair) } else { Err(Error::OtherRemote) }
    }

    /// `true` if the remote holds the filter's generation, under the filter's hash keys.
    fn has_its_layout(&self) -> Result<bool, RemoteError> {
        let (own, own_schema) = self.filter.layout();
        let Some((found, schema)) = self.remote.in_use()? else { return Ok(false) };
        // A filter by hash grows without telling its remote.
        let cells = |schema: Schema| self.remote.knows_cells().then_some((schema.cells, schema.cells_per_bucket));
        let same = (own, own_schema.hash, own_schema.orders) == (found, schema.hash, schema.orders);
        let phase = match self.filter.phase() {
            Some(phase) => self.remote.phase()?.map(functions) == Some(functions(phase)),
            None => true,
        };
        Ok(same && phase && cells(own_schema) == cells(schema))
    }

    /// The filter.
    pub fn filter(&self) -> &F {
        &self.filter
    }

    /// The remote.
    pub fn remote(&self) -> &R {
        &self.remote
    }

    /// The remote. Changing its contents without the filter leads to wrong answers.
    pub fn remote_mut(&mut self) -> &mut R {
        &mut self.remote
    }

    /// The remote, without the filter.
    pub fn into_remote(self) -> R {
        self.remote
    }

    /// The filter, without the remote. A table that is being filled is dropped.
    pub fn into_filter(self) -> Box<F> {
        self.filter
    }

    /// The number of the remote's last commit that the filter has applied.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// `true` if the key may be in the set; `false` if it is not. Never reads the remote.
    #[inline]
    pub fn contains<K: AsKey + ?Sized>(&self, key: &K) -> bool {
        let key = key.as_key();
        self.filter.contains(key.as_ref()) || self.doubts(key.as_ref())
    }

    /// What [`AdaptiveFilter::contains`] says of each key, several times as fast in a large filter.
    ///
    /// ```
    /// # let mut filter = twiceshy::AdaptiveFilter::new(1_000, 0.01)?;
    /// assert_eq!(filter.insert_batch(&["owl", "wren", "owl"])?, 2);
    /// assert_eq!(filter.contains_batch(&["owl", "wren"]), [true, true]);
    /// # Ok::<(), twiceshy::Error>(())
    /// ```
    pub fn contains_batch<K: AsKey>(&self, keys: &[K]) -> Vec<bool> {
        let mut found = batch::answers(&*self.filter, keys);
        if self.doubt.is_some() {
            found.iter_mut().zip(keys).for_each(|(found, key)| *found |= self.doubts(key.as_key().as_ref()));
        }
        found
    }

    /// Inserts several keys, and returns how many of them were new. After an error the keys before the failing one are
    /// stored.
    pub fn insert_batch<K: AsKey>(&mut self, keys: &[K]) -> Result<u64, Error> {
        let mut new = 0;
        batch::with_bytes(keys, |keys| {
            for group in keys.chunks(batch::GROUP) {
                group.iter().for_each(|key| self.filter.prefetch(key));
                for key in group {
                    new += u64::from(self.insert(*key)?);
                }
            }
            Ok(new)
        })
    }

    /// `true` if a commit with an unknown outcome adds or removes the key.
    #[inline]
    fn doubts(&self, key: &[u8]) -> bool {
        self.doubt.as_ref().is_some_and(|doubt| doubt.keys.iter().any(|held| **held == *key))
    }

    /// The number of keys in the set.
    pub fn len(&self) -> u64 {
        self.filter.len()
    }

    /// `true` if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory of the filter in bits, including a table that is being filled. The keys are not counted.
    pub fn local_bits(&self) -> u64 {
        let begun = self.doubt.as_ref().and_then(|doubt| match &doubt.then {
            Then::Begin(growth) => Some(growth),
            _ => None,
        });
        self.filter.local_bits() + self.growth.iter().chain(begun).map(Growth::local_bits).sum::<u64>()
    }

    /// Inserts a key unless it is stored. `true` if it is new.
    pub fn insert<K: AsKey + ?Sized>(&mut self, key: &K) -> Result<bool, Error> {
        let key = key.as_key();
        let is_new = self.change(Operation::Insert(key.as_ref()))? == Outcome::Inserted(Inserted::New);
        if is_new && !self.memory.is_empty() {
            self.memory.inserted(&key.as_ref().into(), self.filter.len());
        }
        Ok(is_new)
    }

    /// Removes exactly this key. `true` if it was stored.
    pub fn remove<K: AsKey + ?Sized>(&mut self, key: &K) -> Result<bool, Error> {
        Ok(self.take(key)? != Removed::NotStored)
    }

    /// Removes exactly this key, and reports what happened to its fingerprint.
    pub fn take<K: AsKey + ?Sized>(&mut self, key: &K) -> Result<Removed, Error> {
        match self.change(Operation::Remove(key.as_key().as_ref()))? {
            Outcome::Removed(removed) => Ok(removed),
            _ => Err(Error::Disagree),
        }
    }

    /// Tells the filter that it was wrong: it said *present*, but the key is not in the set. The filter changes, so that it
    /// does not repeat the mistake.
    pub fn was_wrong<K: AsKey + ?Sized>(&mut self, query: &K) -> Result<Adapted, Error> {
        let query = query.as_key();
        let query = query.as_ref();
        if self.doubt.is_none() && self.filter.contains(query) {
            // A plan without writes has no commit that would reveal a newer remote.
            self.in_step()?;
        }
        match self.change(Operation::Adapt(query))? {
            Outcome::Adapted(adapted) => Ok(adapted),
            _ => Err(Error::Disagree),
        }
    }

    /// Tells the filter of several mistakes at once. It deals with the first [`Learned::queries`] of them, with one commit:
    /// call it again with the rest. See [`Operation::Learn`].
    pub fn learn(&mut self, queries: &[Key]) -> Result<Learned, Error> {
        if self.doubt.is_none() && queries.iter().any(|query| self.filter.contains(query)) {
            self.in_step()?;
        }
        match self.change(Operation::Learn(queries))? {
            Outcome::Learned(learned) => Ok(learned),
            _ => Err(Error::Disagree),
        }
    }

    fn change(&mut self, operation: Operation<'_>) -> Result<Outcome, Error> {
        let (outcome, mistakes) = self.make(operation)?;
        self.remember(mistakes);
        Ok(outcome)
    }

    /// Makes a change, and returns the mistakes that it was about.
    fn make(&mut self, operation: Operation<'_>) -> Result<(Outcome, Vec<Mistake>), Error> {
        self.ready()?;
        let mut plan = self.filter.plan(operation, &Recalling::new(&self.remote, &self.memory))?;
        let (outcome, mistakes) = (plan.outcome(), std::mem::take(&mut plan.mistakes));
        if outcome == Outcome::Removed(Removed::NotStored) {
            self.in_step()?;
        }
        let changes_set = matches!(outcome, Outcome::Inserted(Inserted::New))
            || matches!(outcome, Outcome::Removed(Removed::Gone | Removed::LeftOrphan));
        let beside = match self.growth.as_ref().filter(|_| changes_set) {
            Some(growth) => Some(Box::new(growth.plan(operation, &self.remote)?)),
            None => None,
        };
        self.commit_plan(plan, beside)?;
        Ok((outcome, mistakes))
    }

    /// Has the remote commit what a plan writes, then applies it.
    fn commit_plan(&mut self, mut plan: Plan, mut beside: Option<Box<Beside>>) -> Result<(), Error> {
        let mut writes = std::mem::take(&mut plan.writes);
        if let Some(beside) = &mut beside {
            writes.append(&mut beside.writes);
        }
        match self.write(writes, plan.becomes.committed) {
            Ok(()) => self.apply(plan, beside),
            Err(refused) => self.refuse(*refused, Then::Apply(Box::new(plan), beside)),
        }
    }

    fn apply(&mut self, plan: Plan, beside: Option<Box<Beside>>) -> Result<(), Error> {
        self.filter.apply(plan)?;
        if let (Some(growth), Some(beside)) = (&mut self.growth, beside) {
            match beside.gives_up {
                true => self.growth = None,
                false => drop(growth.apply(*beside)?),
            }
        }
        Ok(())
    }

    /// Has the remote commit what changes neither the set nor the filter, then does what follows. The identity stays.
    fn commit(&mut self, writes: Vec<Write>, then: Then) -> Result<(), Error> {
        match self.write(writes, self.filter.stamp().committed) {
            Ok(()) => self.follow(then),
            Err(refused) => self.refuse(*refused, then),
        }
    }

    /// Has the remote commit. Without writes there is no commit and no number.
    fn write(&mut self, writes: Vec<Write>, identity: u64) -> Result<(), Box<(CommitError, Commit)>> {
        if writes.is_empty() {
            return Ok(());
        }
        let (sequence, follows) = (self.sequence.saturating_add(1), self.filter.stamp().committed);
        let commit = Commit { sequence, follows, identity, writes };
        match self.remote.commit(&commit) {
            Ok(()) => {
                self.sequence = commit.sequence;
                Ok(())
            }
            Err(error) => Err(Box::new((error, commit))),
        }
    }

    /// A commit failed. If it may have happened all the same, what follows it is kept.
    fn refuse(&mut self, (error, commit): (CommitError, Commit), then: Then) -> Result<(), Error> {
        if matches!(error, CommitError::Unknown(_)) {
            let keys = commit.writes.into_iter().filter_map(|write| match write {
                Write::Add { key, .. } | Write::Remove { key, .. } => Some(key),
                _ => None,
            });
            self.doubt = Some(Box::new(Doubt { identity: commit.identity, keys: keys.collect(), then }));
        }
        Err(error.into())
    }

    fn follow(&mut self, then: Then) -> Result<(), Error> {
        match then {
            Then::Nothing => {}
            Then::Apply(plan, beside) => self.apply(*plan, beside)?,
            Then::Begin(growth) => self.growth = Some(growth),
            Then::Bring(at, plan) => {
                if let Some(growth) = &mut self.growth {
                    growth.bring(at, plan)?;
                }
            }
            Then::Teach(plan) => {
                if let Some(growth) = &mut self.growth {
                    growth.learn(*plan)?;
                }
            }
            Then::GiveUp => self.growth = None,
            Then::Switch => {
                if let Some(mut growth) = self.growth.take()
                    && !self.filter.replace(growth.filter_mut())
                {
                    return Err(Error::Disagree);
                }
            }
        }
        Ok(())
    }

    /// `true` if a commit's outcome is unknown: see [`AdaptiveFilter::resolve`].
    pub fn is_in_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    fn ready(&self) -> Result<(), Error> {
        if self.is_in_doubt() { Err(Error::InDoubt) } else { Ok(()) }
    }

    fn in_step(&self) -> Result<(), Error> {
        let remote = self.remote.sequence().map_err(Error::Remote)?;
        if remote != self.sequence {
            return Err(Error::OutOfStep { filter: self.sequence, remote });
        }
        self.is_at(self.filter.stamp().committed)
    }

    /// Checks the identity of the remote's last commit.
    fn is_at(&self, identity: u64) -> Result<(), Error> {
        let found = self.remote.identity().map_err(Error::Remote)?;
        if same_history(found, identity) { Ok(()) } else { Err(Error::OtherRemote) }
    }

    /// Finds out whether a commit whose answer was lost has happened, and applies or drops its plan. If nothing is in
    /// doubt, it only checks that filter and remote are at the same commit.
    pub fn resolve(&mut self) -> Result<(), Error> {
        let remote = self.remote.sequence().map_err(Error::Remote)?;
        match (remote.checked_sub(self.sequence), &self.doubt) {
            (Some(0), _) => {
                self.is_at(self.filter.stamp().committed)?;
                self.doubt = None;
            }
            (Some(1), Some(doubt)) => {
                self.is_at(doubt.identity)?;
                self.sequence = remote;
                if let Some(doubt) = self.doubt.take() {
                    self.follow(doubt.then)?;
                }
            }
            _ => return Err(Error::OutOfStep { filter: self.sequence, remote }),
        }
        Ok(())
    }

    /// Checks every invariant of the filter, and that each key of the remote has its own cell. Reads all keys. Returns the
    /// first problem found. While a commit's outcome is unknown, nothing is checked.
    pub fn validate(&self) -> Result<(), String> {
        self.validate_against(&self.remote)
    }

    /// The same, against another remote with the same content.
    pub fn validate_against(&self, remote: &dyn Remote) -> Result<(), String> {
        if self.is_in_doubt() {
            return Ok(());
        }
        let sequence = remote.sequence().map_err(|error| error.to_string())?;
        if sequence != self.sequence {
            return Err(format!("the filter is at commit {}, the remote at {sequence}", self.sequence));
        }
        let phase = remote.phase().map_err(|error| error.to_string())?;
        if self.filter.phase().map(functions) != phase.map(functions) {
            return Err("the filter and the remote differ in their functions or in their frontier".into());
        }
        let stored = stored_keys(remote).map_err(|error| error.to_string())?;
        self.filter.validate(&stored, remote)?;
        self.growth.as_ref().map_or(Ok(()), |growth| growth.validate(&stored, remote))
    }

    /// Writes the filter with the number of its remote's last commit. A table that is being filled is not saved: after
    /// loading, a rebuild starts over.
    pub fn save(&self, out: &mut dyn io::Write) -> Result<(), SaveError> {
        if self.is_in_doubt() {
            return Err(SaveError::InDoubt);
        }
        self.filter.save(self.sequence, out)
    }
}

impl<F: Backed, R> AdaptiveFilter<F, R> {
    /// The same as a filter of any kind.
    pub fn boxed(self) -> AdaptiveFilter<dyn Backed, R> {
        let AdaptiveFilter { filter, remote, sequence, growth, doubt, memory, lesson } = self;
        AdaptiveFilter { filter, remote, sequence, growth, doubt, memory, lesson }
    }
}

impl<F: ?Sized, R: Clone> Clone for AdaptiveFilter<F, R>
where
    Box<F>: Clone,
{
    fn clone(&self) -> Self {
        let (filter, remote, growth) = (self.filter.clone(), self.remote.clone(), self.growth.clone());
        let (memory, lesson) = (self.memory.clone(), self.lesson.clone());
        AdaptiveFilter { filter, remote, sequence: self.sequence, growth, doubt: self.doubt.clone(), memory, lesson }
    }
}

/// What a filter and its remote must agree on in a phase.
fn functions(phase: Phase) -> [(Generation, HashKey, Frontier); 2] {
    [phase.old, phase.new].map(|(generation, schema)| (generation, schema.hash, phase.frontier))
}

/// All keys of a remote: those of the generation in use, and during a phase those of both generations.
pub(crate) fn stored_keys(remote: &dyn Remote) -> Result<Vec<Key>, RemoteError> {
    let (in_use, phase) = (remote.in_use()?, remote.phase()?);
    let generations = in_use.into_iter().chain(phase.map(|phase| phase.new)).map(|(generation, _)| generation);
    let mut keys = Vec::new();
    for generation in generations {
        remote.walk(generation, None, usize::MAX, &mut |at| keys.push(at.key))?;
    }
    Ok(keys)
}
