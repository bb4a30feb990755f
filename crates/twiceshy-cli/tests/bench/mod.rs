//! The command, run in a folder of its own.

use serde_json::Value;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder for one test, and the command that runs in it.
pub(crate) struct Bench {
    folder: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench { folder: tempfile::tempdir().expect("a folder") }
    }

    /// A bench with a store `s` that holds these lines.
    pub(crate) fn with_lines(lines: &[u8]) -> Bench {
        Bench::with_filter("telescoping", lines)
    }

    pub(crate) fn with_filter(filter: &str, lines: &[u8]) -> Bench {
        let bench = Bench::new();
        bench.yes(&format!("create s --filter {filter}"), b"");
        bench.yes("insert s", lines);
        bench
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).expect("a file");
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_twiceshy"));
        command.args(arguments.split_whitespace()).current_dir(&self.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &str, input: &[u8]) -> Output {
        let mut child = self.command(arguments).spawn().expect("the command starts");
        let mut stdin = child.stdin.take().expect("an input");
        std::thread::scope(|scope| {
            // A command that ends early does not read all of it.
            scope.spawn(move || drop(stdin.write_all(input)));
            child.wait_with_output().expect("it ends")
        })
    }

    /// The output of a command that ends with this status and complains about nothing.
    pub(crate) fn out(&self, arguments: &str, input: &[u8], status: i32) -> Vec<u8> {
        let output = self.run(arguments, input);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments}: {complaint}");
        assert_eq!(complaint, "", "{arguments}");
        output.stdout
    }

    pub(crate) fn yes(&self, arguments: &str, input: &[u8]) -> Vec<u8> {
        self.out(arguments, input, 0)
    }

    pub(crate) fn json(&self, arguments: &str, input: &[u8]) -> Value {
        serde_json::from_slice(&self.yes(&format!("{arguments} --json"), input)).expect("one JSON object")
    }

    /// What a command that fails complains about.
    pub(crate) fn error(&self, arguments: &str, input: &[u8]) -> String {
        let output = self.run(arguments, input);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!complaint.contains("this is a bug"), "{arguments}: {complaint}");
        complaint
    }
}
