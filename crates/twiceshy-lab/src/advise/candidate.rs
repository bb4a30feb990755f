//! Who may be recommended.

use crate::models::designs::Design;
use crate::replay::FilterSpec;
use twiceshy::Kind;

/// A filter that may be recommended, with its defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate(Kind);

impl Candidate {
    /// All of them, those that do not learn first. The plain form of the telescoping filter takes more memory and is for
    /// experiments.
    pub fn all() -> Vec<Candidate> {
        let (learning, plain): (Vec<Kind>, Vec<Kind>) = Kind::ALL.iter().partition(|kind| kind.learns());
        let all = plain.into_iter().chain(learning);
        all.filter(|kind| *kind != Kind::TelescopingPlain).map(Candidate).collect()
    }

    /// The filter.
    pub fn kind(self) -> Kind {
        self.0
    }

    /// Whether it learns from its mistakes.
    pub fn learns(self) -> bool {
        self.0.learns()
    }

    /// `true` if it keeps its rate whatever its clients ask, insert and remove: see `docs/broom.md`.
    pub fn is_adaptive(self) -> bool {
        false // broom: self.0 == Kind::Broom
    }

    /// The widths of a cell or remainder that it can have.
    pub(super) fn widths(self) -> std::ops::RangeInclusive<u32> {
        match self.0 {
            // A selector bit, and two of a fingerprint.
            Kind::Cyclic => 3..=32,
            // c is 3, and no more than half of the values.
            // broom: Kind::Broom => 3..=32,
            _ => 2..=32,
        }
    }

    pub(super) fn spec(self, width: u32) -> FilterSpec {
        FilterSpec::new(self.0, width)
    }

    /// The filter for formulas.
    pub(super) fn design(self, width: u32) -> Design {
        let bits = width;
        match self.0 {
            Kind::Cuckooing => Design::Cuckooing { tables: 4, cells: 1, bits },
            Kind::Cyclic => Design::Cyclic { tables: 4, bits, selector_bits: 1 },
            Kind::Swapping => Design::Swapping { tables: 2, cells: 4, bits },
            Kind::Quotient => Design::Quotient { bits },
            Kind::Telescoping => Design::Telescoping { bits },
            Kind::TelescopingPlain => Design::TelescopingPlain { bits },
            Kind::Extension => Design::Extension { bits },
            // broom: Kind::Broom => Design::BroomTwoLevels { bits },
            _ => Design::Cuckoo { tables: 4, cells: 1, bits },
        }
    }
}
