//! The filter that a store was made for.

use twiceshy::Kind;
use twiceshy::error::OptionsError;

/// The kind and the false-positive rate, as the store's state record keeps them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) kind: Kind,
    pub(crate) rate: f64,
}

impl Choice {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![self.kind.code()];
        bytes.extend(self.rate.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Choice> {
        let (code, rate) = bytes.split_first()?;
        Some(Choice { kind: Kind::from_code(*code)?, rate: f64::from_le_bytes(rate.try_into().ok()?) })
    }

    /// The cells of a filter for this many keys.
    pub(crate) fn cells(&self, keys: u64) -> Result<u64, OptionsError> {
        self.kind.geometry(keys, self.rate).map(|(cells, _)| cells)
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} with a rate of {}", self.kind, self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_comes_back_and_other_bytes_are_refused() {
        for kind in Kind::ALL {
            let choice = Choice { kind: *kind, rate: 0.001 };
            assert_eq!(Choice::from_bytes(&choice.to_bytes()), Some(choice));
            assert!(choice.cells(5).is_ok_and(|cells| cells >= 5));
        }
        assert_eq!(Choice::from_bytes(&[99, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(Choice::from_bytes(&[1, 0]), None);
    }
}
