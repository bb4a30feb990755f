//! The command on a terminal: progress is shown, and is gone before anything else is printed.
#![cfg(target_os = "linux")]

mod bench;

use bench::Bench;
use std::process::{Command, Stdio};

/// What a terminal of this command showed, as it was written; `None` without the program `script`.
fn typed(bench: &Bench, arguments: &str) -> Option<String> {
    let line = format!("{} {arguments}", env!("CARGO_BIN_EXE_twiceshy"));
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(bench.path("")).env("TERM", "xterm").stdin(Stdio::null());
    let Ok(output) = script.output() else {
        eprintln!("skipped: there is no program `script` here");
        return None;
    };
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What is left on the screen in the end: a terminal that knows the few sequences that progress bars use.
fn screen(written: &str) -> Vec<String> {
    let mut rows: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0, 0);
    let mut chars = written.chars();
    while let Some(char) = chars.next() {
        match char {
            '\r' => column = 0,
            '\n' => {
                row += 1;
                if row == rows.len() {
                    rows.push(Vec::new());
                }
            }
            '\u{1b}' => {
                let mut sequence = String::new();
                for char in chars.by_ref().skip(1) {
                    sequence.push(char);
                    if char.is_ascii_alphabetic() {
                        break;
                    }
                }
                match sequence.as_str() {
                    "2K" => rows[row].clear(),
                    "K" => rows[row].truncate(column),
                    up if up.ends_with('A') => row -= up.trim_end_matches('A').parse().unwrap_or(1).min(row),
                    _ => {}
                }
            }
            char => {
                while rows[row].len() <= column {
                    rows[row].push(' ');
                }
                rows[row][column] = char;
                column += 1;
            }
        }
    }
    rows.into_iter().map(|row| row.into_iter().collect::<String>().trim_end().to_owned()).collect()
}

fn rows(screen: &[String]) -> Vec<&str> {
    screen.iter().map(String::as_str).filter(|row| !row.is_empty()).collect()
}

fn keys(count: u32) -> Vec<u8> {
    (0..count).flat_map(|number| format!("key {number}\n").into_bytes()).collect()
}

#[test]
fn a_progress_bar_is_gone_before_the_report() {
    let bench = Bench::with_lines(b"key 7\n");
    bench.file("few", &keys(9_000));
    // With what is odd about it, and with the filter that cannot be saved, there are warnings before the report.
    bench.file("odd", &[keys(9_000), b"# odd\n".to_vec()].concat());
    for (arguments, bar, left) in [
        ("query s few --count", "asking", vec!["1"]),
        ("query s few --count --json", "asking", vec![r#"{"path":"s","lines":9000"#]),
        ("insert s few", "inserting", vec!["s: 9,000 lines read, 8,999 keys new"]),
        ("insert s odd", "inserting", vec!["twiceshy: warning: odd, line 9001 is a comment", "s: 9,001 lines"]),
        ("remove s odd", "removing", vec!["twiceshy: warning: odd, line 9001 is a comment", "s: 9,001 lines"]),
        ("insert s few odd --values", "", vec!["twiceshy: 0 keys stored, and then: few, line 1: no tab"]),
        ("attack --filter cyclic --adversary repeat --games 20 --json", "repeat against", vec!["{"]),
        ("replay --filter cyclic --cells 1k --per-key 2", "replaying", vec!["cyclic 4\u{d7}1, 1,000 cells"]),
        ("demo --keys 1k --json", "filling", vec![r#"{"keys":1000"#]),
    ] {
        let Some(written) = typed(&bench, arguments) else { return };
        assert!(written.contains(bar), "{arguments} shows no progress: {written:?}");
        let screen = screen(&written);
        let rows = rows(&screen);
        // Long rows are not wrapped here, so each line that is expected is one row.
        assert!(rows.len() >= left.len(), "{arguments}: {screen:?}");
        for (row, start) in rows.iter().zip(left) {
            assert!(row.starts_with(start), "{arguments}: {screen:?}");
        }
        assert!(bar.is_empty() || !rows.iter().any(|row| row.contains(&format!("{bar} "))), "{arguments}: {screen:?}");
    }
}

#[test]
fn lines_that_are_printed_as_they_are_found_have_the_screen_for_themselves() {
    let bench = Bench::with_lines(b"key 7\n");
    bench.file("few", &keys(9_000));
    // A pipe may end on the same terminal.
    for arguments in ["query s few --absent", "query s few --absent | cat"] {
        let Some(written) = typed(&bench, arguments) else { return };
        assert!(!written.contains("asking") && !written.contains('\u{1b}'), "{arguments}: {:?}", &written[..200]);
        assert_eq!(written.lines().count(), 8_999, "{arguments}");
    }
    let Some(written) = typed(&bench, "query s few --absent > found") else { return };
    assert!(written.contains("asking"), "into a file there is progress: {written:?}");
    assert_eq!(rows(&screen(&written)), [""; 0]);
}

#[test]
fn without_a_terminal_there_is_no_progress() {
    let bench = Bench::with_lines(b"key 7\n");
    bench.file("few", &keys(9_000));
    assert_eq!(bench.json("query s few --count", b"")["asked"], 9_000);
    assert_eq!(bench.json("insert s few", b"")["new"], 8_999);
    let why = bench.error("insert s few --values", b"");
    assert!(why.starts_with("twiceshy: 0 keys stored") && why.lines().count() == 1, "{why}");
}
