//! One request of a user or role, with the policies that bind it and the tables that it names, to explain.
//!
//! Whose policies and which tables there are, its makers say; what a request needs, and what conditions see
//! of it, the same code says as for requests that are served.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use keywright_access::action::{Action, Verb};
use keywright_access::arn::{Arn, Target};
use keywright_access::context::{Context, Known, Value};
use keywright_access::decide::Question;
use keywright_access::document::{Document, PolicyKind};
use keywright_access::explain::explain;
use keywright_access::file::Principals;
use keywright_access::needs::{Scope, needs};
use keywright_access::policies::{Policies, Policy};
use keywright_access::principal::Principal;
use keywright_engine::{Addressed, built_in_policy};
use keywright_semantics::iam::names::{IamArn, Kind};
use keywright_semantics::operation::Operation;
use keywright_semantics::partiql::Statement;
use keywright_semantics::request::TableRef;
use keywright_semantics::schema::KeySchema;
use keywright_semantics::touches::Touches;
use keywright_wire::{GivenTags, shape};

use crate::http::judgement::enclosing;
use crate::http::second_look::{self, Surroundings};
use crate::process::failure::Failure;
use crate::process::io_fault::failed;

/// A table that a request may name.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableFacts {
    pub(crate) key: Option<KeySchema>,
    pub(crate) indexes: BTreeMap<String, KeySchema>,
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) policy: Option<Arc<Policy>>,
}

/// The tables that requests may name.
#[derive(Clone, Debug)]
pub(crate) enum Tables {
    /// Those of a server.
    Known(BTreeMap<String, TableFacts>),
    /// All have this key, and so have their indexes; none if it is not known.
    Any(Option<KeySchema>),
}

/// Who asks: the account itself, a user, or a session of a role.
pub(crate) struct Asking {
    principal: Principal,
    identity: Vec<Arc<Policy>>,
    boundary: Option<Arc<Policy>>,
    /// Those of the session alone.
    session: Vec<Arc<Policy>>,
    is_session: bool,
}

/// One request to explain.
pub(crate) struct Scene {
    pub(crate) asking: Asking,
    pub(crate) account: String,
    pub(crate) region: String,
    pub(crate) tables: Tables,
    /// Further keys and values for conditions.
    pub(crate) context: Vec<(String, String)>,
    /// The time, in seconds since 1970 and in words.
    pub(crate) now: (String, String),
    pub(crate) operation: Operation,
}

/// The kind and name of `user/ann`, or of an ARN.
fn named(text: &str) -> Option<(Kind, &str)> {
    let (kind, name) = match IamArn::parse(text) {
        Some(arn) => (arn.kind, arn.name),
        None => text.split_once('/')?,
    };
    match kind {
        "user" => Some((Kind::User, name)),
        "role" => Some((Kind::Role, name)),
        _ => None,
    }
}

/// The document of a managed policy.
fn managed(principals: &Principals, account: &str, arn: &str) -> Result<String, Failure> {
    principals.managed_text(account, arn, &built_in_policy).map_err(|fault| Failure::new(fault.to_string()))
}

impl Asking {
    /// The user or role of a text, or `root`.
    pub(crate) fn new(
        text: &str,
        principals: &Principals,
        (account, session): (&str, &str),
    ) -> Result<Self, Failure> {
        if text == "root" {
            return Ok(Self {
                principal: Principal::root(account),
                identity: Vec::new(),
                boundary: None,
                session: Vec::new(),
                is_session: false,
            });
        }
        let (kind, name) = named(text).ok_or_else(|| {
            Failure::new(format!(
                "\"{text}\" is no principal: write user/NAME, role/NAME, an ARN of one, or root"
            ))
        })?;
        let entity = principals.entity(kind, name);
        let entity = entity.ok_or_else(|| {
            Failure::new(format!("there is no {} called {name}: correct --principal", kind.word()))
        })?;
        let bound = principals.bound(entity, account, &built_in_policy);
        let bound = bound.map_err(|fault| Failure::new(fault.to_string()))?;
        Ok(Self {
            principal: entity.principal(account, session),
            identity: bound.identity,
            boundary: bound.boundary,
            session: Vec::new(),
            is_session: kind == Kind::Role,
        })
    }

    /// The same in a session that these policies narrow: documents in files, and ARNs of managed policies.
    pub(crate) fn narrowed(
        mut self,
        given: &[String],
        principals: &Principals,
        account: &str,
    ) -> Result<Self, Failure> {
        if !given.is_empty() && !self.is_session {
            return Err(Failure::new(
                "--session-policy is for sessions of roles: write --principal role/NAME",
            ));
        }
        let policy = |given: &String| {
            let text = if given.starts_with("arn:") {
                managed(principals, account, given)?
            } else {
                std::fs::read_to_string(given).map_err(failed("read the session policy", Path::new(given)))?
            };
            Document::parse(&text, PolicyKind::Session)
                .map(|document| Arc::new(Policy::new(given.as_str(), document)))
                .map_err(|fault| Failure::new(format!("the session policy {given} is not valid: {fault}")))
        };
        self.session = given.iter().map(policy).collect::<Result<_, _>>()?;
        Ok(self)
    }
}

/// What conditions see of a request's head, and the names of keys.
struct Around<'s> {
    scene: &'s Scene,
    given: &'s GivenTags,
}

impl Around<'_> {
    /// The key of a table or index.
    fn key(&self, table: &TableRef, index: Option<&str>) -> Option<&KeySchema> {
        match &self.scene.tables {
            Tables::Any(key) => key.as_ref(),
            Tables::Known(tables) => {
                let table = tables.get(&table.name)?;
                index.map_or(table.key.as_ref(), |index| table.indexes.get(index))
            }
        }
    }
}

impl Surroundings for Around<'_> {
    fn partition_names(&self, table: &TableRef, index: Option<&str>) -> Option<Vec<String>> {
        let key = self.key(table, index)?;
        Some(key.partition.iter().map(|attribute| attribute.name.clone()).collect())
    }

    fn addressed(&self, statement: &Statement) -> Option<Addressed> {
        Some(Addressed::of(self.key(statement.table(), statement.key_index())?, statement))
    }

    fn context(&self) -> Context<'_> {
        let keys = self.given.keys.iter().map(|key| key.as_str().into()).collect();
        let context = Context::default()
            .with(Known::RequestedRegion, Value::one(self.scene.region.as_str()))
            .with(Known::EpochTime, Value::one(self.scene.now.0.as_str()))
            .with(Known::CurrentTime, Value::one(self.scene.now.1.as_str()))
            .with(Known::TagKeys, Value::Many(keys))
            .with_request_tags(&self.given.tags);
        let context = if self.scene.asking.is_session {
            // A session that begins now, as none can begin with a second factor.
            context
                .with(Known::TokenIssueTime, Value::one(self.scene.now.1.as_str()))
                .with(Known::MultiFactorAuthPresent, Value::one("false"))
        } else {
            context
        };
        self.scene
            .context
            .iter()
            .fold(context, |context, (key, value)| context.with_named(key, Value::one(value.as_str())))
    }

    fn enclosing(&self, verb: Verb) -> Value<'static> {
        enclosing(self.scene.operation, verb)
    }
}

/// What is said of a request.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) lines: Vec<String>,
    pub(crate) is_denied: bool,
    /// Keys of a connection that statements ask for.
    missing: BTreeSet<&'static str>,
}

impl Scene {
    /// Explains a request of this body: each right that it needs, and what each statement says of it.
    pub(crate) fn explain(&self, body: &[u8]) -> Result<Report, Failure> {
        let name = self.operation.name();
        let refused = |error: &keywright_semantics::error::Error| match error.message.as_str() {
            "" => Failure::new(format!("the request is not JSON with the parameters of {name}")),
            message => Failure::new(format!("the request is not valid: {message}")),
        };
        let shaped = shape(self.operation, body).map_err(|error| refused(&error))?;
        let (touches, given) = (shaped.touches(), shaped.given_tags());
        let around = Around { scene: self, given: &given };
        let mut report = Report::default();
        let request = match shaped.judge() {
            Ok(request) => Some(request),
            Err(error) => {
                let note = "policies come first; what depends on keys and attributes stays open";
                report.lines.push(format!("the request is not valid ({}); {note}", error.message));
                None
            }
        };
        let mut look = |touches: &Touches<'_>, context: Option<Context<'_>>| match context {
            Some(context) => self.say(touches, &context, &mut report),
            None => self.say(touches, &around.context().unbound(), &mut report),
        };
        let is_about_items =
            request.as_ref().is_some_and(|request| second_look::each_use(request, &around, &mut look));
        if !is_about_items {
            let context = around.context();
            look(&touches, Some(if request.is_some() { context } else { context.unbound() }));
        }
        if report.lines.is_empty() {
            report.lines.push("the request needs no right".to_owned());
        }
        if let Ok(body) = serde_json::from_slice(body) {
            self.note_keys(&body, &mut report.lines);
        }
        for key in std::mem::take(&mut report.missing) {
            report.lines.push(format!(
                "{key} has no value here, as no connection is made: give it with --context {key}=VALUE"
            ));
        }
        Ok(report)
    }

    fn say(&self, touches: &Touches<'_>, context: &Context<'_>, report: &mut Report) {
        let scope = Scope { account: &self.account, region: &self.region };
        for need in needs(touches, scope) {
            let table = self.table_of(&need.target);
            let tags = table.map(|table| table.tags.clone()).unwrap_or_default();
            let context = context.clone().with_resource_tags(&tags);
            let policies = Policies {
                identity: &self.asking.identity,
                boundary: self.asking.boundary.as_deref(),
                session: &self.asking.session,
                resource: table.and_then(|table| table.policy.as_deref()),
            };
            let (action, target) = (Action::Served(need.verb), &need.target);
            let question = Question { principal: &self.asking.principal, action, target, context: &context };
            let explanation = explain(&question, &policies);
            report.missing.extend(&explanation.missing);
            report.is_denied |= !explanation.decision.is_allowed();
            report.lines.push(format!("{} on {}", need.verb, need.target));
            report.lines.extend(explanation.to_string().lines().map(|line| format!("  {line}")));
        }
    }

    /// Notes each key in a request that lacks an attribute of its table's key: rights do not depend on it,
    /// and the request is refused all the same.
    fn note_keys(&self, body: &serde_json::Value, lines: &mut Vec<String>) {
        use serde_json::Value;
        let members = match body {
            Value::Object(members) => members,
            Value::Array(elements) => return elements.iter().for_each(|one| self.note_keys(one, lines)),
            _ => return,
        };
        let given =
            ["Key", "Item"].into_iter().find_map(|name| Some((name, members.get(name)?.as_object()?)));
        let table = members.get("TableName").and_then(Value::as_str).map(table_name);
        if let (Some(table), Some((member, given))) = (table, given)
            && let Some(key) = self.key_of(table)
        {
            let mut lacking = key.attributes().filter(|attribute| !given.contains_key(&attribute.name));
            if let Some(attribute) = lacking.next() {
                let name = &attribute.name;
                lines.push(format!(
                    "the {member} has no {name}, which is in the key of {table}: the request would be refused as not \
                     valid"
                ));
            }
        }
        members.values().for_each(|value| self.note_keys(value, lines));
    }

    /// The key of a table, if it is known.
    fn key_of(&self, table: &str) -> Option<&KeySchema> {
        match &self.tables {
            Tables::Any(key) => key.as_ref(),
            Tables::Known(tables) => tables.get(table)?.key.as_ref(),
        }
    }

    fn table_of(&self, target: &Target<'_>) -> Option<&TableFacts> {
        let (Target::One(Arn { resource, .. }), Tables::Known(tables)) = (target, &self.tables) else {
            return None;
        };
        tables.get(resource.strip_prefix("table/")?.split('/').next()?)
    }
}

/// The name of a table that is named by its name or ARN.
fn table_name(sent: &str) -> &str {
    sent.rsplit_once(":table/").map_or(sent, |(_, name)| name)
}

/// The names of the tables that a request touches.
pub(crate) fn tables(operation: Operation, body: &[u8]) -> Vec<String> {
    let Ok(shaped) = shape(operation, body) else { return Vec::new() };
    let touches = shaped.touches();
    let sent = touches.as_slice().iter().filter_map(|touch| touch.resource.table_as_sent());
    let mut names: Vec<String> = sent.map(|sent| table_name(sent).to_owned()).collect();
    names.sort();
    names.dedup();
    names
}
