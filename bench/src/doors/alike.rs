//! Before any timing: what throttlecrab replies is what our own replies are compared with in tests.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// Questions, and what they were answered with.
const RECORDED: &str = include_str!("../../../crates/tidegate-frontend/src/resp/tests/throttlecrab.txt");

/// How long a reply may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Fails if it says something else now. Times are cut off to seconds, so that one may have gone by.
pub(super) fn check(throttlecrab: SocketAddr) -> Result<()> {
    let mut writer = TcpStream::connect(throttlecrab)?;
    writer.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(writer.try_clone()?);
    let lines = RECORDED.lines().filter(|line| !line.starts_with('#'));
    for (asked, recorded) in lines.filter_map(|line| line.split_once(" -> ")) {
        let words = asked.split(' ').map(|word| format!("${}\r\n{word}\r\n", word.len()));
        let words: Vec<String> = words.collect();
        writer.write_all(format!("*{}\r\n{}", words.len(), words.concat()).as_bytes())?;
        let mut head = String::new();
        reader.read_line(&mut head)?;
        ensure!(head == "*5\r\n", "throttlecrab answers {asked:?} with {head:?}");
        for recorded in recorded.split(' ') {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let said: i64 = line.trim_end().trim_start_matches(':').parse().context("a number")?;
            ensure!(
                (said - recorded.parse::<i64>()?).abs() <= i64::from(said > 1),
                "throttlecrab says {said} where {recorded} is recorded, asked {asked:?}"
            );
        }
    }
    Ok(())
}
