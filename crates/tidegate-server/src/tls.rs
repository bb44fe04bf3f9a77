//! Encrypted doors: certificates from files, read again when they change. A change that cannot be used keeps what was.

mod pem;
mod watch;
mod certificate;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::server::{Acceptor, WebPkiClientVerifier};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use crate::config::{self, Clients};
use crate::cores::Seat;
use crate::error::Error;
use pem::Files;

pub(crate) use certificate::shown;
pub(crate) use watch::follow;

/// How long a peer may take until both sides trust the connection.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What is encrypted and not sent: as far as whoever writes knows, its peer has that.
const UNSENT_BYTES: usize = 16 << 10;

/// What is spoken inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// HTTP/1 or HTTP/2, as the peer likes.
    Http,
    /// HTTP/2 only.
    Http2,
    /// Something that has no name among those that peers choose from.
    Words,
}

/// Who we are to those who connect, and whom we trust.
#[derive(Debug)]
pub(crate) struct Tls {
    from: config::Tls,
    now: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    files: Files,
    http: Arc<ServerConfig>,
    http2: Arc<ServerConfig>,
    words: Arc<ServerConfig>,
}

impl Tls {
    /// Reads the files; `None` if no door is encrypted.
    pub(crate) fn open(from: &config::Tls) -> Result<Option<Arc<Self>>, Error> {
        let Some(files) = Files::read(from)? else { return Ok(None) };
        let now = Mutex::new(Current::new(files, from.clients)?);
        Ok(Some(Arc::new(Self { from: from.clone(), now })))
    }

    /// Agrees with a peer on how to speak. Who says nothing is waited for, but nobody else has to wait for that.
    pub(crate) async fn accept(
        &self,
        stream: TcpStream,
        inside: Inside,
        seat: &Seat,
    ) -> io::Result<TlsStream<TcpStream>> {
        let config = {
            let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(match inside {
                Inside::Http => &now.http,
                Inside::Http2 => &now.http2,
                Inside::Words => &now.words,
            })
        };
        let agreed = async {
            let greeting = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
            seat.by_turns(greeting.into_stream(config)).await
        };
        let mut stream = timeout(HANDSHAKE, agreed).await??;
        stream.get_mut().1.set_buffer_limit(Some(UNSENT_BYTES));
        Ok(stream)
    }

    /// Takes what the files say now, if it is something else; whether it was.
    fn renew(&self) -> Result<bool, Error> {
        let Some(files) = Files::read(&self.from)? else { return Ok(false) };
        if self.now.lock().unwrap_or_else(PoisonError::into_inner).files == files {
            return Ok(false);
        }
        let renewed = Current::new(files, self.from.clients)?;
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = renewed;
        Ok(true)
    }
}

impl Current {
    fn new(files: Files, clients: Clients) -> Result<Self, Error> {
        let unusable = |error: rustls::Error| Error::Tls { reason: reason(&error) };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = match files.authorities()? {
            None => WebPkiClientVerifier::no_client_auth(),
            Some(roots) => {
                let vouched =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
                let vouched = match clients {
                    Clients::Must => vouched,
                    Clients::May => vouched.allow_unauthenticated(),
                };
                vouched.build().map_err(|error| Error::Tls { reason: error.to_string() })?
            }
        };
        let (chain, key) = files.identity()?;
        let words = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(unusable)?;
        let speaking = |names: &[&[u8]]| {
            let mut config = words.clone();
            config.alpn_protocols = names.iter().map(|name| name.to_vec()).collect();
            Arc::new(config)
        };
        let (http, http2) = (speaking(&[b"h2", b"http/1.1"]), speaking(&[b"h2"]));
        Ok(Self { files, http, http2, words: Arc::new(words) })
    }
}

fn reason(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InconsistentKeys(_) => {
            "tls.private_key is not the key of tls.certificate; name two files that belong \
                                               together, with the server's own certificate before all others"
                .to_owned()
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_keeps_what_was_and_what_can_is_taken() {
        let (folder, newer) = (tidegate_rig::certificates(), tidegate_rig::certificates());
        let path = |name: &str| Some(folder.path().join(name));
        let (certificate, private_key) = (path("server.crt"), path("server.key"));
        let tls = Tls::open(&config::Tls { certificate, private_key, ..config::Tls::default() });
        let tls = tls.unwrap().unwrap();
        let shown = || Arc::clone(&tls.now.lock().unwrap().http);
        let (first, key) = (shown(), folder.path().join("server.key"));
        assert!(!tls.renew().unwrap(), "nothing has changed");
        std::fs::write(&key, "rubbish").unwrap();
        tls.renew().unwrap_err();
        // A key that is one, and not that of the certificate: half of a change.
        std::fs::copy(newer.path().join("server.key"), &key).unwrap();
        let error = tls.renew().unwrap_err().to_string();
        assert!(error.contains("tls.private_key is not the key of tls.certificate"), "{error}");
        assert!(Arc::ptr_eq(&shown(), &first));
        std::fs::copy(newer.path().join("server.crt"), folder.path().join("server.crt")).unwrap();
        assert!(tls.renew().unwrap());
        assert!(!Arc::ptr_eq(&shown(), &first));
    }

    #[test]
    fn authorities_that_cannot_be_used_keep_those_that_were() {
        let (folder, newer) = (tidegate_rig::certificates(), tidegate_rig::certificates());
        let path = |name: &str| Some(folder.path().join(name));
        let (certificate, private_key) = (path("server.crt"), path("server.key"));
        let client_authorities = path("ca.crt");
        let from = config::Tls { certificate, private_key, client_authorities, ..config::Tls::default() };
        let tls = Tls::open(&from).unwrap().unwrap();
        let shown = || Arc::clone(&tls.now.lock().unwrap().http);
        let (first, file) = (shown(), folder.path().join("ca.crt"));
        for unusable in ["", "rubbish"] {
            std::fs::write(&file, unusable).unwrap();
            assert!(tls.renew().unwrap_err().to_string().contains("tls.client_authorities"));
        }
        std::fs::remove_file(&file).unwrap();
        tls.renew().unwrap_err();
        assert!(Arc::ptr_eq(&shown(), &first));
        std::fs::copy(newer.path().join("ca.crt"), &file).unwrap();
        assert!(tls.renew().unwrap() && !Arc::ptr_eq(&shown(), &first));
    }
}
