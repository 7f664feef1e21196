//! Users, groups, roles, policies and keys: quotas, what depends on what, and that every process over a store
//! knows them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use keywright_access::document::PolicyKind;
use keywright_access::policies::compiled_policy;
use keywright_semantics::iam::fault::{Fault, FaultKind};
use keywright_semantics::iam::names::Kind;
use keywright_semantics::iam::request::{
    ListEntities, ListPolicies, NewEntity, NewPolicy, NewRole, Owner, Page, PolicyScope, Request,
};
use keywright_semantics::iam::response::{KeyView, Response};
use keywright_store::memory::MemoryStore;
use keywright_store::{Direction, KeyRange, Scan, Snapshot as _, Store as _};

use super::harness::*;
use crate::state::Engine;
use crate::support::config::{EngineConfig, RowSeal};
use crate::support::env::{AccountId, Env};

const ALLOW: &str =
    r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"dynamodb:*","Resource":"*"}]}"#;
const TRUST: &str = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"000000000000"},"Action":"sts:AssumeRole"}]}"#;
const POLICY: &str = "arn:aws:iam::000000000000:policy/p";

type Process = Engine<MemoryStore>;

fn open(store: &MemoryStore, env: &Arc<TestEnv>) -> Process {
    let env: Arc<dyn Env> = Arc::<TestEnv>::clone(env);
    block_on(Engine::open(store.clone(), env, EngineConfig::default())).expect("the store opens")
}

fn process() -> Process {
    open(&MemoryStore::new(), &Arc::default())
}

fn ask(process: &Process, request: Request) -> Result<Response, Fault> {
    block_on(process.manage_principals(&caller(), request))
}

fn done(process: &Process, request: Request) -> Response {
    ask(process, request).expect("the request is right")
}

fn refused(process: &Process, request: Request) -> (FaultKind, String) {
    let fault = ask(process, request).expect_err("the request is refused");
    (fault.kind, fault.message)
}

fn owner(kind: Kind, name: &str) -> Owner {
    Owner { kind, name: name.to_owned() }
}

fn new(name: &str) -> NewEntity {
    NewEntity { name: name.to_owned(), path: "/".to_owned(), boundary: None, tags: BTreeMap::new(), id: None }
}

fn user(name: &str) -> Request {
    Request::CreateUser(new(name))
}

fn role(name: &str) -> Request {
    Request::CreateRole(Box::new(NewRole {
        entity: new(name),
        trust: TRUST.to_owned(),
        description: String::new(),
        session_seconds_max: 3600,
    }))
}

fn policy(name: &str) -> Request {
    Request::CreatePolicy(Box::new(NewPolicy {
        name: name.to_owned(),
        path: "/".to_owned(),
        document: ALLOW.to_owned(),
        description: String::new(),
        tags: BTreeMap::new(),
    }))
}

fn attach(kind: Kind, name: &str, arn: &str) -> Request {
    Request::Attach { owner: owner(kind, name), arn: arn.to_owned() }
}

fn inline(kind: Kind, name: &str, document: &str) -> Request {
    let (owner, policy) = (owner(kind, name), "in".to_owned());
    Request::PutInline { owner, policy, document: document.to_owned() }
}

fn key(process: &Process, user: &str) -> KeyView {
    match done(process, Request::CreateAccessKey { user: Some(user.to_owned()), given: None }) {
        Response::AccessKey(key) => key,
        other => panic!("{other:?}"),
    }
}

fn all() -> Page {
    Page { after: None, limit: 1000 }
}

fn names(process: &Process, kind: Kind) -> Vec<String> {
    match done(process, Request::List { kind, path_prefix: "/".to_owned(), page: all() }) {
        Response::Entities { page, .. } => page.elements.into_iter().map(|entity| entity.name).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_do_not_differ_by_case_alone() {
    let process = process();
    done(&process, user("Ann"));
    assert_eq!(
        refused(&process, user("ANN")),
        (FaultKind::EntityAlreadyExists, "User with name ANN already exists.".to_owned())
    );
    done(&process, Request::CreateGroup(new("ann")));
    assert_eq!(names(&process, Kind::User), ["Ann"]);
    assert_eq!(names(&process, Kind::Group), ["ann"]);
}

#[test]
fn what_has_parts_is_not_deleted() {
    let process = process();
    done(&process, user("ann"));
    done(&process, policy("p"));
    done(&process, Request::CreateGroup(new("g")));
    done(&process, Request::AddUserToGroup { group: "g".to_owned(), user: "ann".to_owned() });
    let made = key(&process, "ann");
    done(&process, inline(Kind::User, "ann", ALLOW));
    done(&process, attach(Kind::User, "ann", POLICY));
    let ann = || owner(Kind::User, "ann");
    let delete = || Request::Delete(ann());
    for (message, remove) in [
        (
            "Cannot delete entity, must delete access keys first.",
            Request::DeleteAccessKey { user: Some("ann".to_owned()), id: made.id.clone() },
        ),
        (
            "Cannot delete entity, must delete policies first.",
            Request::DeleteInline { owner: ann(), policy: "in".to_owned() },
        ),
        (
            "Cannot delete entity, must detach all policies first.",
            Request::Detach { owner: ann(), arn: POLICY.to_owned() },
        ),
        (
            "Cannot delete entity, must remove users from group first.",
            Request::RemoveUserFromGroup { group: "g".to_owned(), user: "ann".to_owned() },
        ),
    ] {
        assert_eq!(refused(&process, delete()), (FaultKind::DeleteConflict, message.to_owned()));
        done(&process, remove);
    }
    done(&process, delete());
    assert!(process.find_key(&made.id).is_none());
    assert_eq!(refused(&process, delete()).0, FaultKind::NoSuchEntity);
}

#[test]
fn quotas_are_those_of_iam() {
    let process = process();
    done(&process, user("ann"));
    for number in 0..11 {
        done(&process, policy(&format!("p{number}")));
        let request = attach(Kind::User, "ann", &format!("arn:aws:iam::000000000000:policy/p{number}"));
        if number < 10 {
            done(&process, request);
        } else {
            let message = "Cannot exceed quota for PoliciesPerUser: 10".to_owned();
            assert_eq!(refused(&process, request), (FaultKind::LimitExceeded, message));
        }
    }
    let [_, _] = [key(&process, "ann"), key(&process, "ann")];
    assert_eq!(
        refused(&process, Request::CreateAccessKey { user: Some("ann".to_owned()), given: None }),
        (FaultKind::LimitExceeded, "Cannot exceed quota for AccessKeysPerUser: 2".to_owned())
    );
    // Blanks do not count.
    let padded = ALLOW.replace(',', &format!(",{}", " ".repeat(1000)));
    done(&process, inline(Kind::User, "ann", &padded));
    let long = ALLOW.replace("dynamodb:*", &format!("dynamodb:{}", "x".repeat(2048)));
    assert_eq!(
        refused(&process, inline(Kind::User, "ann", &long)),
        (FaultKind::LimitExceeded, "Maximum policy size of 2048 bytes exceeded for user ann".to_owned())
    );
    for number in 2..=6 {
        let request = Request::CreatePolicyVersion {
            arn: "arn:aws:iam::000000000000:policy/p0".to_owned(),
            document: ALLOW.to_owned(),
            is_default: false,
        };
        assert_eq!(ask(&process, request).is_ok(), number <= 5, "{number}");
    }
}

#[test]
fn a_policy_that_is_used_stays_and_built_in_ones_do_not_change() {
    let process = process();
    done(&process, role("r"));
    done(&process, policy("p"));
    done(&process, Request::PutBoundary { owner: owner(Kind::Role, "r"), arn: POLICY.to_owned() });
    assert_eq!(
        refused(&process, Request::DeletePolicy { arn: POLICY.to_owned() }).0,
        FaultKind::DeleteConflict
    );
    let list = ListEntities {
        arn: POLICY.to_owned(),
        kind: None,
        path_prefix: "/".to_owned(),
        usage: None,
        page: all(),
    };
    let Response::EntitiesOfPolicy(page) = done(&process, Request::ListEntitiesForPolicy(list)) else {
        panic!("entities are asked for");
    };
    assert_eq!(page.elements.len(), 1);
    let admin = "arn:aws:iam::aws:policy/AdministratorAccess";
    done(&process, attach(Kind::Role, "r", admin));
    assert_eq!(refused(&process, Request::DeletePolicy { arn: admin.to_owned() }).0, FaultKind::AccessDenied);
    let missing = "arn:aws:iam::000000000000:policy/none";
    assert_eq!(
        refused(&process, attach(Kind::Role, "r", missing)),
        (FaultKind::NoSuchEntity, format!("Policy {missing} does not exist or is not attachable."))
    );
}

#[test]
fn a_text_that_is_no_policy_is_not_stored() {
    let process = process();
    done(&process, user("ann"));
    for text in ["", "null", "{", "[]", r#"{"Version":"2012-10-17"}"#, TRUST] {
        assert_eq!(
            refused(&process, inline(Kind::User, "ann", text)).0,
            FaultKind::MalformedPolicyDocument,
            "{text}"
        );
    }
    let Request::CreateRole(mut new) = role("r") else { panic!("it is a role") };
    new.trust = ALLOW.to_owned();
    assert_eq!(refused(&process, Request::CreateRole(new)).0, FaultKind::MalformedPolicyDocument);
}

#[test]
fn a_renamed_user_keeps_its_key_and_a_renamed_group_its_users() {
    let process = process();
    done(&process, user("ann"));
    done(&process, Request::CreateGroup(new("g")));
    done(&process, Request::AddUserToGroup { group: "g".to_owned(), user: "ann".to_owned() });
    done(&process, inline(Kind::Group, "g", ALLOW));
    let made = key(&process, "ann");
    let rename = |kind, name: &str, new: &str| Request::Rename {
        owner: owner(kind, name),
        new_name: Some(new.to_owned()),
        new_path: None,
    };
    done(&process, rename(Kind::User, "ann", "Eve"));
    done(&process, rename(Kind::Group, "g", "h"));
    let found = process.find_key(&made.id).expect("the key is known");
    assert_eq!(found.user.arn, "arn:aws:iam::000000000000:user/Eve");
    assert_eq!(process.policies_of(&found.user).identity.len(), 1, "the group's policy binds its user");
}

#[test]
fn pages_follow_each_other() {
    let process = process();
    for number in 0..5 {
        done(&process, user(&format!("u{number}")));
    }
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = Page { after: after.take(), limit: 2 };
        let request = Request::List { kind: Kind::User, path_prefix: "/".to_owned(), page };
        let Response::Entities { page, .. } = done(&process, request) else { panic!("a list") };
        seen.extend(page.elements.into_iter().map(|entity| entity.name));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(seen, ["u0", "u1", "u2", "u3", "u4"]);
    let list = ListPolicies {
        scope: PolicyScope::All,
        only_attached: false,
        path_prefix: "/".to_owned(),
        usage: None,
        page: Page { after: None, limit: 2 },
    };
    let Response::ManagedPolicies(page) = done(&process, Request::ListPolicies(list)) else {
        panic!("a list")
    };
    assert_eq!((page.elements.len(), page.next.is_some()), (2, true));
}

#[test]
fn everything_is_there_when_the_store_opens_again() {
    let (store, env) = (MemoryStore::new(), Arc::default());
    let process = open(&store, &env);
    done(&process, user("ann"));
    done(&process, role("r"));
    done(&process, policy("p"));
    done(&process, attach(Kind::User, "ann", POLICY));
    let made = key(&process, "ann");
    let session_key = block_on(process.session_key()).expect("the key is made");
    drop(process);
    let process = open(&store, &env);
    let found = process.find_key(&made.id).expect("the key is known");
    assert_eq!(Some(found.secret), made.secret);
    assert_eq!(process.policies_of(&found.user).identity.len(), 1);
    let account = AccountId::from("000000000000");
    assert!(process.find_role(&account, ("/", "r")).is_some());
    assert_eq!(block_on(process.session_key()).expect("the key is there"), session_key);
}

/// Turns each byte around, under a number that stands for a key.
#[derive(Debug)]
struct Masked(u8);

impl RowSeal for Masked {
    fn seal(&self, key: &[u8], row: &[u8]) -> Vec<u8> {
        [self.0].into_iter().chain(key.iter().copied()).chain(row.iter().map(|byte| !byte)).collect()
    }

    fn open(&self, key: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let row = sealed.strip_prefix(&[self.0])?.strip_prefix(key)?;
        Some(row.iter().map(|byte| !byte).collect())
    }
}

fn try_sealed(store: &MemoryStore, env: &Arc<TestEnv>, number: Option<u8>) -> Result<Process, String> {
    let env: Arc<dyn Env> = Arc::<TestEnv>::clone(env);
    let secrets = number.map(|number| -> Arc<dyn RowSeal> { Arc::new(Masked(number)) });
    let config = EngineConfig { secrets, ..EngineConfig::default() };
    block_on(Engine::open(store.clone(), env, config)).map_err(|fault| fault.to_string())
}

/// Whether any row holds these bytes.
fn holds(store: &MemoryStore, needle: &[u8]) -> bool {
    let snapshot = block_on(store.snapshot()).expect("a store in memory");
    let range = KeyRange { start: Bytes::new(), end: None };
    let scan = Scan { range, direction: Direction::Forward, rows_max: 1_000, bytes_max: usize::MAX };
    let page = block_on(snapshot.scan(&scan)).expect("a store in memory");
    let within = |bytes: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
    page.entries.iter().any(|entry| within(&entry.value))
}

#[test]
fn once_rows_are_sealed_a_running_process_without_the_seal_writes_no_others() {
    let (store, env) = (MemoryStore::shared(), Arc::<TestEnv>::default());
    let plain = try_sealed(&store, &env, None).expect("an empty store opens");
    done(&plain, user("ann"));
    let sealed = try_sealed(&store, &env, Some(1)).expect("it seals what is there");
    assert_eq!(ask(&plain, user("ben")).expect_err("rows are sealed").kind, FaultKind::ServiceFailure);
    done(&sealed, user("cleo"));
    assert_eq!(names(&sealed, Kind::User), ["ann", "cleo"]);
    assert!(!holds(&store, br#""ann""#) && !holds(&store, br#""cleo""#));
}

#[test]
fn what_another_process_writes_without_a_seal_is_sealed_with_the_next_change() {
    let (store, env) = (MemoryStore::shared(), Arc::<TestEnv>::default());
    let plain = try_sealed(&store, &env, None).expect("an empty store opens");
    let sealed = try_sealed(&store, &env, Some(1)).expect("an empty store opens");
    done(&plain, user("ann"));
    let made = key(&plain, "ann");
    let secret = made.secret.expect("a new key has one");
    assert!(holds(&store, secret.as_bytes()));
    done(&sealed, user("ben"));
    assert!(!holds(&store, secret.as_bytes()));
    assert_eq!(names(&sealed, Kind::User), ["ann", "ben"]);
}

#[test]
fn with_a_seal_secrets_are_in_no_row_and_a_process_without_it_does_not_open_the_store() {
    let (store, env) = (MemoryStore::new(), Arc::<TestEnv>::default());
    let plain = try_sealed(&store, &env, None).expect("an empty store opens");
    done(&plain, user("ann"));
    let made = key(&plain, "ann");
    let session_key = block_on(plain.session_key()).expect("the key is made");
    drop(plain);
    let secret = made.secret.expect("a new key has one");
    assert!(holds(&store, secret.as_bytes()) && holds(&store, &session_key));

    let sealed = try_sealed(&store, &env, Some(7)).expect("what is plain is sealed");
    assert!(!holds(&store, secret.as_bytes()) && !holds(&store, &session_key), "sealed at once");
    assert_eq!(sealed.find_key(&made.id).map(|found| found.secret), Some(secret));
    assert_eq!(block_on(sealed.session_key()).ok(), Some(session_key));
    done(&sealed, user("ben"));
    let of_ben = key(&sealed, "ben").secret.expect("a new key has one");
    assert!(!holds(&store, of_ben.as_bytes()));
    drop(sealed);

    let without = try_sealed(&store, &env, None).map(|_| ()).expect_err("it cannot read users");
    assert!(without.contains("--encryption-key-file"), "{without}");
    let other = try_sealed(&store, &env, Some(8)).map(|_| ()).expect_err("it cannot read users");
    assert!(other.contains("another encryption key"), "{other}");
    assert!(try_sealed(&store, &env, Some(7)).is_ok());
}

/// What an account has is not another account's.
#[test]
fn accounts_share_nothing_but_the_store() {
    let process = process();
    done(&process, user("ann"));
    let made = key(&process, "ann");
    let mut other = caller();
    other.namespace.account = AccountId::from("999999999999");
    let ask = |request| block_on(process.manage_principals(&other, request));
    assert_eq!(
        ask(Request::GetUser { user: Some("ann".to_owned()) }).map_err(|fault| fault.kind),
        Err(FaultKind::NoSuchEntity)
    );
    assert_eq!(
        ask(Request::GetAccessKeyLastUsed { id: made.id }).map_err(|fault| fault.kind),
        Err(FaultKind::NoSuchEntity)
    );
    ask(user("ann")).expect("the name is free there");
    assert_eq!(names(&process, Kind::User), ["ann"]);
}

#[test]
fn processes_over_one_store_know_each_others_changes() {
    let (store, env) = (MemoryStore::shared(), Arc::<TestEnv>::default());
    env.now_ms.store(1_000_000, Ordering::Relaxed);
    let (one, other) = (open(&store, &env), open(&store, &env));
    done(&one, user("ann"));
    // The other's change begins with what the first has changed.
    done(&other, user("eve"));
    assert_eq!(refused(&other, user("ann")).0, FaultKind::EntityAlreadyExists);
    let made = key(&one, "ann");
    assert!(other.find_key(&made.id).is_none());
    block_on(other.find_new_principals()).expect("the store answers");
    assert!(other.find_key(&made.id).is_some());
    // A key that is refused is refused there after one step of the background work, within a second.
    let update =
        |is_active| Request::UpdateAccessKey { user: Some("ann".to_owned()), id: made.id.clone(), is_active };
    done(&one, update(false));
    env.now_ms.fetch_add(251, Ordering::Relaxed);
    block_on(other.step(env.now_ms.load(Ordering::Relaxed)));
    assert!(other.find_key(&made.id).is_none());
    // Without background work the next request after a second reads it.
    done(&one, update(true));
    env.now_ms.fetch_add(1_001, Ordering::Relaxed);
    block_on(other.follow_principals()).expect("the store answers");
    assert!(other.find_key(&made.id).is_some());
    done(&one, user("zoe"));
    assert_eq!(names(&one, Kind::User), ["ann", "eve", "zoe"]);
    let keys = [&one, &other].map(|process| block_on(process.session_key()).expect("a key"));
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn a_boundary_whose_policy_is_unknown_allows_nothing() {
    use keywright_access::action::Action;
    use keywright_access::arn::Target;
    use keywright_access::context::Context;
    use keywright_access::decide::{Question, decide};
    use keywright_access::policies::Policies;
    use keywright_access::principal::{Named, Principal};

    let process = process();
    let account = AccountId::from("000000000000");
    let gone = process.session_policy(&account, POLICY);
    let damaged = compiled_policy("p", "{", PolicyKind::Identity);
    let allows = compiled_policy("p", ALLOW, PolicyKind::Identity);
    let principal = Principal::user("000000000000", Named { path: "/", name: "ann" }, "AIDA");
    let (target, context) = (Target::Everything, Context::default());
    let question = Question {
        principal: &principal,
        action: Action::parse("dynamodb:ListTables"),
        target: &target,
        context: &context,
    };
    let may = |policies: &Policies<'_>| decide(&question, policies).is_allowed();
    let (identity, session) = ([Arc::clone(&allows)], [gone]);
    assert!(may(&Policies { identity: &identity, ..Policies::default() }));
    assert!(!may(&Policies { identity: &identity, session: &session, ..Policies::default() }));
    let both = [allows, damaged];
    assert!(!may(&Policies { identity: &both, ..Policies::default() }));
}

#[test]
fn a_role_trusts_a_user_itself_and_not_another_one_of_its_name() {
    let process = process();
    let trust = |name: &str| {
        format!(
            r#"{{"Statement": {{"Effect": "Allow", "Principal": {{"AWS": "arn:aws:iam::000000000000:user/{name}"}}, "Action": "sts:AssumeRole"}}}}"#
        )
    };
    let shown = || match done(&process, Request::GetRole { role: "r".to_owned() }) {
        Response::Entity(view) => view.role.expect("it is a role").trust,
        other => panic!("{other:?}"),
    };
    let stored = || {
        let role = process.find_role(&AccountId::from("000000000000"), ("/", "r"));
        role.expect("there is the role").trust
    };
    let Response::Entity(ann) = done(&process, user("ann")) else { panic!("no user") };
    let stored_id = format!("000000000000:{}", ann.id);
    let mut made = role("r");
    let Request::CreateRole(new) = &mut made else { panic!("no role") };
    new.trust = trust("ann");
    assert!(
        matches!(done(&process, made), Response::Entity(view) if view.role.clone().unwrap().trust == trust("ann"))
    );
    assert_eq!(
        (shown(), stored()),
        (trust("ann"), trust("ann").replace("arn:aws:iam::000000000000:user/ann", &stored_id))
    );
    let renamed =
        Request::Rename { owner: owner(Kind::User, "ann"), new_name: Some("eve".to_owned()), new_path: None };
    done(&process, renamed);
    assert_eq!(shown(), trust("eve"), "it is the same user");
    done(&process, Request::Delete(owner(Kind::User, "eve")));
    done(&process, user("eve"));
    assert_eq!(shown().replace(&ann.id, &stored_id), stored(), "nobody has the id");
    let document = shown();
    done(&process, Request::UpdateAssumeRolePolicy { role: "r".to_owned(), document });
    assert!(stored().contains(&format!("\"{stored_id}\"")), "{}", stored());
    let document = trust("eve");
    done(&process, Request::UpdateAssumeRolePolicy { role: "r".to_owned(), document });
    assert_eq!(shown(), trust("eve"));
    assert_ne!(stored(), shown());
}
