use super::*;

fn key(text: &str) -> Key {
    Key::from(text.as_bytes())
}

fn memory(limits: Limits) -> Memory {
    Memory::new(HashKey::fixed(1), limits)
}

fn queries(memory: &Memory, of: &str) -> Vec<String> {
    memory.queries_of(&key(of)).map(|query| String::from_utf8(query.to_vec()).expect("text")).collect()
}

#[test]
fn queries_are_remembered_for_every_key_and_once() {
    let mut memory = memory(Limits::default());
    memory.remember(&[key("owl"), key("wren")], &key("crow"), 10);
    memory.remember(&[key("owl")], &key("crow"), 10);
    memory.remember(&[key("owl")], &key("kite"), 10);
    assert_eq!(memory.len(), 3);
    assert_eq!(queries(&memory, "owl"), ["crow", "kite"]);
    assert_eq!(queries(&memory, "wren"), ["crow"]);
    assert_eq!(queries(&memory, "crow"), [""; 0]);
}

#[test]
fn the_oldest_goes_first_and_a_key_has_only_so_many() {
    let mut memory = memory(Limits::default().per_key(2));
    for query in ["a", "b", "a", "c"] {
        memory.remember(&[key("owl")], &key(query), 10);
        assert_eq!(memory.len() as usize, queries(&memory, "owl").len());
    }
    // "a" was asked again, so "b" was the oldest.
    assert_eq!(queries(&memory, "owl"), ["a", "c"]);
    for number in 0..2_000 {
        memory.remember(&[key(&format!("key {number}"))], &key("q"), 10);
    }
    assert_eq!(memory.len(), 1_024);
    assert_eq!(queries(&memory, "owl"), [""; 0]);
    assert_eq!(queries(&memory, "key 975"), [""; 0]);
    assert_eq!(queries(&memory, "key 976"), ["q"]);
    assert_eq!(memory.taken_for[&key("q")].len(), 1_024);
}

#[test]
fn long_queries_and_a_memory_that_is_off_hold_nothing() {
    let mut memory = memory(Limits::default());
    memory.remember(&[key("owl")], &Key::from(vec![7; 1_025]), 10);
    memory.remember(&[key("owl")], &key("owl"), 10);
    assert!(memory.is_empty());
    memory.remember(&[key("owl")], &Key::from(vec![7; 1_024]), 10);
    assert_eq!(memory.len(), 1);
    memory.limit(Limits::OFF, 10);
    assert!(memory.is_empty());
    memory.remember(&[key("owl")], &key("crow"), 10);
    assert!(memory.is_empty());
}

#[test]
fn a_query_that_is_inserted_takes_over_what_it_was_mistaken_for() {
    let mut memory = memory(Limits::default());
    memory.remember(&[key("owl")], &key("crow"), 10);
    memory.remember(&[key("owl")], &key("kite"), 10);
    memory.inserted(&key("finch"), 10);
    assert_eq!(memory.len(), 2);
    memory.inserted(&key("crow"), 11);
    assert_eq!(queries(&memory, "crow"), ["kite", "owl"]);
    assert_eq!(queries(&memory, "owl"), ["crow", "kite"]);
}

#[test]
fn keys_are_in_the_order_of_a_walk_under_any_hash_key() {
    let mut memory = memory(Limits::default());
    for number in 0..500 {
        memory.remember(&[key(&format!("key {number}"))], &key(&format!("query {number}")), 10_000);
    }
    for hash in [HashKey::fixed(1), HashKey::fixed(2)] {
        memory.rekey(hash);
        let word = |key: &Key| hash.words(key).word(0);
        let all: Vec<u64> = memory.queries_in(0..=u64::MAX).map(|(key, _)| word(key)).collect();
        assert!(all.len() == 500 && all.is_sorted());
        let low = memory.queries_in(0..=u64::MAX / 2).count();
        assert_eq!(low, all.iter().filter(|word| **word <= u64::MAX / 2).count());
    }
    let mut numbers = Vec::new();
    while let Some((number, _)) = memory.before(numbers.last().copied(), 1).next() {
        numbers.push(number);
    }
    assert!(numbers.len() == 500 && numbers.is_sorted_by(|a, b| a > b), "the newest first");
    // The ages have followed.
    memory.limit(Limits::one_for(u64::MAX).per_key(1), 0);
    for number in 500..1_100 {
        memory.remember(&[key(&format!("key {number}"))], &key("query"), 0);
    }
    assert_eq!(memory.len(), 1_024);
    assert_eq!(queries(&memory, "key 75"), [""; 0]);
    assert_eq!(queries(&memory, "key 76"), ["query 76"]);
}

#[test]
fn a_memory_is_read_back_with_its_ages_and_damage_is_an_error() {
    let mut memory = memory(Limits::default());
    for number in 0..300 {
        memory.remember(&[key(&format!("key {}", number % 100))], &key(&format!("query {number}")), 10);
    }
    let mut bytes = Vec::new();
    memory.save(&mut bytes).expect("memory");
    let load = |bytes: &[u8]| Memory::load(&mut &*bytes, HashKey::fixed(2), Limits::default(), 10);
    let again = load(&bytes).expect("what was saved");
    assert_eq!(again.len(), 300);
    assert_eq!(queries(&again, "key 7"), ["query 7", "query 107", "query 207"]);
    for at in (0..bytes.len()).step_by(97) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        assert!(load(&damaged).is_err(), "byte {at}");
        assert!(load(&bytes[..at]).is_err(), "{at} bytes");
    }
}
