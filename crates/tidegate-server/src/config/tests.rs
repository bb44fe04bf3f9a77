use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use tidegate_rules::shape::{Object, Shape};

use super::*;

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tidegate.yaml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn given(flags: &[(&'static str, &str)], variables: &[(&str, &str)], config: Option<PathBuf>) -> Given {
    Given {
        config,
        flags: flags.iter().map(|(key, text)| (*key, (*text).to_owned())).collect(),
        variables: variables.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect(),
        default_rules: None,
    }
}

fn port(address: Option<SocketAddr>) -> Option<u16> {
    address.map(|address| address.port())
}

#[test]
fn flags_win_over_variables_over_the_file_over_defaults() {
    let (_folder, file) = file("listen: { grpc: 127.0.0.1:1, http: 127.0.0.1:1, admin: 127.0.0.1:1 }");
    let variables = [("TIDEGATE_HTTP", "127.0.0.1:2"), ("TIDEGATE_ADMIN", "127.0.0.1:2")];
    let config = load(&given(&[("listen.admin", "127.0.0.1:3")], &variables, Some(file))).unwrap();
    assert_eq!(port(config.listen.grpc), Some(1));
    assert_eq!(port(config.listen.http), Some(2));
    assert_eq!(port(config.listen.admin), Some(3));
    assert_eq!(config.shutdown, Config::default().shutdown);
}

#[test]
fn nothing_given_is_the_default() {
    assert_eq!(load(&Given::default()).unwrap(), Config::default());
}

#[test]
fn every_stated_default_is_the_real_one() {
    let mut config = Config::default();
    for setting in SETTINGS.iter().filter(|setting| setting.default != "none") {
        (setting.set)(&mut config, setting.default)
            .unwrap_or_else(|wrong| panic!("{}: {wrong}", setting.key));
        assert_eq!(config, Config::default(), "{}", setting.key);
    }
}

#[test]
fn the_file_has_a_key_for_every_setting_and_no_other() {
    fn leaves(object: &Object, prefix: &str, found: &mut BTreeSet<String>) {
        for field in object.keys {
            match field.shape {
                Shape::Object(inner) => leaves(inner, &format!("{prefix}{}.", field.name), found),
                _ => assert!(found.insert(format!("{prefix}{}", field.name))),
            }
        }
    }
    let mut keys = BTreeSet::new();
    leaves(&file::FILE, "", &mut keys);
    // Tenants' own servers have names of the operator's choice, and stand in the file alone.
    assert!(keys.remove("stores"));
    assert_eq!(keys, SETTINGS.iter().map(|setting| setting.key.to_owned()).collect());
}

#[test]
fn variables_are_named_after_their_keys() {
    for setting in SETTINGS {
        let key = setting.key.strip_prefix("listen.").unwrap_or(setting.key);
        assert_eq!(setting.variable, format!("TIDEGATE_{}", key.replace('.', "_").to_uppercase()));
    }
}

#[test]
fn a_wrong_file_is_told_everything_with_its_places() {
    let (_folder, path) = file(
        "listen:\n  htpp: 127.0.0.1:80\n  admin: 0.0.0.0\nlimits: { memory: 1 GB }\nstore: redis://:secret@x:no\n",
    );
    let rendered = load(&given(&[], &[], Some(path))).unwrap_err().to_string();
    for expected in [
        "tidegate.yaml:2:3",
        "listen has no key `htpp`",
        "did you mean `http`?",
        "listen.admin: `0.0.0.0` is no address",
        "limits.memory: `1 GB` is no size",
        "; write a number from 1 to 65535",
        "5 | store: redis://*******@x:no",
    ] {
        assert!(rendered.contains(expected), "{expected} is not in:\n{rendered}");
    }
    assert!(!rendered.contains("secret"));
}

#[test]
fn errors_say_where_a_value_came_from() {
    let error = load(&given(&[], &[("TIDEGATE_LOG_LEVEL", "inof")], None)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "TIDEGATE_LOG_LEVEL: `inof` is not one of error, warn, info, debug, trace; did you mean `info`?"
    );
    let error = load(&given(&[("listen.http", "8080")], &[], None)).unwrap_err();
    assert!(matches!(error, ConfigError::Flag { flag: "http", .. }), "{error}");
}

#[test]
fn a_path_in_the_file_is_meant_from_where_the_file_is() {
    let (folder, path) = file("rules: limits.d");
    let rules = |given| load(&given).unwrap().rules;
    assert_eq!(rules(given(&[], &[], Some(path.clone()))), Some(folder.path().join("limits.d")));
    assert_eq!(rules(given(&[("rules", "here")], &[], Some(path))), Some(PathBuf::from("here")));
}

#[test]
fn tenants_can_have_servers_of_their_own() {
    let (_folder, path) = file(
        "store: redis://a\nstores:\n  api/acme: redis-cluster://b:7000,c\n  api/*: redis://d\n  api/*?plan=pro: redis://e\n",
    );
    let config = load(&given(&[], &[], Some(path))).unwrap();
    let [acme, all, pro] = config.stores.as_slice() else { panic!() };
    assert_eq!(acme.whose, Whose::Tenant { domain: "api".to_owned(), tenant: "acme".to_owned() });
    assert_eq!(acme.address, "redis-cluster://b:7000,c".parse().unwrap());
    assert_eq!(all.whose, Whose::Domain("api".to_owned()));
    let [domain, attribute, value] = ["api", "plan", "pro"].map(str::to_owned);
    assert_eq!(pro.whose, Whose::Tier(Tier { domain, attribute, value }));
    let (_folder, path) = file(
        "stores: { acme: redis://b, api/x: memory, api/y: redis://:hush@, api/ac*: redis://b, '*/z': redis://b, 'api/*?pro': redis://b }\n",
    );
    let rendered = load(&given(&[], &[], Some(path))).unwrap_err().to_string();
    for expected in [
        "stores.acme: write the domain and the tenant, such as api/acme",
        "stores.api/x: a tenant's own store is in Redis",
        "stores.api/y: ",
        "stores.api/ac*: only a `*` alone stands for all tenants",
        "stores.*/z: write the domain out",
        "stores.api/*?pro: write the attribute and the tier",
    ] {
        assert!(rendered.contains(expected), "{expected} is not in:\n{rendered}");
    }
    assert!(!rendered.contains("hush"), "{rendered}");
}

#[test]
fn doors_can_be_off_and_durations_zero() {
    let (_folder, path) = file("shutdown: { drain: 250ms }");
    let variables = [("TIDEGATE_SHUTDOWN_LAME_DUCK", "0")];
    let config = load(&given(&[("listen.grpc", "off")], &variables, Some(path))).unwrap();
    assert_eq!(config.listen.grpc, None);
    assert_eq!(config.shutdown, Shutdown { lame_duck: Duration::ZERO, drain: Duration::from_millis(250) });
}

#[test]
fn misspelt_variables_are_noticed_and_those_of_kubernetes_are_not() {
    let variables =
        [("TIDEGATE_HTPP", ""), ("TIDEGATE_SERVICE_HOST", ""), ("TIDEGATE_PORT_8080_TCP_ADDR", "")];
    assert_eq!(given(&[], &variables, None).misspelt(), [("TIDEGATE_HTPP", "TIDEGATE_HTTP")]);
    let token = [("TIDEGATE_HTTP_TOKEN", "0123456789abcdef"), ("TIDEGATE_TOKEN_FILE", "token")];
    let meant = [("TIDEGATE_HTTP_TOKEN", "TIDEGATE_HTTP_TOKEN_FILE")];
    assert_eq!(given(&[], &token, None).misspelt(), meant, "the file of a token, not the token");
}

#[test]
fn secrets_that_were_written_into_the_file_are_not_repeated_and_their_keys_are_named() {
    let (_folder, path) = file(
        "admin: { token: SECRET }\nresp: { password: SECRET }\nhttp: { tokn: SECRET }\nstore: rediss//u:SECRET@h\n\
         stores: { 'redis://u:SECRET@h': api/acme }\n",
    );
    let said = load(&given(&[], &[], Some(path))).unwrap_err().to_string();
    for expected in [
        "admin has no key `token`",
        "^^^^^ did you mean `token_file`?",
        "1 | admin: { token: ****** }",
        "^^^^^^^^ did you mean `password_file`?",
        "3 | http: { tokn: ****** }\n  |         ^^^^ did you mean `token_file`?",
        "stores.redis://********@h: ",
    ] {
        assert!(said.contains(expected), "{expected} is not in:\n{said}");
    }
    assert!(!said.contains("SECRET"), "{said}");
}

#[test]
fn bounds_of_a_length_of_time_have_their_numbers() {
    let wrong = |variable, text| load(&given(&[], &[(variable, text)], None)).unwrap_err().to_string();
    let idle = wrong("TIDEGATE_LIMITS_IDLE_TIMEOUT", "0s");
    assert_eq!(idle, "TIDEGATE_LIMITS_IDLE_TIMEOUT: `0s` should be from 1s to 1d");
    assert!(wrong("TIDEGATE_LIMITS_HEADER_TIMEOUT", "99999d").ends_with("should be from 1s to 1h"));
    assert!(wrong("TIDEGATE_CHECKPOINT_EVERY", "1ms").ends_with("should be from 100ms to 1h"));
    assert!(wrong("TIDEGATE_SHUTDOWN_DRAIN", "2h").ends_with("should be from 0 to 1h"));
}

#[test]
fn what_is_wrong_in_the_file_in_variables_and_in_flags_is_told_at_once() {
    let (_folder, path) = file("runtime: fast");
    let variables = [("TIDEGATE_LOG_LEVEL", "inof"), ("TIDEGATE_TRUST_PEERS", "10.0.0.0/40,10.0.0.1,foo")];
    let error = load(&given(&[("listen.http", "8080")], &variables, Some(path))).unwrap_err();
    assert_eq!(error.each().len(), 4, "{error}");
    for expected in
        ["runtime: `fast`", "TIDEGATE_LOG_LEVEL: `inof`", "`10.0.0.0/40` is", "`foo` is", "--http: "]
    {
        assert!(error.to_string().contains(expected), "{expected} is not in {error}");
    }
}

#[test]
fn every_wrong_element_of_a_list_is_told_in_its_place() {
    for (text, places) in [
        ("trust: { peers: [10.0.0.0/40, foo, 10.0.0.1/8, ::1] }", [18, 31, 36].as_slice()),
        (
            "trust: { peers: [{ from: [foo, ::1, bar], doors: [admin], attributes: [''] }] }",
            &[27, 37, 51, 72],
        ),
        ("tls: { doors: [grpc, htpp, admn] }", &[22, 28]),
    ] {
        let (_folder, path) = file(text);
        let said = load(&given(&[], &[], Some(path))).unwrap_err().to_string();
        assert_eq!(said.matches("error[").count(), places.len(), "{said}");
        for place in places {
            assert!(said.contains(&format!("tidegate.yaml:1:{place}\n")), "{place} is not in {said}");
        }
    }
}

#[test]
fn what_was_given_is_known_wherever_it_was() {
    let (_folder, path) = file("tls: { doors: [grpc] }");
    let config =
        load(&given(&[("log.level", "info")], &[("TIDEGATE_TLS_CLIENTS", "must")], Some(path))).unwrap();
    assert_eq!(config.given.into_iter().collect::<Vec<_>>(), ["log.level", "tls.clients", "tls.doors"]);
}

#[test]
fn the_guide_lists_every_setting() {
    let guide = include_str!("../../../../docs/guides/server.md");
    for Setting { key, variable, flag, default, doc, .. } in SETTINGS {
        let flag = flag.map(|flag| format!(" `--{flag}`")).unwrap_or_default();
        let default = if *default == "none" { "none".to_owned() } else { format!("`{default}`") };
        let line = format!("| `{key}` | `{variable}` |{flag} | {default} | {doc} |");
        assert!(guide.lines().any(|one| one == line), "docs/guides/server.md should have the line\n{line}");
    }
}

#[test]
fn the_last_resort_is_a_rate_with_or_without_a_burst_or_off() {
    let (_folder, path) = file("last_resort: { node: 50000/s, tenant: 600/min burst 20 }");
    let LastResort { node, tenant } = load(&given(&[], &[], Some(path))).unwrap().last_resort;
    assert_eq!(node.map(|limit| limit.capacity()), Some(50_000));
    assert_eq!(tenant.map(|limit| limit.capacity()), Some(20));
    let wrong = |text: &str| {
        let error = load(&given(&[], &[("TIDEGATE_LAST_RESORT_NODE", text)], None)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("TIDEGATE_LAST_RESORT_NODE: `{text}`")), "{error}");
    };
    for text in ["5", "5 concurrent", "5/fortnight", "0/s", "5/month", "-5/s", "5/s burst 0"] {
        wrong(text);
    }
    let off = load(&given(&[], &[("TIDEGATE_LAST_RESORT_NODE", "off")], None)).unwrap();
    assert_eq!(off.last_resort, LastResort::default());
}

#[test]
fn trust_is_written_as_lists_or_with_commas() {
    let (folder, path) = file(
        "trust: { peers: [10.0.0.0/8, 192.0.2.7], attributes: [org], doors: http, token_file: token }\n\
         http: { token_file: /etc/token }",
    );
    let Config { trust, http_token, .. } = load(&given(&[], &[], Some(path))).unwrap();
    let known = |trust: &Trust, address: &str| {
        let networks = trust.peers[0].networks.as_ref().unwrap();
        networks.contains(address.parse().unwrap())
    };
    assert!(known(&trust, "10.1.2.3") && known(&trust, "192.0.2.7"));
    assert_eq!((trust.attributes, trust.doors), (vec!["org".to_owned()], vec!["http"]));
    assert_eq!(trust.token_file, Some(folder.path().join("token")));
    assert_eq!(http_token, Some(PathBuf::from("/etc/token")));
    let variables = [("TIDEGATE_TRUST_PEERS", "::1, 10.0.0.1"), ("TIDEGATE_TRUST_DOORS", "grpc,http")];
    let trust = load(&given(&[], &variables, None)).unwrap().trust;
    assert!(known(&trust, "::1"));
    assert_eq!(trust.doors, ["grpc", "http"]);
    for (variable, value) in [
        ("TIDEGATE_TRUST_PEERS", "localhost"),
        ("TIDEGATE_TRUST_DOORS", "admin"),
        ("TIDEGATE_TRUST_ATTRIBUTES", "org,,plan"),
    ] {
        let error = load(&given(&[], &[(variable, value)], None)).unwrap_err().to_string();
        assert!(error.starts_with(variable), "{error}");
    }
}

#[test]
fn peers_say_by_what_they_are_known_and_what_they_may_state_where() {
    let (folder, path) = file(
        "trust:\n  peers:\n    - 10.0.0.0/8\n    - { from: [192.0.2.0/24, 198.51.100.1], attributes: ip }\n    \
         - { token_file: edge, attributes: [org, plan], doors: [http, resp] }\n    \
         - { certificate: edge.example, from: 203.0.113.0/24 }\n",
    );
    let peers = load(&given(&[], &[], Some(path))).unwrap().trust.peers;
    let networks = |written: &[&str]| Some(Trusted::parse(written).unwrap());
    let expected = [
        TrustedPeer { networks: networks(&["10.0.0.0/8"]), ..TrustedPeer::default() },
        TrustedPeer {
            networks: networks(&["192.0.2.0/24", "198.51.100.1"]),
            attributes: Some(vec!["ip".to_owned()]),
            ..TrustedPeer::default()
        },
        TrustedPeer {
            token_file: Some(folder.path().join("edge")),
            attributes: Some(vec!["org".to_owned(), "plan".to_owned()]),
            doors: Some(vec!["http", "resp"]),
            ..TrustedPeer::default()
        },
        TrustedPeer {
            networks: networks(&["203.0.113.0/24"]),
            certificate: Some(Shown::Name("edge.example".to_owned())),
            ..TrustedPeer::default()
        },
    ];
    assert_eq!(peers, expected);
}

#[test]
fn a_key_without_a_value_does_not_pass_for_one_that_is_not_there() {
    for (text, key) in [
        ("http: { token_file: }", "http.token_file"),
        ("resp:\n  password_file:\n", "resp.password_file"),
        ("tls: { cert: a, key: b, clients: }", "tls.clients"),
        ("trust: { peers: [{ from: 10.0.0.0/8, attributes: }] }", "attributes"),
        ("trust: { peers: [{ token_file: a, from: }] }", "from"),
        ("store: ~", "store"),
    ] {
        let (_folder, path) = file(text);
        let said = load(&given(&[], &[], Some(path))).unwrap_err().to_string();
        assert!(said.contains(&format!("{key}: it has no value")), "{text}: {said}");
    }
    let (_folder, path) = file("limits:\ntls:\ntrust:\n");
    assert!(load(&given(&[], &[], Some(path))).is_ok(), "all of a section may be left out");
}

#[test]
fn a_peer_that_cannot_be_known_is_said_with_its_place() {
    let hash = "AB:".repeat(31) + "ab";
    let (_folder, path) = file(&format!("trust: {{ peers: [{{ certificate: \"sha256:{hash}\" }}] }}"));
    let peers = load(&given(&[], &[], Some(path))).unwrap().trust.peers;
    assert_eq!(peers[0].certificate, Some(Shown::Fingerprint([0xab; 32])));
    for (peer, says) in [
        ("{ attributes: [org] }", "say how it is known: by from, token_file or certificate"),
        ("{ from: localhost }", "from: `localhost` is neither an address nor a network"),
        ("{ certificate: \"sha256:abcd\" }", "sha256: and its 64 hexadecimal digits"),
        ("{ from: 10.0.0.1, doors: [admin] }", "doors: `admin` is not one of authorize, grpc, http, resp"),
        ("{ form: 10.0.0.1 }", "did you mean `from`"),
    ] {
        let (_folder, path) = file(&format!("trust:\n  peers:\n    - {peer}\n"));
        let error = load(&given(&[], &[], Some(path))).unwrap_err().to_string();
        assert!(error.contains(says), "{peer}: {error}");
        assert!(error.contains(":3:"), "it says where: {error}");
    }
}

#[test]
fn default_rules_are_taken_unless_named() {
    let default_rules = Some(PathBuf::from("rules"));
    let nothing = Given { default_rules: default_rules.clone(), ..Given::default() };
    assert_eq!(load(&nothing).unwrap().rules, default_rules);
    let named = Given { default_rules, ..given(&[("rules", "other")], &[], None) };
    assert_eq!(load(&named).unwrap().rules, Some("other".into()));
}

#[test]
fn knows_where_ratelimit_reads_rules() {
    let folder = |variables: &[(&str, &str)]| load(&given(&[], variables, None)).unwrap().ratelimit_folder;
    assert_eq!(folder(&[]), None);
    assert_eq!(folder(&[("RUNTIME_ROOT", "")]), None);
    let variables = [("RUNTIME_ROOT", "/data"), ("RUNTIME_SUBDIRECTORY", "ratelimit")];
    assert_eq!(folder(&variables), Some("/data/ratelimit".into()));
    let other = [("RUNTIME_ROOT", "/data"), ("RUNTIME_APPDIRECTORY", "limits")];
    assert_eq!(folder(&other), Some("/data/limits".into()));
}

#[test]
fn effective_settings_tell_their_source() {
    let (_folder, path) = file(
        "listen: { http: off }\nlimits: { streams: 7 }\ntrust: { peers: [10.0.0.0/8, { token_file: t }] }\n",
    );
    let name = path.display().to_string();
    let variables = [("TIDEGATE_STORE", "redis://user:SECRET@host:6379"), ("TIDEGATE_LOG_LEVEL", "debug")];
    let mut given = given(&[("log.level", "warn")], &variables, Some(path));
    given.default_rules = Some("rules".into());
    let all = effective(&given).unwrap();
    let of = |key: &str| {
        let one = all.iter().find(|one| one.key == key).unwrap();
        (one.value.as_str(), one.source.as_str())
    };
    assert_eq!(of("log.level"), ("warn", "--log-level"));
    assert_eq!(of("store"), ("redis://***@host:6379", "TIDEGATE_STORE"));
    assert_eq!(of("listen.http"), ("off", name.as_str()));
    assert_eq!(of("limits.streams"), ("7", name.as_str()));
    assert_eq!(of("trust.peers"), ("10.0.0.0/8,{ token_file: t }", name.as_str()));
    assert_eq!(of("rules"), ("rules", "default, the folder is there"));
    assert_eq!(of("listen.grpc"), ("0.0.0.0:8081", "default"));
    assert!(!format!("{all:?}").contains("SECRET"));
    assert_eq!(all.len(), SETTINGS.len());
}

#[test]
fn effective_settings_hide_every_login() {
    let (_folder, path) = file("store: redis://a\nstores: { api/acme: 'redis://u:SECRET@b' }\n");
    let all = effective(&given(&[], &[], Some(path))).unwrap();
    let last = all.last().unwrap();
    assert_eq!((last.key.as_str(), last.value.as_str()), ("stores.api/acme", "redis://***@b"));
}
