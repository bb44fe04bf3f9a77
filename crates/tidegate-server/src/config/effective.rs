//! The settings in force, each with where it comes from. Logins in addresses are hidden.

use std::collections::BTreeMap;
use std::path::Path;

use tidegate_rules::yaml::{self, Key, Node, Value};
use tidegate_rules::{Diagnostics, Source};

use super::load::{FILE_VARIABLE, load};
use super::{Config, ConfigError, Given, SETTINGS, Setting, file};

/// A setting, its value as it was written, and where that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// Its key in the file.
    pub key: String,
    /// Its value.
    pub value: String,
    /// A flag, a variable, the file or `default`.
    pub source: String,
}

/// All settings as a server would use them; all that is wrong with them if it would not start.
pub fn effective(given: &Given) -> Result<Vec<EffectiveSetting>, ConfigError> {
    let config = load(given)?;
    let path = given.config.clone().or_else(|| given.variable(FILE_VARIABLE).map(Into::into));
    let file = path.as_deref().map(written).unwrap_or_default();
    let file_name = path.map(|path| path.display().to_string()).unwrap_or_default();
    let mut all: Vec<_> =
        SETTINGS.iter().map(|setting| one(setting, given, (&file, &file_name), &config)).collect();
    let extra = file.iter().filter(|(key, _)| SETTINGS.iter().all(|setting| setting.key != key.as_str()));
    all.extend(extra.map(|(key, value)| EffectiveSetting {
        key: key.clone(),
        value: without_login(value),
        source: file_name.clone(),
    }));
    Ok(all)
}

fn one(
    setting: &Setting,
    given: &Given,
    (file, file_name): (&BTreeMap<String, String>, &str),
    config: &Config,
) -> EffectiveSetting {
    let flag = || given.flag(setting).map(|(flag, text)| (text.to_owned(), format!("--{flag}")));
    let variable = || Some((given.variable(setting.variable)?.to_owned(), setting.variable.to_owned()));
    let in_file = || Some((file.get(setting.key)?.clone(), file_name.to_owned()));
    let default = || match &config.rules {
        Some(folder) if setting.key == "rules" => {
            (folder.display().to_string(), "default, the folder is there")
        }
        _ => (setting.default.to_owned(), "default"),
    };
    let (value, source) = flag().or_else(variable).or_else(in_file).unwrap_or_else(|| {
        let (value, source) = default();
        (value, source.to_owned())
    });
    EffectiveSetting { key: setting.key.to_owned(), value: without_login(&value), source }
}

/// What the file says, by key. A file that cannot be read was told before.
fn written(path: &Path) -> BTreeMap<String, String> {
    let Ok(text) = std::fs::read_to_string(path) else { return BTreeMap::new() };
    let source = Source::new(path.display().to_string(), text);
    let Some(node) = yaml::parse(&source, &mut Diagnostics::default()) else { return BTreeMap::new() };
    let told = |setting: &Setting| {
        let value = file::find(&node, setting)?;
        Some((setting.key.to_owned(), text_of(value)))
    };
    let mut all: BTreeMap<_, _> = SETTINGS.iter().filter_map(told).collect();
    if let Some(Value::Map(stores)) = node.get("stores").map(|stores| &stores.value) {
        all.extend(
            stores.iter().map(|(whose, address)| (format!("stores.{}", whose.name), text_of(address))),
        );
    }
    all
}

/// A value in one line: lists with commas, objects in braces.
fn text_of(node: &Node) -> String {
    match &node.value {
        Value::List(items) => items.iter().map(text_of).collect::<Vec<_>>().join(","),
        Value::Map(entries) => {
            let entry = |(key, value): &(Key, Node)| format!("{}: {}", key.name, text_of(value));
            format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        _ => node.text().unwrap_or_default(),
    }
}

/// The text with three stars for all that stands before an `@`, but for the scheme.
fn without_login(text: &str) -> String {
    let Some(end) = text.rfind('@') else { return text.to_owned() };
    let start = text[..end].find("://").map_or(0, |scheme| scheme + 3);
    format!("{}***{}", &text[..start], &text[end..])
}
