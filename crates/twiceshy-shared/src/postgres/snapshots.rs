//! Saved filters, in pieces: a piece does not hold up other requests for long.

use super::{PostgresEngine, head};
use crate::engine::{EngineError, Snapshot};
use crate::names::{Shard, SnapshotId};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

/// The bytes of a piece.
const CHUNK: usize = 1 << 20;

impl PostgresEngine {
    /// Saves the pieces, which nobody sees, and then the row that shows them.
    pub(super) async fn save_chunks(&self, shard: Shard, snapshot: Snapshot, bytes: &[u8]) -> Result<(), EngineError> {
        let Snapshot { id, at, digest, bytes: len } = snapshot;
        let (shard, id, position) = (shard.0 as i32, id.0 as i64, at.position as i64);
        let number = Type::INT8;
        let text = "INSERT INTO {set}.chunk (shard, id, position, number, bytes) VALUES ($1, $2, $3, $4, $5)";
        for (at, chunk) in bytes.chunks(CHUNK).enumerate() {
            let types = [Type::INT4, number.clone(), number.clone(), Type::INT4, Type::BYTEA];
            self.committer().query(text, &types, &[&shard, &id, &position, &(at as i32), &chunk]).await?;
        }
        // A cut may have deleted pieces meanwhile.
        let text = "INSERT INTO {set}.snapshot (shard, id, position, tag, digest, bytes) SELECT $1, $2, $3, $4, $5, $6
            WHERE (SELECT count(*) FROM {set}.chunk c WHERE c.shard = $1 AND c.id = $2) = $7 RETURNING id";
        let types =
            [Type::INT4, number.clone(), number.clone(), number.clone(), number.clone(), number.clone(), number];
        let (tag, digest, len) = (at.tag as i64, digest as i64, len as i64);
        let count = bytes.len().div_ceil(CHUNK) as i64;
        let values: [&(dyn ToSql + Sync); 7] = [&shard, &id, &position, &tag, &digest, &len, &count];
        match self.committer().query(text, &types, &values).await?.is_empty() {
            false => Ok(()),
            true => Err(EngineError::Failed("parts of the snapshot are missing: save it again".to_owned())),
        }
    }

    pub(super) async fn load_chunks(&self, shard: Shard, id: SnapshotId) -> Result<Option<Vec<u8>>, EngineError> {
        let (shard, id) = (shard.0 as i32, id.0 as i64);
        let text = "SELECT bytes FROM {set}.snapshot WHERE shard = $1 AND id = $2";
        let rows = self.reader.query(text, &[Type::INT4, Type::INT8], &[&shard, &id]).await?;
        let Some(len) = rows.first().map(|row| row.get::<_, i64>(0) as u64) else { return Ok(None) };
        let mut all = Vec::new();
        for number in 0..len.div_ceil(CHUNK as u64) {
            let text = "SELECT bytes FROM {set}.chunk WHERE shard = $1 AND id = $2 AND number = $3";
            let types = [Type::INT4, Type::INT8, Type::INT4];
            let rows = self.reader.query(text, &types, &[&shard, &id, &(number as i32)]).await?;
            // It was deleted meanwhile.
            let Some(row) = rows.first() else { return Ok(None) };
            all.extend_from_slice(row.get::<_, &[u8]>(0));
        }
        match all.len() as u64 == len {
            true => Ok(Some(all)),
            false => Err(EngineError::Damaged("a saved filter has another length than it should".to_owned())),
        }
    }

    pub(super) async fn newest_snapshot(&self, shard: Shard) -> Result<Option<Snapshot>, EngineError> {
        let text = "SELECT n.position, n.tag, n.id, n.digest, n.bytes FROM {set}.snapshot n JOIN {set}.shard s ON s.id = n.shard
            WHERE n.shard = $1 AND (n.position = s.cut_position AND n.tag = s.cut_tag OR EXISTS (
                SELECT 1 FROM {set}.log l WHERE l.shard = n.shard AND l.position = n.position AND l.tag = n.tag))
            ORDER BY n.position DESC LIMIT 1";
        let rows = self.reader.query(text, &[Type::INT4], &[&(shard.0 as i32)]).await?;
        let number = |row: &Row, at: usize| row.get::<_, i64>(at) as u64;
        let snapshot = |row: &Row| Snapshot {
            id: SnapshotId(number(row, 2)),
            at: head(row, 0),
            digest: number(row, 3),
            bytes: number(row, 4),
        };
        Ok(rows.first().map(snapshot))
    }
}
