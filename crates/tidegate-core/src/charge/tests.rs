use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::key::EncodedParts;

fn limit() -> Limit {
    Limit::sliding_window(10, Duration::from_secs(1)).unwrap()
}

#[test]
fn charges_keep_their_keys_costs_and_groups() {
    let mut plan = Plan::new();
    for (name, cost) in [("a", 1), ("b", 2)] {
        plan.charge(Key { home: &[name.as_bytes()], own: &[] }, limit(), cost).unwrap();
    }
    plan.next_group();
    plan.next_group();
    plan.charge(Key { home: &[b"c"], own: &[] }, limit(), 3).unwrap();
    let seen: Vec<_> =
        plan.charges().map(|charge| (charge.key.home()[1], charge.cost, charge.group)).collect();
    assert_eq!(seen, [(b'a', 1, 0), (b'b', 2, 0), (b'c', 3, 1)]);
}

#[test]
fn a_plan_at_no_cost_has_the_same_charges() {
    let mut plan = Plan::new();
    plan.charge(Key { home: &[b"a"], own: &[] }, limit(), 5).unwrap();
    plan.next_group();
    plan.charge(Key { home: &[b"b"], own: &[] }, limit(), 7).unwrap();
    let seen = |plan: &Plan| -> Vec<(u8, u64, u16)> {
        plan.charges().map(|charge| (charge.key.home()[1], charge.cost, charge.group)).collect()
    };
    assert_eq!(seen(&plan.at_no_cost()), [(b'a', 0, 0), (b'b', 0, 1)]);
    assert_eq!(seen(&plan), [(b'a', 5, 0), (b'b', 7, 1)]);
}

#[test]
fn one_charge_too_many_is_refused_and_changes_nothing() {
    let mut plan = Plan::new();
    let key = Key { home: &[b"k"], own: &[] };
    for _ in 0..MAX_CHARGES {
        plan.charge(key, limit(), 1).unwrap();
    }
    assert_eq!(plan.charge(key, limit(), 1), Err(PlanError::TooManyCharges));
    assert_eq!(plan.len(), MAX_CHARGES);
}

#[test]
fn two_limits_on_one_key_are_refused_and_say_what_to_do() {
    let mut plan = Plan::new();
    let key = Key { home: &[b"k"], own: &[] };
    plan.charge(key, limit(), 1).unwrap();
    plan.charge(key, limit(), 2).unwrap();
    let other = Limit::sliding_window(11, Duration::from_secs(1)).unwrap();
    let error = plan.charge(key, other, 1).unwrap_err();
    assert!(error.to_string().contains("names of their own"), "{error}");
    plan.charge(Key { home: &[b"l"], own: &[] }, other, 1).unwrap();
    assert_eq!((plan.len(), plan.get(2).key.home()), (3, &b"\x01l"[..]));
}

#[test]
fn a_plan_of_shadows_alone_has_an_empty_first_group() {
    let mut plan = Plan::new();
    plan.next_group();
    plan.next_group();
    plan.charge(Key { home: &[b"k"], own: &[] }, limit(), 1).unwrap();
    assert_eq!(plan.get(0).group, 1);
}

#[test]
fn debug_output_does_not_show_keys() {
    let mut plan = Plan::new();
    let key = Key { home: &[b"sk_live_secret"], own: &[] };
    plan.charge(key, limit(), 1).unwrap();
    let secret = format!("{:?}", b"sk_live_secret");
    for shown in [format!("{plan:?}"), format!("{key:?}")] {
        assert!(!shown.contains("secret") && !shown.contains(&secret[1..20]), "{shown}");
    }
}

#[test]
fn a_cleared_plan_is_as_good_as_new() {
    let mut plan = Plan::new();
    plan.charge(Key { home: &[b"k"], own: &[] }, limit(), 1).unwrap();
    plan.next_group();
    plan.clear();
    plan.charge(Key { home: &[b"x"], own: &[] }, limit(), 1).unwrap();
    assert_eq!((plan.get(0).group, plan.get(0).key.home()), (0, &b"\x01x"[..]));
}

#[test]
fn a_charge_pays_if_admitted_unless_it_says_otherwise() {
    let mut plan = Plan::new();
    plan.charge(Key { home: &[b"a"], own: &[] }, limit(), 1).unwrap();
    plan.charge_when(Key { home: &[b"b"], own: &[] }, limit(), 1, Pay::Never).unwrap();
    assert_eq!([plan.get(0).pay, plan.get(1).pay], [Pay::IfAdmitted, Pay::Never]);
}

#[test]
fn one_key_pays_in_one_way_within_a_group() {
    let mut plan = Plan::new();
    let key = Key { home: &[b"k"], own: &[] };
    for _ in 0..2 {
        plan.charge_when(key, limit(), 1, Pay::Always).unwrap();
    }
    for other in [Pay::IfAdmitted, Pay::Never, Pay::IfRefused { of: 1 }] {
        assert_eq!(plan.charge_when(key, limit(), 1, other), Err(PlanError::TwoWays));
    }
    plan.next_group();
    plan.charge_when(key, limit(), 1, Pay::Never).unwrap();
}

#[test]
fn a_gate_stands_alone_on_its_key() {
    let mut plan = Plan::new();
    plan.charge(Key { home: &[b"k"], own: &[] }, limit(), 1).unwrap();
    let gate = Key { home: &[b"gate"], own: &[] };
    plan.charge_when(gate, limit(), 1, Pay::IfRefused { of: 1 }).unwrap();
    assert_eq!(plan.charge_when(gate, limit(), 1, Pay::IfRefused { of: 1 }), Err(PlanError::TwoWays));
}

#[test]
fn a_gate_needs_the_charges_that_close_it_in_its_own_group() {
    let mut plan = Plan::new();
    let gate = Key { home: &[b"gate"], own: &[] };
    let add = |plan: &mut Plan, of| plan.charge_when(gate, limit(), 1, Pay::IfRefused { of });
    plan.charge(Key { home: &[b"k"], own: &[] }, limit(), 1).unwrap();
    for of in [0, 2] {
        assert_eq!(add(&mut plan, of), Err(PlanError::GateAlone { of }));
    }
    plan.next_group();
    assert_eq!(add(&mut plan, 1), Err(PlanError::GateAlone { of: 1 }));
    plan.charge(Key { home: &[b"k"], own: &[] }, limit(), 1).unwrap();
    add(&mut plan, 1).unwrap();
    assert_eq!((plan.len(), plan.get(2).key.home()), (3, &b"\x04gate"[..]));
}

#[test]
fn a_refused_check_takes_no_slots() {
    let mut plan = Plan::new();
    let slots = Limit::concurrency(1, Duration::from_secs(1)).unwrap();
    plan.charge_when(Key { home: &[b"held"], own: &[] }, slots, 1, Pay::Never).unwrap();
    for pay in [Pay::Always, Pay::IfRefused { of: 1 }] {
        let added = plan.charge_when(Key { home: &[b"room"], own: &[] }, slots, 1, pay);
        assert_eq!(added, Err(PlanError::SlotsOnRefusal));
    }
}

#[test]
fn saying_when_to_pay_makes_no_plan_larger() {
    assert_eq!(size_of::<Entry>(), size_of::<(u32, u16, u64, Limit)>());
}

/// Parts of a length at which their encoding changes, or of any.
fn parts() -> impl Strategy<Value = Vec<u8>> {
    let lengths = prop_oneof![0..20_usize, 26..44_usize, 120..136_usize, 508..520_usize];
    (lengths, any::<u8>()).prop_map(|(length, byte)| vec![byte; length])
}

proptest! {
    #[test]
    fn a_prepared_charge_has_the_key_of_all_its_parts(
        known in parts(),
        limit_name in parts(),
        home in prop::option::of(parts()),
        own in prop::option::of(parts()),
    ) {
        let (front, back) = (EncodedParts::new(&[b"api", &known]), EncodedParts::new(&[&limit_name]));
        let prepared = PreparedCharge::new(front, back, limit());
        let values = Values { home: home.as_deref(), own: own.as_deref() };
        let homes: Vec<&[u8]> = [b"api", known.as_slice()].into_iter().chain(home.as_deref()).collect();
        let owns: Vec<&[u8]> = [limit_name.as_slice()].into_iter().chain(own.as_deref()).collect();
        let key = Key { home: &homes, own: &owns };
        let (mut plan, mut expected) = (Plan::new(), Plan::new());
        plan.charge_prepared(&prepared, &values, 3).unwrap();
        expected.charge(key, limit(), 3).unwrap();
        prop_assert_eq!(plan.get(0).key, expected.get(0).key);
        prop_assert_eq!(format!("{plan:?}"), format!("{expected:?}"));
    }

    #[test]
    fn prepared_charges_make_the_plan_that_others_make(
        charges in prop::collection::vec((0..3_usize, 0..40_usize, prop::option::of(0..12_usize), any::<bool>()), 0..9),
    ) {
        let other = Limit::sliding_window(11, Duration::from_secs(1)).unwrap();
        let (mut plan, mut expected) = (Plan::new(), Plan::new());
        for (known, home, own, is_other) in charges {
            let (known, home) = (vec![b'k'; known], vec![b'h'; home]);
            let (own, limit) = (own.map(|length| vec![b'o'; length]), if is_other { other } else { limit() });
            let prepared =
                PreparedCharge::new(EncodedParts::new(&[b"api", &known]), EncodedParts::new(&[b"l"]), limit);
            let charged =
                plan.charge_prepared(&prepared, &Values { home: Some(&home), own: own.as_deref() }, 2);
            let owns: Vec<&[u8]> = [&b"l"[..]].into_iter().chain(own.as_deref()).collect();
            let key = Key { home: &[b"api", &known, &home], own: &owns };
            prop_assert_eq!(charged, expected.charge(key, limit, 2));
        }
        let shown = |plan: &Plan| -> Vec<String> {
            plan.charges().map(|charge| format!("{charge:?} {:?}", charge.key.bytes())).collect()
        };
        prop_assert_eq!(shown(&plan), shown(&expected));
    }

    #[test]
    fn two_limits_on_one_key_are_found_among_keys_of_all_lengths(
        keys in prop::collection::vec((0..2_u8, prop_oneof![0..3_usize, 62..66_usize]), 1..10),
    ) {
        let other = Limit::sliding_window(11, Duration::from_secs(1)).unwrap();
        let mut plan = Plan::new();
        let mut charged: Vec<(Vec<u8>, Limit)> = Vec::new();
        for (index, (byte, length)) in keys.into_iter().enumerate() {
            let (part, limit) = (vec![byte; length], if index % 3 == 0 { other } else { limit() });
            let differs = charged.iter().any(|(known, held)| *known == part && *held != limit);
            let added = plan.charge(Key { home: &[&part], own: &[] }, limit, 1);
            prop_assert_eq!(added, if differs { Err(PlanError::TwoLimits) } else { Ok(()) });
            if !differs {
                charged.push((part, limit));
            }
        }
        prop_assert_eq!(plan.len(), charged.len());
    }
}
