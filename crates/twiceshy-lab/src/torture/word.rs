//! The messages of a child to its parent: one line for each event.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The store is open; its filter may still be loading.
    Opened,
    /// The number of finished operations, and of adaptations and growths since the store was opened.
    Did { operations: u64, adapted: u64, grown: u64 },
    /// The store was closed properly.
    Closed,
    /// An answer was wrong or an operation failed.
    Wrong(String),
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Opened => f.write_str("opened"),
            Word::Did { operations, adapted, grown } => write!(f, "did {operations} {adapted} {grown}"),
            Word::Closed => f.write_str("closed"),
            Word::Wrong(what) => write!(f, "wrong {}", what.replace('\n', " ")),
        }
    }
}

impl FromStr for Word {
    type Err = String;

    fn from_str(line: &str) -> Result<Word, String> {
        let unknown = || format!("a child sent an unknown line: {line:?}");
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        match name {
            "opened" => Ok(Word::Opened),
            "closed" => Ok(Word::Closed),
            "wrong" => Ok(Word::Wrong(rest.to_owned())),
            "did" => {
                let mut numbers = rest.split(' ').map(|number| number.parse().map_err(|_| unknown()));
                let mut number = || numbers.next().unwrap_or_else(|| Err(unknown()));
                Ok(Word::Did { operations: number()?, adapted: number()?, grown: number()? })
            }
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_parses_back() {
        let did = Word::Did { operations: 17, adapted: 4, grown: 0 };
        for word in [Word::Opened, did, Word::Closed, Word::Wrong("a key is missing".into())] {
            assert_eq!(word.to_string().parse(), Ok(word));
        }
        assert!("did 17 4".parse::<Word>().is_err());
        assert!("di".parse::<Word>().is_err());
    }
}
