//! Who makes a request: the root of an account, a user, or a session of a role.
//!
//! It does not know keys, signatures or which principals exist.

use crate::arn::PARTITION;

/// Who makes a request.
///
/// Invariant: the ARNs are those of the account and the identity.
#[derive(Clone, Debug)]
pub struct Principal {
    account: String,
    identity: Identity,
    arn: String,
    /// Of a session, the ARN of its role.
    role_arn: Option<String>,
    user_id: String,
    tags: Vec<(String, String)>,
    source_identity: Option<String>,
}

/// What kind of principal it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The account itself.
    Root,
    /// A user.
    User {
        /// Its name, without path.
        name: String,
    },
    /// A session of a role.
    Session {
        /// The role's name, without path.
        role: String,
        /// The session's name.
        name: String,
    },
    /// A service, by its host name. Only policies of resources say what it may do.
    Service {
        /// The host name, such as `replication.dynamodb.amazonaws.com`.
        name: String,
    },
}

/// A name and the path before it. Paths begin and end in a slash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'n> {
    /// `/`, or `/division/team/`.
    pub path: &'n str,
    /// The name.
    pub name: &'n str,
}

impl Principal {
    /// The root of an account.
    pub fn root(account: impl Into<String>) -> Self {
        let account = account.into();
        let arn = root_arn(&account);
        Self {
            user_id: account.clone(),
            account,
            identity: Identity::Root,
            arn,
            role_arn: None,
            tags: Vec::new(),
            source_identity: None,
        }
    }

    /// A user. The id is the one that begins with `AIDA`.
    pub fn user(account: impl Into<String>, user: Named<'_>, user_id: impl Into<String>) -> Self {
        let account = account.into();
        Self {
            arn: user_arn(&account, user),
            account,
            identity: Identity::User { name: user.name.to_owned() },
            role_arn: None,
            user_id: user_id.into(),
            tags: Vec::new(),
            source_identity: None,
        }
    }

    /// A session of a role. The id is the role's, which begins with `AROA`.
    pub fn session(account: impl Into<String>, role: Named<'_>, role_id: &str, session: &str) -> Self {
        let account = account.into();
        Self {
            arn: format!("arn:{PARTITION}:sts::{account}:assumed-role/{}/{session}", role.name),
            role_arn: Some(role_arn(&account, role)),
            account,
            identity: Identity::Session { role: role.name.to_owned(), name: session.to_owned() },
            user_id: format!("{role_id}:{session}"),
            tags: Vec::new(),
            source_identity: None,
        }
    }

    /// A service.
    pub fn service(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            account: String::new(),
            arn: name.clone(),
            user_id: name.clone(),
            identity: Identity::Service { name },
            role_arn: None,
            tags: Vec::new(),
            source_identity: None,
        }
    }

    /// The same principal with these tags. Keys differ without regard to case.
    #[must_use]
    pub fn with_tags(mut self, tags: Vec<(String, String)>) -> Self {
        self.tags = tags;
        self
    }

    /// The same session with the identity of who began it.
    #[must_use]
    pub fn with_source_identity(mut self, source_identity: impl Into<String>) -> Self {
        self.source_identity = Some(source_identity.into());
        self
    }

    /// The account's number.
    pub fn account(&self) -> &str {
        &self.account
    }

    /// What kind of principal it is.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Its ARN; of a session, the session's.
    pub fn arn(&self) -> &str {
        &self.arn
    }

    /// The ARN of a session's role.
    pub fn role_arn(&self) -> Option<&str> {
        self.role_arn.as_deref()
    }

    /// What conditions compare: of a session, the role's ARN.
    pub fn condition_arn(&self) -> &str {
        self.role_arn.as_deref().unwrap_or(&self.arn)
    }

    /// Its unique id; of a session, the role's and the session's name.
    pub fn user_id(&self) -> &str {
        &self.user_id
    }

    /// A user's name.
    pub fn user_name(&self) -> Option<&str> {
        match &self.identity {
            Identity::User { name } => Some(name),
            Identity::Root | Identity::Session { .. } | Identity::Service { .. } => None,
        }
    }

    /// Its tags.
    pub fn tags(&self) -> &[(String, String)] {
        &self.tags
    }

    /// Who began the session, as its role was assumed.
    pub fn source_identity(&self) -> Option<&str> {
        self.source_identity.as_deref()
    }

    /// Whether it is the root of its account.
    pub const fn is_root(&self) -> bool {
        matches!(self.identity, Identity::Root)
    }

    /// Whether it is a service, which has no policies of its own.
    pub const fn is_service(&self) -> bool {
        matches!(self.identity, Identity::Service { .. })
    }

    /// The value of `aws:PrincipalType`.
    pub const fn type_name(&self) -> &'static str {
        match self.identity {
            Identity::Root => "Account",
            Identity::User { .. } => "User",
            Identity::Session { .. } => "AssumedRole",
            Identity::Service { .. } => "Service",
        }
    }
}

/// The ARN of an account's root.
pub fn root_arn(account: &str) -> String {
    format!("arn:{PARTITION}:iam::{account}:root")
}

/// The ARN of a user.
pub fn user_arn(account: &str, user: Named<'_>) -> String {
    format!("arn:{PARTITION}:iam::{account}:user{}{}", user.path, user.name)
}

/// The ARN of a role.
pub fn role_arn(account: &str, role: Named<'_>) -> String {
    format!("arn:{PARTITION}:iam::{account}:role{}{}", role.path, role.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arns_name_paths_of_users_and_roles_but_not_of_sessions() {
        let user = Principal::user("123456789012", Named { path: "/shop/", name: "Ann" }, "AIDA1");
        assert_eq!(user.arn(), "arn:aws:iam::123456789012:user/shop/Ann");
        let role = Named { path: "/shop/", name: "Reader" };
        let session = Principal::session("123456789012", role, "AROA1", "nightly");
        assert_eq!(session.arn(), "arn:aws:sts::123456789012:assumed-role/Reader/nightly");
        assert_eq!(session.condition_arn(), "arn:aws:iam::123456789012:role/shop/Reader");
        assert_eq!(session.user_id(), "AROA1:nightly");
    }
}
