//! Which words of L an operation reads or writes: the cost that 001 counts (section 5: the complexity of an operation "is
//! simply the number of machine words that are touched").
//!
//! Every accessor of L records what it touches. Without the feature `count-words` this compiles to nothing. A word has 64
//! bits and is aligned, so an unaligned load may touch two. Each thread has its own counts. Creating, copying, comparing
//! and saving a whole table is not recorded.
//!
//! ```
//! # #[cfg(feature = "count-words")] {
//! use twiceshy::{hash::HashKey, quotient::QuotientFilter, remote::ByHash, touched};
//!
//! let mut filter = QuotientFilter::options(1000, 0.01)?.build(HashKey::fixed(1), ByHash::new())?;
//! filter.insert("owl")?;
//! touched::reset();
//! assert!(filter.contains("owl"));
//! println!("{} words in {} cache lines", touched::words(), touched::lines());
//! # }
//! # Ok::<(), twiceshy::Error>(())
//! ```

#[cfg(feature = "count-words")]
mod distinct;

#[cfg(feature = "count-words")]
pub use counting::{lines, reset, words};

/// Notes that these bytes of L are read or written.
#[inline(always)]
pub(crate) fn note(address: usize, bytes: usize) {
    #[cfg(feature = "count-words")]
    counting::note(address, bytes);
    #[cfg(not(feature = "count-words"))]
    let _ = (address, bytes);
}

/// Notes that a part of L is read or written.
#[inline(always)]
pub(crate) fn note_slice<T>(part: &[T]) {
    note(part.as_ptr().addr(), size_of_val(part));
}

/// Notes that one thing in L is read or written.
#[inline(always)]
pub(crate) fn note_one<T>(part: &T) {
    note_slice(std::slice::from_ref(part));
}

#[cfg(feature = "count-words")]
mod counting {
    use super::distinct::Distinct;
    use std::cell::RefCell;

    const WORD: usize = 8;
    const LINE: usize = 64;

    struct Touched {
        words: Distinct,
        lines: Distinct,
    }

    thread_local! {
        static TOUCHED: RefCell<Touched> =
            const { RefCell::new(Touched { words: Distinct::NONE, lines: Distinct::NONE }) };
    }

    /// Forgets all that this thread has touched.
    pub fn reset() {
        TOUCHED.with_borrow_mut(|touched| {
            touched.words.clear();
            touched.lines.clear();
        });
    }

    /// The distinct 64-bit words of L that this thread has touched since the last [`reset`].
    pub fn words() -> u64 {
        TOUCHED.with_borrow(|touched| touched.words.len())
    }

    /// The distinct cache lines of 64 bytes that they are in.
    pub fn lines() -> u64 {
        TOUCHED.with_borrow(|touched| touched.lines.len())
    }

    pub(super) fn note(address: usize, bytes: usize) {
        let Some(more) = bytes.checked_sub(1) else { return };
        let last = address + more;
        TOUCHED.with_borrow_mut(|touched| {
            (address / WORD..=last / WORD).for_each(|word| touched.words.add(word as u64));
            (address / LINE..=last / LINE).for_each(|line| touched.lines.add(line as u64));
        });
    }
}

#[cfg(all(test, feature = "count-words"))]
mod tests {
    use super::*;
    use crate::hash::HashKey;
    use crate::quotient::QuotientFilter;
    use crate::remote::ByHash;

    #[test]
    fn a_word_touched_twice_counts_once_and_a_load_across_words_counts_both() {
        reset();
        assert_eq!((words(), lines()), (0, 0));
        note(6400, 8);
        note(6400, 1);
        note(6407, 1);
        assert_eq!((words(), lines()), (1, 1));
        note(6460, 8);
        assert_eq!((words(), lines()), (3, 2));
        note(9000, 0);
        assert_eq!((words(), lines()), (3, 2));
        note(6400, 640);
        assert_eq!((words(), lines()), (80, 10));
        reset();
        assert_eq!((words(), lines()), (0, 0));
    }

    #[test]
    fn each_thread_has_its_own_counts() {
        reset();
        note(0, 80);
        let elsewhere = std::thread::spawn(|| {
            note(0, 8);
            words()
        });
        assert_eq!((elsewhere.join().ok(), words()), (Some(1), 10));
    }

    /// The only block of a table with remainders of 8 bits: the offset in byte 0, occupieds to byte 9, runends to 17, and then
    /// the remainders, of which a load reads 8 bytes. A next block would be looked at too.
    #[test]
    fn a_look_up_touches_the_metadata_and_the_remainders_of_its_run() {
        let options = QuotientFilter::with_slots(1, 8);
        let mut filter = options.build(HashKey::fixed(1), ByHash::new()).expect("the remote is empty");
        let words_of_look_up = |filter: &QuotientFilter| {
            reset();
            filter.contains(b"owl");
            words()
        };
        // 17 bytes, or 25, whether the allocation begins at a word or not.
        assert_eq!(words_of_look_up(filter.filter()), 3);
        filter.insert(b"owl").expect("there is room for one");
        assert_eq!(words_of_look_up(filter.filter()), 4);
        assert!(lines() <= 2);
    }
}
