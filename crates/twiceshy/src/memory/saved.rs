//! A memory as bytes.

use super::{Limits, Memory};
use crate::persist::{LoadError, Reader, Writer};
use crate::remote::Key;
use std::io;

/// The kind of a saved memory in the header of its container.
const KIND: u16 = 0x4D45;

impl Memory {
    /// Writes all remembered queries with their keys, the oldest first.
    pub fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let mut fields = Writer::new();
        fields.u64(self.len());
        for (key, query) in self.since(0) {
            fields.bytes(&**key);
            fields.bytes(&**query);
        }
        fields.finish(KIND, 0, out)
    }

    /// Reads what [`Memory::save`] wrote, within these limits for `stored` keys.
    pub fn load(source: &mut dyn io::Read, limits: Limits, stored: u64) -> Result<Memory, LoadError> {
        let mut fields = Reader::open(source)?;
        fields.expect_kind(KIND)?;
        let mut memory = Memory::new(limits);
        for _ in 0..fields.u64()? {
            let (key, query) = (Key::from(fields.bytes()?), Key::from(fields.bytes()?));
            memory.remember(&[key], &query, stored);
        }
        fields.finish()?;
        Ok(memory)
    }
}
