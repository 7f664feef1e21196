//! From a text to a document. The first fault ends it.
//!
//! It does not know what statements mean.

use std::collections::BTreeSet;

use keywright_semantics::limits::{POLICY_DOCUMENT_CHARACTERS_MAX, RESOURCE_POLICY_BYTES_MAX};

use super::fault::DocumentFault;
use super::json::Json;
use super::kind::PolicyKind;
use super::principals::Principals;
use super::statement::{Actions, Effect, Listed, Resources, Statement};
use super::{Document, Version};
use crate::action::{ActionSet, Service, Verb};
use crate::arn::Arn;
use crate::arn_pattern::ArnPattern;
use crate::condition::{Condition, Operator};
use crate::context::Key;
use crate::pattern::Pattern;
use crate::template::Variables;

type Members = [(String, Json)];

pub(super) fn document(text: &str, kind: PolicyKind) -> Result<Document, DocumentFault> {
    check_text(text, kind)?;
    let json = Json::parse(text).ok_or(DocumentFault::Json)?;
    of_json(&json, kind)
}

/// The document of a value of JSON, whose text has been checked.
pub(super) fn of_json(json: &Json, kind: PolicyKind) -> Result<Document, DocumentFault> {
    let members = match json {
        Json::Object(members) => members,
        Json::Null => return Err(DocumentFault::NotAPolicy),
        // The service reads a list or a text as no JSON at all.
        _ => return Err(DocumentFault::Json),
    };
    let known = ["Version", "Id", "Statement"];
    if let Some((name, _)) = members.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        return Err(DocumentFault::Syntax(format!("a document has no member `{name}`")));
    }
    let version = match member(members, "Version") {
        None => Version::Of2008,
        Some(Json::Text(text)) if text == "2008-10-17" => Version::Of2008,
        Some(Json::Text(text)) if text == "2012-10-17" => Version::Of2012,
        Some(_) => return Err(syntax("Version must be \"2012-10-17\" or \"2008-10-17\"")),
    };
    let id = optional_text(members, "Id")?;
    let statements = match member(members, "Statement") {
        None => return Err(syntax("a document needs the member Statement")),
        Some(Json::List(list)) => list.as_slice(),
        Some(one @ Json::Object(_)) => std::slice::from_ref(one),
        Some(_) => return Err(syntax("Statement must be an object or a list of objects")),
    };
    if statements.is_empty() {
        return Err(DocumentFault::EmptyStatement);
    }
    let form = Form { kind, version };
    let statements = statements.iter().map(|one| form.statement(one)).collect::<Result<Vec<_>, _>>()?;
    check_sids(&statements)?;
    let served = statements.iter().fold(ActionSet::default(), |all, one| all.union(&one.actions.served));
    Ok(Document { kind, version, id, statements, served })
}

/// Size and characters (IAM's and DynamoDB's service models).
fn check_text(text: &str, kind: PolicyKind) -> Result<(), DocumentFault> {
    if kind.is_of_resource() && text.len() > RESOURCE_POLICY_BYTES_MAX {
        return Err(DocumentFault::TooLong { bytes_max: RESOURCE_POLICY_BYTES_MAX });
    }
    if text.chars().nth(POLICY_DOCUMENT_CHARACTERS_MAX).is_some() {
        return Err(DocumentFault::TooLong { bytes_max: POLICY_DOCUMENT_CHARACTERS_MAX });
    }
    let is_allowed = |letter: &char| matches!(letter, '\t' | '\n' | '\r' | ' '..='\u{ff}');
    match text.chars().find(|letter| !is_allowed(letter)) {
        Some(letter) => Err(DocumentFault::Character(letter)),
        None => Ok(()),
    }
}

fn check_sids(statements: &[Statement]) -> Result<(), DocumentFault> {
    let mut seen = BTreeSet::new();
    match statements.iter().filter_map(Statement::sid).find(|sid| !sid.is_empty() && !seen.insert(*sid)) {
        Some(sid) => Err(DocumentFault::SameSid(sid.to_owned())),
        None => Ok(()),
    }
}

fn syntax(what: &str) -> DocumentFault {
    DocumentFault::Syntax(what.to_owned())
}

fn member<'j>(members: &'j Members, name: &str) -> Option<&'j Json> {
    members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
}

fn optional_text(members: &Members, name: &str) -> Result<Option<String>, DocumentFault> {
    match member(members, name) {
        None => Ok(None),
        Some(Json::Text(text)) => Ok(Some(text.clone())),
        Some(_) => Err(DocumentFault::Syntax(format!("{name} must be a text"))),
    }
}

/// One text or several.
fn texts(value: &Json, name: &str) -> Result<Vec<String>, DocumentFault> {
    let of = |one: &Json| match one {
        Json::Text(text) => Ok(text.clone()),
        _ => Err(DocumentFault::Syntax(format!("{name} must be a text or a list of texts"))),
    };
    match value {
        Json::List(list) => list.iter().map(of).collect(),
        one => Ok(vec![of(one)?]),
    }
}

/// A member and its negation, of which a statement has at most one.
fn either<'j>(
    members: &'j Members,
    name: &'static str,
    negation: &'static str,
) -> Result<Option<(Listed, &'j Json)>, DocumentFault> {
    match (member(members, name), member(members, negation)) {
        (Some(_), Some(_)) => {
            Err(DocumentFault::Syntax(format!("a statement has {name} or {negation}, not both")))
        }
        (Some(value), None) => Ok(Some((Listed::These, value))),
        (None, Some(value)) => Ok(Some((Listed::AllBut, value))),
        (None, None) => Ok(None),
    }
}

/// What decides how statements are read.
#[derive(Clone, Copy)]
struct Form {
    kind: PolicyKind,
    version: Version,
}

/// The members of a statement, in the order of the canonical form.
pub(super) const MEMBERS: [&str; 9] = [
    "Sid",
    "Effect",
    "Principal",
    "NotPrincipal",
    "Action",
    "NotAction",
    "Resource",
    "NotResource",
    "Condition",
];

impl Form {
    const fn variables(self) -> Variables {
        match self.version {
            Version::Of2008 => Variables::Literal,
            Version::Of2012 => Variables::Resolve,
        }
    }

    fn statement(self, json: &Json) -> Result<Statement, DocumentFault> {
        let Json::Object(members) = json else { return Err(syntax("a statement must be an object")) };
        if let Some((name, _)) = members.iter().find(|(name, _)| !MEMBERS.contains(&name.as_str())) {
            return Err(DocumentFault::Syntax(format!("a statement has no member `{name}`")));
        }
        let sid = optional_text(members, "Sid")?;
        let effect = self.effect(members)?;
        let principals = self.principals(members, effect)?;
        let actions = self.actions(members)?;
        let resources = self.resources(members)?;
        let conditions = self.conditions(members)?;
        let of_resources = resources.iter().flat_map(|resources| &resources.patterns);
        let variables = of_resources.flat_map(ArnPattern::variables);
        let variables = variables.chain(conditions.iter().flat_map(Condition::variables)).cloned().collect();
        Ok(Statement { sid, effect, principals, actions, resources, conditions, variables })
    }

    fn effect(self, members: &Members) -> Result<Effect, DocumentFault> {
        let text = match member(members, "Effect") {
            None => return Err(DocumentFault::Missing("Effect")),
            Some(Json::Text(text)) => text,
            Some(_) => return Err(syntax("Effect must be \"Allow\" or \"Deny\"")),
        };
        let is = |name: &str| text == name || (self.kind.is_of_resource() && text.eq_ignore_ascii_case(name));
        if is("Allow") {
            Ok(Effect::Allow)
        } else if is("Deny") {
            Ok(Effect::Deny)
        } else {
            Err(syntax("Effect must be \"Allow\" or \"Deny\""))
        }
    }

    fn principals(self, members: &Members, effect: Effect) -> Result<Principals, DocumentFault> {
        let given = either(members, "Principal", "NotPrincipal")?;
        match (self.kind.has_principals(), given) {
            (false, None) => Ok(Principals::Owner),
            (false, Some(_)) => Err(DocumentFault::Prohibited("Principal")),
            (true, None) => Err(DocumentFault::Missing("Principal")),
            (true, Some((Listed::These, value))) => Ok(Principals::Named(Principals::names(value)?)),
            (true, Some((Listed::AllBut, _))) if effect == Effect::Allow => {
                Err(syntax("NotPrincipal stands with the Effect \"Deny\" only"))
            }
            (true, Some((Listed::AllBut, value))) => Ok(Principals::Except(Principals::names(value)?)),
        }
    }

    fn actions(self, members: &Members) -> Result<Actions, DocumentFault> {
        let (listed, value) =
            either(members, "Action", "NotAction")?.ok_or(DocumentFault::Missing("Action"))?;
        let texts = texts(value, "Action")?;
        if texts.is_empty() {
            return Err(DocumentFault::Missing("Action"));
        }
        let has_prefix = |text: &String| {
            let parts = text.split_once(':');
            text == "*" || parts.is_some_and(|(prefix, name)| !prefix.is_empty() && is_name(name))
        };
        if let Some(text) = texts.iter().find(|text| !has_prefix(text)) {
            return Err(DocumentFault::ActionPrefix(text.clone()));
        }
        let patterns: Vec<_> = texts.iter().map(|text| Pattern::parse(&text.to_ascii_lowercase())).collect();
        let is_listed = |name: &str| patterns.iter().any(|pattern| pattern.matches(name));
        let named = Verb::names().filter(|(_, name)| is_listed(name));
        let named = named.fold(ActionSet::default(), |set, (verb, _)| set.with(verb));
        self.check_actions(&texts, &patterns)?;
        let served = match listed {
            Listed::These => named,
            Listed::AllBut => named.others(),
        };
        Ok(Actions { listed, texts, patterns, served })
    }

    /// Policies of tables and streams, and of roles' trust, name actions of their own alone.
    fn check_actions(self, texts: &[String], patterns: &[Pattern]) -> Result<(), DocumentFault> {
        if !self.kind.has_principals() {
            return Ok(());
        }
        let fits = |pattern: &Pattern| {
            let mut own = Verb::names().filter(|(verb, _)| is_own(self.kind, *verb));
            pattern.is_any() || own.any(|(_, name)| pattern.matches(name))
        };
        let foreign = texts.iter().zip(patterns).filter(|(_, pattern)| !fits(pattern));
        let foreign: Vec<String> = foreign.map(|(text, _)| text.clone()).collect();
        if foreign.is_empty() { Ok(()) } else { Err(DocumentFault::Actions(foreign)) }
    }

    fn resources(self, members: &Members) -> Result<Option<Resources>, DocumentFault> {
        let given = either(members, "Resource", "NotResource")?;
        if self.kind == PolicyKind::Trust {
            return if given.is_none() { Ok(None) } else { Err(DocumentFault::Prohibited("Resource")) };
        }
        let (listed, value) = given.ok_or(DocumentFault::Missing("Resource"))?;
        let texts = texts(value, "Resource")?;
        if texts.is_empty() {
            return Err(DocumentFault::Missing("Resource"));
        }
        let parse = |text: &String| {
            ArnPattern::parse(text, self.variables()).map_err(|_| DocumentFault::Resource(text.clone()))
        };
        let patterns = texts.iter().map(parse).collect::<Result<_, _>>()?;
        texts.iter().try_for_each(|text| self.check_relative_id(text))?;
        Ok(Some(Resources { listed, texts, patterns }))
    }

    /// Policies of tables name tables and indexes, those of streams tables and streams.
    fn check_relative_id(self, arn: &str) -> Result<(), DocumentFault> {
        let below = match self.kind {
            PolicyKind::Table => "index",
            PolicyKind::Stream => "stream",
            _ => return Ok(()),
        };
        let Some(Arn { service, resource, .. }) = Arn::parse(arn) else { return Ok(()) };
        if service != "dynamodb" || is_relative_id(&resource, below) {
            return Ok(());
        }
        Err(DocumentFault::RelativeId { id: resource.into_owned(), arn: arn.to_owned() })
    }

    fn conditions(self, members: &Members) -> Result<Vec<Condition>, DocumentFault> {
        let mut conditions = Vec::new();
        let operators = match member(members, "Condition") {
            None => return Ok(conditions),
            Some(Json::Object(operators)) => operators,
            Some(_) => return Err(syntax("Condition must be an object of operators")),
        };
        for (name, keys) in operators {
            let operator = Operator::parse(name)
                .ok_or_else(|| DocumentFault::Syntax(format!("a condition has no operator `{name}`")))?;
            let Json::Object(keys) = keys else {
                return Err(DocumentFault::Syntax(format!(
                    "the operator {name} must have an object of keys"
                )));
            };
            for (key, values) in keys {
                if !key.contains(':') {
                    return Err(DocumentFault::Syntax(format!(
                        "the key `{key}` needs a prefix such as `aws:`"
                    )));
                }
                let values = condition_values(values, key)?;
                let condition = Condition::new(operator, name, Key::parse(key), values, self.variables());
                conditions.push(
                    condition
                        .map_err(|value| DocumentFault::ConditionValue { operator: name.clone(), value })?,
                );
            }
        }
        Ok(conditions)
    }
}

/// Values of a condition: texts, and numbers and flags as texts.
fn condition_values(value: &Json, key: &str) -> Result<Vec<String>, DocumentFault> {
    let of = |one: &Json| match one {
        Json::Text(text) | Json::Number(text) => Ok(text.clone()),
        Json::Bool(flag) => Ok(flag.to_string()),
        Json::Null | Json::List(_) | Json::Object(_) => {
            Err(DocumentFault::Syntax(format!("the values of {key} must be texts")))
        }
    };
    match value {
        Json::List(list) => list.iter().map(of).collect(),
        one => Ok(vec![of(one)?]),
    }
}

/// Whether a text is `table/NAME`, or names a thing of one kind below a table. What follows a wildcard may be
/// anything.
fn is_relative_id(resource: &str, below: &str) -> bool {
    let mut segments = resource.split('/');
    for wanted in [Some("table"), None, Some(below), None] {
        let Some(segment) = segments.next() else { return wanted == Some(below) };
        if segment.contains(['*', '?']) || segment.contains("${") {
            return true;
        }
        if segment.is_empty() || wanted.is_some_and(|wanted| wanted != segment) {
            return false;
        }
    }
    segments.next().is_none()
}

/// Whether a text can follow the prefix of an action.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"*?-_".contains(&byte))
}

/// Whether a policy of this kind can name an action.
fn is_own(kind: PolicyKind, verb: Verb) -> bool {
    use keywright_semantics::operation::Operation;
    use keywright_semantics::touches::Action;

    let Verb::Touched(Action::Operation(operation)) = verb else {
        return match kind {
            PolicyKind::Trust => verb.service() == Service::Sts,
            PolicyKind::Table => verb.service() == Service::DynamoDb,
            PolicyKind::Stream | PolicyKind::Identity | PolicyKind::Boundary | PolicyKind::Session => false,
        };
    };
    let is_of_streams =
        matches!(operation, Operation::DescribeStream | Operation::GetRecords | Operation::GetShardIterator);
    let is_of_policies = matches!(
        operation,
        Operation::DeleteResourcePolicy | Operation::GetResourcePolicy | Operation::PutResourcePolicy
    );
    match kind {
        PolicyKind::Stream => is_of_streams || is_of_policies,
        PolicyKind::Table => !is_of_streams && operation != Operation::ListStreams,
        PolicyKind::Identity | PolicyKind::Boundary | PolicyKind::Session | PolicyKind::Trust => false,
    }
}
