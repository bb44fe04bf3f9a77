use std::time::Duration;

use tidegate_core::{Key, Rate};

use super::*;

fn names() -> Names {
    Names::new(DEFAULT_PREFIX, [7; 16])
}

fn seat(home: &[&[u8]], own: &[&[u8]], limit: &Limit) -> Seat {
    names().seat(Key { home, own }.encode().unwrap().as_ref(), limit)
}

fn gcra() -> Limit {
    Limit::gcra(Rate::new(10, Duration::from_secs(1)).unwrap(), 5).unwrap()
}

fn window(length_s: u64) -> Limit {
    Limit::sliding_window(5, Duration::from_secs(length_s)).unwrap()
}

#[test]
fn a_key_has_thirty_bytes_and_one_tag() {
    let key = seat(&[b"acme{}"], &[b"limit", b"bob"], &gcra()).key;
    assert_eq!(key.len(), 30);
    assert!(key.starts_with(b"t:{") && key[7] == b'}');
    assert!(!key[3..].contains(&b'{'));
}

#[test]
fn limits_of_one_entity_are_entries_of_one_value() {
    let one = seat(&[b"acme"], &[b"a", b"bob"], &gcra());
    let other = seat(&[b"acme"], &[b"b", b"bob"], &gcra());
    assert_eq!(one.key, other.key);
    assert_ne!(one.id, other.id);
    assert_ne!(one.key, seat(&[b"acme"], &[b"a", b"eve"], &gcra()).key);
    assert_ne!(
        one.id,
        seat(&[b"acme"], &[b"a", b"bob"], &window(1)).id,
        "another algorithm is another counter"
    );
}

#[test]
fn long_windows_logs_and_slots_have_values_of_their_own() {
    let key = |limit: &Limit| seat(&[b"acme"], &[b"a"], limit).key;
    let short = key(&gcra());
    assert_eq!(key(&window(3_599)), short);
    assert_eq!(key(&window(3_600)).as_slice(), [short.as_slice(), b"l"].concat());
    assert!(
        key(&Limit::sliding_log(5, Duration::from_secs(1)).unwrap())
            .starts_with(&[short.as_slice(), b"g"].concat())
    );
    assert!(
        key(&Limit::concurrency(5, Duration::from_secs(1)).unwrap())
            .starts_with(&[short.as_slice(), b"s"].concat())
    );
}

#[test]
fn a_key_without_own_parts_and_one_with_a_long_part_have_names() {
    let long = vec![b'x'; 100_000];
    let seats = [
        seat(&[b"acme"], &[], &gcra()),
        seat(&[b"acme"], &[b""], &gcra()),
        seat(&[b"acme"], &[&long], &gcra()),
        seat(&[b"acme"], &[&long, b"bob"], &gcra()),
        seat(&[&long], &[b"a"], &gcra()),
    ];
    for (index, one) in seats.iter().enumerate() {
        assert!(seats[..index].iter().all(|other| (&other.key, other.id) != (&one.key, one.id)));
    }
}

#[test]
fn charges_of_a_plan_have_the_seats_that_they_have_by_themselves() {
    let long = Limit::sliding_window(5, Duration::from_secs(86_400)).unwrap();
    let mut plan = Plan::new();
    for (home, own, limit) in [
        ("acme", ["a", "bob"], gcra()),
        ("acme", ["b", "bob"], long),
        ("acme", ["b", "eve"], gcra()),
        ("ecma", ["b", "eve"], gcra()),
        ("acme", ["c", "eve"], Limit::concurrency(5, Duration::from_secs(1)).unwrap()),
    ] {
        plan.charge(Key { home: &[home.as_bytes()], own: &own.map(str::as_bytes) }, limit, 1).unwrap();
    }
    let alone: Vec<Seat> = plan.charges().map(|charge| names().seat(charge.key, charge.limit)).collect();
    assert!(names().seats(&plan) == alone);
}

#[test]
fn another_secret_makes_other_names() {
    let key = Key { home: &[b"acme"], own: &[b"a"] }.encode().unwrap();
    let other = Names::new(DEFAULT_PREFIX, [8; 16]).seat(key.as_ref(), &gcra());
    assert_ne!(names().seat(key.as_ref(), &gcra()).key, other.key);
    assert!(!format!("{:?}", names()).contains('7'));
}
