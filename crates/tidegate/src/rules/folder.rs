//! A folder of rule files as texts: bounded in number and size as the server's are, and only what are files.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use tidegate_rules::Source;
use tidegate_rules::yaml::MAX_BYTES;

use super::RulesError;

/// The most files that are read: as many as the server reads.
const MOST_FILES: usize = 1_000;

/// The texts of all `.yaml` and `.yml` files of a folder; those with a leading dot are left alone.
pub(super) fn read(path: &Path) -> Result<Vec<Source>, RulesError> {
    let unreadable =
        |path: &Path, source| RulesError::Unreadable { path: path.display().to_string(), source };
    let files = list(path).map_err(|error| unreadable(path, error))?;
    let source = |file: PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        text(&file).map(|text| Source::new(name, text)).map_err(|error| unreadable(&file, error))
    };
    files.into_iter().map(source).collect()
}

fn list(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let file = entry?.path();
        if is_rule_file(&file) {
            files.push(file);
        }
        if files.len() > MOST_FILES {
            return refuse(format!("more than {MOST_FILES} rule files; merge some"));
        }
    }
    Ok(files)
}

fn is_rule_file(file: &Path) -> bool {
    let hidden = file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    !hidden && file.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}

fn text(file: &Path) -> io::Result<String> {
    if !fs::metadata(file)?.is_file() {
        return refuse("not a regular file".to_owned());
    }
    let mut text = String::new();
    // One byte more tells a file that is too large, also if it grows while it is read.
    fs::File::open(file)?.take(MAX_BYTES as u64 + 1).read_to_string(&mut text)?;
    if text.len() > MAX_BYTES {
        return refuse(format!("more than {MAX_BYTES} bytes; split it"));
    }
    Ok(text)
}

fn refuse<T>(message: String) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidData, message))
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    fn why(folder: &Path) -> String {
        read(folder).unwrap_err().source().unwrap().to_string()
    }

    #[test]
    fn only_rule_files_of_the_folder_itself_are_read() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.yaml", "b.yml", ".hidden.yaml", "c.json", "yaml"] {
            fs::write(folder.path().join(name), "domain: api").unwrap();
        }
        fs::create_dir(folder.path().join("below")).unwrap();
        let mut names: Vec<_> =
            read(folder.path()).unwrap().iter().map(|source| source.name().to_owned()).collect();
        names.sort();
        assert_eq!(names, ["a.yaml", "b.yml"]);
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = fs::File::create(folder.path().join("a.yaml")).unwrap();
        file.set_len(MAX_BYTES as u64).unwrap();
        assert_eq!(read(folder.path()).unwrap()[0].text().len(), MAX_BYTES);
        file.set_len(1 << 40).unwrap();
        assert_eq!(why(folder.path()), "more than 4194304 bytes; split it");
    }

    #[test]
    fn too_many_files_and_what_is_no_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("folder.yaml")).unwrap();
        assert_eq!(why(folder.path()), "not a regular file");
        for name in 0..MOST_FILES {
            fs::write(folder.path().join(format!("{name}.yaml")), "").unwrap();
        }
        assert_eq!(why(folder.path()), "more than 1000 rule files; merge some");
    }
}
