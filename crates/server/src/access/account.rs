//! What an account has, by calls of IAM.

use std::collections::BTreeMap;

use keywright_access::file::{AccessFile, AccessKey, Entity, ManagedPolicy, PolicyDocument, Principals};
use keywright_semantics::iam::Operation;
use keywright_semantics::iam::names::Kind;
use keywright_semantics::monitoring::document::Document;
use keywright_wire::policy_text;

use super::iam::Iam;
use crate::process::failure::Failure;

/// Pages of one list: more are a fault of the endpoint.
const PAGES_MAX: usize = 100_000;
/// What IAM takes for seconds of a role's sessions if nothing is said.
const DEFAULT_SESSION_SECONDS: u32 = 3600;

type Members = Vec<(String, String)>;

fn text(document: &Document, member: &str) -> String {
    document.text_of(member).ok().flatten().unwrap_or_default()
}

fn filled(document: &Document, member: &str) -> Option<String> {
    Some(text(document, member)).filter(|text| !text.is_empty())
}

fn elements<'d>(document: &'d Document, member: &str) -> &'d [Document] {
    match document.member(member) {
        Document::List(elements) => elements,
        _ => &[],
    }
}

fn words(elements: &[Document]) -> impl Iterator<Item = &String> {
    elements.iter().filter_map(|one| if let Document::Text(text) = one { Some(text) } else { None })
}

fn of(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// All elements of a list, page by page.
async fn list(
    iam: &mut impl Iam,
    operation: Operation,
    members: &[(String, String)],
    list: &str,
) -> Result<Vec<Document>, Failure> {
    let (mut all, mut marker) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let mut asked = members.to_vec();
        asked.extend(marker.map(|marker| ("Marker".to_owned(), marker)));
        let page = iam.call(operation, &asked).await?;
        all.extend_from_slice(elements(&page, list));
        marker = filled(&page, "Marker").filter(|_| text(&page, "IsTruncated") == "true");
        if marker.is_none() {
            return Ok(all);
        }
    }
    Err(Failure::new(format!("{}: the list has no end", operation.name())))
}

fn document(encoded: &str, of_what: &str) -> Result<PolicyDocument, Failure> {
    PolicyDocument::parse(&policy_text(encoded))
        .ok_or_else(|| Failure::new(format!("the account's policy of {of_what} is not JSON")))
}

/// Users, groups, roles and policies of the account.
pub(crate) async fn read(iam: &mut impl Iam) -> Result<Principals, Failure> {
    let mut principals = Principals::default();
    for policy in list(iam, Operation::ListPolicies, &[of("Scope", "Local")], "Policies").await? {
        principals.insert_policy(managed(iam, &policy).await?);
    }
    for kind in [Kind::Group, Kind::User, Kind::Role] {
        let plural = format!("{}s", kind.title());
        let listed = operation("List", kind, "s");
        for shown in list(iam, listed, &[], &plural).await? {
            let entity = entity(iam, kind, &shown).await?;
            principals.insert(entity);
        }
    }
    Ok(principals)
}

/// The operation of a kind, such as `ListUserPolicies`.
fn operation(before: &str, kind: Kind, after: &str) -> Operation {
    let name = format!("{before}{}{after}", kind.title());
    Operation::from_name(&name).expect("IAM has the operation for this kind")
}

async fn managed(iam: &mut impl Iam, shown: &Document) -> Result<ManagedPolicy, Failure> {
    let (arn, name) = (text(shown, "Arn"), text(shown, "PolicyName"));
    let by_arn = [of("PolicyArn", &arn)];
    let mut versions = Vec::new();
    for version in list(iam, Operation::ListPolicyVersions, &by_arn, "Versions").await? {
        if text(&version, "IsDefaultVersion") != "true" {
            versions.push(text(&version, "VersionId"));
        }
    }
    versions.sort_by_key(|id| id.trim_start_matches('v').parse().unwrap_or(u64::MAX));
    let by_version = [of("PolicyArn", &arn), of("VersionId", &text(shown, "DefaultVersionId"))];
    let version = iam.call(Operation::GetPolicyVersion, &by_version).await?;
    let policy = iam.call(Operation::GetPolicy, &by_arn).await?;
    Ok(ManagedPolicy {
        path: filled(shown, "Path"),
        description: filled(policy.member("Policy"), "Description"),
        document: document(&text(version.member("PolicyVersion"), "Document"), &name)?,
        versions,
        name,
    })
}

async fn entity(iam: &mut impl Iam, kind: Kind, listed: &Document) -> Result<Entity, Failure> {
    let title = kind.title();
    let name = text(listed, &format!("{title}Name"));
    let by_name: Members = vec![of(&format!("{title}Name"), &name)];
    let shown = match kind {
        Kind::Group => listed.clone(),
        _ => iam.call(operation("Get", kind, ""), &by_name).await?.member(title).clone(),
    };
    let mut entity = Entity::new(kind, name.clone());
    entity.path = filled(&shown, "Path");
    entity.id = filled(&shown, &format!("{title}Id")).filter(|_| kind != Kind::Group);
    entity.boundary = filled(shown.member("PermissionsBoundary"), "PermissionsBoundaryArn");
    entity.tags = elements(&shown, "Tags").iter().map(|tag| (text(tag, "Key"), text(tag, "Value"))).collect();
    let inline = list(iam, operation("List", kind, "Policies"), &by_name, "PolicyNames").await?;
    for policy in words(&inline) {
        let by_policy = [by_name.as_slice(), &[of("PolicyName", policy)]].concat();
        let got = iam.call(operation("Get", kind, "Policy"), &by_policy).await?;
        entity.inline.insert(policy.clone(), document(&text(&got, "PolicyDocument"), &name)?);
    }
    let listed = Operation::from_name(&format!("ListAttached{title}Policies")).expect("an operation of IAM");
    for policy in list(iam, listed, &by_name, "AttachedPolicies").await? {
        entity.attached.insert(text(&policy, "PolicyArn"));
    }
    match kind {
        Kind::Group => {}
        Kind::User => {
            for group in list(iam, Operation::ListGroupsForUser, &by_name, "Groups").await? {
                entity.groups.insert(text(&group, "GroupName"));
            }
            entity.keys = keys(iam, &by_name).await?;
        }
        Kind::Role => {
            entity.trust = Some(document(&text(&shown, "AssumeRolePolicyDocument"), &name)?);
            entity.description = filled(&shown, "Description");
            entity.session_seconds_max = text(&shown, "MaxSessionDuration").parse().ok();
        }
    }
    Ok(entity)
}

async fn keys(
    iam: &mut impl Iam,
    by_name: &[(String, String)],
) -> Result<BTreeMap<String, AccessKey>, Failure> {
    let keys = list(iam, Operation::ListAccessKeys, by_name, "AccessKeyMetadata").await?;
    let of_key = |key: &Document| {
        let key_is_active = text(key, "Status") == "Active";
        (text(key, "AccessKeyId"), AccessKey { is_active: key_is_active, secret: None })
    };
    Ok(keys.iter().map(of_key).collect())
}

/// The file that says what an account has: own policies by their names, and nothing that goes without saying.
pub(crate) fn exported(account: &str, mut principals: Principals) -> AccessFile {
    let own: BTreeMap<String, String> =
        principals.policies.values().map(|policy| (policy.arn(account), policy.name.clone())).collect();
    let named = |arn: String| own.get(&arn).cloned().unwrap_or(arn);
    let told = |path: Option<String>| path.filter(|path| path != "/");
    for entity in principals.entities.values_mut() {
        entity.path = told(entity.path.take());
        entity.attached = std::mem::take(&mut entity.attached).into_iter().map(named).collect();
        entity.boundary = entity.boundary.take().map(named);
        entity.session_seconds_max.take_if(|seconds| *seconds == DEFAULT_SESSION_SECONDS);
    }
    for policy in principals.policies.values_mut() {
        policy.path = told(policy.path.take());
        policy.versions.clear();
    }
    AccessFile { account: Some(account.to_owned()), principals }
}
