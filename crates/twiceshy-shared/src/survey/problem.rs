//! What a check can find.

use crate::names::Shard;
use std::fmt;
use twiceshy::remote::Key;

/// How many keys are named. If there are more, they are only counted.
const MOST_NAMED: usize = 5;

/// How much of a key is shown.
const MOST_BYTES: usize = 64;

/// Keys that have the same problem: their number, and the names of the first ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Their number.
    pub count: u64,
    /// The first ones. Bytes that are not printable are escapes, and long keys are cut.
    pub first: Vec<String>,
}

impl Names {
    pub(super) fn of<'k>(keys: impl IntoIterator<Item = &'k Key>) -> Option<Names> {
        let mut names = Names::default();
        keys.into_iter().for_each(|key| names.add(key));
        (names.count > 0).then_some(names)
    }

    fn add(&mut self, key: &[u8]) {
        self.count += 1;
        if self.first.len() < MOST_NAMED {
            self.first.push(printable(key));
        }
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = self.count - self.first.len() as u64;
        let noun = if self.count == 1 { "the key" } else { "the keys" };
        write!(f, "{noun} {}", self.first.join(", "))?;
        if more > 0 { write!(f, " and {more} more") } else { Ok(()) }
    }
}

/// The beginning of a key, with bytes that are not printable as escapes.
fn printable(key: &[u8]) -> String {
    let shown = key[..key.len().min(MOST_BYTES)].escape_ascii();
    if key.len() > MOST_BYTES { format!("{shown}… ({} bytes)", key.len()) } else { shown.to_string() }
}

/// Something that is wrong with a set. The worst kinds come first: those that can make members deny a key that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// These keys have a value and are not in the index: members may deny them.
    Denied(Names),
    /// The filter of this shard turns away keys of the index.
    TurnedAway(Shard, Names),
    /// These keys of the index belong to another shard: their own may deny them.
    Misplaced(Shard, Names),
    /// The filter cannot be loaded, so no process can join the shard.
    Unloadable(Shard, String),
    /// Entries of these keys are missing from the index, or are in the wrong place.
    WrongEntries(Shard, Names),
    /// The index has entries that belong to no key of the set: their number.
    Stray(Shard, u64),
    /// The filter does not match the index.
    Disagree(Shard, String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ANEW: &str = "Make a new set, and insert the values of this one into it";
        match self {
            Problem::Denied(names) => {
                let (have, them, value) = match names.count {
                    1 => ("has a value and is", "it", "its value"),
                    _ => ("have values and are", "them", "their values"),
                };
                write!(
                    f,
                    "{names} {have} not in the index, so that processes may deny {them}. Insert {them} again with {value}"
                )
            }
            Problem::TurnedAway(Shard(shard), names) => {
                write!(f, "the filter of shard {shard} turns away {names}. {ANEW}")
            }
            Problem::Misplaced(Shard(shard), names) => {
                write!(f, "shard {shard} holds {names} of another shard. {ANEW}")
            }
            Problem::Unloadable(Shard(shard), what) => write!(
                f,
                "the filter of shard {shard} cannot be loaded, so that no process can join: {what}. Let a process that has joined before insert keys \
                 until it saves the filter again. If there is none: make a new set, and insert the values of this one into it"
            ),
            Problem::WrongEntries(Shard(shard), names) => {
                write!(f, "the index of shard {shard} lacks entries of {names}, or has them in the wrong place. {ANEW}")
            }
            Problem::Stray(Shard(shard), count) => {
                write!(f, "the index of shard {shard} has {count} entries that belong to none of its keys. {ANEW}")
            }
            Problem::Disagree(Shard(shard), what) => {
                write!(f, "the filter of shard {shard} does not match the index: {what}. {ANEW}")
            }
        }
    }
}

impl Problem {
    /// The rank of its kind: 0 is the worst.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Problem::Denied(_) => 0,
            Problem::TurnedAway(..) => 1,
            Problem::Misplaced(..) => 2,
            Problem::Unloadable(..) => 3,
            Problem::WrongEntries(..) => 4,
            Problem::Stray(..) => 5,
            Problem::Disagree(..) => 6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_keys_are_named_with_escapes_and_the_rest_are_counted() {
        let keys: Vec<Key> = (b'a'..b'h').map(|letter| Key::from(&[letter, b'\n', 0][..])).collect();
        let names = Names::of(&keys).expect("keys");
        assert_eq!(names.to_string(), r"the keys a\n\x00, b\n\x00, c\n\x00, d\n\x00, e\n\x00 and 2 more");
        assert_eq!(Names::of(&keys[..1]).expect("a key").to_string(), r"the key a\n\x00");
        assert_eq!(Names::of(&[]), None);
        let long = Names::of(&[Key::from(&[b'x'; 1_000][..])]).expect("a key").to_string();
        assert!(long.len() < 100 && long.ends_with("… (1000 bytes)"), "{long}");
    }

    #[test]
    fn every_problem_is_a_sentence_and_an_advice() {
        let names = || Names { count: 1, first: vec!["k".to_owned()] };
        for problem in [
            Problem::Denied(names()),
            Problem::TurnedAway(Shard(1), names()),
            Problem::Misplaced(Shard(1), names()),
            Problem::Unloadable(Shard(1), "gone".to_owned()),
            Problem::WrongEntries(Shard(1), names()),
            Problem::Stray(Shard(1), 2),
            Problem::Disagree(Shard(1), "other".to_owned()),
        ] {
            let text = problem.to_string();
            assert!(text.contains(". ") && !text.ends_with('.') && !text.contains("  "), "{text}");
        }
    }
}
