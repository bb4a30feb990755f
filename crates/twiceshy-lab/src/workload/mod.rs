//! Streams of queries for experiments: generated ones, reproducible from a seed, and recorded traces.
//!
//! Nothing here keeps a list of the queries. A generated workload takes constant memory (003 section 4.1, and Zipf laws
//! besides); a trace takes memory for its distinct keys (003 section 4.2, 000 section 4).

pub mod distribution;
pub mod firehose;
pub mod flows;
pub mod key_set;
pub mod keys;
mod lines;
pub mod permutation;
pub mod rng;
pub mod trace;
pub mod trace_error;
pub mod zipf;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

pub use distribution::{Distribution, Queries};

use zipf::ExponentError;

/// What the queries of an experiment are, as a user writes it: `uniform`, `zipf:1.2` or `trace:requests.txt`.
///
/// ```
/// use twiceshy_lab::workload::Workload;
///
/// let skewed: Workload = "zipf:1.2".parse()?;
/// assert_eq!(skewed.to_string(), "zipf:1.2");
/// assert!("zipf:-1".parse::<Workload>().is_err());
/// # Ok::<(), twiceshy_lab::workload::WorkloadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Synthetic keys, asked for by chance.
    Generated(Distribution),
    /// The requests of a file, one key a line; see [`trace::Trace`].
    Trace(PathBuf),
}

/// Why a text names no workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// The exponent after `zipf:` is not a positive number.
    #[error(transparent)]
    Exponent(#[from] ExponentError),
    /// `zipf` without an exponent.
    #[error("a Zipf workload needs its exponent: write `zipf:1.2`, or any number above 0 in place of 1.2")]
    NoExponent,
    /// `trace` without a file name.
    #[error("a trace workload needs its file: write `trace:FILE`, a text file with one key a line")]
    NoFile,
    /// No such word.
    #[error("there is no workload `{0}`; write `uniform`, `zipf:EXPONENT` (such as `zipf:1.2`) or `trace:FILE`")]
    Unknown(String),
}

impl FromStr for Workload {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        match (name, rest) {
            ("uniform", None) => Ok(Self::Generated(Distribution::Uniform)),
            ("zipf", None | Some("")) => Err(WorkloadError::NoExponent),
            ("zipf", Some(exponent)) => Ok(Self::Generated(Distribution::Zipf(exponent.parse()?))),
            ("trace", None | Some("")) => Err(WorkloadError::NoFile),
            ("trace", Some(path)) => Ok(Self::Trace(path.into())),
            _ => Err(WorkloadError::Unknown(text.to_owned())),
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generated(distribution) => distribution.fmt(f),
            Self::Trace(path) => write!(f, "trace:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_reads_back_as_it_was_written() {
        for text in ["uniform", "zipf:1.2", "zipf:0.5", "zipf:1", "trace:a:b.txt"] {
            let workload: Workload = text.parse().expect(text);
            assert_eq!(workload.to_string(), text);
        }
    }

    #[test]
    fn a_text_that_names_no_workload_is_answered_with_one_that_would_work() {
        for (text, advice) in [
            ("zipf:0", "above 0"),
            ("zipf:-1", "above 0"),
            ("zipf:nan", "above 0"),
            ("zipf:abc", "above 0"),
            ("zipf", "zipf:1.2"),
            ("zipf:", "zipf:1.2"),
            ("trace:", "trace:FILE"),
            ("uniform:3", "`uniform`"),
            ("Uniform", "`uniform`"),
            ("gauss", "trace:FILE"),
            ("", "trace:FILE"),
        ] {
            let error = text.parse::<Workload>().expect_err(text).to_string();
            assert!(error.contains(advice), "{text}: {error}");
        }
    }
}
