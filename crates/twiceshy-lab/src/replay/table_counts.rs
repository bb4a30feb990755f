//! Counts that only one family of filters has.

use serde::{Serialize, Serializer};

/// One such count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableCount {
    /// Its name in JSON.
    pub name: &'static str,
    /// Its name in text.
    pub words: &'static str,
    /// The count.
    pub count: u64,
}

/// All counts, in print order. In JSON they are one object: name to number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableCounts(Vec<TableCount>);

impl TableCounts {
    /// `true` if the family has no counts of its own.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &TableCount> {
        self.0.iter()
    }

    /// Adds another trial's counts by name; new names are appended.
    pub fn add(&mut self, other: &TableCounts) {
        for more in &other.0 {
            match self.0.iter_mut().find(|count| count.name == more.name) {
                Some(count) => count.count += more.count,
                None => self.0.push(*more),
            }
        }
    }
}

impl FromIterator<TableCount> for TableCounts {
    fn from_iter<I: IntoIterator<Item = TableCount>>(counts: I) -> TableCounts {
        TableCounts(counts.into_iter().collect())
    }
}

impl Serialize for TableCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|count| (count.name, count.count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(resets: u64, shifted: u64) -> TableCounts {
        let resets = TableCount { name: "resets", words: "blocks reset", count: resets };
        let shifted = TableCount { name: "shifted", words: "slots shifted", count: shifted };
        [resets, shifted].into_iter().collect()
    }

    #[test]
    fn trials_add_up_name_by_name_and_keep_their_order() {
        let mut sum = TableCounts::default();
        for trial in [counts(1, 20), counts(3, 40)] {
            sum.add(&trial);
        }
        assert_eq!(sum, counts(4, 60));
        sum.add(&TableCounts::default());
        assert_eq!(sum, counts(4, 60));
        assert!(!sum.is_empty() && TableCounts::default().is_empty());
    }
}
