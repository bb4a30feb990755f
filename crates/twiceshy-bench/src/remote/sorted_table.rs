//! A flat table of hash words and keys, sorted.

/// A key's number with its hash word. The number 0 marks an empty place.
type Entry = (u64, u64);

const EMPTY: Entry = (0, 0);

/// Places for each entry: every third place is empty when the filter is full, so runs of entries are short.
const ROOM: (u64, u64) = (3, 2);

/// Places after the last one that a word leads to, for entries that were pushed to the right.
const TAIL: usize = 64;

/// Open addressing in the order of (word, key).
///
/// An entry's first place is the range reduction of its word, so places and words have the same order. An entry whose
/// place is taken stands further right, and entries are kept sorted: those of an interval of words are neighbours, and
/// are found in one short scan.
#[derive(Clone, Debug)]
pub(super) struct SortedTable {
    /// The places that words lead to. The table has a tail after them.
    reach: u64,
    places: Vec<Entry>,
    len: u64,
}

impl SortedTable {
    /// A table for about this many entries. It grows if there are more.
    pub(super) fn new(entries: u64) -> SortedTable {
        let reach = entries.max(8) * ROOM.0 / ROOM.1;
        SortedTable { reach, places: vec![EMPTY; reach as usize + TAIL], len: 0 }
    }

    fn home(&self, word: u64) -> usize {
        ((u128::from(word) * u128::from(self.reach)) >> 64) as usize
    }

    /// The first place at or after an entry's own whose content is empty or not below the entry.
    fn seek(&self, entry: Entry) -> usize {
        let home = self.home(entry.0);
        let stops = |at: &Entry| at.1 == 0 || *at >= entry;
        let passed = self.places[home..].iter().position(stops);
        passed.map_or(self.places.len(), |passed| home + passed)
    }

    /// Adds an entry unless it is there.
    pub(super) fn insert(&mut self, entry: Entry) {
        if (self.len + 1) * 8 > self.reach * 7 {
            self.grow();
        }
        let at = self.seek(entry);
        if self.places.get(at) == Some(&entry) {
            return;
        }
        let free = self.places[at..].iter().position(|there| there.1 == 0);
        let free = match free {
            Some(passed) => at + passed,
            None => {
                self.places.resize(self.places.len() + TAIL, EMPTY);
                self.places.len() - TAIL
            }
        };
        self.places.copy_within(at..free, at + 1);
        self.places[at] = entry;
        self.len += 1;
    }

    /// Removes an entry if it is there. The entries after it that were pushed to the right move back by one place.
    pub(super) fn remove(&mut self, entry: Entry) {
        let at = self.seek(entry);
        if self.places.get(at) != Some(&entry) {
            return;
        }
        let settled = |(place, next): (usize, &Entry)| next.1 == 0 || self.home(next.0) == place;
        let after = at + 1;
        let end = (after..).zip(&self.places[after..]).position(settled);
        let end = end.map_or(self.places.len(), |passed| after + passed);
        self.places.copy_within(after..end, at);
        self.places[end - 1] = EMPTY;
        self.len -= 1;
    }

    /// The entries whose words are `first` to `last`, sorted.
    pub(super) fn range(&self, first: u64, last: u64) -> impl Iterator<Item = Entry> {
        let behind = self.home(last);
        let places = (self.home(first)..).zip(&self.places[self.home(first)..]);
        places
            .take_while(move |(place, entry)| if entry.1 == 0 { *place <= behind } else { entry.0 <= last })
            .map(|(_, entry)| *entry)
            .filter(move |entry| entry.1 != 0 && entry.0 >= first)
    }

    /// All entries, sorted.
    pub(super) fn iter(&self) -> impl Iterator<Item = Entry> {
        self.places.iter().copied().filter(|entry| entry.1 != 0)
    }

    fn grow(&mut self) {
        let mut larger = SortedTable::new(self.reach);
        // In order, so each entry goes to the end of those before it.
        self.iter().for_each(|entry| larger.insert(entry));
        *self = larger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Words that crowd at both ends of the table and in its middle, and keys that share words.
    fn entries(seed: u64) -> impl Iterator<Item = Entry> {
        (0..).map(move |i: u64| {
            let random =
                (i + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let word = match random >> 61 {
                0 => random % 5,
                1 => u64::MAX - random % 5,
                2 => (1 << 63) | (random % 64) << 40,
                _ => random.wrapping_mul(0x94D0_49BB_1331_11EB),
            };
            (word, 1 + random % 7)
        })
    }

    #[test]
    fn it_has_the_entries_of_an_ordered_set_in_their_order_at_every_step() {
        for (seed, size) in [(1, 8), (2, 100), (3, 1000)] {
            let (mut table, mut set) = (SortedTable::new(size), BTreeSet::new());
            let mut last = EMPTY;
            for (step, entry) in entries(seed).take(4_000).enumerate() {
                if step % 5 == 3 || step > 3_000 {
                    // An entry that is there, or one that is not.
                    let gone = set.range(entry..).next().copied().filter(|_| step % 2 == 0).unwrap_or(entry);
                    table.remove(gone);
                    set.remove(&gone);
                } else {
                    table.insert(entry);
                    set.insert(entry);
                }
                let (first, end) = (entry.0.min(last.0), entry.0.max(last.0));
                for (from, to) in [(first, end), (entry.0, entry.0), (0, first), (end, u64::MAX)] {
                    let expected = set.range((from, 0)..=(to, u64::MAX));
                    assert!(table.range(from, to).eq(expected.copied()), "step {step}, {from} to {to}");
                }
                last = entry;
            }
            assert!(table.iter().eq(set.iter().copied()));
            assert_eq!(table.len, set.len() as u64);
        }
    }
}
