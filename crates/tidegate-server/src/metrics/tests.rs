use std::time::Duration;

use tidegate_core::{Key, Limit, Plan};
use tidegate_net::cores::Cores;
use tidegate_store::Store as _;

use super::busiest::{Line, Row};
use super::*;
use crate::config::{Config, StoreKind};
use crate::stack;

const NONE: Row = [0; 8];

/// Requests that a rule let pass.
fn counted(count: u64) -> Row {
    let mut row = NONE;
    row[0] = count;
    row
}

fn line(rule: &str, count: u64) -> Line {
    Line { domain: "api".into(), rule: rule.into(), counts: counted(count) }
}

fn shown(lines: Vec<Line>) -> Vec<(String, u64)> {
    lines.into_iter().map(|line| (line.rule.into_string(), line.counts[0])).collect()
}

fn named(lines: &[(&str, u64)]) -> Vec<(String, u64)> {
    lines.iter().map(|(rule, count)| ((*rule).to_owned(), *count)).collect()
}

#[test]
fn labels_are_escaped_and_lines_are_whole() {
    let mut text = Text::default();
    text.family("a_total", Kind::Counter, "Some help.").value(&[("rule", "a\"b\\c\nd"), ("x", "y")], 7);
    text.family("b", Kind::Gauge, "More.").value(&[], 1);
    assert_eq!(
        text.finish(),
        "# HELP a_total Some help.\n# TYPE a_total counter\na_total{rule=\"a\\\"b\\\\c\\nd\",x=\"y\"} 7\n\
         # HELP b More.\n# TYPE b gauge\nb 1\n"
    );
}

/// Nobody listens where the store should be.
#[tokio::test]
async fn availability_is_the_share_of_checks_that_the_store_answered() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("redis://127.0.0.1:{port}").parse().unwrap();
    let config = Config { store: StoreKind::Redis(address), ..Config::default() };
    let (stack, _) = stack::build(&config, &Cores::current(), Timestamp::ZERO).unwrap();
    let mut plan = Plan::new();
    let limit = Limit::sliding_window(5, Duration::from_secs(1)).unwrap();
    plan.charge(Key { home: &[b"api"], own: &[b"limit"] }, limit, 1).unwrap();
    assert!(stack.decide(&plan, Timestamp::ZERO).await.unwrap().local);
    let mut text = Text::default();
    shared::write(&mut text, stack.shared().unwrap(), None);
    let text = text.finish();
    let answers: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("ratelimit_store_answers_total")).collect();
    let expected = ["{result=\"in_time\"} 0", "{result=\"owing\"} 0", "{result=\"disconnected\"} 1"];
    assert_eq!(answers, expected);
}

#[test]
fn seconds_are_exact() {
    let shown = [0, 1_000, 50_000_000, 1_000_000_000, 1_790_000_000_123_456_000].map(text::seconds);
    assert_eq!(shown, ["0", "0.000001", "0.05", "1", "1790000000.123456"]);
}

#[test]
fn rules_beyond_the_busiest_are_added_up() {
    let busiest = Busiest::default();
    let all = vec![line("a", 5), line("b", 9), line("c", 1), line("d", 2)];
    assert_eq!(shown(busiest.lines(all, NONE, 2)), named(&[("a", 5), ("b", 9), ("other", 3)]));
    assert_eq!(shown(Busiest::default().lines(vec![line("a", 5)], NONE, 2)), named(&[("a", 5)]));
}

#[test]
fn no_line_steps_back_when_another_rule_becomes_the_busiest() {
    let busiest = Busiest::default();
    assert_eq!(
        shown(busiest.lines(vec![line("a", 5), line("b", 3)], NONE, 1)),
        named(&[("a", 5), ("other", 3)])
    );
    assert_eq!(
        shown(busiest.lines(vec![line("a", 6), line("b", 10)], NONE, 1)),
        named(&[("b", 7), ("other", 4)])
    );
    assert_eq!(
        shown(busiest.lines(vec![line("a", 20), line("b", 12)], NONE, 1)),
        named(&[("a", 19), ("other", 6)])
    );
}

#[test]
fn a_rule_that_is_called_like_the_sum_is_part_of_it() {
    let other = Line { domain: "other".into(), ..line("other", 100) };
    let lines = Busiest::default().lines(vec![other, line("a", 1)], NONE, 200);
    assert_eq!(shown(lines), named(&[("a", 1), ("other", 100)]));
}

#[test]
fn lines_are_bounded_however_many_rules_there_are() {
    let all = (0..5_000).map(|index| line(&format!("rule-{index}"), index)).collect();
    let lines = Busiest::default().lines(all, NONE, MOST_RULES);
    assert_eq!(lines.len(), MOST_RULES + 1);
    let total: u64 = lines.iter().map(|line| line.counts[0]).sum();
    assert_eq!(total, (0..5_000).sum::<u64>());
}

#[test]
fn what_rules_that_are_gone_counted_is_among_the_others_and_nothing_is_there_twice() {
    let (busiest, gone) = (Busiest::default(), counted);
    let show = |all, count, most| shown(busiest.lines(all, gone(count), most));
    assert_eq!(show(vec![line("a", 5), line("b", 3)], 0, 1), named(&[("a", 5), ("other", 3)]));
    // `b` counted once more and went; of its 4, 3 were among the others before.
    assert_eq!(show(vec![line("a", 6)], 4, 1), named(&[("a", 6), ("other", 4)]));
    // `a` went, `b` is back and begins anew.
    assert_eq!(show(vec![line("b", 1)], 10, 1), named(&[("b", 1), ("other", 10)]));
    // `b` went and came back between two looks.
    assert_eq!(show(vec![line("b", 0)], 11, 1), named(&[("b", 0), ("other", 11)]));
    assert_eq!(show(vec![line("b", 7)], 11, 0), named(&[("other", 18)]));
    assert_eq!(show(vec![line("b", 2)], 18, 1), named(&[("b", 2), ("other", 18)]));
}
