//! The calls of IAM that make an account as a file says.
//!
//! What the file does not name stays, unless it is to be pruned. It does not send calls.

use std::fmt;

use keywright_semantics::iam::Operation;
use keywright_semantics::iam::names::{Kind, folded};

use super::{AccessFile, AccessKey, Entity, ManagedPolicy, PolicyDocument, Principals, Secret};

/// Versions that a managed policy has at most.
const VERSIONS_MAX: usize = 5;

/// What becomes of things that the file does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prune {
    /// They stay.
    Nothing,
    /// They go.
    All,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The operation.
    pub operation: Operation,
    /// Its parameters, as forms name them.
    pub members: Vec<(String, String)>,
    /// Where the secret of a new access key is, which is a parameter too.
    pub secret: Option<Secret>,
    /// What it changes, for people.
    pub text: String,
}

/// Why an account cannot be made as a file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFault(String);

impl fmt::Display for PlanFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for PlanFault {}

/// The calls that make an account with `there` as `file` says, in their order; none if it is so already.
pub fn plan(
    file: &AccessFile,
    there: &Principals,
    account: &str,
    prune: Prune,
) -> Result<Vec<Step>, PlanFault> {
    if let Some(own) = file.account.as_ref().filter(|own| *own != account) {
        return Err(PlanFault(format!(
            "the file is for account {own} and the keys are of account {account}: use keys of that account"
        )));
    }
    let wanted = &file.principals;
    let mut planner = Planner { wanted, there, account, prune, steps: Vec::new() };
    for policy in wanted.policies.values() {
        planner.policy(policy)?;
    }
    for entity in wanted.entities.values() {
        planner.made(entity)?;
    }
    for entity in wanted.entities.values() {
        planner.held(entity)?;
    }
    if prune == Prune::All {
        planner.removed();
    }
    Ok(planner.steps)
}

struct Planner<'p> {
    wanted: &'p Principals,
    there: &'p Principals,
    account: &'p str,
    prune: Prune,
    steps: Vec<Step>,
}

/// The operation of a kind, such as `CreateUser` or `PutUserPolicy`.
fn operation(before: &str, kind: Kind, after: &str) -> Operation {
    let name = format!("{before}{}{after}", kind.title());
    Operation::from_name(&name).expect("IAM has the operation for this kind")
}

fn owned(members: &[(&str, &str)]) -> Vec<(String, String)> {
    members.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn name_member(kind: Kind) -> String {
    format!("{}Name", kind.title())
}

fn tag_members<'t>(tags: impl Iterator<Item = (&'t String, &'t String)>) -> Vec<(String, String)> {
    let of = |(place, (key, value)): (u32, (&String, &String))| {
        let at = format!("Tags.member.{place}");
        [(format!("{at}.Key"), key.clone()), (format!("{at}.Value"), value.clone())]
    };
    (1..).zip(tags).flat_map(of).collect()
}

impl Planner<'_> {
    fn step(&mut self, operation: Operation, members: Vec<(String, String)>, text: String) {
        self.steps.push(Step { operation, members, secret: None, text });
    }

    /// A step on an entity.
    fn on(&mut self, entity: &Entity, operation: Operation, members: &[(&str, &str)], text: &str) {
        let mut all = vec![(name_member(entity.kind), entity.name.clone())];
        all.extend(owned(members));
        self.step(operation, all, format!("{text} {} {}", entity.kind.word(), entity.name));
    }

    fn policy(&mut self, policy: &ManagedPolicy) -> Result<(), PlanFault> {
        let Some(there) = self.there.policies.get(&folded(&policy.name)) else {
            let mut members = owned(&[
                ("PolicyName", &policy.name),
                ("Path", policy.path.as_deref().unwrap_or("/")),
                ("PolicyDocument", &policy.document.text()),
            ]);
            members.extend(policy.description.iter().map(|text| ("Description".to_owned(), text.clone())));
            self.step(Operation::CreatePolicy, members, format!("create policy {}", policy.name));
            return Ok(());
        };
        check_path("policy", &policy.name, (policy.path.as_ref(), there.path.as_ref()))?;
        if there.document == policy.document {
            return Ok(());
        }
        let arn = there.arn(self.account);
        if there.versions.len() + 1 >= VERSIONS_MAX
            && let Some(oldest) = there.versions.first()
        {
            let members = owned(&[("PolicyArn", &arn), ("VersionId", oldest)]);
            let text = format!("delete version {oldest} of policy {}", policy.name);
            self.step(Operation::DeletePolicyVersion, members, text);
        }
        let members = owned(&[
            ("PolicyArn", &arn),
            ("PolicyDocument", &policy.document.text()),
            ("SetAsDefault", "true"),
        ]);
        self.step(Operation::CreatePolicyVersion, members, format!("change policy {}", policy.name));
        Ok(())
    }

    /// The ARN of a policy that the file names. One that is there keeps its path.
    fn arn(&self, named: &str) -> String {
        match self.there.policies.get(&folded(named)) {
            Some(there) if self.wanted.policies.contains_key(&folded(named)) => there.arn(self.account),
            _ => self.wanted.policy_arn(self.account, named),
        }
    }

    /// The entity itself.
    fn made(&mut self, entity: &Entity) -> Result<(), PlanFault> {
        match self.there.entity(entity.kind, &entity.name) {
            None => self.create(entity),
            Some(there) => self.change(entity, there)?,
        }
        Ok(())
    }

    fn create(&mut self, entity: &Entity) {
        let mut members = vec![
            (name_member(entity.kind), entity.name.clone()),
            ("Path".to_owned(), entity.path.clone().unwrap_or_else(|| "/".to_owned())),
        ];
        let mut add = |name: &str, value: Option<String>| {
            members.extend(value.map(|value| (name.to_owned(), value)));
        };
        add(&format!("{}Id", entity.kind.title()), entity.id.clone());
        add("PermissionsBoundary", entity.boundary.as_ref().map(|named| self.arn(named)));
        add("AssumeRolePolicyDocument", entity.trust.as_ref().map(PolicyDocument::text));
        add("Description", entity.description.clone().filter(|text| !text.is_empty()));
        add("MaxSessionDuration", entity.session_seconds_max.map(|seconds| seconds.to_string()));
        members.extend(tag_members(entity.tags.iter()));
        let text = format!("create {} {}", entity.kind.word(), entity.name);
        self.step(operation("Create", entity.kind, ""), members, text);
    }

    fn change(&mut self, entity: &Entity, there: &Entity) -> Result<(), PlanFault> {
        let kind = entity.kind;
        if let (Some(id), Some(other)) = (&entity.id, &there.id)
            && id != other
        {
            let (word, name) = (kind.word(), &entity.name);
            return Err(PlanFault(format!(
                "the {word} {name} has the id {other} and the file says {id}: delete the {word} first, or correct the id"
            )));
        }
        let path_there = there.path.as_deref().unwrap_or("/");
        if kind == Kind::Role {
            check_path("role", &entity.name, (entity.path.as_ref(), there.path.as_ref()))?;
        } else if let Some(path) = entity.path.as_deref().filter(|path| *path != path_there) {
            self.on(entity, operation("Update", kind, ""), &[("NewPath", path)], "move to another path");
        }
        match (&entity.boundary, &there.boundary) {
            (Some(named), old) if old.as_ref() != Some(&self.arn(named)) => {
                let arn = self.arn(named);
                let put = operation("Put", kind, "PermissionsBoundary");
                self.on(entity, put, &[("PermissionsBoundary", &arn)], "set the boundary of");
            }
            (None, Some(_)) if self.prune == Prune::All => {
                self.on(
                    entity,
                    operation("Delete", kind, "PermissionsBoundary"),
                    &[],
                    "remove the boundary of",
                );
            }
            _ => {}
        }
        if let Some(trust) = entity.trust.as_ref().filter(|trust| there.trust.as_ref() != Some(*trust)) {
            let text = trust.text();
            let members = [("PolicyDocument", text.as_str())];
            self.on(entity, Operation::UpdateAssumeRolePolicy, &members, "change who may take");
        }
        self.change_role(entity, there);
        self.change_tags(entity, there);
        Ok(())
    }

    fn change_role(&mut self, entity: &Entity, there: &Entity) {
        let seconds =
            entity.session_seconds_max.filter(|seconds| there.session_seconds_max != Some(*seconds));
        let seconds = seconds.map(|seconds| seconds.to_string());
        let text_there = there.description.clone().unwrap_or_default();
        let description = entity.description.as_deref().filter(|text| *text != text_there);
        let members: Vec<(&str, &str)> = [
            description.map(|text| ("Description", text)),
            seconds.as_deref().map(|seconds| ("MaxSessionDuration", seconds)),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !members.is_empty() {
            self.on(entity, Operation::UpdateRole, &members, "change settings of");
        }
    }

    fn change_tags(&mut self, entity: &Entity, there: &Entity) {
        let kind = entity.kind;
        let differing = entity.tags.iter().filter(|(key, value)| there.tags.get(*key) != Some(*value));
        let members = tag_members(differing);
        if !members.is_empty() {
            let members: Vec<(&str, &str)> =
                members.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            self.on(entity, operation("Tag", kind, ""), &members, "tag");
        }
        let is_kept = |key: &String| entity.tags.keys().any(|kept| kept.eq_ignore_ascii_case(key));
        let gone: Vec<&String> = there.tags.keys().filter(|key| !is_kept(key)).collect();
        if self.prune == Prune::All && !gone.is_empty() {
            let names: Vec<String> =
                (1..=gone.len()).map(|place| format!("TagKeys.member.{place}")).collect();
            let members: Vec<(&str, &str)> =
                names.iter().zip(gone).map(|(name, key)| (name.as_str(), key.as_str())).collect();
            self.on(entity, operation("Untag", kind, ""), &members, "remove tags of");
        }
    }

    /// What an entity has: policies, groups and keys.
    fn held(&mut self, entity: &Entity) -> Result<(), PlanFault> {
        let nothing = Entity::new(entity.kind, entity.name.clone());
        let there = self.there.entity(entity.kind, &entity.name).unwrap_or(&nothing);
        let kind = entity.kind;
        let wanted: Vec<String> = entity.attached.iter().map(|named| self.arn(named)).collect();
        for arn in wanted.iter().filter(|arn| !there.attached.contains(*arn)) {
            let text = format!("attach {arn} to");
            self.on(entity, operation("Attach", kind, "Policy"), &[("PolicyArn", arn)], &text);
        }
        for (name, document) in &entity.inline {
            if there.inline.get(name) != Some(document) {
                let text = format!("put policy {name} of");
                let document = document.text();
                let members = [("PolicyName", name.as_str()), ("PolicyDocument", document.as_str())];
                self.on(entity, operation("Put", kind, "Policy"), &members, &text);
            }
        }
        let is_member = |group: &String| there.groups.iter().any(|other| folded(other) == folded(group));
        for group in entity.groups.iter().filter(|group| !is_member(group)) {
            let text = format!("add to group {group} the");
            self.on(entity, Operation::AddUserToGroup, &[("GroupName", group)], &text);
        }
        for (id, key) in &entity.keys {
            self.key(entity, (id, key), there.keys.get(id))?;
        }
        if self.prune == Prune::All {
            let kept = Kept { attached: &wanted, entity };
            self.pruned(there, &kept);
        }
        Ok(())
    }

    fn key(
        &mut self,
        user: &Entity,
        (id, key): (&str, &AccessKey),
        there: Option<&AccessKey>,
    ) -> Result<(), PlanFault> {
        let is_active = match (there, &key.secret) {
            (Some(there), _) => there.is_active,
            (None, Some(secret)) => {
                self.on(
                    user,
                    Operation::CreateAccessKey,
                    &[("AccessKeyId", id)],
                    &format!("create key {id} of"),
                );
                if let Some(step) = self.steps.last_mut() {
                    step.secret = Some(secret.clone());
                }
                true
            }
            (None, None) => {
                return Err(PlanFault(format!(
                    "users.{}.keys: the account has no key {id}, and the file does not say its secret: add \
                     secret_file or secret_variable, or remove the key from the file",
                    user.name
                )));
            }
        };
        if is_active != key.is_active {
            let status = if key.is_active { "Active" } else { "Inactive" };
            let text = format!("set to {} key {id} of", status.to_lowercase());
            self.on(user, Operation::UpdateAccessKey, &[("AccessKeyId", id), ("Status", status)], &text);
        }
        Ok(())
    }

    /// Takes from an entity what is not kept.
    fn pruned(&mut self, there: &Entity, kept: &Kept<'_>) {
        let kind = there.kind;
        for arn in there.attached.iter().filter(|arn| !kept.attached.contains(arn)) {
            let text = format!("detach {arn} from");
            self.on(there, operation("Detach", kind, "Policy"), &[("PolicyArn", arn)], &text);
        }
        for name in there.inline.keys().filter(|name| !kept.entity.inline.contains_key(*name)) {
            let text = format!("delete policy {name} of");
            self.on(there, operation("Delete", kind, "Policy"), &[("PolicyName", name)], &text);
        }
        let is_kept = |group: &String| kept.entity.groups.iter().any(|other| folded(other) == folded(group));
        for group in there.groups.iter().filter(|group| !is_kept(group)) {
            let text = format!("remove from group {group} the");
            self.on(there, Operation::RemoveUserFromGroup, &[("GroupName", group)], &text);
        }
        for id in there.keys.keys().filter(|id| !kept.entity.keys.contains_key(*id)) {
            let text = format!("delete key {id} of");
            self.on(there, Operation::DeleteAccessKey, &[("AccessKeyId", id)], &text);
        }
    }

    /// Removes entities and policies that the file does not name. Groups come after the users in them.
    fn removed(&mut self) {
        for kind in [Kind::User, Kind::Role, Kind::Group] {
            let gone: Vec<&Entity> = self
                .there
                .entities
                .values()
                .filter(|entity| entity.kind == kind && self.wanted.entity(kind, &entity.name).is_none())
                .collect();
            for entity in gone {
                let nothing = Entity::new(kind, entity.name.clone());
                self.pruned(entity, &Kept { attached: &[], entity: &nothing });
                self.on(entity, operation("Delete", kind, ""), &[], "delete");
            }
        }
        for (name, policy) in &self.there.policies {
            if self.wanted.policies.contains_key(name) {
                continue;
            }
            let arn = policy.arn(self.account);
            for version in &policy.versions {
                let members = owned(&[("PolicyArn", &arn), ("VersionId", version)]);
                let text = format!("delete version {version} of policy {}", policy.name);
                self.step(Operation::DeletePolicyVersion, members, text);
            }
            let members = owned(&[("PolicyArn", &arn)]);
            self.step(Operation::DeletePolicy, members, format!("delete policy {}", policy.name));
        }
    }
}

/// What of an entity stays.
struct Kept<'k> {
    /// ARNs of policies.
    attached: &'k [String],
    entity: &'k Entity,
}

/// Refuses another path of what cannot be moved.
fn check_path(
    word: &str,
    name: &str,
    (wanted, there): (Option<&String>, Option<&String>),
) -> Result<(), PlanFault> {
    let there = there.map_or("/", String::as_str);
    match wanted.filter(|wanted| *wanted != there) {
        None => Ok(()),
        Some(path) => Err(PlanFault(format!(
            "the {word} {name} has the path {there} and the file says {path}: IAM moves no {word}; delete it first, or \
             write the path that it has"
        ))),
    }
}
