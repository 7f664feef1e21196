//! Texts as files, or what is wrong where and what to do.

use std::collections::BTreeMap;
use std::fmt;

use keywright_semantics::iam::names::{Kind, folded, is_id, is_name, is_path};
use keywright_semantics::place::is_account;

use super::{AccessFile, AccessKey, Entity, ManagedPolicy, PolicyDocument, Principals, Secret};
use crate::document::{Document, Json, PolicyKind};

const NAME_MAX: usize = 64;
const LONG_NAME_MAX: usize = 128;
const KEY_ID_MIN: usize = 16;
const KEYS_MAX: usize = 2;
/// Seconds of the sessions that a role may allow.
const SESSION_SECONDS: std::ops::RangeInclusive<u32> = 3600..=43_200;
const SECRETS: [&str; 3] = ["secret_file", "secret_variable", "secret_in_plain_text"];

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFault {
    /// The place, such as `users.ann.keys[0]`; empty for the file itself.
    pub path: String,
    /// What is wrong, and what to do.
    pub text: String,
}

impl fmt::Display for FileFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return formatter.write_str(&self.text);
        }
        write!(formatter, "{}: {}", self.path, self.text)
    }
}

impl std::error::Error for FileFault {}

/// A value of the file and its place.
struct At<'j> {
    path: String,
    json: &'j Json,
}

/// The members of an object by their names.
type Members<'j> = BTreeMap<&'j str, At<'j>>;

impl<'j> At<'j> {
    fn fault<T>(&self, text: impl Into<String>) -> Result<T, FileFault> {
        Err(FileFault { path: self.path.clone(), text: text.into() })
    }

    fn member(&self, name: &str, json: &'j Json) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { path, json }
    }

    /// The members of an object, of any names.
    fn named(&self) -> Result<Vec<(&'j str, Self)>, FileFault> {
        let Json::Object(members) = self.json else { return self.fault("must be an object: write {…}") };
        Ok(members.iter().map(|(name, value)| (name.as_str(), self.member(name, value))).collect())
    }

    /// The members of an object, which are among these.
    fn members(&self, known: &[&str]) -> Result<Members<'j>, FileFault> {
        let members: Members<'j> = self.named()?.into_iter().collect();
        match members.iter().find(|(name, _)| !known.contains(*name)) {
            Some((_, unknown)) => {
                unknown.fault(format!("there is no such member here: write one of {}", known.join(", ")))
            }
            None => Ok(members),
        }
    }

    fn list(&self) -> Result<Vec<Self>, FileFault> {
        let Json::List(list) = self.json else { return self.fault("must be a list: write […]") };
        let at = |(place, json)| Self { path: format!("{}[{place}]", self.path), json };
        Ok(list.iter().enumerate().map(at).collect())
    }

    fn text(&self) -> Result<&'j str, FileFault> {
        match self.json {
            Json::Text(text) if !text.is_empty() => Ok(text),
            _ => self.fault("must be a text that is not empty"),
        }
    }

    /// A text that may be empty, and has at most so many characters.
    fn words(&self, most: usize) -> Result<String, FileFault> {
        match self.json {
            Json::Text(text) if text.chars().count() <= most => Ok(text.clone()),
            _ => self.fault(format!("must be a text of at most {most} characters")),
        }
    }

    fn path(&self) -> Result<String, FileFault> {
        match self.text()? {
            path if is_path(path) && path.len() <= 512 => Ok(path.to_owned()),
            path => self.fault(format!("{path:?} is no path: begin and end it with a slash, such as /team/")),
        }
    }

    fn id(&self, kind: Kind) -> Result<String, FileFault> {
        match self.text()? {
            text if is_id(kind, text) => Ok(text.to_owned()),
            _ => self.fault(format!(
                "must begin with {} and have 12 to 60 capital letters and digits after it",
                kind.id_prefix()
            )),
        }
    }

    fn document(&self, kind: PolicyKind) -> Result<PolicyDocument, FileFault> {
        match Document::of_json(self.json, kind) {
            Ok(_) => Ok(PolicyDocument::new(self.json.clone())),
            Err(fault) => self.fault(fault.advice()),
        }
    }

    /// Checks the name of this member.
    fn check_name(&self, name: &str, most: usize) -> Result<(), FileFault> {
        if is_name(name) && name.len() <= most {
            return Ok(());
        }
        self.fault(format!("a name has 1 to {most} letters, digits and characters of +=,.@_-"))
    }

    /// An ARN, or the name of one of these policies.
    fn policy(&self, principals: &Principals) -> Result<String, FileFault> {
        let text = self.text()?;
        match principals.policies.get(&folded(text)) {
            Some(policy) => Ok(policy.name.clone()),
            None if text.starts_with("arn:") => Ok(text.to_owned()),
            None => self.fault(format!(
                "the file has no policy {text:?}: add it to policies, or write the ARN of one that the account has"
            )),
        }
    }
}

impl AccessFile {
    /// The file of a text.
    pub fn parse(text: &str) -> Result<Self, FileFault> {
        let json: Json = serde_json::from_str(text)
            .map_err(|error| FileFault { path: String::new(), text: format!("not JSON: {error}") })?;
        let root = At { path: String::new(), json: &json };
        let members = root.members(&["account", "policies", "groups", "users", "roles"])?;
        let account = members.get("account").map(account).transpose()?;
        let mut principals = Principals::default();
        for (name, at) in members.get("policies").map(At::named).transpose()?.unwrap_or_default() {
            if !principals.insert_policy(policy(name, &at)?) {
                return at.fault("a policy of this name is there already: names differ not by case alone");
            }
        }
        for (kind, member) in [(Kind::Group, "groups"), (Kind::User, "users"), (Kind::Role, "roles")] {
            for (name, at) in members.get(member).map(At::named).transpose()?.unwrap_or_default() {
                let entity = entity((kind, name), &at, &principals)?;
                if !principals.insert(entity) {
                    return at.fault("this name is there already: names differ not by case alone");
                }
            }
        }
        check_keys(&principals)?;
        Ok(Self { account, principals })
    }
}

/// No two users have a key of the same id.
fn check_keys(principals: &Principals) -> Result<(), FileFault> {
    let mut owners: BTreeMap<&String, &String> = BTreeMap::new();
    for user in principals.entities.values() {
        for id in user.keys.keys() {
            if let Some(other) = owners.insert(id, &user.name) {
                let path = format!("users.{}.keys", user.name);
                return Err(FileFault {
                    path,
                    text: format!("the key {id} is {other}'s already: use another id"),
                });
            }
        }
    }
    Ok(())
}

fn account(at: &At<'_>) -> Result<String, FileFault> {
    match at.text()? {
        text if is_account(text) => Ok(text.to_owned()),
        _ => at.fault("must be an account: write twelve digits between quotes"),
    }
}

fn policy(name: &str, at: &At<'_>) -> Result<ManagedPolicy, FileFault> {
    at.check_name(name, LONG_NAME_MAX)?;
    let members = at.members(&["path", "description", "document"])?;
    let Some(document) = members.get("document") else { return at.fault("has no document: add the policy") };
    Ok(ManagedPolicy {
        name: name.to_owned(),
        path: members.get("path").map(At::path).transpose()?,
        description: members.get("description").map(|at| at.words(1000)).transpose()?,
        document: document.document(PolicyKind::Identity)?,
        versions: Vec::new(),
    })
}

fn entity((kind, name): (Kind, &str), at: &At<'_>, principals: &Principals) -> Result<Entity, FileFault> {
    at.check_name(name, if kind == Kind::Group { LONG_NAME_MAX } else { NAME_MAX })?;
    let members = at.members(match kind {
        Kind::Group => &["path", "attached", "inline"],
        Kind::User => &["path", "id", "attached", "inline", "boundary", "tags", "groups", "keys"],
        Kind::Role => &[
            "path",
            "id",
            "attached",
            "inline",
            "boundary",
            "tags",
            "trust",
            "description",
            "session_seconds_max",
        ],
    })?;
    let mut entity = Entity::new(kind, name);
    entity.path = members.get("path").map(At::path).transpose()?;
    entity.id = members.get("id").map(|at| at.id(kind)).transpose()?;
    for policy in members.get("attached").map(At::list).transpose()?.unwrap_or_default() {
        entity.attached.insert(policy.policy(principals)?);
    }
    for (name, document) in members.get("inline").map(At::named).transpose()?.unwrap_or_default() {
        document.check_name(name, LONG_NAME_MAX)?;
        entity.inline.insert(name.to_owned(), document.document(PolicyKind::Identity)?);
    }
    entity.boundary = members.get("boundary").map(|at| at.policy(principals)).transpose()?;
    for (key, value) in members.get("tags").map(At::named).transpose()?.unwrap_or_default() {
        entity.tags.insert(key.to_owned(), value.words(256)?);
    }
    for group in members.get("groups").map(At::list).transpose()?.unwrap_or_default() {
        entity.groups.insert(self::group(&group, principals)?);
    }
    entity.keys = keys(&members)?;
    if kind == Kind::Role {
        let Some(trust) = members.get("trust") else {
            return at.fault("has no trust: add the policy that says who may take the role");
        };
        entity.trust = Some(trust.document(PolicyKind::Trust)?);
    }
    entity.description = members.get("description").map(|at| at.words(1000)).transpose()?;
    entity.session_seconds_max = members.get("session_seconds_max").map(seconds).transpose()?;
    Ok(entity)
}

/// A group. It may be one that the account has already.
fn group(at: &At<'_>, principals: &Principals) -> Result<String, FileFault> {
    let name = at.text()?;
    at.check_name(name, LONG_NAME_MAX)?;
    let known = principals.entity(Kind::Group, name).map(|group| group.name.clone());
    Ok(known.unwrap_or_else(|| name.to_owned()))
}

fn seconds(at: &At<'_>) -> Result<u32, FileFault> {
    let number = if let Json::Number(number) = at.json { number.parse().ok() } else { None };
    match number.filter(|number| SESSION_SECONDS.contains(number)) {
        Some(number) => Ok(number),
        None => at.fault("must be a number of 3600 to 43200 seconds"),
    }
}

fn keys(members: &Members<'_>) -> Result<BTreeMap<String, AccessKey>, FileFault> {
    let mut keys = BTreeMap::new();
    let Some(all) = members.get("keys") else { return Ok(keys) };
    for at in all.list()? {
        let members = at.members(&[&["id", "active"][..], &SECRETS].concat())?;
        let Some(id) = members.get("id") else { return at.fault("has no id: add the id of the access key") };
        let text = id.text()?;
        let has_letters = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !has_letters || !(KEY_ID_MIN..=LONG_NAME_MAX).contains(&text.len()) {
            return id
                .fault("must have 16 to 128 letters, digits and underscores, such as AKIAANN0000000000001");
        }
        let is_active = match members.get("active").map(|active| active.json) {
            None => true,
            Some(Json::Bool(is_active)) => *is_active,
            Some(_) => return at.fault("active must be true or false"),
        };
        let mut secrets = SECRETS.iter().filter_map(|name| Some((*name, members.get(name)?)));
        let secret = secrets.next().map(|(name, at)| secret(name, at)).transpose()?;
        if secrets.next().is_some() {
            return at.fault(format!("has several secrets: keep one of {}", SECRETS.join(", ")));
        }
        if keys.insert(text.to_owned(), AccessKey { is_active, secret }).is_some() {
            return id.fault("stands here twice: remove one");
        }
    }
    if keys.len() > KEYS_MAX {
        return all.fault("a user has at most two keys: remove the others");
    }
    Ok(keys)
}

fn secret(name: &str, at: &At<'_>) -> Result<Secret, FileFault> {
    let text = at.text()?.to_owned();
    Ok(match name {
        "secret_file" => Secret::File(text),
        "secret_variable" => Secret::Variable(text),
        _ => Secret::PlainText(text),
    })
}
