//! Saved filters, in parts: a part does not hold up other requests for long.

use super::Of;
use super::answer::{bytes, is_one, list, maybe_bytes, number, numbers, pairs};
use super::keys::Part;
use super::requests::LAST;
use super::scripts;
use crate::engine::{EngineError, Snapshot};
use crate::names::{Head, Shard, SnapshotId};

/// The bytes of a part.
const PART: usize = 512 << 10;

/// How many seconds a snapshot is kept that nobody finishes.
const UNFINISHED: u32 = 3_600;

impl Of {
    /// Saves the parts, which nobody sees, and then the description.
    pub(super) async fn save(&self, shard: Shard, snapshot: Snapshot, bytes: &[u8]) -> Result<(), EngineError> {
        let parts = self.names.parts(shard, snapshot.id.0);
        for (at, part) in bytes.chunks(PART).enumerate() {
            let call = self.script(&scripts::PART, shard, &[]).key(parts.clone());
            self.send(&call.number(at as u64).arg(part).number(u64::from(UNFINISHED)).changes()).await?;
        }
        let count = bytes.len().div_ceil(PART) as u64;
        let Snapshot { id, at: Head { position, tag }, digest, bytes } = snapshot;
        let description = format!("{position} {tag} {digest} {bytes}");
        let call = self.script(&scripts::PUBLISH, shard, &[Part::Snapshots]).key(parts).number(id.0).number(count);
        match is_one(self.send(&call.arg(description.as_bytes()).changes()).await?)? {
            true => Ok(()),
            false => Err(EngineError::Failed("parts of the snapshot are missing: save it again".to_owned())),
        }
    }

    pub(super) async fn load(&self, shard: Shard, id: SnapshotId) -> Result<Option<Vec<u8>>, EngineError> {
        let call = self.command("HGET", shard, Part::Snapshots).number(id.0);
        let Some(description) = maybe_bytes(self.send(&call).await?)? else { return Ok(None) };
        let [.., len] = numbers::<4>(&description)?;
        let mut all = Vec::new();
        for at in 0..len.div_ceil(PART as u64) {
            let call = self.bare("HGET", self.names.slot(shard)).key(self.names.parts(shard, id.0)).number(at);
            match maybe_bytes(self.send(&call).await?)? {
                Some(part) => all.extend(part),
                // It was deleted meanwhile.
                None => return Ok(None),
            }
        }
        match all.len() as u64 == len {
            true => Ok(Some(all)),
            false => Err(EngineError::Damaged("a saved filter has another length than it should".to_owned())),
        }
    }

    pub(super) async fn newest(&self, shard: Shard) -> Result<Option<Snapshot>, EngineError> {
        let call = self.script(&scripts::NEWEST, shard, &[Part::Head, Part::Log, Part::Snapshots]);
        let mut found = list(self.send(&call).await?)?.into_iter().map(bytes);
        let (Some(id), Some(description)) = (found.next(), found.next()) else { return Ok(None) };
        let [position, tag, digest, bytes] = numbers(&description?)?;
        Ok(Some(Snapshot { id: SnapshotId(number(&id?)?), at: Head { position, tag }, digest, bytes }))
    }

    pub(super) async fn cut(&self, shard: Shard, up_to: u64) -> Result<(), EngineError> {
        let all = pairs(self.send(&self.command("HGETALL", shard, Part::Snapshots)).await?)?;
        let mut call = self.script(&scripts::CUT, shard, &[Part::Head, Part::Log, Part::Snapshots]);
        call = call.number(up_to.min(LAST));
        for (id, description) in all {
            let ([position, ..], id) = (numbers::<4>(&description)?, number(&id)?);
            if position < up_to {
                call = call.key(self.names.parts(shard, id)).number(id);
            }
        }
        self.send(&call.changes()).await.map(drop)
    }
}
