//! A door to a real engine with real rules and a store in memory, at an instant that does not move.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};

use tidegate_core::Timestamp;
use tidegate_engine::Engine;
use tidegate_frontend::door::{Door, DoorSettings};
use tidegate_rules::{Snapshot, Source, compile};
use tidegate_store::Reference;
use tidegate_wire::headers::{Legacy, Settings};
use tidegate_wire::trust::Grant;
use tidegate_wire::{Trust, Trusted};

/// A bit of everything that rules can say.
const RULES: [&str; 2] = [include_str!("world/api.yaml"), include_str!("world/tenants.yaml")];

/// The instant.
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_800_014_400_000_000);

/// The secret that no answer may hold.
pub(crate) const SECRET: &str = "s3cr3t";

static SNAPSHOT: LazyLock<Snapshot> = LazyLock::new(|| {
    let compiled = compile(RULES.map(|rules| Source::new("world.yaml", rules)).to_vec());
    let said = compiled.render();
    compiled.snapshot.unwrap_or_else(|| panic!("{said}")).with_version(7)
});

/// A door that nobody has come through.
pub(crate) fn door() -> Door<Reference> {
    let engine = Engine::new(Reference::new());
    engine.install(SNAPSHOT.clone());
    let proxies = || Trusted::parse(["10.0.0.0/8", "::1"]).expect("they are networks");
    let settings = DoorSettings {
        headers: Settings { legacy: Legacy::Epoch, ..Settings::default() },
        max_body_bytes: 64 << 10,
        max_batch: 8,
        trust: Trust::only(vec![Grant::to_networks(proxies())], ["plan"]),
        forward_trust: Trust::only_forwarded(vec![Grant::to_networks(proxies())], ["org", "plan"]),
        ..DoorSettings::default()
    };
    Door::new(Arc::new(engine), Arc::new(|| NOW), settings)
}

/// Whether a check of that input may meet more limits than a plan holds, so that its class decides: each user that a descriptor names
/// is counted by up to six rules.
pub(crate) fn may_meet_too_many_limits(bytes: &[u8]) -> bool {
    bytes.windows(4).filter(|word| word == b"user").count() >= 10
}

/// What must hold of a door when all answers to an input were given.
pub(crate) fn is_at_rest(door: &Door<Reference>, bytes: &[u8]) {
    assert_eq!(door.engine().observed().panics(), 0, "a panic was contained");
    let undecided = door.engine().observed().undecided_checks();
    assert!(undecided == 0 || may_meet_too_many_limits(bytes), "the store did not answer");
    assert_eq!(door.in_flight(), 0, "something is still under way");
    assert_eq!(door.body_bytes(), 0, "bytes of a body are still held");
    assert_eq!((door.overloads(), door.bodies_refused()), (0, 0), "one caller was too many");
}

/// What a store in memory answers, it answers at once.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it did not answer at once"),
    }
}
