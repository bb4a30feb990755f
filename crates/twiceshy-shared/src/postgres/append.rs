//! The transaction that appends a record, as one call of a function in the database.

use super::{PostgresEngine, bytes, word};
use crate::engine::{Append, Appended, EngineError, Entry};
use std::collections::{BTreeMap, BTreeSet};
use tokio_postgres::types::{ToSql, Type};
use twiceshy::remote::Key;

/// Entries of the index, by column.
#[derive(Default)]
struct Columns<'a> {
    generations: Vec<i32>,
    orders: Vec<i16>,
    words: Vec<i64>,
    keys: Vec<&'a [u8]>,
}

impl<'a> Columns<'a> {
    fn of(entries: &'a [Entry]) -> Columns<'a> {
        let mut columns = Columns::default();
        for entry in entries {
            for (order, of) in entry.words.iter() {
                columns.generations.push(entry.generation.0 as i32);
                columns.orders.push(i16::from(order.0));
                columns.words.push(word(of));
                columns.keys.push(&entry.key);
            }
        }
        columns
    }
}

impl PostgresEngine {
    pub(super) async fn append_record(&self, append: &Append) -> Result<Appended, EngineError> {
        let (add, remove) = (Columns::of(&append.add), Columns::of(&append.remove));
        let open_ids: Vec<i64> = append.open.iter().map(|open| open.id.0 as i64).collect();
        let open_members: Vec<i64> = append.open.iter().map(|open| open.member.0 as i64).collect();
        let open_counts: Vec<i32> = append.open.iter().map(|open| open.keys.len() as i32).collect();
        let open_keys: Vec<&[u8]> = append.open.iter().flat_map(|open| bytes(&open.keys)).collect();
        let close_ids: Vec<i64> = append.close.iter().map(|id| id.0 as i64).collect();
        // Of a key that is named twice, the last one counts. A value that is written last is deleted before, if that was asked for.
        let last: BTreeMap<&[u8], Option<&[u8]>> =
            append.values.iter().map(|(key, value)| (&**key, value.as_deref())).collect();
        let put = last.iter().filter_map(|(key, value)| Some((*key, (*value)?)));
        let (put_keys, put_values): (Vec<&[u8]>, Vec<&[u8]>) = put.unzip();
        let deleted: BTreeSet<&[u8]> =
            append.values.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| &**key).collect();
        let delete_keys: Vec<&[u8]> = deleted.into_iter().collect();
        let moved: Vec<i64> = append.moved.iter().map(|entry| *entry as i64).collect();
        let (unopened, rowless) = (bytes(&append.unopened), bytes(&append.rowless));
        let applied_by = append.applied_by.map_or(0, |member| member.0 as i64);
        let values: [&(dyn ToSql + Sync); 25] = [
            &(append.shard.0 as i32),
            &(append.after.position as i64),
            &(append.after.tag as i64),
            &(append.tag as i64),
            &append.record,
            &add.generations,
            &add.orders,
            &add.words,
            &add.keys,
            &remove.generations,
            &remove.orders,
            &remove.words,
            &remove.keys,
            &open_ids,
            &open_members,
            &open_counts,
            &open_keys,
            &close_ids,
            &put_keys,
            &put_values,
            &delete_keys,
            &unopened,
            &rowless,
            &moved,
            &applied_by,
        ];
        let rows = self.committer().query(APPEND, &append_types(), &values).await?;
        let row = rows.first().ok_or_else(|| EngineError::Damaged("an append has no outcome".to_owned()))?;
        let keys = || row.get::<_, Option<Vec<&[u8]>>>(1).unwrap_or_default().into_iter().map(Key::from).collect();
        Ok(match row.get::<_, i32>(0) {
            0 => Appended::Done(deleted_keys(append, keys())),
            1 => Appended::Moved,
            2 => Appended::Busy(keys()),
            _ => Appended::Closed,
        })
    }
}

/// The keys whose value was deleted, given those that had one before: in the order of the changes, a value may be written and then deleted.
fn deleted_keys(append: &Append, before: Vec<Key>) -> Vec<Key> {
    let (mut there, mut deleted): (BTreeSet<Key>, BTreeSet<Key>) = (before.into_iter().collect(), BTreeSet::new());
    for (key, value) in &append.values {
        if value.is_some() {
            there.insert(key.clone());
        } else if there.remove(key) {
            deleted.insert(key.clone());
        }
    }
    deleted.into_iter().collect()
}

const APPEND: &str =
    "SELECT * FROM {set}.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
    $18, $19, $20, $21, $22, $23, $24, $25)";

fn append_types() -> [Type; 25] {
    let entries = [Type::INT4_ARRAY, Type::INT2_ARRAY, Type::INT8_ARRAY, Type::BYTEA_ARRAY];
    let [generations, orders, words, keys] = entries;
    let number = Type::INT8;
    [
        Type::INT4,
        number.clone(),
        number.clone(),
        number.clone(),
        Type::BYTEA,
        generations.clone(),
        orders.clone(),
        words.clone(),
        keys.clone(),
        generations,
        orders,
        words.clone(),
        keys.clone(),
        words.clone(),
        words.clone(),
        Type::INT4_ARRAY,
        keys.clone(),
        words.clone(),
        keys.clone(),
        keys.clone(),
        keys.clone(),
        keys.clone(),
        keys,
        words,
        number,
    ]
}
