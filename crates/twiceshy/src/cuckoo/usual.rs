//! Look-ups of full-key filters in the usual shapes: 4×1, 2×4, and two windows of two cells.
//!
//! A look-up first hashes: it then knows where to read, and has the words that fingerprints come from. Then it reads and
//! compares, without a branch on what it has read. A batch does the first part for all keys before the second. All numbers
//! that do not depend on the key are computed once, and every rule and shape is compiled apart.
//!
//! Loops over arrays are written out: with `array::map` and `array::from_fn`, which the compiler did not always inline, a
//! 2×4 look-up took 175 instructions in place of 127.

use super::fingerprint::{Choice, Function, Rule, Values, sharing};
use super::shape::Shape;
use crate::batch;
use crate::hash::{HashKey, State, Words, reduce};
use crate::packed::PackedCells;
use crate::packed::lanes::Lanes;

/// The numbers of look-ups in a usual shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual {
    form: Form,
    buckets: u64,
    /// The size of a bucket, in bytes if buckets begin with one ([`Form::Bytes`]) and else in bits.
    bucket: u64,
    /// Where each table begins, in the same unit.
    tables: [u64; 4],
    /// The values of function 0, and of function 1 if cells choose.
    values: [Values; 2],
    /// The bits of a cell.
    width: u32,
    mask: u64,
    lanes: Lanes,
}

/// The shape, and the number of fingerprints in a hash word: four of 16 bits, or two of 32 if the cells are wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// 4×1.
    Single,
    SingleWide,
    /// 2×4, with buckets that begin with a byte.
    Bytes,
    BytesWide,
    /// 2×4, with buckets that begin anywhere.
    Bits,
    BitsWide,
    /// Two tables with windows of two cells.
    Windows,
    WindowsWide,
}

/// Where a key may be, and the hash words that its fingerprints come from.
#[derive(Clone, Copy, Debug)]
struct Wanted<const TABLES: usize, const PRINTS: usize> {
    at: [u64; TABLES],
    prints: [u64; PRINTS],
}

impl Usual {
    /// `None` for a shape or a rule that has no code of its own.
    pub(crate) fn new<R: Rule>(shape: Shape, width: u32, rule: &R) -> Option<Usual> {
        let wide = sharing(width) == 1;
        let (per_bucket, buckets) = (u64::from(shape.cells_per_bucket()), shape.buckets());
        let bits = per_bucket * u64::from(width);
        let form = match (shape.tables(), per_bucket, bits % 8) {
            (2, 2, _) if shape.overlaps() && matches!(rule.choice(), Choice::BySpot) => {
                [Form::Windows, Form::WindowsWide]
            }
            _ if shape.overlaps() => return None,
            (4, 1, _) => [Form::Single, Form::SingleWide],
            (2, 4, 0) => [Form::Bytes, Form::BytesWide],
            (2, 4, _) => [Form::Bits, Form::BitsWide],
            _ => return None,
        }[usize::from(wide)];
        let two = match rule.choice() {
            Choice::ByValue { functions } => functions == 2 && per_bucket == 1,
            _ => false,
        };
        let chooses = matches!(rule.choice(), Choice::ByValue { .. });
        if matches!(rule.choice(), Choice::BySpot) && !shape.overlaps() {
            return None;
        }
        if sharing(width) == 0 || chooses && !two {
            return None;
        }
        let values = [rule.values(Function(0)), rule.values(Function(two.into()))];
        if shape.overlaps() {
            // A place is a cell here: whether its number is even says which function is whose. Two cells of at most 24 bits fit
            // into a load at any bit.
            let (tables, lanes) = ([0, shape.cells_per_table(), 0, 0], Lanes::new(width, 2));
            return Some(Usual { form, buckets, bucket: 1, tables, values, width, mask: (1 << width) - 1, lanes });
        }
        let lanes = Lanes::of_bucket(width, per_bucket as u32)?;
        let bucket = if matches!(form, Form::Bytes | Form::BytesWide) { bits / 8 } else { bits };
        let tables = [0, 1, 2, 3].map(|table| table * buckets * bucket);
        Some(Usual { form, buckets, bucket, tables, values, width, mask: (1 << width) - 1, lanes })
    }

    /// `true` for the shape that a kind has unless told otherwise, and the width that it has at usual rates.
    #[inline(always)]
    pub(crate) fn is_own<R: Rule>(&self) -> bool {
        let own = match (R::OVERLAPS, R::BY_CELL) {
            (true, _) => Form::Windows,
            (false, true) => Form::Bytes,
            (false, false) => Form::Single,
        };
        self.form == own
    }

    /// Hashes a key.
    #[inline(always)]
    fn locate<const TABLES: usize, const PRINTS: usize>(&self, hash: &HashKey, key: &[u8]) -> Wanted<TABLES, PRINTS> {
        // The hash function is chosen once for all words.
        match hash.words(key) {
            Words(State::Short { key, flips, seed, step }) => {
                self.locate_by(Words(State::Short { key, flips, seed, step }))
            }
            Words(State::Sip(absorbed)) => self.locate_by(Words(State::Sip(absorbed))),
            words => self.locate_by(words),
        }
    }

    /// The same as [`Shape::buckets_in`] and the words of [`Prints`](super::fingerprint::Prints), in another form.
    #[inline(always)]
    fn locate_by<const TABLES: usize, const PRINTS: usize>(&self, words: Words<'_>) -> Wanted<TABLES, PRINTS> {
        let mut at = [0; TABLES];
        for pair in 0..TABLES / 2 {
            let word = words.word(pair as u64);
            let first = if pair == 0 { 0 } else { self.tables[2 * pair] };
            at[2 * pair] = reduce(word, self.buckets) * self.bucket + first;
            at[2 * pair + 1] = reduce(word.rotate_left(32), self.buckets) * self.bucket + self.tables[2 * pair + 1];
        }
        let mut prints = [0; PRINTS];
        for (word, print) in (TABLES as u64 / 2..).zip(&mut prints) {
            *print = words.word(word);
        }
        Wanted { at, prints }
    }

    /// The byte in which a place begins.
    #[inline(always)]
    fn byte_of(&self, at: u64, bytes: bool) -> u64 {
        match (bytes, self.form) {
            (true, _) => at,
            (false, Form::Windows | Form::WindowsWide) => at * u64::from(self.width) / 8,
            (false, _) => at / 8,
        }
    }

    /// The value that a function gives the key.
    #[inline(always)]
    fn print<const WIDE: bool>(&self, prints: &[u64], function: usize, values: Values) -> u64 {
        let bits = if WIDE { 32 } else { 16 };
        let in_word = 64 / bits;
        // The product fits: 16 bits by at most 12, or 32 by at most 24.
        let slice = prints[function / in_word] >> (function % in_word * bits) & ((1 << bits) - 1);
        values.start + ((slice * values.len) >> bits)
    }

    /// The four fingerprints of a bucket side by side, of functions 0 to 3.
    #[inline(always)]
    fn bucket_of_prints<const WIDE: bool>(&self, prints: &[u64]) -> u64 {
        if WIDE {
            let print = |cell: u32| self.print::<WIDE>(prints, cell as usize, self.values[0]) << (cell * self.width);
            return print(0) | print(1) | print(2) | print(3);
        }
        // Two products at a time, each in its own half of a word. All ranges begin at 1.
        const HALVES: u64 = 0x0000_FFFF_0000_FFFF;
        let products = |slices: u64| ((slices & HALVES) * self.values[0].len) >> 16 & HALVES;
        let pairs = products(prints[0]) | products(prints[0] >> 16) << self.width;
        (pairs & u64::from(u32::MAX) | pairs >> 32 << (2 * self.width)) + self.lanes.spread(1u64)
    }

    /// The fingerprints of a window for its two cells, in each table: functions 0 and 1, and 2 and 3. An even cell has the first.
    #[inline(always)]
    fn windows_of_prints<const WIDE: bool>(&self, prints: &[u64], at: [u64; 2]) -> [u64; 2] {
        let side_by_side = |low: u64, high: u64| low | high << self.width;
        if WIDE {
            let print = |function| self.print::<WIDE>(prints, function, self.values[0]);
            let window = |table: usize| {
                let (even, odd) = (print(2 * table), print(2 * table + 1));
                if at[table] & 1 == 0 { side_by_side(even, odd) } else { side_by_side(odd, even) }
            };
            return [window(0), window(1)];
        }
        // Two products at a time, each in its own half of a word: one half for each table.
        const HALVES: u64 = 0x0000_FFFF_0000_FFFF;
        let products = |slices: u64| ((slices & HALVES) * self.values[0].len) >> 16 & HALVES;
        let (even, odd) = (products(prints[0]), products(prints[0] >> 16));
        let (even_first, odd_first) = (side_by_side(even, odd), side_by_side(odd, even));
        let pick = |at: u64| if at & 1 == 0 { even_first } else { odd_first };
        let ones = self.lanes.spread(1u64);
        [(pick(at[0]) & u64::from(u32::MAX)) + ones, (pick(at[1]) >> 32) + ones]
    }

    #[inline(always)]
    fn is_in<R: Rule, const WIDE: bool, const TABLES: usize, const PRINTS: usize>(
        &self,
        rule: &R,
        cells: &PackedCells,
        bytes: bool,
        wanted: &Wanted<TABLES, PRINTS>,
    ) -> bool {
        let (prints, first) = (&wanted.prints[..], self.values[0]);
        if TABLES == 2 && matches!(rule.choice(), Choice::BySpot) {
            let at = [wanted.at[0], wanted.at[1]];
            let word = |cell: u64| cells.word_at_bit(cell * u64::from(self.width));
            return self.lanes.any_equal([word(at[0]), word(at[1])], self.windows_of_prints::<WIDE>(prints, at));
        }
        if TABLES == 2 {
            let word = |at| if bytes { cells.word_at_byte(at) } else { cells.word_at_bit(at) };
            let words = [word(wanted.at[0]), word(wanted.at[1])];
            let spread = |function| self.lanes.spread(self.print::<WIDE>(prints, function, first));
            let wanted = match rule.choice() {
                Choice::ByCell => [self.bucket_of_prints::<WIDE>(prints); 2],
                Choice::ByTable => [spread(0), spread(1)],
                _ => [spread(0); 2],
            };
            return self.lanes.any_equal(words, wanted);
        }
        let print = |function, values| self.print::<WIDE>(prints, function, values);
        let (mut product, mut below) = (1, 0);
        for table in 0..TABLES {
            let value = cells.word_at_bit(wanted.at[table]);
            // What is left of a cell that matches is 0.
            let left = match rule.choice() {
                Choice::ByTable => (value ^ print(table, first)) & self.mask,
                Choice::ByValue { .. } => {
                    let (one, other, value) = (print(0, first), print(1, self.values[1]), value & self.mask);
                    value ^ if value < self.values[1].start { one } else { other }
                }
                _ => (value ^ print(0, first)) & self.mask,
            };
            if WIDE {
                // Only 0 less 1 has the highest bit.
                below |= left.wrapping_sub(1);
            } else {
                // At most 12 bits each: the product fits.
                product *= left;
            }
        }
        if WIDE { below >> 63 != 0 } else { product == 0 }
    }
}

/// Calls `$self.$method::<WIDE, TABLES, PRINTS>(…, bytes)` as the form and the rule demand. `PRINTS` is the number of hash
/// words that hold all fingerprints which a look-up needs.
macro_rules! in_form {
    ($usual:expr, $rule:ty, |$wide:ident, $tables:ident, $prints:ident, $bytes:ident| $body:expr) => {{
        macro_rules! compiled {
            ($w:literal, $t:literal, $p:literal, $b:literal) => {{
                const $wide: bool = $w;
                const $tables: usize = $t;
                const $prints: usize = $p;
                const $bytes: bool = $b;
                $body
            }};
        }
        match ($usual.form, <$rule>::MANY) {
            (Form::Single, _) => compiled!(false, 4, 1, false),
            (Form::SingleWide, false) => compiled!(true, 4, 1, false),
            (Form::SingleWide, true) => compiled!(true, 4, 2, false),
            (Form::Bytes, _) => compiled!(false, 2, 1, true),
            (Form::BytesWide, false) => compiled!(true, 2, 1, true),
            (Form::BytesWide, true) => compiled!(true, 2, 2, true),
            (Form::Bits, _) => compiled!(false, 2, 1, false),
            (Form::BitsWide, false) => compiled!(true, 2, 1, false),
            (Form::BitsWide, true) => compiled!(true, 2, 2, false),
            (Form::Windows, _) => compiled!(false, 2, 1, false),
            (Form::WindowsWide, _) => compiled!(true, 2, 2, false),
        }
    }};
}

/// A usual table with what it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a, R> {
    pub(crate) usual: &'a Usual,
    pub(crate) hash: &'a HashKey,
    pub(crate) rule: &'a R,
    pub(crate) cells: &'a PackedCells,
}

impl<R: Rule> Look<'_, R> {
    #[inline(always)]
    fn single<const WIDE: bool, const TABLES: usize, const PRINTS: usize>(self, key: &[u8], bytes: bool) -> bool {
        let wanted = self.usual.locate::<TABLES, PRINTS>(self.hash, key);
        self.usual.is_in::<R, WIDE, TABLES, PRINTS>(self.rule, self.cells, bytes, &wanted)
    }

    /// The same, if the shape and the width [are the kind's own](Usual::is_own).
    #[inline(always)]
    pub(crate) fn contains_in_own_form(self, key: &[u8]) -> bool {
        match (R::OVERLAPS, R::BY_CELL) {
            (true, _) => self.single::<false, 2, 1>(key, false),
            (false, true) => self.single::<false, 2, 1>(key, true),
            (false, false) => self.single::<false, 4, 1>(key, false),
        }
    }

    /// `true` if any cell matches the key.
    #[inline(always)]
    pub(crate) fn contains(self, key: &[u8]) -> bool {
        in_form!(self.usual, R, |WIDE, TABLES, PRINTS, BYTES| self.single::<WIDE, TABLES, PRINTS>(key, BYTES))
    }

    #[inline(always)]
    fn batch<const WIDE: bool, const TABLES: usize, const PRINTS: usize>(
        self,
        keys: &[&[u8]],
        found: &mut [bool],
        bytes: bool,
    ) {
        let nothing = Wanted::<TABLES, PRINTS> { at: [0; TABLES], prints: [0; PRINTS] };
        let prepare = |key: &[u8]| {
            let wanted = self.usual.locate::<TABLES, PRINTS>(self.hash, key);
            wanted.at.iter().for_each(|at| self.cells.prefetch_byte(self.usual.byte_of(*at, bytes)));
            wanted
        };
        let answer = |_: &[u8], wanted: Wanted<TABLES, PRINTS>| {
            self.usual.is_in::<R, WIDE, TABLES, PRINTS>(self.rule, self.cells, bytes, &wanted)
        };
        batch::in_groups(keys, found, nothing, prepare, answer);
    }

    /// Whether any cell matches each key.
    pub(crate) fn contains_batch(self, keys: &[&[u8]], found: &mut [bool]) {
        in_form!(self.usual, R, |WIDE, TABLES, PRINTS, BYTES| self.batch::<WIDE, TABLES, PRINTS>(keys, found, BYTES));
    }
}

#[cfg(test)]
mod tests {
    use crate::cuckoo::fingerprint::Rule;
    use crate::cuckoo::local::Local;
    use crate::cuckoo::options::RuleSpec;
    use crate::cuckoo::{
        CuckooingFilter, CyclicFilter, FullKeyFilter, Options, RememberingFilter, Selectors, SwappingFilter,
    };
    use crate::hash::HashKey;
    use crate::remote::Generation;
    use crate::rng::SplitMix64;

    /// Fills the cells with random values, and with values of some of the keys at random places.
    fn scramble<R: Rule>(local: &mut Local<R>, keys: &[Vec<u8>], random: &mut SplitMix64) {
        for cell in 0..local.shape.cells() {
            local.cells.set(cell, random.next() as u32 & if random.below(3) == 0 { 0 } else { u32::MAX });
        }
        for key in &keys[..keys.len() / 2] {
            let cells: Vec<_> = local.shape.cells_of(&local.shape.buckets_of(&local.hash.words(key))).collect();
            let cell = cells[random.below(cells.len() as u64) as usize];
            let function = local.rule.function(local.shape.spot(cell), random.next() as u32);
            local.cells.set(cell.0, local.value(key, function));
        }
    }

    /// Compares the code of the usual shapes with the code of any shape. Returns how many keys were found in usual shapes.
    fn compare<S: RuleSpec>(options: &Options<S>, what: &str) -> u64 {
        let mut found = 0;
        for hash in [HashKey::fixed(3), HashKey::fixed(3).for_trusted_keys()] {
            let mut random = SplitMix64::from_state(11);
            let keys: Vec<Vec<u8>> =
                (0..300).map(|i| (0..1 + i % 19).map(|_| random.next() as u8).chain([i as u8, 1]).collect()).collect();
            let mut local = options.make(hash, Generation(0)).unwrap().local;
            scramble(&mut local, &keys, &mut random);
            let plain: Vec<bool> = keys.iter().map(|key| local.contains_one_by_one(key)).collect();
            let hits: Vec<bool> = keys.iter().map(|key| local.hits(key).hits != 0).collect();
            assert_eq!(plain, hits, "{what}");
            let single: Vec<bool> = keys.iter().map(|key| local.contains(key)).collect();
            assert_eq!(single, plain, "{what}");
            let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let mut batch = vec![false; keys.len()];
            local.contains_batch(&slices, &mut batch);
            assert_eq!(batch, plain, "{what}");
            found += single.iter().filter(|found| **found && local.usual.is_some()).count() as u64;
        }
        found
    }

    #[test]
    fn usual_shapes_answer_as_any_shape_does() {
        let mut found = 0;
        for width in 2..=32 {
            for (tables, per_bucket) in [(4, 1), (2, 4), (2, 2), (3, 2), (2, 1)] {
                for cells in [1, 60, 1_000] {
                    let what = |kind: &str| format!("{kind} {tables}×{per_bucket}, {cells} cells of {width} bits");
                    let plain = FullKeyFilter::with_cells(cells, width).tables(tables).cells_per_bucket(per_bucket);
                    found += compare(&plain, &what("plain"));
                    let cuckooing =
                        CuckooingFilter::with_cells(cells, width).tables(tables).cells_per_bucket(per_bucket);
                    found += compare(&cuckooing, &what("cuckooing"));
                    found += compare(&cuckooing.shared_fingerprint(true), &what("cuckooing, shared"));
                    if per_bucket > 1 {
                        let swapping =
                            SwappingFilter::with_cells(cells, width).tables(tables).cells_per_bucket(per_bucket);
                        found += compare(&swapping, &what("swapping"));
                    }
                    for aligned in [true, false] {
                        let remembering =
                            RememberingFilter::with_cells(cells, width).tables(tables).cells_per_bucket(per_bucket);
                        found += compare(&remembering.aligned(aligned), &what("remembering"));
                    }
                    for selectors in [
                        Selectors::Equal { bits: 1 },
                        Selectors::Equal { bits: 0 },
                        Selectors::Unequal { split: 1, bits: 0 },
                        Selectors::Offsets(vec![2]),
                        Selectors::Offsets(vec![2, 3]),
                    ] {
                        let cyclic = CyclicFilter::with_cells(cells, width).tables(tables).cells_per_bucket(per_bucket);
                        found += compare(&cyclic.selectors(selectors), &what("cyclic"));
                    }
                }
            }
        }
        assert!(found > 100_000, "{found}");
    }
}
