//! Principals of a statement: whom it names, and how exactly.
//!
//! Sources: IAM user guide, elements Principal and `NotPrincipal`. It does not know which principals exist.

use keywright_semantics::place::is_account;

use super::fault::DocumentFault;
use super::json::Json;
use crate::arn::Arn;
use crate::principal::{Identity, Principal};

/// One name of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrincipalName {
    /// `*`.
    Everyone,
    /// An account, by its number or its root's ARN.
    Account(String),
    /// A user, role or session by ARN.
    Arn(String),
    /// A user or role by its unique id. The account is missing where a client wrote the id: then it names
    /// nobody.
    Id {
        /// Whose user or role it is.
        account: Option<String>,
        /// The id.
        id: String,
    },
    /// A service, by its host name.
    Service(String),
    /// A federation or a canonical user: nobody here.
    Foreign(String),
}

/// Whom a statement is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principals {
    /// The owner of the policy: identity policies, boundaries, session policies.
    Owner,
    /// These.
    Named(Vec<PrincipalName>),
    /// All but these.
    Except(Vec<PrincipalName>),
}

/// How exactly a statement names a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Naming {
    /// Its account, or everyone.
    Account,
    /// The role of its session.
    Role,
    /// Itself.
    Itself,
}

impl PrincipalName {
    fn parse(kind: &str, text: &str) -> Result<Self, DocumentFault> {
        let fault = || DocumentFault::Principal(format!("\"{kind}\":\"{text}\""));
        match kind {
            "AWS" if text == "*" => Ok(Self::Everyone),
            "AWS" if is_account(text) => Ok(Self::Account(text.to_owned())),
            "AWS" if let Some((account, id)) = account_and_id(text) => {
                Ok(Self::Id { account: account.map(str::to_owned), id: id.to_owned() })
            }
            "AWS" => {
                let arn = Arn::parse(text).filter(|arn| is_account(&arn.account) && arn.region.is_empty());
                let arn = arn.ok_or_else(fault)?;
                let path = match (&*arn.service, &*arn.resource) {
                    ("iam", "root") => return Ok(Self::Account(arn.account.into_owned())),
                    ("iam", resource) => {
                        resource.strip_prefix("user/").or_else(|| resource.strip_prefix("role/"))
                    }
                    ("sts", resource) => resource.strip_prefix("assumed-role/"),
                    _ => None,
                };
                // A wildcard within an ARN would name nobody.
                let is_whole = path.is_some_and(|path| !path.is_empty() && !path.contains(['*', '?']));
                if is_whole { Ok(Self::Arn(text.to_owned())) } else { Err(fault()) }
            }
            "Service" if !text.is_empty() => Ok(Self::Service(text.to_owned())),
            "Federated" | "CanonicalUser" if !text.is_empty() => Ok(Self::Foreign(text.to_owned())),
            _ => Err(fault()),
        }
    }

    /// How exactly it names a caller.
    fn names(&self, principal: &Principal) -> Option<Naming> {
        match self {
            Self::Everyone => Some(Naming::Account),
            Self::Account(account) => (account == principal.account()).then_some(Naming::Account),
            Self::Arn(_) | Self::Id { .. } | Self::Service(_) if self.is_caller(principal) => {
                Some(Naming::Itself)
            }
            Self::Arn(_) | Self::Id { .. } if self.is_role_of(principal) => Some(Naming::Role),
            Self::Arn(_) | Self::Id { .. } | Self::Service(_) | Self::Foreign(_) => None,
        }
    }
}

impl PrincipalName {
    /// Whether it names the caller itself.
    fn is_caller(&self, principal: &Principal) -> bool {
        match self {
            Self::Arn(arn) => arn == principal.arn(),
            Self::Service(name) => principal.is_service() && name == principal.arn(),
            Self::Id { account: Some(account), id } => {
                account == principal.account() && id == principal.user_id()
            }
            Self::Id { account: None, .. } | Self::Everyone | Self::Account(_) | Self::Foreign(_) => false,
        }
    }

    /// Whether it names the role of the caller's session.
    fn is_role_of(&self, principal: &Principal) -> bool {
        let Some(role_arn) = principal.role_arn() else { return false };
        match self {
            Self::Arn(arn) => arn == role_arn,
            Self::Id { account: Some(account), id } => {
                let role_id = principal.user_id().split_once(':').map(|(id, _)| id);
                account == principal.account() && role_id == Some(id)
            }
            Self::Id { account: None, .. }
            | Self::Everyone
            | Self::Account(_)
            | Self::Service(_)
            | Self::Foreign(_) => false,
        }
    }
}

impl Principals {
    /// The names of the member `Principal` or `NotPrincipal`.
    pub(super) fn names(value: &Json) -> Result<Vec<PrincipalName>, DocumentFault> {
        let mut names = Vec::new();
        match value {
            Json::Text(text) if text == "*" => names.push(PrincipalName::Everyone),
            Json::Object(members) => {
                for (kind, value) in members {
                    let texts = match value {
                        Json::Text(text) => std::slice::from_ref(text),
                        Json::List(_) => &*texts(value).ok_or_else(|| not_texts(kind))?,
                        _ => return Err(not_texts(kind)),
                    };
                    for text in texts {
                        let name = PrincipalName::parse(kind, text)?;
                        if !names.contains(&name) {
                            names.push(name);
                        }
                    }
                }
            }
            Json::Text(text) => return Err(DocumentFault::Principal(format!("\"{text}\""))),
            _ => return Err(not_texts("Principal")),
        }
        if names.is_empty() {
            return Err(DocumentFault::Principal("{}".to_owned()));
        }
        Ok(names)
    }

    /// How exactly they name a caller; none if they do not.
    pub fn naming(&self, principal: &Principal) -> Option<Naming> {
        match self {
            Self::Owner => Some(Naming::Itself),
            Self::Named(names) => names.iter().filter_map(|name| name.names(principal)).max(),
            Self::Except(names) => (!are_exempt(names, principal)).then_some(Naming::Account),
        }
    }

    /// Whether `*` is among the names.
    pub fn has_everyone(&self) -> bool {
        match self {
            Self::Owner => false,
            Self::Named(names) => names.contains(&PrincipalName::Everyone),
            Self::Except(_) => true,
        }
    }
}

/// Whether a caller is an exception: all that it acts as is named, its account first.
fn are_exempt(names: &[PrincipalName], principal: &Principal) -> bool {
    if names.contains(&PrincipalName::Everyone) {
        return true;
    }
    let has =
        |is_named: fn(&PrincipalName, &Principal) -> bool| names.iter().any(|name| is_named(name, principal));
    let account = PrincipalName::Account(principal.account().to_owned());
    let is_itself = match principal.identity() {
        Identity::Root => true,
        Identity::User { .. } | Identity::Service { .. } => has(PrincipalName::is_caller),
        Identity::Session { .. } => has(PrincipalName::is_caller) && has(PrincipalName::is_role_of),
    };
    names.contains(&account) && is_itself
}

/// Whether a text is the unique id of a user or role.
fn is_unique_id(text: &str) -> bool {
    let rest = text.strip_prefix("AIDA").or_else(|| text.strip_prefix("AROA"));
    rest.is_some_and(|rest| rest.len() >= 12 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// A unique id as it is stored, with the account that it was looked up in, or as clients see it, without.
pub fn account_and_id(text: &str) -> Option<(Option<&str>, &str)> {
    let (account, id) = match text.split_once(':') {
        Some((account, id)) => (Some(account), id),
        None => (None, text),
    };
    (account.is_none_or(is_account) && is_unique_id(id)).then_some((account, id))
}

fn not_texts(kind: &str) -> DocumentFault {
    DocumentFault::Syntax(format!("{kind} must be a text or a list of texts"))
}

/// The texts of a list.
fn texts(value: &Json) -> Option<Vec<String>> {
    let Json::List(list) = value else { return None };
    list.iter().map(|one| if let Json::Text(text) = one { Some(text.clone()) } else { None }).collect()
}
