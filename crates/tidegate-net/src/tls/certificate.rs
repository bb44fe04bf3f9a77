//! The names and the fingerprint of a client certificate, after the handshake has verified it.

use ring::digest::{SHA256, digest};
use rustls::pki_types::CertificateDer;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use webpki::EndEntityCert;

use crate::Certificate;

/// The DER of the attribute type common name (2.5.4.3), with its tag and length.
const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];

/// The certificate that the peer of a connection has presented, if any.
pub(crate) fn peer_certificate(stream: &TlsStream<TcpStream>) -> Option<Certificate> {
    read(stream.get_ref().1.peer_certificates()?.first()?)
}

fn read(der: &CertificateDer<'_>) -> Option<Certificate> {
    let fingerprint = digest(&SHA256, der).as_ref().try_into().ok()?;
    let certificate = EndEntityCert::try_from(der).ok()?;
    let alternative = certificate.valid_dns_names().chain(certificate.valid_uri_names());
    let mut names: Vec<String> = alternative.map(str::to_owned).collect();
    if names.is_empty() {
        names.extend(common_name(certificate.subject()));
    }
    Some(Certificate { names, fingerprint })
}

/// The last common name of a subject: a list of sets of (type, value) sequences.
fn common_name(subject: &[u8]) -> Option<String> {
    let mut found = None;
    let mut rest = subject;
    while let Some((set, after)) = element(rest) {
        let (pair, _) = element(set)?;
        if let Some(value) = pair.strip_prefix(&COMMON_NAME) {
            found = std::str::from_utf8(element(value)?.0).ok().map(str::to_owned);
        }
        rest = after;
    }
    found
}

/// The content of the first DER element, and the bytes after it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_tag, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81 => rest.split_first().map(|(length, rest)| (usize::from(*length), rest))?,
        0x82 => {
            let (length, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(*length)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_common_name_among_others() {
        let name = |kind: u8, text: &str| {
            let length = u8::try_from(text.len()).unwrap();
            let mut pair = vec![0x06, 0x03, 0x55, 0x04, kind, 0x0c, length];
            pair.extend_from_slice(text.as_bytes());
            let mut set = vec![0x31, length + 9, 0x30, length + 7];
            set.append(&mut pair);
            set
        };
        let subject = [name(10, "Acme"), name(3, "edge"), name(11, "Ops")].concat();
        assert_eq!(common_name(&subject).as_deref(), Some("edge"));
        assert_eq!(common_name(&name(10, "Acme")), None);
        for cut in 0..subject.len() {
            common_name(&subject[..cut]);
        }
        assert_eq!(common_name(&[0x31, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
