//! The outcome for one filter at one number of keys.

use crate::floor;
use crate::peers::NAMED_PEER;
use serde::Serialize;

/// One line of the table, one object of the JSON list, one record of the CSV file. `mops` is millions of operations in a
/// second of wall time: the median of many chunks. A spread is the distance between the quartiles divided by the median.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// The filter.
    pub name: String,
    /// `true` for filters of twiceshy.
    pub ours: bool,
    /// The hash function; empty for floors.
    pub hash: &'static str,
    /// The stored keys.
    pub keys: u64,
    /// Keys divided by cells; `None` for filters without cells.
    pub load: Option<f64>,
    /// Allocated bits, divided by the keys.
    pub bits_per_key: Option<f64>,
    /// The share of absent keys, each asked once, that were answered *present*.
    pub fpr: Option<f64>,
    /// Insertions, including those into the remote where the filter needs one.
    pub insert_mops: Option<f64>,
    /// Insertions in batches, for filters without keys behind them.
    pub insert_batch_mops: Option<f64>,
    /// Look-ups of absent keys.
    pub negative_mops: Option<f64>,
    /// Look-ups of stored keys.
    pub positive_mops: Option<f64>,
    /// Look-ups of both, half and half.
    pub mixed_mops: Option<f64>,
    /// Look-ups of absent keys in batches.
    pub negative_batch_mops: Option<f64>,
    /// Look-ups of absent keys after the filter has adapted.
    pub negative_adapted_mops: Option<f64>,
    /// Look-ups of stored keys after the filter has adapted.
    pub positive_adapted_mops: Option<f64>,
    /// Additions to the filter's remote alone.
    pub remote_insert_mops: Option<f64>,
    /// The false-positive rate for keys that were not asked while the filter adapted.
    pub fpr_adapted: Option<f64>,
    /// The mistakes that the filter adapted to.
    pub mistakes_adapted: Option<u64>,
    /// Stored keys that the filter reports absent.
    pub lost_keys: Option<u64>,
    /// The spread of whole fills; `None` if there was only one.
    pub insert_spread: Option<f64>,
    /// The spread of `negative_mops`.
    pub negative_spread: Option<f64>,
    /// The spread of `positive_mops`.
    pub positive_spread: Option<f64>,
    /// The spread of `mixed_mops`.
    pub mixed_spread: Option<f64>,
    /// `negative_mops`, divided by that of `floor-line`.
    pub negative_to_floor: Option<f64>,
    /// `negative_mops`, divided by that of the named peer.
    pub negative_to_qfilter: Option<f64>,
}

/// Sets the ratios of all rows of one number of keys.
pub(crate) fn compare(rows: &mut [Row]) {
    let of = |name: &str| rows.iter().find(|row| row.name == name).and_then(|row| row.negative_mops);
    let (floor, peer) = (of(floor::NAMES[0]), of(NAMED_PEER));
    for row in rows {
        let ratio = |below: Option<f64>| Some(row.negative_mops? / below?);
        (row.negative_to_floor, row.negative_to_qfilter) = (ratio(floor), ratio(peer));
    }
}
