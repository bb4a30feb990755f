//! A saved broom filter, field by field.

use crate::hostile::parts::{Fields, key};
use crate::hostile::shifted::Shifted;
use std::sync::OnceLock;
use twiceshy::AdaptiveFilter;
use twiceshy::hash::{HashKey, HashKind};
use twiceshy::persist::Writer;
use twiceshy::quotient::{BroomFilter, BroomForm};
use twiceshy::remote::{ByHash, Commit, Frontier, Generation, OrderWords, Remote, Schema, Write};
use twiceshy::testing::saved;

pub(crate) const BROOM: u16 = 10;
pub(crate) const SLOTS: u64 = 200;
pub(crate) const KEYS: u64 = 170;

/// The bytes of a block's spilled strings.
pub(crate) const SPILLED: usize = 8 + 64 * 9;
/// The bytes of a block's strings that are not spilled.
pub(crate) const GROUP: usize = 24;
pub(crate) const GHOST: usize = 23;
/// The bytes of a hash that the yard's buckets had no room for.
pub(crate) const OVERFLOWN: usize = 16;

/// The form and the width of each sound file.
pub(crate) const SHAPES: [(BroomForm, u32); 4] =
    [(BroomForm::TwoLevels, 5), (BroomForm::TwoLevels, 2), (BroomForm::BackYard, 9), (BroomForm::BackYard, 2)];

/// The strings of 64 slots without bits.
pub(crate) const NO_BITS: [u64; 3] = [u64::MAX, 0, 0];

/// Every field of a saved broom filter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Payload {
    pub(crate) sequence: u64,
    pub(crate) apart: u8,
    pub(crate) slots: u64,
    /// Those of the table that keys of the new function are in.
    pub(crate) next_slots: u64,
    pub(crate) width: u8,
    pub(crate) signature: u8,
    pub(crate) levels: u8,
    pub(crate) c: u8,
    pub(crate) by_rebuild: u8,
    pub(crate) old: Function,
    pub(crate) new: Function,
    pub(crate) frontier: u64,
    pub(crate) generation: u32,
    pub(crate) keys: u64,
    pub(crate) debt: u64,
    pub(crate) wants_rebuild: u8,
    pub(crate) tables: Vec<Table>,
    pub(crate) yard: Vec<u8>,
    pub(crate) overflow: Vec<u8>,
    pub(crate) ghosts: Vec<u8>,
    /// The same of the other table, where there is one.
    pub(crate) next: Option<Next>,
}

/// The table that keys go to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Next {
    pub(crate) tables: Vec<Table>,
    pub(crate) yard: Vec<u8>,
    pub(crate) overflow: Vec<u8>,
    pub(crate) ghosts: Vec<u8>,
}

/// A hash function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Function {
    pub(crate) kind: u8,
    pub(crate) key: Vec<u8>,
}

/// A level.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) blocks: Vec<u8>,
    pub(crate) rests: Vec<u8>,
    pub(crate) groups: Vec<u8>,
    pub(crate) spilled: Vec<u8>,
}

impl Function {
    fn read(from: &mut Fields) -> Function {
        Function { kind: from.byte(), key: from.bytes() }
    }

    fn write(&self, out: &mut Writer) {
        out.u8(self.kind);
        out.bytes(self.key.clone());
    }

    fn hash_key(&self) -> HashKey {
        let kind = if self.kind == 1 { HashKind::SipHash13 } else { HashKind::Xxh3 };
        HashKey::from_bytes(kind, self.key.clone().try_into().expect("the file was loaded"))
    }
}

impl Table {
    fn read(from: &mut Fields) -> Table {
        Table { blocks: from.bytes(), rests: from.bytes(), groups: from.bytes(), spilled: from.bytes() }
    }

    fn write<'a>(&'a self, out: &mut Writer<'a>) {
        [&self.blocks, &self.rests, &self.groups, &self.spilled].into_iter().for_each(|bytes| out.bytes(&bytes[..]));
    }

    /// One that holds nothing, with all sizes right.
    fn empty(slots: u64, width: u8, signature: u8) -> Table {
        let blocks = (slots + (slots * 11).isqrt().clamp(1, 896)).div_ceil(64) as usize;
        Table {
            blocks: vec![0; blocks * (17 + 8 * usize::from(signature))],
            rests: vec![0; blocks * 8 * usize::from(width.saturating_sub(signature))],
            groups: NO_BITS.map(u64::to_le_bytes).concat().repeat(blocks),
            spilled: vec![],
        }
    }

    /// How many blocks there are.
    pub(crate) fn len(&self) -> usize {
        self.groups.len() / GROUP
    }

    pub(crate) fn stride(&self) -> usize {
        self.blocks.len() / self.len()
    }

    pub(crate) fn is_spilled(&self, block: usize) -> bool {
        self.groups[block * GROUP..][..GROUP] == [0; GROUP]
    }
}

impl Next {
    fn read(levels: u8, from: &mut Fields) -> Next {
        Next {
            tables: (0..levels).map(|_| Table::read(from)).collect(),
            yard: from.bytes(),
            overflow: from.bytes(),
            ghosts: from.bytes(),
        }
    }
}

impl Payload {
    pub(crate) fn read(file: &[u8]) -> Payload {
        let mut from = Fields(file);
        let header = from.take(64);
        assert_eq!(Fields(&header[10..12]).number(2), u64::from(BROOM));
        let mut read = Payload {
            sequence: Fields(&header[24..32]).number(8),
            apart: from.byte(),
            slots: from.number(8),
            next_slots: from.number(8),
            width: from.byte(),
            signature: from.byte(),
            levels: from.byte(),
            c: from.byte(),
            by_rebuild: from.byte(),
            old: Function::read(&mut from),
            new: Function::read(&mut from),
            frontier: from.number(8),
            generation: from.number(4) as u32,
            keys: from.number(8),
            debt: from.number(8),
            wants_rebuild: from.byte(),
            tables: vec![],
            yard: vec![],
            overflow: vec![],
            ghosts: vec![],
            next: None,
        };
        let first = Next::read(read.levels, &mut from);
        (read.tables, read.yard, read.overflow, read.ghosts) = (first.tables, first.yard, first.overflow, first.ghosts);
        read.next = (read.apart == 1).then(|| Next::read(read.levels, &mut from));
        assert!(from.0.is_empty() && read.forge()[64..] == file[64..], "these are not all fields");
        read
    }

    /// A container with these fields and checksums that agree.
    pub(crate) fn forge(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.u8(self.apart);
        out.u64(self.slots);
        out.u64(self.next_slots);
        [self.width, self.signature, self.levels, self.c, self.by_rebuild].into_iter().for_each(|byte| out.u8(byte));
        self.old.write(&mut out);
        self.new.write(&mut out);
        out.u64(self.frontier);
        out.u32(self.generation);
        out.u64(self.keys);
        out.u64(self.debt);
        out.u8(self.wants_rebuild);
        self.tables.iter().for_each(|table| table.write(&mut out));
        [&self.yard, &self.overflow, &self.ghosts].into_iter().for_each(|bytes| out.bytes(&bytes[..]));
        if let Some(next) = &self.next {
            next.tables.iter().for_each(|table| table.write(&mut out));
            [&next.yard, &next.overflow, &next.ghosts].into_iter().for_each(|bytes| out.bytes(&bytes[..]));
        }
        let mut file = Vec::new();
        out.finish(BROOM, self.sequence, &mut file).expect("a vector takes everything");
        file
    }

    /// A filter that has all there can be: two functions and a frontier, bits, a spilled block, ghosts, keys in the yard.
    pub(crate) fn sound(shape: usize) -> Payload {
        static SOUND: [OnceLock<Payload>; SHAPES.len()] = [const { OnceLock::new() }; SHAPES.len()];
        SOUND[shape].get_or_init(|| Payload { sequence: 1, ..Payload::read(&taught(SHAPES[shape])) }).clone()
    }

    pub(crate) fn all_sound() -> impl Iterator<Item = Payload> {
        (0..SHAPES.len()).map(Payload::sound)
    }

    /// A filter without keys, of any shape.
    pub(crate) fn empty(slots: u64, width: u8, signature: u8, levels: u8) -> Payload {
        let second = Table::empty(slots / 64 + 64, (width + 4).min(32), (width + 4).min(32));
        let share = (-f64::from(signature)).exp2() + 1.0 / 200.0;
        let buckets = (slots as f64 * share * 2.0 / 8.0) as usize + 4;
        Payload {
            slots,
            next_slots: slots,
            width,
            signature,
            levels,
            keys: 0,
            tables: [Table::empty(slots, width, signature), second].into_iter().take(levels.into()).collect(),
            yard: if levels == 1 && width <= 16 { vec![0; buckets * 64] } else { vec![] },
            overflow: vec![],
            ghosts: vec![],
            ..Payload::sound(0)
        }
    }

    /// Its table as the one that keys go to.
    pub(crate) fn as_next(&self) -> Next {
        let Payload { tables, yard, overflow, ghosts, .. } = self.clone();
        Next { tables, yard, overflow, ghosts }
    }

    /// In the second level what another filter has in its first.
    pub(crate) fn with_second_level(mut self, keys: u64) -> Payload {
        let slots = self.slots / 64 + 64;
        let options = BroomFilter::with_slots(slots, u32::from(self.width) + 4).form(BroomForm::TwoLevels);
        let mut pair = options.build(HashKey::fixed(8), ByHash::new()).expect("options that can be");
        for number in 0..keys {
            pair.insert(&key(number)).expect("a load that fits");
        }
        self.tables[1] = Payload::read(&saved(pair.filter())).tables.swap_remove(0);
        self.keys += keys;
        self
    }

    /// A remote in the generations and at the commit that the file names, with these keys, and with this frontier.
    pub(crate) fn remote(&self, keys: u64, frontier: u64) -> Shifted<ByHash> {
        let ages = [(self.old.hash_key(), self.generation), (self.new.hash_key(), self.generation.saturating_add(1))];
        let ages = ages.map(|(hash, generation)| (hash, Generation(generation)));
        let orders = self.levels + 1;
        let schema = |hash| Schema { hash, orders, cells: self.slots, cells_per_bucket: 1 };
        let mut writes: Vec<Write> =
            ages.map(|(hash, generation)| Write::Begin { generation, schema: schema(hash) }).into();
        let position = |hash: HashKey, key: &[u8]| hash.words(key).word(0).rotate_left(32).min(u64::MAX - 1);
        for key in (0..keys).map(key) {
            let (hash, generation) = ages[usize::from(position(ages[0].0, &key) < frontier)];
            let mut words: Vec<u64> = [0, 1 << 32].map(|first| hash.words(&key).word(first)).into();
            words.truncate(self.levels.into());
            words.push(position(hash, &key));
            let words = OrderWords::new(&words);
            writes.push(Write::Add { generation, key: key[..].into(), words, cell: None });
        }
        writes.push(Write::Frontier { at: Frontier(frontier) });
        let mut inner = ByHash::new();
        inner.commit(&Commit { sequence: 1, writes, ..Commit::default() }).expect("two generations can begin");
        Shifted { inner, by: self.sequence.wrapping_sub(1) }
    }
}

/// With two levels bits are reclaimed by rebuilds, so that they pile up; half of one makes two functions.
fn taught((form, width): (BroomForm, u32)) -> Vec<u8> {
    let options = BroomFilter::with_slots(SLOTS, width).form(form);
    let options = if form == BroomForm::TwoLevels { options.reclaim_by_rebuild() } else { options };
    let mut pair = options.build(HashKey::fixed(5), ByHash::new()).expect("options that can be");
    for number in 0..KEYS {
        pair.insert(&key(number)).expect("a load that fits");
    }
    let teach = |pair: &mut AdaptiveFilter<BroomFilter>, from: u64, mistakes: usize| {
        for query in (from..).map(key).take(mistakes << width) {
            pair.was_wrong(&query).expect("the sets agree");
        }
    };
    teach(&mut pair, 10_000, 150);
    for number in (0..KEYS).step_by(9) {
        pair.remove(&key(number)).expect("the sets agree");
        pair.insert(&key(number)).expect("there was room before");
    }
    if form == BroomForm::TwoLevels {
        pair.begin_rekey(HashKey::fixed(6)).expect("the sets agree");
        pair.rebuild_step(KEYS as usize / 2).expect("there is room");
        teach(&mut pair, 1_000_000, 150);
    }
    let stats = pair.filter().stats();
    assert!(stats.ghosts > 0 && stats.adaptivity_bits > 10, "{form:?}, {width} bits: {stats:?}");
    match form {
        BroomForm::TwoLevels => assert!(stats.spilled_groups > 0, "{width} bits: {stats:?}"),
        // Remainders of two bits are signatures as a whole.
        BroomForm::BackYard => assert_eq!(stats.second_level > 0, width > 2, "{width} bits: {stats:?}"),
    }
    assert!(pair.filter().frontier() > Frontier::START, "{form:?}, {width} bits");
    saved(pair.filter())
}
