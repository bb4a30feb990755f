//! The filters that may be recommended.

use crate::models::designs::Design;
use crate::replay::FilterSpec;
use twiceshy::Kind;

/// A filter that may be recommended, with its defaults.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    kind: Kind,
    /// The filter for formulas, by the width of a cell or remainder.
    design: fn(u32) -> Design,
}

impl Candidate {
    /// All of them, those that do not learn first.
    pub fn all() -> Vec<Candidate> {
        let mut all: Vec<Candidate> = Kind::ALL.iter().filter_map(|kind| Candidate::of(*kind)).collect();
        all.sort_by_key(|candidate| candidate.learns());
        all
    }

    /// `None` for a filter that is never recommended: the plain form of the telescoping filter is for experiments.
    fn of(kind: Kind) -> Option<Candidate> {
        let design: fn(u32) -> Design = match kind {
            Kind::FullKey => |bits| Design::Cuckoo { tables: 4, cells: 1, bits },
            Kind::Cuckooing => |bits| Design::Cuckooing { tables: 4, cells: 1, bits },
            Kind::Cyclic => |bits| Design::Cyclic { tables: 4, bits, selector_bits: 1 },
            Kind::Swapping => |bits| Design::Swapping { tables: 2, cells: 4, bits },
            Kind::Quotient => |bits| Design::Quotient { bits },
            Kind::Telescoping => |bits| Design::Telescoping { bits },
            Kind::Extension => |bits| Design::Extension { bits },
            Kind::Broom => |bits| Design::BroomTwoLevels { bits },
            _ => return None,
        };
        Some(Candidate { kind, design })
    }

    /// The filter.
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// `true` if it learns from its mistakes.
    pub fn learns(self) -> bool {
        self.kind.learns()
    }

    /// `true` if it keeps its rate whatever its clients ask, insert and remove: see `docs/broom.md`.
    pub fn is_adaptive(self) -> bool {
        self.kind == Kind::Broom
    }

    /// The widths of a cell or remainder that it can have.
    pub(super) fn widths(self) -> std::ops::RangeInclusive<u32> {
        match self.kind {
            // A selector bit, and two of a fingerprint.
            Kind::Cyclic => 3..=32,
            // c is 3, and no more than half of the values.
            Kind::Broom => 3..=32,
            _ => 2..=32,
        }
    }

    pub(super) fn spec(self, width: u32) -> FilterSpec {
        FilterSpec::new(self.kind, width)
    }

    /// The filter for formulas.
    pub(super) fn design(self, width: u32) -> Design {
        (self.design)(width)
    }
}
