//! Real recordings that are not part of the project.

use std::path::{Path, PathBuf};

/// The environment variable with the folder's path.
const VARIABLE: &str = "TWICESHY_DATA";

/// The folder with real recordings, if there is one: the value of the environment variable `TWICESHY_DATA`, or
/// `../shared/data` relative to the workspace root.
///
/// The recordings belong to others, so they are not in the repository. If this is `None`, tests and experiments that
/// need them report that they were skipped.
pub fn recorded_data() -> Option<PathBuf> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os(VARIABLE).map_or_else(default, PathBuf::from);
    folder.is_dir().then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::trace::Trace;

    #[test]
    fn a_real_recording_is_split_at_the_given_ratio() {
        let file = recorded_data().map(|folder| folder.join("recommender-requests.txt.xz"));
        let Some(file) = file.filter(|file| file.is_file()) else {
            println!("skipped: no folder of recordings; set {VARIABLE}");
            return;
        };
        let trace = Trace::open(file, 10.0).expect("a file that others read");
        assert_eq!(trace.requests(), 1_245_184);
        assert_eq!(trace.stored().len() + trace.distinct_absent(), 258_368);
        assert_eq!(trace.stored().len(), 258_368 / 11);
        let mut queries = trace.queries().expect("it is still there");
        let mut asked = 0u64;
        while queries.next_key().expect("it did not change").is_some() {
            asked += 1;
        }
        assert!((600_000..1_245_184).contains(&asked), "{asked}");
    }
}
