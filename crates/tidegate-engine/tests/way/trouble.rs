use super::*;
use tidegate_engine::Consistency;
use tidegate_store::{Act, Done, StoreError};

/// A store that never answers, in one of two ways; but it may take what is given back.
#[derive(Default)]
pub(super) struct Broken {
    pub(super) panics: bool,
    pub(super) gives_back: bool,
}

impl Broken {
    fn fail<T>(&self) -> Result<T, StoreError> {
        assert!(!self.panics, "out of order");
        Err(StoreError::Full)
    }
}

impl Store for Broken {
    async fn run(&self, act: Act<'_>, _: Timestamp) -> Result<Done, StoreError> {
        match act {
            Act::Refund(..) if self.gives_back => Ok(Done::Refunded),
            _ => self.fail(),
        }
    }
}

const RULES: &str = "rules:
  - { name: comfortable, match: { path: /a }, limit: 9/min }
  - { name: guarded, match: { path: /b }, class: security, limit: 9/min }
  - { name: dear, match: { path: /c }, class: cost, limit: 9/min, tiers: { paid: 99/min } }";

#[test]
fn a_store_that_cannot_answer_is_decided_by_class() {
    for panics in [false, true] {
        let way = Way::over(Broken { panics, ..Broken::default() }, RULES);
        let of = |attributes: Pairs<'_>| {
            let decision = way.check(attributes);
            assert_eq!((decision.state, decision.reason().as_ref()), (Consistency::Open, "undecided"));
            (decision.outcome, decision.status())
        };
        assert_eq!(of(&[("path", "/a")]), (Outcome::Allow, 200));
        assert_eq!(of(&[("path", "/b")]), (Outcome::Deny, 503));
        assert_eq!(of(&[("path", "/c")]), (Outcome::Deny, 503), "free tiers are refused");
        assert_eq!(of(&[("path", "/c"), ("plan", "paid")]), (Outcome::Allow, 200));
        assert_eq!(way.engine.observed().panics(), if panics { 4 } else { 0 });
        assert_eq!(way.engine.observed().undecided_checks(), 4);
    }
}

/// A store that decides while its future is made, as embedded ones do, and breaks there.
struct Hasty(Broken);

impl Store for Hasty {
    fn run(&self, _: Act<'_>, _: Timestamp) -> impl Future<Output = Result<Done, StoreError>> + Send {
        std::future::ready(self.0.fail())
    }
}

#[test]
fn a_panic_before_the_first_poll_is_contained_too() {
    let way = Way::over(Hasty(Broken { panics: true, ..Broken::default() }), RULES);
    assert_eq!(way.check(&[("path", "/a")]).outcome, Outcome::Allow);
    assert_eq!(way.check(&[("path", "/b")]).outcome, Outcome::Deny);
    assert_eq!(way.engine.observed().panics(), 2);
}

#[test]
fn what_nobody_could_give_back_is_told_apart_from_what_nobody_could_look_at() {
    let check = Check { attributes: &[("path", "/b")], ..Check::new("api") };
    for (panics, gives_back) in [(false, false), (true, false), (false, true), (true, true)] {
        let way = Way::over(Broken { panics, gives_back }, RULES);
        let refunded = wait(way.engine.refund(&check, way.now, way.now)).unwrap();
        assert_eq!((refunded.outcome, refunded.is_uncounted()), (Outcome::Allow, !gives_back));
        assert_eq!(way.engine.observed().panics(), u64::from(panics));
    }
}

#[test]
fn too_much_at_once_is_shed_where_safety_matters() {
    let check = Check::new("api");
    let guarded = Way::new(RULES);
    assert_eq!(guarded.engine.overloaded(&check, START).unwrap().outcome, Outcome::Shed);
    let comfortable = Way::new("rules: [{ name: a, limit: 1/min }]");
    assert_eq!(comfortable.engine.overloaded(&check, START).unwrap().outcome, Outcome::Allow);
}

#[test]
fn what_is_out_of_bounds_is_refused_with_words() {
    let way = Way::new(RULES);
    let error = |check: &Check<'_>| way.ask(check).unwrap_err().to_string();
    let long = "x".repeat(17_000);
    assert!(error(&Check::new("")).contains("domain"));
    assert!(error(&Check { attributes: &[("user", &long)], ..Check::new("api") }).contains("17000 bytes"));
    assert!(error(&Check { attributes: &[("a", "b"); 200], ..Check::new("api") }).contains("200 attributes"));
    let many = [Descriptor::new(&[("a", "b")]); 70];
    assert!(error(&Check { descriptors: &many, ..Check::new("api") }).contains("70 descriptors"));
    assert!(error(&Check { cost: u64::MAX, ..Check::new("api") }).contains("cost"));
    assert_eq!(way.engine.observed().malformed_checks(), 5);
}

#[test]
fn no_value_is_printed() {
    let check = Check { attributes: &[("api_key", "sk_live_secret")], ..Check::new("api") };
    assert!(!format!("{check:?}").contains("secret"));
    let way = Way::new("rules: [{ name: a, by: [api_key], limit: 1/min }]");
    assert!(!format!("{:?}", way.ask(&check)).contains("secret"));
}

#[test]
fn the_common_check_does_not_allocate() {
    let way = Way::new("rules: [{ name: a, by: [user], limit: 1000/min }, { name: b, limit: 1000/min }]");
    let check =
        Check { attributes: &[("user", "alice"), ("path", "/x"), ("method", "GET")], ..Check::new("api") };
    way.ask(&check).unwrap();
    let counted = allocation_counter::measure(|| drop(way.ask(&check).unwrap()));
    assert_eq!(counted.count_total, 0);
}

#[test]
fn limit_of_zero_needs_no_store() {
    let tree = "descriptors: [{ key: banned, rate_limit: { unit: day, requests_per_unit: 0 } }]";
    let way = Way::over(Broken::default(), tree);
    assert!(!way.descriptors(&[&[("banned", "x")]]).allowed());
}
