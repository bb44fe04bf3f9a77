//! Limits as written, short or long, become limits as meant.

use std::time::Duration;

use jiff::tz::TimeZone;
use tidegate_core::{EncodedParts, Limit, LimitError, Rate, Window};

use crate::calendar::{Calendar, Period};
use crate::diagnostic::Diagnostic;
use crate::notation::{self, Per, Short, Unit};
use crate::rule::{Counted, Numbers, RuleLimit};
use crate::shape::head;
use crate::source::Span;
use crate::yaml::{Key, Node, Value};

/// How long a slot lasts that is neither given back nor renewed, unless the rule says otherwise.
const TERM: Duration = Duration::from_secs(60);

type Made<T> = Result<T, Diagnostic>;

/// Reads a limit in either form. `rule` names it in headers; `shaping` makes a rate delay instead of refuse.
pub(crate) fn read(node: &Node, rule: &str, shaping: bool) -> Made<RuleLimit> {
    let limit = if matches!(node.value, Value::Map(_)) {
        long(node, shaping)?
    } else {
        let text = node.text().unwrap_or_default();
        let inner = node.inner_span(&text);
        let is_as_written = inner.end - inner.start == text.len();
        // In a text that is written otherwise, with escapes or over several lines, parts have no place of their own.
        let parsed = notation::parse(&text, inner);
        let parsed = parsed
            .map_err(|error| if is_as_written { error } else { Diagnostic { span: node.span, ..error } });
        short(parsed?, node.span, shaping)?
    };
    let policy = limit.name.clone().unwrap_or_else(|| rule.into());
    Ok(RuleLimit { policy, ..limit })
}

impl Node {
    /// Where the text of a scalar stands, without its quotes.
    pub(crate) fn inner_span(&self, text: &str) -> Span {
        let length = self.span.end - self.span.start;
        if length == text.len() + 2 { self.span.part(1..length - 1) } else { self.span }
    }
}

fn short(short: Short, span: Span, shaping: bool) -> Made<RuleLimit> {
    match short {
        Short::Concurrent { slots } => concurrency(slots, TERM).map_err(|error| impossible(span, &error)),
        Short::Rate { amount, per: Per::Span(per), burst } if shaping => {
            meter("leaky_bucket", amount, per, burst.unwrap_or(amount), Limit::leaky_bucket_shaping)
                .map(delayed)
                .map_err(|error| impossible(span, &error))
        }
        Short::Rate { amount, per: Per::Span(per), burst: None } => {
            let limit = Limit::sliding_window(amount, per).map_err(|error| impossible(span, &error))?;
            Ok(windowed(limit, "sliding_window", amount, per))
        }
        Short::Rate { amount, per: Per::Span(per), burst: Some(burst) } => {
            meter("gcra", amount, per, burst, |burst, rate| Limit::gcra(rate, burst))
                .map_err(|error| impossible(span, &error))
        }
        Short::Rate { burst: Some(_), .. } => {
            Err(Diagnostic::error("limit", span, "a window of the calendar has no burst")
                .help("remove the burst, or add a second limit such as 10/s for it"))
        }
        Short::Rate { amount, per: Per::Calendar { unit, zone, from }, burst: None } => {
            calendar(amount, unit, zone.as_deref(), from, span)
        }
    }
}

fn long(node: &Node, shaping: bool) -> Made<RuleLimit> {
    let algorithm = node.text_at("algorithm").map(|(word, _)| word);
    let shaping = shaping || node.get("shape").and_then(Node::truth) == Some(true);
    let algorithm = algorithm.unwrap_or_else(|| default_algorithm(node, shaping).to_owned());
    if !crate::reference::ALGORITHMS.contains(&algorithm.as_str()) {
        return Err(silent(node));
    }
    refuse_strangers(node, &algorithm)?;
    let made = match algorithm.as_str() {
        "gcra" | "token_bucket" | "leaky_bucket" => bucket(node, &algorithm, shaping)?,
        "fixed_window" => fixed_window(node)?,
        "sliding_window" => sliding_window(node)?,
        "sliding_log" => sliding_log(node)?,
        "concurrency" => {
            once(node, &["slots", "amount"], "how many")?;
            let slots = node.get("amount").and_then(Node::count);
            let slots = slots.map_or_else(|| needed(node, "slots"), Ok)?;
            let term = duration_at(node, "term")?.unwrap_or(TERM);
            concurrency(slots, term).map_err(|error| impossible(head(node), &error))?
        }
        _ => return Err(silent(node)),
    };
    let counted = node.text_at("unit").and_then(|(word, _)| Counted::from_word(&word)).unwrap_or_default();
    let named = node.text_at("name").map(|(name, at)| named(name, at)).transpose()?;
    let mut written = made.written.into_string();
    if counted != Counted::Requests {
        written = format!("{written} {}", counted.word());
    }
    let identity = named.clone().unwrap_or(made.identity);
    Ok(RuleLimit { counted, name: named, identity, written: written.into(), ..made })
}

/// The name of a limit, of the letters that rules' names have.
fn named(name: String, at: &Node) -> Made<Box<str>> {
    let proper = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte);
    if name.is_empty() || name.len() > 64 || !name.bytes().all(proper) {
        let said = Diagnostic::error("name", at.span, format!("`{name}` is no name of a limit"));
        return Err(said.help("names have 1 to 64 letters, digits and _ . : / -"));
    }
    Ok(name.into_boxed_str())
}

/// Something that was reported already; it only says that there is no limit.
fn silent(node: &Node) -> Diagnostic {
    Diagnostic::error("limit", head(node), "this is no limit")
}

fn default_algorithm(node: &Node, shaping: bool) -> &'static str {
    let has = |name: &str| node.get(name).is_some();
    if shaping || has("queue") {
        "leaky_bucket"
    } else if has("slots") || has("term") {
        "concurrency"
    } else if has("capacity") || has("refill") {
        "token_bucket"
    } else if has("burst") {
        "gcra"
    } else if has("precision") {
        "sliding_log"
    } else if has("window") || has("tz") || has("from") || is_calendar_only(node) {
        "fixed_window"
    } else {
        "sliding_window"
    }
}

fn is_calendar_only(node: &Node) -> bool {
    matches!(
        node.text_at("per").as_ref().map(|(per, _)| per.as_str()),
        Some("month" | "year" | "1 month" | "1 year")
    )
}

/// The keys that say something to each algorithm, beside name, unit and algorithm.
fn keys_of(algorithm: &str) -> &'static [&'static str] {
    match algorithm {
        "gcra" => &["amount", "per", "burst"],
        "token_bucket" => &["amount", "per", "burst", "capacity", "refill"],
        "leaky_bucket" => &["amount", "per", "burst", "capacity", "refill", "queue", "shape"],
        "fixed_window" => &["amount", "per", "window", "tz", "from"],
        "sliding_window" => &["amount", "per", "parts"],
        "sliding_log" => &["amount", "per", "precision"],
        "concurrency" => &["slots", "amount", "term"],
        _ => &[],
    }
}

/// A key that does nothing is a mistake, not decoration.
fn refuse_strangers(node: &Node, algorithm: &str) -> Made<()> {
    let known = keys_of(algorithm);
    let all = || crate::reference::LIMIT.keys.iter().map(|field| field.name);
    for (key, _) in node.entries() {
        let name = key.name.as_str();
        if matches!(name, "name" | "unit" | "algorithm")
            || known.contains(&name)
            || !all().any(|key| key == name)
        {
            continue;
        }
        let message = format!("`{name}` says nothing to {algorithm}");
        let help = format!("{algorithm} takes {}", known.join(", "));
        return Err(Diagnostic::error("limit", key.span, message).help(help));
    }
    Ok(())
}

/// What a key says; one without a value says nothing.
fn given(node: &Node) -> impl Iterator<Item = (&Key, &Node)> {
    node.entries().iter().filter(|(_, value)| value.value != Value::Null).map(|(key, value)| (key, value))
}

/// What is said in two ways is said once too often: one of them would be ignored.
fn once(node: &Node, names: &[&str], what: &str) -> Made<()> {
    let mut said = given(node).map(|(key, _)| key).filter(|key| names.contains(&key.name.as_str()));
    let (Some(first), Some(second)) = (said.next(), said.next()) else { return Ok(()) };
    let message = format!("`{}` and `{}` both say {what}", first.name, second.name);
    Err(Diagnostic::error("limit", second.span, message).help("keep one of them"))
}

/// The rate of a bucket: an amount per time, or a refill.
fn rate(node: &Node) -> Made<(u64, Duration)> {
    let Some((text, at)) = node.text_at("refill") else {
        let bucket = ["capacity", "queue"].iter().any(|key| node.get(key).is_some());
        if bucket && node.get("amount").is_none() {
            return Err(missing_refill(node));
        }
        return Ok((needed(node, "amount")?, span_at(node)?));
    };
    once(node, &["refill", "amount"], "the rate")?;
    once(node, &["refill", "per"], "the rate")?;
    match notation::parse(&text, at.inner_span(&text))? {
        Short::Rate { amount, per: Per::Span(per), burst: None } => Ok((amount, per)),
        _ => Err(Diagnostic::error("limit", at.span, "a refill is a rate").help("write it as 10/s")),
    }
}

fn bucket(node: &Node, algorithm: &str, shaping: bool) -> Made<RuleLimit> {
    let (amount, per) = rate(node)?;
    let capacity = size(node)?.unwrap_or(amount);
    let build: fn(u64, Rate) -> Result<Limit, LimitError> = match (algorithm, shaping) {
        ("leaky_bucket", true) => Limit::leaky_bucket_shaping,
        ("leaky_bucket", false) => Limit::leaky_bucket,
        ("token_bucket", _) => Limit::token_bucket,
        _ => |burst, rate| Limit::gcra(rate, burst),
    };
    let made = meter(algorithm, amount, per, capacity, build);
    let made = made.map_err(|error| impossible(head(node), &error))?;
    Ok(if algorithm == "leaky_bucket" && shaping { delayed(made) } else { made })
}

/// How much a bucket holds, which has three names and is said once.
fn size(node: &Node) -> Made<Option<u64>> {
    let names = ["capacity", "queue", "burst"];
    once(node, &names, "how much the bucket holds")?;
    Ok(names.iter().find_map(|name| node.get(name).and_then(Node::count)))
}

fn fixed_window(node: &Node) -> Made<RuleLimit> {
    let amount = needed(node, "amount")?;
    let (text, at) = node.text_at("per").ok_or_else(|| missing(node, "per"))?;
    let zone = node.text_at("tz").map(|(zone, _)| zone);
    let from = node.get("from").and_then(Node::count).and_then(|day| u8::try_from(day).ok());
    let window = node.text_at("window").map(|(word, _)| word);
    let by_calendar = window.as_deref() == Some("calendar") || zone.is_some() || from.is_some();
    let per = notation::window(&text, at.inner_span(&text), by_calendar)?;
    match (per, window.as_deref()) {
        (notation::Length::Calendar(unit), None | Some("calendar")) => {
            let day_at = node.get("from").map_or(at.span, |day| day.span);
            let from = from.map(|day| notation::in_unit(day, unit, day_at)).transpose()?;
            calendar(amount, unit, zone.as_deref(), from, at.span)
        }
        (notation::Length::Calendar(_), Some(_)) => {
            Err(Diagnostic::error("limit", at.span, "months and years have no fixed length")
                .help("remove `window`, or write a length such as 30d"))
        }
        (notation::Length::Span(per), first) => {
            let first_hit = first == Some("first_hit");
            let window = if first_hit { Window::FirstHit(per) } else { Window::Aligned(per) };
            let limit =
                Limit::fixed_window(amount, window).map_err(|error| impossible(head(node), &error))?;
            let name = if first_hit { "first_hit_window" } else { "fixed_window" };
            Ok(windowed(limit, name, amount, per))
        }
    }
}

fn sliding_window(node: &Node) -> Made<RuleLimit> {
    let (amount, per) = (needed(node, "amount")?, span_at(node)?);
    let parts = node.get("parts").and_then(Node::count).and_then(|parts| u32::try_from(parts).ok());
    let limit = match parts {
        Some(parts) => Limit::sliding_window_in_parts(amount, per, parts),
        None => Limit::sliding_window(amount, per),
    };
    let name = parts.map_or_else(|| "sliding_window".to_owned(), |parts| format!("sliding_window-{parts}"));
    Ok(windowed(limit.map_err(|error| impossible(head(node), &error))?, &name, amount, per))
}

fn sliding_log(node: &Node) -> Made<RuleLimit> {
    let (amount, per) = (needed(node, "amount")?, span_at(node)?);
    let limit = match node.get("precision").and_then(Node::count) {
        Some(precision) => Limit::sliding_log_with_precision(amount, per, precision),
        None => Limit::sliding_log(amount, per),
    };
    Ok(windowed(limit.map_err(|error| impossible(head(node), &error))?, "sliding_log", amount, per))
}

fn needed(node: &Node, name: &str) -> Made<u64> {
    node.get(name).and_then(Node::count).ok_or_else(|| missing(node, name))
}

fn missing(node: &Node, name: &str) -> Diagnostic {
    let meant = |key: &Key| crate::meant::key(crate::reference::LIMIT.name, &key.name);
    let nearest = |key: &Key| crate::diagnostic::nearest(&key.name, [name]);
    let unknown = node.entries().iter().filter(|(key, _)| crate::reference::LIMIT.field(&key.name).is_none());
    if unknown.into_iter().any(|(key, _)| meant(key).or_else(|| nearest(key)) == Some(name)) {
        return silent(node);
    }
    let message = format!("this limit lacks `{name}`");
    Diagnostic::error("limit", head(node), message).help("write { amount: 20, per: 1m }, or in short 20/min")
}

fn missing_refill(node: &Node) -> Diagnostic {
    match missing(node, "refill") {
        silent if silent.message == self::silent(node).message => silent,
        missing => missing.help("write { capacity: 20, refill: 10/s }"),
    }
}

fn span_at(node: &Node) -> Made<Duration> {
    duration_at(node, "per")?.ok_or_else(|| missing(node, "per"))
}

fn duration_at(node: &Node, name: &str) -> Made<Option<Duration>> {
    node.text_at(name).map(|(text, at)| notation::duration(&text, at.inner_span(&text))).transpose()
}

fn calendar(amount: u64, unit: Unit, zone: Option<&str>, from: Option<u8>, span: Span) -> Made<RuleLimit> {
    let name = zone.unwrap_or("UTC");
    let zone = self::zone(name, span)?;
    let identity = match from {
        Some(from) => format!("calendar/{}/{name}/{from}", unit.word()),
        None => format!("calendar/{}/{name}", unit.word()),
    };
    let calendar =
        Calendar::new(amount, Period { unit, zone, from }).map_err(|error| impossible(span, &error))?;
    let written = format!(
        "{amount}/{}{}{}",
        unit.word(),
        if name == "UTC" { String::new() } else { format!(" tz {name}") },
        from.map(|day| format!(" from {day}")).unwrap_or_default()
    );
    Ok(RuleLimit {
        identity: identity.into(),
        back: EncodedParts::default(),
        name: None,
        policy: "".into(),
        numbers: Numbers::Calendar(calendar),
        per_us: Some(unit.typical_us()),
        amount,
        counted: Counted::default(),
        written: written.into(),
    })
}

/// A zone by its name.
pub(crate) fn zone(name: &str, span: Span) -> Made<TimeZone> {
    TimeZone::get(name).map_err(|_| {
        let known: Vec<String> = jiff::tz::db().available().map(|zone| zone.as_str().to_owned()).collect();
        Diagnostic::error("zone", span, format!("`{name}` is no time zone"))
            .did_you_mean(name, known.iter().map(String::as_str))
            .help("write a name of the time zone database, such as Europe/Berlin")
    })
}

fn concurrency(slots: u64, term: Duration) -> Result<RuleLimit, LimitError> {
    Ok(RuleLimit {
        identity: "concurrency".into(),
        back: EncodedParts::default(),
        name: None,
        policy: "".into(),
        numbers: Numbers::Plain(Limit::concurrency(slots, term)?),
        per_us: None,
        amount: slots,
        counted: Counted::default(),
        written: format!("{slots} concurrent").into(),
    })
}

fn meter(
    name: &str,
    amount: u64,
    per: Duration,
    capacity: u64,
    build: impl Fn(u64, Rate) -> Result<Limit, LimitError>,
) -> Result<RuleLimit, LimitError> {
    let limit = build(capacity, Rate::new(amount, per)?)?;
    let written = format!("{amount}/{} burst {capacity}", notation::show(per));
    Ok(RuleLimit { written: written.into(), ..windowed(limit, name, amount, per) })
}

/// A bucket that shapes holds back what others refuse, and is shown so.
fn delayed(limit: RuleLimit) -> RuleLimit {
    RuleLimit { written: format!("{} delayed", limit.written).into(), ..limit }
}

fn windowed(limit: Limit, name: &str, amount: u64, per: Duration) -> RuleLimit {
    RuleLimit {
        identity: format!("{name}/{}", notation::show(per)).into(),
        back: EncodedParts::default(),
        name: None,
        policy: "".into(),
        numbers: Numbers::Plain(limit),
        per_us: u64::try_from(per.as_micros()).ok(),
        amount,
        counted: Counted::default(),
        written: format!("{amount}/{}", notation::show(per)).into(),
    }
}

fn impossible(span: Span, error: &LimitError) -> Diagnostic {
    Diagnostic::error("limit", span, error.to_string())
}
