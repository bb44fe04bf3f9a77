//! A child process: what it says is kept, and it ends with its owner.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::patience::{in_time, within};

/// A running program.
pub(crate) struct Program {
    child: Child,
    log: watch::Receiver<Vec<String>>,
}

impl Program {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (lines, log) = watch::channel(Vec::new());
        let lines = Arc::new(lines);
        tokio::spawn(listen(child.stdout.take().unwrap(), Arc::clone(&lines)));
        tokio::spawn(listen(child.stderr.take().unwrap(), lines));
        Self { child, log }
    }

    /// Everything it has said so far.
    pub(crate) fn said(&self) -> String {
        self.log.borrow().join("\n")
    }

    /// Waits for a line of which something can be made, and gives the first.
    pub(crate) async fn line<T>(&self, what: &str, pick: impl Fn(&str) -> Option<T>) -> T {
        let first = |lines: &Vec<String>| lines.iter().find_map(|line| pick(line));
        let mut log = self.log.clone();
        // What was seen locks the log: it must be let go before the log is read again.
        let is_said = matches!(in_time(log.wait_for(|lines| first(lines).is_some())).await, Some(Ok(_)));
        assert!(is_said, "no line with {what}:\n{}", self.said());
        first(&self.log.borrow()).unwrap()
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("it still runs")
    }

    /// Sends it a signal by its name, such as `TERM`.
    pub(crate) async fn signal(&self, name: &str) {
        let process = self.child.id().expect("it still runs").to_string();
        let kill = Command::new("sh").args(["-c", r#"kill -s "$0" "$1""#, name, &process]).status();
        assert!(kill.await.unwrap().success());
    }

    /// Ends it at once, as a crash would.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Waits until it can say nothing more.
    pub(crate) async fn silence(&self) {
        let mut log = self.log.clone();
        while log.changed().await.is_ok() {}
    }

    /// Waits for its end, and gives its exit code and everything it said.
    pub(crate) async fn end(mut self) -> (Option<i32>, String) {
        let ended = in_time(self.child.wait()).await;
        let status = ended.unwrap_or_else(|| panic!("it does not end:\n{}", self.said())).unwrap();
        within("its last words", self.silence()).await;
        (status.code(), self.said())
    }
}

async fn listen(stream: impl AsyncRead + Unpin, log: Arc<watch::Sender<Vec<String>>>) {
    let mut lines = BufReader::new(stream).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        log.send_modify(|said| said.push(line));
    }
}

/// The root of the tree.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A program that `tools/needs` has installed, or that is on the path.
pub(crate) fn installed(place: &str) -> PathBuf {
    let ours = root().join("target/tools").join(place);
    let name = ours.file_name().unwrap().to_owned();
    let on_path = || {
        std::env::split_paths(&std::env::var_os("PATH")?)
            .map(|folder| folder.join(&name))
            .find(|path| path.exists())
    };
    if ours.exists() {
        ours
    } else {
        on_path().unwrap_or_else(|| panic!("{} is missing: run tools/needs", name.display()))
    }
}
