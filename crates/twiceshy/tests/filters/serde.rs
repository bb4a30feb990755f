//! What users keep can be written down and read again, also by another version.

use twiceshy::{AdaptiveFilter, Kind, cuckoo, quotient};

#[test]
fn statistics_come_back_and_a_missing_field_is_zero() {
    let options = quotient::TelescopingFilter::with_slots(100, 4);
    let mut filter =
        options.build(twiceshy::HashKey::fixed(1), twiceshy::remote::ByHash::new()).expect("a small filter");
    (0..50u32).for_each(|key| assert!(filter.insert(&key).expect("there is room")));
    let stats = filter.filter().stats();
    let text = serde_json::to_string(&stats).expect("numbers");
    assert!(text.contains("\"insertions\":50"), "{text}");
    assert_eq!(serde_json::from_str::<quotient::Stats>(&text).expect("what was written"), stats);
    let other: cuckoo::Stats = serde_json::from_str("{\"removals\":3}").expect("a map");
    assert_eq!((other.removals, other.insertions), (3, 0));
    assert!(serde_json::from_str::<quotient::BroomStats>("7").is_err());
}

#[test]
fn a_kind_is_its_name() {
    for kind in Kind::ALL {
        let text = serde_json::to_string(kind).expect("a name");
        assert_eq!(text, format!("\"{kind}\""));
        assert_eq!(serde_json::from_str::<Kind>(&text).expect("what was written"), *kind);
    }
    assert!(serde_json::from_str::<Kind>("\"bloom\"").is_err());
    assert!(AdaptiveFilter::of(Kind::Broom, 10, 0.1).is_ok());
}
