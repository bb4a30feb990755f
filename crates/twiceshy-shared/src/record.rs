//! The records of a shard's log, as bytes.

use crate::engine::{EngineError, Snapshot};
use crate::names::{Head, MemberId, SnapshotId};
use twiceshy::filter::Backed;
use twiceshy::hash::HashKey;
use twiceshy::plan::Plan;
use twiceshy::remote::Key;

/// The version of the bytes.
const VERSION: u8 = 1;

/// A record: what all members do to their filters at this position.
#[derive(Debug)]
pub(crate) struct Record {
    /// The digest of the filter after this record, in some records.
    pub(crate) digest: Option<u64>,
    pub(crate) what: What,
    /// `true` if the set has every row's key from here on, `false` if that is in doubt; `None` if it is as before. Only if the values of the
    /// set are elsewhere.
    pub(crate) complete: Option<bool>,
    /// Keys that are announced, if the values of the set are elsewhere: see [`Watches`](crate::desk::Watches).
    pub(crate) announced: Vec<Key>,
    /// Plans for the filter. After a switch: for the new one.
    pub(crate) plans: Vec<Plan>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The plans change the filter. There may be none: then the record only takes its place.
    Change,
    /// A member has begun to fill a larger table. The others need not.
    Grow { member: MemberId },
    /// This snapshot, changed by the plans, takes the place of the filter.
    Switch { to: Snapshot },
}

impl Record {
    /// A record that changes no filter.
    pub(crate) fn of(what: What) -> Record {
        Record { digest: None, what, complete: None, announced: Vec::new(), plans: Vec::new() }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        match self.what {
            What::Change => bytes.push(0),
            What::Grow { member } => {
                bytes.push(1);
                bytes.extend(member.0.to_le_bytes());
            }
            What::Switch { to } => {
                bytes.push(2);
                for number in [to.id.0, to.at.position, to.at.tag, to.digest, to.bytes] {
                    bytes.extend(number.to_le_bytes());
                }
            }
        }
        let complete = self.complete.map_or(0, |complete| 2 | u8::from(complete) << 2);
        bytes.push(u8::from(self.digest.is_some()) | complete);
        bytes.extend(self.digest.unwrap_or(0).to_le_bytes());
        bytes.extend((self.announced.len() as u32).to_le_bytes());
        for key in &self.announced {
            bytes.extend((key.len() as u32).to_le_bytes());
            bytes.extend_from_slice(key);
        }
        bytes.extend(Plan::all_to_bytes(&self.plans));
        let sum = crc32fast::hash(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Record, EngineError> {
        let damaged = |what: &str| EngineError::Damaged(format!("a record of the log {what}"));
        let (content, sum) = bytes.split_last_chunk::<4>().ok_or_else(|| damaged("is too short"))?;
        if crc32fast::hash(content) != u32::from_le_bytes(*sum) {
            return Err(damaged("does not match its checksum"));
        }
        if content.first().is_some_and(|version| *version > VERSION) {
            return Err(damaged("was written by a newer version of this program: update it"));
        }
        Fields(content).record().ok_or_else(|| damaged("is incomplete"))?.map_err(|error| damaged(&error))
    }
}

/// Bytes that are read from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// `None` if bytes are missing, an error if a plan is damaged.
    fn record(mut self) -> Option<Result<Record, String>> {
        self.u8()?;
        let what = match self.u8()? {
            0 => What::Change,
            1 => What::Grow { member: MemberId(self.u64()?) },
            2 => {
                let id = SnapshotId(self.u64()?);
                let at = Head { position: self.u64()?, tag: self.u64()? };
                What::Switch { to: Snapshot { id, at, digest: self.u64()?, bytes: self.u64()? } }
            }
            _ => return None,
        };
        let flags = self.u8()?;
        let digest = self.u64().map(|digest| (flags & 1 != 0).then_some(digest))?;
        let complete = (flags & 2 != 0).then_some(flags & 4 != 0);
        let mut announced = Vec::new();
        for _ in 0..self.u32()? {
            announced.push(Key::from(self.part()?));
        }
        let plans = Plan::all_from_bytes(self.0).map_err(|error| format!("has a damaged plan: {error}"));
        Some(plans.map(|plans| Record { digest, what, complete, announced, plans }))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn part(&mut self) -> Option<&'a [u8]> {
        let len = self.u32()?;
        self.take(len as usize)
    }
}

/// A filter as bytes, with the digest of its bits.
pub(crate) fn save(filter: &dyn Backed) -> (Vec<u8>, u64) {
    let mut bytes = Vec::new();
    // Writing to a vector cannot fail.
    let _ = filter.save(0, &mut bytes);
    let digest = digest(&bytes);
    (bytes, digest)
}

/// The digest of a saved filter. Not a checksum that the saved form also has: that of a text with its own checksum is always the same.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    HashKey::fixed(0x6469_6765_7374).for_trusted_keys().words(bytes).word(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use twiceshy::Kind;
    use twiceshy::filter::Operation;
    use twiceshy::remote::{ByHash, Generation};

    fn records() -> Vec<Record> {
        let filter = Kind::Telescoping.make(100, 0.01, HashKey::fixed(1), Generation(0)).expect("usual options");
        let plan = filter.plan(Operation::Insert(b"key"), &ByHash::new()).expect("an empty filter");
        let to = Snapshot { id: SnapshotId(5), at: Head { position: 7, tag: 8 }, digest: 9, bytes: 10 };
        vec![
            Record { plans: vec![plan.clone(), plan], ..Record::of(What::Change) },
            Record {
                digest: Some(0),
                announced: vec![Key::from(&b"x"[..]), Key::from(&[][..])],
                ..Record::of(What::Change)
            },
            Record { digest: Some(5), ..Record::of(What::Grow { member: MemberId(77) }) },
            Record::of(What::Switch { to }),
            Record { complete: Some(true), ..Record::of(What::Change) },
            Record { complete: Some(false), digest: Some(1), ..Record::of(What::Change) },
        ]
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        for record in records() {
            let bytes = record.to_bytes();
            let again = Record::from_bytes(&bytes).expect("own bytes");
            assert_eq!((again.digest, again.what, &again.announced), (record.digest, record.what, &record.announced));
            assert_eq!(again.complete, record.complete);
            assert_eq!(again.plans.len(), record.plans.len());
            assert_eq!(again.to_bytes(), bytes);
        }
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_refused() {
        for record in records() {
            let bytes = record.to_bytes();
            assert!((0..bytes.len()).all(|len| Record::from_bytes(&bytes[..len]).is_err()));
            for at in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x20;
                assert!(Record::from_bytes(&damaged).is_err(), "byte {at}");
            }
        }
    }

    #[test]
    fn filters_with_other_bits_have_other_digests() {
        let mut digests = Vec::new();
        let mut filter = Kind::Telescoping.make(100, 0.01, HashKey::fixed(1), Generation(0)).expect("usual options");
        for key in [&b"a"[..], b"b", b"c"] {
            digests.push(save(&*filter).1);
            let plan = filter.plan(Operation::Insert(key), &ByHash::new()).expect("room");
            filter.apply(plan).expect("its own plan");
        }
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), 3);
    }
}
