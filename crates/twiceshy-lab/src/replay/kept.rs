//! A recorded trace in memory.

use super::ReplayError;
use crate::workload::key_set::KeySet;
use crate::workload::split::Split;
use crate::workload::trace::Trace;

/// The queries of a trace, by the numbers of their keys.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    split: Split,
    absent: KeySet,
    queries: Vec<u32>,
}

impl Kept {
    /// Reads the queries of a trace.
    pub(super) fn read(trace: &Trace) -> Result<Kept, ReplayError> {
        let (mut absent, mut queries) = (KeySet::default(), Vec::new());
        let mut read = trace.queries()?;
        while let Some(key) = read.next_key()? {
            queries.push(absent.number(key) as u32);
        }
        Ok(Kept { split: Split::First(Box::new(trace.clone())), absent, queries })
    }

    /// Which keys are stored.
    pub(super) fn split(&self) -> &Split {
        &self.split
    }

    /// The number of distinct keys asked for.
    pub(super) fn keys(&self) -> u64 {
        self.absent.len() as u64
    }

    /// The queries in order, each with the number of its key.
    pub(super) fn queries(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.queries.iter().filter_map(|number| Some(((*number).into(), self.absent.get(*number as usize)?)))
    }
}
