use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tidegate_core::Timestamp;
use tidegate_engine::Engine;
use tidegate_store::Memory;

use crate::stack::Stack;

use super::*;
use crate::rules::Loading;
use crate::rules::status::Status;

const RULES: &str = "domain: api\nrules: [{ name: per-user, by: [user], limit: 1/min }]";

async fn read_again(orders: &mpsc::Sender<Order>) -> Outcome {
    let (answer, answered) = oneshot::channel();
    let order = Order::Reload(Trigger { why: "test", answer: Some(answer) });
    assert!(orders.send(order).await.is_ok());
    answered.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_breaks_is_a_failed_reading_and_the_next_one_is_made() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("api.yaml"), RULES).unwrap();
    let to = Loading {
        engine: Arc::new(Engine::new(Stack::Memory(Memory::new()))),
        status: Arc::new(Status::default()),
        clock: Arc::new(|| Timestamp::from_micros(7_000_000)),
        tiers: Vec::new(),
        attributes: Vec::new(),
    };
    let loader = Loader::start(Some(folder.path().to_owned()), to.clone()).unwrap_or_else(|_| panic!());
    let (orders, ordered) = mpsc::channel(1);
    let breaks = Arc::new(AtomicBool::new(true));
    let reader: Reader = {
        let breaks = Arc::clone(&breaks);
        Arc::new(move |path| {
            assert!(!breaks.load(Relaxed), "s3cret");
            read(path)
        })
    };
    let watch = tokio::spawn(Watch { reader, ..Watch::new(loader, ordered) }.run());

    assert_eq!(read_again(&orders).await, Outcome::Failed);
    let status = to.status.get();
    assert_eq!(status.counts[3], ("failed", 1));
    let said = status.last.unwrap().error.unwrap();
    assert!(said.starts_with("reading the rules broke") && !said.contains("s3cret"), "{said}");
    assert_eq!(to.engine.snapshot().rules(), 1, "the rules in force stay");

    breaks.store(false, Relaxed);
    std::fs::write(folder.path().join("more.yaml"), RULES.replace("api", "more")).unwrap();
    // The change may have been noticed before it is asked for.
    assert!(read_again(&orders).await.is_success());
    assert_eq!(to.engine.snapshot().rules(), 2);
    drop(orders);
    watch.await.unwrap();
}
