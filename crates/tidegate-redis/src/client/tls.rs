//! Certificates of encrypted connections: read from files, and read again when those change. A change that cannot be used keeps
//! what was.

mod files;

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

use super::OpenError;
use super::settings::Certificates;

pub(crate) use files::Files;

/// Who we are to servers, and whom we trust.
pub(crate) struct Encryption {
    from: Certificates,
    now: ArcSwap<Files>,
    /// The last complaint, so that it is made once.
    told: Mutex<Option<String>>,
}

impl Encryption {
    /// Reads the files, and chooses who does the cryptography, unless the process has chosen already.
    pub(crate) fn open(from: &Certificates) -> Result<Arc<Self>, OpenError> {
        drop(rustls::crypto::ring::default_provider().install_default());
        let now = ArcSwap::from_pointee(Files::read(from)?);
        Ok(Arc::new(Self { from: from.clone(), now, told: Mutex::new(None) }))
    }

    /// What the files say now, or what they said when they could last be used.
    pub(crate) async fn latest(self: &Arc<Self>) -> Arc<Files> {
        let this = Arc::clone(self);
        let looking = tokio::task::spawn_blocking(move || this.look());
        drop(looking.await);
        self.now.load_full()
    }

    fn look(&self) {
        let complaint = match Files::read(&self.from) {
            Ok(files) => {
                if **self.now.load() != files {
                    self.now.store(Arc::new(files));
                    tracing::info!("there are new certificates for Redis");
                }
                None
            }
            Err(error) => Some(error.to_string()),
        };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = complaint.as_ref().filter(|_| *told != complaint) {
            tracing::warn!(%error, "the certificates for Redis stay as they were");
        }
        *told = complaint;
    }
}
