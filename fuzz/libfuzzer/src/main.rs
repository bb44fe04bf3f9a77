//! One program for all targets: the variable `TIDEGATE_FUZZ_TARGET` says which.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::Target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("TIDEGATE_FUZZ_TARGET").unwrap_or_default();
    tidegate_fuzz::target(&name).expect("TIDEGATE_FUZZ_TARGET names a target")
});

fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));
