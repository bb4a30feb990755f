//! Which blocks hold a selector that a look-up does not compare at a glance.

use super::numbers::Block;

/// A bit that four blocks share, in large tables more. A set bit may mean another block's selector. Bits are never cleared.
///
/// A look-up in a table that has learned compares a slot with its key's first few remainders, which one hash word gives. In a
/// telescoping filter for 8 bits, at ten distinct absent queries for each key, one block in two thousand has a selector beyond
/// them. To read the codes of the others, in order to know that, took longer than all the rest.
#[derive(Clone, Debug)]
pub(crate) struct Deep {
    words: Vec<u64>,
}

/// The bits of the largest tables: 8 KB, which stay in the nearest cache.
const MOST: u64 = 1 << 16;

impl Deep {
    pub(crate) fn new(blocks: u64) -> Deep {
        // A power of two of words.
        let bits = (blocks / 4).min(MOST).next_power_of_two().max(64);
        Deep { words: vec![0; bits as usize / 64] }
    }

    #[inline(always)]
    fn word(&self, block: Block) -> usize {
        (block.0 / 64) as usize & (self.words.len() - 1)
    }

    pub(crate) fn add(&mut self, block: Block) {
        let word = self.word(block);
        self.words[word] |= 1 << (block.0 % 64);
    }

    /// 1 if the block may hold such a selector, 0 if it does not.
    #[inline(always)]
    pub(crate) fn has(&self, block: Block) -> u64 {
        self.words[self.word(block)] >> (block.0 % 64) & 1
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        self.words.capacity() as u64 * 64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_was_added_is_known_and_few_others_are() {
        for (blocks, known) in [(1, 1), (64, 1), (65, 2), (70_000, 5), (1 << 20, 16)] {
            for block in [0, blocks / 3, blocks - 1] {
                let mut deep = Deep::new(blocks);
                assert!((0..blocks).all(|block| deep.has(Block(block)) == 0));
                deep.add(Block(block));
                assert_eq!(deep.has(Block(block)), 1);
                let all: u64 = (0..blocks).map(|block| deep.has(Block(block))).sum();
                assert!((1..=known).contains(&all), "{all} of {blocks}");
            }
        }
    }
}
