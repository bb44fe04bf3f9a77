//! Where counters are kept if nobody says where.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::config::Place;

/// The name of the file in a folder.
const NAME: &str = "counters.checkpoint";

/// The path of the file; `None` if counters are not to be kept.
pub(super) fn path(
    place: &Place,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Option<io::Result<PathBuf>> {
    match place {
        Place::Off => None,
        Place::At(folder) if folder.is_dir() => Some(Ok(folder.join(NAME))),
        Place::At(path) => Some(Ok(path.clone())),
        Place::Auto => {
            let none = || io::Error::new(io::ErrorKind::NotFound, "this user has no home folder");
            let folder = folder(variable, is_root());
            Some(folder.map(|folder| folder.join(NAME)).ok_or_else(none))
        }
    }
}

/// The folder for what a service keeps: systemd's, else root's, else the user's (XDG Base Directory Specification).
fn folder(variable: impl Fn(&str) -> Option<OsString>, is_root: bool) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    // Several folders are separated by colons.
    let of_service = variable("STATE_DIRECTORY").and_then(|paths| std::env::split_paths(&paths).next());
    of_service
        .filter(|path| path.is_absolute())
        .or_else(|| Some(absolute("XDG_STATE_HOME")?.join("tidegate")))
        .or_else(|| is_root.then(|| Path::new("/var/lib/tidegate").to_owned()))
        .or_else(|| Some(absolute("HOME")?.join(".local/state/tidegate")))
}

/// Whether this process is root's; not known everywhere, and `false` then.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)], is_root: bool) -> Option<PathBuf> {
        let value =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        folder(value, is_root)
    }

    #[test]
    fn the_folder_is_the_services_then_the_users() {
        let home = ("HOME", "/home/ann");
        let state = ("XDG_STATE_HOME", "/home/ann/state");
        let service = ("STATE_DIRECTORY", "/var/lib/gate:/var/lib/more");
        let check = |variables: &[(&str, &str)], is_root, expected: &str| {
            assert_eq!(found(variables, is_root), Some(expected.into()));
        };
        check(&[home, state, service], true, "/var/lib/gate");
        check(&[home, state], true, "/home/ann/state/tidegate");
        check(&[home], true, "/var/lib/tidegate");
        check(&[home], false, "/home/ann/.local/state/tidegate");
        check(
            &[home, ("XDG_STATE_HOME", "state"), ("STATE_DIRECTORY", "")],
            false,
            "/home/ann/.local/state/tidegate",
        );
        assert_eq!(found(&[("HOME", "")], false), None);
    }

    #[test]
    fn off_is_nowhere_and_a_path_is_that_path() {
        assert!(path(&Place::Off, |_| None).is_none());
        let given = path(&Place::At("x/y".into()), |_| None).unwrap().unwrap();
        assert_eq!(given, Path::new("x/y"));
        let folder = tempfile::tempdir().unwrap();
        let given = path(&Place::At(folder.path().to_owned()), |_| None).unwrap().unwrap();
        assert_eq!(given, folder.path().join(NAME));
    }
}
