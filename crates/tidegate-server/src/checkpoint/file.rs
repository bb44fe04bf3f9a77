//! The file: one server's at a time, only for the eyes of its user, and always whole: a new one takes its place in one step.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use tidegate_core::Timestamp;
use tidegate_store::Memory;
use tidegate_store::memory::checkpoint::{CheckpointError, Restored};

/// It holds the key of the hashes.
const ONLY_OURS: u32 = 0o600;
const ONLY_OUR_FOLDER: u32 = 0o700;

const BUFFER_BYTES: usize = 256 << 10;

/// The place of the file, as long as this server has it.
pub(crate) struct Home {
    path: PathBuf,
    folder: PathBuf,
    /// Held until the process ends, however it ends.
    _lock: File,
}

/// What is in the file.
pub(super) enum Found {
    /// There is none.
    Nothing,
    Counters(Box<Memory>, Restored),
    /// Something that cannot be used.
    Refused(CheckpointError),
}

impl Home {
    /// Takes the place, if no other server has it, and makes its folder if need be.
    pub(super) fn claim(path: &Path) -> io::Result<Self> {
        let within = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        DirBuilder::new().recursive(true).mode(ONLY_OUR_FOLDER).create(&folder).map_err(within)?;
        let mut options = OpenOptions::new();
        options.create(true).write(true).truncate(false).mode(ONLY_OURS);
        let lock = options.open(beside(path, "lock")).map_err(within)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                within(io::Error::new(io::ErrorKind::ResourceBusy, "another server keeps its counters there"))
            }
            TryLockError::Error(error) => within(error),
        })?;
        Ok(Self { path: path.to_owned(), folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what is there.
    pub(super) fn read(&self, cap_bytes: usize, now: Timestamp) -> io::Result<Found> {
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            file => file?,
        };
        let input = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(match Memory::restore(input, cap_bytes, now) {
            Ok((memory, restored)) => Found::Counters(Box::new(memory), restored),
            Err(error) => Found::Refused(error),
        })
    }

    /// Gives the file another name, so that it can be looked at; which.
    pub(super) fn put_aside(&self) -> io::Result<PathBuf> {
        let aside = beside(&self.path, "refused");
        std::fs::rename(&self.path, &aside)?;
        Ok(aside)
    }

    /// Writes another file beside it, and lets that take its place once it is safely on the disk. If anything goes wrong the
    /// file stays as it was.
    pub(super) fn write<T>(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
        let new = beside(&self.path, "new");
        let written = draft(&new, write).and_then(|written| {
            std::fs::rename(&new, &self.path)?;
            File::open(&self.folder)?.sync_all()?;
            Ok(written)
        });
        if written.is_err() {
            // A disk that is full is not to stay so for our sake.
            drop(std::fs::remove_file(&new));
        }
        written
    }
}

/// Writes a file that was not there before, down to the disk.
fn draft<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(ONLY_OURS).open(path)?;
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
    let written = write(&mut out)?;
    out.into_inner()?.sync_all()?;
    Ok(written)
}

/// The same path with another ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}
