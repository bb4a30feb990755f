//! Workloads by name, as users write them.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::distribution::Distribution;
use super::firehose::Firehose;
use super::firehose::life::{PowExp, PowExpError};
use super::flows::{Flows, FlowsError};
use super::zipf::ExponentError;
use crate::open::ForeignTraffic;

/// The queries of an experiment, as a user writes them: `uniform`, `zipf:1.2`, `active-set`, `active-set:0.5`,
/// `power-law`, `flows:chicago-a`, `flows:san-jose/20` or `trace:requests.txt`.
///
/// Flows are printed as `synthetic-flows:chicago-a`, which can also be parsed, so that no report is mistaken for one
/// about the real trace.
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
    /// Random queries for synthetic keys.
    Generated(Distribution),
    /// A generator of the FireHose benchmark.
    Firehose(Firehose),
    /// Synthetic flows with published statistics.
    Flows(Flows),
    /// The requests of a file; see [`Recording`](super::recording::Recording).
    Trace(PathBuf),
    /// The first requests of a file, this many of them.
    Start(PathBuf, u64),
    /// The requests of a file, all of them for keys that are not stored.
    Misses(PathBuf),
    /// A workload from outside. It cannot be written as a text.
    Foreign(ForeignTraffic),
}

impl Workload {
    /// A description for the title of a plot or a table.
    pub fn describe(&self) -> String {
        match self {
            Self::Generated(Distribution::Uniform) => "uniform queries".to_owned(),
            Self::Generated(Distribution::Zipf(exponent)) => format!("Zipf queries, exponent {exponent}"),
            Self::Firehose(Firehose::ActiveSet(PowExp::DEFAULT)) => "FireHose active set".to_owned(),
            Self::Firehose(Firehose::ActiveSet(exponent)) => format!("FireHose active set, exponent {exponent}"),
            Self::Firehose(Firehose::PowerLaw) => "FireHose power law".to_owned(),
            Self::Flows(flows) => flows.describe(),
            Self::Foreign(traffic) => traffic.to_string(),
            Self::Trace(path) | Self::Misses(path) | Self::Start(path, _) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                let what = match self {
                    Self::Misses(_) => "misses of",
                    Self::Start(..) => "start of",
                    _ => "trace",
                };
                format!("{what} {}", name.to_string_lossy())
            }
        }
    }
}

/// Why a text is not a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// The exponent after `zipf:` is not a positive number.
    #[error(transparent)]
    Exponent(#[from] ExponentError),
    /// The exponent after `active-set:` is invalid.
    #[error(transparent)]
    PowExp(#[from] PowExpError),
    /// The name after `flows:` is unknown.
    #[error(transparent)]
    Flows(#[from] FlowsError),
    /// `zipf` without an exponent.
    #[error("a Zipf workload needs its exponent: write `zipf:1.2`, or any other number above 0")]
    NoExponent,
    /// `trace` without a file name.
    #[error(
        "a trace workload needs its file: write `trace:FILE`, a text file with one key per line or a packet capture"
    )]
    NoFile,
    /// `start` without a number or a file name.
    #[error("the start of a trace needs a number of requests and a file: write `start:1000000:FILE`")]
    NoStart,
    /// An unknown name.
    #[error(
        "unknown workload `{0}`; write `uniform`, `zipf:EXPONENT` (such as `zipf:1.2`), `active-set`, `power-law`, \
         `flows:chicago-a`, `trace:FILE` or `misses:FILE`"
    )]
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
            ("active-set", None) => Ok(Self::Firehose(Firehose::ActiveSet(PowExp::DEFAULT))),
            ("active-set", Some(exponent)) => Ok(Self::Firehose(Firehose::ActiveSet(exponent.parse()?))),
            ("power-law", None) => Ok(Self::Firehose(Firehose::PowerLaw)),
            ("flows" | "synthetic-flows", flows) => Ok(Self::Flows(flows.unwrap_or("").parse()?)),
            ("trace" | "misses", None | Some("")) => Err(WorkloadError::NoFile),
            ("trace", Some(path)) => Ok(Self::Trace(path.into())),
            ("misses", Some(path)) => Ok(Self::Misses(path.into())),
            ("start", rest) => {
                let parts = rest.and_then(|rest| rest.split_once(':'));
                let start =
                    parts.and_then(|(count, path)| Some((path, count.parse().ok().filter(|count| *count > 0)?)));
                let (path, count) = start.filter(|(path, _)| !path.is_empty()).ok_or(WorkloadError::NoStart)?;
                Ok(Self::Start(path.into(), count))
            }
            _ => Err(WorkloadError::Unknown(text.to_owned())),
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generated(distribution) => distribution.fmt(f),
            Self::Firehose(firehose) => firehose.fmt(f),
            Self::Flows(flows) => write!(f, "synthetic-flows:{flows}"),
            Self::Trace(path) => write!(f, "trace:{}", path.display()),
            Self::Misses(path) => write!(f, "misses:{}", path.display()),
            Self::Start(path, count) => write!(f, "start:{count}:{}", path.display()),
            Self::Foreign(traffic) => write!(f, "foreign:{traffic}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_parses_back_as_printed() {
        for text in [
            "uniform",
            "zipf:1.2",
            "zipf:0.5",
            "zipf:1",
            "active-set",
            "active-set:0.5",
            "power-law",
            "synthetic-flows:chicago-a",
            "synthetic-flows:san-jose/20",
            "trace:a:b.txt",
            "misses:requests.gz",
            "start:1000:a:b.txt",
        ] {
            let workload: Workload = text.parse().expect(text);
            assert_eq!(workload.to_string(), text);
        }
    }

    #[test]
    fn flows_are_called_synthetic_wherever_they_are_shown() {
        for (text, words) in [
            ("flows:chicago-a", "synthetic flows like Chicago A"),
            ("flows:chicago-b/1", "synthetic flows like Chicago B"),
            ("synthetic-flows:san-jose/20", "synthetic flows like San Jose, 1/20 of them"),
        ] {
            let workload: Workload = text.parse().expect(text);
            assert_eq!(workload.describe(), words);
            assert!(workload.to_string().contains("synthetic"));
            assert_eq!(workload.to_string().parse(), Ok(workload));
        }
        assert_eq!("active-set:-0.5".parse::<Workload>().map(|same| same.to_string()), Ok("active-set".to_owned()));
    }

    #[test]
    fn an_unknown_workload_is_refused_with_an_example() {
        for (text, advice) in [
            ("zipf:0", "above 0"),
            ("zipf:-1", "above 0"),
            ("zipf:nan", "above 0"),
            ("zipf:abc", "above 0"),
            ("zipf", "zipf:1.2"),
            ("zipf:", "zipf:1.2"),
            ("active-set:", "active-set:-0.5"),
            ("active-set:0", "active-set:-0.5"),
            ("power-law:2", "`power-law`"),
            ("flows", "flows:chicago-a"),
            ("flows:chicago", "flows:chicago-a"),
            ("flows:chicago-a/0", "flows:chicago-a"),
            ("trace:", "trace:FILE"),
            ("start:FILE", "start:1000000:FILE"),
            ("start:0:FILE", "start:1000000:FILE"),
            ("start:9:", "start:1000000:FILE"),
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
