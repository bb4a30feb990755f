//! The telescoping filter: a false positive moves its key's selector on to the next remainder.

use super::block::{Annex, Remainders};
use super::local::{GLANCED, Marked, Probe};
use super::near::Near;
use super::numbers::Slot;
use super::options::{Coded, Options, RuleSpec};
use super::rank_select::RankSelectFilter;
use super::rule::{Marking, Rule};
use super::strand::Strand;
use crate::codes::{self, ESCAPE, General, Mark, Marks, Model, Tuned, Zeros};
use crate::error::OptionsError;
use crate::kind::Kind;
use crate::packed::word::Word64;
use crate::persist::{LoadError, Reader, Writer};
use std::ops::Range;
use std::sync::Arc;

/// The telescoping filter (004 sections 3 to 5, appendices B and C): the selectors of 64 slots share a code of 56 bits.
///
/// **Cost.** A slot takes the remainder and 3 bits. A look-up in a block that has learned nothing costs the same as in a
/// plain quotient filter. In other blocks, a slot's remainder is first compared with all that the alphabet allows. The code
/// is read only if one of them matches, and only as far as that slot.
///
/// **Layout.** Remainder i of a key is bits i·w to (i + 1)·w of its string: the lowest 24 bits of hash word 0, then the words 1,
/// 2, … Selector i says that the slot holds remainder i. The code of a block is the low end of its interval, so that 64 zeros are 0. Besides its
/// slots a filter has √(11·slots) spare ones, at most 896, and 1.3 KB.
///
/// **Adapting.** The selector of every colliding key moves on until the query no longer matches. A block whose code
/// overflows is reset, all its selectors and remainders together, and then learns about the query again: one read of the
/// remote returns its keys. With remainders of w bits this begins at about 2^w/13 distinct absent queries for each stored
/// key: twenty at 8 bits, ten at 7, five at 6. [`Options::side_table`] keeps such a block's selectors instead, as long as
/// there is room.
///
/// **Departures.** The paper's code for ε = 1/256 is used with remainders of 8 bits, the general one with all others; its
/// parameters follow from the remainder's width and from [`Options::expected_ratio`]. Adapting moves on until the query
/// differs, where the paper waits for it to repeat. See `docs/papers.md`.
///
/// ```
/// use twiceshy::{quotient::TelescopingFilter, filter::Adapted, hash::HashKey, remote::ByHash};
///
/// // Small remainders, so that there is a mistake to be seen.
/// let mut filter = TelescopingFilter::with_slots(1000, 4).build(HashKey::fixed(1), ByHash::new())?;
/// for key in 0..900u32 {
///     filter.insert(&key)?;
/// }
/// let mistake = (1000..u32::MAX).find(|query| filter.contains(query)).expect("one in twenty");
/// assert_eq!(filter.was_wrong(&mistake)?, Adapted::Fixed);
/// assert!(!filter.contains(&mistake), "once bitten");
/// # Ok::<(), twiceshy::Error>(())
/// ```
pub type TelescopingFilter = RankSelectFilter<Selectors>;

/// How the selectors of a block are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectorCode {
    /// The code of 004 C.2, made for ε = 1/256. It has the selectors 0 to 6.
    Tuned,
    /// The code of 004 C.3: selector 0 with probability 1 − 2^−x, each further one 2^−y times as likely as the one before.
    General {
        /// 2 to 16.
        x: u32,
        /// 1 to 32.
        y: u32,
    },
}

/// The rule of [`TelescopingFilter`].
#[derive(Clone, Debug)]
pub struct Selectors {
    code: Code,
    zeros: Arc<Zeros>,
    /// The lowest bit of each remainder that the alphabet allows, in the first 64 bits of a string; 0 if they are longer.
    fields: u64,
    /// The number of letters in the alphabet; 0 if their remainders are not all in `fields`.
    letters: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    Tuned(Tuned),
    General(General),
}

/// The number of selectors in a code for remainders of this width: those whose remainders lie in one hash word, and at
/// least four.
fn letters(width: u32) -> u32 {
    (64 / width).max(4)
}

impl Selectors {
    fn new(code: SelectorCode, width: u32) -> Option<Selectors> {
        let (code, zeros, letters) = match code {
            SelectorCode::Tuned => (Code::Tuned(Tuned), Zeros::new(&Tuned), Tuned::LETTERS),
            SelectorCode::General { x, y } => {
                let general = General::new(x, y, letters(width))?;
                (Code::General(general), Zeros::new(&general), general.letters())
            }
        };
        let letters = if letters * width <= 64 { letters } else { 0 };
        let fields = (0..letters).map(|i| 1 << (i * width)).sum();
        Some(Selectors { code, zeros: Arc::new(zeros), fields, letters })
    }

    /// The code in use.
    pub fn code(&self) -> SelectorCode {
        match &self.code {
            Code::Tuned(_) => SelectorCode::Tuned,
            Code::General(general) => SelectorCode::General { x: general.x(), y: general.y() },
        }
    }

    /// `true` if the key whose string begins with these bits has this remainder under some selector of the alphabet. If not,
    /// the code need not be read. One subtraction tests all of them: it borrows into a field's highest bit only if a field is 0.
    #[inline(always)]
    fn may_match(&self, width: u32, bits: u64, remainder: u32) -> bool {
        let differences = bits ^ self.fields.wrapping_mul(u64::from(remainder));
        let highest = self.fields << (width - 1);
        self.fields == 0 || differences.wrapping_sub(self.fields) & !differences & highest != 0
    }

    /// A glance at a run in a table whose strings begin with word 1, or with remainders that are longer than a head: the first slots
    /// are compared with all that the alphabet allows.
    #[inline(never)]
    fn glance_at_all<'k>(&self, table: &Marked, near: &Near, key: impl FnOnce() -> Strand<'k>) -> bool {
        let bits = key().first();
        let may = |at: u64| self.may_match(table.width(), bits, near.remainder(table.reach, at));
        near.occupied() != 0 && (table.deep.has(near.block()) == 1 || (0..near.len()).any(may))
    }

    /// A look-up in a block with this code.
    #[inline(always)]
    fn any<M: Model>(
        &self,
        model: &M,
        code: u64,
        remainders: Remainders<'_>,
        places: Range<u64>,
        width: u32,
        key: &Strand<'_>,
    ) -> bool {
        let mut reader = codes::Reader::new(model, &self.zeros, code);
        let bits = key.first();
        places.into_iter().any(|at| {
            let remainder = remainders.get(at);
            self.may_match(width, bits, remainder) && key.remainder(width, reader.mark(at as usize).into()) == remainder
        })
    }

    /// The same for a short run in a block without deep selectors: the remainders of a glance are all that count.
    #[inline(always)]
    fn any_near<M: Model>(&self, model: &M, code: u64, table: &Marked, near: &Near, probe: Probe) -> bool {
        let (width, glanced) = (table.width(), table.glanced);
        let mut reader = codes::Reader::new(model, &self.zeros, code);
        (0..near.len()).any(|at| {
            let remainder = near.remainder(table.reach, at);
            let may = |selector: u32| probe.head_remainder(width, selector) == remainder;
            (0..glanced).any(may) && may(reader.mark(near.place(at)).into())
        })
    }
}

impl Rule for Selectors {
    type Spec = TelescopingSpec;
}

impl Marking for Selectors {
    const LEARNS: bool = true;
    const ANNEX: Annex = Annex::Code;
    const REMAINDER_FOLLOWS_MARK: bool = true;
    const HAS_DEEP: bool = true;

    fn tell_apart(&self, width: u32, owner: &Strand<'_>, query: &Strand<'_>, mark: Mark) -> Option<Mark> {
        next_selector(width, owner, query, mark)
    }

    fn remainder(&self, width: u32, key: &Strand<'_>, mark: Mark) -> u32 {
        key.remainder(width, mark.into())
    }

    fn is_mark(&self, mark: Mark) -> bool {
        mark <= u8::MAX.into()
    }

    fn is_deep(&self, glanced: u32, mark: Mark) -> bool {
        let known = if glanced == 0 { self.letters } else { glanced };
        u32::from(mark) >= known
    }

    fn encode(&self, marks: &Marks) -> Option<u64> {
        match &self.code {
            Code::Tuned(model) => codes::encode(model, marks),
            Code::General(model) => codes::encode(model, marks),
        }
    }

    fn decode(&self, code: u64) -> Marks {
        match &self.code {
            Code::Tuned(model) => codes::decode(model, code),
            Code::General(model) => codes::decode(model, code),
        }
    }

    #[inline(always)]
    fn glance<'k, W: Word64>(
        &self,
        table: &Marked,
        near: &Near,
        probe: Probe,
        key: impl FnOnce() -> Strand<'k>,
    ) -> bool {
        if !table.is_taught {
            return near.holds::<W>(table.reach, probe.remainder);
        }
        if table.glanced == 0 {
            return self.glance_at_all(table, near, key);
        }
        // A block that has learned nothing is not told apart: that would be a branch on its code.
        let mut equal = 0;
        for selector in 0..GLANCED {
            if selector < table.glanced {
                equal |= near.equal(table.reach, probe.head_remainder(table.width(), selector));
            }
        }
        (near.of_run::<W>(table.reach, equal) | table.deep.has(near.block())) & near.occupied() != 0
    }

    #[inline(always)]
    fn confirm<'k>(&self, table: &Marked, near: &Near, probe: Probe, key: impl Fn() -> Strand<'k>) -> bool {
        let code = table.table.blocks.code(near.block());
        if code >= ESCAPE || table.glanced == 0 || table.deep.has(near.block()) == 1 {
            return self.matches(table, near.run(), &key());
        }
        match &self.code {
            Code::Tuned(model) => self.any_near(model, code, table, near, probe),
            Code::General(model) => self.any_near(model, code, table, near, probe),
        }
    }

    #[inline(always)]
    fn matches(&self, table: &Marked, run: Range<Slot>, key: &Strand<'_>) -> bool {
        let width = table.width();
        Marked::any_piece(run, |block, mut places| {
            let remainders = table.table.blocks.remainders(block);
            match table.table.blocks.code(block) {
                0 => {
                    let first = key.remainder(width, 0);
                    places.any(|at| remainders.get(at) == first)
                }
                code if code >= ESCAPE => table.side.get(code).is_none_or(|entry| {
                    places.any(|at| key.remainder(width, entry.marks[at as usize].into()) == remainders.get(at))
                }),
                code => match &self.code {
                    Code::Tuned(model) => self.any(model, code, remainders, places, width, key),
                    Code::General(model) => self.any(model, code, remainders, places, width, key),
                },
            }
        })
    }
}

/// The next selector under which the two remainders differ. A byte holds 256 of them.
pub(crate) fn next_selector(width: u32, owner: &Strand<'_>, query: &Strand<'_>, mark: Mark) -> Option<Mark> {
    let differs = |mark: &Mark| owner.remainder(width, (*mark).into()) != query.remainder(width, (*mark).into());
    (mark.saturating_add(1)..=u8::MAX.into()).find(differs)
}

/// The options of a [`TelescopingFilter`] beyond the common ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TelescopingSpec {
    ratio: f64,
    code: Option<SelectorCode>,
}

impl Default for TelescopingSpec {
    /// By default, the code is made for A/S = 20, up to which the paper recommends its own.
    fn default() -> TelescopingSpec {
        TelescopingSpec { ratio: 20.0, code: None }
    }
}

impl TelescopingFilter {
    /// The code in use.
    pub fn code(&self) -> SelectorCode {
        self.rule().code()
    }
}

impl Options<TelescopingSpec> {
    /// The expected number of distinct absent queries for each stored key, A/S. The general code's parameters follow from
    /// it. If there are more queries, blocks are reset more often. The default is 20. At 8 bits the paper's tuned code is
    /// used in any case, unless [`Options::code`] asks for another.
    #[must_use]
    pub fn expected_ratio(mut self, ratio: f64) -> Self {
        self.spec.ratio = ratio;
        self
    }

    /// Uses this code.
    #[must_use]
    pub fn code(mut self, code: SelectorCode) -> Self {
        self.spec.code = Some(code);
        self
    }
}

impl Coded for TelescopingSpec {}

impl RuleSpec for TelescopingSpec {
    type Rule = Selectors;
    const KIND: Kind = Kind::Telescoping;

    fn rule(&self, width: u32) -> Result<Selectors, OptionsError> {
        if !(self.ratio >= 0.0 && self.ratio.is_finite()) {
            return Err(OptionsError::Selector(format!("the expected ratio must be 0 or more, not {}", self.ratio)));
        }
        let general = || {
            let general = codes::general_for(width, self.ratio);
            SelectorCode::General { x: general.x(), y: general.y() }
        };
        let code = self.code.unwrap_or_else(|| if width == 8 { SelectorCode::Tuned } else { general() });
        Selectors::new(code, width)
            .ok_or_else(|| OptionsError::Selector(format!("{code:?} is invalid: x must be 2 to 16, y 1 to 32")))
    }

    fn write(rule: &Selectors, out: &mut Writer<'_>) {
        let (x, y) = match rule.code() {
            SelectorCode::Tuned => (0, 0),
            SelectorCode::General { x, y } => (x, y),
        };
        out.u8(x as u8);
        out.u8(y as u8);
    }

    fn read(width: u32, from: &mut Reader) -> Result<Selectors, LoadError> {
        let (x, y) = (u32::from(from.u8()?), u32::from(from.u8()?));
        let code = if (x, y) == (0, 0) { SelectorCode::Tuned } else { SelectorCode::General { x, y } };
        Selectors::new(code, width)
            .ok_or_else(|| LoadError::invalid(format!("its code has the parameters {x} and {y}")))
    }
}
