//! The table layouts of the filter families.

use std::fmt;
use twiceshy::cuckoo::Shape;
use twiceshy::error::OptionsError;
use twiceshy::quotient::QuotientFilter;
use twiceshy::sizing::{design_load, overlapping_load};

/// The layout of a filter's table. Each family has its own. It answers questions about sizes, loads and the shape's
/// description, so that the trials need not know the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Cells in buckets in tables: the cuckoo filters.
    Buckets { tables: u64, per_bucket: u64 },
    /// The same with overlapping buckets.
    Windows { tables: u64, per_window: u64 },
    /// Slots in a row: the quotient filters.
    Slots,
    /// Bits shared by keys, counted in cells so that all filters have the same memory: the Bloom filters.
    Bits,
}

impl Layout {
    /// The cells of a filter that should have `asked` cells. Fails early if that is impossible, before any trial
    /// begins.
    pub(crate) fn cells(self, asked: u64) -> Result<u64, OptionsError> {
        match self {
            Layout::Buckets { .. } | Layout::Windows { .. } => {
                Ok(self.shape(asked)?.map_or(asked, |shape| shape.cells()))
            }
            // Slots, and the cells that Bloom filters are counted in, have the limits of a quotient filter.
            Layout::Slots | Layout::Bits => Ok(QuotientFilter::with_slots(asked, 8).geometry()?.0),
        }
    }

    /// The shape of a cuckoo table of at least `asked` cells; `None` for other tables.
    pub(crate) fn shape(self, asked: u64) -> Result<Option<Shape>, OptionsError> {
        Ok(match self {
            Layout::Buckets { tables, per_bucket } => Some(Shape::with_cells(tables, per_bucket, asked)?),
            Layout::Windows { tables, per_window } => {
                let buckets = asked.div_ceil(tables.max(1)).saturating_sub(per_window.saturating_sub(1)).max(1);
                Some(Shape::new(tables, buckets, per_window)?.overlapping())
            }
            Layout::Slots | Layout::Bits => None,
        })
    }

    /// The load that such a table is planned for.
    pub(crate) fn design_load(self) -> f64 {
        match self {
            Layout::Buckets { tables, per_bucket } => design_load(tables, per_bucket),
            Layout::Windows { tables, per_window } => overlapping_load(tables, per_window),
            Layout::Slots => 0.99,
            Layout::Bits => 1.0,
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layout::Buckets { tables, per_bucket } => write!(f, "{tables}×{per_bucket}"),
            Layout::Windows { tables, per_window } => write!(f, "{tables} windows of {per_window}"),
            Layout::Slots => f.write_str("rank-and-select"),
            Layout::Bits => f.write_str("bits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_rounded_up_to_whole_buckets_in_every_table() {
        let layout = Layout::Buckets { tables: 3, per_bucket: 4 };
        assert_eq!(layout.to_string(), "3×4");
        assert_eq!([1, 12, 13, 24, 1000].map(|asked| layout.cells(asked).ok()), [12, 12, 24, 24, 1008].map(Some));
    }

    #[test]
    fn an_impossible_table_is_refused() {
        assert!(Layout::Buckets { tables: 9, per_bucket: 1 }.cells(1000).is_err());
        assert!(Layout::Buckets { tables: 4, per_bucket: 1 }.cells(u64::MAX).is_err());
        assert!(Layout::Slots.cells(0).is_err() && Layout::Slots.cells(u64::MAX).is_err());
        assert_eq!(Layout::Slots.cells(1009).ok(), Some(1009));
    }
}
