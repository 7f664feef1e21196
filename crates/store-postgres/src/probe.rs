//! What listens at an address where a connection failed: PostgreSQL answers a request for TLS at once.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::dial::DialError;

/// How long each answer is waited for.
const WAIT: Duration = Duration::from_secs(1);
/// PostgreSQL's request for TLS, which it answers by `S`, `N`, or an error, which begins with `E`.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
/// What servers of protocols that have lines answer with an error.
const EMPTY_LINES: [u8; 4] = *b"\r\n\r\n";

/// The better reason for a failed connection, if something other than PostgreSQL listens there.
pub(crate) async fn listener(server: &Config, port: u16) -> Option<DialError> {
    let host = match (server.get_hostaddrs().first(), server.get_hosts().first()) {
        (Some(address), _) => address.to_string(),
        (None, Some(Host::Tcp(name))) => name.clone(),
        _ => return None,
    };
    let connecting = tokio::time::timeout(WAIT, TcpStream::connect((host, port)));
    let mut stream = connecting.await.ok()?.ok()?;
    for question in [TLS_REQUEST.as_slice(), &EMPTY_LINES] {
        let mut answer = [0; 16];
        let asked = async {
            stream.write_all(question).await?;
            stream.read(&mut answer).await
        };
        match tokio::time::timeout(WAIT, asked).await {
            Ok(Ok(length)) if length > 0 => {
                let is_postgres = matches!(answer.get(..length)?, b"S" | b"N" | [b'E', ..]);
                return (!is_postgres).then_some(DialError::Foreign);
            }
            Ok(Ok(_) | Err(_)) if question == TLS_REQUEST => return Some(DialError::Closed),
            Ok(Ok(_) | Err(_)) => break,
            Err(_late) => {}
        }
    }
    Some(DialError::Mute)
}
