//! Folders of rule files that come and go with their test, changed in the ways in which operators change them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A folder of its own, removed with its owner.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let name = format!("e2e-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A folder with one file, `api.yaml`.
    pub(crate) fn of(text: &str) -> Self {
        let folder = Self::new();
        folder.write("api.yaml", text);
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file in place, as an editor without manners does.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.file(name), text).unwrap();
    }

    /// Puts a new file in the place of an old one in one step.
    pub(crate) fn replace(&self, name: &str, text: &str) {
        let beside = self.file(&format!(".{name}.new"));
        fs::write(&beside, text).unwrap();
        fs::rename(beside, self.file(name)).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.file(name)).unwrap();
    }

    /// Shows `api.yaml` as Kubernetes mounts a ConfigMap: a link through `..data`, which is swapped when there is a new version.
    pub(crate) fn mount(&self, version: &str, text: &str) {
        let inside = format!("..{version}");
        fs::create_dir(self.file(&inside)).unwrap();
        fs::write(self.file(&inside).join("api.yaml"), text).unwrap();
        let before = fs::read_link(self.file("..data")).ok();
        symlink(&inside, self.file("..data_tmp")).unwrap();
        fs::rename(self.file("..data_tmp"), self.file("..data")).unwrap();
        match before {
            Some(before) => fs::remove_dir_all(self.0.join(before)).unwrap(),
            None => symlink("..data/api.yaml", self.file("api.yaml")).unwrap(),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed stays under the build folder.
        fs::remove_dir_all(&self.0).ok();
    }
}
