//! Before any timing: does each engine limit at all?

use anyhow::{Result, ensure};

use crate::child::Child;
use crate::engines::Name;
use crate::keys::Kind;
use crate::protocol::{Command, Spec};
use crate::report::Table;

/// How many of 20 requests at once each engine admits under a limit of 10. Fails if ours is not exact.
pub(crate) fn report() -> Result<()> {
    println!("## Probe: 20 requests at once under a limit of 10\n");
    let mut table = Table::new("engine", ["1 limit", "4 limits"]);
    for engine in Name::ALL.iter().copied() {
        let [one, four] = [1, 4].map(|limits| admitted(Spec { engine, kind: Kind::Text, limits }));
        let (one, four) = (one?, four?);
        ensure!(
            engine != Name::Tidegate || [one, four] == [10, 10],
            "tidegate admitted {one} and {four} of 20, not 10"
        );
        table.row(&engine, [one, four].map(|admitted| admitted.to_string()));
    }
    println!("{table}");
    println!("dashmap only counts, and key-only does nothing: they are floors, not limiters.\n");
    Ok(())
}

fn admitted(spec: Spec) -> Result<u64> {
    let mut child = Child::start(spec)?;
    let [admitted] = child.ask(Command::Probe)?;
    child.finish()?;
    Ok(admitted)
}
