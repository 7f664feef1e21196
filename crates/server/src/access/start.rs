//! Applies a file of users before a server listens.

use std::path::{Path, PathBuf};

use keywright_access::file::{AccessFile, Principals, Prune, left, plan};
use keywright_engine::{AccountId, Caller, Namespace, Region};
use keywright_semantics::iam::names::folded;
use keywright_semantics::place::DEFAULT_ACCOUNT;

use super::iam::InProcess;
use super::{account, apply};
use crate::client::listing::counted;
use crate::http::credentials::CredentialFile;
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::storage::database::Database;

/// The region of calls that have none: principals belong to an account alone.
const REGION: &str = "us-east-1";

/// A file of users, read and checked as far as it goes without a store.
#[derive(Debug)]
pub(crate) struct StartFile {
    path: PathBuf,
    file: AccessFile,
}

impl StartFile {
    /// Reads the file. `credentials` are the root keys of the same server.
    pub(crate) fn read(path: &Path, credentials: Option<&CredentialFile>) -> Result<Self, Failure> {
        let file = super::read(path)?;
        let keys =
            file.principals.entities.values().flat_map(|user| user.keys.keys().map(|id| (id, &user.name)));
        for (id, user) in keys {
            if credentials.is_some_and(|credentials| credentials.has(id)) {
                return Err(Failure::new(format!(
                    "the access file {} is not valid: users.{user}.keys: {id} is a root key of the credentials file: \
                     use another id",
                    path.display()
                )));
            }
        }
        Ok(Self { path: path.to_owned(), file })
    }

    /// Makes the account as the file says. What the file does not name stays.
    pub(crate) async fn apply(&self, database: &Database) -> Result<(), Failure> {
        let failed = |fault: &dyn std::fmt::Display| {
            Failure::new(format!("cannot apply the access file {}: {fault}", self.path.display()))
        };
        let Some(engine) = database.engine() else { return Err(failed(&"the store is not open")) };
        let account = self.file.account.as_deref().unwrap_or(DEFAULT_ACCOUNT);
        self.check_holders(account, |id| engine.holder_of_key(id)).map_err(|fault| failed(&fault))?;
        self.check_secrets(|id| engine.find_key(id).map(|key| key.secret)).map_err(|fault| failed(&fault))?;
        let namespace = Namespace { account: AccountId::from(account), region: Region::stored(REGION) };
        let mut iam = InProcess { engine, caller: Caller::account(namespace) };
        let there = account::read(&mut iam).await.map_err(|fault| failed(&fault))?;
        self.warn_of_more(account, &there);
        let steps = plan(&self.file, &there, account, Prune::Nothing).map_err(|fault| failed(&fault))?;
        let steps = apply::with_secrets(steps, &self.path).map_err(|fault| failed(&fault))?;
        let say = |text: &str| tracing::info!("access file: {text}");
        apply::take(&mut iam, &steps, say).await.map_err(|fault| failed(&fault))
    }

    /// Warns of users, policies and rights that the store has and the file does not name: they stay.
    fn warn_of_more(&self, account: &str, there: &Principals) {
        let Ok(left) = left(&self.file, there, account) else { return };
        let (Some(first), shown) = (left.first(), self.path.display()) else { return };
        let more = counted(u64::try_from(left.len()).unwrap_or(u64::MAX), "change");
        tracing::warn!(
            "access file: account {account} has more than {shown} names, and all of it stays in force: {more}, such \
             as `{}`, would remove it. List them with `keywright access apply {shown} --prune --dry-run`",
            inline(first)
        );
    }

    /// Refuses the id of a key that another user has: someone who may make keys can have chosen it before.
    fn check_holders(
        &self,
        account: &str,
        holder: impl Fn(&str) -> Option<(AccountId, String)>,
    ) -> Result<(), Failure> {
        for user in self.file.principals.entities.values() {
            for id in user.keys.keys() {
                let Some((of, name)) = holder(id) else { continue };
                if of.as_str() != account || folded(&name) != folded(&user.name) {
                    return Err(Failure::new(format!(
                        "users.{}.keys: the user {name} of account {of} has the key {id} already: write another id, or \
                         delete that key with `aws iam delete-access-key` on a server without this key in its file",
                        user.name
                    )));
                }
            }
        }
        Ok(())
    }

    /// Refuses a key whose secret in the store differs. One whose secret cannot be read now is not compared.
    fn check_secrets(&self, stored: impl Fn(&str) -> Option<String>) -> Result<(), Failure> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        for user in self.file.principals.entities.values() {
            for (id, key) in &user.keys {
                let Some(stored) = stored(id) else { continue };
                let named = key.secret.as_ref().and_then(|secret| apply::secret(secret, folder).ok());
                if named.is_some_and(|named| named != stored) {
                    return Err(Failure::new(format!(
                        "users.{}.keys: the store has another secret for the key {id}: write that secret, a key with \
                         another id, or delete the key with `aws iam delete-access-key` on a server without it in its \
                         file",
                        user.name
                    )));
                }
            }
        }
        Ok(())
    }
}
