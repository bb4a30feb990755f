//! Where an experiment's data come from: the program, the machine and the day.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where an experiment's data come from.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Origin {
    /// The version of the code that measured.
    pub version: String,
    /// The program that measured: the first digits of its BLAKE3 hash. Other code may measure other points under the same
    /// names.
    pub build: String,
    /// The commit of the checkout that holds the program, with `-dirty` if files were changed; empty if there is none.
    pub commit: String,
    /// The model of the processor.
    pub machine: String,
    /// The number of processors.
    pub cores: u64,
    /// The day on which the measuring began, in UTC: 2026-11-18.
    pub date: String,
    /// The total time of all tasks, in seconds; 0 while the experiment is not complete.
    pub seconds: f64,
    /// The most trials of a point, if the run was limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials: Option<u64>,
    /// Of data that other builds measured before, the earliest first. They were continued after a check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Origin>,
    /// Of the trials that another build has begun to add; they are not in the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adding: Option<Box<Origin>>,
}

impl Origin {
    /// The time of all tasks, those of earlier builds included, in seconds.
    pub fn all_seconds(&self) -> f64 {
        self.seconds + self.earlier.iter().map(|origin| origin.seconds).sum::<f64>()
    }

    /// The origin of what this program measures now.
    pub fn here() -> Origin {
        static FIXED: OnceLock<(String, String)> = OnceLock::new();
        let (commit, machine) = FIXED.get_or_init(|| (commit(), machine()));
        Origin {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            build: build().to_owned(),
            commit: commit.clone(),
            machine: machine.clone(),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
            date: today(),
            seconds: 0.0,
            trials: None,
            earlier: Vec::new(),
            adding: None,
        }
    }
}

/// The first digits of the hash of this program's file; empty if it cannot be read.
pub(super) fn build() -> &'static str {
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| {
        // On Linux this is the program that runs, even if its file was replaced.
        let program = File::open("/proc/self/exe").or_else(|_| File::open(std::env::current_exe()?));
        let hash = program.and_then(|file| Ok(blake3::Hasher::new().update_reader(file)?.finalize()));
        hash.map_or_else(|_| String::new(), |hash| hash.to_hex()[..12].to_owned())
    })
}

/// Asks git about the folder of the program: a program that was built from a checkout lies within it. Asking at build time
/// would compile this crate again after each commit.
fn commit() -> String {
    let described = |folder: &Path| {
        let mut git = Command::new("git");
        let output =
            git.arg("-C").arg(folder).args(["describe", "--always", "--dirty", "--abbrev=12"]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let program = std::env::current_exe().ok();
    program.as_deref().and_then(Path::parent).and_then(described).unwrap_or_default()
}

fn machine() -> String {
    let named = |text: String| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let known = fs::read_to_string("/proc/cpuinfo").ok().and_then(named);
    known.unwrap_or_else(|| format!("{}, {}", std::env::consts::ARCH, std::env::consts::OS))
}

fn today() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The year, month and day of a day since 1970 in the Gregorian calendar. Years are taken to begin in March, so that a leap
/// day is a year's last; 400 years have 146,097 days.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates_across_leap_years() {
        let dates = [0, 59, 11_016, 19_782, 20_775, 47_540].map(civil);
        let expected = [(1970, 1, 1), (1970, 3, 1), (2000, 2, 29), (2024, 2, 29), (2026, 11, 18), (2100, 2, 28)];
        assert_eq!(dates, expected);
    }

    #[test]
    fn an_origin_names_the_program_and_the_machine() {
        let origin = Origin::here();
        assert_eq!((origin.build.len(), origin.date.len()), (12, 10));
        assert!(origin.cores > 0 && !origin.machine.is_empty());
    }
}
