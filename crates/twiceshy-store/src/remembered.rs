//! The memory of mistakes beside the store: which queries the keys were mistaken for.
//!
//! It is in memory, and in a file beside the snapshot, to which each mistake is appended as it happens. Nothing is synced: a
//! killed process loses nothing, a machine that loses its power loses some of it, and then mistakes are made again. The bytes are
//! described in `docs/format.md`. Whatever the file says, no key can be lost by it: a query is learned from only if the filter
//! matches it and the store does not have it.

use crate::snapshot::create_private;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use twiceshy::memory::{Limits, Memory};
use twiceshy::remote::Key;

const MAGIC: &[u8; 8] = b"TWSYMIST";
const VERSION: u16 = 1;
const HEADER: usize = 10;

/// The bytes of a record beside its key and its query.
const FRAME: u64 = 12;

/// The file is written anew if it has twice as many records as needed, and this many more.
const SPARE_RECORDS: u64 = 4_096;

/// The memory, and its file.
pub(crate) struct Remembered {
    memory: Memory,
    file: Option<Journal>,
}

/// A file of records.
struct Journal {
    path: PathBuf,
    /// `None` before the first record: then the file is written anew.
    file: Option<File>,
    records: u64,
}

impl Remembered {
    /// The memory in a file, if there is one. `keys` keys are stored.
    pub(crate) fn open(path: Option<&Path>, limits: Limits, keys: u64, read_only: bool) -> Remembered {
        let mut memory = Memory::new(limits);
        let mut journal = path.map(|path| Journal { path: path.to_owned(), file: None, records: 0 });
        if let Some(journal) = &mut journal
            && !limits.is_off()
        {
            journal.load(&mut memory, keys);
        }
        Remembered { memory, file: journal.filter(|_| !read_only && !limits.is_off()) }
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Changes the memory, and appends what was remembered to the file. After an error nothing more is written: the next guard
    /// remembers less.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Memory)) {
        let since = self.memory.added();
        change(&mut self.memory);
        if let Some(journal) = &mut self.file
            && self.memory.added() > since
            && journal.append(&self.memory, since).is_err()
        {
            self.file = None;
        }
    }
}

impl Journal {
    /// Reads all records up to the first that is damaged. A damaged file is written anew before the next record.
    fn load(&mut self, memory: &mut Memory, keys: u64) {
        // A link is not followed: it is replaced when the file is written anew.
        let is_file = self.path.symlink_metadata().is_ok_and(|about| about.is_file());
        let Some(Ok(file)) = is_file.then(|| File::open(&self.path)) else { return };
        let Limits { longest, .. } = memory.limits();
        let (most, bytes) = (memory.limits().most(keys), memory.limits().most_bytes(keys));
        // More would not be one of ours.
        let spare = SPARE_RECORDS.saturating_mul(FRAME + 2 * longest as u64);
        let most_read = bytes.saturating_add(most.saturating_mul(FRAME)).saturating_mul(4).saturating_add(spare);
        let mut from = BufReader::new(file.take(most_read));
        let mut header = [0; HEADER];
        if from.read_exact(&mut header).is_err() || header[..8] != *MAGIC || header[8..] != VERSION.to_le_bytes() {
            return;
        }
        loop {
            match read_record(&mut from, longest) {
                Ok(Some((key, query))) => {
                    memory.remember(&[key], &query, keys);
                    self.records += 1;
                }
                Ok(None) => break,
                Err(Damaged) => return,
            }
        }
        if from.into_inner().limit() > 0 {
            self.file = OpenOptions::new().append(true).open(&self.path).ok();
        }
    }

    /// `true` if most records of the file are still needed.
    fn is_lean(&self, memory: &Memory) -> bool {
        self.records <= 2 * memory.len() + SPARE_RECORDS
    }

    fn append(&mut self, memory: &Memory, since: u64) -> io::Result<()> {
        if !self.is_lean(memory) {
            self.file = None;
        }
        let Some(file) = &mut self.file else { return self.write_anew(memory) };
        let mut bytes = Vec::new();
        for (key, query) in memory.since(since) {
            put_record(key, query, &mut bytes);
            self.records += 1;
        }
        file.write_all(&bytes)
    }

    fn write_anew(&mut self, memory: &Memory) -> io::Result<()> {
        let mut beside = self.path.as_os_str().to_owned();
        beside.push(".new");
        let beside = Path::new(&beside);
        let mut out = BufWriter::new(create_private(beside, &self.path)?);
        let mut write = || {
            out.write_all(MAGIC)?;
            out.write_all(&VERSION.to_le_bytes())?;
            let mut bytes = Vec::new();
            for (key, query) in memory.since(0) {
                bytes.clear();
                put_record(key, query, &mut bytes);
                out.write_all(&bytes)?;
            }
            out.flush()?;
            std::fs::rename(beside, &self.path)
        };
        let written = write();
        if written.is_err() {
            drop(std::fs::remove_file(beside));
        }
        written?;
        (self.file, self.records) = (Some(out.into_inner()?), memory.len());
        Ok(())
    }
}

fn put_record(key: &[u8], query: &[u8], out: &mut Vec<u8>) {
    let from = out.len();
    out.extend((key.len() as u32).to_le_bytes());
    out.extend((query.len() as u32).to_le_bytes());
    out.extend(key);
    out.extend(query);
    let sum = crc32fast::hash(&out[from..]);
    out.extend(sum.to_le_bytes());
}

/// A record that is cut, too long, or has a wrong checksum.
struct Damaged;

/// The next record; `None` at the end of the file.
fn read_record(from: &mut impl BufRead, longest: usize) -> Result<Option<(Key, Key)>, Damaged> {
    if from.fill_buf().map_err(|_| Damaged)?.is_empty() {
        return Ok(None);
    }
    let mut lengths = [0; 8];
    from.read_exact(&mut lengths).map_err(|_| Damaged)?;
    let len = |at: usize| u32::from_le_bytes([lengths[at], lengths[at + 1], lengths[at + 2], lengths[at + 3]]) as usize;
    let (key, query) = (len(0), len(4));
    if key > longest || query > longest {
        return Err(Damaged);
    }
    let mut bytes = vec![0; key + query + 4];
    from.read_exact(&mut bytes).map_err(|_| Damaged)?;
    let (content, sum) = bytes.split_at(key + query);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&lengths);
    hasher.update(content);
    if hasher.finalize().to_le_bytes() != *sum {
        return Err(Damaged);
    }
    Ok(Some((content[..key].into(), content[key..].into())))
}
