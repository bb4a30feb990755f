//! A filter is used only with its own remote: not with another filter's at the same commit number, nor with that of a twin
//! that came from the same saved filter and then took other keys.

use twiceshy::error::Error;
use twiceshy::filter::Backed;
use twiceshy::hash::HashKey;
use twiceshy::remote::{
    ByHash, Commit, CommitError, Generation, Keys, Mirror, Phase, Place, Position, Remote, RemoteError, Schema,
};
use twiceshy::{AdaptiveFilter, Kind};

type Pair<R> = AdaptiveFilter<dyn Backed, R>;

/// A remote whose author knew nothing of identities.
#[derive(Clone, Debug, Default)]
struct Numbers(ByHash);

impl Keys for Numbers {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        self.0.candidates(place, found)
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        self.0.walk(generation, after, limit, found)
    }
}

impl Remote for Numbers {
    fn commit(&mut self, commit: &Commit) -> Result<(), CommitError> {
        self.0.commit(&Commit { identity: 0, ..commit.clone() })
    }

    fn sequence(&self) -> Result<u64, RemoteError> {
        self.0.sequence()
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, RemoteError> {
        self.0.in_use()
    }

    fn phase(&self) -> Result<Option<Phase>, RemoteError> {
        self.0.phase()
    }
}

fn made<R: Remote>(kind: Kind, seed: u64, remote: R) -> Pair<R> {
    let mut pair = kind.build(500, 0.1, HashKey::fixed(seed), remote).expect("an empty remote");
    (0..100u64).for_each(|key| assert!(pair.insert(&key).expect("a load that fits")));
    pair
}

/// Teaches the filter something, so that its state is not that of its last commit. (A broom filter commits this.)
fn teach<R: Remote>(pair: &mut Pair<R>) {
    for query in 10_000..10_200u64 {
        if pair.contains(&query) {
            pair.was_wrong(&query).expect("the sets agree");
        }
    }
}

/// The filter as it is saved and loaded.
fn loaded<R: Remote>(pair: &Pair<R>) -> (Box<dyn Backed>, u64) {
    let mut file = Vec::new();
    pair.save(&mut file).expect("a vector takes everything");
    pair.filter().kind().load(&mut file.as_slice()).expect("its own file")
}

fn refused<R: Remote>(pair: &Pair<R>, remote: R, why: &str) {
    let (filter, sequence) = loaded(pair);
    match AdaptiveFilter::from_parts(filter, sequence, remote) {
        Err(Error::OtherRemote) => {}
        Err(other) => panic!("{why}: {other}"),
        Ok(_) => panic!("{why}: it was accepted"),
    }
}

fn accepted<R: Remote>(pair: &Pair<R>, remote: R, why: &str) {
    let (filter, sequence) = loaded(pair);
    let again = AdaptiveFilter::from_parts(filter, sequence, remote).unwrap_or_else(|error| panic!("{why}: {error}"));
    again.validate().unwrap_or_else(|error| panic!("{why}: {error}"));
}

/// Two pairs that were one, went on with different keys, and are at the same commit.
fn forks<R: Remote + Clone>(kind: Kind, remote: R) -> [Pair<R>; 2] {
    let one = made(kind, 1, remote);
    let mut both = [one.clone(), one];
    for (pair, keys) in both.iter_mut().zip([1_000..1_050u64, 2_000..2_050]) {
        for key in keys {
            pair.insert(&key).expect("a load that fits");
        }
    }
    assert_eq!(both[0].sequence(), both[1].sequence(), "{kind}");
    both
}

#[test]
fn another_filters_remote_at_the_same_number_is_refused() {
    for kind in Kind::ALL {
        let (one, other) = (made(*kind, 1, ByHash::new()), made(*kind, 2, ByHash::new()));
        assert_eq!(one.sequence(), other.sequence());
        refused(&one, other.remote().clone(), &format!("{kind}"));
        accepted(&one, one.remote().clone(), &format!("{kind}"));
        let (one, other) = (made(*kind, 1, Numbers::default()), made(*kind, 2, Numbers::default()));
        refused(&one, other.remote().clone(), &format!("{kind}, by its hash key alone"));
        accepted(&one, one.remote().clone(), &format!("{kind}, by its hash key alone"));
    }
}

#[test]
fn the_remote_of_a_fork_at_the_same_number_is_refused() {
    for kind in Kind::ALL {
        let [mut one, other] = forks(*kind, ByHash::new());
        refused(&one, other.remote().clone(), &format!("{kind}"));
        let sequence = one.sequence();
        teach(&mut one);
        if one.sequence() == sequence {
            refused(&one, other.remote().clone(), &format!("{kind}, after it has learned"));
        }
        accepted(&one, one.remote().clone(), &format!("{kind}, after it has learned"));
        if !kind.learning_writes() {
            one.grow(2 * one.filter().cells()).expect("memory");
            refused(&one, other.remote().clone(), &format!("{kind}, after it has grown"));
        }
        accepted(&one, one.remote().clone(), &format!("{kind}, after it has grown"));
    }
}

#[test]
fn a_mirror_of_a_fork_is_refused() {
    for kind in Kind::ALL.iter().filter(|kind| kind.has_cells()) {
        // Kicks are writes of the same commit, so the numbers agree.
        let [one, other] = forks(*kind, Mirror::new());
        refused(&one, other.remote().clone(), &format!("{kind}"));
        accepted(&one, one.remote().clone(), &format!("{kind}"));
    }
}

#[test]
fn a_fork_can_neither_write_to_nor_learn_from_the_others_remote() {
    for kind in Kind::ALL {
        let [mut one, other] = forks(*kind, ByHash::new());
        *one.remote_mut() = other.remote().clone();
        let before = one.remote().len();
        assert!(matches!(one.insert(&5_000u64), Err(Error::OtherRemote | Error::Disagree)), "{kind}");
        let wrong = (10_000..20_000u64).find(|query| one.contains(query)).expect("a rate of a tenth");
        assert!(matches!(one.was_wrong(&wrong), Err(Error::OtherRemote)), "{kind}");
        assert!(matches!(one.remove(&u64::MAX), Err(Error::OtherRemote)), "{kind}");
        assert!(matches!(one.resolve(), Err(Error::OtherRemote)), "{kind}");
        assert_eq!((one.remote().len(), one.remote().sequence().expect("memory")), (before, other.sequence()));
    }
}

#[test]
fn a_recovered_or_rekeyed_filter_has_its_own_identity() {
    for kind in Kind::ALL {
        let [one, other] = forks(*kind, ByHash::new());
        let again = kind.recover(500, 0.1, HashKey::fixed(9), one.remote().clone()).expect("a whole remote");
        let twin = kind.recover(500, 0.1, HashKey::fixed(9), other.remote().clone()).expect("a whole remote");
        accepted(&again, again.remote().clone(), &format!("{kind}, recovered"));
        // A broom filter's recovery commits a batch of keys for each function in use.
        if !kind.learning_writes() || again.sequence() == twin.sequence() {
            refused(&again, twin.remote().clone(), &format!("{kind}, recovered"));
        }
        let [mut one, other] = forks(*kind, ByHash::new());
        one.rekey(HashKey::fixed(8)).expect("memory");
        accepted(&one, one.remote().clone(), &format!("{kind}, re-keyed"));
        let mut twin = other;
        twin.rekey(HashKey::fixed(8)).expect("memory");
        if one.sequence() == twin.sequence() {
            refused(&one, twin.remote().clone(), &format!("{kind}, re-keyed"));
        }
    }
}

#[test]
fn a_file_without_an_identity_is_accepted_by_its_hash_key() {
    for kind in Kind::ALL {
        let one = made(*kind, 1, ByHash::new());
        let mut file = Vec::new();
        one.save(&mut file).expect("a vector takes everything");
        file[52..60].fill(0);
        let sum = crc32fast::hash(&file[..60]);
        file[60..64].copy_from_slice(&sum.to_le_bytes());
        let load = || kind.load(&mut file.as_slice()).expect("a sealed header");
        let (filter, sequence) = load();
        let mut pair = AdaptiveFilter::from_parts(filter, sequence, one.remote().clone()).expect("its own remote");
        assert!(pair.insert(&7_777u64).expect("a load that fits"), "{kind}");
        accepted(&pair, pair.remote().clone(), &format!("{kind}, with an identity from its next commit on"));
        let (filter, sequence) = load();
        let other = made(*kind, 2, ByHash::new()).into_remote();
        assert!(matches!(AdaptiveFilter::from_parts(filter, sequence, other), Err(Error::OtherRemote)), "{kind}");
    }
}

#[test]
fn a_commit_that_follows_another_history_changes_nothing() {
    let commit = |sequence, follows, identity| Commit { sequence, follows, identity, ..Commit::default() };
    let mut remote = ByHash::new();
    remote.commit(&commit(1, 0, 7)).expect("the first");
    assert!(matches!(remote.commit(&commit(2, 8, 9)), Err(CommitError::OtherHistory)));
    assert_eq!((remote.sequence().expect("memory"), remote.identity().expect("memory")), (1, 7));
    remote.commit(&commit(2, 7, 9)).expect("it follows");
    remote.commit(&commit(3, 0, 4)).expect("who knows of no history is believed");
    assert_eq!(remote.identity().expect("memory"), 4);
}
