//! A child process that ends with its owner, however that one ends.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// A pipe is held open by us alone: when it closes, because the owner let go or because the whole test was killed, a shell beside
/// the program ends the program.
const LEASHED: &str = r#"exec 3<&0; (read -r _ <&3; kill -9 $$) & exec "$@" 3<&- </dev/null"#;

pub(crate) struct Program {
    child: Child,
}

impl Program {
    pub(crate) fn start(path: &Path, arguments: &[impl AsRef<OsStr>], folder: &Path) -> Self {
        let log = std::fs::File::create(folder.join("output")).expect("the folder is ours");
        let child = Command::new("sh")
            .args(["-c", LEASHED, "leash"])
            .arg(path)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("a file can be opened twice"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { child }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let process = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("it has a number");
        kill_process(process, signal).expect("it is our child and has not been waited for");
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A program that `tools/needs` has installed, or that is on the path.
pub(crate) fn installed(place: &str) -> PathBuf {
    let ours = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools")).join(place);
    let name = Path::new(place).file_name().expect("a program has a name");
    let on_path = || {
        std::env::split_paths(&std::env::var_os("PATH")?)
            .map(|folder| folder.join(name))
            .find(|path| path.exists())
    };
    if ours.exists() {
        return ours;
    }
    on_path().unwrap_or_else(|| panic!("{} is missing: run tools/needs", name.display()))
}
