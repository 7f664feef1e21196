//! Why no server of the address can be used: as a text, in which servers that refuse alike stand together,
//! and as advice for the person who starts this server.

use keywright_store::StoreError;
use tokio_postgres::error::SqlState;

use crate::dial::{DialError, Unfit};
use crate::fault;
use crate::open_error::OpenError;
use crate::options::PostgresOptions;

/// What each server of the address that was tried said.
///
/// Invariant: it is not empty.
pub(crate) struct Refusals(Vec<(String, DialError)>);

impl Refusals {
    /// The first refusal of all, by the server of this name.
    pub(crate) fn new(name: String, error: DialError) -> Self {
        Self(vec![(name, error)])
    }

    pub(crate) fn push(&mut self, name: String, error: DialError) {
        self.0.push((name, error));
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut (String, DialError)> {
        self.0.iter_mut()
    }

    /// What happened, as a part of a sentence.
    pub(crate) fn text(&self) -> String {
        let mut alike: Vec<(String, Vec<&str>, &DialError)> = Vec::new();
        for (name, error) in &self.0 {
            let reason = error.at(&[]);
            match alike.iter_mut().find(|(other, _, _)| *other == reason) {
                Some((_, names, _)) => names.push(name),
                None => alike.push((reason, vec![name], error)),
            }
        }
        let sentences: Vec<String> = alike.iter().map(|(_, names, error)| error.at(names)).collect();
        sentences.join("; ")
    }

    /// Whether it may pass by itself, as a fail-over does: all servers that answer are standbys, start or
    /// end. One address may lead to several servers too, by a proxy or by a name whose address changes.
    pub(crate) fn may_pass(&self) -> bool {
        self.0.iter().any(|(_, error)| error.may_pass())
            && self.0.iter().all(|(_, error)| error.may_pass() || error.is_of_network())
    }

    /// As the error of a read.
    pub(crate) fn of_read(&self) -> StoreError {
        match &*self.0 {
            [(_, DialError::Ended), ..] => StoreError::Closed,
            _ => StoreError::Io(self.text()),
        }
    }

    /// As the reason why the store is not opened, with advice on the refusal that says most.
    pub(crate) fn of_open(&self, options: &PostgresOptions) -> OpenError {
        let text = self.text();
        if self.may_pass() {
            return OpenError::NoPrimary(text);
        }
        let telling = self.0.iter().map(|(_, error)| error).min_by_key(|error| silence(error));
        match telling.unwrap_or(&DialError::Silence) {
            DialError::Tls(_) => OpenError::Tls(text),
            DialError::NoPassword => OpenError::PasswordMissing(text),
            DialError::Unfit(Unfit::ReadOnly) => OpenError::refused(text, writable(options)),
            DialError::Unfit(_) => OpenError::Unfit(text),
            DialError::Foreign | DialError::Mute | DialError::Closed => {
                OpenError::refused(text, "check the host and port in the address".to_owned())
            }
            DialError::Silence | DialError::Ended => OpenError::Unreachable(text),
            DialError::Other(error) => match error.code() {
                None => OpenError::Unreachable(text),
                Some(code) => of_code(code, text, options),
            },
        }
    }
}

/// How little a refusal says about what to do: the least number is the one to give advice on.
fn silence(error: &DialError) -> u8 {
    match error {
        _ if error.is_of_network() => 3,
        _ if error.may_pass() => 2,
        DialError::Foreign | DialError::Mute => 1,
        _ => 0,
    }
}

/// What PostgreSQL refuses a new connection with.
fn of_code(code: &SqlState, text: String, options: &PostgresOptions) -> OpenError {
    let (database, user) = (options.database(), options.user());
    let refused = |advice: String| OpenError::refused(text.clone(), advice);
    if *code == SqlState::INVALID_PASSWORD {
        OpenError::PasswordWrong(text)
    } else if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
        refused(
            "check the user in the address, and that pg_hba.conf there admits it from this machine"
                .to_owned(),
        )
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        refused(format!("run CREATE DATABASE {database} OWNER {user}, or correct the name in the address"))
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        refused(format!("run GRANT CONNECT, CREATE ON DATABASE {database} TO {user}"))
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        refused(format!(
            "each server of Keywright opens up to {}: raise max_connections of PostgreSQL, or the CONNECTION \
             LIMIT of the role {user} or the database {database}",
            options.connections_needed()
        ))
    } else {
        OpenError::Failed(text)
    }
}

/// An error of a statement with which the store is opened.
pub(crate) fn of_statement(error: &tokio_postgres::Error, options: &PostgresOptions) -> OpenError {
    let text = fault::text(error);
    match error.code() {
        None => OpenError::Unreachable(text),
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => OpenError::refused(
            text,
            format!(
                "the schema {} is another user's: connect as that user, or name another one with ?schema=NAME",
                options.schema
            ),
        ),
        Some(code) if fault::is_passing(code) => OpenError::NoPrimary(text),
        Some(_) => OpenError::Failed(text),
    }
}

fn writable(options: &PostgresOptions) -> String {
    let (database, user) = (options.database(), options.user());
    format!(
        "switch it off, with ALTER DATABASE {database} SET default_transaction_read_only = off, or with ALTER \
         ROLE {user} if it is set for the user"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusals(all: impl IntoIterator<Item = DialError>) -> Refusals {
        Refusals((1..).zip(all).map(|(number, error)| (format!("db{number}:5432"), error)).collect())
    }

    #[test]
    fn servers_that_refuse_alike_stand_together() {
        let standby = || DialError::Unfit(Unfit::Standby);
        assert_eq!(
            refusals([standby(), DialError::Silence, standby()]).text(),
            "PostgreSQL at db1:5432, db3:5432 are standbys, which take no writes; PostgreSQL at db2:5432 does not \
             answer"
        );
        let tls = || DialError::Tls("it offers no TLS".to_owned());
        assert_eq!(refusals([tls(), tls()]).text(), "PostgreSQL at db1:5432, db2:5432: it offers no TLS");
    }

    #[test]
    fn servers_of_which_none_takes_writes_may_be_failing_over() {
        let options = PostgresOptions::parse("postgres://me@db1,db2/shop").expect("it is a URL");
        let standby = || DialError::Unfit(Unfit::Standby);
        let open = |all: Vec<DialError>| refusals(all).of_open(&options);
        assert!(matches!(open(vec![standby(), DialError::Silence]), OpenError::NoPrimary(_)));
        assert!(matches!(open(vec![DialError::Silence, DialError::Silence]), OpenError::Unreachable(_)));
        // A proxy, or a name, may lead to another server soon.
        assert!(matches!(open(vec![standby()]), OpenError::NoPrimary(_)));
        assert!(matches!(open(vec![DialError::Closed]), OpenError::NoPrimary(_)));
        assert!(matches!(open(vec![DialError::Unfit(Unfit::OtherSystem)]), OpenError::Unfit(_)));
        assert!(matches!(open(vec![standby(), DialError::NoPassword]), OpenError::PasswordMissing(_)));
        let other = DialError::Unfit(Unfit::OtherSystem);
        assert!(matches!(open(vec![standby(), other]), OpenError::Unfit(_)));
        let read_only = open(vec![DialError::Silence, DialError::Unfit(Unfit::ReadOnly)]).to_string();
        assert!(
            read_only.contains("ALTER DATABASE shop SET default_transaction_read_only = off"),
            "{read_only}"
        );
        assert!(!read_only.contains("name the server"), "{read_only}");
    }
}
