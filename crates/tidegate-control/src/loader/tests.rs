use std::time::Duration;

use tidegate_rules::rule::Mode;
use tidegate_store::Memory;

use super::*;
use crate::switches::{SwitchChange, SwitchError, SwitchTarget};
use crate::test_support::{BAD, GOOD, Node, file};

/// A loader that has loaded this text.
fn loaded(node: &Node, text: &str) -> RuleLoader<Memory> {
    let mut loader = node.loader();
    loader.load_first(&file(text)).unwrap();
    loader
}

fn reload(loader: &mut RuleLoader<Memory>, text: &str) -> ReloadOutcome {
    loader.reload("test", Ok(file(text)))
}

#[test]
fn each_install_has_the_next_version() {
    let node = Node::new();
    let mut loader = loaded(&node, GOOD);
    assert_eq!(node.versions(), (1, 1));
    assert_eq!((reload(&mut loader, GOOD), node.versions()), (ReloadOutcome::Unchanged, (1, 1)));
    let other = GOOD.replace("1/min", "2/min");
    assert_eq!((reload(&mut loader, &other), node.versions()), (ReloadOutcome::Installed, (2, 2)));
    assert_eq!((reload(&mut loader, BAD), node.versions()), (ReloadOutcome::Partial, (2, 2)));
    let error = node.status.rules().last.unwrap().error.unwrap();
    assert!(error.contains("api.yaml:2:"), "the place is in the status: {error}");
    let removed = loader.reload("test", Ok(RuleFiles::new()));
    assert_eq!((removed, node.versions()), (ReloadOutcome::Installed, (3, 3)));
    assert_eq!(node.engine.snapshot().rules(), 0);
}

#[test]
fn failed_read_changes_nothing() {
    let node = Node::new();
    let mut loader = loaded(&node, GOOD);
    for error in [ReadError::failed("no such directory"), ReadError::Panicked] {
        assert_eq!(loader.reload("test", Err(error)), ReloadOutcome::Failed);
        assert_eq!((node.engine.snapshot().rules(), node.status.rules().files.len()), (1, 1));
    }
}

#[test]
fn first_load_refuses_bad_rules() {
    let error = Node::new().loader().load_first(&file(BAD)).unwrap_err();
    assert!(error.to_string().contains("did you mean `limit`?"), "{error}");
    let unreadable = [("api.yaml".to_owned(), Err("permission denied".to_owned()))].into();
    let error = Node::new().loader().load_first(&unreadable).unwrap_err();
    assert_eq!(error.to_string(), "error[unreadable]: api.yaml cannot be read: permission denied\n");
}

#[test]
fn first_version_exists_without_rules() {
    let node = Node::new();
    node.loader().load_nothing();
    assert_eq!(node.versions(), (1, 1));
    let node = Node::new();
    node.loader().load_first(&RuleFiles::new()).unwrap();
    assert_eq!(node.versions(), (1, 1));
}

fn switch(
    loader: &mut RuleLoader<Memory>,
    target: SwitchTarget,
    mode: Mode,
    seconds: Option<u64>,
) -> Result<(), SwitchError> {
    let duration = seconds.map(Duration::from_secs);
    loader.switch(SwitchChange::Set { target, mode, duration, reason: None }, "here")
}

#[test]
fn switch_survives_reloads_and_missing_rule() {
    let node = Node::new();
    let mut loader = loaded(&node, GOOD);
    let target = || SwitchTarget::Rule("api".into(), "per-user".into());
    switch(&mut loader, target(), Mode::Off, None).unwrap();
    let off = Some((Mode::Off, Some(Mode::Enforce)));
    assert_eq!((node.mode(), node.versions()), (off, (2, 2)));
    for (text, mode) in [
        (GOOD.replace("1/min", "2/min"), off),
        (GOOD.replace("per-user", "renamed"), None),
        (GOOD.to_owned(), off),
    ] {
        assert_eq!((reload(&mut loader, &text), node.mode()), (ReloadOutcome::Installed, mode));
        assert_eq!(node.status.switches().len(), 1, "the switch is kept");
    }
    loader.switch(SwitchChange::Clear(target()), "here").unwrap();
    assert_eq!((node.mode(), node.status.switches().len()), (Some((Mode::Enforce, None)), 0));
}

#[test]
fn switch_ends_by_itself() {
    let node = Node::new();
    node.set_now_us(0);
    let mut loader = loaded(&node, GOOD);
    switch(&mut loader, SwitchTarget::Everything, Mode::Shadow, Some(10)).unwrap();
    node.set_now_us(9_999_999);
    loader.end_switches();
    assert_eq!((node.mode(), loader.version), (Some((Mode::Shadow, Some(Mode::Enforce))), 2));
    node.set_now_us(10_000_000);
    loader.end_switches();
    loader.end_switches();
    assert_eq!((node.mode(), loader.version), (Some((Mode::Enforce, None)), 3));
}

#[test]
fn unknown_target_names_the_nearest() {
    let node = Node::new();
    let mut loader = loaded(&node, GOOD);
    let mut error = |target| switch(&mut loader, target, Mode::Off, None).unwrap_err().to_string();
    assert_eq!(
        error(SwitchTarget::Rule("api".into(), "per-usr".into())),
        "the rules in force have no rule `per-usr` in the domain `api`; did you mean `per-user`?"
    );
    assert_eq!(
        error(SwitchTarget::Domain("apo".into())),
        "the rules in force have no domain `apo`; did you mean `api`?"
    );
    assert_eq!((loader.version, node.status.switches().is_empty()), (1, true));
}
