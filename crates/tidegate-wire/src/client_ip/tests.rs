use std::collections::BTreeSet;

use http::HeaderValue;
use http::header::{FORWARDED, HeaderName};
use proptest::prelude::*;

use super::chain::{MAX_BYTES, MAX_HOPS};
use super::*;

const PROXY: &str = "10.0.0.1";

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn header(source: Source) -> HeaderName {
    match source {
        Source::XForwardedFor => HeaderName::from_static("x-forwarded-for"),
        Source::Forwarded => FORWARDED,
    }
}

/// The client behind `peer` when 10.0.0.0/8 and fd00::/8 are trusted.
fn client(peer: &str, source: Source, lines: &[&[u8]]) -> IpAddr {
    let trusted = Trusted::parse(["10.0.0.0/8", "fd00::/8"]).unwrap();
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(header(source), HeaderValue::from_bytes(line).unwrap());
    }
    client_ip(ip(peer), &headers, &trusted, source)
}

fn check(lines: &[&str], expected: &str) {
    let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    assert_eq!(client(PROXY, Source::XForwardedFor, &lines), ip(expected), "{lines:?}");
}

fn check_forwarded(lines: &[&str], expected: &str) {
    let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    assert_eq!(client(PROXY, Source::Forwarded, &lines), ip(expected), "{lines:?}");
}

#[test]
fn an_untrusted_peer_is_the_client_whatever_it_says() {
    for peer in ["203.0.113.7", "2001:db8::7", "::ffff:203.0.113.7"] {
        for (source, line) in [(Source::XForwardedFor, "1.2.3.4"), (Source::Forwarded, "for=1.2.3.4")] {
            assert_eq!(client(peer, source, &[line.as_bytes()]), canonical(ip(peer)));
        }
    }
}

#[test]
fn a_trusted_peer_without_a_chain_is_the_client() {
    check(&[], PROXY);
    check(&[""], PROXY);
    check(&[" , ,"], PROXY);
    assert_eq!(client("::ffff:10.0.0.1", Source::XForwardedFor, &[]), ip(PROXY));
}

#[test]
fn the_client_is_the_rightmost_address_that_is_not_trusted() {
    check(&["203.0.113.7"], "203.0.113.7");
    check(&["203.0.113.7, 10.0.0.3, 10.0.0.2"], "203.0.113.7");
    check(&["203.0.113.7, 198.51.100.1, 10.0.0.2"], "198.51.100.1");
    check(&["10.9.9.9, 10.0.0.3"], "10.9.9.9");
    check(&["203.0.113.7, fd00::3, ::ffff:10.0.0.2"], "203.0.113.7");
    check(&["::ffff:203.0.113.7"], "203.0.113.7");
    assert_eq!(client("::ffff:10.0.0.1", Source::XForwardedFor, &[b"203.0.113.7"]), ip("203.0.113.7"));
}

#[test]
fn an_element_with_a_parameter_that_is_none_ends_the_chain() {
    for rubbish in [
        r#"fo\"r=1.1.1.1 ;; for=2.2.2.2"#,
        r#"x="a;for=2.2.2.2"#,
        r#"x=a";for=2.2.2.2"#,
        r#"x="a"b";for=2.2.2.2"#,
        "x y=a;for=2.2.2.2",
    ] {
        check_forwarded(&[rubbish], PROXY);
        check_forwarded(&[&format!("for=6.6.6.6, {rubbish}")], PROXY);
    }
    check_forwarded(&[r#"x="a\"; b\\";for=2.2.2.2;proto=https"#], "2.2.2.2");
}

#[test]
fn a_client_that_names_a_victim_is_still_itself() {
    let (attacker, victim) = ("203.0.113.66", "198.51.100.1");
    check(&[&format!("{victim}, {attacker}")], attacker);
    check(&[victim, attacker], attacker);
    check(&[&format!("{victim}, 10.0.0.9, {attacker}, 10.0.0.2")], attacker);
    check_forwarded(&[&format!("for={victim}, for={attacker}")], attacker);
    // An open quote or a dangling escape swallows nothing of what the proxy appends.
    check_forwarded(&[&format!("for=\"{victim}, for={attacker}")], attacker);
    check_forwarded(&[&format!("for={victim};host=\", for=\"{attacker}:80\"")], attacker);
    check_forwarded(&[&format!("for={victim}\\, for=\"{attacker}:80\"")], attacker);
    // Nor does what the proxy quotes on the client's behalf.
    check_forwarded(&[&format!(r#"for={attacker};host="a\", for={victim};x=\"""#)], attacker);
    check_forwarded(&[&format!(r#"for={attacker};host="a, for={victim}\\""#)], attacker);
}

#[test]
fn several_lines_are_one_list() {
    check(&["203.0.113.7", "10.0.0.3", "10.0.0.2"], "203.0.113.7");
    check(&["203.0.113.7, 198.51.100.1", "10.0.0.2"], "198.51.100.1");
    check(&["203.0.113.7", "", "10.0.0.2,"], "203.0.113.7");
    check_forwarded(&["for=203.0.113.7", "for=10.0.0.3, for=10.0.0.2"], "203.0.113.7");
}

#[test]
fn white_space_and_empty_elements_do_not_count() {
    check(&[" 203.0.113.7 ,\t10.0.0.2\t, ,"], "203.0.113.7");
    check(&[",,203.0.113.7,,10.0.0.2"], "203.0.113.7");
    check_forwarded(&[",for=203.0.113.7 ; proto=https;,\t,for=10.0.0.2;"], "203.0.113.7");
}

#[test]
fn ports_and_brackets_are_taken_off() {
    check(&["203.0.113.7:80"], "203.0.113.7");
    check(&["203.0.113.7:65535, 10.0.0.2:1"], "203.0.113.7");
    check(&["[2001:db8::1]:80"], "2001:db8::1");
    check(&["[2001:db8::1]"], "2001:db8::1");
    check(&["2001:db8::1"], "2001:db8::1");
    check(&["[::ffff:203.0.113.7]:80"], "203.0.113.7");
    check_forwarded(&["for=\"203.0.113.7:_secret\""], "203.0.113.7");
}

#[test]
fn rubbish_ends_the_chain_at_the_hop_to_its_right() {
    let rubbish = [
        "unknown",
        "_hidden",
        "localhost",
        "203.0.113",
        "203.0.113.7.1",
        "203.0.113.256",
        "203.0.113.7:",
        "203.0.113.7:65536",
        "203.0.113.7:+80",
        "203.0.113.7:_",
        "203.0.113.7 80",
        "[203.0.113.7]",
        "[2001:db8::1",
        "[2001:db8::1]80",
        "[2001:db8::1]:x",
        "fe80::1%eth0",
        "\"203.0.113.7\"",
        "-",
    ];
    for entry in rubbish {
        check(&[&format!("198.51.100.1, {entry}, 10.0.0.2")], "10.0.0.2");
        check(&["198.51.100.1", entry], PROXY);
    }
    let not_utf8 = b"198.51.100.1, \xff\xfe, 10.0.0.2";
    assert_eq!(client(PROXY, Source::XForwardedFor, &[not_utf8]), ip("10.0.0.2"));
    assert_eq!(
        client(PROXY, Source::Forwarded, &[b"for=198.51.100.1, for=\xff, for=10.0.0.2"]),
        ip("10.0.0.2")
    );
}

#[test]
fn forwarded_is_read_as_rfc_7239_writes_it() {
    check_forwarded(&["for=192.0.2.60;proto=http;by=203.0.113.43"], "192.0.2.60");
    check_forwarded(&["For=\"[2001:db8:cafe::17]:4711\""], "2001:db8:cafe::17");
    check_forwarded(&["proto=https;FOR=\"192.0.2.60\""], "192.0.2.60");
    check_forwarded(&[r#"for="192\.0.2\.60""#], "192.0.2.60");
    check_forwarded(&[r#"for=192.0.2.60;host="a,b;for=1.2.3.4", for=10.0.0.2"#], "192.0.2.60");
    check_forwarded(&[r#"for=192.0.2.60;x="\\", for=10.0.0.2"#], "192.0.2.60");
}

#[test]
fn a_forwarded_element_without_one_sound_address_is_rubbish() {
    let rubbish = [
        "for=unknown",
        "for=_hidden",
        "for=\"_SEVKISEK\"",
        "for=",
        "for",
        "proto=https",
        "by=203.0.113.43",
        "for=1.2.3.4;for=1.2.3.4",
        "for = 1.2.3.4",
        "for=\"1.2.3.4",
        "for=1.2.3.4\"",
        "for=\"1.2.3.4\\\"",
        "for=\"1.2.3.4\"x",
        "for=\"",
        "for=1.2.3.4;proto",
        "1.2.3.4",
    ];
    for element in rubbish {
        check_forwarded(&["for=198.51.100.1", element, "for=10.0.0.2"], "10.0.0.2");
    }
}

#[test]
fn the_two_headers_are_never_mixed() {
    let trusted = Trusted::parse([PROXY]).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("x-forwarded-for", HeaderValue::from_static("203.0.113.7"));
    assert_eq!(client_ip(ip(PROXY), &headers, &trusted, Source::Forwarded), ip(PROXY));
    headers.insert("forwarded", HeaderValue::from_static("for=198.51.100.1"));
    assert_eq!(client_ip(ip(PROXY), &headers, &trusted, Source::Forwarded), ip("198.51.100.1"));
    assert_eq!(client_ip(ip(PROXY), &headers, &trusted, Source::XForwardedFor), ip("203.0.113.7"));
}

#[test]
fn only_the_rightmost_hops_are_looked_at() {
    let chain = |trusted_hops: usize| {
        let hops: Vec<String> = (1..=trusted_hops).rev().map(|hop| format!("10.1.0.{hop}")).collect();
        format!("203.0.113.7, {}", hops.join(", "))
    };
    check(&[&chain(MAX_HOPS - 1)], "203.0.113.7");
    check(&[&chain(MAX_HOPS)], "10.1.0.64");
    check(&[&chain(200)], "10.1.0.64");
}

#[test]
fn only_the_rightmost_bytes_are_looked_at() {
    let padded = |blanks: usize| format!("198.51.100.1{}, 10.0.0.2", " ".repeat(blanks));
    let longest = MAX_BYTES - padded(0).len();
    check(&[&padded(longest)], "198.51.100.1");
    check(&[&padded(longest + 1)], "10.0.0.2"); // and not 98.51.100.1, which is what the cut leaves
    check(&["203.0.113.7", &",".repeat(MAX_BYTES)], PROXY);
    check(&["203.0.113.7", &",".repeat(MAX_BYTES - 20)], "203.0.113.7");
    let empty_lines = vec![""; MAX_BYTES];
    check(&[&["203.0.113.7"], &empty_lines[..]].concat(), PROXY);
}

#[test]
fn mapped_addresses_do_not_fall_into_one_bucket() {
    let counted_by = |text: &str| network(ip(text), Prefixes::default()).to_string();
    assert_eq!(counted_by("::ffff:1.2.3.4"), "1.2.3.4");
    assert_eq!(counted_by("::ffff:102:304"), "1.2.3.4");
    assert_eq!(counted_by("::ffff:1.2.3.5"), "1.2.3.5");
    assert_eq!(counted_by("0:0:0:0:0:ffff:0102:0305"), "1.2.3.5");
}

#[test]
fn addresses_that_only_look_like_ipv4_stay_ipv6() {
    let to_56 = |text: &str| network(ip(text), Prefixes { v4: 32, v6: 56 }).to_string();
    assert_eq!(to_56("2001:db8:1234:5678::1.2.3.4"), "2001:db8:1234:5600::");
    assert_eq!(to_56("64:ff9b::1.2.3.4"), "64:ff9b::");
    assert_eq!(to_56("::1.2.3.4"), "::");
    assert_eq!(canonical(ip("::1.2.3.4")), ip("::102:304"));
    assert_eq!(canonical(ip("::ffff:0:1.2.3.4")), ip("::ffff:0:102:304"));
}

#[test]
fn prefixes_keep_that_many_bits() {
    let kept = |text: &str, v4, v6| network(ip(text), Prefixes { v4, v6 }).to_string();
    assert_eq!(kept("1.2.3.4", 24, 0), "1.2.3.0");
    assert_eq!(kept("::ffff:1.2.3.4", 8, 0), "1.0.0.0");
    assert_eq!(kept("255.255.255.255", 0, 0), "0.0.0.0");
    assert_eq!(kept("1.2.3.4", 255, 0), "1.2.3.4");
    assert_eq!(kept("2001:db8:1:2:3:4:5:6", 0, 48), "2001:db8:1::");
    assert_eq!(kept("2001:db8:1:2:3:4:5:6", 0, 0), "::");
    assert_eq!(kept("2001:db8:1:2:3:4:5:6", 0, 255), "2001:db8:1:2:3:4:5:6");
}

/// Bytes that a header may hold, rich in what the parsers look for.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let fragment = prop_oneof![
        3 => prop::sample::select(vec!["10.0.0.2", "203.0.113.7", "2001:db8::1", "::ffff:10.0.0.3", "fd00::1"])
            .prop_map(|text| text.as_bytes().to_vec()),
        4 => prop::sample::select(vec![",", ", ", "for=", ";", "\"", "\\", "[", "]", ":80", "=", "unknown", "_x"])
            .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    let bytes = prop::collection::vec(fragment, 0..20).prop_map(|fragments| fragments.concat());
    bytes.prop_filter("not a header value", |bytes| HeaderValue::from_bytes(bytes).is_ok())
}

/// Everything in the lines that could be read as an address, however it is wrapped.
fn addresses_in(lines: &[Vec<u8>]) -> BTreeSet<IpAddr> {
    let text: Vec<u8> = lines.join(&b',').into_iter().filter(|byte| *byte != b'\\').collect();
    let nodes = text.split(|byte| b",;=\"[] \t".contains(byte));
    let nodes = nodes.filter_map(|node| std::str::from_utf8(node).ok());
    let both = nodes.flat_map(|node| [Some(node), node.rsplit_once(':').map(|(address, _)| address)]);
    both.flatten().filter_map(|node| node.parse().ok()).map(canonical).collect()
}

/// One hop as some proxy might write it.
fn written(address: IpAddr, style: u8, source: Source) -> String {
    let node = match (address, style % 3) {
        (address, 0) => address.to_string(),
        (IpAddr::V4(v4), 1) => format!("{v4}:8080"),
        (IpAddr::V4(v4), _) => format!("::ffff:{v4}"),
        (IpAddr::V6(v6), 1) => format!("[{v6}]:8080"),
        (IpAddr::V6(v6), _) => format!("[{v6}]"),
    };
    match (source, style % 4) {
        (Source::XForwardedFor, _) => node,
        (Source::Forwarded, 0) => format!("for=\"{node}\""),
        (Source::Forwarded, 1) => format!("by=_x;For=\"\\{node}\""),
        (Source::Forwarded, 2) => format!("host=\"a,\\\";b\";for=\"{node}\";proto=https"),
        (Source::Forwarded, _) => format!("for={node}"),
    }
}

fn source() -> impl Strategy<Value = Source> {
    prop::sample::select(vec![Source::XForwardedFor, Source::Forwarded])
}

fn address() -> impl Strategy<Value = IpAddr> {
    let pool = ["10.0.0.2", "10.7.7.7", "203.0.113.7", "198.51.100.1", "2001:db8::1", "fd00::1", "fd00::2"];
    prop::sample::select(pool.map(ip).to_vec())
}

proptest! {
    #[test]
    fn whatever_is_sent_the_answer_is_the_peer_or_in_the_chain(
        lines in prop::collection::vec(line(), 0..4),
        source in source(),
    ) {
        let slices: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        let answer = client(PROXY, source, &slices);
        prop_assert!(answer == ip(PROXY) || addresses_in(&lines).contains(&answer), "{answer} from {lines:?}");
        prop_assert_eq!(client("203.0.113.9", source, &slices), ip("203.0.113.9"));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), source in source()) {
        if HeaderValue::from_bytes(&bytes).is_ok() {
            client(PROXY, source, &[&bytes]);
        }
    }

    #[test]
    fn sound_chains_are_read_alike_however_they_are_written(
        hops in prop::collection::vec((address(), any::<u8>(), any::<bool>()), 0..12),
        source in source(),
    ) {
        let trusted = Trusted::parse(["10.0.0.0/8", "fd00::/8"]).unwrap();
        let mut lines: Vec<String> = vec![String::new()];
        for (address, style, new_line) in &hops {
            if *new_line {
                lines.push(String::new());
            }
            let line = lines.last_mut().unwrap();
            line.push_str(if line.is_empty() { "" } else { " , " });
            line.push_str(&written(*address, *style, source));
        }
        let lines: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
        let chain: Vec<IpAddr> = hops.iter().map(|(address, ..)| *address).collect();
        let rightmost_untrusted = chain.iter().rev().find(|address| !trusted.contains(**address));
        let expected = rightmost_untrusted.or(chain.first()).copied().unwrap_or(ip(PROXY));
        prop_assert_eq!(client(PROXY, source, &lines), expected);
    }
}
