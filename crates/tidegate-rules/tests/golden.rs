//! What the compiler says about files, word for word. `TIDEGATE_BLESS=1` writes it anew.

use std::path::{Path, PathBuf};

use tidegate_rules::{Source, compile};

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
    for input in &inputs {
        let name = input.file_name().unwrap().to_string_lossy().into_owned();
        let compiled = compile(vec![Source::new(name, std::fs::read_to_string(input).unwrap())]);
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
