//! The command line of a program. `examples/run` writes it.

use crate::{FOUND_FIRST, Failure};
use std::path::PathBuf;
use std::time::Duration;

/// `--folder FOLDER --keys N [--json] [--test]`, and the variable `STORE_ADDRESS`: others can see a command line.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    /// For the guard, and for a store that is a file.
    pub(crate) folder: PathBuf,
    pub(crate) rows: u64,
    /// The server's address, with its password.
    pub(crate) server: String,
    pub(crate) json: bool,
    /// `true` if the results are checked, and the bare store is measured only briefly.
    pub(crate) test: bool,
}

impl Arguments {
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Arguments, Failure> {
        let mut read = Arguments { server: std::env::var("STORE_ADDRESS").unwrap_or_default(), ..Arguments::default() };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--folder" => read.folder = value()?.into(),
                "--keys" => read.rows = value()?.parse().map_err(|error| format!("--keys: {error}"))?,
                "--json" => read.json = true,
                "--test" => read.test = true,
                _ => return Err(format!("{word} is unknown: start this program with examples/run").into()),
            }
        }
        if read.folder.as_os_str().is_empty() {
            return Err("--folder is missing: start this program with examples/run".into());
        }
        if read.rows < FOUND_FIRST {
            return Err(format!("--keys must be at least {FOUND_FIRST}, not {}", read.rows).into());
        }
        Ok(read)
    }

    /// How long the store alone is measured under each traffic.
    pub(crate) fn bare_time(&self) -> Duration {
        if self.test { Duration::from_millis(50) } else { Duration::from_secs(2) }
    }
}
