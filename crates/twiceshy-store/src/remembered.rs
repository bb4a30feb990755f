//! The memory of mistakes beside the store: which queries the keys were mistaken for.
//!
//! It is in memory, and in a file beside the snapshot, to which each mistake is appended as it happens. Nothing is synced: a
//! killed process loses nothing, a machine that loses its power loses some of it, and then mistakes are made again. The bytes are
//! described in `docs/format.md`. Whatever the file says, no key can be lost by it: a query is learned from only if the filter
//! matches it and the store does not have it.

use crate::snapshot::create_private;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use twiceshy::hash::HashKey;
use twiceshy::memory::{Limits, Memory};
use twiceshy::plan::Mistake;
use twiceshy::remote::Key;

const MAGIC: &[u8; 8] = b"TWSYMIST";
const VERSION: u16 = 1;
const HEADER: usize = 10;

/// The file is written anew if it has twice as many records as needed, and this many more.
const SPARE_RECORDS: u64 = 4_096;

/// The most bytes that are read of a file. More would not be one of ours.
const MOST_BYTES: u64 = 1 << 30;

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
        // Keys are ordered anew when the filter's hash key is known.
        let mut memory = Memory::new(HashKey::fixed(0), limits);
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

    /// Orders the keys by this hash key.
    pub(crate) fn rekey(&mut self, hash: HashKey) {
        self.memory.rekey(hash);
    }

    /// Remembers mistakes among `keys` stored keys.
    pub(crate) fn add(&mut self, mistakes: &[Mistake], keys: u64) {
        let before = self.memory.added();
        for Mistake { key, query } in mistakes {
            self.memory.remember(std::slice::from_ref(key), query, keys);
        }
        self.keep(before);
    }

    /// A key was inserted.
    pub(crate) fn inserted(&mut self, key: &Key, keys: u64) {
        if !self.memory.is_empty() {
            let before = self.memory.added();
            self.memory.inserted(key, keys);
            self.keep(before);
        }
    }

    /// Appends what was remembered since. If the file fails, there is none from then on: the next open knows less.
    fn keep(&mut self, since: u64) {
        if let Some(journal) = &mut self.file
            && self.memory.added() > since
            && journal.append(&self.memory, since).is_err()
        {
            self.file = None;
        }
    }
}

impl Journal {
    /// Reads all records up to the first that is damaged. Then the file is written anew before the next one.
    fn load(&mut self, memory: &mut Memory, keys: u64) {
        let is_file = self.path.metadata().is_ok_and(|about| about.is_file());
        let Some(Ok(file)) = is_file.then(|| File::open(&self.path)) else { return };
        let mut from = BufReader::new(file.take(MOST_BYTES));
        let mut header = [0; HEADER];
        if from.read_exact(&mut header).is_err() || header[..8] != *MAGIC || header[8..] != VERSION.to_le_bytes() {
            return;
        }
        let longest = memory.limits().longest;
        while let Some((key, query)) = read_record(&mut from, longest) {
            memory.remember(&[key], &query, keys);
            self.records += 1;
        }
        let ended = from.into_inner().limit() > 0 && self.len_is(memory);
        self.file = ended.then(|| OpenOptions::new().append(true).open(&self.path).ok()).flatten();
    }

    /// `true` if the file has about as many records as the memory needs.
    fn len_is(&self, memory: &Memory) -> bool {
        self.records <= 2 * memory.len() + SPARE_RECORDS
    }

    fn append(&mut self, memory: &Memory, since: u64) -> io::Result<()> {
        if !self.len_is(memory) {
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
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        self.records = 0;
        for (key, query) in memory.since(0) {
            put_record(key, query, &mut bytes);
            self.records += 1;
        }
        let mut file = create_private(beside, &self.path)?;
        let written = file.write_all(&bytes).and_then(|()| std::fs::rename(beside, &self.path));
        if written.is_err() {
            drop(std::fs::remove_file(beside));
        }
        self.file = written.map(|()| Some(file))?;
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

/// The next record; `None` at the end of the file, or if it is damaged.
fn read_record(from: &mut impl Read, longest: usize) -> Option<(Key, Key)> {
    let mut lengths = [0; 8];
    from.read_exact(&mut lengths).ok()?;
    let len = |at: usize| u32::from_le_bytes([lengths[at], lengths[at + 1], lengths[at + 2], lengths[at + 3]]) as usize;
    let (key, query) = (len(0), len(4));
    if key > longest || query > longest {
        return None;
    }
    let mut bytes = vec![0; key + query + 4];
    from.read_exact(&mut bytes).ok()?;
    let (content, sum) = bytes.split_at(key + query);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&lengths);
    hasher.update(content);
    (hasher.finalize().to_le_bytes() == *sum).then(|| (content[..key].into(), content[key..].into()))
}
