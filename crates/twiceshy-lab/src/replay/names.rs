//! The filters, by the names that the command takes.

use std::fmt;
use std::str::FromStr;

/// A filter that can be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterName {
    /// The plain cuckoo filter: full-key 4×1, or partial-key 2×4.
    Cuckoo,
    /// The Cyclic filter.
    Cyclic,
    /// The Swapping filter.
    Swapping,
    /// The Cuckooing filter.
    Cuckooing,
    /// The plain quotient filter.
    Quotient,
    /// The telescoping filter.
    Telescoping,
    /// The telescoping filter with a byte for each selector.
    TelescopingPlain,
    /// The extension filter.
    Extension,
    /// The broom filter.
    Broom,
    /// A Bloom filter.
    Bloom,
    /// A blocked Bloom filter.
    BlockedBloom,
    /// The plain cuckoo filter, smaller by a list of its latest mistakes.
    CuckooCache,
    /// A Bloom filter with a list of all its mistakes.
    BloomListed,
}

impl FilterName {
    /// All names.
    pub const ALL: [FilterName; 13] = [
        FilterName::Cuckoo,
        FilterName::Cyclic,
        FilterName::Swapping,
        FilterName::Cuckooing,
        FilterName::Quotient,
        FilterName::Telescoping,
        FilterName::TelescopingPlain,
        FilterName::Extension,
        FilterName::Broom,
        FilterName::Bloom,
        FilterName::BlockedBloom,
        FilterName::CuckooCache,
        FilterName::BloomListed,
    ];

    /// The filters of this project: all but the rivals.
    pub const OURS: &[FilterName] = (&FilterName::ALL as &[FilterName]).split_at(9).0;

    /// The filters over tables of buckets: they share the options of such tables.
    pub(crate) const OVER_BUCKETS: &[FilterName] =
        &[FilterName::Cuckoo, FilterName::Cyclic, FilterName::Swapping, FilterName::Cuckooing];

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            FilterName::Cuckoo => "cuckoo",
            FilterName::Cyclic => "cyclic",
            FilterName::Swapping => "swapping",
            FilterName::Cuckooing => "cuckooing",
            FilterName::Quotient => "quotient",
            FilterName::Telescoping => "telescoping",
            FilterName::TelescopingPlain => "telescoping-plain",
            FilterName::Extension => "extension",
            FilterName::Broom => "broom",
            FilterName::Bloom => "bloom",
            FilterName::BlockedBloom => "blocked-bloom",
            FilterName::CuckooCache => "cuckoo-cache",
            FilterName::BloomListed => "bloom-listed",
        }
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
        let known = || FilterName::ALL.map(FilterName::as_str).join(", ");
        FilterName::ALL
            .into_iter()
            .find(|name| name.as_str() == text)
            .ok_or_else(|| format!("there is no filter `{text}` here: {}", known()))
    }
}
