//! What a process says of its operations, line by line, and the histories of keys that are made of it.

use super::linear::{Does, Operation};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use twiceshy_shared::servers::now;

/// An operation that is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    Insert { key: u64, value: u64 },
    Remove { key: u64 },
    Get { key: u64 },
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// A change was made.
    Made,
    /// It was not made, and never will be.
    NotMade,
    /// This value was seen, or none.
    Saw(Option<u64>),
    /// Nobody knows.
    Unknown,
}

/// Writes down what a process does. Each line is written at once: the process may be killed.
pub(super) struct Diary<W> {
    out: Mutex<W>,
    next: AtomicU64,
}

impl<W: Write> Diary<W> {
    pub(super) fn new(out: W) -> Diary<W> {
        Diary { out: Mutex::new(out), next: AtomicU64::new(0) }
    }

    pub(super) fn begin(&self, begun: Begun) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut line = format!("b {id} {} ", now());
        let _ = match begun {
            Begun::Insert { key, value } => write!(line, "i {key} {value}"),
            Begun::Remove { key } => write!(line, "r {key}"),
            Begun::Get { key } => write!(line, "g {key}"),
        };
        self.line(&line);
        id
    }

    pub(super) fn end(&self, id: u64, ended: Ended) {
        let mut line = format!("e {id} {} ", now());
        line.push_str(&match ended {
            Ended::Made => "made".to_owned(),
            Ended::NotMade => "not".to_owned(),
            Ended::Saw(Some(value)) => format!("saw {value}"),
            Ended::Saw(None) => "none".to_owned(),
            Ended::Unknown => "?".to_owned(),
        });
        self.line(&line);
    }

    /// A look-up that the filter answered with *absent*.
    pub(super) fn denied(&self, begin: u64, key: u64) {
        self.line(&format!("d {begin} {} {key}", now()));
    }

    pub(super) fn into_inner(self) -> W {
        self.out.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn line(&self, line: &str) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // A closed pipe means that nobody reads any more.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

/// The operations on each key.
#[derive(Clone, Debug, Default)]
pub(super) struct Histories(pub(super) BTreeMap<u64, Vec<Operation>>);

impl Histories {
    /// Adds what a process has written down. A line that was cut off by its end is left out.
    pub(super) fn read(&mut self, lines: impl BufRead) -> io::Result<()> {
        let mut begun: BTreeMap<u64, (u64, Begun)> = BTreeMap::new();
        for line in lines.lines() {
            let line = line?;
            let words: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
            match (words.first().copied(), number(1), number(2)) {
                (Some("b"), Some(id), Some(begin)) => {
                    let what = match (words.get(3).copied(), number(4), number(5)) {
                        (Some("i"), Some(key), Some(value)) => Begun::Insert { key, value },
                        (Some("r"), Some(key), _) => Begun::Remove { key },
                        (Some("g"), Some(key), _) => Begun::Get { key },
                        _ => continue,
                    };
                    begun.insert(id, (begin, what));
                }
                (Some("e"), Some(id), Some(end)) => {
                    let ended = match (words.get(3).copied(), number(4)) {
                        (Some("made"), _) => Ended::Made,
                        (Some("not"), _) => Ended::NotMade,
                        (Some("saw"), Some(value)) => Ended::Saw(Some(value)),
                        (Some("none"), _) => Ended::Saw(None),
                        _ => Ended::Unknown,
                    };
                    if let Some((begin, what)) = begun.remove(&id) {
                        self.add(begin, what, Some((end, ended)));
                    }
                }
                (Some("d"), Some(begin), Some(end)) => {
                    if let Some(key) = number(3) {
                        self.saw(key, begin, end, None);
                    }
                }
                _ => {}
            }
        }
        begun.into_values().for_each(|(begin, what)| self.add(begin, what, None));
        Ok(())
    }

    pub(super) fn saw(&mut self, key: u64, begin: u64, end: u64, value: Option<u64>) {
        self.put(key, Operation { begin, end: Some(end), does: Does::Read(value) });
    }

    fn add(&mut self, begin: u64, what: Begun, ended: Option<(u64, Ended)>) {
        let end = ended.filter(|(_, ended)| *ended != Ended::Unknown).map(|(end, _)| end);
        let (key, does) = match (what, ended.map(|(_, ended)| ended)) {
            (_, Some(Ended::NotMade)) => return,
            (Begun::Insert { key, value }, _) => (key, Does::Write(Some(value))),
            (Begun::Remove { key }, _) => (key, Does::Write(None)),
            (Begun::Get { key }, Some(Ended::Saw(value))) => (key, Does::Read(value)),
            (Begun::Get { .. }, _) => return,
        };
        self.put(key, Operation { begin, end, does });
    }

    fn put(&mut self, key: u64, operation: Operation) {
        self.0.entry(key).or_default().push(operation);
    }

    pub(super) fn len(&self) -> u64 {
        self.0.values().map(|operations| operations.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diary_is_read_as_it_was_written_and_what_was_cut_off_is_open() {
        let diary = Diary::new(Vec::new());
        let insert = diary.begin(Begun::Insert { key: 1, value: 5 });
        diary.end(insert, Ended::Made);
        let get = diary.begin(Begun::Get { key: 1 });
        diary.end(get, Ended::Saw(Some(5)));
        let refused = diary.begin(Begun::Insert { key: 1, value: 6 });
        diary.end(refused, Ended::NotMade);
        diary.denied(7, 2);
        let lost = diary.begin(Begun::Remove { key: 2 });
        diary.end(lost, Ended::Unknown);
        diary.begin(Begun::Insert { key: 2, value: 9 });
        let mut bytes = diary.into_inner();
        bytes.extend(b"b 77 12");
        let mut histories = Histories::default();
        histories.read(&bytes[..]).expect("memory");
        let does = |key| {
            histories.0[&key].iter().map(|operation| (operation.does, operation.end.is_some())).collect::<Vec<_>>()
        };
        assert_eq!(does(1), [(Does::Write(Some(5)), true), (Does::Read(Some(5)), true)]);
        assert_eq!(does(2), [(Does::Read(None), true), (Does::Write(None), false), (Does::Write(Some(9)), false)]);
        assert_eq!(histories.len(), 5);
    }
}
