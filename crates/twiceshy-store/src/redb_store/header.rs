//! The header of a redb file.
//!
//! ```text
//! header:      redb's magic (9) │ flags (1) │ 2 │ sizes (20) │ … │ at 64 and 192: two commit slots (128 each)
//! commit slot: version (1) │ has user's tables (1) │ has redb's own tables (1) │ 5 │ root of the user's (32) │
//!              root of redb's own (32) │ … │ at 112: checksum of all before it (16)
//! ```
//!
//! (This is why the version of redb is fixed in `Cargo.toml`.)

use super::tree::Root;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_128;

/// The bytes of the header that are used.
pub(super) const HEADER: usize = 320;

/// A byte of flags.
const GOD_BYTE: usize = 9;
/// The second slot has the last commit.
const SECOND_SLOT: u8 = 1;
/// The file is open, or was not closed properly.
const RECOVERY_REQUIRED: u8 = 2;
/// The last commit was synced twice. Then redb trusts the file and does not repair it, not even after a crash.
const TRUSTED: u8 = 4;

const SLOTS: usize = 64;
const SLOT: usize = 128;
const HAS_USER: usize = 1;
const HAS_OWN: usize = 2;
const USER: usize = 8;
const OWN: usize = 40;
const SLOT_CHECKSUM: usize = 112;

/// `true` if the file was closed properly.
pub(super) fn is_clean(header: &[u8]) -> bool {
    header.get(GOD_BYTE).is_some_and(|flags| flags & RECOVERY_REQUIRED == 0)
}

/// Where the trees of the last commit begin: trees of tables.
pub(super) struct Roots {
    /// The user's tables.
    pub(super) user: Option<Root>,
    /// redb's own tables.
    pub(super) own: Option<Root>,
}

/// The trees of the last commit, if redb trusts them. Otherwise it refuses the file, or compares all checksums and may go
/// back to an earlier commit.
pub(super) fn trusted_roots(header: &[u8]) -> Option<Roots> {
    let flags = *header.get(GOD_BYTE)?;
    let (slot, checksum) = header.get(last_slot(flags))?.split_at(SLOT_CHECKSUM);
    if flags & TRUSTED == 0 || checksum != xxh3_128(slot).to_le_bytes() {
        return None;
    }
    let root = |has: usize, at: usize| if slot[has] == 0 { None } else { Root::from_bytes(&slot[at..]) };
    Some(Roots { user: root(HAS_USER, USER), own: root(HAS_OWN, OWN) })
}

/// Changes a header that was read, so that redb finds no tables of its own. It rebuilds them then, if all checksums of the
/// user's tables are right.
pub(super) fn hide_own_tables(header: &mut [u8]) {
    if trusted_roots(header).is_none() {
        return;
    }
    let range = last_slot(header[GOD_BYTE]);
    let (slot, checksum) = header[range].split_at_mut(SLOT_CHECKSUM);
    slot[HAS_OWN] = 0;
    checksum.copy_from_slice(&xxh3_128(slot).to_le_bytes());
}

fn last_slot(flags: u8) -> Range<usize> {
    let start = SLOTS + if flags & SECOND_SLOT == 0 { 0 } else { SLOT };
    start..start + SLOT
}
