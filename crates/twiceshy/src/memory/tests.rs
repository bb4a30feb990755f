use super::*;

fn key(text: &str) -> Key {
    Key::from(text.as_bytes())
}

fn memory(limits: Limits) -> Memory {
    Memory::new(limits)
}

fn queries(memory: &Memory, of: &str) -> Vec<String> {
    memory.queries_of(of.as_bytes()).map(|query| String::from_utf8(query.to_vec()).expect("text")).collect()
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

/// The bytes of all that is remembered, counted anew.
fn bytes(memory: &Memory) -> u64 {
    memory.since(0).map(|(key, query)| (key.len() + query.len()) as u64).sum()
}

#[test]
fn long_queries_leave_room_for_fewer() {
    let mut memory = memory(Limits::default());
    for number in 0..3_000 {
        memory.remember(&[key(&format!("key {number}"))], &Key::from(vec![(number % 251) as u8; 1_000]), 10);
        assert!(memory.bytes <= 1_024 * 128, "{number}");
    }
    assert_eq!(memory.bytes, bytes(&memory));
    assert!((125..=131).contains(&memory.len()), "{}", memory.len());
    // Noting forgets nothing.
    let before = memory.len();
    (0..10).for_each(|number| memory.note(&key(&format!("more {number}")), &key("query"), 10));
    assert!(memory.len() >= before && memory.bytes <= 1_024 * 128 + 1_024);
}

#[test]
fn tighter_limits_hold_at_once() {
    let mut memory = memory(Limits::default());
    for number in 0..40 {
        memory.remember(&[key(&format!("key {}", number % 10))], &key(&format!("query {number}")), 10);
    }
    memory.limit(Limits::default().per_key(1), 10);
    assert_eq!((memory.len(), memory.bytes), (10, bytes(&memory)));
    assert_eq!(queries(&memory, "key 3"), ["query 33"]);
}

/// The queries of a lesson to a table that gets these wrong, and learns those that it can.
fn taught(memory: &mut Memory, wrong: &mut Vec<Key>, can: impl Fn(&Key) -> bool) -> Vec<Key> {
    let (mut lesson, mut asked) = (Lesson::new(), Vec::new());
    while let Some(queries) = lesson.next(memory, 7, |query| wrong.iter().any(|wrong| **wrong == *query)) {
        assert!(queries.len() <= 7);
        for query in queries {
            if can(&query) {
                wrong.retain(|wrong| *wrong != query);
                lesson.fixed();
            }
            asked.push(query);
        }
    }
    asked
}

#[test]
fn a_lesson_has_the_newest_first_and_ends_when_nothing_can_be_fixed() {
    let mut memory = memory(Limits::default());
    let all: Vec<Key> = (0..100).map(|number| key(&format!("query {number}"))).collect();
    for (number, query) in all.iter().enumerate() {
        memory.remember(&[key(&format!("key {number}"))], query, 10_000);
    }
    let newest: Vec<Key> = all.iter().rev().cloned().collect();
    assert_eq!(taught(&mut memory, &mut all.clone(), |_| true), newest);
    assert_eq!(taught(&mut memory, &mut all.clone(), |_| false), newest, "one round, since nothing was fixed");
    assert!(taught(&mut memory, &mut Vec::new(), |_| true).is_empty());
    let last = all[3].clone();
    let asked = taught(&mut memory, &mut all.clone(), |query| *query == last);
    assert_eq!(asked.len(), 100 + 99, "a second round after one was fixed");
}

#[test]
fn what_is_remembered_during_a_lesson_is_asked_too() {
    let mut memory = memory(Limits::default());
    (0..20).for_each(|number| memory.remember(&[key("owl")], &key(&format!("query {number}")), 10));
    let (mut lesson, mut asked, mut more) = (Lesson::new(), 0, 5);
    while let Some(queries) = lesson.next(&memory, 3, |_| true) {
        asked += queries.len();
        if more > 0 {
            memory.remember(&[key("wren")], &key(&format!("more {more}")), 10);
            more -= 1;
        }
    }
    assert_eq!(asked, 8 + 5, "the queries that the owl still has, and the new ones");
}

#[test]
fn a_memory_is_read_back_with_its_ages_and_damage_is_an_error() {
    let mut memory = memory(Limits::default());
    for number in 0..300 {
        memory.remember(&[key(&format!("key {}", number % 100))], &key(&format!("query {number}")), 10);
    }
    let mut bytes = Vec::new();
    memory.save(&mut bytes).expect("memory");
    let load = |bytes: &[u8]| Memory::load(&mut &*bytes, Limits::default(), 10);
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
