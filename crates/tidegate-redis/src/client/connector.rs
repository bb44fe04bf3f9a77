//! Makes connections to one server: encrypted or not, as somebody, with the scripts loaded, and to a master where it must be one.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Cmd, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo, RedisError,
    TlsCertificates, Value,
};

use super::address::Place;
use super::credentials::Credentials;
use super::reply::{Reply, trouble_of};
use super::secret::Secret;
use super::tls::{Encryption, Files};
use crate::{Fault, Script};

/// Everything that is the same for all servers.
#[derive(Clone)]
pub(crate) struct Recipe {
    pub(crate) credentials: Credentials,
    pub(crate) database: u16,
    /// Certificates, if connections are encrypted.
    pub(crate) tls: Option<Arc<Encryption>>,
    pub(crate) scripts: &'static [&'static Script],
    pub(crate) role: Role,
    /// Whether calls can be made one, because the server has all keys.
    pub(crate) joins: bool,
    /// How long a connection may take.
    pub(crate) patience: Duration,
    /// Requests that a connection takes before whoever sends must wait.
    pub(crate) room: usize,
}

/// What a server must be to be connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Whatever it is.
    Any,
    /// A master.
    Master,
}

/// A new connection, and what was used for it.
pub(crate) struct Connected {
    pub(crate) connection: MultiplexedConnection,
    pub(crate) password: Option<Secret>,
    pub(crate) certificates: Option<Arc<Files>>,
}

impl Recipe {
    /// Connects, introduces us and loads the scripts; never waits longer than its patience.
    pub(crate) async fn connect(&self, place: &Place) -> Result<Connected, Fault> {
        tokio::time::timeout(self.patience, self.connect_somehow(place)).await.unwrap_or(Err(Fault::TimedOut))
    }

    async fn connect_somehow(&self, place: &Place) -> Result<Connected, Fault> {
        let password = self.credentials.password().await.map_err(|error| {
            tracing::warn!(%place, %error, "the password file cannot be read");
            Fault::Refused("NOAUTH")
        })?;
        let certificates = self.certificates().await;
        let tls = certificates.as_deref().map(Files::certificates);
        let client = client(place, tls).map_err(|error| fault(&error))?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(self.room);
        let connecting = client.get_multiplexed_async_connection_with_config(&config).await;
        let mut connection = connecting.map_err(|error| fault(&error))?;
        self.introduce(&mut connection, password.as_ref()).await?;
        self.load_scripts(&mut connection).await?;
        Ok(Connected { connection, password, certificates })
    }

    /// The certificates as they are now, if connections are encrypted.
    pub(crate) async fn certificates(&self) -> Option<Arc<Files>> {
        match &self.tls {
            Some(tls) => Some(tls.latest().await),
            None => None,
        }
    }

    /// Says who we are and where our keys are, and asks what the server is.
    async fn introduce(
        &self,
        connection: &mut MultiplexedConnection,
        password: Option<&Secret>,
    ) -> Result<(), Fault> {
        if let Some(command) = self.credentials.command(password) {
            accept(ask(connection, &command).await?)?;
        }
        if self.database > 0 {
            accept(ask(connection, redis::cmd("SELECT").arg(self.database)).await?)?;
        }
        let what = if self.role == Role::Master { "ROLE" } else { "PING" };
        self.judge(ask(connection, &redis::cmd(what)).await?)
    }

    async fn load_scripts(&self, connection: &mut MultiplexedConnection) -> Result<(), Fault> {
        for script in self.scripts {
            accept(ask(connection, redis::cmd("SCRIPT").arg("LOAD").arg(script.text)).await?)?;
        }
        Ok(())
    }

    fn judge(&self, answer: Value) -> Result<(), Fault> {
        let is_master = matches!(&answer, Value::Array(parts) if parts.first() == Some(&Value::BulkString(b"master".to_vec())));
        accept(answer)?;
        if self.role == Role::Master && !is_master {
            return Err(Fault::Refused("READONLY"));
        }
        Ok(())
    }
}

fn client(place: &Place, tls: Option<TlsCertificates>) -> redis::RedisResult<redis::Client> {
    let (host, port) = (place.host.clone(), place.port);
    let address = match tls {
        None => ConnectionAddr::Tcp(host, port),
        Some(_) => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
    };
    // Whatever the server has to say is for us to hear, one thing after another.
    let silent = RedisConnectionInfo::default().set_skip_set_lib_name();
    let info = address
        .into_connection_info()?
        .set_tcp_settings(TcpSettings::default().set_nodelay(true))
        .set_redis_settings(silent);
    match tls {
        Some(certificates) => redis::Client::build_with_tls(info, certificates),
        None => redis::Client::open(info),
    }
}

async fn ask(connection: &mut MultiplexedConnection, command: &Cmd) -> Result<Value, Fault> {
    connection.send_packed_command(command).await.map_err(|error| fault(&error))
}

/// Whether a server can be used that answers so while it is prepared. Who may not load scripts may still run them.
fn accept(answer: Value) -> Result<(), Fault> {
    match Reply::read(answer) {
        Reply::Answer(_) => Ok(()),
        Reply::Refused(refusal) if refusal.kind == "NOPERM" => Ok(()),
        Reply::Refused(refusal) => Err(Fault::Refused(refusal.kind)),
        Reply::ReadOnly => Err(Fault::Refused("READONLY")),
        Reply::NoScript | Reply::Moved(_) | Reply::Ask(_) | Reply::TryAgain => Err(Fault::Garbled),
    }
}

fn fault(error: &RedisError) -> Fault {
    trouble_of(error).fault
}
