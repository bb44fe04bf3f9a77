//! What a proxy tells of a request, and who is believed.

use super::*;
use tidegate_store::Reference;

use crate::door::tests::Noting;

/// Whether a rule refuses the second of two such requests: then its facts were taken.
async fn limited(peer: &str, query: &str, headers: &[(&str, &str)]) -> bool {
    let door = door();
    assert_eq!(ask(&door, peer, query, headers).await.status, 200, "{headers:?}");
    ask(&door, peer, query, headers).await.status == 429
}

const FORWARDED: [(&str, &str); 5] = [
    ("x-forwarded-for", "192.0.2.7"),
    ("x-forwarded-method", "POST"),
    ("x-forwarded-uri", "/login?next=/"),
    ("x-forwarded-host", "Api.Example:443"),
    ("x-forwarded-proto", "https"),
];

const ORIGINAL: [(&str, &str); 3] =
    [("x-forwarded-for", "192.0.2.7"), ("x-original-method", "POST"), ("x-original-uri", "/login")];

#[tokio::test]
async fn each_family_of_headers_is_read_if_the_address_names_it() {
    assert!(limited(PROXY, "domain=api", &FORWARDED).await);
    assert!(limited(PROXY, "domain=api&from=forwarded", &FORWARDED).await);
    assert!(limited(PROXY, "domain=api&from=original", &ORIGINAL).await);
    let url = [("x-original-method", "POST"), ("x-original-url", "https://api.example/login?x"), ORIGINAL[0]];
    assert!(limited(PROXY, "domain=api&from=original_url", &url).await);
}

#[tokio::test]
async fn a_client_cannot_slip_in_another_family() {
    let slipped = |more: &[(&'static str, &'static str)]| [&FORWARDED[..], more].concat();
    let around = slipped(&[("x-original-method", "GET"), ("x-original-uri", "/"), ("x-original-url", "/")]);
    assert!(limited(PROXY, "domain=api", &around).await);
    assert!(!limited(PROXY, "domain=api&from=original", &FORWARDED).await);
}

#[tokio::test]
async fn other_spellings_of_a_path_do_not_lead_around_a_rule() {
    for path in ["//login", "/x/../login", "/%6Cogin", "/./login#x", "http://api.example/login?x"] {
        let mut about = FORWARDED;
        about[2].1 = path;
        assert!(limited(PROXY, "domain=api", &about).await, "{path}");
    }
}

#[tokio::test]
async fn hosts_schemes_queries_and_headers_are_facts_too() {
    let door = door();
    let trial = |host| [("x-forwarded-host", host), ("X-Trial", "1")];
    assert_eq!(ask(&door, PROXY, "domain=api", &trial("Api.Example:8443")).await.status, 200);
    assert_eq!(ask(&door, PROXY, "domain=api", &trial("other.example")).await.status, 200);
    assert_eq!(ask(&door, PROXY, "domain=api", &trial("api.example.")).await.status, 429);
    let page = [("x-forwarded-uri", "/list?page=all"), ("x-forwarded-proto", "https")];
    assert!(limited(PROXY, "domain=api", &page).await);
    let own = [("x-original-uri", "/"), ("host", "api.example"), ("x-trial", "1")];
    assert!(limited(PROXY, "domain=api&from=original", &own).await);
}

#[tokio::test]
async fn the_client_is_counted_and_not_the_proxy() {
    let door = door();
    let from = |chain: &'static str| {
        let mut about = FORWARDED;
        about[0].1 = chain;
        about
    };
    assert_eq!(ask(&door, PROXY, "domain=api", &from("192.0.2.7")).await.status, 200);
    assert_eq!(ask(&door, PROXY, "domain=api", &from("192.0.2.8")).await.status, 200);
    assert_eq!(
        ask(&door, "10.9.9.9:1", "domain=api", &from("1.2.3.4, 192.0.2.7, 10.0.0.3")).await.status,
        429
    );
}

#[tokio::test]
async fn what_a_stranger_forwards_is_ignored_and_counted() {
    let door = door();
    for _ in 0..2 {
        assert_eq!(ask(&door, "192.0.2.1:1", "domain=api", &FORWARDED).await.status, 200);
    }
    let query = "domain=api&header.x-org=org&attribute.plan=pro&header.x-api-key=api_key";
    let stated = [("x-org", "acme"), ("x-api-key", "k1")];
    assert_eq!(ask(&door, "192.0.2.1:1", query, &stated).await.status, 200);
    assert_eq!(ask(&door, "192.0.2.1:1", query, &stated).await.status, 429, "a key is its own proof");
    let ignored: Vec<_> = door.settings().forward_trust.ignored().collect();
    assert_eq!(
        ignored,
        [("org", 2), ("plan", 2), ("ip", 2), ("method", 2), ("path", 2), ("host", 2), ("scheme", 2)]
    );
}

#[tokio::test]
async fn a_header_that_says_two_things_is_refused() {
    let door = door();
    let two = [("x-api-key", "k1"), ("x-api-key", "other-secret")];
    let back = ask(&door, PROXY, PER_KEY, &two).await;
    assert_eq!(back.status, 400);
    assert_eq!(back.detail(), "the header `x-api-key` is there more than once and says different things");
    let back = ask(&door, PROXY, &format!("{PER_KEY}&deny_status=403"), &two).await;
    assert_eq!(back.status, 403);
    let same = [("x-api-key", "k1"), ("x-api-key", "k1")];
    assert_eq!(ask(&door, PROXY, PER_KEY, &same).await.status, 200);
}

/// Of headers that rules speak of by their own names too; but for cookies, which may come in parts.
#[tokio::test]
async fn a_header_that_rules_speak_of_says_one_thing() {
    let rules = "domain: api\nrules:\n- { name: a, by: [header.x-shop], limit: 2/h }\n- { name: b, by: [header.cookie], limit: 1/h }";
    let (door, _) = door_to(Reference::new(), rules, settings());
    let two = |name| [(name, "one"), (name, "other")];
    let back = ask(&door, PROXY, "domain=api", &two("x-shop")).await;
    assert_eq!(back.status, 400);
    assert_eq!(back.detail(), "the header `x-shop` is there more than once and says different things");
    assert_eq!(ask(&door, PROXY, "domain=api", &two("x-other")).await.status, 200, "nobody asks for it");
    assert_eq!(ask(&door, PROXY, "domain=api", &two("cookie")).await.status, 200);
    let whole = [("cookie", "one; other")];
    assert_eq!(ask(&door, PROXY, "domain=api", &whole).await.status, 429, "it is the same");
}

#[tokio::test]
async fn a_value_without_end_is_refused_and_not_repeated() {
    let long = "x".repeat(17_000);
    let back = ask(&door(), PROXY, &format!("{PER_KEY}&deny_status=403"), &[("x-api-key", &long)]).await;
    assert_eq!(back.status, 403);
    assert!(!back.detail().contains("xxx"), "{}", back.detail());
}

#[tokio::test]
async fn a_client_cannot_shorten_the_patience_of_the_proxy() {
    let store = Noting::default();
    let (door, _) = door_to(store.clone(), RULES, settings());
    let about = [("x-request-timeout-ms", "1"), ("x-api-key", "k1")];
    ask(&door, PROXY, PER_KEY, &about).await;
    ask(&door, PROXY, &format!("{PER_KEY}&timeout_ms=50"), &about).await;
    assert_eq!(store.taken(), [0, 40_000]);
}

#[tokio::test]
async fn what_the_address_maps_goes_before_what_proxies_say_by_custom() {
    let (real, query) =
        ("x-real-ip", "domain=api&header.x-real-ip=ip&header.x-verb=method&header.x-target=path");
    let login = |ip| [(real, ip), ("x-verb", "POST"), ("x-target", "//login"), ("x-forwarded-uri", "/")];
    let door = door();
    assert_eq!(ask(&door, PROXY, query, &login("192.0.2.7")).await.status, 200);
    assert_eq!(ask(&door, PROXY, query, &login("192.0.2.8")).await.status, 200, "another client");
    assert_eq!(ask(&door, PROXY, query, &login("::ffff:192.0.2.7")).await.status, 429, "written otherwise");
    // The same client, however the proxy tells of it.
    assert_eq!(ask(&door, PROXY, "domain=api", &FORWARDED).await.status, 429);
    assert!(limited(PROXY, "domain=api&attribute.method=POST&attribute.path=/login", &FORWARDED[..1]).await);
    // Without the header, what proxies say by custom.
    assert!(limited(PROXY, query, &FORWARDED).await);
}

#[tokio::test]
async fn a_mapped_address_of_a_stranger_is_its_own_and_rubbish_is_refused() {
    let (query, door) = ("domain=api&header.x-real-ip=ip", door());
    let login = |ip| [("x-real-ip", ip), ("x-forwarded-method", "POST"), ("x-forwarded-uri", "/login")];
    let rubbish = ask(&door, PROXY, query, &login("unknown")).await;
    assert_eq!(rubbish.status, 400);
    assert!(rubbish.detail().contains("`ip`"), "{}", rubbish.detail());
    let before = door.settings().forward_trust.ignored().find(|(name, _)| *name == "ip").unwrap().1;
    ask(&door, "198.51.100.1:1", query, &login("192.0.2.7")).await;
    let after = door.settings().forward_trust.ignored().find(|(name, _)| *name == "ip").unwrap().1;
    assert_eq!(after, before + 1, "what it says is ignored and counted");
}

#[tokio::test]
async fn a_refusal_that_is_no_limit_has_the_title_of_its_status() {
    let twice = [("x-api-key", "a"), ("x-api-key", "b")];
    let back = ask(&door(), PROXY, "domain=api&deny_status=403&header.x-api-key=api_key", &twice).await;
    assert_eq!((back.status, back.json()["title"].as_str()), (403, Some("Forbidden")));
    assert_eq!(back.json()["status"], 403);
}
