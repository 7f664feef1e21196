//! Names, paths and ARNs of principals and policies.

use crate::place::is_account;

/// A kind of principal that has policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A user.
    User,
    /// A group of users.
    Group,
    /// A role.
    Role,
}

impl Kind {
    /// The word in texts and ARNs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Group => "group",
            Self::Role => "role",
        }
    }

    /// The word at the beginning of a sentence, and of the names of members.
    pub const fn title(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Group => "Group",
            Self::Role => "Role",
        }
    }

    /// The beginning of ids.
    pub const fn id_prefix(self) -> &'static str {
        match self {
            Self::User => "AIDA",
            Self::Group => "AGPA",
            Self::Role => "AROA",
        }
    }

    /// The ARN of an entity. `path` begins and ends with a slash.
    pub fn arn(self, account: &str, path: &str, name: &str) -> String {
        assert!(path.starts_with('/') && path.ends_with('/'), "a path is between slashes");
        format!("arn:aws:iam::{account}:{}{path}{name}", self.word())
    }
}

/// The ARN of the account itself.
pub fn root_arn(account: &str) -> String {
    format!("arn:aws:iam::{account}:root")
}

/// The ARN of a managed policy. The account of built-in ones is `aws`.
pub fn policy_arn(account: &str, path: &str, name: &str) -> String {
    assert!(path.starts_with('/') && path.ends_with('/'), "a path is between slashes");
    format!("arn:aws:iam::{account}:policy{path}{name}")
}

/// The ARN of a role's session.
pub fn session_arn(account: &str, role: &str, session: &str) -> String {
    assert!(!role.contains('/') && !session.contains('/'), "names have no slashes");
    format!("arn:aws:sts::{account}:assumed-role/{role}/{session}")
}

/// The account of built-in policies in ARNs.
pub const SERVICE_ACCOUNT: &str = "aws";

/// What an ARN of IAM names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IamArn<'a> {
    /// Twelve digits, or `aws`.
    pub account: &'a str,
    /// `policy`, `role`, `user`, …
    pub kind: &'a str,
    /// Begins and ends with a slash.
    pub path: &'a str,
    /// The name.
    pub name: &'a str,
}

impl<'a> IamArn<'a> {
    /// The parts of an ARN; `None` if it is none of IAM.
    pub fn parse(arn: &'a str) -> Option<Self> {
        let (account, resource) = arn.strip_prefix("arn:aws:iam::")?.split_once(':')?;
        if account != SERVICE_ACCOUNT && !is_account(account) {
            return None;
        }
        let (kind, rest) = resource.split_at_checked(resource.find('/')?)?;
        let (path, name) = rest.split_at_checked(rest.rfind('/')? + 1)?;
        assert!(path.starts_with('/') && path.ends_with('/'), "a path is between slashes");
        (!name.is_empty()).then_some(Self { account, kind, path, name })
    }
}

/// Whether a text has only characters of names.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+=,.@_-".contains(&byte))
}

/// Whether a text can be the id of an entity of this kind: its prefix, then capital letters and digits.
pub fn is_id(kind: Kind, text: &str) -> bool {
    let rest = text.strip_prefix(kind.id_prefix()).unwrap_or_default();
    (12..=60).contains(&rest.len())
        && rest.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Whether a text is a path: it begins and ends with a slash and has printable characters.
pub fn is_path(text: &str) -> bool {
    text == "/"
        || (text.len() > 2
            && text.starts_with('/')
            && text.ends_with('/')
            && text.bytes().all(|byte| (0x21..=0x7e).contains(&byte)))
}

/// Whether a text has only characters of policies.
pub fn is_policy_text(text: &str) -> bool {
    text.chars().all(|symbol| matches!(symbol, '\t' | '\n' | '\r' | ' '..='\u{ff}'))
}

/// The key under which a name is unique: names do not differ by case alone.
pub fn folded(name: &str) -> String {
    name.to_ascii_lowercase()
}
