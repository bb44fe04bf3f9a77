use proptest::prelude::*;
use tidegate_core::{Key, Limit, Plan, Timestamp, Verdict};
use tidegate_store::Answer;

use super::*;
use crate::meaning::LimitAt;

fn verdicts() -> impl Strategy<Value = Verdict> {
    let outcome = prop_oneof![
        6 => Just(Verdicts::Allowed),
        1 => (0..5_u64).prop_map(|by_us| Verdicts::Delayed { by_us }),
    ];
    (outcome, 1..5_u64, 0..5_u64).prop_map(|(outcome, limit, remaining)| Verdict {
        outcome,
        limit,
        remaining,
        debt: 0,
        reset_after_us: 7,
    })
}

/// The parts of plain rules, as resolving makes them, and what the store said of each.
fn answered_plainly(limits: &[(Verdict, bool)]) -> Decision {
    let mut plan = Plan::new();
    let mut decision = Decision::free(Timestamp::ZERO);
    for (number, (_, slots)) in (0_u32..).zip(limits) {
        let limit = Limit::concurrency(5, std::time::Duration::from_secs(1)).unwrap();
        plan.charge(Key { home: &[&number.to_le_bytes()], own: &[] }, limit, 1).unwrap();
        let kind = if *slots { Kind::Slots } else { Kind::Limit };
        let at = LimitAt { rule: number / 2, tier: Tier::Own, limit: 0 };
        let (made, descriptor) = (None, None);
        let part = Part { at, made, descriptor, cost: 1, kind, enforced: true, of_view: true };
        decision.meaning.parts.push(part);
    }
    let verdicts = limits.iter().map(|(verdict, _)| *verdict).collect();
    decision.answer = Some(Answer::new(&plan, verdicts, |index| index % 3 != 2));
    decision
}

proptest! {
    #[test]
    fn what_plain_rules_let_pass_is_weighed_as_all_is(
        limits in prop::collection::vec((verdicts(), any::<bool>()), 0..7),
    ) {
        let decision = answered_plainly(&limits);
        prop_assert_eq!(passed(&decision), weigh(&decision));
    }
}
