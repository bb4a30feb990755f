//! The filters, by the names that the command takes.

use std::fmt;
use std::str::FromStr;
use twiceshy::Kind;

/// A filter that can be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterName {
    /// A filter of this project. The plain cuckoo filter is full-key 4×1, or partial-key 2×4.
    Ours(Kind),
    /// A Bloom filter.
    Bloom,
    /// A blocked Bloom filter.
    BlockedBloom,
    /// The plain cuckoo filter, smaller by a list of its latest mistakes.
    CuckooCache,
    /// A Bloom filter with a list of all its mistakes.
    BloomListed,
    /// A filter from outside: see [`FilterSpec::foreign`](super::FilterSpec::foreign).
    Foreign,
}

const RIVALS: [FilterName; 4] =
    [FilterName::Bloom, FilterName::BlockedBloom, FilterName::CuckooCache, FilterName::BloomListed];

impl FilterName {
    /// All names that can be written: the filters of this project in the library's order, and then the rivals.
    pub fn all() -> impl Iterator<Item = FilterName> {
        Kind::ALL.iter().copied().map(FilterName::Ours).chain(RIVALS)
    }

    /// The filters over tables of buckets: they share the options of such tables.
    pub(crate) const OVER_BUCKETS: &[FilterName] = &[
        FilterName::Ours(Kind::FullKey),
        FilterName::Ours(Kind::Cyclic),
        FilterName::Ours(Kind::Swapping),
        FilterName::Ours(Kind::Cuckooing),
        FilterName::Ours(Kind::Remembering),
    ];

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            FilterName::Ours(kind) => kind.name(),
            FilterName::Bloom => "bloom",
            FilterName::BlockedBloom => "blocked-bloom",
            FilterName::CuckooCache => "cuckoo-cache",
            FilterName::BloomListed => "bloom-listed",
            FilterName::Foreign => "foreign",
        }
    }
}

impl From<Kind> for FilterName {
    fn from(kind: Kind) -> FilterName {
        FilterName::Ours(kind)
    }
}

impl fmt::Display for FilterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for FilterName {
    type Err = String;

    fn from_str(text: &str) -> Result<FilterName, String> {
        let known = || FilterName::all().map(FilterName::as_str).collect::<Vec<_>>().join(", ");
        FilterName::all()
            .find(|name| name.as_str() == text)
            .ok_or_else(|| format!("there is no filter `{text}` here: {}", known()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_of_the_library_has_its_name_here_and_in_the_store() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(FilterName::Ours(*kind)));
            assert_eq!(kind.name().parse::<twiceshy_store::Kind>(), Ok(*kind));
        }
    }

    #[test]
    fn names_are_a_contract_of_the_command() {
        let names: Vec<&str> = FilterName::all().map(FilterName::as_str).collect();
        let ours =
            "cuckoo cyclic swapping cuckooing quotient telescoping telescoping-plain extension broom remembering";
        let rivals = "bloom blocked-bloom cuckoo-cache bloom-listed";
        assert_eq!(names.join(" "), format!("{ours} {rivals}"));
    }
}
