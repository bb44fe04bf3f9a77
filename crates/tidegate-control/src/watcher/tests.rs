use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use tidegate_rules::rule::Mode;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::*;
use crate::handle::MAX_WAITING;
use crate::source::{MemoryRules, MemorySource};
use crate::switches::{SwitchChange, SwitchError, SwitchTarget};
use crate::test_support::{BAD, GOOD, Node};
use crate::{ControlHandle, channel};

/// A source in memory that sends no hints, and can hang or panic.
struct FaultySource {
    rules: MemorySource,
    faults: Arc<Faults>,
}

#[derive(Default)]
struct Faults {
    hangs: AtomicBool,
    panics: AtomicBool,
    reads: AtomicUsize,
}

impl RuleSource for FaultySource {
    type Revision = u64;

    fn name(&self) -> String {
        "faulty".to_owned()
    }

    fn poll_interval(&self) -> Duration {
        Duration::from_secs(30)
    }

    async fn revision(&mut self) -> Result<u64, ReadError> {
        self.rules.revision().await
    }

    async fn read(&mut self) -> SourceReading<u64> {
        self.faults.reads.fetch_add(1, Relaxed);
        assert!(!self.faults.panics.load(Relaxed), "s3cret");
        if self.faults.hangs.load(Relaxed) {
            sleep(Duration::from_secs(10)).await;
        }
        self.rules.read().await
    }

    async fn changed(&mut self) {
        pending::<()>().await;
    }
}

struct Running {
    node: Node,
    control: ControlHandle,
    watcher: JoinHandle<()>,
}

async fn run(source: Option<impl RuleSource>) -> Running {
    let (node, (control, requests)) = (Node::new(), channel());
    let watcher = RuleWatcher::start(source, node.loader(), requests).await.unwrap();
    Running { node, control, watcher: tokio::spawn(watcher.run()) }
}

async fn run_faulty() -> (MemoryRules, Arc<Faults>, Running) {
    let (rules, source) = MemorySource::new(&[("api.yaml", GOOD)]);
    let faults = Arc::new(Faults::default());
    let source = FaultySource { rules: source, faults: Arc::clone(&faults) };
    (rules, faults, run(Some(source)).await)
}

impl Running {
    async fn switch_off(&self) -> Result<(), SwitchError> {
        let target = SwitchTarget::Rule("api".into(), "per-user".into());
        self.switch(SwitchChange::Set { target, mode: Mode::Off, duration: None, reason: None }).await
    }

    async fn switch(&self, change: SwitchChange) -> Result<(), SwitchError> {
        self.control.switch(change, "here").await
    }

    async fn reload(&self) -> ReloadOutcome {
        self.control.reload("test").await.unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn rules_need_not_be_files() {
    let (rules, source) = MemorySource::new(&[("api.yaml", GOOD)]);
    let running = run(Some(source)).await;
    assert_eq!(running.node.versions(), (1, 1));
    rules.set(&[("api.yaml", GOOD), ("more.yaml", &GOOD.replace("api", "more"))]);
    sleep(Duration::from_millis(1)).await;
    assert_eq!((running.node.versions(), running.node.engine.snapshot().rules()), ((2, 2), 2));
    rules.set(&[("api.yaml", BAD)]);
    assert_eq!(running.reload().await, ReloadOutcome::Partial);
    rules.fail("the server is away");
    assert_eq!(running.reload().await, ReloadOutcome::Failed);
    let error = running.node.status.rules().last.unwrap().error.unwrap();
    assert_eq!(error, "the rules cannot be read: the server is away");
    assert_eq!(running.node.engine.snapshot().rules(), 1);
}

#[tokio::test(start_paused = true)]
async fn polls_sources_without_hints() {
    let (rules, faults, running) = run_faulty().await;
    sleep(Duration::from_secs(1)).await;
    rules.set(&[("api.yaml", &GOOD.replace("1/min", "2/min"))]);
    sleep(Duration::from_secs(28)).await;
    assert_eq!(running.node.versions(), (1, 1));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(running.node.versions(), (2, 2));
    sleep(Duration::from_secs(300)).await;
    assert_eq!(faults.reads.load(Relaxed), 2, "an unchanged revision is not read");
}

#[tokio::test(start_paused = true)]
async fn failed_revision_is_not_repeated() {
    let (rules, _, running) = run_faulty().await;
    rules.fail("the server is away");
    sleep(Duration::from_secs(300)).await;
    assert_eq!(running.node.failures(), 1);
}

#[tokio::test(start_paused = true)]
async fn panicking_source_fails_one_reload() {
    let (_rules, faults, running) = run_faulty().await;
    faults.panics.store(true, Relaxed);
    assert_eq!(running.reload().await, ReloadOutcome::Failed);
    faults.panics.store(false, Relaxed);
    assert_eq!(running.reload().await, ReloadOutcome::Unchanged);
}

#[tokio::test(start_paused = true)]
async fn slow_source_does_not_hold_up_switches() {
    let (_rules, faults, running) = run_faulty().await;
    faults.hangs.store(true, Relaxed);
    for _ in 0..2 {
        running.control.queue_reload("test").await.unwrap();
    }
    let start = Instant::now();
    running.switch_off().await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(1));
    assert_eq!(running.node.mode(), Some((Mode::Off, Some(Mode::Enforce))));
    sleep(Duration::from_secs(20)).await;
    assert_eq!(faults.reads.load(Relaxed), 3, "each reload reads by itself");
}

#[tokio::test(start_paused = true)]
async fn waiting_reloads_never_block_switches() {
    let (_rules, faults, running) = run_faulty().await;
    faults.hangs.store(true, Relaxed);
    for _ in 0..5 * MAX_WAITING {
        running.control.queue_reload("test").await.unwrap();
    }
    running.switch_off().await.unwrap();
    assert_eq!(running.node.mode(), Some((Mode::Off, Some(Mode::Enforce))));
}

#[tokio::test(start_paused = true)]
async fn switches_end_during_slow_reads() {
    let (_rules, faults, running) = run_faulty().await;
    let target = SwitchTarget::Everything;
    let duration = Some(Duration::from_secs(3));
    running.switch(SwitchChange::Set { target, mode: Mode::Off, duration, reason: None }).await.unwrap();
    faults.hangs.store(true, Relaxed);
    running.control.queue_reload("test").await.unwrap();
    sleep(Duration::from_secs(2)).await;
    assert!(running.node.mode().unwrap().1.is_some());
    running.node.set_now_us(10_000_000);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(running.node.mode(), Some((Mode::Enforce, None)));
}

#[tokio::test(start_paused = true)]
async fn switches_wait_for_quick_reads() {
    let (rules, _, running) = run_faulty().await;
    rules.set(&[("api.yaml", &GOOD.replace("per-user", "other"))]);
    running.control.queue_reload("test").await.unwrap();
    let error = running.switch_off().await.unwrap_err();
    assert!(matches!(error, SwitchError::UnknownTarget { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn runs_without_a_source() {
    let running = run(None::<MemorySource>).await;
    assert_eq!(running.reload().await, ReloadOutcome::Unchanged);
    assert_eq!((running.node.versions(), running.node.status.rules().counts[0].1), ((1, 1), 1));
    let change = SwitchChange::Clear(SwitchTarget::Everything);
    assert!(matches!(running.switch(change).await, Err(SwitchError::NoSwitch(_))));
}

#[tokio::test(start_paused = true)]
async fn ends_with_its_last_handle() {
    let Running { control, watcher, .. } = run(None::<MemorySource>).await;
    drop(control);
    watcher.await.unwrap();
}

#[tokio::test]
async fn empty_source_has_a_first_version() {
    let (_rules, source) = MemorySource::new(&[]);
    let running = run(Some(source)).await;
    assert_eq!(running.node.versions(), (1, 1));
}
