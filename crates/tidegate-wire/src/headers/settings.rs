//! Which headers are written: one value per installation, as an operator sets it.

use std::fmt;
use std::str::FromStr;

/// Which headers are written. `Retry-After` always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches of headers that have nothing to do with each other"
)]
pub struct Settings {
    /// The IETF's `RateLimit` fields.
    pub ietf: Ietf,
    /// Whether reports that carry a partition key tell it (`pk`, draft-10 only). Off by default.
    pub partition_keys: bool,
    /// The `X-RateLimit-*` fields that came before.
    pub legacy: Legacy,
    /// Whether the legacy fields include `X-RateLimit-Used`. Off by default.
    pub used: bool,
    /// Whether the legacy fields include `X-RateLimit-Resource`, if the report names one. Off by default.
    pub resource: bool,
    /// Whether a refusal says `X-RateLimit-Denied-By`, if the report knows its dimension. On by default.
    pub denied_by: bool,
    /// By how many per cent `Retry-After` is lengthened at most, at random, so that the refused do not return all at
    /// once. 0 by default.
    pub retry_jitter_percent: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            ietf: Ietf::default(),
            partition_keys: false,
            legacy: Legacy::default(),
            used: false,
            resource: false,
            denied_by: true,
            retry_jitter_percent: 0,
        }
    }
}

/// Which version of the IETF's fields is written. The draft is still moving, hence by number.
///
/// ```
/// use tidegate_wire::Ietf;
/// assert_eq!("draft-10".parse(), Ok(Ietf::Draft10));
/// assert_eq!("11".parse::<Ietf>().unwrap_err().to_string(), "unknown version; use draft-10, draft-03 or off");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ietf {
    /// `RateLimit-Policy` and `RateLimit` as of draft-ietf-httpapi-ratelimit-headers-10.
    #[default]
    Draft10,
    /// `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` as of draft-ietf-httpapi-ratelimit-headers-03.
    Draft03,
    /// None of them.
    Off,
}

/// Whether `X-RateLimit-*` is written, and what its `Reset` means: services do not agree.
///
/// ```
/// use tidegate_wire::Legacy;
/// assert_eq!("epoch".parse(), Ok(Legacy::Epoch));
/// assert_eq!("on".parse::<Legacy>().unwrap_err().to_string(), "unknown style; use off, epoch or delta");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Legacy {
    /// Not at all.
    #[default]
    Off,
    /// With `Reset` as seconds since the Unix epoch, as GitHub has it.
    Epoch,
    /// With `Reset` as seconds from now, as Envoy has it.
    Delta,
}

/// A word that no setting knows. It says which ones there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {0}")]
pub struct SettingError(&'static str);

impl Ietf {
    /// The word for it in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft10 => "draft-10",
            Self::Draft03 => "draft-03",
            Self::Off => "off",
        }
    }
}

impl Legacy {
    /// The word for it in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Epoch => "epoch",
            Self::Delta => "delta",
        }
    }
}

impl FromStr for Ietf {
    type Err = SettingError;

    fn from_str(word: &str) -> Result<Self, SettingError> {
        let known = [Self::Draft10, Self::Draft03, Self::Off].into_iter().find(|known| known.name() == word);
        known.ok_or(SettingError("version; use draft-10, draft-03 or off"))
    }
}

impl FromStr for Legacy {
    type Err = SettingError;

    fn from_str(word: &str) -> Result<Self, SettingError> {
        let known = [Self::Off, Self::Epoch, Self::Delta].into_iter().find(|known| known.name() == word);
        known.ok_or(SettingError("style; use off, epoch or delta"))
    }
}

impl fmt::Display for Ietf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Legacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_read_back_from_its_name() {
        for ietf in [Ietf::Draft10, Ietf::Draft03, Ietf::Off] {
            assert_eq!(ietf.to_string().parse(), Ok(ietf));
        }
        for legacy in [Legacy::Off, Legacy::Epoch, Legacy::Delta] {
            assert_eq!(legacy.to_string().parse(), Ok(legacy));
        }
    }
}
