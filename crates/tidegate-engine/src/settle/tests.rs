use proptest::prelude::*;
use tidegate_core::{Key, Limit, Plan, Timestamp, Verdict};
use tidegate_store::Answer;

use super::*;
use crate::meaning::LimitAt;

fn verdicts() -> impl Strategy<Value = Verdict> {
    let outcome = prop_oneof![
        12 => Just(Verdicts::Allowed),
        1 => (0..5_u64).prop_map(|by_us| Verdicts::Delayed { by_us }),
        1 => Just(Verdicts::Refused(Retry::After(9))),
    ];
    (outcome, 1..5_u64, 0..5_u64).prop_map(|(outcome, limit, remaining)| Verdict {
        outcome,
        limit,
        remaining,
        debt: 0,
        reset_after_us: 7,
        next_after_us: 0,
    })
}

/// Limits that hold slots or do not, that are enforced or not, and what the store said of each.
fn answered(limits: &[(Verdict, bool, bool)]) -> Decision {
    let mut plan = Plan::new();
    let mut decision = Decision::free(Timestamp::ZERO);
    for (number, (_, slots, enforced)) in (0_u32..).zip(limits) {
        let limit = Limit::concurrency(5, std::time::Duration::from_secs(1)).unwrap();
        if !enforced {
            plan.next_group();
        }
        plan.charge(Key { home: &[&number.to_le_bytes()], own: &[] }, limit, 1).unwrap();
        let kind = if *slots { Kind::Slots } else { Kind::Limit };
        let at = LimitAt { rule: number / 2, tier: Tier::Own, limit: 0 };
        let (made, descriptor, class) = (None, None, Class::default());
        let part = Part { at, made, descriptor, cost: 1, kind, class, enforced: *enforced, of_view: true };
        decision.meaning.parts.push(part);
    }
    let verdicts = limits.iter().map(|(verdict, ..)| *verdict).collect();
    decision.answer = Some(Answer::new(&plan, verdicts, |index| index % 3 != 2));
    decision
}

proptest! {
    #[test]
    fn what_is_clear_is_decided_as_all_is(
        limits in prop::collection::vec((verdicts(), any::<bool>(), prop::bool::weighted(0.8)), 0..7),
    ) {
        let mut decision = answered(&limits);
        let clear = clear(&decision.meaning, decision.answer.as_ref().unwrap());
        let all_allowed = limits.iter().all(|(verdict, ..)| verdict.outcome == Verdicts::Allowed);
        prop_assert_eq!(clear.is_some(), all_allowed && limits.iter().any(|(.., enforced)| *enforced));
        if let Some(Clear { holds, least_left }) = clear {
            contested(&mut decision);
            prop_assert_eq!((decision.outcome, decision.delay_us), (Outcome::Allow, 0));
            prop_assert_eq!((decision.holds, decision.deciding), (holds, Some(Deciding::Limit(least_left))));
        }
    }
}
