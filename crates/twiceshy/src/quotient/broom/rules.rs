//! The rules that the broom filter's promise rests on, each with a switch for tests.

/// A rule of the broom filter: see `docs/broom.md`. Tests turn off one at a time and show that an attack then succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), expect(unreachable_pub, reason = "only tests name rules"))]
pub enum BroomRule {
    /// A removed key leaves a ghost of its adaptivity bits (001 section 4.3).
    RemovalGhosts,
    /// A new key takes bits up to the first that differs from each ghost of its base, of either age. Without it, only the
    /// bits of ghosts of its own age that it agrees with.
    FirstDifference,
    /// A mistake about a fingerprint that already has adaptivity bits leaves these bits as a ghost of the query's age.
    SecondMistake,
    /// The frontier moves in an order by hash and by a share of the range. Without it, it moves in the order of the keys'
    /// bytes and by a number of keys.
    HashOrder,
    /// A filter that loses what it has learned, because its table or its hash key is replaced, takes new functions.
    NewFunctions,
    /// Whether a key is refused depends only on the number of keys.
    RoomForAll,
    /// A new key that matches a stored one is told apart from it for as long as its function lasts: it takes adaptivity bits
    /// in the level, or leaves a ghost if there is only room in the back yard. Without it, it goes to the yard as a whole
    /// hash, and nothing is remembered (001 section 5.4).
    YardGhosts,
}

#[cfg(feature = "testing")]
impl BroomRule {
    /// All rules.
    pub const ALL: [BroomRule; 7] = [
        BroomRule::RemovalGhosts,
        BroomRule::FirstDifference,
        BroomRule::SecondMistake,
        BroomRule::HashOrder,
        BroomRule::NewFunctions,
        BroomRule::RoomForAll,
        BroomRule::YardGhosts,
    ];
}

/// Which rules a filter keeps: all of them, outside tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    #[cfg(feature = "testing")]
    off: u8,
}

impl Rules {
    /// `true` if the filter keeps a rule.
    #[inline(always)]
    pub(crate) fn keep(self, rule: BroomRule) -> bool {
        #[cfg(feature = "testing")]
        return self.off & 1 << rule as u8 == 0;
        #[cfg(not(feature = "testing"))]
        {
            let _ = rule;
            true
        }
    }

    /// The same rules except one.
    #[cfg(feature = "testing")]
    pub(crate) fn without(self, rule: BroomRule) -> Rules {
        Rules { off: self.off | 1 << rule as u8 }
    }
}
