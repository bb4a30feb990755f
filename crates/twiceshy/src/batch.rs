//! Answers for many keys at a time: the memory of a group is requested before the first of it is read.

use crate::filter::Filter;
use crate::key::AsKey;

/// The keys whose memory is requested at once. Processors have ten to some dozens of such requests under way.
pub(crate) const GROUP: usize = 32;

/// Answers `keys` group by group: `prepare` computes where a key is and requests that memory, `answer` looks.
#[inline(always)]
pub(crate) fn in_groups<T: Copy>(
    keys: &[&[u8]],
    found: &mut [bool],
    nothing: T,
    prepare: impl Fn(&[u8]) -> T,
    answer: impl Fn(&[u8], T) -> bool,
) {
    let mut prepared = [nothing; GROUP];
    for (keys, found) in keys.chunks(GROUP).zip(found.chunks_mut(GROUP)) {
        prepared.iter_mut().zip(keys).for_each(|(prepared, key)| *prepared = prepare(key));
        for ((found, key), prepared) in found.iter_mut().zip(keys).zip(&prepared) {
            *found = answer(key, *prepared);
        }
    }
}

/// Calls `with` with the bytes of keys.
pub(crate) fn with_bytes<K: AsKey, T>(keys: &[K], with: impl FnOnce(&[&[u8]]) -> T) -> T {
    let held: Vec<_> = keys.iter().map(AsKey::as_key).collect();
    let bytes: Vec<&[u8]> = held.iter().map(AsRef::as_ref).collect();
    with(&bytes)
}

/// What a filter says of each key.
pub(crate) fn answers<K: AsKey>(filter: &(impl Filter + ?Sized), keys: &[K]) -> Vec<bool> {
    let mut found = vec![false; keys.len()];
    with_bytes(keys, |keys| filter.contains_batch(keys, &mut found));
    found
}
