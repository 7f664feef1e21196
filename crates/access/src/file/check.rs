//! What a file of users names and does not have. An account may have it; a file alone does not tell.
//!
//! It does not look into documents, but for whom a role trusts.

use keywright_semantics::iam::names::{IamArn, Kind};
use keywright_semantics::place::DEFAULT_ACCOUNT;

use super::{AccessFile, Entity, Secret};
use crate::document::{Json, rename_principals};

/// What a finding about a file is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileRule {
    /// The server refuses the file.
    Malformed,
    /// A group of a user.
    UnknownGroup,
    /// A policy that is attached, or a boundary.
    UnknownPolicy,
    /// A user or role that a role trusts.
    UnknownPrincipal,
    /// The file of a key's secret.
    SecretFile,
    /// A key whose secret the file does not say.
    KeyWithoutSecret,
}

impl FileRule {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::UnknownGroup => "unknown-group",
            Self::UnknownPolicy => "unknown-policy",
            Self::UnknownPrincipal => "unknown-principal",
            Self::SecretFile => "secret-file",
            Self::KeyWithoutSecret => "key-without-secret",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFinding {
    /// The place, such as `users.ann.groups`; empty for the file itself.
    pub path: String,
    /// What it is about.
    pub rule: FileRule,
    /// What is wrong and what to do.
    pub text: String,
}

/// The findings of a file of users; none if the text is something else. `is_built_in` says whether every
/// account has the policy of an ARN, and `unreadable` why the secret in a file cannot be read.
pub fn check(
    text: &str,
    is_built_in: impl Fn(&str) -> bool,
    unreadable: impl Fn(&str) -> Option<String>,
) -> Option<Vec<FileFinding>> {
    if !Json::parse(text).is_some_and(|json| is_access_file(&json)) {
        return None;
    }
    let file = match AccessFile::parse(text) {
        Ok(file) => file,
        Err(fault) => {
            return Some(vec![FileFinding { path: fault.path, rule: FileRule::Malformed, text: fault.text }]);
        }
    };
    let mut findings = Vec::new();
    for entity in file.principals.entities.values() {
        let at = format!("{}s.{}", entity.kind.word(), entity.name);
        let mut add = |member: &str, rule: FileRule, text: String| {
            findings.push(FileFinding { path: format!("{at}.{member}"), rule, text });
        };
        groups(&file, entity, &mut add);
        policies(&file, entity, &is_built_in, &mut add);
        trusted(&file, entity, &mut add);
        secrets(entity, &unreadable, &mut add);
    }
    Some(findings)
}

/// Whether this is meant as a file of users. Other JSON may have documents too.
fn is_access_file(json: &Json) -> bool {
    let Json::Object(members) = json else { return false };
    let has_document =
        |json: &Json| matches!(json, Json::Object(of) if of.iter().any(|(name, _)| name == "document"));
    members.iter().any(|(name, value)| match (name.as_str(), value) {
        ("users" | "groups" | "roles", Json::Object(_)) => true,
        ("policies", Json::Object(policies)) => policies.iter().any(|(_, policy)| has_document(policy)),
        _ => false,
    })
}

fn groups(file: &AccessFile, entity: &Entity, add: &mut impl FnMut(&str, FileRule, String)) {
    for group in &entity.groups {
        if file.principals.entity(Kind::Group, group).is_none() {
            let text = format!("the file has no group {group}: add it to groups, unless the account has it");
            add("groups", FileRule::UnknownGroup, text);
        }
    }
}

fn policies(
    file: &AccessFile,
    entity: &Entity,
    is_built_in: impl Fn(&str) -> bool,
    add: &mut impl FnMut(&str, FileRule, String),
) {
    let named = entity.attached.iter().map(|named| ("attached", named));
    for (member, named) in named.chain(entity.boundary.iter().map(|named| ("boundary", named))) {
        let Some(arn) = IamArn::parse(named).filter(|_| !is_built_in(named)) else { continue };
        let text = match arn.account {
            "aws" => format!("no account has the policy {named}: correct its name"),
            _ if file.principals.policies.contains_key(&super::folded(arn.name)) => continue,
            _ => {
                format!("the file has no policy {}: add it to policies, unless the account has it", arn.name)
            }
        };
        add(member, FileRule::UnknownPolicy, text);
    }
}

fn secrets(
    user: &Entity,
    unreadable: impl Fn(&str) -> Option<String>,
    add: &mut impl FnMut(&str, FileRule, String),
) {
    for (id, key) in &user.keys {
        match &key.secret {
            Some(Secret::File(path)) => {
                if let Some(why) = unreadable(path) {
                    let text = format!("cannot read the secret of key {id} in {path}: {why}");
                    add("keys", FileRule::SecretFile, text);
                }
            }
            None => {
                let text = format!(
                    "the file does not say the secret of key {id}: add secret_file or secret_variable, unless the \
                     account has the key"
                );
                add("keys", FileRule::KeyWithoutSecret, text);
            }
            Some(Secret::Variable(_) | Secret::PlainText(_)) => {}
        }
    }
}

fn trusted(file: &AccessFile, entity: &Entity, add: &mut impl FnMut(&str, FileRule, String)) {
    let Some(trust) = &entity.trust else { return };
    let account = file.account.as_deref().unwrap_or(DEFAULT_ACCOUNT);
    rename_principals(&trust.text(), |named| {
        let arn = IamArn::parse(named).filter(|arn| arn.account == account)?;
        let kind = match arn.kind {
            "user" => Kind::User,
            "role" => Kind::Role,
            _ => return None,
        };
        if file.principals.entity(kind, arn.name).is_none() {
            let (word, name) = (kind.word(), arn.name);
            let text = format!("the file has no {word} {name}: add it to {word}s, unless the account has it");
            add("trust", FileRule::UnknownPrincipal, text);
        }
        None
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, &'static str)> {
        let is_built_in = |arn: &str| arn == "arn:aws:iam::aws:policy/AdministratorAccess";
        let unreadable = |path: &str| (path == "no.secret").then(|| "it does not exist".to_owned());
        let findings = check(text, is_built_in, unreadable).unwrap();
        findings.into_iter().map(|finding| (finding.path, finding.rule.name())).collect()
    }

    #[test]
    fn names_that_a_file_does_not_have_are_found_with_their_places() {
        let text = r#"{
            "policies": {"own": {"document": {"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}}},
            "groups": {"Readers": {"attached": ["own", "arn:aws:iam::aws:policy/AdministratorAccess"]}},
            "users": {"ann": {"groups": ["readers", "writers"], "boundary": "arn:aws:iam::123456789012:policy/x",
                "attached": ["arn:aws:iam::aws:policy/Administrators", "arn:aws:iam::123456789012:policy/own"]}},
            "roles": {"nightly": {"trust": {"Statement": {"Effect": "Allow", "Action": "sts:AssumeRole",
                "Principal": {"AWS": ["arn:aws:iam::123456789012:user/ann", "arn:aws:iam::123456789012:user/ben",
                    "arn:aws:iam::210987654321:user/ben"]}}}}}
        }"#;
        let expected = [
            ("users.ann.groups".to_owned(), "unknown-group"),
            ("users.ann.attached".to_owned(), "unknown-policy"),
            ("users.ann.boundary".to_owned(), "unknown-policy"),
            ("roles.nightly.trust".to_owned(), "unknown-principal"),
        ];
        assert_eq!(found(text), expected);
    }

    #[test]
    fn secrets_that_cannot_be_read_and_keys_without_one_are_found() {
        let key = |id: u8, more: &str| {
            format!(r#"{{"users": {{"ann": {{"keys": [{{"id": "AKIAANN000000000000{id}" {more}}}]}}}}}}"#)
        };
        let at = |rule| vec![("users.ann.keys".to_owned(), rule)];
        assert_eq!(found(&key(1, r#", "secret_file": "no.secret""#)), at("secret-file"));
        assert_eq!(found(&key(2, "")), at("key-without-secret"));
        for good in [r#""secret_file": "a.secret""#, r#""secret_variable": "A""#] {
            assert_eq!(found(&key(3, &format!(", {good}"))), []);
        }
    }

    #[test]
    fn members_that_no_file_has_are_found_and_other_json_is_left_alone() {
        assert_eq!(
            found(r#"{"users": {"ann": {"group": []}}}"#),
            [("users.ann.group".to_owned(), "malformed")]
        );
        assert_eq!(found(r#"{"users": {}}"#), []);
        let other = r#"{"users": [{"policies": {"Statement": []}}], "policies": {"a": {"Statement": []}}}"#;
        assert_eq!(check(other, |_| true, |_| None), None);
        assert_eq!(check("no policy", |_| true, |_| None), None);
    }
}
