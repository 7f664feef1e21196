//! One request of a user or role, with the policies that bind it and the tables that it names, to explain.
//!
//! Whose policies and which tables there are, its makers say; what a request needs, and what conditions see
//! of it, the same code says as for requests that are served.

use std::collections::BTreeMap;
use std::sync::Arc;

use keywright_access::action::{Action, Verb};
use keywright_access::arn::{Arn, Target};
use keywright_access::context::{Context, Known, Value};
use keywright_access::decide::Question;
use keywright_access::document::PolicyKind;
use keywright_access::explain::explain;
use keywright_access::file::{Entity, Principals};
use keywright_access::needs::{Scope, needs};
use keywright_access::policies::{Policies, Policy, compiled_policy};
use keywright_access::principal::{Named, Principal};
use keywright_engine::{Addressed, built_in_policy};
use keywright_semantics::iam::names::{IamArn, Kind};
use keywright_semantics::operation::Operation;
use keywright_semantics::partiql::Statement;
use keywright_semantics::request::TableRef;
use keywright_semantics::touches::Touches;
use keywright_wire::{GivenTags, shape};

use crate::http::judgement::enclosing;
use crate::http::second_look::{self, Surroundings};
use crate::process::failure::Failure;

/// What stands for the id of a user or role, which files do not have.
const NO_ID: &str = "UNKNOWN";

/// A table that a request may name.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableFacts {
    /// The attributes of its partition key.
    pub(crate) partition: Vec<String>,
    /// The same of its indexes.
    pub(crate) indexes: BTreeMap<String, Vec<String>>,
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) policy: Option<Arc<Policy>>,
}

/// The tables that requests may name.
#[derive(Clone, Debug)]
pub(crate) enum Tables {
    /// Those of a server.
    Known(BTreeMap<String, TableFacts>),
    /// All have a partition key of these attributes, and so have their indexes.
    Any(Vec<String>),
}

/// Who asks: the account itself, a user, or a session of a role.
pub(crate) struct Asking {
    principal: Principal,
    identity: Vec<Arc<Policy>>,
    boundary: Option<Arc<Policy>>,
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

fn managed(principals: &Principals, account: &str, arn: &str) -> Result<String, Failure> {
    let own = principals.policies.values().find(|policy| policy.arn(account) == arn);
    let text = own.map(|policy| policy.document.text());
    let text = text.or_else(|| built_in_policy(arn).map(str::to_owned));
    text.ok_or_else(|| {
        Failure::new(format!("there is no policy {arn}: add it to the file, or correct its ARN"))
    })
}

impl Asking {
    /// The user or role of a text, or `root`.
    pub(crate) fn new(
        text: &str,
        principals: &Principals,
        (account, session): (&str, &str),
    ) -> Result<Self, Failure> {
        if text == "root" {
            return Ok(Self { principal: Principal::root(account), identity: Vec::new(), boundary: None });
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
        let path = Named { path: entity.path.as_deref().unwrap_or("/"), name: &entity.name };
        let id = entity.id.as_deref().unwrap_or(NO_ID);
        let principal = match kind {
            Kind::Role => Principal::session(account, path, id, session),
            _ => Principal::user(account, path, id),
        };
        let tags = entity.tags.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let groups = entity.groups.iter().filter_map(|group| principals.entity(Kind::Group, group));
        let mut identity = Vec::new();
        for holder in groups.chain([entity]) {
            identity.extend(policies_of(holder, principals, account)?);
        }
        let boundary = entity.boundary.as_ref().map(|named| {
            let arn = principals.policy_arn(account, named);
            Ok::<_, Failure>(compiled_policy(
                &arn,
                &managed(principals, account, &arn)?,
                PolicyKind::Boundary,
            ))
        });
        Ok(Self { principal: principal.with_tags(tags), identity, boundary: boundary.transpose()? })
    }
}

fn policies_of(holder: &Entity, principals: &Principals, account: &str) -> Result<Vec<Arc<Policy>>, Failure> {
    let owner = format!("{} {}", holder.kind.word(), holder.name);
    let inline = holder.inline.iter().map(|(name, document)| {
        Ok(compiled_policy(&format!("{name} of {owner}"), &document.text(), PolicyKind::Identity))
    });
    let attached = holder.attached.iter().map(|named| {
        let arn = principals.policy_arn(account, named);
        let text = managed(principals, account, &arn)?;
        Ok(compiled_policy(&format!("{arn}, attached to {owner}"), &text, PolicyKind::Identity))
    });
    inline.chain(attached).collect()
}

/// What conditions see of a request's head, and the names of keys.
struct Around<'s> {
    scene: &'s Scene,
    given: &'s GivenTags,
}

impl Surroundings for Around<'_> {
    fn partition_names(&self, table: &TableRef, index: Option<&str>) -> Option<Vec<String>> {
        match &self.scene.tables {
            Tables::Any(partition) => (!partition.is_empty()).then(|| partition.clone()),
            Tables::Known(tables) => {
                let table = tables.get(&table.name)?;
                index.map_or(Some(&table.partition), |index| table.indexes.get(index)).cloned()
            }
        }
    }

    /// The types of keys are not known here, so what depends on the keys of statements stays open.
    fn addressed(&self, _statement: &Statement) -> Option<Addressed> {
        None
    }

    fn context(&self) -> Context<'_> {
        let keys = self.given.keys.iter().map(|key| key.as_str().into()).collect();
        let context = Context::default()
            .with(Known::RequestedRegion, Value::one(self.scene.region.as_str()))
            .with(Known::EpochTime, Value::one(self.scene.now.0.as_str()))
            .with(Known::CurrentTime, Value::one(self.scene.now.1.as_str()))
            .with(Known::TagKeys, Value::Many(keys))
            .with_request_tags(&self.given.tags);
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
}

impl Scene {
    /// Explains a request of this body: each right that it needs, and what each statement says of it.
    pub(crate) fn explain(&self, body: &[u8]) -> Result<Report, Failure> {
        let refused = |error: &keywright_semantics::error::Error| {
            Failure::new(format!("the request is not valid: {}", error.message))
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
                session: &[],
                resource: table.and_then(|table| table.policy.as_deref()),
            };
            let (action, target) = (Action::Served(need.verb), &need.target);
            let question = Question { principal: &self.asking.principal, action, target, context: &context };
            let explanation = explain(&question, &policies);
            report.is_denied |= !explanation.decision.is_allowed();
            report.lines.push(format!("{} on {}", need.verb, need.target));
            report.lines.extend(explanation.to_string().lines().map(|line| format!("  {line}")));
        }
    }

    fn table_of(&self, target: &Target<'_>) -> Option<&TableFacts> {
        let (Target::One(Arn { resource, .. }), Tables::Known(tables)) = (target, &self.tables) else {
            return None;
        };
        tables.get(resource.strip_prefix("table/")?.split('/').next()?)
    }
}

/// The names of the tables that a request touches.
pub(crate) fn tables(operation: Operation, body: &[u8]) -> Vec<String> {
    let Ok(shaped) = shape(operation, body) else { return Vec::new() };
    let touches = shaped.touches();
    let sent = touches.as_slice().iter().filter_map(|touch| touch.resource.table_as_sent());
    let name = |sent: &str| sent.rsplit_once(":table/").map_or(sent, |(_, name)| name).to_owned();
    let mut names: Vec<String> = sent.map(name).collect();
    names.sort();
    names.dedup();
    names
}
