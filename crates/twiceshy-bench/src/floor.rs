//! The floor under every filter of one cache line: random reads of one line in a table of the same bytes.

use crate::prefetch::{HAS_PREFETCH, prefetch};
use crate::subject::{Asked, Subject};
use memmap2::MmapMut;
use std::hint::black_box;
use std::rc::Rc;

/// Names of the floors, in the order of [`all`].
pub const NAMES: [&str; 4] = ["floor-line", "floor-line-prefetch", "floor-line-huge", "floor-line-prefetch-huge"];

const LINE: usize = 64;

/// The size of a huge page. A table begins at a multiple of it, so that a small table can have one as well.
const HUGE: usize = 2 << 20;

/// How many questions ahead a line is asked for.
const AHEAD: usize = 16;

/// A floor; `None` where the system gave no huge pages, or has no prefetch.
pub type Floor = Option<Box<dyn Asked>>;

/// All floors for a table of this many bytes.
pub fn all(bytes: u64) -> std::io::Result<Vec<(&'static str, Floor)>> {
    let plain = Some(Rc::new(Lines::new(bytes, Pages::Small)?));
    let huge = Some(Rc::new(Lines::new(bytes, Pages::Huge)?)).filter(|lines| lines.has_huge_pages());
    let mut floors: Vec<Floor> = Vec::new();
    for lines in [plain, huge] {
        floors.push(lines.clone().map(|lines| Box::new(Plain(lines)) as Box<dyn Asked>));
        floors.push(lines.filter(|_| HAS_PREFETCH).map(|lines| Box::new(Rolling(lines)) as Box<dyn Asked>));
    }
    Ok(NAMES.into_iter().zip(floors).collect())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pages {
    Small,
    Huge,
}

/// A table of cache lines.
#[derive(Debug)]
struct Lines {
    memory: MmapMut,
    start: usize,
    lines: u64,
}

impl Lines {
    fn new(bytes: u64, pages: Pages) -> std::io::Result<Lines> {
        let lines = bytes.div_ceil(LINE as u64).max(1);
        let len = (lines as usize * LINE).next_multiple_of(HUGE);
        let mut memory = MmapMut::map_anon(len + HUGE)?;
        advise(&memory, pages);
        let start = memory.as_ptr().align_offset(HUGE);
        // Pages that were never written all have the same memory behind them.
        for (at, byte) in memory[start..start + len].iter_mut().enumerate() {
            *byte = (at / 24) as u8;
        }
        Ok(Lines { memory, start, lines })
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.lines as usize * LINE]
    }

    /// Where a question's word is: the line by the high bits of a cheap hash, the word in it by the low ones.
    #[inline(always)]
    fn place(&self, question: u64) -> usize {
        let hash = question.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let line = ((u128::from(hash) * u128::from(self.lines)) >> 64) as usize;
        line * LINE + (hash as usize & 7) * 8
    }

    #[inline(always)]
    fn read(&self, bytes: &[u8], question: u64) -> bool {
        let at = self.place(question);
        let word = bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_le_bytes);
        word & 1 == 1
    }

    /// `true` if the system has put at least half of the table into huge pages.
    fn has_huge_pages(&self) -> bool {
        let Ok(map) = std::fs::read_to_string("/proc/self/smaps") else { return false };
        let address = self.memory.as_ptr() as usize + self.start;
        huge_bytes(&map, address).is_some_and(|huge| huge >= self.bytes().len() / 2 && huge > 0)
    }
}

/// The bytes in huge pages of the mapping that holds an address, from the text of `/proc/self/smaps`.
fn huge_bytes(map: &str, address: usize) -> Option<usize> {
    let number = |text: &str| usize::from_str_radix(text, 16).ok();
    let holds = |line: &&str| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let range = range.and_then(|(start, end)| Some(number(start)?..number(end)?));
        range.is_some_and(|range| range.contains(&address))
    };
    let mut lines = map.lines().skip_while(|line| !holds(line));
    let kilobytes = lines.find_map(|line| line.strip_prefix("AnonHugePages:"))?;
    kilobytes.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Without the advice the system may do as it likes. A refusal is no error: whether there are huge pages is looked up.
#[cfg(target_os = "linux")]
fn advise(memory: &MmapMut, pages: Pages) {
    use memmap2::Advice;
    let advice = if pages == Pages::Huge { Advice::HugePage } else { Advice::NoHugePage };
    let _ = memory.advise(advice);
}

#[cfg(not(target_os = "linux"))]
fn advise(_: &MmapMut, _: Pages) {}

/// One read after another. The address depends on the question alone, so the processor may overlap them.
struct Plain(Rc<Lines>);

impl Subject for Plain {
    #[inline(always)]
    fn contains(&self, key: u64) -> bool {
        self.0.read(self.0.bytes(), key)
    }

    fn bits(&self) -> u64 {
        self.0.bytes().len() as u64 * 8
    }
}

/// The same, with each line asked for some questions ahead.
struct Rolling(Rc<Lines>);

impl Asked for Rolling {
    #[inline(never)]
    fn ask(&self, questions: &[u64]) -> u64 {
        let bytes = self.0.bytes();
        let mut present = 0;
        let (first, rest) = questions.split_at(AHEAD.min(questions.len()));
        first.iter().for_each(|question| prefetch(bytes, self.0.place(*question)));
        for (question, ahead) in questions.iter().zip(rest) {
            prefetch(bytes, self.0.place(*ahead));
            present += u64::from(self.0.read(bytes, *question));
        }
        for question in &questions[rest.len()..] {
            present += u64::from(self.0.read(bytes, *question));
        }
        black_box(present)
    }

    fn ask_batch(&self, _: &[u64], _: &mut Vec<bool>) -> Option<u64> {
        None
    }

    fn bits(&self) -> u64 {
        self.0.bytes().len() as u64 * 8
    }

    fn cells(&self) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Ask, Questions};
    use std::collections::HashSet;

    #[test]
    fn all_floors_read_the_same_words_and_every_line() {
        let floors = all(100 * LINE as u64 - 5).expect("memory");
        let mut asked = Vec::new();
        Questions::new(10, 0, 1).fill(Ask::Negative, 5_003, &mut asked);
        let counts: Vec<u64> = floors.iter().flat_map(|(_, floor)| floor).map(|floor| floor.ask(&asked)).collect();
        assert!(!counts.is_empty() && counts.iter().all(|count| *count == counts[0]), "{counts:?}");
        assert!((2_000..3_000).contains(&counts[0]), "{counts:?}");
        assert!(floors.iter().flat_map(|(_, floor)| floor).all(|floor| floor.bits() == 100 * 512));
        for few in [0, 1, AHEAD - 1, AHEAD, AHEAD + 1] {
            let counts: HashSet<u64> =
                floors.iter().flat_map(|(_, floor)| floor).map(|floor| floor.ask(&asked[..few])).collect();
            assert_eq!(counts.len(), 1, "{few}: {counts:?}");
        }
        let lines = Lines::new(100 * LINE as u64, Pages::Small).expect("memory");
        let read: HashSet<usize> = asked.iter().map(|question| lines.place(*question) / LINE).collect();
        assert_eq!(read.len(), 100);
    }

    #[test]
    fn huge_pages_are_those_of_the_mapping_with_the_address() {
        let map = "1000-3000 rw-p 0 00:00 0\nRss: 8 kB\nAnonHugePages:         0 kB\n\
                   3000-9000 rw-p 0 00:00 0\nAnonHugePages:      2048 kB\n";
        assert_eq!(huge_bytes(map, 0x2fff), Some(0));
        assert_eq!(huge_bytes(map, 0x3000), Some(2048 * 1024));
        assert_eq!(huge_bytes(map, 0x9000), None);
    }
}
