//! Checks that the index, the filters, the log and the values agree.

use super::index::Walk;
use super::problem::{Names, Problem};
use super::{Unfit, described, index, load, values};
use crate::engine::Engine;
use crate::error::Error;
use crate::loading::{Loaded, Source};
use crate::names::Shard;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use twiceshy::filter::Backed;
use twiceshy::remote::{ByHash, Commit, Key, Remote, Write};

/// How often a shard is read from the beginning because others change it.
pub(super) const TRIES: u32 = 20;

/// What [`Survey::check`](crate::Survey::check) found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Checked {
    /// The keys in the index.
    pub keys: u64,
    /// The values; `None` if they are not in the engine.
    pub values: Option<u64>,
    /// Keys of the index that have neither a value nor an open announcement, as those of a process that died while it inserted. They cost
    /// look-ups, and no row is missing.
    pub left_behind: u64,
    /// What is wrong, the worst first.
    pub problems: Vec<Problem>,
}

impl Checked {
    /// The worst problem, and what to do; `None` if everything is in order.
    pub fn problem(&self) -> Option<String> {
        self.problems.first().map(ToString::to_string)
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.problem().as_deref().unwrap_or("everything is in order"))
    }
}

pub(super) async fn check(engine: Arc<dyn Engine>) -> Result<Checked, Error> {
    let described = described(&*engine).await?;
    let mut checked = Checked::default();
    let mut index = HashSet::new();
    for shard in (0..described.shards).map(Shard) {
        let source = Source { engine: &*engine, described: &described, shard };
        let keys = check_shard(&source, &mut checked.problems).await?;
        checked.keys += keys.len() as u64;
        // A key in another shard's index is not found there.
        index.extend(keys.into_iter().filter(|key| described.shard(key) == shard));
    }
    if !described.beside {
        let found = values::compare(&*engine, &described, &index).await?;
        checked.values = Some(found.values);
        checked.left_behind = found.left_behind;
        checked.problems.extend(Names::of(&found.denied).map(Problem::Denied));
    }
    checked.problems.sort_by_key(Problem::rank);
    Ok(checked)
}

/// Checks the index and the filter of a shard at one position of its log. Returns the keys of the index.
async fn check_shard(source: &Source<'_>, problems: &mut Vec<Problem>) -> Result<Vec<Key>, Error> {
    for _ in 0..TRIES {
        let loaded = match load(source).await {
            Ok(loaded) => Ok(loaded),
            Err(Unfit::Damaged(what)) => Err(what),
            Err(Unfit::Other(error)) => return Err(error),
        };
        let at = match &loaded {
            Ok(loaded) => loaded.at,
            Err(_) => source.engine.head(source.shard).await?,
        };
        // A filter that cannot be loaded would have the layout of an empty one.
        let empty = source.described.empty_filter()?;
        let layout = loaded.as_ref().map_or(&*empty, |loaded| &*loaded.filter);
        let Some(walk) = index::walk(source, layout, at).await? else { continue };
        problems.extend(about_index(source, &walk));
        match loaded {
            Ok(loaded) => problems.extend(about_filter(source.shard, &loaded, &walk)),
            Err(what) => problems.push(Problem::Unloadable(source.shard, what)),
        }
        return Ok(walk.keys);
    }
    Err(Error::Moving(TRIES))
}

fn about_index(source: &Source<'_>, walk: &Walk) -> Vec<Problem> {
    let shard = source.shard;
    let strangers = walk.keys.iter().filter(|key| source.described.shard(key) != shard);
    let misplaced = Names::of(strangers).map(|names| Problem::Misplaced(shard, names));
    let wrong = Names::of(&walk.wrong).map(|names| Problem::WrongEntries(shard, names));
    let stray = (walk.stray > 0).then_some(Problem::Stray(shard, walk.stray));
    misplaced.into_iter().chain(wrong).chain(stray).collect()
}

fn about_filter(shard: Shard, loaded: &Loaded, walk: &Walk) -> Option<Problem> {
    let (filter, keys) = (&*loaded.filter, &walk.keys);
    if let Some(names) = Names::of(keys.iter().filter(|key| !filter.contains(key))) {
        return Some(Problem::TurnedAway(shard, names));
    }
    let differ = |what| Some(Problem::Disagree(shard, what));
    if filter.len() != keys.len() as u64 {
        return differ(format!("the filter holds {} keys, the index {}", filter.len(), keys.len()));
    }
    match in_memory(filter, keys) {
        Ok(remote) => filter.validate(keys, &remote).map_or_else(differ, |()| None),
        Err(what) => differ(what),
    }
}

/// The index as the filter expects it.
fn in_memory(filter: &dyn Backed, keys: &[Key]) -> Result<ByHash, String> {
    let mut writes = filter.opening();
    writes.extend(keys.iter().map(|key| {
        let (generation, words) = filter.entries(key);
        Write::Add { generation, key: key.clone(), words, cell: None }
    }));
    let mut remote = ByHash::new();
    let commit = Commit { sequence: 1, writes, ..Commit::default() };
    remote.commit(&commit).map_err(|error| error.to_string())?;
    Ok(remote)
}
