//! Addresses that are understood, and what is said of those that are not.

use super::{Address, Layout, Secret};

fn good(text: &str) -> Address {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn places(text: &str) -> Vec<String> {
    good(text).places.iter().map(ToString::to_string).collect()
}

fn complaint(text: &str) -> String {
    text.parse::<Address>().expect_err("this is no address").to_string()
}

#[test]
fn one_server_has_defaults() {
    let address = good("redis://localhost");
    assert_eq!(address.layout, Layout::Single);
    assert_eq!(places("redis://localhost"), ["localhost:6379"]);
    assert_eq!((address.database, address.tls, address.user, address.password), (0, false, None, None));
}

#[test]
fn everything_can_be_said() {
    let address = good("rediss://an%40nie:p%3Aw@[::1]:7000/12");
    assert_eq!(address.user.as_deref(), Some("an@nie"));
    assert_eq!(address.password.as_ref().map(Secret::reveal), Some("p:w"));
    assert_eq!((address.database, address.tls), (12, true));
    assert_eq!(address.places[0].to_string(), "[::1]:7000");
}

#[test]
fn a_password_alone_needs_no_user() {
    let address = good("redis://:secret@host");
    assert_eq!(address.user, None);
    assert!(address.password.is_some());
}

#[test]
fn several_servers_make_a_cluster_or_sentinels() {
    assert_eq!(places("redis-cluster://a:1,b:2"), ["a:1", "b:2"]);
    assert_eq!(good("rediss-cluster://a").layout, Layout::Cluster);
    assert_eq!(places("redis-sentinel://a,b:2/tide"), ["a:26379", "b:2"]);
    let address = good("redis-sentinel://a,b:2/tide/3");
    assert_eq!((address.layout, address.database), (Layout::Sentinel { master: "tide".to_owned() }, 3));
}

#[test]
fn mistakes_are_shown_where_they_stand() {
    assert_eq!(
        complaint("redis://me:secret@host:99999/0"),
        "this is not a port\n  | redis://me:***@host:99999/0\n  |                     ^^^^^\n  = help: write a number from 1 to 65535"
    );
    assert_eq!(
        complaint("redis-sentinel://host"),
        "the master's name is missing\n  | redis-sentinel://host\n  |                      ^\n  = help: write the name that sentinels know it by after a \
         slash, such as redis-sentinel://host:26379/mymaster"
    );
}

#[test]
fn each_mistake_has_its_own_words() {
    for (text, words) in [
        ("localhost:6379", "begins with the kind of store"),
        ("http://host", "no kind of store has this name"),
        ("redis://", "a host is missing"),
        ("redis-cluster://a,,b", "a host is missing"),
        ("redis://a,b", "names one server"),
        ("redis://::1", "not a host"),
        ("redis://host:0", "not a port"),
        ("redis://host/one", "not a database"),
        ("redis://host/1/2", "not a database"),
        ("redis-cluster://host/1", "one database"),
        ("redis://host?timeout=1", "no settings"),
        ("redis://a%4@host", "user or the password"),
    ] {
        assert!(complaint(text).contains(words), "{}", complaint(text));
    }
}

#[test]
fn no_secret_is_shown() {
    assert!(!format!("{:?}", good("redis://me:secret@host")).contains("secret"));
    for text in
        ["redis://me:secret@host:0", "me:secret@host", "redi://me:secret@host", "redis://me:sec/ret?@host@:0"]
    {
        let said = complaint(text);
        assert!(!said.contains("secret") && !said.contains("sec/ret"), "{said}");
    }
}
