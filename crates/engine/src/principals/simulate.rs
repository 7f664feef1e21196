//! The simulator of policies: what policies would say of a request that nobody makes.
//!
//! Sources: API reference, `SimulateCustomPolicy` and `SimulatePrincipalPolicy`; IAM user guide, policy
//! simulator.
//! It reads the account's copy in memory and changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keywright_access::action::Action;
use keywright_access::arn::Target;
use keywright_access::context::{Context, Known, Value};
use keywright_access::decide::{Decision, Denial, Question};
use keywright_access::document::{Document, PolicyKind, statement_spans};
use keywright_access::policies::{Place, Policies, Policy};
use keywright_access::principal::{Named, Principal};
use keywright_access::simulate::simulate;
use keywright_semantics::iam::fault::{Fault, FaultKind};
use keywright_semantics::iam::messages;
use keywright_semantics::iam::names::{IamArn, Kind};
use keywright_semantics::iam::response::Response;
use keywright_semantics::iam::simulation::{
    Evaluation, Finding, MatchedStatement, Position, Simulation, Verdict,
};

use super::lookup::{document, pairs};
use super::view::paged;
use crate::directory::{Account, Entity};

/// Decisions of one response: a request that asks for more is refused.
const DECISIONS_MAX: usize = 10_000;
/// What a simulated session is called.
const SESSION: &str = "simulation";
/// What follows from a caller. Without one, requests have it only where they say so.
const OF_CALLER: [Known; 5] =
    [Known::PrincipalArn, Known::PrincipalAccount, Known::PrincipalType, Known::UserId, Known::Username];

/// A policy as text, under the name by which results call it.
struct Text {
    name: String,
    text: String,
}

/// Whose policies are simulated, and who asks.
struct Simulated {
    policies: Vec<Text>,
    boundary: Option<Text>,
    principal: Option<Principal>,
}

fn invalid(message: impl Into<String>) -> Fault {
    Fault::new(FaultKind::InvalidInput, message)
}

/// The user, group or role of an ARN.
fn entity<'a>(account: &'a Account, arn: &str) -> Result<&'a Entity, Fault> {
    let parts = IamArn::parse(arn).ok_or_else(|| invalid(messages::not_simulated(arn)))?;
    let kind = match parts.kind {
        "user" => Kind::User,
        "group" => Kind::Group,
        "role" => Kind::Role,
        _ => return Err(invalid(messages::not_simulated(arn))),
    };
    let found = account.entity(kind, parts.name).filter(|entity| entity.arn(account.id.as_str()) == arn);
    found.map(|entity| &**entity).ok_or_else(|| Fault::no_entity(messages::no_entity(kind, parts.name)))
}

fn managed(account: &Account, arn: &str) -> Option<Text> {
    document(account, arn).map(|text| Text { name: arn.to_owned(), text: text.to_owned() })
}

/// The policies of an entity and, of a user, of its groups.
fn held(account: &Account, entity: &Entity) -> Vec<Text> {
    let groups = entity.groups().filter_map(|name| account.entity(Kind::Group, name)).map(|group| &**group);
    let mut texts = Vec::new();
    for holder in groups.chain([entity]) {
        let of = |(name, text): (&String, &String)| Text {
            name: format!("{}_{}_{name}", holder.kind().word(), holder.name),
            text: text.clone(),
        };
        texts.extend(holder.inline.iter().map(of));
        texts.extend(holder.attached.iter().filter_map(|arn| managed(account, arn)));
    }
    texts
}

/// The caller that an entity is.
fn principal_of(account: &Account, entity: &Entity) -> Option<Principal> {
    let named = Named { path: &entity.path, name: &entity.name };
    let principal = match entity.kind() {
        Kind::Group => return None,
        Kind::User => Principal::user(account.id.as_str(), named, entity.id.as_str()),
        Kind::Role => Principal::session(account.id.as_str(), named, &entity.id, SESSION),
    };
    Some(principal.with_tags(pairs(&entity.tags)))
}

/// The user of an ARN, who need not exist. Only the user whose policies are simulated has its tags and id
/// here: who may simulate does not read those of others.
fn caller(account: &Account, arn: &str, source: Option<&Entity>) -> Result<Principal, Fault> {
    let parts = IamArn::parse(arn).filter(|parts| parts.kind == "user");
    let parts = parts.ok_or_else(|| invalid(messages::not_simulated(arn)))?;
    let is_source = |user: &&Entity| user.arn(account.id.as_str()) == arn;
    let known = source.filter(is_source).and_then(|user| principal_of(account, user));
    let named = Named { path: parts.path, name: parts.name };
    Ok(known.unwrap_or_else(|| Principal::user(parts.account, named, "AIDASIMULATED")))
}

fn simulated(account: &Account, request: &Simulation) -> Result<Simulated, Fault> {
    let source = request.source.as_ref().map(|arn| entity(account, arn)).transpose()?;
    let mut policies = source.map(|entity| held(account, entity)).unwrap_or_default();
    let given = (1..).zip(&request.policies);
    policies.extend(
        given.map(|(place, text)| Text { name: format!("PolicyInputList.{place}"), text: text.clone() }),
    );
    let given = request.boundary.as_ref();
    let given = given
        .map(|text| Text { name: "PermissionsBoundaryPolicyInputList.1".to_owned(), text: text.clone() });
    let own = || managed(account, source?.boundary.as_ref()?);
    let boundary = given.or_else(own);
    let principal = match &request.caller {
        Some(arn) => Some(caller(account, arn, source)?),
        None => source.and_then(|entity| principal_of(account, entity)),
    };
    let is_user = principal.as_ref().is_some_and(|principal| principal.user_name().is_some());
    if request.resource_policy.is_some() && !is_user {
        return Err(invalid(messages::CALLER_REQUIRED));
    }
    Ok(Simulated { policies, boundary, principal })
}

fn compiled(text: &Text, kind: PolicyKind) -> Result<Arc<Policy>, Fault> {
    let document = Document::parse(&text.text, kind).map_err(|fault| invalid(fault.message(kind)))?;
    Ok(Arc::new(Policy::new(text.name.clone(), document)))
}

/// What the request brings, for conditions.
fn context<'r>(request: &'r Simulation, principal: Option<&Principal>) -> Context<'r> {
    let unknown = if principal.is_some() { &[][..] } else { &OF_CALLER[..] };
    let context = unknown.iter().fold(Context::default(), |context, key| context.with(*key, Value::Absent));
    request.context.iter().fold(context, |context, entry| {
        let value = match entry.values.first() {
            _ if entry.is_list => {
                Value::Many(entry.values.iter().map(|value| value.as_str().into()).collect())
            }
            Some(value) => Value::one(value.as_str()),
            None => Value::Absent,
        };
        context.with_named(&entry.key, value)
    })
}

/// The line and column of a byte of a text.
fn position(text: &str, place: usize) -> Position {
    let before = text.get(..place).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    Position { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
}

/// The policies of a simulation, compiled, with their texts.
struct Bound {
    identity: Vec<Arc<Policy>>,
    boundary: Option<Arc<Policy>>,
    table: Option<Arc<Policy>>,
    stream: Option<Arc<Policy>>,
    texts: BTreeMap<String, String>,
}

impl Bound {
    fn new(request: &Simulation, simulated: Simulated) -> Result<Self, Fault> {
        let resource = request.resource_policy.as_ref();
        let resource = resource.map(|text| Text { name: "ResourcePolicy".to_owned(), text: text.clone() });
        let is_of_stream = |arn: &String| arn.contains("/stream/");
        let identity = simulated.policies.iter().map(|text| compiled(text, PolicyKind::Identity));
        let (mut table, mut stream) = (None, None);
        if let Some(text) = &resource {
            if request.resources.iter().any(is_of_stream) {
                stream = Some(compiled(text, PolicyKind::Stream)?);
            }
            if request.resources.is_empty() || request.resources.iter().any(|arn| !is_of_stream(arn)) {
                table = Some(compiled(text, PolicyKind::Table)?);
            }
        }
        let identity = identity.collect::<Result<_, _>>()?;
        let boundary =
            simulated.boundary.as_ref().map(|text| compiled(text, PolicyKind::Boundary)).transpose()?;
        let texts = simulated.policies.into_iter().chain(simulated.boundary).chain(resource);
        let texts = texts.map(|text| (text.name, text.text)).collect();
        Ok(Self { identity, boundary, table, stream, texts })
    }

    fn policies(&self, resource: &str) -> Policies<'_> {
        let of_resource = if resource.contains("/stream/") { &self.stream } else { &self.table };
        Policies {
            identity: &self.identity,
            boundary: self.boundary.as_deref(),
            session: &[],
            resource: of_resource.as_deref(),
        }
    }

    fn shown(&self, place: &Place<'_>) -> MatchedStatement {
        let span = self.texts.get(&place.policy.name).and_then(|text| {
            let (start, end) = statement_spans(text).get(place.index).copied()?;
            Some((position(text, start), position(text, end)))
        });
        MatchedStatement { policy: place.policy.name.clone(), span }
    }

    fn finding(&self, question: &Question<'_>, resource: &str) -> Finding {
        let found = simulate(question, &self.policies(resource));
        let verdict = match found.decision {
            Decision::Allow => Verdict::Allowed,
            Decision::Deny(Denial::Explicit { .. }) => Verdict::ExplicitDeny,
            Decision::Deny(Denial::Implicit { .. }) | Decision::Depends => Verdict::ImplicitDeny,
        };
        Finding {
            resource: resource.to_owned(),
            verdict,
            matched: found.matched.iter().map(|place| self.shown(place)).collect(),
            missing: found.missing.into_iter().collect(),
            boundary_allows: found.boundary_allows,
        }
    }
}

/// What holds for all resources of an action: the severest decision, and what led to it.
fn together(each: &[Finding]) -> Finding {
    let verdict = each.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::ImplicitDeny);
    let mut matched: Vec<MatchedStatement> = Vec::new();
    for statement in each.iter().filter(|one| one.verdict == verdict).flat_map(|one| &one.matched) {
        if !matched.contains(statement) {
            matched.push(statement.clone());
        }
    }
    let missing: BTreeSet<&String> = each.iter().flat_map(|finding| &finding.missing).collect();
    let boundaries = each.iter().map(|finding| finding.boundary_allows);
    Finding {
        resource: match each {
            [one] => one.resource.clone(),
            _ => "*".to_owned(),
        },
        verdict,
        matched,
        missing: missing.into_iter().cloned().collect(),
        boundary_allows: boundaries.reduce(|one, other| Some(one? && other?)).flatten(),
    }
}

/// Simulates requests.
pub(super) fn run(account: &Account, request: &Simulation) -> Result<Response, Fault> {
    let everything = ["*".to_owned()];
    let resources = if request.resources.is_empty() { &everything[..] } else { &request.resources };
    if request.actions.len().saturating_mul(resources.len()) > DECISIONS_MAX {
        return Err(invalid(messages::quota("SimulatedDecisions", DECISIONS_MAX)));
    }
    let simulated = simulated(account, request)?;
    let nobody = Principal::user(account.id.as_str(), Named { path: "/", name: SESSION }, SESSION);
    let context = context(request, simulated.principal.as_ref());
    let principal = simulated.principal.clone().unwrap_or(nobody);
    let bound = Bound::new(request, simulated)?;
    let mut evaluations = Vec::new();
    for (place, name) in request.actions.iter().enumerate() {
        let mut each = Vec::new();
        for resource in resources {
            let target = Target::parse(resource).ok_or_else(|| invalid(messages::bad_arn(resource)))?;
            let action = Action::parse(name);
            let question = Question { principal: &principal, action, target: &target, context: &context };
            each.push(bound.finding(&question, resource));
        }
        let whole = together(&each);
        if request.resources.is_empty() {
            each.clear();
        }
        // Markers are compared as texts.
        evaluations.push((format!("{place:05}"), Evaluation { action: name.clone(), whole, each }));
    }
    Ok(Response::Simulated(paged(evaluations.into_iter(), &request.page)))
}
