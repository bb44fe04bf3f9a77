//! The files: certificates and keys as text (PEM).

use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config;
use crate::error::Error;

/// What the files say.
#[derive(PartialEq, Eq)]
pub(super) struct Files {
    certificate: Vec<u8>,
    private_key: Vec<u8>,
    authorities: Option<Vec<u8>>,
}

/// What they say stays in here.
impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").finish_non_exhaustive()
    }
}

impl Files {
    /// Reads them; `None` if none are named.
    pub(super) fn read(from: &config::Tls) -> Result<Option<Self>, Error> {
        match (&from.certificate, &from.private_key) {
            (Some(certificate), Some(private_key)) => {
                let own =
                    Error::both(file(certificate, "tls.certificate"), file(private_key, "tls.private_key"));
                let authorities = from.client_authorities.as_deref();
                let authorities = authorities.map(|path| file(path, "tls.client_authorities")).transpose();
                let ((certificate, private_key), authorities) = Error::both(own, authorities)?;
                Ok(Some(Self { certificate, private_key, authorities }))
            }
            (None, None) if from.client_authorities.is_none() => Ok(None),
            _ => Err(Error::HalfTls),
        }
    }

    /// Who we are, and the proof of it.
    pub(super) fn identity(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Error> {
        let chain = certificates(&self.certificate, "tls.certificate")?;
        // The reader's own words could repeat a piece of the key.
        let key = PrivateKeyDer::from_pem_slice(&self.private_key).map_err(|_| Error::Tls {
            reason: "the file of tls.private_key holds no private key in PEM".to_owned(),
        })?;
        Ok((chain, key))
    }

    /// Who vouches for those who connect, if somebody must.
    pub(super) fn authorities(&self) -> Result<Option<RootCertStore>, Error> {
        let Some(authorities) = &self.authorities else { return Ok(None) };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(authorities, "tls.client_authorities")? {
            roots.add(certificate).map_err(|error| Error::Tls { reason: error.to_string() })?;
        }
        Ok(Some(roots))
    }
}

fn certificates(bytes: &[u8], setting: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let wrong = || Error::Tls { reason: format!("the file of {setting} holds no certificates in PEM") };
    let found = CertificateDer::pem_slice_iter(bytes).collect::<Result<Vec<_>, _>>();
    found.ok().filter(|found| !found.is_empty()).ok_or_else(wrong)
}

fn file(path: &Path, setting: &str) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| Error::Tls {
        reason: format!("{setting}: {} cannot be read: {error}", path.display()),
    })
}
