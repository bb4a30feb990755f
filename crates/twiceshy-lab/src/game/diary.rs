//! What an adversary did besides asking, for the report.

/// Sums over games; all are whole numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Diary {
    /// Keys that were tried; |Q| for `unfixable`.
    pub(super) elements: u64,
    /// Games whose search was cut short by the bound on look-ups.
    pub(super) cut_short: u64,
    /// Games in which a key was named that had stayed wrong.
    pub(super) named: u64,
    /// Those of them that were won.
    pub(super) named_wins: u64,
    /// Suspected keys, |Q_d|.
    pub(super) suspects: u64,
    /// Games that ended with too few suspects for a permutation.
    pub(super) too_few: u64,
    /// Games that ended with too many.
    pub(super) too_many: u64,
    /// Games in which no permutation was wrong throughout.
    pub(super) no_permutation: u64,
    /// Permutation rounds.
    pub(super) rounds: u64,
    /// Games with fewer permutation rounds than in the paper.
    pub(super) rounds_cut: u64,
    /// Silent moves of the frontier that `silent-probing` has seen.
    pub(super) moves_found: u64,
    /// Those that it has not seen.
    pub(super) moves_missed: u64,
    /// How often it took the frontier to have moved while it had not.
    pub(super) false_alarms: u64,
}

impl Diary {
    pub(super) fn add(&mut self, more: &Diary) {
        self.elements += more.elements;
        self.cut_short += more.cut_short;
        self.named += more.named;
        self.named_wins += more.named_wins;
        self.suspects += more.suspects;
        self.too_few += more.too_few;
        self.too_many += more.too_many;
        self.no_permutation += more.no_permutation;
        self.rounds += more.rounds;
        self.rounds_cut += more.rounds_cut;
        self.moves_found += more.moves_found;
        self.moves_missed += more.moves_missed;
        self.false_alarms += more.false_alarms;
    }
}
