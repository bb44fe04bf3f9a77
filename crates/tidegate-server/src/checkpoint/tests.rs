use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::config::Place;

const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

struct World {
    folder: TempDir,
    config: Config,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.checkpoint.place = Place::At(folder.path().join("a/b/counters"));
        Self { folder, config }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("a/b").join(name)
    }

    fn open(&self) -> Option<Opened> {
        open(&self.config, NOW).1
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.file("")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn write(home: &Home) {
    home.write(|out| Memory::new().save(out, NOW, 4096)).unwrap();
}

#[test]
fn the_file_is_ours_alone_and_takes_the_place_of_the_last_one() {
    let world = World::new();
    let home = world.open().unwrap().home;
    // What a crash has left.
    fs::write(world.file("counters.new"), "half").unwrap();
    for _ in 0..2 {
        write(&home);
        assert_eq!(world.names(), ["counters", "counters.lock"]);
        let mode = fs::metadata(world.file("counters")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let mode = fs::metadata(world.file("")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn only_one_server_has_it_at_a_time() {
    let world = World::new();
    let first = world.open();
    assert!(first.is_some() && world.open().is_none());
    drop(first);
    assert!(world.open().is_some());
}

#[test]
fn what_fails_leaves_the_file_as_it_was() {
    let world = World::new();
    let home = world.open().unwrap().home;
    write(&home);
    let before = fs::read(world.file("counters")).unwrap();
    let failed: io::Result<()> = home.write(|out| {
        out.write_all(&vec![7; 1 << 20])?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(fs::read(world.file("counters")).unwrap(), before);
    assert_eq!(world.names(), ["counters", "counters.lock"]);
}

#[test]
fn what_cannot_be_used_is_put_aside() {
    let world = World::new();
    drop(world.open());
    for rubbish in ["", "rubbish", "tidegate and more"] {
        fs::write(world.file("counters"), rubbish).unwrap();
        let opened = world.open().unwrap();
        assert_eq!(opened.restored, None);
        assert_eq!(world.names(), ["counters.lock", "counters.refused"]);
        assert_eq!(fs::read_to_string(world.file("counters.refused")).unwrap(), rubbish);
    }
}

#[test]
fn without_a_folder_it_goes_on_without() {
    let mut world = World::new();
    let blocked = world.folder.path().join("blocked");
    fs::write(&blocked, "a file, no folder").unwrap();
    world.config.checkpoint.place = Place::At(blocked.join("counters"));
    assert!(world.open().is_none());
    world.config.checkpoint.place = Place::Off;
    assert!(world.open().is_none());
}
