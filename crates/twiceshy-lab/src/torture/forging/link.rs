//! A link to somebody else's file: the store must not write through it.

use super::{Forgery, checked};
use crate::torture::folder::SNAPSHOT_TEMPORARY;
use crate::torture::ordeal::{Scene, Tally};
use crate::torture::trouble::Trouble;
use std::io;
use std::path::Path;
use twiceshy_store::SNAPSHOT_FILE;

const PRECIOUS: &[u8] = b"somebody else's file";

pub(super) fn check_link(scene: Scene, forgery: Forgery) -> Result<Tally, Trouble> {
    let name = if forgery == Forgery::LinkBeside { SNAPSHOT_TEMPORARY } else { SNAPSHOT_FILE };
    std::fs::create_dir_all(&scene.beside)?;
    let target = scene.beside.join("precious");
    put(&scene.folder.join(name), &target)?;
    checked(forgery, &scene.turn, &scene.folder, &scene.model)?;
    unchanged(&target)?;
    Ok(Tally::of(forgery.name()))
}

/// Puts a link in a path's place, and a file at its end.
fn put(path: &Path, target: &Path) -> io::Result<()> {
    std::fs::write(target, PRECIOUS)?;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    #[cfg(unix)]
    return std::os::unix::fs::symlink(target, path);
    #[cfg(not(unix))]
    Err(io::ErrorKind::Unsupported.into())
}

fn unchanged(target: &Path) -> Result<(), Trouble> {
    let whole = std::fs::read(target)? == PRECIOUS;
    if whole { Ok(()) } else { Err(Trouble::answer("the file at the link's end was written to")) }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_write_through_the_link_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, target) = (folder.path().join("snapshot.new"), folder.path().join("precious"));
        put(&path, &target).expect("a folder");
        assert!(path.symlink_metadata().expect("a link").is_symlink());
        assert!(unchanged(&target).is_ok());
        std::fs::write(&path, b"a snapshot").expect("a link");
        assert!(matches!(unchanged(&target), Err(Trouble::Store(_))));
    }
}
