//! The files that a command must not read as input: those of the store itself, which would grow while it is read.

use anyhow::bail;
use same_file::Handle;
use std::path::Path;
use twiceshy_store::{SNAPSHOT_FILE, STATUS_FILE, STORE_FILE};

/// The files of a store, and the file that the output goes to. They are known by identity, so that a link to one of
/// them is found too.
pub(crate) struct OwnFiles {
    store: Vec<Handle>,
    output: Option<Handle>,
}

impl OwnFiles {
    /// `store` is the folder of the store, if it has one. `prints` is `true` if lines are printed while input is read.
    pub(crate) fn of(store: Option<&Path>, prints: bool) -> OwnFiles {
        let (beside, mistakes) = (format!("{SNAPSHOT_FILE}.new"), format!("{SNAPSHOT_FILE}.mistakes"));
        let names = [STORE_FILE, SNAPSHOT_FILE, STATUS_FILE, &beside, &mistakes, &format!("{mistakes}.new")];
        let files = names.into_iter().filter_map(|name| handle(&store?.join(name)));
        let output = if prints { Handle::stdout().ok().filter(is_regular) } else { None };
        OwnFiles { store: files.collect(), output }
    }

    /// `true` if lines are printed to a regular file.
    pub(crate) fn prints_to_file(&self) -> bool {
        self.output.is_some()
    }

    /// Returns an error if an input is one of these files. `None` is standard input.
    pub(crate) fn refuse(&self, input: Option<&Path>) -> anyhow::Result<()> {
        let found = input.map_or_else(|| Handle::stdin().ok(), handle);
        let Some(found) = found else { return Ok(()) };
        let name = input.map_or_else(|| "standard input".into(), |file| file.display().to_string());
        if self.store.contains(&found) {
            bail!("{name} is a file of the store itself: name a file with one key per line");
        }
        if self.output.as_ref() == Some(&found) {
            bail!("{name} is also the output, so it would never end: write to another file");
        }
        Ok(())
    }
}

/// The identity of a regular file. Only those are opened: opening a pipe would wait for its other end.
fn handle(file: &Path) -> Option<Handle> {
    file.metadata().ok().filter(|about| about.is_file())?;
    Handle::from_path(file).ok()
}

fn is_regular(handle: &Handle) -> bool {
    handle.as_file().metadata().is_ok_and(|about| about.is_file())
}
