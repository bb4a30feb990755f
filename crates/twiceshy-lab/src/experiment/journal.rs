//! The finished tasks of an experiment: one line of JSON each.
//!
//! A line is written in one go after its task. A line cut short by an interruption does not parse, and its task is
//! measured again. Only the last line can be torn: the journal is truncated to its complete lines before more are
//! written.

use super::{Line, Task};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

#[derive(serde::Serialize, serde::Deserialize)]
struct Entry {
    task: String,
    settings: String,
    seconds: f64,
    lines: Vec<Line>,
}

/// The finished tasks of an experiment, in memory and in a file.
pub(super) struct Journal {
    state: Mutex<State>,
}

struct State {
    file: File,
    ended: HashMap<String, Entry>,
}

impl Journal {
    /// Opens the journal in a file and reads it.
    pub(super) fn open(path: &Path) -> io::Result<Journal> {
        // Bytes: a line may be cut within a letter.
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut ended = HashMap::new();
        let mut whole = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n').take_while(|line| line.ends_with(b"\n")) {
            let Ok(entry) = serde_json::from_slice::<Entry>(line) else { break };
            whole += line.len();
            ended.insert(entry.task.clone(), entry);
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        file.set_len(whole as u64)?;
        Ok(Journal { state: Mutex::new(State { file, ended }) })
    }

    /// `true` if a task is finished.
    pub(super) fn has(&self, task: &Task) -> bool {
        self.lock().ended.get(&task.name).is_some_and(|entry| entry.settings == task.settings)
    }

    /// Records a finished task.
    pub(super) fn note(&self, task: &Task, seconds: f64, lines: Vec<Line>) -> io::Result<()> {
        let entry = Entry { task: task.name.clone(), settings: task.settings.clone(), seconds, lines };
        let mut text = serde_json::to_string(&entry)?;
        text.push('\n');
        let mut state = self.lock();
        state.file.write_all(text.as_bytes())?;
        state.ended.insert(task.name.clone(), entry);
        Ok(())
    }

    /// The lines of all tasks in order and the seconds they took; `None` while one is missing.
    pub(super) fn all(&self, tasks: &[Task]) -> Option<(Vec<Line>, f64)> {
        let state = self.lock();
        let mut all = (Vec::new(), 0.0);
        for task in tasks {
            let entry = state.ended.get(&task.name).filter(|entry| entry.settings == task.settings)?;
            all.0.extend(entry.lines.iter().cloned());
            all.1 += entry.seconds;
        }
        Some(all)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::line;

    fn task(name: &str) -> Task {
        Task::new(name, 1.0, || Ok(Vec::new()))
    }

    #[test]
    fn a_line_that_was_cut_short_is_measured_again_and_the_others_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let tasks = ["one", "two", "2×1, three"].map(task);
        let journal = Journal::open(&path).expect("a new file");
        for (task, number) in tasks.iter().zip([1u64, 2, 3]) {
            assert!(journal.all(&tasks).is_none());
            journal.note(task, 0.5, vec![line![number, 0.25, "word"]]).expect("a file");
        }
        let whole = std::fs::read(&path).expect("the file");
        let last = whole.len() - 1 - whole[..whole.len() - 1].iter().rev().position(|byte| *byte == b'\n').unwrap();
        for cut in last + 1..whole.len() {
            std::fs::write(&path, &whole[..cut]).expect("the file");
            let journal = Journal::open(&path).expect("the file");
            assert_eq!([0, 1, 2].map(|task| journal.has(&tasks[task])), [true, true, false], "cut at {cut}");
            journal.note(&tasks[2], 0.5, vec![line![3u64, 0.25, "word"]]).expect("a file");
            let (lines, seconds) = Journal::open(&path).expect("the file").all(&tasks).expect("all tasks");
            assert_eq!((lines.len(), seconds), (3, 1.5));
            assert_eq!(lines[2], line![3u64, 0.25, "word"]);
        }
    }
}
