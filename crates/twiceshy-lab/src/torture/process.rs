//! Runs a child and follows its output.

use super::fate::Fate;
use super::word::Word;
use std::io::{self, BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The most time for a child that is not killed. After that it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a child reported up to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) opened: bool,
    /// The number of acknowledged operations.
    pub(super) operations: u64,
    pub(super) adapted: u64,
    pub(super) grown: u64,
    pub(super) closed: bool,
    pub(super) killed: bool,
    /// What the child found wrong, or what is wrong with the child.
    pub(super) wrong: Option<String>,
}

/// Starts a child and applies its fate.
pub(super) fn run_child(mut command: Command, fate: Fate) -> io::Result<Heard> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let begun = Instant::now();
    let (sender, words) = channel();
    let out = child.stdout.take();
    // A child must never block on a full pipe.
    let listener = std::thread::spawn(move || {
        for line in out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok) {
            let word = line.parse().unwrap_or_else(Word::Wrong);
            if sender.send(word).is_err() {
                return;
            }
        }
    });
    let mut heard = Heard::default();
    let ended = match fate {
        Fate::DiesOpening { after } => heard.listen(&words, begun + after, |_| false),
        Fate::DiesWorking { operations, after } => {
            heard.listen(&words, begun + PATIENCE, |heard| heard.operations >= operations)
                || heard.listen(&words, Instant::now() + after, |_| false)
        }
        Fate::Lives => heard.listen(&words, begun + PATIENCE, |_| false),
    };
    if !ended {
        child.kill()?;
    }
    let status = child.wait()?;
    heard.listen(&words, Instant::now() + PATIENCE, |_| false);
    drop(listener.join());
    heard.judge(status, !ended, fate);
    Ok(heard)
}

impl Heard {
    /// Receives words until `enough` returns `true` or the time is up. Returns `true` if no more words will come.
    fn listen(&mut self, words: &Receiver<Word>, until: Instant, enough: impl Fn(&Heard) -> bool) -> bool {
        while !enough(self) {
            match words.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(word) => self.note(word),
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
        false
    }

    fn note(&mut self, word: Word) {
        match word {
            Word::Opened => self.opened = true,
            Word::Did { operations, adapted, grown } => {
                (self.operations, self.adapted, self.grown) = (operations, adapted, grown);
            }
            Word::Closed => self.closed = true,
            Word::Wrong(what) => self.wrong = Some(what),
        }
    }

    /// Checks that the child ended as intended. On Unix, a killed process has no exit code.
    fn judge(&mut self, status: ExitStatus, killed: bool, fate: Fate) {
        self.killed = killed && (status.code().is_none() || !cfg!(unix));
        let late = match fate {
            Fate::DiesOpening { .. } => false,
            Fate::DiesWorking { operations, .. } => self.operations < operations,
            Fate::Lives => true,
        };
        let done = self.operations;
        let wrong = match self.killed {
            true if late => format!("a child hangs after {done} operations"),
            false if !status.success() || !self.closed => {
                format!("a child ended unexpectedly after {done} operations ({status})")
            }
            _ => return,
        };
        self.wrong.get_or_insert(wrong);
    }
}
