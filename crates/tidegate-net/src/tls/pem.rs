//! The files of certificates and keys (PEM).

use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::TlsFiles;
use crate::Error;

/// The content of the files, and the section of the settings that names them.
#[derive(PartialEq, Eq)]
pub(super) struct PemFiles {
    certificate: Vec<u8>,
    private_key: Vec<u8>,
    authorities: Option<Vec<u8>>,
    section: &'static str,
}

/// Prints no content, which holds the private key.
impl std::fmt::Debug for PemFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PemFiles").finish_non_exhaustive()
    }
}

impl PemFiles {
    /// Reads them; `None` if none are named.
    pub(super) fn read(files: &TlsFiles, section: &'static str) -> Result<Option<Self>, Error> {
        match (&files.certificate, &files.private_key) {
            (Some(certificate), Some(private_key)) => {
                let read = |path: &Path, key: &str| read(path, section, key);
                let own = Error::both(read(certificate, "certificate"), read(private_key, "private_key"));
                let authorities = files.client_authorities.as_deref();
                let authorities = authorities.map(|path| read(path, "client_authorities")).transpose();
                let ((certificate, private_key), authorities) = Error::both(own, authorities)?;
                Ok(Some(Self { certificate, private_key, authorities, section }))
            }
            (None, None) if files.client_authorities.is_none() => Ok(None),
            _ => Err(Error::HalfTls { section }),
        }
    }

    pub(super) const fn section(&self) -> &'static str {
        self.section
    }

    /// The server's certificate chain and its private key.
    pub(super) fn identity(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Error> {
        let chain = self.certificates(&self.certificate, "certificate")?;
        // The parser's own message could repeat a part of the key.
        let key = PrivateKeyDer::from_pem_slice(&self.private_key).map_err(|_| Error::Tls {
            reason: format!("the file of {}.private_key holds no private key in PEM", self.section),
        })?;
        Ok((chain, key))
    }

    /// The authorities that must vouch for clients, if there are any.
    pub(super) fn authorities(&self) -> Result<Option<RootCertStore>, Error> {
        let Some(authorities) = &self.authorities else { return Ok(None) };
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates(authorities, "client_authorities")? {
            roots.add(certificate).map_err(|error| Error::Tls { reason: error.to_string() })?;
        }
        Ok(Some(roots))
    }

    fn certificates(&self, bytes: &[u8], key: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
        let section = self.section;
        let wrong =
            || Error::Tls { reason: format!("the file of {section}.{key} holds no certificates in PEM") };
        let found = CertificateDer::pem_slice_iter(bytes).collect::<Result<Vec<_>, _>>();
        found.ok().filter(|found| !found.is_empty()).ok_or_else(wrong)
    }
}

fn read(path: &Path, section: &str, key: &str) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| Error::Tls {
        reason: format!("{section}.{key}: {} cannot be read: {error}", path.display()),
    })
}
