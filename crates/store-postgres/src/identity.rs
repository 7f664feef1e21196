//! Which server answers: whether it takes writes, and in which of its lives it is.
//!
//! Transaction ids mean the same only within one life of one server: a new primary gives ids again that the
//! old one had given to transactions of which the new one never heard.

use tokio_postgres::{Client, SimpleQueryMessage};

use crate::dial::DialError;

/// The timeline is that of the log that it writes; each new primary begins one. PostgreSQL forgets nothing of
/// this in a crash after which it goes on by itself: that ends every connection.
const WHICH: &str = "SELECT system_identifier, \
                     ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint, \
                     extract(epoch FROM pg_postmaster_start_time()) FROM pg_control_system()";

/// One life of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The same for a primary and its standbys.
    pub(crate) system: String,
    pub(crate) timeline: u32,
    started: String,
}

/// What a server says of itself.
pub(crate) enum Said {
    /// It takes writes. A server that is PostgreSQL by protocol alone may have no identity.
    TakesWrites(Option<Identity>),
    IsStandby,
    /// Its settings or those of the user or database let nobody write.
    IsReadOnly,
}

/// Asks the server of a new connection.
pub(crate) async fn ask(client: &Client) -> Result<Said, DialError> {
    let read_only = client.simple_query("SHOW transaction_read_only").await?;
    if first_row(&read_only).is_some_and(|row| row == ["on"]) {
        let standby = client.simple_query("SELECT pg_is_in_recovery()").await?;
        let is_standby = first_row(&standby).is_some_and(|row| row == ["t"]);
        return Ok(if is_standby { Said::IsStandby } else { Said::IsReadOnly });
    }
    match client.simple_query(WHICH).await {
        Ok(answer) => Ok(Said::TakesWrites(first_row(&answer).and_then(|row| read(&row)))),
        // The functions are not there, or not for this user.
        Err(error) if error.code().is_some() && !crate::fault::is_of_server(&error) => {
            Ok(Said::TakesWrites(None))
        }
        Err(error) => Err(error.into()),
    }
}

fn read(row: &[String]) -> Option<Identity> {
    let [system, timeline, started] = row else { return None };
    Some(Identity { system: system.clone(), timeline: timeline.parse().ok()?, started: started.clone() })
}

fn first_row(answer: &[SimpleQueryMessage]) -> Option<Vec<String>> {
    answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            (0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect()
        }
        _ => None,
    })
}
