use super::*;

/// A value that empties at that many microseconds.
struct Until(u64);

impl Held for Until {
    fn empty_at(&self) -> Timestamp {
        Timestamp::from_micros(self.0)
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

const NOW: Timestamp = Timestamp::from_micros(1_000);

/// A table with a key per value, whose hash is the key.
fn table(values: &[u64]) -> Table<Until> {
    let mut table = Table::new();
    for (key, empty_at_us) in (0_u64..).zip(values) {
        table.insert(key, &key.to_be_bytes(), Until(*empty_at_us));
    }
    table
}

fn holds(table: &Table<Until>, key: u64) -> bool {
    table.find(key, &key.to_be_bytes()).is_some()
}

#[test]
fn what_has_emptied_goes_first_and_is_no_loss() {
    let mut table = table(&[5_000, 2_000, 999, 3_000]);
    assert!(table.evict_one(NOW, |_| false));
    assert_eq!((holds(&table, 2), table.len(), table.evicted()), (false, 3, 0));
}

#[test]
fn then_goes_what_would_empty_soonest_and_is_counted() {
    let mut table = table(&[5_000, 2_000, 4_000, 3_000]);
    assert!(table.evict_one(NOW, |_| false) && table.evict_one(NOW, |_| false));
    assert_eq!([0, 1, 2, 3].map(|key| holds(&table, key)), [true, false, true, false]);
    assert_eq!(table.evicted(), 2);
}

#[test]
fn what_is_pinned_stays_whatever_it_is() {
    let mut table = table(&[1, 2_000]);
    let first = 0_u64.to_be_bytes();
    assert!(table.evict_one(NOW, |key| key == first));
    assert!(!table.evict_one(NOW, |key| key == first));
    assert!(holds(&table, 0) && !holds(&table, 1));
}

#[test]
fn an_exceeded_budget_is_met_by_dropping_all_but_the_pinned() {
    let budget = Budget::of(1);
    let mut table = table(&[5_000; 100]);
    let last = 99_u64.to_be_bytes();
    table.keep_within(&budget, NOW, |key| key == last);
    assert_eq!((table.len(), holds(&table, 99)), (1, true));
}

#[test]
fn memory_is_given_back_when_keys_expire() {
    let budget = Budget::of(usize::MAX);
    let mut table = table(&vec![999; 5_000]);
    let full = table.bytes();
    table.keep_within(&budget, NOW, |_| false);
    assert_eq!(table.len(), 0, "two are swept for each one inserted");
    assert!(table.bytes() < full / 10, "{} of {full} are still held", table.bytes());
    assert!(budget.has_room_for(usize::MAX - table.bytes()), "the budget was not told");
}

#[test]
fn a_table_that_may_not_grow_makes_room_in_its_places() {
    let mut table = table(&[5_000; 100]);
    let (places, budget) = (table.map.capacity(), Budget::of(1));
    table.make_room(places - 100 + 5, NOW, &budget, |_| false);
    assert_eq!(table.len(), 95);
}

#[test]
fn replacing_a_value_adds_no_entry() {
    let mut table = table(&[5_000]);
    let bytes = table.bytes();
    table.insert(0, &0_u64.to_be_bytes(), Until(7_000));
    assert_eq!((table.len(), table.bytes()), (1, bytes));
    assert_eq!(table.get(0).map(Held::empty_at), Some(Timestamp::from_micros(7_000)));
}
