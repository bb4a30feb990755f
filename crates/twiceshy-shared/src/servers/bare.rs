//! What an engine does without a shared set.

#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;

/// Keys above this are absent.
const ABSENT: u64 = 1 << 50;

/// What an engine does with plain keys and values.
#[derive(Clone, Debug)]
pub struct Bare {
    /// The milliseconds of single insertions.
    pub insert_ms: Vec<f64>,
    /// Keys a second in batches of 1,000.
    pub batch_keys_per_second: f64,
    /// Look-ups of absent keys a second, one after the other.
    pub lookups_per_second: f64,
}
