//! The filter of a trial.

use super::afterwards::Afterwards;
use super::noting::{Moved, Noting};
use super::options::{AnyFilter, AnyRemote, Make, has_room, told};
use super::work::Work;
use super::{FilterSpec, RemoteName, ReplayError, Settings, baseline};
use crate::open::{Refused, Rival};
use twiceshy::cuckoo::Shape;
use twiceshy::filter::{Adapted, Backed, Filter};
use twiceshy::hash::HashKey;
use twiceshy::memory::Memory;
use twiceshy::remote::{CellId, Counting, Counts};

/// A filter of this project, or a rival.
pub(super) enum Subject {
    Ours(Box<Ours>),
    Rival(Box<Entered>),
}

/// A rival in a trial.
pub(super) struct Entered {
    name: String,
    rival: Box<dyn Rival>,
    cells: u64,
    keys: u64,
}

impl Entered {
    pub(super) fn new(name: &str, rival: Box<dyn Rival>, cells: u64) -> Entered {
        Entered { name: name.to_owned(), rival, cells, keys: 0 }
    }

    fn failed(&self, why: &Refused) -> ReplayError {
        ReplayError::Rival { filter: self.name.clone(), why: why.to_string() }
    }

    /// `false` if there is no room.
    fn has_room(&self, done: Result<(), Refused>) -> Result<bool, ReplayError> {
        match done {
            Ok(()) => Ok(true),
            Err(Refused::Full) => Ok(false),
            Err(why) => Err(self.failed(&why)),
        }
    }
}

impl Filter for Entered {
    fn contains(&self, key: &[u8]) -> bool {
        self.rival.contains(key)
    }

    fn len(&self) -> u64 {
        self.keys
    }

    /// The number of cells that its memory is counted in.
    fn cells(&self) -> u64 {
        self.cells
    }

    fn local_bits(&self) -> u64 {
        self.rival.bits()
    }
}

impl Subject {
    /// An empty filter.
    pub(super) fn new(settings: &Settings, cells: u64, hash: HashKey) -> Result<Subject, ReplayError> {
        Ok(match Ours::new(&settings.filter, cells, hash)? {
            Some(mut ours) => {
                if let Some(limits) = settings.memory {
                    ours.filter.limit_memory(limits);
                }
                Subject::Ours(Box::new(ours))
            }
            None => Subject::Rival(Box::new(baseline::entered(settings, cells, hash)?)),
        })
    }

    #[inline]
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        match self {
            Subject::Ours(ours) => ours.filter.contains(key),
            Subject::Rival(entered) => entered.rival.contains(key),
        }
    }

    pub(super) fn filter(&self) -> &dyn Filter {
        match self {
            Subject::Ours(ours) => ours.filter.filter(),
            Subject::Rival(entered) => &**entered,
        }
    }

    /// Stores a key; `false` if there is no room.
    pub(super) fn insert(&mut self, key: &[u8]) -> Result<bool, ReplayError> {
        match self {
            Subject::Ours(ours) => Ok(has_room(ours.filter.insert(key))?),
            Subject::Rival(entered) => {
                let done = entered.rival.insert(key);
                entered.keys += 1;
                entered.has_room(done)
            }
        }
    }

    /// Says that all keys are in; `false` if there is no room for them.
    pub(super) fn finish(&mut self) -> Result<bool, ReplayError> {
        match self {
            Subject::Ours(_) => Ok(true),
            Subject::Rival(entered) => {
                let done = entered.rival.finish();
                entered.has_room(done)
            }
        }
    }

    /// Fails if a rival calls a stored key absent. The filters of this project are tested elsewhere.
    pub(super) fn check(
        &self,
        when: &'static str,
        each: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), ReplayError>) -> Result<(), ReplayError>,
    ) -> Result<(), ReplayError> {
        let Subject::Rival(entered) = self else { return Ok(()) };
        each(&mut |key| match entered.rival.contains(key) {
            true => Ok(()),
            false => {
                let key = key.escape_ascii().to_string();
                Err(ReplayError::FalseNegative { filter: entered.name.clone(), when, key })
            }
        })
    }

    /// Tells the filter about a false positive. `None` if the filter does not learn.
    pub(super) fn was_wrong(&mut self, query: &[u8]) -> Result<Option<Adapted>, ReplayError> {
        match self {
            Subject::Ours(ours) => Ok(told(&mut ours.filter, query)?),
            Subject::Rival(entered) => match entered.rival.was_wrong(query) {
                Ok(()) => Ok(None),
                Err(why) => Err(entered.failed(&why)),
            },
        }
    }

    /// The filter and its shape, if a mirror tells which of its cells move.
    pub(super) fn in_buckets(&self) -> Option<(&dyn Backed, Shape)> {
        let Subject::Ours(ours) = self else { return None };
        Some((ours.filter.filter(), ours.moved.as_ref()?.1))
    }

    /// The cells in which a key matches now.
    pub(super) fn matching(&self, key: &[u8]) -> Vec<CellId> {
        let Subject::Ours(ours) = self else { return Vec::new() };
        ours.filter.filter().lookup(key).into_iter().map(|place| place.cell).collect()
    }

    /// Passes on the cells that were moved from or to since the last call.
    pub(super) fn moved(&self, cell: impl FnMut(CellId)) {
        if let Subject::Ours(ours) = self
            && let Some((moved, _)) = &ours.moved
        {
            moved.take(cell);
        }
    }

    /// `true` if the filter may change when it is told of a false positive.
    pub(super) fn learns(&self) -> bool {
        match self {
            Subject::Ours(ours) => ours.filter.filter().kind().learns(),
            Subject::Rival(_) => true,
        }
    }

    /// `true` if an adaptation passed its bound since the last rebuild.
    pub(super) fn wants_rebuild(&self) -> bool {
        matches!(self, Subject::Ours(ours) if ours.filter.wants_rebuild())
    }

    /// Takes another hash key. `false` if the keys do not fit under it, or if the filter does not know its keys.
    pub(super) fn rekey(&mut self, hash: HashKey) -> Result<bool, ReplayError> {
        match self {
            Subject::Ours(ours) => Ok(has_room(ours.filter.rekey(hash))?),
            Subject::Rival(_) => Ok(false),
        }
    }

    /// The number of remembered queries.
    pub(super) fn remembered(&self) -> u64 {
        match self {
            Subject::Ours(ours) => ours.filter.memory().len(),
            Subject::Rival(_) => 0,
        }
    }

    /// Changes the whole table. `hash` is for changes that need another hash key.
    pub(super) fn afterwards(&mut self, then: Afterwards, hash: HashKey) -> Result<(), ReplayError> {
        match self {
            Subject::Ours(ours) => ours.afterwards(then, hash),
            Subject::Rival(_) => Err(ReplayError::Setting("--then needs a filter that knows its keys".into())),
        }
    }

    /// The counts of the remote and of the filter; zeros for a rival.
    pub(super) fn counts(&self) -> (Counts, Work) {
        match self {
            Subject::Ours(ours) => (ours.filter.remote().counts(), ours.options.work(ours.filter.filter())),
            Subject::Rival(_) => Default::default(),
        }
    }
}

/// A filter of this project over a remote that counts.
pub(super) struct Ours {
    filter: AnyFilter<Counting<AnyRemote>>,
    options: Box<dyn Make<Counting<AnyRemote>>>,
    /// The cells that a mirror has heard of, and the shape of the table.
    moved: Option<(Moved, Shape)>,
}

impl Ours {
    /// An empty filter. `None` for a rival, and for the partial-key filter, which has no remote.
    pub(super) fn new(spec: &FilterSpec, cells: u64, hash: HashKey) -> Result<Option<Ours>, ReplayError> {
        let Some(options) = spec.options(cells).filter(|_| !spec.partial_key) else { return Ok(None) };
        let (moved, remote) = match spec.remote {
            RemoteName::Mirror => {
                let (tables, per_bucket) = spec.buckets();
                let moved = Moved::default();
                let shape = Shape::with_cells(tables, per_bucket, cells).ok();
                (shape.map(|shape| (moved.clone(), shape)), Box::new(Noting::new(moved)) as AnyRemote)
            }
            RemoteName::ByHash => (None, spec.remote.open()),
        };
        let filter = options.build(hash, Counting::new(remote))?;
        let moved = moved.filter(|(_, shape)| shape.cells() == filter.filter().cells());
        Ok(Some(Ours { filter, options, moved }))
    }

    fn afterwards(&mut self, then: Afterwards, hash: HashKey) -> Result<(), ReplayError> {
        let cells = self.filter.filter().cells();
        match then {
            Afterwards::Grow(times) => {
                for doubled in 1..=times {
                    self.filter.grow(cells << doubled)?;
                }
            }
            Afterwards::Rebuild => self.filter.grow(cells)?,
            Afterwards::Rekey => self.filter.rekey(hash)?,
            Afterwards::Recover => {
                let (limits, keys) = (self.filter.memory().limits(), self.filter.len());
                let mut saved = Vec::new();
                let failed = |error: &dyn std::fmt::Display| ReplayError::Seam(error.to_string());
                self.filter.memory().save(&mut saved).map_err(|error| failed(&error))?;
                let (filter, sequence) = self.options.recover(hash, self.filter.remote_mut())?;
                let memory = Memory::load(&mut &*saved, limits, keys);
                let remote = std::mem::replace(self.filter.remote_mut(), Counting::new(RemoteName::ByHash.open()));
                self.filter = AnyFilter::from_parts(filter, sequence, remote)?;
                self.filter.set_memory(memory.map_err(|error| failed(&error))?);
                self.filter.teach()?;
            }
        }
        Ok(())
    }
}

/// As a part of a rival: the remote only helps to find room, and its reads and writes are not counted.
impl Rival for Ours {
    fn insert(&mut self, key: &[u8]) -> Result<(), Refused> {
        if has_room(self.filter.insert(key)).map_err(Refused::failed)? { Ok(()) } else { Err(Refused::Full) }
    }

    fn contains(&self, key: &[u8]) -> bool {
        self.filter.contains(key)
    }

    fn bits(&self) -> u64 {
        self.filter.local_bits()
    }
}
