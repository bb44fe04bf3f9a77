use super::*;

fn guarded() -> Service<Reference> {
    Service::new(door(RULES).0, Some(Password::new(b"hunter2")))
}

#[test]
fn a_connection_is_greeted_in_the_protocol_that_it_asks_for() {
    let (service, _) = service();
    let version = env!("CARGO_PKG_VERSION");
    let length = version.len();
    let said = asked(&service, "HELLO");
    let rest = |proto, id| {
        format!(
            "$6 server $8 tidegate $7 version ${length} {version} $4 mode $10 standalone $4 role $6 master $5 proto :{proto} $2 id :{id} $7 modules *0"
        )
    };
    assert_eq!(said, format!("*14 {}", rest(2, 1)));
    assert_eq!(asked(&service, "HELLO 3"), format!("%7 {}", rest(3, 2)));
    assert_eq!(asked(&service, "HELLO 4"), "-NOPROTO unsupported protocol version; write 2 or 3");
    assert_eq!(asked(&service, "HELLO x"), "-NOPROTO unsupported protocol version; write 2 or 3");
    assert!(asked(&service, "HELLO 3 AUTH default").starts_with("-ERR syntax error; write HELLO"));
    assert!(asked(&service, "HELLO 3 AUTH default any SETNAME me").starts_with("%7"));
}

#[test]
fn without_the_password_nothing_is_answered() {
    let service = guarded();
    for text in ["PING", "CL.THROTTLE k 1 1 1", "TG.CHECK api", "INFO", "COMMAND", "CLIENT ID", "SELECT 0"] {
        let said = asked(&service, text);
        assert_eq!(said, "-NOAUTH authentication required; send AUTH with the password", "{text}");
    }
    assert!(asked(&service, "HELLO 3").starts_with("-NOAUTH "));
    assert_eq!(asked(&service, "QUIT"), "+OK");
}

#[test]
fn the_password_opens_the_door() {
    let service = guarded();
    for text in ["AUTH hunter2", "AUTH default hunter2", "HELLO 3 AUTH default hunter2"] {
        let mut session = service.session();
        assert!(!line(&mut session, text).starts_with('-'), "{text}");
        assert_eq!(line(&mut session, "PING"), "+PONG");
        assert_eq!(line(&mut session, "RESET"), "+RESET");
        assert!(line(&mut session, "PING").starts_with("-NOAUTH"));
    }
    for text in ["AUTH hunter3", "AUTH admin hunter2", "HELLO 3 AUTH default x", "AUTH default default"] {
        let mut session = service.session();
        assert_eq!(line(&mut session, text), "-WRONGPASS invalid username-password pair");
        assert!(line(&mut session, "PING").starts_with("-NOAUTH"));
    }
}

#[test]
fn who_guesses_is_shown_out() {
    let service = guarded();
    let mut session = service.session();
    for _ in 0..7 {
        assert_eq!(say(&mut session, b"AUTH guess\r\n").1, Next::Read);
    }
    assert_eq!(say(&mut session, b"AUTH guess\r\nAUTH hunter2\r\n").1, Next::Close);
}

#[test]
fn where_there_is_no_password_a_client_that_sends_one_is_told() {
    let (service, _) = service();
    assert_eq!(asked(&service, "AUTH x"), "-ERR there is no password here; leave AUTH out");
    assert_eq!(asked(&service, "AUTH default x"), "+OK");
    assert!(asked(&service, "AUTH other x").starts_with("-WRONGPASS"));
}

#[test]
fn what_clients_say_when_they_come_is_understood() {
    let (service, _) = service();
    let mut session = service.session();
    for (text, expected) in [
        ("PING", "+PONG"),
        ("ping hello", "$5 hello"),
        ("ECHO hello", "$5 hello"),
        ("CLIENT SETNAME me", "+OK"),
        ("CLIENT GETNAME", "$2 me"),
        ("client setinfo LIB-NAME redis-py", "+OK"),
        ("CLIENT ID", ":1"),
        ("SELECT 0", "+OK"),
        ("SELECT 1", "-ERR there is one database, 0"),
        ("COMMAND COUNT", ":19"),
        ("COMMAND INFO cl.throttle nothing", "*2 *6 $11 cl.throttle :-5 *1 +fast :1 :1 :1 $-1"),
        ("COMMAND INFO TG.RELEASE", "*1 *6 $10 tg.release :2 *1 +fast :0 :0 :0"),
        ("COMMAND DOCS echo", "*2 $4 echo *4 $7 summary $19 Answers the message $5 group $7 generic"),
        ("COMMAND DOCS nothing", "*0"),
        ("RESET", "+RESET"),
        ("CLIENT GETNAME", "$-1"),
    ] {
        assert_eq!(line(&mut session, text), expected, "{text}");
    }
    assert!(line(&mut session, "COMMAND").starts_with("*19 *6 $11 cl.throttle "));
    assert!(line(&mut session, "COMMAND DOCS").starts_with("*38 $11 cl.throttle "));
    assert!(line(&mut session, "COMMAND LIST").starts_with("*19 $11 cl.throttle $8 throttle "));
    assert!(line(&mut session, "INFO").contains("# Rules rules:4 snapshot:7 "));
    line(&mut session, "HELLO 3");
    assert!(line(&mut session, "INFO server").starts_with('='));
    assert!(line(&mut session, "COMMAND DOCS").starts_with("%19 "));
}

#[test]
fn what_is_not_known_is_told_cut_and_harmless() {
    let (service, _) = service();
    assert_eq!(asked(&service, "FLUSHALL"), "-ERR unknown command 'FLUSHALL'");
    assert_eq!(asked(&service, "CLIENT KILL x"), "-ERR unknown subcommand 'KILL' of 'client'");
    assert!(asked(&service, "CLIENT SETNAME").starts_with("-ERR wrong number of arguments for 'client'"));
    assert_eq!(asked(&service, "COMMAND GETKEYS x"), "-ERR unknown subcommand 'GETKEYS' of 'command'");
    let mut session = service.session();
    let said = say(&mut session, &array(&[b"a\r\n+OK\r\n\x1b[2J"])).0;
    assert_eq!(said, "-ERR unknown command 'a\\r\\n+OK\\r\\n\\x1b[2J'\r\n");
    let said = say(&mut session, &array(&[&vec![b'x'; 60_000]])).0;
    assert_eq!(said, format!("-ERR unknown command '{}…'\r\n", "x".repeat(64)));
    let said = say(&mut session, &array(&[b"CLIENT", b"SETNAME", b"a b"])).0;
    assert!(said.starts_with("-ERR the name of a connection has"), "{said}");
}

#[test]
fn rubbish_is_answered_once_and_ends_the_talk() {
    let (service, _) = service();
    for (bytes, expected) in [
        (b"*1000000000\r\n".as_slice(), "-ERR Protocol error: a command has at most 264 words\r\n"),
        (b"*1\r\n$999999999\r\n", "-ERR Protocol error: a word has at most 65536 bytes\r\n"),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "-ERR Protocol error: this is the Redis protocol, not HTTP\r\n",
        ),
    ] {
        assert_eq!(say(&mut service.session(), bytes), (expected.to_owned(), Next::Close));
    }
    let (said, next) = say(&mut service.session(), b"PING\r\n*1\r\n:1\r\nPING\r\n");
    assert_eq!(said, "+PONG\r\n-ERR Protocol error: expected '$' and a length\r\n");
    assert_eq!((next, service.door.malformed()), (Next::Close, 4));
}

#[test]
fn what_is_half_written_when_something_breaks_is_taken_back() {
    let (service, _) = service();
    let mut session = service.session();
    session.room().unwrap().extend_from_slice(b"PING\r\n");
    wait(session.answer());
    session.replies.array(5);
    session.broke();
    assert_eq!(session.replies(), b"+PONG\r\n-ERR something broke on the way\r\n");
}

#[test]
fn nothing_secret_is_printed() {
    let service = guarded();
    let mut session = service.session();
    say(&mut session, b"AUTH hunter2\r\nTG.CHECK api user hunter2\r\n");
    let room = session.room().unwrap();
    room.extend_from_slice(b"AUTH hunter2");
    let shown = format!("{session:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("104, 117, 110"), "{shown}");
}
