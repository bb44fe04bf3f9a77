//! A proxy between a client and a server that does to bytes what networks do, on demand and always alike.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What the proxy does with what comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// Passes everything on.
    #[default]
    Honest,
    /// Passes everything on, answers later by this much.
    Late(Duration),
    /// Keeps requests for itself; connections stay open until it changes its manner, since no network loses bytes in the middle.
    Deaf,
    /// Passes requests on and keeps the answers for itself; connections stay open until it changes its manner.
    Mute,
    /// Passes requests on, and closes the connection instead of passing on an answer.
    Cutting,
    /// Closes every connection as soon as it is made.
    Closed,
    /// Passes requests on, and answers with the first byte of each answer made another.
    Garbling,
    /// Answers this to every command; the server hears nothing.
    Answering(String),
}

/// A listener on a free port that stands for a server.
pub struct Proxy {
    shared: Arc<Shared>,
    port: u16,
}

struct Shared {
    target: SocketAddr,
    manner: Mutex<Manner>,
    streams: Mutex<Vec<TcpStream>>,
    accepted: AtomicUsize,
    over: AtomicBool,
}

impl Proxy {
    /// A proxy before this port of the loopback, honest at first.
    ///
    /// # Panics
    /// When there is no port to be had.
    pub fn before(port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port_of_ours = listener.local_addr().expect("it is bound").port();
        let shared = Arc::new(Shared {
            target: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            manner: Mutex::default(),
            streams: Mutex::default(),
            accepted: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &accepting));
        Self { shared, port: port_of_ours }
    }

    /// `host:port` of the proxy.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Changes what it does from now on, also with connections that exist.
    pub fn be(&self, manner: Manner) {
        *held(&self.shared.manner) = manner;
    }

    /// Closes all connections that exist.
    pub fn cut(&self) {
        for stream in held(&self.shared.streams).drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        self.cut();
        // Wakes whoever waits for the next connection.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming().flatten() {
        if shared.over.load(Ordering::SeqCst) {
            return;
        }
        shared.accepted.fetch_add(1, Ordering::SeqCst);
        if *held(&shared.manner) != Manner::Closed {
            // Whoever cannot reach the server closes, as the server's machine would.
            drop(join(client, shared));
        }
    }
}

fn join(client: TcpStream, shared: &Arc<Shared>) -> std::io::Result<()> {
    let server = TcpStream::connect(shared.target)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    held(&shared.streams).extend([client.try_clone()?, server.try_clone()?]);
    let lost = Arc::new(AtomicBool::new(false));
    let asking = Pass { shared: Arc::clone(shared), lost: Arc::clone(&lost) };
    let answering = Pass { shared: Arc::clone(shared), lost };
    let (from, to) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || carry(from, to, |bytes, back, on| asking.request(bytes, back, on)));
    thread::spawn(move || carry(server, client, |bytes, _, on| answering.answer(bytes, on)));
    Ok(())
}

/// Carries bytes one way until one end closes or somebody says that it is enough; then closes both.
fn carry(
    mut from: TcpStream,
    mut to: TcpStream,
    mut pass: impl FnMut(&mut [u8], &mut TcpStream, &mut TcpStream) -> std::io::Result<()>,
) {
    let mut buffer = [0; 16_384];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if pass(&mut buffer[..length], &mut from, &mut to).is_err() {
            break;
        }
    }
    drop(from.shutdown(Shutdown::Both));
    drop(to.shutdown(Shutdown::Both));
}

/// One way of one connection.
struct Pass {
    shared: Arc<Shared>,
    /// Whether bytes of this connection were kept, so that it cannot go on as if nothing had been.
    lost: Arc<AtomicBool>,
}

impl Pass {
    fn request(&self, bytes: &[u8], back: &mut TcpStream, on: &mut TcpStream) -> std::io::Result<()> {
        match self.manner() {
            Manner::Deaf => self.keep(),
            Manner::Answering(text) => back.write_all(text.repeat(commands(bytes)).as_bytes()),
            Manner::Mute => on.write_all(bytes),
            _ => self.go_on(bytes, on),
        }
    }

    fn answer(&self, bytes: &mut [u8], on: &mut TcpStream) -> std::io::Result<()> {
        match self.manner() {
            Manner::Mute | Manner::Answering(_) => return self.keep(),
            Manner::Cutting => return Err(std::io::ErrorKind::ConnectionAborted.into()),
            Manner::Deaf => return on.write_all(bytes),
            Manner::Late(delay) => thread::sleep(delay),
            Manner::Garbling => bytes[0] ^= 0x15,
            Manner::Honest | Manner::Closed => {}
        }
        self.go_on(bytes, on)
    }

    fn manner(&self) -> Manner {
        held(&self.shared.manner).clone()
    }

    #[expect(clippy::unnecessary_wraps, reason = "it stands where bytes are passed on")]
    fn keep(&self) -> std::io::Result<()> {
        self.lost.store(true, Ordering::SeqCst);
        Ok(())
    }

    fn go_on(&self, bytes: &[u8], on: &mut TcpStream) -> std::io::Result<()> {
        if self.lost.load(Ordering::SeqCst) {
            return Err(std::io::ErrorKind::ConnectionAborted.into());
        }
        on.write_all(bytes)
    }
}

/// How many commands begin in these bytes.
fn commands(bytes: &[u8]) -> usize {
    usize::from(bytes.first() == Some(&b'*')) + bytes.windows(3).filter(|bytes| bytes == b"\r\n*").count()
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
