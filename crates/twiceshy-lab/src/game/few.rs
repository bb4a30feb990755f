//! All mistakes about a few keys.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;

/// Deletes all keys but n/16. Finds n/6 mistakes, inserts every second one as soon as it is found, and names one of the
/// others.
///
/// *Why it might win.* The mistakes gather in few places. With the inserted ones, each place has half a dozen or more
/// keys that are known to share quotient and remainder. A rule that is right for a first and a second mistake is tested
/// with a fifth, on a key that was a mistake itself, next to what others left behind. Searching costs up to sixteen
/// times as many look-ups, since fewer keys are stored.
pub(super) struct Few;

impl Adversary for Few {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let mut set = notes.shuffled_set();
        let deleted = set.split_off(notes.one_in(16));
        oracle.delete_all(&deleted)?;
        let mut found = Vec::new();
        while found.len() < notes.one_in(6) {
            let Some(key) = notes.find_wrong(oracle)? else { break };
            if found.len() % 2 == 0 && oracle.room() > 0 {
                oracle.try_insert(&key)?;
            }
            found.push(key);
        }
        Ok(notes.name(oracle, found))
    }
}
