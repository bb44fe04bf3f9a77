//! Bodies: what each case makes, then what operators and doors put into them.

use std::fmt::Write;

use http::StatusCode;
use serde_json::json;
use tidegate_wire::{Kind, Problem, Summary};

use crate::cases::{NOW, cases, reports};

fn line(out: &mut String, name: &str, problem: &Problem) {
    let body = String::from_utf8(problem.to_json()).unwrap();
    writeln!(out, "# {name}: {}\n{body}\n", problem.status()).unwrap();
}

/// A limit with the answer that its rule asks for.
fn as_the_rule_says() -> Problem {
    Problem::new(Kind::QuotaExceeded, "limit of 5 per 60 s reached for policy login")
        .violating("login")
        .with_status(StatusCode::FORBIDDEN)
        .with_title("Too many attempts")
        .with_detail("Wait a minute, then try again.")
        .with_instance("urn:uuid:0190163d-8694-739b-aea5-966c26f8ad90")
        .with_id("0190163d-8694-739b-aea5-966c26f8ad90")
        .with_code("endpoint-rate")
        .retry_after_s(60)
}

/// The members that the HTTP door answers a check with.
fn with_the_members_of_a_check() -> Problem {
    let limit = json!({
        "rule": "per-user", "limit": 100, "remaining": 0, "reset_after_ms": 60_000, "retry_after_ms": 600,
        "mode": "enforce", "allowed": false,
    });
    Problem::new(Kind::QuotaExceeded, "limit of 100 per 60 s reached for policy per-user; retry in 1 s")
        .violating("per-user")
        .retry_after_s(1)
        .with_member("decision", "deny")
        .with_id("d-7")
        .with_member("denied_by", vec!["per-user"])
        .with_member("reason", "tenant-rate")
        .with_member("state", "exact")
        .with_member("snapshot", 7)
        .with_member("delay_ms", json!(null))
        .with_member("limits", vec![limit])
}

#[test]
fn problems_say_what_refused_and_what_else_is_known() {
    let mut written = String::new();
    for (name, policies) in cases() {
        let reports = reports(&policies);
        let summary = Summary::new(&reports, NOW);
        if summary.denied_by().is_some() {
            line(&mut written, name, &Problem::from_summary(Kind::QuotaExceeded, &summary));
        }
    }
    let busy = Summary::new(&[], NOW).retrying_after_s(2);
    for kind in [Kind::ReducedCapacity, Kind::AbnormalUsage, Kind::Blocked] {
        line(&mut written, &format!("{kind:?}"), &Problem::new(kind, ""));
    }
    line(&mut written, "too busy to ask", &Problem::from_summary(Kind::ReducedCapacity, &busy));
    line(&mut written, "as the rule says", &as_the_rule_says());
    line(&mut written, "with the members of a check", &with_the_members_of_a_check());
    super::check("problem.txt", &written);
}
