//! Headers, one file per setting, every case in each.

use std::fmt::Write;

use http::HeaderMap;
use tidegate_wire::headers::write;
use tidegate_wire::{Ietf, Legacy, Settings, Summary};

use crate::cases::{NOW, cases, reports};

/// Three quarters of the jitter that is set.
const RANDOM: u64 = u64::MAX / 4 * 3;

fn check(file: &str, settings: Settings) {
    let mut written = String::new();
    for (name, policies) in cases() {
        let reports = reports(&policies);
        let mut headers = HeaderMap::new();
        write(&mut headers, &Summary::new(&reports, NOW).jittered(&settings, RANDOM), &settings);
        writeln!(written, "# {name}").unwrap();
        for (name, value) in &headers {
            writeln!(written, "{name}: {}", value.to_str().unwrap()).unwrap();
        }
        written.push('\n');
    }
    super::check(file, &written);
}

#[test]
fn draft_10_is_the_default() {
    check("draft-10.txt", Settings::default());
}

#[test]
fn draft_10_tells_partition_keys_on_request() {
    check("draft-10-partition-keys.txt", Settings { partition_keys: true, ..Settings::default() });
}

#[test]
fn draft_03_has_three_fields_without_names() {
    check("draft-03.txt", Settings { ietf: Ietf::Draft03, ..Settings::default() });
}

#[test]
fn legacy_fields_tell_the_reset_as_an_instant() {
    check("legacy-epoch.txt", Settings { ietf: Ietf::Off, legacy: Legacy::Epoch, ..Settings::default() });
}

#[test]
fn legacy_fields_tell_the_reset_as_a_span() {
    check("legacy-delta.txt", Settings { ietf: Ietf::Off, legacy: Legacy::Delta, ..Settings::default() });
}

#[test]
fn all_fields_go_together_and_only_the_retry_is_jittered() {
    let settings = Settings {
        partition_keys: true,
        legacy: Legacy::Epoch,
        used: true,
        resource: true,
        retry_jitter_percent: 20,
        ..Settings::default()
    };
    check("all-with-jitter.txt", settings);
}

#[test]
fn nothing_but_the_retry_is_told_when_all_is_off() {
    let settings =
        Settings { ietf: Ietf::Off, denied_by: false, used: true, resource: true, ..Settings::default() };
    check("off.txt", settings);
}
