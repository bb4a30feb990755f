//! Stored keys, absent keys, and streams of questions.

/// The finalizer of SplitMix64 without its increment: a bijection that maps only 0 to 0.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

/// The first number of an absent key. Stored keys have the numbers from 1 up to their count, which is far smaller. Since
/// [`mix`] is a bijection, no absent key is stored.
const FIRST_ABSENT: u64 = 1 << 40;

/// A stored key, numbered from 0.
pub fn stored(number: u64) -> u64 {
    mix(number + 1)
}

/// All stored keys, in the order in which they are inserted.
pub fn all_stored(count: u64) -> Vec<u64> {
    (0..count).map(stored).collect()
}

/// An absent key, numbered from 0.
pub fn absent(number: u64) -> u64 {
    mix(FIRST_ABSENT + number)
}

/// Which questions are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Absent keys, each once.
    Negative,
    /// Stored keys, drawn at random.
    Positive,
    /// Half of each, in random order.
    Mixed,
}

/// Makes questions. The same seed makes the same ones.
#[derive(Clone, Debug)]
pub struct Questions {
    stored: u64,
    next_absent: u64,
    state: u64,
}

impl Questions {
    /// Questions about a set of `stored` keys. Absent keys are taken from number `first_absent` on.
    pub fn new(stored: u64, first_absent: u64, seed: u64) -> Questions {
        Questions { stored, next_absent: first_absent, state: seed << 32 | 1 }
    }

    /// The number of stored keys.
    pub fn stored(&self) -> u64 {
        self.stored
    }

    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    fn next(&mut self, ask: Ask) -> u64 {
        let random = self.random();
        let is_positive = match ask {
            Ask::Negative => false,
            Ask::Positive => true,
            Ask::Mixed => random & 1 == 1,
        };
        if is_positive {
            return stored(((u128::from(random) * u128::from(self.stored)) >> 64) as u64);
        }
        self.next_absent += 1;
        absent(self.next_absent - 1)
    }

    /// Replaces the content of `questions` with `count` new ones.
    pub fn fill(&mut self, ask: Ask, count: usize, questions: &mut Vec<u64>) {
        questions.clear();
        questions.extend((0..count).map(|_| self.next(ask)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn questions_are_what_they_say_and_no_absent_key_comes_twice() {
        let set: HashSet<u64> = all_stored(5_000).into_iter().collect();
        assert!(set.len() == 5_000 && !set.contains(&0));
        let (mut questions, mut asked, mut seen) = (Questions::new(5_000, 70, 3), Vec::new(), HashSet::new());
        for (ask, least, most) in [(Ask::Negative, 0, 0), (Ask::Positive, 9_000, 9_000), (Ask::Mixed, 4_300, 4_700)] {
            questions.fill(ask, 9_000, &mut asked);
            let (present, absent): (Vec<u64>, Vec<u64>) = asked.iter().partition(|key| set.contains(key));
            assert!(asked.len() == 9_000 && (least..=most).contains(&present.len()), "{ask:?}: {}", present.len());
            assert!(absent.iter().all(|key| seen.insert(*key)), "{ask:?}");
            // With 9,000 draws from 5,000 keys, 83 % of them are drawn at least once.
            let distinct: HashSet<u64> = present.iter().copied().collect();
            assert!(ask != Ask::Positive || (4_000..4_400).contains(&distinct.len()), "{}", distinct.len());
        }
    }
}
