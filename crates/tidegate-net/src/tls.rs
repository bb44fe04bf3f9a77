//! TLS: certificates from files, read again when they change. Files that cannot be used leave the
//! previous certificates in force.

mod pem;
mod follow;
mod certificate;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{Acceptor, WebPkiClientVerifier};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use crate::Error;
use crate::cores::CoreSlot;
use pem::PemFiles;

pub use follow::follow;

pub(crate) use certificate::peer_certificate;

/// How long a TLS handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes that rustls keeps encrypted and unsent. They count as sent for the writer, so this bounds
/// what a peer that does not read can leave behind unnoticed.
const UNSENT_BYTES: usize = 16 << 10;

/// The files that encrypt a listener; plain TCP without a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate and the chain up to an authority (PEM).
    pub certificate: Option<PathBuf>,
    /// The private key of that certificate (PEM).
    pub private_key: Option<PathBuf>,
    /// The authorities that must vouch for client certificates (PEM); without them none are asked for.
    pub client_authorities: Option<PathBuf>,
    /// Whether clients must present a certificate.
    pub clients: ClientCertificates,
}

/// Whether clients must present a certificate. One that is presented must always be vouched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// A client without a certificate is turned away.
    #[default]
    Required,
    /// A client without a certificate is served as well.
    Optional,
}

/// The protocols that a TLS handshake offers (ALPN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alpn {
    /// HTTP/2 or HTTP/1.1, as the client likes.
    Http,
    /// HTTP/2 only.
    Http2,
    /// None: a protocol without an ALPN name.
    None,
}

/// The certificate of a server and the authorities that it trusts.
#[derive(Debug)]
pub struct TlsContext {
    files: TlsFiles,
    section: &'static str,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    pem: PemFiles,
    http: Arc<ServerConfig>,
    http2: Arc<ServerConfig>,
    without_alpn: Arc<ServerConfig>,
}

impl TlsContext {
    /// Reads the files; `None` if none are named. `section` is where the settings name them, for
    /// messages: `tls` for `tls.certificate`.
    pub fn open(files: &TlsFiles, section: &'static str) -> Result<Option<Arc<Self>>, Error> {
        let Some(pem) = PemFiles::read(files, section)? else { return Ok(None) };
        let current = Mutex::new(Current::new(pem, files.clients)?);
        Ok(Some(Arc::new(Self { files: files.clone(), section, current })))
    }

    /// Makes the handshake. Its heavy steps take turns on the core, so that a handshake neither holds
    /// up other connections nor waits for a silent peer of another one.
    pub async fn accept(
        &self,
        stream: TcpStream,
        alpn: Alpn,
        slot: &CoreSlot,
    ) -> io::Result<TlsStream<TcpStream>> {
        let config = self.config(alpn);
        let handshake = async {
            let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
            slot.run_by_turns(hello.into_stream(config)).await
        };
        let mut stream = timeout(HANDSHAKE_TIMEOUT, handshake).await??;
        stream.get_mut().1.set_buffer_limit(Some(UNSENT_BYTES));
        Ok(stream)
    }

    /// Reads the files again; whether they have changed and are in use now.
    pub fn renew(&self) -> Result<bool, Error> {
        let Some(pem) = PemFiles::read(&self.files, self.section)? else { return Ok(false) };
        if self.lock().pem == pem {
            return Ok(false);
        }
        let renewed = Current::new(pem, self.files.clients)?;
        *self.lock() = renewed;
        Ok(true)
    }

    fn config(&self, alpn: Alpn) -> Arc<ServerConfig> {
        let current = self.lock();
        Arc::clone(match alpn {
            Alpn::Http => &current.http,
            Alpn::Http2 => &current.http2,
            Alpn::None => &current.without_alpn,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    fn new(pem: PemFiles, clients: ClientCertificates) -> Result<Self, Error> {
        let unusable = |error: rustls::Error| Error::Tls { reason: reason(&error, pem.section()) };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = verifier(&pem, clients, &provider)?;
        let (chain, key) = pem.identity()?;
        let without_alpn = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(unusable)?;
        let offering = |protocols: &[&[u8]]| {
            let mut config = without_alpn.clone();
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            Arc::new(config)
        };
        let (http, http2) = (offering(&[b"h2", b"http/1.1"]), offering(&[b"h2"]));
        Ok(Self { pem, http, http2, without_alpn: Arc::new(without_alpn) })
    }
}

fn verifier(
    pem: &PemFiles,
    clients: ClientCertificates,
    provider: &Arc<rustls::crypto::CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, Error> {
    let Some(roots) = pem.authorities()? else { return Ok(WebPkiClientVerifier::no_client_auth()) };
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let verifier = match clients {
        ClientCertificates::Required => verifier,
        ClientCertificates::Optional => verifier.allow_unauthenticated(),
    };
    verifier.build().map_err(|error| Error::Tls { reason: error.to_string() })
}

fn reason(error: &rustls::Error, section: &str) -> String {
    match error {
        rustls::Error::InconsistentKeys(_) => format!(
            "{section}.private_key is not the key of {section}.certificate; name two files that belong \
             together, with the server's own certificate before all others"
        ),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn files(folder: &TempDir) -> TlsFiles {
        let path = |name: &str| Some(folder.path().join(name));
        TlsFiles { certificate: path("server.crt"), private_key: path("server.key"), ..TlsFiles::default() }
    }

    #[test]
    fn unusable_files_keep_the_certificate() {
        let (folder, newer) = (tidegate_rig::certificates(), tidegate_rig::certificates());
        let tls = TlsContext::open(&files(&folder), "tls").unwrap().unwrap();
        let (first, key) = (tls.config(Alpn::Http), folder.path().join("server.key"));
        assert!(!tls.renew().unwrap(), "nothing has changed");
        std::fs::write(&key, "rubbish").unwrap();
        tls.renew().unwrap_err();
        // Half of a change: a valid key of another certificate.
        std::fs::copy(newer.path().join("server.key"), &key).unwrap();
        let error = tls.renew().unwrap_err().to_string();
        assert!(error.contains("tls.private_key is not the key of tls.certificate"), "{error}");
        assert!(Arc::ptr_eq(&tls.config(Alpn::Http), &first));
        std::fs::copy(newer.path().join("server.crt"), folder.path().join("server.crt")).unwrap();
        assert!(tls.renew().unwrap());
        assert!(!Arc::ptr_eq(&tls.config(Alpn::Http), &first));
    }

    #[test]
    fn unusable_authorities_keep_the_previous_ones() {
        let (folder, newer) = (tidegate_rig::certificates(), tidegate_rig::certificates());
        let file = folder.path().join("ca.crt");
        let files = TlsFiles { client_authorities: Some(file.clone()), ..files(&folder) };
        let tls = TlsContext::open(&files, "tls").unwrap().unwrap();
        let first = tls.config(Alpn::Http);
        for unusable in ["", "rubbish"] {
            std::fs::write(&file, unusable).unwrap();
            assert!(tls.renew().unwrap_err().to_string().contains("tls.client_authorities"));
        }
        std::fs::remove_file(&file).unwrap();
        tls.renew().unwrap_err();
        assert!(Arc::ptr_eq(&tls.config(Alpn::Http), &first));
        std::fs::copy(newer.path().join("ca.crt"), &file).unwrap();
        assert!(tls.renew().unwrap() && !Arc::ptr_eq(&tls.config(Alpn::Http), &first));
    }

    #[test]
    fn all_unreadable_files_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let error = TlsContext::open(&files(&folder), "edge").unwrap_err();
        assert!(error.is_configuration());
        let text = error.to_string();
        assert!(text.contains("edge.certificate: ") && text.contains("edge.private_key: "), "{text}");
        assert_eq!(error.into_each().len(), 2);
    }

    #[test]
    fn half_an_identity_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let half = TlsFiles { private_key: None, ..files(&folder) };
        let error = TlsContext::open(&half, "tls").unwrap_err();
        assert!(
            error.to_string().starts_with("tls.certificate and tls.private_key belong together"),
            "{error}"
        );
        assert!(TlsContext::open(&TlsFiles::default(), "tls").unwrap().is_none());
    }
}
