//! A process that is a member, as its parent sees it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a member may take to open its set.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running member. What it says is in a file. It is killed when this is dropped.
pub(super) struct Member {
    child: Child,
    orders: Option<ChildStdin>,
    said: PathBuf,
}

impl Member {
    /// Starts a member, whose output goes to a file in this folder.
    pub(super) fn start(mut command: Command, folder: &Path, name: &str) -> io::Result<Member> {
        let said = folder.join(name);
        let out = File::create(&said)?;
        let errors = File::create(folder.join(format!("{name}-errors")))?;
        let mut child = command.stdin(Stdio::piped()).stdout(out).stderr(errors).spawn()?;
        let orders = child.stdin.take();
        Ok(Member { child, orders, said })
    }

    /// Waits until it has opened its set. `false` if it could not.
    pub(super) fn is_ready(&mut self) -> io::Result<bool> {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if BufReader::new(File::open(&self.said)?)
                .lines()
                .next()
                .is_some_and(|line| line.is_ok_and(|line| line == "ready"))
            {
                return Ok(true);
            }
            if self.child.try_wait()?.is_some() {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(false)
    }

    pub(super) fn order(&mut self, line: &str) -> io::Result<()> {
        match &mut self.orders {
            Some(orders) => writeln!(orders, "{line}").and_then(|()| orders.flush()),
            None => Err(io::Error::other("a member has no orders")),
        }
    }

    fn pid(&self) -> Option<rustix::process::Pid> {
        rustix::process::Pid::from_raw(self.child.id() as i32)
    }

    /// Sends a signal.
    pub(super) fn signal(&self, signal: rustix::process::Signal) {
        if let Some(pid) = self.pid() {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// Waits for its end, and kills it if that takes too long. `true` if it has ended by itself.
    pub(super) fn finish(&mut self, patience: Duration) -> io::Result<bool> {
        let begin = Instant::now();
        while begin.elapsed() < patience {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.success());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.kill();
        Ok(false)
    }

    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// What it has said.
    pub(super) fn said(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(&self.said)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The lines that it has said after those that were read before.
    pub(super) fn next_line(&mut self, from: &mut u64) -> io::Result<String> {
        let begin = Instant::now();
        loop {
            let said = self.said()?;
            let rest = &said[(*from as usize).min(said.len())..];
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                *from += end as u64 + 1;
                return Ok(String::from_utf8_lossy(&rest[..end]).into_owned());
            }
            if self.child.try_wait()?.is_some() || begin.elapsed() > Duration::from_secs(600) {
                return Err(io::Error::other("a member ended without an answer"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.kill();
    }
}
