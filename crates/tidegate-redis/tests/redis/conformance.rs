//! The suite that every store must pass.

use tidegate_store::conformance;
use tidegate_store::history::Claims;

use crate::server::Server;

#[test]
fn the_store_conforms() {
    let server = Server::redis();
    conformance::run(|| server.store(), Claims::default());
}
