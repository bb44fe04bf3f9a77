//! Rule files: read, compiled, remarked on; and whatever compiles can be asked.

use tidegate_core::Timestamp;
use tidegate_engine::explain::explain;
use tidegate_engine::{Check, Descriptor, Engine};
use tidegate_rules::{Compiled, Domain, Severity, Source, compile, homes, table};
use tidegate_store::Reference;

use crate::world::{NOW, wait};

/// The most words of a file that checks are made of.
const MOST_WORDS: usize = 64;

pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let compiled = compiled(&text);
    remarks_are_sound(&compiled);
    assert_eq!(compiled.render(), self::compiled(&text).render(), "the same file is remarked on otherwise");
    if compiled.snapshot.is_some() {
        can_be_asked(compiled, &text);
    } else {
        assert!(compiled.count(Severity::Error) > 0, "there are no rules and no reason");
    }
}

fn compiled(text: &str) -> Compiled {
    compile(vec![Source::new("fuzzed.yaml", text)])
}

/// Every remark has a place in the text, and all are shown.
fn remarks_are_sound(compiled: &Compiled) {
    for file in &compiled.files {
        let length = file.source.text().len();
        for remark in file.diagnostics.iter() {
            let span = remark.span;
            assert!(span.start <= span.end && span.end <= length, "{remark:?} of {length} bytes");
            assert!(!remark.message.is_empty());
        }
        let shown = file.diagnostics.render(&file.source).matches("fuzzed.yaml:").count();
        assert!(shown >= file.diagnostics.iter().count(), "not all remarks are shown");
    }
}

fn can_be_asked(compiled: Compiled, text: &str) {
    let Some(snapshot) = compiled.snapshot else { return };
    let rows = table::rows(&snapshot);
    assert!(table::text(&rows).lines().count() >= rows.len());
    homes::text(&homes::of(&snapshot));
    let words: Vec<&str> = text.split(|one: char| " \t\r\n:,[]{}\"'".contains(one)).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).take(MOST_WORDS).collect();
    let pairs: Vec<(&str, &str)> = words.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let engine = Engine::new(Reference::new());
    engine.install(snapshot);
    for domain in engine.snapshot().domains() {
        ask(&engine, domain, &pairs);
    }
    assert_eq!(engine.observed().panics(), 0, "a panic was contained");
}

/// A check of all words as facts, one with the attributes that the rules know, and one of descriptors.
fn ask(engine: &Engine<Reference>, domain: &Domain, pairs: &[(&str, &str)]) {
    let known: Vec<String> = domain.rules.iter().flat_map(|rule| domain.by(rule)).collect();
    let known: Vec<(&str, &str)> = known.iter().map(|name| (name.as_str(), "1")).take(32).collect();
    let descriptors: Vec<Descriptor<'_>> = pairs
        .iter()
        .take(16)
        .enumerate()
        .map(|(place, _)| Descriptor::new(&pairs[place..(place + 2).min(pairs.len())]))
        .collect();
    let check = Check::new(&domain.name);
    for check in [
        Check { attributes: pairs, ..check },
        Check { attributes: &known, ..check },
        Check { descriptors: &descriptors, ..check },
    ] {
        decided_alike(engine, &check, NOW);
        decided_alike(engine, &check, Timestamp::from_micros(0));
    }
}

/// Whoever would pass does, once; and who can be asked can be explained to.
fn decided_alike(engine: &Engine<Reference>, check: &Check<'_>, now: Timestamp) {
    let peeked = wait(engine.peek(check, now));
    let decided = wait(engine.check(check, now));
    match (&peeked, &decided) {
        (Ok(peeked), Ok(decided)) => {
            assert_eq!(peeked.allowed(), decided.allowed(), "{} and {}", peeked.reason(), decided.reason());
            for view in decided.limits() {
                assert!(view.verdict.remaining <= view.limit.capacity(), "more is left than there is");
            }
        }
        (Err(one), Err(other)) => assert_eq!(one, other),
        (one, other) => panic!("{:?} and {:?}", one.is_ok(), other.is_ok()),
    }
    assert_eq!(explain(check, &engine.snapshot(), now).is_ok(), decided.is_ok(), "{:?}", decided.err());
}
