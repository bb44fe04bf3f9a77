//! Certificates, made by `openssl`.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// An authority, and a server and a client that it vouches for: `ca`, `server` and `client`, each a `.crt` and a `.key`.
///
/// # Panics
///
/// If they cannot be made.
pub fn certificates() -> TempDir {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
    let (at, key) = (folder.path(), "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes");
    openssl(at, &format!("req -x509 {key} -days 2 -subj /CN=authority -keyout ca.key -out ca.crt"));
    std::fs::write(at.join("names"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        .expect("it can be written");
    for who in ["server", "client"] {
        openssl(at, &format!("req -new {key} -subj /CN={who} -keyout {who}.key -out {who}.csr"));
        let signing = format!(
            "x509 -req -in {who}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out {who}.crt"
        );
        openssl(at, &format!("{signing} -extfile names"));
    }
    folder
}

fn openssl(folder: &Path, arguments: &str) {
    let output = Command::new("openssl").current_dir(folder).args(arguments.split(' ')).output();
    let output = output.expect("openssl is missing: run tools/needs");
    assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}
