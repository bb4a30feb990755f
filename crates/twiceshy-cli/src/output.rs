//! Output shared by the subcommands: numbers, tables, progress.

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Writes a text to standard output. A closed pipe is an error, not a panic.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    clear_progress();
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context(CANNOT_WRITE)
}

/// What an error of the output is called.
pub(crate) const CANNOT_WRITE: &str = "cannot write to standard output";

/// Writes a report as one JSON object.
pub(crate) fn print_json(report: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string(report).context("the report could not be written as JSON")?;
    print(&format!("{text}\n"))
}

/// Writes a warning to standard error. If that is closed, nobody wants it.
pub(crate) fn warn(warning: &str) {
    clear_progress();
    let _ = writeln!(io::stderr(), "twiceshy: warning: {warning}");
}

/// Writes a note to standard error, if a person may read it there.
pub(crate) fn note(note: &str) {
    if io::stderr().is_terminal() {
        let _ = writeln!(io::stderr(), "twiceshy: {note}");
    }
}

/// `true` if the reader of the output has closed the pipe, as `head` does.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The progress bar on the screen.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Removes the progress bar from the screen, so that the next line has it for itself.
pub(crate) fn clear_progress() {
    if let Some(bar) = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).take() {
        bar.finish_and_clear();
    }
}

/// A progress bar on a terminal, nothing elsewhere. [`print()`] and [`warn`] remove it.
pub(crate) fn progress_bar(total: u64, what: &str) -> ProgressBar {
    progress(Some(total), "{msg} {wide_bar} {percent:>3} %, {eta} left", what)
}

/// A progress indicator for an unknown total: it counts lines.
pub(crate) fn spinner(what: &str) -> ProgressBar {
    progress(None, "{spinner} {msg}, {human_pos} lines, {elapsed}", what)
}

fn progress(total: Option<u64>, template: &str, what: &str) -> ProgressBar {
    let target = if io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(total, target);
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(what.to_owned());
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
    bar
}

/// A whole number with thousands separators: 1,234,567.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: 1 key, 2,000 keys.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A path as a shell takes it, for commands that are copied from a message.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%=".contains(&byte);
    // Otherwise it is a flag.
    let text = if text.starts_with('-') { format!("./{text}") } else { text };
    if !text.is_empty() && text.bytes().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The article before a name.
pub(crate) fn article(name: &str) -> &'static str {
    if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

/// A rate or probability: as a percentage if that is readable, else in powers of ten.
pub(crate) fn rate(value: f64) -> String {
    if value == 0.0 {
        "0".into()
    } else if value < 1e-4 {
        format!("{value:.2e}")
    } else {
        format!("{:.3} %", value * 100.0)
    }
}

/// A time with about three digits.
pub(crate) fn time(nanoseconds: u64) -> String {
    let time = nanoseconds as f64;
    match nanoseconds {
        0..10_000 => format!("{nanoseconds} ns"),
        10_000..10_000_000 => format!("{:.0} µs", time / 1e3),
        _ => format!("{:.1} ms", time / 1e6),
    }
}

/// Aligns rows in columns: the first column to the left, the others to the right.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - cell.chars().count());
            let _ = if column == 0 { write!(line, "{cell}{pad}") } else { write!(line, "   {pad}{cell}") };
        }
        line.trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_shell_takes_a_quoted_path_as_one_word_and_as_nothing_else() {
        for (path, expected) in [
            ("s", "s"),
            ("/a/b-c_d.e", "/a/b-c_d.e"),
            ("", "''"),
            ("my store", "'my store'"),
            ("-v", "./-v"),
            ("$(rm x)`y`;&|", "'$(rm x)`y`;&|'"),
            ("it's", r"'it'\''s'"),
            ("~", "'~'"),
            ("caf\u{e9}", "'caf\u{e9}'"),
        ] {
            assert_eq!(quoted(Path::new(path)), expected);
        }
    }

    #[test]
    fn one_thing_has_no_plural() {
        assert_eq!([0, 1, 2000].map(|number| counted(number, "key")), ["0 keys", "1 key", "2,000 keys"]);
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".into(), "1".into()], vec![], vec!["bcd".into(), "22".into()]];
        assert_eq!(columns(&rows), "a      1\n\nbcd   22\n");
    }
}
