//! A query answers what it has before it waits for more, and answers a long list as it answers one line after the other.

#[expect(dead_code, reason = "other tests use the rest of it")]
mod bench;

use bench::Bench;
use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

#[test]
fn a_line_is_answered_before_the_next_one_comes() {
    let bench = Bench::with_lines(b"a\nb\nc\n");
    for flags in ["", "--values"] {
        let mut child = bench.command(&format!("query s --comments {flags}")).spawn().expect("the command starts");
        let mut input = child.stdin.take().expect("an input");
        let (send, answers) = std::sync::mpsc::channel();
        let output = BufReader::new(child.stdout.take().expect("an output"));
        let reader = std::thread::spawn(move || output.lines().try_for_each(|line| send.send(line.expect("text"))));
        // The next line comes only after the answer.
        for (lines, expected) in [("x\na\n# no key\n", "a"), ("\nb\nhalf a ", "b"), ("line\nc\n", "c")] {
            input.write_all(lines.as_bytes()).expect("it reads");
            let answer = answers.recv_timeout(Duration::from_secs(60)).expect("an answer before the next line");
            assert_eq!(answer.trim_end(), expected, "{flags}");
        }
        drop(input);
        assert!(answers.recv().is_err(), "that is all");
        assert!(reader.join().expect("no panic").is_ok());
        assert!(child.wait().expect("it ends").success());
    }
}

#[test]
fn a_long_list_is_answered_line_by_line_whatever_is_asked_together() {
    let line = |number: u32| format!("{}\n", number.wrapping_mul(0x9E37_79B9));
    let stored: String = (0..5_000).map(|number| line(number * 2)).collect();
    let asked: String = (0..10_000).map(line).collect();
    let bench = Bench::with_lines(stored.as_bytes());
    assert_eq!(bench.yes("query s", asked.as_bytes()), stored.as_bytes());
    let absent: String = (0..5_000).map(|number| line(number * 2 + 1)).collect();
    assert_eq!(bench.yes("query s -v", asked.as_bytes()), absent.as_bytes());
    let values: String = stored.lines().map(|key| format!("{key}\t\n")).collect();
    assert_eq!(bench.yes("query s --values", asked.as_bytes()), values.as_bytes());
    let report = bench.json("query s --count", asked.as_bytes());
    assert_eq!((&report["asked"], &report["present"]), (&10_000.into(), &5_000.into()));
    // The lines before one that cannot be read are answered.
    let output = bench.run("query s --max-line 20", format!("{stored}{}\n", "x".repeat(21)).as_bytes());
    assert_eq!((output.status.code(), output.stdout), (Some(2), stored.into_bytes()));
}
