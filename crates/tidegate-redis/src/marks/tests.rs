use std::collections::HashMap;
use std::ops::Range;

use super::{Found, Marks, Shard};
use crate::client::slots::Slots;
use crate::client::slots::slot_of_key;

/// Servers that hold marks by slot, and can lose or move them.
#[derive(Default)]
struct World {
    servers: Vec<(usize, Range<u16>)>,
    written: HashMap<(usize, u16), String>,
    is_away: Vec<usize>,
    next: u32,
}

impl World {
    /// Servers of one store, each with these slots.
    fn of(slots: &[Range<u16>]) -> Self {
        Self { servers: slots.iter().map(|slots| (0, slots.clone())).collect(), ..Self::default() }
    }

    /// The servers that a node finds to have lost their counters.
    fn look(&mut self, marks: &mut Marks) -> Vec<usize> {
        let shard = |(route, slots): &(usize, Range<u16>)| Shard {
            name: String::new(),
            route: *route,
            slots: Slots::of(slots.clone()),
        };
        let shards: Vec<Shard> = self.servers.iter().map(shard).collect();
        let looks = marks.looks(&shards, |tag| format!("{{{tag}}}").into_bytes());
        assert!(looks.len() <= shards.len() + 1, "one call each, and one more when slots have moved");
        self.next += 1;
        let mut found = Vec::new();
        for look in looks {
            assert_eq!(slot_of_key(&look.key), look.spot.slot);
            let fresh = self.next.to_string();
            let mark = self.written.entry((look.spot.route, look.spot.slot)).or_insert(fresh).clone();
            let mark = (!self.is_away.contains(&look.shard)).then_some(mark);
            found.push((look, mark));
        }
        let found = marks.take(found, shards.len());
        (0..found.len()).filter(|index| found[*index] == Found::Another).collect()
    }

    fn loses(&mut self, server: usize) {
        let (its_route, slots) = &self.servers[server];
        self.written.retain(|(route, slot), _| route != its_route || !slots.contains(slot));
    }
}

#[test]
fn a_server_that_loses_its_mark_is_found_once_by_each_node() {
    let (mut world, mut one, mut other) =
        (World::of(&[0..100, 100..200]), Marks::default(), Marks::default());
    for marks in [&mut one, &mut other] {
        assert_eq!(world.look(marks), [0; 0], "what was not seen before is not missed");
        assert_eq!(world.look(marks), [0; 0]);
    }
    world.loses(1);
    for marks in [&mut one, &mut other] {
        assert_eq!(world.look(marks), [1]);
        assert_eq!(world.look(marks), [0; 0]);
    }
}

#[test]
fn marks_move_with_their_slots() {
    let (mut world, mut marks) = (World::of(&[0..100, 100..200, 200..300]), Marks::default());
    world.look(&mut marks);
    // The first slot of the second goes to the first, then all of the second does, then it has some again.
    for second in [101..200, 200..200, 150..200] {
        world.servers = vec![(0, 0..second.start), (0, second), (0, 200..300)];
        assert_eq!(world.look(&mut marks), [0; 0], "a slot without a mark is not missed");
        assert_eq!(world.look(&mut marks), [0; 0]);
        assert!(marks.known.len() <= 3);
    }
    world.loses(1);
    assert_eq!(world.look(&mut marks), [1]);
}

#[test]
fn a_loss_is_noticed_after_the_slots_have_gone_elsewhere() {
    let (mut world, mut marks) = (World::of(&[0..100, 100..200]), Marks::default());
    world.look(&mut marks);
    world.loses(1);
    world.servers = vec![(0, 0..200)];
    assert_eq!(world.look(&mut marks), [0], "the mark is missed where its slot is now");
    assert_eq!(world.look(&mut marks), [0; 0]);
}

#[test]
fn marks_are_remembered_while_nobody_has_them_or_answers() {
    let (mut world, mut marks) = (World::of(&[0..100, 100..200]), Marks::default());
    world.look(&mut marks);
    world.is_away = vec![1];
    world.loses(1);
    assert_eq!(world.look(&mut marks), [0; 0]);
    world.is_away.clear();
    let servers = std::mem::take(&mut world.servers);
    assert_eq!(world.look(&mut marks), [0; 0], "nobody is known");
    world.servers = servers;
    assert_eq!(world.look(&mut marks), [1]);
}

#[test]
fn stores_of_tenants_have_marks_of_their_own() {
    let servers = vec![(0, 0..16_384), (1, 0..16_384)];
    let (mut world, mut marks) = (World { servers, ..World::default() }, Marks::default());
    world.look(&mut marks);
    world.loses(1);
    assert_eq!(world.look(&mut marks), [1]);
}
