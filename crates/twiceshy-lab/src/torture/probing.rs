//! The process that opens a damaged store: whatever it finds, it must end with an error or with right answers.

use super::Wrong;
use super::child::stored;
use super::model::{Model, shown};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use twiceshy_store::{Checked, Error, Guard, Options, RedbError, RedbStore};

/// The file beside a damaged store with what it must hold.
pub(super) const EXPECTED: &str = "expected";

/// The key that the last two commits have changed. A damaged store may go back by one.
pub(super) const MARKER: &[u8] = b"the last commits";

/// The word for something that is not allowed. The sentence follows.
pub(super) const WRONG: &str = "wrong";

/// What may become of a damaged store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Refused,
    Whole,
    Repaired,
    /// Repaired, and keys are gone that the repair has not named.
    Lossy,
    StillDamaged,
}

impl End {
    pub(super) const ALL: [End; 5] = [End::Refused, End::Whole, End::Repaired, End::Lossy, End::StillDamaged];

    /// The first word of the line that a probing process writes.
    pub(super) fn word(self) -> &'static str {
        match self {
            End::Refused => "refused",
            End::Whole => "whole",
            End::Repaired => "repaired",
            End::Lossy => "lossy",
            End::StillDamaged => "damaged",
        }
    }

    /// The name in the report.
    pub(super) fn name(self) -> &'static str {
        match self {
            End::Refused => "damaged file, in the end: refused with an error",
            End::Whole => "damaged file, in the end: every answer right",
            End::Repaired => "damaged file, in the end: repaired",
            End::Lossy => "damaged file, in the end: repaired, and keys lost without a name",
            End::StillDamaged => "damaged file, in the end: still damaged, and says so",
        }
    }
}

/// Opens, reads, checks and repairs the damaged store in a folder, and writes what became of it to `out`.
pub fn probe_damaged(folder: &Path, out: &mut impl Write) -> Result<(), Wrong> {
    let expected = Model::from_bytes(&std::fs::read(folder.join(EXPECTED))?).map_err(Wrong::Answer)?;
    let (word, sentence) = match probe(folder, &expected) {
        Ok((end, sentence)) => (end.word(), sentence),
        Err(Stopped::Refused(error)) => (End::Refused.word(), error.to_string()),
        Err(Stopped::Wrong(sentence)) => (WRONG, sentence),
    };
    writeln!(out, "{word} {}", sentence.replace('\n', " "))?;
    out.flush()?;
    if word == WRONG { Err(Wrong::Answer(sentence)) } else { Ok(()) }
}

/// Why the work on a damaged store did not come to its end.
enum Stopped {
    /// An error with a sentence, which is allowed.
    Refused(Error<RedbError>),
    /// Something that is not allowed.
    Wrong(String),
}

impl From<Error<RedbError>> for Stopped {
    fn from(error: Error<RedbError>) -> Stopped {
        Stopped::Refused(error)
    }
}

/// Works through a damaged store. Returns what became of it, and what the store said.
fn probe(folder: &Path, expected: &Model) -> Result<(End, String), Stopped> {
    let guard = Options::new().open_damaged(true).open_folder(folder)?;
    let before = read(&guard, expected)?;
    let said = guard.check()?;
    if said == Checked::Sound {
        in_order(&guard, expected, &before, "check")?;
    }
    let done = guard.repair()?;
    if said == Checked::Sound && done.repaired.is_empty() && done.lost.is_empty() {
        in_order(&guard, expected, &before, "repair")?;
        work_on(&guard)?;
        guard.close()?;
        return Ok((End::Whole, String::new()));
    }
    let gone = read(&guard, expected)?.missing.len();
    let after = guard.check()?;
    let says = format!("{said}; repaired: {:?}; lost: {:?}; afterwards: {after}", done.repaired, done.lost);
    // Values that were named as lost stay damaged until they are inserted again.
    if after != Checked::Sound && done.lost.is_empty() {
        return Ok((End::StillDamaged, says));
    }
    work_on(&guard)?;
    guard.close()?;
    let guard = Options::new().open_folder(folder)?;
    read(&guard, expected)?;
    guard.close()?;
    let named = done.lost.iter().filter(|lost| lost.contains("is gone")).count();
    Ok((if gone > named { End::Lossy } else { End::Repaired }, says))
}

/// What a look at every key has found.
#[derive(Default)]
struct Seen {
    missing: BTreeSet<Vec<u8>>,
    /// Keys whose look-up is an error.
    refused: BTreeSet<Vec<u8>>,
}

/// Looks up every key. Errors are allowed, wrong values are not.
fn read(guard: &Guard<RedbStore>, expected: &Model) -> Result<Seen, Stopped> {
    let mut seen = Seen::default();
    for (key, right) in &expected.0 {
        match guard.get(key) {
            Ok(Some(value)) if value == *right => {}
            Ok(Some(_)) => return Err(Stopped::Wrong(format!("a wrong value of {} is returned as right", shown(key)))),
            Ok(None) => drop(seen.missing.insert(key.clone())),
            Err(_) => drop(seen.refused.insert(key.clone())),
        }
    }
    Ok(seen)
}

/// The store says that everything is in order, so it must be.
fn in_order(guard: &Guard<RedbStore>, expected: &Model, seen: &Seen, who: &str) -> Result<(), Stopped> {
    let wrong = |what: String| Err(Stopped::Wrong(format!("{who} finds everything in order, but {what}")));
    if let Some(key) = seen.missing.first() {
        return wrong(format!("{} keys are missing, such as {}", seen.missing.len(), shown(key)));
    }
    if let Some(key) = seen.refused.first() {
        return wrong(format!("{} keys cannot be read, such as {}", seen.refused.len(), shown(key)));
    }
    let mut found =
        stored(guard).map_err(|error| Stopped::Wrong(format!("{who} finds everything in order, but {error}")))?;
    found.0.remove(MARKER);
    match expected.clone().exactly(&found) {
        Ok(_) => Ok(()),
        Err(what) => wrong(what),
    }
}

/// The store must work on.
fn work_on(guard: &Guard<RedbStore>) -> Result<(), Stopped> {
    let (key, value) = (b"after the repair", b"works");
    guard.insert(key, value)?;
    if guard.get(key)?.as_deref() != Some(value) || !guard.remove(key)? || guard.contains(key)? {
        return Err(Stopped::Wrong("the store does not keep a key after the repair".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::torture::testing::scene;
    use twiceshy_store::Kind;

    fn probed(folder: &Path, expected: &Model) -> String {
        std::fs::write(folder.join(EXPECTED), expected.to_bytes()).expect("a folder");
        let mut out = Vec::new();
        let ended = probe_damaged(folder, &mut out);
        let line = String::from_utf8(out).expect("text");
        assert_eq!(ended.is_err(), line.starts_with(WRONG));
        line
    }

    #[test]
    fn a_whole_store_is_whole_and_every_difference_is_noticed() {
        let (_folder, scene) = scene(Kind::Telescoping, 100);
        assert_eq!(probed(&scene.folder, &scene.model).trim(), End::Whole.word());
        let mut more = scene.model.clone();
        more.0.insert(b"never inserted".to_vec(), Vec::new());
        assert!(probed(&scene.folder, &more).contains("check finds everything in order, but 1 keys are missing"));
        let (key, mut other) = (scene.model.0.keys().next().expect("a key"), scene.model.clone());
        other.0.insert(key.clone(), b"another value".to_vec());
        assert!(probed(&scene.folder, &other).contains("a wrong value"));
        other.0.remove(key);
        assert!(probed(&scene.folder, &other).contains("should not be there"));
    }

    #[test]
    fn a_file_that_is_no_store_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(twiceshy_store::STORE_FILE), b"no store".repeat(1_000)).expect("a folder");
        assert!(probed(folder.path(), &Model::default()).starts_with(End::Refused.word()));
    }
}
