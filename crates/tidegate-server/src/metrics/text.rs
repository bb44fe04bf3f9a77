//! Prometheus' text format.

use std::fmt::{Display, Write as _};

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// It counts values by size.
    Histogram,
}

/// A page of metrics.
#[derive(Debug, Default)]
pub(crate) struct Text {
    out: String,
    family: &'static str,
}

impl Text {
    /// Begins a metric.
    pub(crate) fn family(&mut self, name: &'static str, kind: Kind, help: &str) -> &mut Self {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.family = name;
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        self
    }

    /// A value of the metric.
    pub(crate) fn value(&mut self, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        self.sample("", labels, value)
    }

    /// A value of the metric under a name that ends differently.
    pub(crate) fn sample(&mut self, ending: &str, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        let family = self.family;
        self.write(format_args!("{family}{ending}"));
        for (index, (name, value)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            self.write(format_args!("{before}{name}=\"{}\"", escaped(value)));
        }
        let after = if labels.is_empty() { "" } else { "}" };
        self.write(format_args!("{after} {value}\n"));
        self
    }

    /// The page.
    pub(crate) fn finish(self) -> String {
        self.out
    }

    fn write(&mut self, words: std::fmt::Arguments<'_>) {
        self.out.write_fmt(words).expect("a string can always grow");
    }
}

/// Nanoseconds as seconds, to the last digit.
pub(super) fn seconds(nanoseconds: u64) -> String {
    let (whole, part) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    let text = format!("{whole}.{part:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', "\\n")
}
