//! Who may be recommended.

use crate::models::designs::Design;
use crate::replay::{FilterName, FilterSpec};

/// A filter that may be recommended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidate {
    /// The plain cuckoo filter, 4×1.
    Cuckoo,
    /// The plain quotient filter.
    Quotient,
    /// Cyclic with one selector bit.
    Cyclic,
    /// Swapping.
    Swapping,
    /// Cuckooing.
    Cuckooing,
    /// Telescoping.
    Telescoping,
    /// The extension filter.
    Extension,
    /// The broom filter.
    Broom,
}

impl Candidate {
    /// All of them, the simplest first.
    pub const ALL: [Candidate; 8] = [
        Candidate::Cuckoo,
        Candidate::Quotient,
        Candidate::Cyclic,
        Candidate::Swapping,
        Candidate::Cuckooing,
        Candidate::Telescoping,
        Candidate::Extension,
        Candidate::Broom,
    ];

    /// The filter's name.
    pub fn name(self) -> FilterName {
        match self {
            Candidate::Cuckoo => FilterName::Cuckoo,
            Candidate::Quotient => FilterName::Quotient,
            Candidate::Cyclic => FilterName::Cyclic,
            Candidate::Swapping => FilterName::Swapping,
            Candidate::Cuckooing => FilterName::Cuckooing,
            Candidate::Telescoping => FilterName::Telescoping,
            Candidate::Extension => FilterName::Extension,
            Candidate::Broom => FilterName::Broom,
        }
    }

    /// Whether it learns from its mistakes.
    pub fn learns(self) -> bool {
        !matches!(self, Candidate::Cuckoo | Candidate::Quotient)
    }

    /// `true` if it keeps its rate whatever its clients ask, insert and remove: see `docs/broom.md`.
    pub fn is_adaptive(self) -> bool {
        self == Candidate::Broom
    }

    /// The widths of a cell or remainder that it can have.
    pub(super) fn widths(self) -> std::ops::RangeInclusive<u32> {
        match self {
            // A selector bit, and two of a fingerprint.
            Candidate::Cyclic => 3..=32,
            // c is 3, and no more than half of the values.
            Candidate::Broom => 3..=32,
            _ => 2..=32,
        }
    }

    pub(super) fn spec(self, width: u32) -> FilterSpec {
        FilterSpec::new(self.name(), width)
    }

    /// The filter for formulas.
    pub(super) fn design(self, width: u32) -> Design {
        let bits = width;
        match self {
            Candidate::Cuckoo => Design::Cuckoo { tables: 4, cells: 1, bits },
            Candidate::Cuckooing => Design::Cuckooing { tables: 4, cells: 1, bits },
            Candidate::Cyclic => Design::Cyclic { tables: 4, bits, selector_bits: 1 },
            Candidate::Swapping => Design::Swapping { tables: 2, cells: 4, bits },
            Candidate::Quotient => Design::Quotient { bits },
            Candidate::Telescoping => Design::Telescoping { bits },
            Candidate::Extension => Design::Extension { bits },
            Candidate::Broom => Design::BroomTwoLevels { bits },
        }
    }
}
