//! Properties of every model.

use super::*;
use crate::rng::SplitMix64;

/// Calls a generic check with every model and the letters of its alphabet, some outside it included.
macro_rules! every_model {
    ($check:ident) => {{
        $check(&Tuned, &(0..9).collect::<Vec<Mark>>());
        for (x, y, letters) in [(2, 1, 2), (2, 1, 256), (2, 4, 16), (3, 8, 8), (3, 6, 4), (5, 12, 5), (16, 32, 256)] {
            $check(&General::new(x, y, letters).unwrap(), &(0..letters as Mark + 2).collect::<Vec<_>>());
        }
        $check(&general_for(8, 50.0), &(0..10).collect::<Vec<Mark>>());
        let strings = (0..=Mark::MAX).filter(|mark| ExtensionMark::from_mark(*mark).is_some());
        $check(&Extensions, &strings.chain([2047, 2048, 8192]).collect::<Vec<_>>());
    }};
}

fn ranges() -> Vec<u64> {
    let mut random = SplitMix64::from_state(3);
    let mut ranges: Vec<u64> = (0..70).collect();
    ranges.extend((6..=56).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]));
    ranges.extend((0..100).map(|_| (random.next() >> 8) >> (random.next() % 50)));
    ranges.push(u64::MAX);
    ranges
}

/// Letters of which `nonzero` are not zero, mostly small ones.
fn draw(random: &mut SplitMix64, alphabet: &[Mark], nonzero: u64) -> Marks {
    let mut marks = [0; SLOTS];
    for _ in 0..nonzero {
        let bound = (random.next() % alphabet.len() as u64) >> (random.next() % 14);
        marks[random.below(SLOTS as u64) as usize] = alphabet[random.below(bound.max(2)) as usize];
    }
    marks
}

/// Blocks that fit and blocks that do not: random ones of every density, and extreme ones.
fn blocks(alphabet: &[Mark]) -> Vec<Marks> {
    let mut random = SplitMix64::from_state(alphabet.len() as u64);
    let mut blocks: Vec<Marks> = (0..3000).map(|step| draw(&mut random, alphabet, step % 40)).collect();
    for mark in alphabet.iter().take(300) {
        for slot in [0, 1, 31, 62, 63] {
            let mut marks = [0; SLOTS];
            marks[slot] = *mark;
            blocks.push(marks);
            marks[63] = 1;
            blocks.push(marks);
        }
        blocks.push([*mark; SLOTS]);
        for length in [2, 3, 5, 10, 20] {
            let mut marks = [0; SLOTS];
            marks[..length].fill(*mark);
            blocks.push(marks);
            marks.reverse();
            blocks.push(marks);
        }
    }
    blocks
}

/// Codes of those blocks, their neighbours, and numbers that no encoder wrote.
fn codes<M: Model>(model: &M, alphabet: &[Mark]) -> Vec<u64> {
    let mut random = SplitMix64::from_state(77);
    let mut codes = vec![0, 1, ESCAPE - 1, ESCAPE, WHOLE - 1, WHOLE, WHOLE + 1, u64::MAX];
    codes.extend(blocks(alphabet).iter().filter_map(|marks| encode(model, marks)).flat_map(|code| {
        let low = code & !0xFFF;
        [code, code.saturating_sub(1), code + 1, low, low | 0xFFF]
    }));
    codes.extend((0..2000).map(|_| random.next() >> (random.next() % 64)));
    codes
}

#[test]
fn a_part_holds_exactly_what_is_read_as_its_letter() {
    fn check<M: Model>(model: &M, alphabet: &[Mark]) {
        for range in ranges() {
            let mut parts: Vec<(Part, Mark)> =
                alphabet.iter().filter_map(|mark| Some((model.part(range, *mark)?, *mark))).collect();
            parts.sort_by_key(|(part, _)| part.low);
            let mut end = 0;
            for (part, mark) in &parts {
                assert!(part.low >= end && part.width > 0, "letter {mark} of range {range}");
                for gap in (end..part.low).take(3).chain((end..part.low).rev().take(3)) {
                    assert_eq!(model.letter(range, gap), GAP, "{gap} of range {range} is in no part");
                }
                for at in [part.low, part.low + part.width / 2, part.low + (part.width - 1)] {
                    assert_eq!(model.letter(range, at), (*mark, *part), "{at} of range {range}");
                }
                end = part.low + part.width;
            }
            assert!(end <= range);
            for at in [end, end.saturating_add(1), range, range.saturating_add(1), u64::MAX] {
                assert_eq!(model.letter(range, at), GAP, "{at} is above every part of range {range}");
            }
            let zero = model.part(range, 0).map_or(0, |part| part.width);
            assert_eq!(model.zero(range), zero);
            assert!((zero > 0) == (range > 0), "zero has {zero} of range {range}");
        }
    }
    every_model!(check);
}

#[test]
fn what_was_encoded_is_decoded_and_only_64_zeros_are_coded_as_0() {
    fn check<M: Model>(model: &M, alphabet: &[Mark]) {
        let (mut fitted, mut overflowed) = (0, 0);
        for marks in blocks(alphabet) {
            let Some(code) = encode(model, &marks) else {
                overflowed += 1;
                continue;
            };
            fitted += 1;
            assert!(code < ESCAPE);
            assert_eq!(decode(model, code), marks);
            assert_eq!(code == 0, marks == [0; SLOTS], "{marks:?}");
        }
        assert!(fitted > 200 && overflowed > 30, "{fitted} fitted, {overflowed} overflowed");
        assert_eq!(encode(model, &[0; SLOTS]), Some(0));
        assert_eq!(encode(model, &[Mark::MAX; SLOTS]), None);
    }
    every_model!(check);
}

/// The converse does not hold: parts of a small range are rounded, and letters that need more than 56 bits may fit.
#[test]
fn a_block_overflows_only_if_it_needs_more_than_50_bits_or_its_code_is_an_escape() {
    fn check<M: Model>(model: &M, alphabet: &[Mark]) {
        let bits = |mark: &Mark| Some((WHOLE as f64 / model.part(WHOLE, *mark)?.width as f64).log2());
        for marks in blocks(alphabet).iter().filter(|marks| encode(model, marks).is_none()) {
            let Some(bits) = marks.iter().map(bits).sum::<Option<f64>>() else { continue };
            let end = marks.iter().try_fold((0, WHOLE), |(low, range), mark| {
                let part = model.part(range, *mark)?;
                Some((low + part.low, part.width))
            });
            assert!(bits > 50.0 || end.is_some_and(|(low, _)| low >= ESCAPE), "{bits} bits overflow: {marks:?}");
        }
    }
    every_model!(check);
}

#[test]
fn a_number_that_encodes_to_itself_is_found_among_all_numbers() {
    fn check<M: Model>(model: &M, alphabet: &[Mark]) {
        let (mut codes_found, mut others) = (0, 0);
        for code in codes(model, alphabet) {
            // For any number, reading ends, and the letters read show whether it is a code.
            match encode(model, &decode(model, code)) {
                Some(again) if again == code => codes_found += 1,
                _ => others += 1,
            }
        }
        assert!(codes_found > 200 && others > 200, "{codes_found} codes, {others} others");
    }
    every_model!(check);
}

#[test]
fn the_reader_agrees_with_decode_for_any_number() {
    fn check<M: Model>(model: &M, alphabet: &[Mark]) {
        let zeros = Zeros::new(model);
        let mut random = SplitMix64::from_state(5);
        for code in codes(model, alphabet) {
            let marks = decode(model, code);
            let first = marks.iter().position(|mark| *mark != 0).unwrap_or(SLOTS);
            if encode(model, &marks) == Some(code) {
                assert_eq!(zeros.first_nonzero(code), first);
            }
            let (single, sparse) = (1 << (random.next() % 64), random.next() & random.next());
            for asked in [u64::MAX, single, sparse, 1 << 63 | 1] {
                let mut reader = Reader::new(model, &zeros, code);
                for slot in (0..SLOTS).filter(|slot| asked >> slot & 1 == 1) {
                    assert_eq!(reader.mark(slot), marks[slot], "slot {slot} of {code:#x}");
                    assert_eq!(reader.mark(slot), marks[slot], "slot {slot} of {code:#x}, again");
                }
            }
        }
    }
    every_model!(check);
}
