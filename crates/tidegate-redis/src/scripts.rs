//! The scripts, put together from their parts. What each part does is said in it.

use std::sync::LazyLock;

use crate::call::Script;
use crate::sha::sha1_hex;

/// Every way of a plan.
pub(crate) static GENERAL: LazyLock<Script> = LazyLock::new(|| {
    script(
        concat!(
            include_str!("../lua/numbers.lua"),
            include_str!("../lua/meter.lua"),
            include_str!("../lua/fixed_window.lua"),
            include_str!("../lua/sliding_window.lua"),
            include_str!("../lua/sliding_log.lua"),
            include_str!("../lua/concurrency.lua"),
            include_str!("../lua/places.lua"),
            include_str!("../lua/step.lua"),
            include_str!("../lua/general.lua"),
        ),
        false,
    )
});

/// The common check: what is done for one charge stands in it once for each of a few, and what is done for other values where it
/// is needed, so that nobody else pays for its functions.
pub(crate) static LEAN: LazyLock<Script> = LazyLock::new(|| {
    let charge = include_str!("../lua/lean_charge.lua");
    let charges: String =
        (1..=LEAN_CHARGES).map(|number| charge.replace("_n", &number.to_string())).collect();
    let text = include_str!("../lua/lean.lua");
    let text = text.replace("-- CHARGES\n", &charges).replace("-- MERGE\n", include_str!("../lua/merge.lua"));
    script(text.leak(), true)
});

/// How many charges the lean script knows one by one.
const LEAN_CHARGES: u8 = 4;

/// What is written down under a key.
pub(crate) static FETCH: LazyLock<Script> = LazyLock::new(|| script(include_str!("../lua/fetch.lua"), false));

/// Notes with an end.
pub(crate) static NOTE: LazyLock<Script> = LazyLock::new(|| script(include_str!("../lua/note.lua"), false));

fn script(text: &'static str, joins: bool) -> Script {
    Script { text, sha: sha1_hex(text).leak(), joins }
}

/// Who counts together.
pub(crate) static MEMBERS: LazyLock<Script> =
    LazyLock::new(|| script(include_str!("../lua/members.lua"), false));

/// The mark of a server.
pub(crate) static MARK: LazyLock<Script> = LazyLock::new(|| script(include_str!("../lua/mark.lua"), false));

/// All scripts that the store calls, for clients that give them to servers before they are called.
pub fn scripts() -> &'static [&'static Script] {
    static ALL: LazyLock<[&'static Script; 4]> = LazyLock::new(|| [&LEAN, &GENERAL, &MEMBERS, &MARK]);
    &*ALL
}
