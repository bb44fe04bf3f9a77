//! What the files say: certificates and a key as text (PEM) that can be used together.

use std::path::Path;
use std::sync::Arc;

use redis::{ClientTlsConfig, TlsCertificates};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::{Certificates, OpenError};

/// Files that were read and can be used.
#[derive(PartialEq, Eq)]
pub(crate) struct Files {
    authorities: Option<Vec<u8>>,
    /// Our certificate and its key.
    own: Option<(Vec<u8>, Vec<u8>)>,
}

impl Files {
    /// Reads them, and looks whether they can be used.
    pub(super) fn read(from: &Certificates) -> Result<Self, OpenError> {
        let own =
            from.own.as_ref().map(|(certificate, key)| Ok::<_, OpenError>((file(certificate)?, file(key)?)));
        let files =
            Self { authorities: from.authorities.as_deref().map(file).transpose()?, own: own.transpose()? };
        files.try_out().map_err(|reason| OpenError::Unusable { reason })?;
        Ok(files)
    }

    /// The same for a connection.
    pub(crate) fn certificates(&self) -> TlsCertificates {
        let client_tls =
            self.own.clone().map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key });
        TlsCertificates { client_tls, root_cert: self.authorities.clone() }
    }

    /// Does what a connection will do with them.
    fn try_out(&self) -> Result<(), String> {
        let mut roots = RootCertStore::empty();
        for authority in self.authorities.as_deref().map(certificates).transpose()?.unwrap_or_default() {
            roots.add(authority).map_err(|error| error.to_string())?;
        }
        let Some((certificate, key)) = &self.own else { return Ok(()) };
        // The reader's own words could repeat a piece of the key.
        let key =
            PrivateKeyDer::from_pem_slice(key).map_err(|_| "there is no private key in PEM".to_owned())?;
        let chain = certificates(certificate)?;
        ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_root_certificates(roots).with_client_auth_cert(chain, key))
            .map(drop)
            .map_err(|error| error.to_string())
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().ok();
    found.filter(|found| !found.is_empty()).ok_or_else(|| "there are no certificates in PEM".to_owned())
}

fn file(path: &Path) -> Result<Vec<u8>, OpenError> {
    std::fs::read(path).map_err(|source| OpenError::Certificate { path: path.to_owned(), source })
}
