//! The pages of redb's trees.
//!
//! ```text
//! root:   pointer (8) │ checksum of the page (16) │ length (8)
//! table:  kind (1) │ length (8) │ has a root (1) │ root (32) │ has keys of one width (1) │ that width (4) │
//!         the same for values (5) │ …
//! leaf:   1 │ any │ entries (u16) │ where each key ends (u32) │ where each value ends (u32) │ keys │ values
//! branch: 2 │ any │ keys (u16) │ 4 bytes │ a checksum (16 bytes) for each child │ a pointer (8 bytes) for each child │
//!         where each key ends (u32) │ keys
//! ```
//!
//! Where all keys or values have one width, there is no list of their ends. (This is why the version of redb is fixed in
//! `Cargo.toml`.)

use super::pages::Pointer;
use xxhash_rust::xxh3::xxh3_128;

const LEAF: u8 = 1;
const BRANCH: u8 = 2;
const TABLE: u8 = 3;

/// A pointer to a page, and the page's checksum.
#[derive(Clone, Copy)]
pub(super) struct Root {
    pub(super) pointer: Pointer,
    pub(super) checksum: u128,
}

impl Root {
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Root> {
        let (pointer, rest) = bytes.split_first_chunk()?;
        Some(Root {
            pointer: Pointer(u64::from_le_bytes(*pointer)),
            checksum: u128::from_le_bytes(*rest.first_chunk()?),
        })
    }
}

/// What the leaves of a tree hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    /// Tables by name.
    OfTables,
    /// A table's entries.
    Table(Widths),
}

/// The lengths of all keys and of all values, where they are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Widths {
    key: Option<usize>,
    value: Option<usize>,
}

impl Widths {
    /// Keys and values of any length.
    pub(super) const ANY: Widths = Widths { key: None, value: None };
}

/// The root of a table, if it has entries.
fn table_root(table: &[u8]) -> Option<Option<(Root, Tree)>> {
    let width = |at: usize| {
        let (is_fixed, width) = table.get(at..at + 5)?.split_first()?;
        let width = u32::from_le_bytes(*width.first_chunk()?) as usize;
        Some((*is_fixed != 0).then_some(width))
    };
    let widths = Widths { key: width(42)?, value: width(47)? };
    let root = Root::from_bytes(table.get(10..)?)?;
    // Neither redb nor this crate makes tables of another kind.
    (table[0] == TABLE).then_some((table[9] != 0).then_some((root, Tree::Table(widths))))
}

/// A page of a tree.
#[derive(Clone, Copy)]
pub(super) struct Page<'a> {
    bytes: &'a [u8],
    tree: Tree,
}

impl<'a> Page<'a> {
    pub(super) fn new(bytes: &'a [u8], tree: Tree) -> Page<'a> {
        Page { bytes, tree }
    }

    fn widths(self) -> Widths {
        match self.tree {
            Tree::OfTables => Widths::ANY,
            Tree::Table(widths) => widths,
        }
    }

    /// `true` if the page is a branch, not a leaf.
    pub(super) fn is_branch(self) -> bool {
        self.kind() == Some(BRANCH)
    }

    /// The pages that this one leads to, and what they hold. `None` if the page makes no sense.
    pub(super) fn leads_to(self) -> Option<Vec<(Root, Tree)>> {
        match (self.kind()?, self.tree) {
            (BRANCH, tree) => Some(self.children()?.into_iter().map(|child| (child, tree)).collect()),
            (LEAF, Tree::OfTables) => {
                let tables = self.values()?.into_iter().map(table_root).collect::<Option<Vec<_>>>()?;
                Some(tables.into_iter().flatten().collect())
            }
            (LEAF, Tree::Table(_)) => Some(Vec::new()),
            _ => None,
        }
    }

    fn kind(self) -> Option<u8> {
        self.bytes.first().copied()
    }

    /// The entries of a leaf, or the keys of a branch: at least one.
    fn count(self) -> Option<usize> {
        let count = usize::from(u16::from_le_bytes(*self.bytes.get(2..)?.first_chunk()?));
        (count > 0).then_some(count)
    }

    fn number(self, at: usize) -> Option<usize> {
        Some(u32::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?) as usize)
    }

    /// The checksum of what is used of the page.
    pub(super) fn checksum(self) -> Option<u128> {
        let count = self.count()?;
        let end = match self.kind()? {
            LEAF => self.value_end(count, count - 1)?,
            BRANCH => {
                let keys = 8 + 24 * (count + 1);
                match self.widths().key {
                    Some(width) => keys.checked_add(width.checked_mul(count)?)?,
                    None => self.number(keys + 4 * (count - 1))?,
                }
            }
            _ => return None,
        };
        Some(xxh3_128(self.bytes.get(..end)?))
    }

    /// Where the last key of a leaf ends.
    fn keys_end(self, count: usize) -> Option<usize> {
        match self.widths().key {
            Some(width) => {
                let lists = if self.widths().value.is_some() { 0 } else { 4 * count };
                width.checked_mul(count)?.checked_add(4 + lists)
            }
            None => self.number(4 * count),
        }
    }

    /// Where a value of a leaf ends.
    fn value_end(self, count: usize, at: usize) -> Option<usize> {
        match self.widths().value {
            Some(width) => self.keys_end(count)?.checked_add(width.checked_mul(at + 1)?),
            None => self.number(4 + 4 * at + if self.widths().key.is_some() { 0 } else { 4 * count }),
        }
    }

    /// The values of a leaf.
    fn values(self) -> Option<Vec<&'a [u8]>> {
        let count = self.count()?;
        let mut start = self.keys_end(count)?;
        let value = |at| {
            let end = self.value_end(count, at)?;
            self.bytes.get(std::mem::replace(&mut start, end)..end)
        };
        (0..count).map(value).collect()
    }

    /// The children of a branch.
    fn children(self) -> Option<Vec<Root>> {
        let children = self.count()? + 1;
        let pointers = 8 + 16 * children;
        let child = |at| {
            let checksum = self.bytes.get(8 + 16 * at..)?.first_chunk()?;
            let pointer = self.bytes.get(pointers + 8 * at..)?.first_chunk()?;
            Some(Root { pointer: Pointer(u64::from_le_bytes(*pointer)), checksum: u128::from_le_bytes(*checksum) })
        };
        (0..children).map(child).collect()
    }
}
