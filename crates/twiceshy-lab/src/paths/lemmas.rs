//! What the lemmas of 000 section 3.1 say about a stream, counted.

use super::Stream;
use super::hashed::Cell;
use super::shadow::{Hashed, Path, Shadow, Stored};
use std::collections::{HashMap, HashSet};

/// The path length from which on a path counts as long: 2^(2 − k) of all paths would have k keys, by the proof of Lemma 7.
pub(super) const LONG: usize = 12;

/// The initial false positives F_0, and their paths on C_0.
pub(super) struct Initial {
    /// The collisions on C_0: a query, and its path there.
    paths: Vec<(u32, Path)>,
    /// How many initial queries collide with a key in its first cell.
    with_key: HashMap<Stored, u64>,
    /// The numbers in `paths` of each query in F_0.
    of_query: HashMap<u32, Vec<usize>>,
    /// How many of the paths contain a cell.
    through: Vec<u32>,
    /// How many of them move a key out of it: the last cell of a path is not counted.
    out_of: Vec<u32>,
}

impl Initial {
    pub(super) fn new(shadow: &mut Shadow, asked: &[Hashed], cells: usize) -> Initial {
        let mut initial = Initial {
            paths: Vec::new(),
            with_key: HashMap::new(),
            of_query: HashMap::new(),
            through: vec![0; cells],
            out_of: vec![0; cells],
        };
        for (query, hashed) in asked.iter().enumerate() {
            for (cell, key) in shadow.collisions(hashed) {
                initial.add(query as u32, key, shadow.path(cell));
            }
        }
        initial
    }

    fn add(&mut self, query: u32, key: Stored, path: Path) {
        let last = path.cells.last().copied();
        for cell in path.distinct() {
            self.through[cell as usize] += 1;
            let is_left = Some(cell) != last || path.cells.iter().filter(|other| **other == cell).count() > 1;
            self.out_of[cell as usize] += u32::from(is_left);
        }
        *self.with_key.entry(key).or_default() += 1;
        self.of_query.entry(query).or_default().push(self.paths.len());
        self.paths.push((query, path));
    }

    /// Φ: how many initial collisions there are, as long as the key is where it was.
    fn potential(&self, shadow: &Shadow, key: Stored) -> i64 {
        if shadow.is_at_home(key) { self.with_key.get(&key).map_or(0, |count| *count as i64) } else { 0 }
    }

    fn has(&self, query: u32) -> bool {
        self.of_query.contains_key(&query)
    }

    /// Criterion 1.
    fn meets_first(&self, query: u32, hashed: &Hashed) -> bool {
        if self.has(query) { self.paths_meet(query) } else { self.is_crossed(query, hashed) }
    }

    /// The first half of Criterion 1, for queries in F_0: a path of the query on C_0 shares a cell with that of another collision.
    fn paths_meet(&self, query: u32) -> bool {
        let own = self.of_query.get(&query).into_iter().flatten();
        own.flat_map(|number| &self.paths[*number].1.cells).any(|cell| self.through[*cell as usize] > 1)
    }

    /// The second half, for the others: the query hashes to a cell on the path of another query on C_0.
    fn is_crossed(&self, query: u32, hashed: &Hashed) -> bool {
        let own = |cell: Cell| {
            let of_query = self.of_query.get(&query).into_iter().flatten();
            of_query.filter(|number| self.paths[**number].1.cells.contains(&cell)).count() as u32
        };
        hashed.cells.iter().any(|cell| self.through[*cell as usize] > own(*cell))
    }

    /// The second half as its formula has it: with the cell that a key leaves, not with the one that it moves to.
    fn is_crossed_by_formula(&self, hashed: &Hashed) -> bool {
        hashed.cells.iter().any(|cell| self.out_of[*cell as usize] > 0)
    }
}

/// One collision of one query, fixed.
pub(super) struct Fix {
    query: u32,
    pub(super) path: Path,
    /// Φ(i) − Φ(i − 1).
    change: i64,
    /// `true` if a moved key that was away from home is followed by one at home.
    breaks_lemma_2: bool,
    /// Criterion 4.
    meets_itself: bool,
}

impl Fix {
    pub(super) fn made(
        shadow: &mut Shadow,
        initial: &Initial,
        query: u32,
        hashed: &Hashed,
        cell: Cell,
        colliding: Stored,
    ) -> Fix {
        if shadow.is_hopeless(hashed, colliding) {
            // The filter leaves such a key where it is. In the paper it moves to the query's other cell.
            return Fix { query, path: Path::default(), change: 0, breaks_lemma_2: false, meets_itself: true };
        }
        let planned = shadow.path(cell);
        let mut keys = planned.moved.clone();
        let away: Vec<bool> = keys.iter().map(|key| !shadow.is_at_home(*key)).collect();
        keys.sort_unstable();
        keys.dedup();
        let potential = |shadow: &Shadow| keys.iter().map(|key| initial.potential(shadow, *key)).sum::<i64>();
        let before = potential(shadow);
        // The filter leaves a key where it is if its path leads back there. In the paper the others of the path have moved.
        let path = if planned.leads_back() { planned } else { shadow.fix(cell) };
        let change = potential(shadow) - before;
        let breaks_lemma_2 = !path.loops() && away.windows(2).any(|pair| pair[0] && !pair[1]);
        let meets_itself = path.cells.iter().skip(1).any(|cell| hashed.cells.contains(cell));
        Fix { query, path, change, breaks_lemma_2, meets_itself }
    }

    /// 1 + Φ(i) − Φ(i − 1).
    fn cost(&self) -> i64 {
        1 + self.change
    }
}

/// The counts of one stream. Each is of fixes unless it says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lemmas {
    /// Queries that were false positives, by the filter.
    pub false_positives: u64,
    /// Answers and cells in which the filter does not do what the paper's rule says.
    pub strayed: u64,
    /// Φ(0): collisions of queries with keys on C_0.
    pub potential: u64,
    /// |F_0|: queries that collide on C_0.
    pub initial: u64,
    /// Keys on the paths of all initial collisions on C_0.
    pub initial_moved: u64,
    /// Initial paths of twelve keys or more.
    pub initial_long: u64,
    /// All fixes.
    pub fixes: u64,
    /// Keys moved by them.
    pub moved: u64,
    /// Fixes that do not loop and against which Lemma 2 does not hold.
    pub broken_paths: u64,
    /// Fixes of queries outside F_0.
    pub not_initial: u64,
    /// Those of them that meet no criterion: Lemma 3 says that there are none.
    pub not_costly: u64,
    /// The same if Criterion 1 is read as its formula.
    pub not_costly_by_formula: u64,
    /// Fixes that meet Criteria 1 to 4.
    pub criteria: [u64; 4],
    /// Distinct queries that meet Criterion 1.
    pub distinct_by_first: u64,
    /// Keys moved by the fixes that meet Criterion 1.
    pub moved_by_first: u64,
    /// Costly fixes.
    pub costly: u64,
    /// Those of them that meet Criteria 2, 3 or 4.
    pub costly_by_others: u64,
    /// Their amortised cost.
    pub cost: i64,
    /// What Lemma 6 allows them: 4 + 2ε|Q|k_i/n each.
    pub allowed: f64,
    /// What Lemma 7 allows of Criterion 1: 8|F_0|²/n + 2ε|Q||F_0|/n.
    pub allowed_first: f64,
    /// Fixes that are not costly and have an amortised cost above 0: Lemma 5 says that there are none.
    pub dear: u64,
    /// Those of them that hash to a cell on another initial query's path.
    pub dear_crossed: u64,
}

impl Lemmas {
    pub(super) fn begun(stream: &Stream, initial: &Initial) -> Lemmas {
        let lengths = || initial.paths.iter().map(|(_, path)| path.moved.len());
        let count = initial.of_query.len() as f64;
        let share = 1.0 / stream.keys as f64;
        let allowed_first =
            8.0 * count * count * share + 2.0 * stream.epsilon() * stream.support as f64 * count * share;
        Lemmas {
            potential: initial.paths.len() as u64,
            initial: initial.of_query.len() as u64,
            initial_moved: lengths().sum::<usize>() as u64,
            initial_long: lengths().filter(|length| *length >= LONG).count() as u64,
            allowed_first,
            ..Lemmas::default()
        }
    }

    /// Counts the fixes. Criterion 3 needs all of them: it asks for a query that loops at any time.
    pub(super) fn conclude(&mut self, stream: &Stream, initial: &Initial, asked: &[Hashed], fixes: &[Fix]) {
        let mut looped = vec![false; 2 * stream.cells as usize];
        for fix in fixes.iter().filter(|fix| fix.path.loops()) {
            fix.path.cells.iter().for_each(|cell| looped[*cell as usize] = true);
        }
        let mut by_first = HashSet::new();
        for fix in fixes {
            let hashed = &asked[fix.query as usize];
            self.count(stream, initial, hashed, fix, &looped);
            if initial.meets_first(fix.query, hashed) {
                by_first.insert(fix.query);
            }
        }
        self.distinct_by_first = by_first.len() as u64;
    }

    fn count(&mut self, stream: &Stream, initial: &Initial, hashed: &Hashed, fix: &Fix, looped: &[bool]) {
        let length = fix.path.moved.len() as u64;
        self.fixes += 1;
        self.moved += length;
        self.broken_paths += u64::from(fix.breaks_lemma_2);
        let is_initial = initial.has(fix.query);
        let first = initial.meets_first(fix.query, hashed);
        let third = hashed.cells.iter().any(|cell| looped[*cell as usize]);
        let met = [first, fix.path.loops(), third, fix.meets_itself];
        for (count, met) in self.criteria.iter_mut().zip(met) {
            *count += u64::from(met);
        }
        let by_others = met[1..].contains(&true);
        if !is_initial {
            self.not_initial += 1;
            self.not_costly += u64::from(!first && !by_others);
            self.not_costly_by_formula += u64::from(!initial.is_crossed_by_formula(hashed) && !by_others);
        }
        self.costly_by_others += u64::from(by_others);
        if first {
            self.moved_by_first += length;
        }
        if first || by_others {
            self.costly += 1;
            self.cost += fix.cost();
            let share = stream.epsilon() * stream.support as f64 / stream.keys as f64;
            self.allowed += 4.0 + 2.0 * share * length as f64;
        } else if fix.cost() > 0 {
            self.dear += 1;
            self.dear_crossed += u64::from(initial.is_crossed(fix.query, hashed));
        }
    }

    /// Adds the counts of another stream.
    pub fn add(&mut self, more: &Lemmas) {
        self.false_positives += more.false_positives;
        self.strayed += more.strayed;
        self.potential += more.potential;
        self.initial += more.initial;
        self.initial_moved += more.initial_moved;
        self.initial_long += more.initial_long;
        self.fixes += more.fixes;
        self.moved += more.moved;
        self.broken_paths += more.broken_paths;
        self.not_initial += more.not_initial;
        self.not_costly += more.not_costly;
        self.not_costly_by_formula += more.not_costly_by_formula;
        for (count, more) in self.criteria.iter_mut().zip(more.criteria) {
            *count += more;
        }
        self.distinct_by_first += more.distinct_by_first;
        self.moved_by_first += more.moved_by_first;
        self.costly += more.costly;
        self.costly_by_others += more.costly_by_others;
        self.cost += more.cost;
        self.allowed += more.allowed;
        self.allowed_first += more.allowed_first;
        self.dear += more.dear;
        self.dear_crossed += more.dear_crossed;
    }
}
