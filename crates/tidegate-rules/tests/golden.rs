//! What the compiler says about files, word for word. `TIDEGATE_BLESS=1` writes it anew.

use std::path::{Path, PathBuf};

use tidegate_rules::{Context, Source, compile, compile_in, schedule};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn files(ending: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder()).expect("the folder is there").flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        all.filter(|path| path.extension().is_some_and(|own| own == ending)).collect();
    files.sort();
    files
}

#[test]
fn the_compiler_says_what_it_said() {
    let bless = std::env::var_os("TIDEGATE_BLESS").is_some();
    let inputs = files("yaml");
    assert!(inputs.len() > 5);
    let now = schedule::instant("2026-11-19T12:00:00Z").ok();
    let context = Context { now, ..Context::default() };
    for input in &inputs {
        let name = input.file_name().unwrap().to_string_lossy().into_owned();
        let compiled = compile_in(&context, vec![Source::new(name, std::fs::read_to_string(input).unwrap())]);
        let said = compiled.render();
        let expected = input.with_extension("txt");
        if bless {
            std::fs::write(&expected, &said).unwrap();
        }
        let written = std::fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(said, written, "{}", input.display());
    }
    let stems = |ending| files(ending).into_iter().map(|path| path.with_extension("")).collect::<Vec<_>>();
    assert_eq!(stems("yaml"), stems("txt"), "every text belongs to a file");
}

#[test]
fn the_reference_is_what_the_tables_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/rules.md");
    let head = "# Rules: every key\n\nMade from the tables that files are held against; `tidegate init` writes a file to start from, and \
        [the guide](../guides/rules.md) explains.\n\n";
    let text = format!("{head}{}", tidegate_rules::schema::reference().trim_end()) + "\n";
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        std::fs::write(&path, &text).expect("the folder is there");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "TIDEGATE_BLESS=1 writes it anew");
}

/// Rules in a page: what stands between a line `domain: …` and the end of its block.
fn rules_of(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("domain: ") {
            let block = lines.by_ref().take_while(|line| !matches!(*line, "```" | "END" | "EOF"));
            found.push(std::iter::once(line).chain(block).collect::<Vec<_>>().join("\n"));
        }
    }
    found
}

#[test]
fn documented_rules_have_no_warnings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("examples/rules/api.yaml")];
    for folder in ["docs/guides", "docs/guides/proxies", "docs/reference"] {
        let files = std::fs::read_dir(root.join(folder)).expect("the folder is there").flatten();
        pages.extend(files.map(|file| file.path()).filter(|path| path.is_file()));
    }
    let mut seen = 0;
    for page in pages {
        for rules in rules_of(&std::fs::read_to_string(&page).unwrap()) {
            seen += 1;
            assert_eq!(compile(vec![Source::new("api.yaml", rules)]).render(), "", "{}", page.display());
        }
    }
    assert!(seen > 8, "{seen}");
}

mod rubbish {
    use proptest::prelude::*;
    use tidegate_rules::{Source, compile, starter::STARTER};

    const ODD: [&str; 16] = [
        "{",
        "}",
        "[",
        "]",
        ":",
        "- ",
        "\n",
        "  ",
        "&a ",
        "*a",
        "!!",
        "\"",
        "\u{0}",
        "99999999999999999999",
        "ö",
        "/s burst 0 tz",
    ];

    fn texts() -> Vec<String> {
        let golden =
            super::files("yaml").into_iter().map(|path| std::fs::read_to_string(path).unwrap_or_default());
        golden.chain([STARTER.to_owned()]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Whatever is done to a file, there are rules or words about what is wrong.
        #[test]
        fn no_text_makes_the_compiler_panic(
            which in any::<prop::sample::Index>(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, 0..ODD.len()), 1..6),
        ) {
            let texts = texts();
            let mut text: Vec<char> = texts[which.index(texts.len())].chars().collect();
            for (place, length, odd) in changes {
                let start = place.index(text.len() + 1);
                let end = (start + length).min(text.len());
                text.splice(start..end, ODD[odd].chars());
            }
            let compiled = compile(vec![Source::new("odd.yaml", text.into_iter().collect::<String>())]);
            let said = compiled.render();
            prop_assert!(compiled.snapshot.is_some() || said.contains("error["), "{}", said);
        }
    }
}
