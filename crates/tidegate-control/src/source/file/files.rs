//! Rule files on disk: which files belong to a path, their texts, and a fingerprint of them.
//!
//! Only the first level of a directory is read, unless it has the layout of envoyproxy/ratelimit:
//! a folder `config` with files of any name in it and below. Names with a leading dot are skipped
//! (Kubernetes' `..data`, swap files of editors); links to files are followed.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tidegate_rules::yaml::MAX_BYTES;

use super::RuleFiles;

/// The most files that are read.
const MAX_FILES: usize = 1_000;

/// The folder of rules in envoyproxy/ratelimit's layout.
const APP_DIRECTORY: &str = "config";

/// How deep that folder is searched.
const MAX_LEVELS: usize = 8;

/// Device, inode, size and times of every file; `None` for a file without metadata, such as a
/// dangling link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<PathBuf, Option<[u64; 7]>>);

/// The fingerprint of a directory's rule files, or of one file.
pub(super) fn fingerprint(path: &Path) -> io::Result<Fingerprint> {
    let stamp = |file: PathBuf| {
        let stamp = fs::metadata(&file).ok().map(|metadata| stamp(&metadata));
        (file, stamp)
    };
    Ok(Fingerprint(list(path)?.into_iter().map(stamp).collect()))
}

/// Reads the rule files of a directory, or one file. Only regular files are read, and both their
/// number and their size are bounded.
pub fn read(path: &Path) -> io::Result<RuleFiles> {
    let files = list(path)?.into_iter();
    Ok(files
        .map(|file| (file.display().to_string(), text(&file).map_err(|error| error.to_string())))
        .collect())
}

/// The rule files of a directory, or the file itself.
fn list(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        if is_rule_file(Path::new(&name)) {
            files.push(path.join(name));
        }
    }
    let app = path.join(APP_DIRECTORY);
    if files.iter().all(|file| belongs_to_app(file)) && app.is_dir() {
        walk(&app, MAX_LEVELS, &mut files)?;
    }
    if files.len() > MAX_FILES {
        let message = format!("{} rule files, and the most is {MAX_FILES}", files.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(files)
}

/// envoyproxy/ratelimit takes `config/…` and `config.…` of `RUNTIME_ROOT/RUNTIME_SUBDIRECTORY`.
fn belongs_to_app(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().as_encoded_bytes();
    name.strip_prefix(APP_DIRECTORY.as_bytes()).is_some_and(|rest| rest.starts_with(b"."))
}

/// Adds the files of a directory and of those below. Links to files are followed, links to
/// directories are not.
fn walk(directory: &Path, levels: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") || files.len() > MAX_FILES {
            continue;
        }
        if entry.file_type()?.is_dir() {
            if levels > 0 {
                walk(&path, levels - 1, files)?;
            }
        } else if !path.is_dir() {
            files.push(path);
        }
    }
    Ok(())
}

fn is_rule_file(name: &Path) -> bool {
    let hidden = name.as_os_str().as_encoded_bytes().starts_with(b".");
    !hidden && name.extension().is_some_and(|end| end == "yaml" || end == "yml")
}

fn text(file: &Path) -> io::Result<String> {
    let refuse = |message: String| Err(io::Error::new(io::ErrorKind::InvalidData, message));
    let metadata = fs::metadata(file)?;
    if !metadata.is_file() {
        return refuse("not a regular file".to_owned());
    }
    if metadata.len() > MAX_BYTES as u64 {
        return refuse(format!("{} bytes, and the most is {MAX_BYTES}; split it", metadata.len()));
    }
    fs::read_to_string(file)
}

fn stamp(metadata: &Metadata) -> [u64; 7] {
    let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
    let [mtime, mtime_ns, ctime, ctime_ns] = times.map(i64::cast_unsigned);
    [metadata.dev(), metadata.ino(), metadata.len(), mtime, mtime_ns, ctime, ctime_ns]
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let name = |file: &String| Path::new(file).file_name().unwrap().to_str().unwrap().to_owned();
        read(path).unwrap().keys().map(name).collect()
    }

    #[test]
    fn reads_yaml_of_the_first_level() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.yaml", "b.yml", ".hidden.yaml", "c.json", "yaml"] {
            fs::write(folder.path().join(name), "domain: api").unwrap();
        }
        fs::create_dir(folder.path().join("below")).unwrap();
        fs::write(folder.path().join("below/d.yaml"), "domain: api").unwrap();
        assert_eq!(names(folder.path()), ["a.yaml", "b.yml"]);
        assert_eq!(names(&folder.path().join("c.json")), ["c.json"], "a file that is named is read");
    }

    #[test]
    fn reads_layout_of_envoyproxy_ratelimit() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "domain: api").unwrap();
        };
        for name in
            ["config/api", "config/team/b.yaml", "config/team/deep/c.txt", "config/.hidden", "other/d"]
        {
            write(name);
        }
        assert_eq!(names(folder.path()), ["api", "b.yaml", "c.txt"]);
        write("config.more.yaml");
        assert_eq!(names(folder.path()), ["config.more.yaml", "api", "b.yaml", "c.txt"]);
        write("rules.yaml");
        assert_eq!(names(folder.path()), ["config.more.yaml", "rules.yaml"], "a folder of our own");
    }

    #[test]
    fn kubernetes_link_swap_changes_fingerprint_and_texts() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (version, text) in [("..1", "domain: a"), ("..2", "domain: b")] {
            fs::create_dir(path(version)).unwrap();
            fs::write(path(version).join("api.yaml"), text).unwrap();
        }
        symlink("..1", path("..data")).unwrap();
        symlink("..data/api.yaml", path("api.yaml")).unwrap();
        let (before, texts) = (fingerprint(folder.path()).unwrap(), read(folder.path()).unwrap());
        assert_eq!(texts.into_values().collect::<Vec<_>>(), [Ok("domain: a".to_owned())]);

        symlink("..2", path("..data_tmp")).unwrap();
        fs::rename(path("..data_tmp"), path("..data")).unwrap();
        assert_ne!(fingerprint(folder.path()).unwrap(), before);
        let texts = read(folder.path()).unwrap();
        assert_eq!(texts.into_values().collect::<Vec<_>>(), [Ok("domain: b".to_owned())]);
    }

    #[test]
    fn reports_what_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("folder.yaml")).unwrap();
        symlink("nowhere", folder.path().join("gone.yaml")).unwrap();
        let texts: Vec<_> = read(folder.path()).unwrap().into_values().collect();
        assert_eq!(texts[0], Err("not a regular file".to_owned()));
        assert!(texts[1].is_err());
        assert!(fingerprint(&folder.path().join("absent")).is_err());
    }
}
