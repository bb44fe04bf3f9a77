//! Conditions on numbers: `< 30`, `>= 0.5`, `!= 7`, `10..20`.
//!
//! Decimals of any length are compared digit by digit: nothing is rounded and nothing overflows.

use std::borrow::Cow;
use std::cmp::Ordering;

/// Which numbers are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    meant: Meant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Meant {
    Compared(Comparison, Box<str>),
    /// Both ends included.
    Between(Box<str>, Box<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// Longer signs before those that they begin with.
const SIGNS: [(&str, Comparison); 6] = [
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
    ("=", Comparison::Equal),
];

impl Numbers {
    /// Reads a comparison or a range.
    ///
    /// ```
    /// use tidegate_rules::number::Numbers;
    /// let low = Numbers::parse("< 30")?;
    /// assert!(low.matches("29.999") && !low.matches("30") && !low.matches("few"));
    /// assert!(Numbers::parse("10..20")?.matches("20.0"));
    /// # Ok::<(), String>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        for (sign, comparison) in SIGNS {
            if let Some(number) = text.strip_prefix(sign) {
                return Ok(Self { meant: Meant::Compared(comparison, written(number)?) });
            }
        }
        let Some((low, high)) = text.split_once("..") else {
            return Err(format!("`{text}` compares nothing: write < 30, >= 0.5, = 7, != 7 or 10..20"));
        };
        let (low, high) = (written(low)?, written(high)?);
        if Decimal::read(&low) > Decimal::read(&high) {
            return Err(format!("no number is in {low}..{high}: write {high}..{low}"));
        }
        Ok(Self { meant: Meant::Between(low, high) })
    }

    /// Whether a value is one of these numbers. What is no number is none of them, not even by `!=`.
    pub fn matches(&self, value: &str) -> bool {
        let expanded = expand(value.trim());
        let Some(value) = expanded.as_deref().and_then(Decimal::read) else { return false };
        let order = |bound: &str| Decimal::read(bound).map(|bound| value.cmp(&bound));
        match &self.meant {
            Meant::Compared(comparison, bound) => order(bound).is_some_and(|order| comparison.allows(order)),
            Meant::Between(low, high) => {
                order(low).is_some_and(Ordering::is_ge) && order(high).is_some_and(Ordering::is_le)
            }
        }
    }
}

/// As it was written.
impl std::fmt::Display for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.meant {
            Meant::Compared(comparison, bound) => {
                let sign = SIGNS.iter().find(|(_, other)| other == comparison).map_or("=", |(sign, _)| sign);
                write!(f, "{sign} {bound}")
            }
            Meant::Between(low, high) => write!(f, "{low}..{high}"),
        }
    }
}

impl Comparison {
    const fn allows(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
        }
    }
}

/// The furthest that an exponent may move the point.
const FURTHEST: i32 = 1_000;

/// A number without its exponent, which other programs write for very small and very large ones.
fn expand(text: &str) -> Option<Cow<'_, str>> {
    let Some((digits, exponent)) = text.split_once(['e', 'E']) else { return Some(Cow::Borrowed(text)) };
    let within = |exponent: &i32| (-FURTHEST..=FURTHEST).contains(exponent);
    let exponent: i32 = exponent.parse().ok().filter(within)?;
    Decimal::read(digits)?;
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let point = i32::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let before = usize::try_from(point).unwrap_or(0);
    let zeros = |count: usize| "0".repeat(count);
    let expanded = match point {
        ..=0 => format!("{sign}0.{}{all}", zeros(usize::try_from(-point).ok()?)),
        _ if before >= all.len() => format!("{sign}{all}{}", zeros(before - all.len())),
        _ => format!("{sign}{}.{}", &all[..before], &all[before..]),
    };
    Some(Cow::Owned(expanded))
}

/// A number of a condition, once it is known to be one.
fn written(text: &str) -> Result<Box<str>, String> {
    let text = text.trim();
    match Decimal::read(text) {
        Some(_) => Ok(text.into()),
        None if text.is_empty() => Err("a number is missing: write < 30 or 10..20".to_owned()),
        None => Err(format!("`{text}` is no number: write digits, such as 30, -1 or 0.5")),
    }
}

/// A decimal number: without zeros that mean nothing, and zero is not negative, so that equal numbers have equal parts.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Decimal<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
}

impl<'t> Decimal<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        if !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        let is_zero = whole.is_empty() && fraction.is_empty();
        Some(Self { negative: negative && !is_zero, whole, fraction })
    }

    fn size(&self) -> (usize, &str, &str) {
        (self.whole.len(), self.whole, self.fraction)
    }
}

impl Ord for Decimal<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.size().cmp(&other.size()),
            (true, true) => other.size().cmp(&self.size()),
            (negative, _) => {
                if negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        }
    }
}

impl PartialOrd for Decimal<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
