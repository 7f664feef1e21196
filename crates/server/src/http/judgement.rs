//! Judgement: whether the policies of a user or session allow a request, before anything of it is validated.
//!
//! The account itself is not judged here. It does not know operations: what a request touches says what it
//! needs.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use hyper::header::{HeaderName, REFERER, USER_AGENT};
use hyper::http::request::Parts;
use keywright_access::action::{Action, Own, Verb};
use keywright_access::arn::{Arn, Target};
use keywright_access::context::{Context, Head, Known, Value};
use keywright_access::decide::{Decision, Denial, Question, decide, forbidden};
use keywright_access::needs::{Scope, needs};
use keywright_access::policies::{Policies, Policy};
use keywright_engine::{AccountId, Addressed, Engine, Namespace, Region};
use keywright_semantics::error::{Denied, Error, ErrorDetail, ErrorKind};
use keywright_semantics::messages::access::PolicyLayer;
use keywright_semantics::messages::auth;
use keywright_semantics::operation::Operation;
use keywright_semantics::partiql::Statement;
use keywright_semantics::request::TableRef;
use keywright_semantics::touches::{Action as Touched, Resource, Touch, Touches};
use keywright_wire::GivenTags;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::explanations::Why;
use super::governing::{Accounts, policy_of};
use super::rights::{Binding, Rights};
use crate::connection::request_head;
use crate::process::environment;
use crate::storage::any_store::AnyStore;

/// What is not known of a request before it is validated.
const NOT_VALIDATED: [Known; 4] =
    [Known::Select, Known::ReturnValues, Known::ReturnConsumedCapacity, Known::FullTableScan];

/// Who has sent a request, as its connection tells.
pub(super) struct Peer {
    /// None in the studio.
    pub(super) ip: Option<IpAddr>,
    pub(super) is_secure: bool,
    /// Whom the client's certificate names.
    pub(super) certificate_subject: Option<String>,
}

/// What a request's head says about it.
#[derive(Clone, Debug)]
pub(super) struct Circumstances {
    pub(super) ip: Option<IpAddr>,
    pub(super) is_secure: bool,
    pub(super) certificate_subject: Option<String>,
    pub(super) user_agent: Option<String>,
    pub(super) referer: Option<String>,
    pub(super) namespace: Namespace,
}

impl Circumstances {
    /// Those of a request from this address. Of its headers they keep two.
    pub(super) fn new(
        Peer { ip, is_secure, certificate_subject }: Peer,
        namespace: Namespace,
        header: impl Fn(HeaderName) -> Option<String>,
    ) -> Self {
        let (user_agent, referer) = (header(USER_AGENT), header(REFERER));
        Self { ip, is_secure, certificate_subject, user_agent, referer, namespace }
    }
}

/// A header of a request, if it is text.
pub(super) fn header_of(head: &Parts, name: HeaderName) -> Option<String> {
    head.headers.get(name).and_then(request_head::visible).map(str::to_owned)
}

/// One request of a user or session, to be judged.
pub(super) struct Judge {
    rights: Arc<Rights>,
    binding: Binding,
    engine: Engine<AnyStore>,
    circumstances: Circumstances,
    given: GivenTags,
    /// The operation of DynamoDB, if it is one.
    operation: Option<Operation>,
    now_ms: u64,
    written: Written,
    accounts: Accounts,
    /// Where it says why it denies, if somebody wants to know.
    why: Option<Why>,
}

/// Values of a request's head in words, once a policy has asked for them.
#[derive(Debug, Default)]
struct Written {
    ip: OnceLock<String>,
    current_time: OnceLock<String>,
    epoch_time: OnceLock<String>,
    issue_time: OnceLock<String>,
}

/// What the first look says of a request that is not denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Every policy is satisfied.
    Allowed,
    /// It depends on what only validation and binding say.
    Depends,
}

impl Judge {
    pub(super) fn new(
        rights: Arc<Rights>,
        engine: Engine<AnyStore>,
        circumstances: Circumstances,
        accounts: Accounts,
    ) -> Self {
        let binding = rights.binding(&engine);
        let now_ms = environment::now().0;
        Self {
            rights,
            binding,
            engine,
            circumstances,
            given: GivenTags::default(),
            operation: None,
            now_ms,
            written: Written::default(),
            accounts,
            why: None,
        }
    }

    /// The same, which says there why it denies.
    #[must_use]
    pub(super) fn explaining(self, why: Why) -> Self {
        Self { why: Some(why), ..self }
    }

    /// The same with the tags that the request gives.
    #[must_use]
    pub(super) fn giving(self, given: GivenTags) -> Self {
        Self { given, ..self }
    }

    /// The same for an operation of DynamoDB.
    #[must_use]
    pub(super) fn of_operation(self, operation: Operation) -> Self {
        Self { operation: Some(operation), ..self }
    }

    /// The same, to be kept.
    pub(super) fn shared_rights(&self) -> Arc<Rights> {
        Arc::clone(&self.rights)
    }

    pub(super) fn rights(&self) -> &Rights {
        &self.rights
    }

    pub(super) fn engine(&self) -> &Engine<AnyStore> {
        &self.engine
    }

    /// The accounts whose keys stand in the credentials file.
    pub(super) fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// The account and region of the caller.
    pub(super) const fn namespace(&self) -> &Namespace {
        &self.circumstances.namespace
    }

    /// The policies, with the one that says who may take a role.
    pub(super) fn policies_with<'p>(&'p self, trust: &'p Policy) -> Policies<'p> {
        self.binding.policies(Some(trust))
    }

    /// Looks at a request whose JSON has the right types. What denies one statement of a batch denies it
    /// alone, and statements that do not parse are reported first: those requests depend.
    pub(super) fn first_look(&self, touches: &Touches<'_>) -> Result<Look, Error> {
        let judges_each = self.operation == Some(Operation::BatchExecuteStatement);
        if judges_each || touches.as_slice().iter().any(is_unreadable_statement) {
            return Ok(Look::Depends);
        }
        self.look(touches)
    }

    /// Looks at what is known of a request before it is validated.
    pub(super) fn look(&self, touches: &Touches<'_>) -> Result<Look, Error> {
        let Circumstances { namespace, .. } = &self.circumstances;
        let scope = Scope { account: namespace.account.as_str(), region: namespace.region.as_str() };
        let named = self.named(touches);
        let mut look = Look::Allowed;
        for need in needs(named.as_ref().unwrap_or(touches), scope) {
            let tags = self.tags_of(&need.target);
            let context = self.context().unbound().without(&NOT_VALIDATED);
            let context = match self.enclosing(need.verb) {
                Value::Absent => context,
                enclosing => context.with(Known::EnclosingOperation, enclosing),
            };
            let context = context.with_resource_tags(&tags);
            match self.decide((Action::Served(need.verb), &need.target), &context)? {
                Look::Allowed => {}
                Look::Depends => look = Look::Depends,
            }
        }
        Ok(look)
    }

    /// The transaction that an action stands in.
    pub(super) fn enclosing(&self, verb: Verb) -> Value<'static> {
        self.operation.map_or(Value::Absent, |operation| enclosing(operation, verb))
    }

    /// Looks again at what a request does with one table or index, of which nothing is unknown any more.
    pub(super) fn look_again(&self, touches: &Touches<'_>, context: &Context<'_>) -> Result<(), Error> {
        let Circumstances { namespace, .. } = &self.circumstances;
        let scope = Scope { account: namespace.account.as_str(), region: namespace.region.as_str() };
        for need in needs(touches, scope) {
            let tags = self.tags_of(&need.target);
            let context = context.clone().with_resource_tags(&tags);
            self.decided((Action::Served(need.verb), &need.target), &context)?;
        }
        Ok(())
    }

    /// Denies what is still open, where nothing is unknown any more.
    pub(super) fn decided(
        &self,
        (action, target): (Action<'_>, &Target<'_>),
        context: &Context<'_>,
    ) -> Result<(), Error> {
        match self.decide((action, target), context)? {
            Look::Allowed => Ok(()),
            Look::Depends => Err(self.undecided(action, target)),
        }
    }

    /// Looks again at a request that is about no items: what only those have is absent.
    pub(super) fn look_without_items(&self, touches: &Touches<'_>) -> Result<(), Error> {
        let named = self.named(touches);
        self.look_again(named.as_ref().unwrap_or(touches), &self.context())
    }

    /// The attributes of the partition key of a table or index; none if there is no such one.
    pub(super) fn partition_names(&self, table: &TableRef, index: Option<&str>) -> Option<Vec<String>> {
        let Namespace { account, region } = &self.circumstances.namespace;
        let owner = table.arn_scope().map(|scope| AccountId::from(scope.account.as_str()));
        let account = owner.unwrap_or_else(|| account.clone());
        let namespace = Namespace { account, region: region.clone() };
        self.engine.partition_names(&namespace, &table.name, index)
    }

    /// What a statement addresses in the caller's tables; none if there is no such table or index.
    pub(super) fn addressed(&self, statement: &Statement) -> Option<Addressed> {
        self.engine.addressed(&self.circumstances.namespace, statement)
    }

    /// Judges one action on one resource, with what the request's head says and these values.
    pub(super) fn decide(
        &self,
        (action, target): (Action<'_>, &Target<'_>),
        context: &Context<'_>,
    ) -> Result<Look, Error> {
        let question = Question { principal: &self.rights.principal, action, target, context };
        let governing = policy_of(&self.engine, target);
        let policies = self.binding.policies(governing.as_deref());
        match decide(&question, &policies) {
            Decision::Allow => Ok(Look::Allowed),
            Decision::Depends => Ok(Look::Depends),
            Decision::Deny(denial) => Err(self.denied(&denial, &question, &policies)),
        }
    }

    fn denied(&self, denial: &Denial<'_>, question: &Question<'_>, policies: &Policies<'_>) -> Error {
        if let Some(why) = &self.why {
            why.note(denial, question, policies);
        }
        denied(denial, question)
    }

    /// Judges what is about no items.
    pub(super) fn permit(&self, touches: &Touches<'_>) -> Result<(), Error> {
        match self.first_look(touches)? {
            Look::Allowed => Ok(()),
            Look::Depends => self.look_without_items(touches),
        }
    }

    /// Judges one of our own calls.
    pub(super) fn own_call(&self, own: Own) -> Result<(), Error> {
        self.own_call_on((own, &Target::Everything), &self.context())
    }

    /// Judges one of our own calls on what it is about.
    pub(super) fn own_call_on(
        &self,
        (own, target): (Own, &Target<'_>),
        context: &Context<'_>,
    ) -> Result<(), Error> {
        let tags = self.tags_of(target);
        let context = context.clone().with_resource_tags(&tags);
        self.decided((Action::Served(Verb::Own(own)), target), &context)
    }

    /// Denies what a statement denies, or may deny for some items, also if another one allows it.
    pub(super) fn forbid(&self, verb: Verb, target: &Target<'_>, context: &Context<'_>) -> Result<(), Error> {
        let tags = self.tags_of(target);
        let context = context.clone().with_resource_tags(&tags);
        let action = Action::Served(verb);
        let question = Question { principal: &self.rights.principal, action, target, context: &context };
        let governing = policy_of(&self.engine, target);
        let policies = self.binding.policies(governing.as_deref());
        let denial = forbidden(&question, &policies);
        denial.map_or(Ok(()), |denial| Err(self.denied(&denial, &question, &policies)))
    }

    /// The denial of a request that policies allow under conditions which nothing decides.
    pub(super) fn undecided(&self, action: Action<'_>, target: &Target<'_>) -> Error {
        let context = self.context();
        let question = Question { principal: &self.rights.principal, action, target, context: &context };
        let governing = policy_of(&self.engine, target);
        let policies = self.binding.policies(governing.as_deref());
        self.denied(&Denial::Implicit { layer: PolicyLayer::Identity }, &question, &policies)
    }

    /// The denial of the first thing that a request touches.
    pub(super) fn undecided_touches(&self, touches: &Touches<'_>) -> Error {
        let Circumstances { namespace, .. } = &self.circumstances;
        let scope = Scope { account: namespace.account.as_str(), region: namespace.region.as_str() };
        let named = self.named(touches);
        let first = needs(named.as_ref().unwrap_or(touches), scope).next();
        match first {
            Some(need) => self.undecided(Action::Served(need.verb), &need.target),
            None => Error::new(ErrorKind::AccessDenied, auth::NOT_ALLOWED),
        }
    }

    /// The same touches with streams in place of shard iterators; none if there are no iterators.
    fn named<'t>(&self, touches: &Touches<'t>) -> Option<Touches<'t>> {
        named(&self.engine, touches)
    }

    /// The tags of the own table that a target is or belongs to. Policies of other accounts' users do not see
    /// those of this one: a denial would tell them.
    fn tags_of(&self, target: &Target<'_>) -> Vec<(String, String)> {
        let Target::One(Arn { service, account, region, resource, .. }) = target else { return Vec::new() };
        let table = resource.strip_prefix("table/").and_then(|path| path.split('/').next());
        let Some(table) = table.filter(|_| service == "dynamodb") else { return Vec::new() };
        let own = &self.circumstances.namespace;
        if *own.account.as_str() != **account {
            return Vec::new();
        }
        if *own.region.as_str() == **region {
            return self.engine.table_tags(own, table);
        }
        let namespace = Namespace { account: own.account.clone(), region: Region::stored(region) };
        self.engine.table_tags(&namespace, table)
    }

    /// What conditions see of a request's head, its signer and the time.
    pub(super) fn context(&self) -> Context<'_> {
        let context = Context::default().with_head(self).with_request_tags(&self.given.tags);
        if self.given.keys.is_empty() {
            return context;
        }
        let keys = self.given.keys.iter().map(|key| Cow::Borrowed(key.as_str())).collect();
        context.with(Known::TagKeys, Value::Many(keys))
    }
}

impl Head for Judge {
    fn value(&self, key: Known) -> Option<&str> {
        let Circumstances { ip, is_secure, certificate_subject, user_agent, referer, namespace } =
            &self.circumstances;
        let Written { ip: ip_text, current_time, epoch_time, issue_time } = &self.written;
        let issued_ms = self.rights.session.as_ref().map(|session| session.issued_ms);
        match key {
            Known::SourceIp => ip.map(|ip| ip_text.get_or_init(|| ip.to_canonical().to_string()).as_str()),
            Known::SecureTransport => Some(if *is_secure { "true" } else { "false" }),
            Known::ClientCertificateSubject => certificate_subject.as_deref(),
            Known::UserAgent => user_agent.as_deref(),
            Known::Referer => referer.as_deref(),
            Known::RequestedRegion => Some(namespace.region.as_str()),
            Known::CurrentTime => Some(current_time.get_or_init(|| iso(self.now_ms))),
            Known::EpochTime => Some(epoch_time.get_or_init(|| (self.now_ms / 1000).to_string())),
            Known::TokenIssueTime => {
                issued_ms.map(|issued_ms| issue_time.get_or_init(|| iso(issued_ms)).as_str())
            }
            Known::MultiFactorAuthPresent => issued_ms.map(|_| "false"),
            _ => None,
        }
    }
}

/// The same touches with streams in place of shard iterators; none if there are no iterators.
pub(super) fn named<'t>(engine: &Engine<AnyStore>, touches: &Touches<'t>) -> Option<Touches<'t>> {
    let Touches::One(Touch { action, resource: Resource::ShardIterator(text) }) = touches else {
        return None;
    };
    let stream = engine.stream_of_iterator(text)?;
    Some(Touches::One(Touch { action: *action, resource: Resource::Stream(Cow::Owned(stream)) }))
}

/// The transaction that an action of an operation stands in; checks of conditions do not say it.
pub(crate) fn enclosing(operation: Operation, verb: Verb) -> Value<'static> {
    let is_transaction = matches!(
        operation,
        Operation::TransactGetItems | Operation::TransactWriteItems | Operation::ExecuteTransaction
    );
    match verb {
        Verb::Touched(Touched::ConditionCheckItem) => Value::Absent,
        _ if is_transaction => Value::one(operation.name()),
        _ => Value::Absent,
    }
}

/// A time as conditions compare it.
fn iso(ms: u64) -> String {
    let at =
        i64::try_from(ms / 1000).ok().and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    at.and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_default()
}

/// Whether a touch is that of a statement that does not parse.
fn is_unreadable_statement(touch: &Touch<'_>) -> bool {
    let is_statement = matches!(
        touch.action,
        Touched::Operation(
            Operation::ExecuteStatement | Operation::ExecuteTransaction | Operation::BatchExecuteStatement
        )
    );
    is_statement && touch.resource == Resource::Nothing
}

/// The error of a denied request, with what decided it.
pub(super) fn denied(denial: &Denial<'_>, question: &Question<'_>) -> Error {
    let decided = Denied {
        principal: question.principal.arn().to_owned(),
        action: question.action.to_string(),
        by: denial.decided_by(),
        is_explicit: denial.is_explicit(),
    };
    Error::new(ErrorKind::AccessDenied, denial.message(question)).with_detail(ErrorDetail::Denied(decided))
}
