//! Every invariant of a table of a full-key cuckoo filter, checked against its remote.

use super::fingerprint::Rule;
use super::local::Local;
use super::matching::Parts;
use crate::remote::{CellId, Key, Keys};
use std::rc::Rc;

/// The first thing that is wrong with a table that must hold these keys, in words.
pub(crate) fn check_table<R: Rule>(local: &Local<R>, stored: &[Key], keys: &dyn Keys) -> Result<(), String> {
    if local.keys != stored.len() as u64 {
        return Err(format!("the filter counts {} keys, the remote {}", local.keys, stored.len()));
    }
    let occupied = local.occupied();
    if occupied != local.keys + local.orphans {
        return Err(format!("{occupied} cells are occupied by {} keys and {} orphans", local.keys, local.orphans));
    }
    let mut parts = Parts::default();
    for key in stored {
        let located = Rc::new(local.locate(key.clone()));
        let found: Vec<CellId> = local.cells_hit(&local.hits(key)).collect();
        if found.is_empty() {
            return Err(format!("the stored key {:02x?} is not found", short(key)));
        }
        if keys.knows_cells() {
            check_mirrored(local, key, &found, keys)?;
        }
        parts.add(located, found);
    }
    if parts.match_all() { Ok(()) } else { Err("the keys cannot all have a cell of their own".into()) }
}

fn check_mirrored<R: Rule>(local: &Local<R>, key: &Key, found: &[CellId], keys: &dyn Keys) -> Result<(), String> {
    let mut owned = 0;
    for cell in found {
        let asked = keys.candidates(&local.place(*cell), &mut |candidate| owned += u32::from(*candidate == **key));
        asked.map_err(|error| error.to_string())?;
    }
    if owned == 1 {
        Ok(())
    } else {
        Err(format!("the mirror has the key {:02x?} in {owned} matching cells", short(key)))
    }
}

fn short(key: &[u8]) -> &[u8] {
    &key[..key.len().min(16)]
}
