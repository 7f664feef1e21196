//! Users and roles in policies: stored by account and unique id, so that another one of the same name is not
//! meant, nor one of another account with the same id. They are shown by ARN as long as they exist, then by
//! id (IAM user guide, element Principal).
//!
//! It does not know whose a policy is. Names of users and roles that do not exist stay ARNs.

use std::collections::BTreeSet;

use keywright_access::document::{account_and_id, rename_principals};
use keywright_semantics::iam::names::{IamArn, Kind};
use keywright_store::Store;

use super::Directory;
use crate::support::env::AccountId;

impl<S: Store> Directory<S> {
    /// The account and id of a user or role that exists, as policies store them.
    pub(crate) fn stored_name(&self, arn: &str) -> Option<String> {
        let arn = IamArn::parse(arn)?;
        let kind = match arn.kind {
            "user" => Kind::User,
            "role" => Kind::Role,
            _ => return None,
        };
        let account = self.account(&AccountId::from(arn.account));
        let entity = account.entity(kind, arn.name)?;
        (entity.name == arn.name && entity.path == arn.path).then(|| format!("{}:{}", arn.account, entity.id))
    }

    /// A policy as it is stored.
    pub(crate) fn stored_policy(&self, policy: &str) -> String {
        rename_principals(policy, |name| self.stored_name(name))
    }

    /// Makes of stored policies what clients see.
    pub(crate) fn show_policies(&self, policies: &mut [&mut String]) {
        let mut ids = BTreeSet::new();
        for policy in &*policies {
            rename_principals(policy, |name| {
                ids.extend(account_and_id(name).map(|(_, id)| id.to_owned()));
                None
            });
        }
        if ids.is_empty() {
            return;
        }
        let arns = self.arns_of(&ids);
        for policy in policies {
            **policy = rename_principals(policy, |name| {
                let (account, id) = account_and_id(name)?;
                let arn = account.and_then(|account| arns.get(&(AccountId::from(account), id.to_owned())));
                Some(arn.cloned().unwrap_or_else(|| id.to_owned()))
            });
        }
    }
}
