//! The README's session, run again: every command works as shown, and prints the same words with its own numbers.

use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../../../README.md");

/// The lines between the marks of a block, without the fences.
fn block(name: &str) -> Vec<&'static str> {
    let inside = README.lines().skip_while(|line| *line != format!("<!-- figures: {name} -->")).skip(1);
    inside.take_while(|line| *line != "<!-- end -->").filter(|line| !line.starts_with("```")).collect()
}

/// A line with every number as `#`, and one blank for many: figures differ from run to run, words do not.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for word in line.split_whitespace() {
        let mut number = false;
        shape.push(' ');
        for letter in word.chars() {
            let part = letter.is_ascii_digit() || (number && ".,e-".contains(letter));
            if !part {
                shape.push(letter);
            } else if !number {
                shape.push('#');
            }
            number = part;
        }
    }
    shape
}

fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_twiceshy")).args(arguments).current_dir(folder).output();
    let output = output.expect("the command starts");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_session_in_the_readme_happens_as_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let users: String = (0..100_000).map(|user| format!("user-{user}@example.org\n")).collect();
    std::fs::write(folder.path().join("users.txt"), users).expect("a file");
    let asked: String = (99_998..100_002).map(|user| format!("user-{user}@example.org\n")).collect();
    std::fs::write(folder.path().join("asked.txt"), asked).expect("a file");
    let mut lines = block("session").into_iter().peekable();
    let mut commands = 0;
    while let Some(line) = lines.next() {
        let command = line.strip_prefix("$ twiceshy ").expect("a command");
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let mut shown = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
            shown.push(shape(line));
        }
        let printed: Vec<String> = run(folder.path(), &arguments).lines().map(shape).collect();
        assert_eq!(printed, shown, "{command}");
        commands += 1;
    }
    assert!(commands >= 6, "{commands} commands");
}

#[test]
fn every_block_of_figures_is_filled() {
    for name in ["demo", "guard", "session"] {
        assert!(block(name).len() > 5, "{name}: run ./figures {name}");
    }
}
