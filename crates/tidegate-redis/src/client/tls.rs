//! Certificates of encrypted connections.

use std::path::Path;

use redis::{ClientTlsConfig, TlsCertificates};

use super::OpenError;
use super::settings::Certificates;

/// Reads the files, and chooses who does the cryptography, unless the process has chosen already.
pub(crate) fn read(certificates: &Certificates) -> Result<TlsCertificates, OpenError> {
    drop(rustls::crypto::ring::default_provider().install_default());
    let root_cert = certificates.authorities.as_deref().map(file).transpose()?;
    let own = certificates.own.as_ref();
    let client_tls = own
        .map(|(certificate, key)| {
            Ok::<_, OpenError>(ClientTlsConfig { client_cert: file(certificate)?, client_key: file(key)? })
        })
        .transpose()?;
    Ok(TlsCertificates { client_tls, root_cert })
}

fn file(path: &Path) -> Result<Vec<u8>, OpenError> {
    std::fs::read(path).map_err(|source| OpenError::Certificate { path: path.to_owned(), source })
}
