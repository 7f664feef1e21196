//! Whether the calls of a plan take from the one who makes them the rights that the calls themselves need:
//! it could neither finish the plan nor undo it.
//!
//! It judges by the policies alone. Where a condition asks for what only the request to the server has, such
//! as an address or the time, it holds nobody back.

use std::fmt;

use keywright_semantics::iam::Operation;
use keywright_semantics::iam::names::{Kind, policy_arn};

use super::bound::{Bound, BuiltIn};
use super::{Entity, Principals, Step};
use crate::action::{Action, Verb};
use crate::arn::Target;
use crate::context::{Context, Known, OF_CONNECTION, Value};
use crate::decide::{Decision, Question, decide};
use crate::policies::Policies;
use crate::principal::Principal;

/// What only a request to the server has, next to what its connection and head give.
const OF_REQUESTS: [Known; 10] = [
    Known::TagKeys,
    Known::CurrentTime,
    Known::EpochTime,
    Known::TokenIssueTime,
    Known::MultiFactorAuthPresent,
    Known::MultiFactorAuthAge,
    Known::RequestedRegion,
    Known::SourceIdentity,
    Known::FederatedProvider,
    Known::CalledVia,
];

/// What stands for the name of a session, which gives no right that is asked about here.
const SESSION: &str = "session";

/// Who makes the calls.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'c> {
    /// The account.
    pub account: &'c str,
    /// The ARN that `GetCallerIdentity` gives.
    pub arn: &'c str,
    /// The id of the access key that signs the calls.
    pub key: &'c str,
    /// Whether the connection shows a client certificate.
    pub has_certificate: bool,
}

impl Caller<'_> {
    /// The user, or the role of the session. The account itself has none.
    fn entity(&self) -> Option<(Kind, &str)> {
        let (_, resource) = self.arn.rsplit_once(':')?;
        match resource.split_once('/')? {
            ("user", name) => Some((Kind::User, name.rsplit('/').next()?)),
            ("assumed-role", name) => Some((Kind::Role, name.split('/').next()?)),
            _ => None,
        }
    }
}

/// What a step takes from the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The user, role or key itself.
    Itself,
    /// A right that making users as a file says needs.
    Right {
        /// Its name, such as `iam:ListUsers`.
        action: String,
        /// What denies it.
        why: String,
    },
}

/// A step that locks its caller out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lockout<'s> {
    /// The step.
    pub step: &'s Step,
    /// What it takes.
    pub loss: Loss,
}

/// The first step after which the caller could not make the next call, or not read the account and put
/// a policy of its own as it could before. A step that deletes the caller comes before others, as it says
/// most. The account itself, with a root key, can always.
pub fn locks_out<'s>(
    steps: &'s [Step],
    there: &Principals,
    caller: Caller<'_>,
    built_in: BuiltIn<'_>,
) -> Option<Lockout<'s>> {
    let (kind, name) = caller.entity()?;
    let of = |entity: &Entity, principals: &Principals| Standing::new(entity, principals, caller, built_in);
    let before = of(there.entity(kind, name)?, there)?;
    let needed: Vec<Call> =
        before.needed().into_iter().filter(|call| before.denies(call).is_none()).collect();
    let (mut principals, mut first) = (there.clone(), None);
    for (place, step) in steps.iter().enumerate() {
        principals.take(step);
        let Some(entity) = principals.entity(kind, name) else {
            return Some(Lockout { step, loss: Loss::Itself });
        };
        // The server refuses a policy that does not exist, and the plan ends there.
        let Some(after) = of(entity, &principals) else { break };
        if before.has_key && !after.has_key {
            return Some(Lockout { step, loss: Loss::Itself });
        }
        if first.is_some() {
            continue;
        }
        let next = steps.get(place + 1).map(|next| Call::of(next, &principals, caller.account));
        let next = next.filter(|next| before.denies(next).is_none());
        let lost = needed.iter().chain(&next).find_map(|call| Some((call, after.denies(call)?)));
        if let Some((call, why)) = lost {
            let action = format!("iam:{}", call.operation.name());
            first = Some(Lockout { step, loss: Loss::Right { action, why } });
        }
    }
    first
}

/// A call of IAM, as policies see it.
struct Call {
    operation: Operation,
    target: String,
    policy: Option<String>,
    boundary: Option<String>,
    tags: Vec<(String, String)>,
    given: Vec<(String, String)>,
}

impl Call {
    fn on(operation: Operation, target: String) -> Self {
        Self { operation, target, policy: None, boundary: None, tags: Vec::new(), given: Vec::new() }
    }

    /// The call of a step in an account.
    fn of(step: &Step, principals: &Principals, account: &str) -> Self {
        let member = |name: &str| step.member(name).map(str::to_owned);
        let Some((kind, name)) = step.owner() else {
            let named = |name: &str| policy_arn(account, step.member("Path").unwrap_or("/"), name);
            let target = member("PolicyArn").or_else(|| step.member("PolicyName").map(named));
            return Self::on(step.operation, target.unwrap_or_else(|| "*".to_owned()));
        };
        let entity = principals.entity(kind, name);
        let path = entity.map_or(step.member("Path"), |entity| entity.path.as_deref());
        Self {
            policy: member("PolicyArn"),
            boundary: member("PermissionsBoundary").or_else(|| {
                entity.and_then(|entity| Some(principals.policy_arn(account, entity.boundary.as_ref()?)))
            }),
            tags: entity.map(pairs).unwrap_or_default(),
            given: step.tags(),
            ..Self::on(step.operation, kind.arn(account, path.unwrap_or("/"), name))
        }
    }
}

fn pairs(entity: &Entity) -> Vec<(String, String)> {
    entity.tags.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn value(text: Option<&String>) -> Value<'_> {
    text.map_or(Value::Absent, |text| Value::one(text.as_str()))
}

/// The caller as an account has it.
struct Standing<'c> {
    caller: Caller<'c>,
    kind: Kind,
    /// The ARN of the user, or of the session's role.
    arn: String,
    principal: Principal,
    bound: Bound,
    tags: Vec<(String, String)>,
    /// Whether the user has the key, and it is active.
    has_key: bool,
}

impl<'c> Standing<'c> {
    /// None with a policy that does not exist: the server refuses the step that attaches it.
    fn new(
        entity: &Entity,
        principals: &Principals,
        caller: Caller<'c>,
        built_in: BuiltIn<'_>,
    ) -> Option<Self> {
        Some(Self {
            caller,
            kind: entity.kind,
            arn: entity.kind.arn(caller.account, entity.path.as_deref().unwrap_or("/"), &entity.name),
            principal: entity.principal(caller.account, SESSION),
            bound: principals.bound(entity, caller.account, built_in).ok()?,
            tags: pairs(entity),
            has_key: entity.keys.get(caller.key).is_some_and(|key| key.is_active),
        })
    }

    /// The calls by which an account is read, and that by which its own policy is put back.
    fn needed(&self) -> Vec<Call> {
        let account = self.caller.account;
        let list = |kind: Kind| kind.arn(account, "/", "");
        let (get, put) = match self.kind {
            Kind::Role => (Operation::GetRole, Operation::PutRolePolicy),
            Kind::User | Kind::Group => (Operation::GetUser, Operation::PutUserPolicy),
        };
        let own = |operation| Call { tags: self.tags.clone(), ..Call::on(operation, self.arn.clone()) };
        vec![
            Call::on(Operation::ListPolicies, policy_arn(account, "/", "")),
            Call::on(Operation::ListGroups, list(Kind::Group)),
            Call::on(Operation::ListUsers, list(Kind::User)),
            Call::on(Operation::ListRoles, list(Kind::Role)),
            own(get),
            own(put),
        ]
    }

    /// What denies a call for certain.
    fn denies(&self, call: &Call) -> Option<String> {
        let target = Target::parse(&call.target).unwrap_or(Target::Everything);
        let mut context = Context::default()
            .without(&OF_REQUESTS)
            .without(&OF_CONNECTION)
            .with(Known::PolicyArn, value(call.policy.as_ref()))
            .with(Known::PermissionsBoundary, value(call.boundary.as_ref()))
            .with_resource_tags(&call.tags)
            .with_request_tags(&call.given);
        if !self.caller.has_certificate {
            context = context.with(Known::ClientCertificateSubject, Value::Absent);
        }
        let action = Action::Served(Verb::Iam(call.operation));
        let question = Question { principal: &self.principal, action, target: &target, context: &context };
        let policies = Policies {
            identity: &self.bound.identity,
            boundary: self.bound.boundary.as_deref(),
            ..Policies::default()
        };
        match decide(&question, &policies) {
            Decision::Deny(denial) => Some(denial.decided_by()),
            Decision::Allow | Decision::Depends => None,
        }
    }
}

impl fmt::Display for Lockout<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.step.text;
        match &self.loss {
            Loss::Itself => write!(formatter, "{text}, with which this command signs"),
            Loss::Right { action, why } => {
                write!(formatter, "{text}, and the caller of this command would lose {action} ({why})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{AccessFile, Prune, plan};

    const ACCOUNT: &str = "123456789012";
    const KEY: &str = "AKIABEN0000000000001";
    const ALL: &str = r#"{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#;
    const NOTHING: &str = r#"{"Statement": {"Effect": "Deny", "Action": "*", "Resource": "*"}}"#;
    const ADMINISTRATOR: &str = "arn:aws:iam::aws:policy/AdministratorAccess";

    fn built_in(arn: &str) -> Option<&'static str> {
        (arn == ADMINISTRATOR).then_some(ALL)
    }

    fn file(text: &str) -> AccessFile {
        AccessFile::parse(text).unwrap()
    }

    /// A file with the user `ben`, who has these members and a key, and with these other members.
    fn with(ben: &str, others: &str) -> AccessFile {
        file(&format!(
            r#"{{"users": {{"ben": {{"keys": [{{"id": "{KEY}", "secret_variable": "B"}}] {ben}}}}} {others}}}"#
        ))
    }

    /// The account that a file makes.
    fn account(file: &AccessFile) -> Principals {
        let mut there = Principals::default();
        for step in plan(file, &there, ACCOUNT, Prune::All).unwrap() {
            there.take(&step);
        }
        there
    }

    fn caller<'c>(arn: &'c str, key: &'c str) -> Caller<'c> {
        Caller { account: ACCOUNT, arn, key, has_certificate: false }
    }

    const BEN: &str = "arn:aws:iam::123456789012:user/ben";

    /// The step that locks `ben` out, and what it takes; empty if none does.
    fn lost(before: &AccessFile, after: &AccessFile, prune: Prune) -> (String, String) {
        let there = account(before);
        let steps = plan(after, &there, ACCOUNT, prune).unwrap();
        let lockout = locks_out(&steps, &there, caller(BEN, KEY), &built_in);
        lockout.map(|lockout| (lockout.step.text.clone(), lockout.to_string())).unwrap_or_default()
    }

    #[test]
    fn pruning_that_deletes_the_caller_is_found_and_no_other() {
        let trust = r#", "roles": {"nightly": {"trust": {"Statement": {"Effect": "Allow",
            "Principal": {"AWS": "arn:aws:iam::123456789012:user/ben"}, "Action": "sts:AssumeRole"}}}}"#;
        let there = account(&with("", trust));
        let steps = plan(&AccessFile::default(), &there, ACCOUNT, Prune::All).unwrap();
        let found = |arn: &str, key: &str| {
            let lockout = locks_out(&steps, &there, caller(arn, key), &built_in);
            lockout.map(|lockout| lockout.step.text.clone()).unwrap_or_default()
        };
        assert_eq!(found("arn:aws:iam::123456789012:user/team/Ben", "ASIA"), "delete user ben");
        assert_eq!(found(BEN, KEY), format!("delete key {KEY} of user ben"));
        let session = "arn:aws:sts::123456789012:assumed-role/nightly/ben";
        assert_eq!(found(session, "ASIA"), "delete role nightly");
        for other in ["user/ann", "user/nightly", "root"] {
            assert_eq!(found(&format!("arn:aws:iam::123456789012:{other}"), "AKIAOTHER"), "", "{other}");
        }
        assert_eq!(found("arn:aws:sts::123456789012:assumed-role/other/nightly", "ASIA"), "");
    }

    #[test]
    fn every_way_to_lose_ones_own_rights_is_found() {
        let own = format!(r#", "attached": ["{ADMINISTRATOR}"]"#);
        let admin = with(&own, "");
        let (text, loss) = lost(&admin, &with("", ""), Prune::All);
        assert_eq!(text, format!("detach {ADMINISTRATOR} from user ben"));
        assert!(loss.contains("iam:ListPolicies") && loss.contains("no identity-based policy"), "{loss}");
        assert_eq!(lost(&admin, &with("", ""), Prune::Nothing), Default::default());
        // The policy goes first, and the loss of the key says more.
        let (text, _) = lost(&admin, &AccessFile::default(), Prune::All);
        assert_eq!(text, format!("delete key {KEY} of user ben"));

        let inactive = format!(r#"{{"users": {{"ben": {{"keys": [{{"id": "{KEY}", "active": false}}]}}}}}}"#);
        assert_eq!(
            lost(&admin, &file(&inactive), Prune::Nothing).0,
            format!("set to inactive key {KEY} of user ben")
        );

        let denied = with(&format!(r#"{own}, "inline": {{"no": {NOTHING}}}"#), "");
        let (text, loss) = lost(&admin, &denied, Prune::Nothing);
        assert_eq!(text, "put policy no of user ben");
        assert!(loss.contains("statement 1 of policy no of user ben"), "{loss}");

        let reads = r#"{"Statement": {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}}"#;
        let narrow = format!(r#", "policies": {{"narrow": {{"document": {reads}}}}}"#);
        let bounded = with(&format!(r#"{own}, "boundary": "narrow""#), &narrow);
        let (text, loss) = lost(&admin, &bounded, Prune::Nothing);
        assert!(text.starts_with("set the boundary of user ben"), "{text}");
        assert!(loss.contains("no permissions boundary allows it"), "{loss}");

        let group = |members: &str| format!(r#", "groups": {{"admins": {{{members}}}}}"#);
        let attached = format!(r#""attached": ["{ADMINISTRATOR}"]"#);
        let member = with(r#", "groups": ["admins"]"#, &group(&attached));
        assert_eq!(
            lost(&member, &with("", &group(&attached)), Prune::All).0,
            "remove from group admins the user ben"
        );
        let denying = with(
            r#", "groups": ["admins"]"#,
            &group(&format!(r#"{attached}, "inline": {{"no": {NOTHING}}}"#)),
        );
        assert_eq!(lost(&member, &denying, Prune::Nothing).0, "put policy no of group admins");
    }

    #[test]
    fn rights_that_come_back_only_later_are_missed_on_the_way() {
        let own = |document: &str, more: &str| {
            with(
                &format!(r#", "attached": ["own"{more}]"#),
                &format!(r#", "policies": {{"own": {{"document": {document}}}}}"#),
            )
        };
        let reads = r#"{"Statement": {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}}"#;
        let administrator = format!(r#", "{ADMINISTRATOR}""#);
        let after = own(reads, &administrator);
        assert_eq!(lost(&own(ALL, ""), &after, Prune::Nothing).0, "change policy own");
        // Another policy gives them meanwhile.
        assert_eq!(lost(&own(ALL, &administrator), &after, Prune::Nothing), Default::default());
    }

    #[test]
    fn who_lacked_a_right_before_or_may_have_it_still_is_not_held_back() {
        let narrow =
            r#"{"Statement": {"Effect": "Allow", "Action": ["iam:List*", "iam:Get*"], "Resource": "*"}}"#;
        let before = with(&format!(r#", "inline": {{"own": {narrow}}}"#), "");
        let after = with(&format!(r#", "inline": {{"own": {narrow}}}, "tags": {{"a": "b"}}"#), "");
        assert_eq!(lost(&before, &after, Prune::Nothing), Default::default());

        let own = format!(r#", "attached": ["{ADMINISTRATOR}"]"#);
        let only = |key: &str, value: &str| {
            let deny = format!(
                r#"{{"Statement": {{"Effect": "Deny", "Action": "*", "Resource": "*",
                "Condition": {{"StringNotLike": {{"{key}": "{value}"}}}}}}}}"#
            );
            lost(&with(&own, ""), &with(&format!(r#"{own}, "inline": {{"no": {deny}}}"#), ""), Prune::Nothing)
        };
        assert_eq!(only("aws:UserAgent", "aws-cli*"), Default::default());
        assert_eq!(only("aws:username", "ben"), Default::default());
        assert_eq!(only("aws:username", "ann").0, "put policy no of user ben");
        // The connection shows no certificate.
        assert_eq!(only("keywright:ClientCertificateSubject", "CN=*").0, "put policy no of user ben");
    }
}
