//! `tidegate snippet`: a configuration that puts a proxy, which asks Tidegate, in front of an API.

mod address;

use clap::{Args, ValueEnum};

use crate::exit::Failure;
use crate::output::print;
use address::Address;

const EXAMPLES: &str = "\
Examples:
  tidegate snippet nginx > /etc/nginx/conf.d/tidegate.conf
  tidegate snippet caddy --listen 0.0.0.0:80 --upstream api.internal:9000 > Caddyfile
  tidegate snippet envoy --tidegate limits.internal:8081 > envoy.yaml

All of them have a time-out and let requests pass when Tidegate does not answer; comments say how to change that.
Tidegate believes what proxies other than Envoy forward only if they are in trust.peers.";

/// Prints a configuration that puts a proxy, which asks Tidegate, in front of an API.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SnippetArgs {
    /// Which proxy, or axum for a service that limits itself
    proxy: Proxy,
    /// Where Tidegate listens [default: 127.0.0.1:8080, for Envoy 127.0.0.1:8081]
    #[arg(long, value_name = "ADDR")]
    tidegate: Option<Address>,
    /// Where the API listens
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9000")]
    upstream: Address,
    /// Where the proxy listens
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:10000")]
    listen: Address,
    /// The domain of the rules
    #[arg(long, value_name = "NAME", default_value = "api", value_parser = domain)]
    domain: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Proxy {
    /// Envoy, which asks over gRPC
    Envoy,
    /// nginx, by `auth_request`
    Nginx,
    /// Caddy
    Caddy,
    /// Traefik, by `forwardAuth`
    Traefik,
    /// HAProxy
    Haproxy,
    /// The script that HAProxy's configuration loads
    HaproxyLua,
    /// An axum service with the tower layer of the library
    Axum,
}

pub(crate) fn run(args: &SnippetArgs) -> Result<(), Failure> {
    let text = args.proxy.template();
    let text = if args.proxy == Proxy::Axum { text.to_owned() } else { args.fill(text) };
    Ok(print(&text)?)
}

impl Proxy {
    const fn template(self) -> &'static str {
        match self {
            Self::Envoy => include_str!("snippet/envoy.yaml"),
            Self::Nginx => include_str!("snippet/nginx.conf"),
            Self::Caddy => include_str!("snippet/Caddyfile"),
            Self::Traefik => include_str!("snippet/traefik.yaml"),
            Self::Haproxy => include_str!("snippet/haproxy.cfg"),
            Self::HaproxyLua => include_str!("snippet/haproxy.lua"),
            Self::Axum => include_str!("../../tidegate/examples/axum.rs"),
        }
    }

    fn tidegate(self) -> Address {
        Address::local(if self == Self::Envoy { 8081 } else { 8080 })
    }
}

impl SnippetArgs {
    /// Puts what was typed in its places.
    fn fill(&self, template: &str) -> String {
        let tidegate = self.tidegate.clone().unwrap_or_else(|| self.proxy.tidegate());
        // Traefik asks itself first.
        let internal = Address::local(self.listen.port().checked_add(1).unwrap_or(1024));
        let mut text = template.replace("«domain»", &self.domain);
        for (name, address) in [
            ("tidegate", &tidegate),
            ("upstream", &self.upstream),
            ("listen", &self.listen),
            ("internal", &internal),
        ] {
            text = text
                .replace(&format!("«{name}»"), &address.to_string())
                .replace(&format!("«{name}.host»"), address.host())
                .replace(&format!("«{name}.port»"), &address.port().to_string());
        }
        text
    }
}

/// Of characters that mean nothing else in any of the files.
fn domain(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte);
    if text.is_empty() || text.len() > 64 || !text.bytes().all(plain) {
        return Err("write 1 to 64 letters, digits and _.:/-".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snippet(proxy: Proxy) -> String {
        let args = SnippetArgs {
            proxy,
            tidegate: None,
            upstream: Address::local(9000),
            listen: Address::local(10_000),
            domain: "api".to_owned(),
        };
        args.fill(proxy.template())
    }

    fn read(path: &str) -> String {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        std::fs::read_to_string(format!("{root}{path}")).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[test]
    fn every_place_is_filled() {
        for proxy in Proxy::value_variants() {
            assert!(!snippet(*proxy).contains(['«', '»']), "{proxy:?}");
        }
    }

    #[test]
    fn the_guides_show_what_is_printed() {
        for (page, proxies) in [
            ("envoy", &[Proxy::Envoy][..]),
            ("nginx", &[Proxy::Nginx]),
            ("caddy", &[Proxy::Caddy]),
            ("traefik", &[Proxy::Traefik]),
            ("haproxy", &[Proxy::Haproxy, Proxy::HaproxyLua]),
        ] {
            let page = read(&format!("docs/guides/proxies/{page}.md"));
            for proxy in proxies {
                assert!(page.contains(&snippet(*proxy)), "its guide should show {}", snippet(*proxy));
            }
        }
    }

    #[test]
    fn the_example_of_envoy_is_what_is_printed() {
        assert_eq!(read("examples/envoy/envoy.yaml"), snippet(Proxy::Envoy));
    }

    #[test]
    fn a_domain_that_means_something_else_in_a_file_is_refused() {
        assert_eq!(domain("api/v1"), Ok("api/v1".to_owned()));
        for odd in ["", "a b", "a\"b", "a&b", "a\nb", "ä"] {
            assert!(domain(odd).is_err(), "{odd}");
        }
    }
}
