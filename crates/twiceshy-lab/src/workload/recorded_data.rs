//! Real recordings that lie beside the project and are not part of it.

use std::path::{Path, PathBuf};

/// The variable that names the folder.
const VARIABLE: &str = "TWICESHY_DATA";

/// The folder with real recordings, if there is one: what the environment variable `TWICESHY_DATA` names, or
/// `../shared/data` as seen from the root of the workspace.
///
/// The recordings belong to others, so they are not in the repository. Tests and experiments that want them say that they
/// were skipped where this is `None`.
pub fn recorded_data() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os(VARIABLE).map_or_else(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::trace::Trace;

    #[test]
    fn a_real_recording_is_split_at_the_ratio_that_was_asked_for() {
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
