//! A wrapper that counts accesses to a remote.

use super::{Commit, CommitError, Generation, Keys, Phase, Place, Position, Remote, RemoteError, Schema, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// Accesses to a remote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads of an interval or cell.
    pub reads: u64,
    /// Keys that those reads returned.
    pub keys_read: u64,
    /// Entries written or deleted: one for each order, or one for each cell in a mirror, which also counts moves.
    pub writes: u64,
    /// Commits.
    pub commits: u64,
    /// Keys that walks returned: growth, re-keying and recovery.
    pub keys_walked: u64,
    /// How often a frontier was written.
    pub frontier_moves: u64,
}

/// Counts the reads and writes of the remote inside. Failed calls count as well.
#[derive(Debug, Default)]
pub struct Counting<R> {
    inner: R,
    reads: AtomicU64,
    keys_read: AtomicU64,
    keys_walked: AtomicU64,
    writes: u64,
    commits: u64,
    frontier_moves: u64,
}

impl<R: Keys> Counting<R> {
    /// Counts from zero.
    pub fn new(inner: R) -> Counting<R> {
        Counting {
            inner,
            reads: AtomicU64::new(0),
            keys_read: AtomicU64::new(0),
            keys_walked: AtomicU64::new(0),
            writes: 0,
            commits: 0,
            frontier_moves: 0,
        }
    }

    /// The remote inside.
    pub fn inner(&self) -> &R {
        &self.inner
    }

    /// What was asked so far.
    pub fn counts(&self) -> Counts {
        Counts {
            reads: self.reads.load(Ordering::Relaxed),
            keys_read: self.keys_read.load(Ordering::Relaxed),
            keys_walked: self.keys_walked.load(Ordering::Relaxed),
            writes: self.writes,
            commits: self.commits,
            frontier_moves: self.frontier_moves,
        }
    }

    /// Counts from zero again.
    pub fn reset(&mut self) {
        for counter in [&self.reads, &self.keys_read, &self.keys_walked] {
            counter.store(0, Ordering::Relaxed);
        }
        (self.writes, self.commits, self.frontier_moves) = (0, 0, 0);
    }

    fn entries(&self, write: &Write) -> u64 {
        match write {
            Write::Add { words, .. } | Write::Remove { words, .. } if !self.inner.knows_cells() => {
                words.as_slice().len() as u64
            }
            Write::Add { .. } | Write::Remove { .. } => 1,
            Write::Move { .. } => u64::from(self.inner.knows_cells()),
            Write::Begin { .. } | Write::Switch { .. } | Write::Abandon { .. } | Write::Frontier { .. } => 0,
        }
    }
}

impl<R: Clone> Clone for Counting<R> {
    fn clone(&self) -> Counting<R> {
        let copy = |counter: &AtomicU64| AtomicU64::new(counter.load(Ordering::Relaxed));
        Counting {
            inner: self.inner.clone(),
            reads: copy(&self.reads),
            keys_read: copy(&self.keys_read),
            keys_walked: copy(&self.keys_walked),
            ..*self
        }
    }
}

impl<R: Keys> Keys for Counting<R> {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let mut keys = 0;
        let result = self.inner.candidates(place, &mut |key| {
            keys += 1;
            found(key);
        });
        self.keys_read.fetch_add(keys, Ordering::Relaxed);
        result
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        let mut keys = 0;
        let result = self.inner.walk(generation, after, limit, &mut |at| {
            keys += 1;
            found(at);
        });
        self.keys_walked.fetch_add(keys, Ordering::Relaxed);
        result
    }

    fn knows_cells(&self) -> bool {
        self.inner.knows_cells()
    }
}

impl<R: Remote> Remote for Counting<R> {
    fn commit(&mut self, commit: &Commit) -> Result<(), CommitError> {
        self.commits += 1;
        self.writes += commit.writes.iter().map(|write| self.entries(write)).sum::<u64>();
        let frontiers = commit.writes.iter().filter(|write| matches!(write, Write::Frontier { .. }));
        self.frontier_moves += frontiers.count() as u64;
        self.inner.commit(commit)
    }

    fn sequence(&self) -> Result<u64, RemoteError> {
        self.inner.sequence()
    }

    fn identity(&self) -> Result<u64, RemoteError> {
        self.inner.identity()
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, RemoteError> {
        self.inner.in_use()
    }

    fn phase(&self) -> Result<Option<Phase>, RemoteError> {
        self.inner.phase()
    }
}
