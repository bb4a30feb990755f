//! Asks the queries of a stream of many filters.
//!
//! The answer for a key stays the same while the filter does not change. So a filter is asked again only where its answer may
//! have changed: for a cuckoo filter over a mirror, if a cell changed in a bucket that the key looks at; for other filters,
//! if anything changed since the filter called the key absent.

use super::ReplayError;
use super::drive::Asked;
use super::lookers::Lookers;
use super::stream::Keyed;
use super::tally::{Known, Numbered};
use std::sync::Arc;
use twiceshy::remote::CellId;

/// A filter, the keys it was wrong about, and who looks at its buckets.
pub(super) struct Seat {
    pub(super) asked: Asked,
    pub(super) wrong: Numbered,
    lookers: Option<Arc<Lookers>>,
}

/// The most filters that are asked together: bits of a word.
pub(super) const MOST: usize = 64;

impl Seat {
    pub(super) fn new(asked: Asked, absent: u64) -> Seat {
        Seat { asked, wrong: Numbered::new(absent), lookers: None }
    }
}

/// Finds the lookers of the filters that have cells. Filters of one shape and hash key share them.
pub(super) fn index(seats: &mut [Seat], keyed: &Keyed<'_>, absent: u64) {
    let Ok(absent) = u32::try_from(absent) else { return };
    let mut known: Vec<Arc<Lookers>> = Vec::new();
    for seat in seats {
        let Some((filter, shape)) = seat.asked.subject.in_buckets() else { continue };
        let found = known.iter().find(|lookers| lookers.fit(filter, shape)).cloned();
        seat.lookers = Some(found.unwrap_or_else(|| {
            known.push(Arc::new(Lookers::new(filter, shape, keyed, absent)));
            known[known.len() - 1].clone()
        }));
        seat.asked.subject.moved(|_| ());
    }
}

/// Asks every query of all filters before the next, at most [`MOST`] filters. Returns the number of queries and of distinct
/// ones.
pub(super) fn ask_all(seats: &mut [Seat], keyed: &Keyed<'_>, absent: u64) -> Result<(u64, u64), ReplayError> {
    let (mut known, mut states) = (Numbered::new(absent), States::new(seats, absent));
    // For each key the filters that must be asked: all those whose answer is not known to be absent.
    let mut unsure = vec![u64::MAX >> (64 - seats.len().clamp(1, MOST)); absent as usize];
    let (mut queries, mut distinct) = (0u64, 0u64);
    for number in keyed.queries() {
        queries += 1;
        let mut ask = unsure[number as usize];
        let first = known.asked(number.into(), &[]);
        distinct += u64::from(first);
        if ask == 0 {
            continue;
        }
        let key = keyed.absent(number);
        while ask != 0 {
            let at = ask.trailing_zeros() as usize;
            ask &= ask - 1;
            let Seat { asked, wrong, lookers } = &mut seats[at];
            if lookers.is_none() && states.is_absent(number, at, asked.state) {
                continue;
            }
            if !asked.subject.contains(key.bytes()) {
                match lookers {
                    Some(_) => unsure[number as usize] &= !(1 << at),
                    None => states.set_absent(number, at, asked.state),
                }
                continue;
            }
            let cells = if lookers.is_some() { asked.subject.matching(key.bytes()) } else { Vec::new() };
            let (state, rebuilds) = (asked.state, asked.tally.rebuilds);
            // A rebuild takes its hash key from the number of queries.
            asked.tally.queries = queries;
            asked.err(wrong, number.into(), key.bytes(), first)?;
            if let Some(changed) = lookers.clone().filter(|_| asked.state != state) {
                let mut unsettle =
                    |cell: CellId| changed.at(cell).iter().for_each(|key| unsure[*key as usize] |= 1 << at);
                cells.into_iter().for_each(&mut unsettle);
                asked.subject.moved(&mut unsettle);
            }
            if asked.tally.rebuilds != rebuilds {
                // Under another hash key other keys look at a bucket: ask for every key from now on.
                *lookers = None;
                unsure.iter_mut().for_each(|unsure| *unsure |= 1 << at);
                states.forget(at);
            }
        }
    }
    Ok((queries, distinct))
}

/// For each key and each filter without lookers, the state of the filter in which it called the key absent; 0 if none.
struct States {
    count: usize,
    /// The column of each filter.
    columns: Vec<usize>,
    rows: Vec<u32>,
}

impl States {
    fn new(seats: &[Seat], absent: u64) -> States {
        let without: Vec<bool> = seats.iter().map(|seat| seat.lookers.is_none()).collect();
        let count = without.iter().filter(|without| **without).count();
        let columns = (0..seats.len()).map(|seat| without[..seat].iter().filter(|without| **without).count()).collect();
        States { count, columns, rows: vec![0; absent as usize * count] }
    }

    fn at(&self, number: u32, seat: usize) -> usize {
        number as usize * self.count + self.columns[seat]
    }

    /// A filter that lost its lookers has no column, and is asked every time.
    fn is_absent(&self, number: u32, seat: usize, state: u32) -> bool {
        self.columns[seat] < self.count && self.rows[self.at(number, seat)] == state
    }

    fn set_absent(&mut self, number: u32, seat: usize, state: u32) {
        if self.columns[seat] < self.count {
            let at = self.at(number, seat);
            self.rows[at] = state;
        }
    }

    fn forget(&mut self, seat: usize) {
        self.columns[seat] = usize::MAX;
    }
}
