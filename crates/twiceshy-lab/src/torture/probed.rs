//! Damages a store's file, and judges the process that opens it.

use super::Turn;
use super::folder::copy;
use super::ordeal::{Scene, Tally};
use super::probing::{EXPECTED, End, MARKER, WRONG};
use super::spoiling::Spoiling;
use super::trouble::Trouble;
use crate::workload::rng::Rng;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use twiceshy_store::STORE_FILE;

/// The most time that a process may take. After that it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(20);

/// The exit code of a program that panicked.
const PANICKED: i32 = 101;

/// Damages the file of a store, and has another process open a copy. The damaged store stays in the scene's folder.
pub(super) fn run(scene: Scene, rng: &mut Rng, command: &dyn Fn(&Turn, &Path) -> Command) -> Result<Tally, Trouble> {
    let spoiling = Spoiling::draw(rng);
    let name = spoiling.name();
    spoil(&scene, spoiling, rng).map_err(|trouble| trouble.after("before the file was damaged"))?;
    copy(&scene.folder, &scene.beside)?;
    match watch(command(&scene.turn, &scene.beside), PATIENCE)? {
        Became::Ended(end) => {
            let mut tally = Tally::of(name);
            tally.done.insert(end.name().into(), 1);
            Ok(tally)
        }
        Became::Wrong(what) => {
            let again = format!("`twiceshy lab torture-probe` with a copy of {}", scene.folder.display());
            Err(Trouble::answer(format!("{name}: {what}; to repeat it: {again}")))
        }
    }
}

/// Makes two commits that change one key only, since redb may go back by one, and damages the file.
fn spoil(scene: &Scene, spoiling: Spoiling, rng: &mut Rng) -> Result<(), Trouble> {
    let guard = scene.turn.options().open_folder(&scene.folder)?;
    for value in ["the last but one", "the last"] {
        guard.insert(MARKER, value.as_bytes())?;
    }
    guard.close()?;
    let path = scene.folder.join(STORE_FILE);
    let mut bytes = std::fs::read(&path)?;
    spoiling.apply(&mut bytes, rng);
    std::fs::write(path, bytes)?;
    Ok(std::fs::write(scene.folder.join(EXPECTED), scene.model.to_bytes())?)
}

/// What became of a probing process.
#[derive(Debug, PartialEq, Eq)]
enum Became {
    /// It ended as it may.
    Ended(End),
    /// It did what it must not.
    Wrong(String),
}

/// Runs a probing process to its end, or kills it.
fn watch(mut command: Command, patience: Duration) -> io::Result<Became> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (out, errors) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let ended = wait(&mut child, patience)?;
    let text = |reader: std::thread::JoinHandle<String>| reader.join().unwrap_or_default();
    let (out, errors) = (text(out), text(errors));
    Ok(match ended {
        Some(status) => judge(status, &out, &errors),
        None => Became::Wrong(format!("it hangs: killed after {} s", patience.as_secs_f64())),
    })
}

/// Reads to the end on another thread: a process must never wait for a full pipe.
fn drain(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            drop(from.read_to_end(&mut bytes));
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the end of a process; `None` if it had to be killed.
fn wait(child: &mut Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn judge(status: ExitStatus, out: &str, errors: &str) -> Became {
    let line = out.lines().last().unwrap_or_default();
    let end = End::ALL.into_iter().find(|end| line.split(' ').next() == Some(end.word()));
    // The lines around the panic's message.
    let last: Vec<&str> = errors.lines().filter(|line| !line.is_empty()).take(3).collect();
    match (status.code(), end) {
        (Some(0), Some(end)) => Became::Ended(end),
        (Some(PANICKED), _) => Became::Wrong(format!("it panicked: {}", last.join(" "))),
        (None, _) => Became::Wrong(format!("it was ended by a signal ({status}): {}", last.join(" "))),
        _ if line.starts_with(WRONG) => Became::Wrong(line[WRONG.len()..].trim().to_owned()),
        _ => Became::Wrong(format!("it ended unexpectedly ({status}): {} {}", line, last.join(" "))),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::torture::testing::scene;
    use twiceshy_store::Kind;

    fn shell(script: &str) -> Became {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        watch(command, Duration::from_millis(500)).expect("a shell")
    }

    fn sentence(became: Became) -> String {
        match became {
            Became::Wrong(sentence) => sentence,
            Became::Ended(end) => end.word().into(),
        }
    }

    #[test]
    fn a_process_that_panics_aborts_hangs_or_says_so_is_noticed() {
        assert_eq!(shell("echo 'whole '"), Became::Ended(End::Whole));
        assert_eq!(shell("echo 'refused the file is no store'"), Became::Ended(End::Refused));
        assert!(sentence(shell("echo 'thread main panicked' >&2; exit 101")).contains("it panicked: thread main"));
        assert!(sentence(shell("kill -ABRT $$")).contains("signal"));
        assert!(sentence(shell("exec sleep 5")).contains("hangs"));
        assert_eq!(sentence(shell("echo 'wrong a key is missing'; exit 1")), "a key is missing");
        assert!(sentence(shell("echo nonsense")).contains("unexpectedly"));
        assert!(sentence(shell("exit 1")).contains("unexpectedly"));
    }

    #[test]
    fn the_last_two_commits_of_a_damaged_store_change_the_marker_only() {
        let (_folder, scene) = scene(Kind::Telescoping, 50);
        let path = scene.folder.join(STORE_FILE);
        let before = std::fs::read(&path).expect("a store");
        spoil(&scene, Spoiling::Truncated, &mut Rng::new(1)).expect("a folder");
        assert!(std::fs::read(&path).expect("a file").len() < before.len());
        let expected = std::fs::read(scene.folder.join(EXPECTED)).expect("the model");
        assert_eq!(crate::torture::model::Model::from_bytes(&expected), Ok(scene.model));
    }
}
