//! What an account has once a step of a plan is done: what the call does at the server, as far as rights
//! depend on it.
//!
//! It sends nothing, and knows the operations of plans alone.

use keywright_semantics::iam::Operation;
use keywright_semantics::iam::names::{IamArn, Kind, folded};

use super::{AccessKey, Entity, ManagedPolicy, PolicyDocument, Principals, Step};

/// The members by which a step names its user, role or group. A step on a member of a group names both.
const OWNERS: [(Kind, &str); 3] =
    [(Kind::User, "UserName"), (Kind::Role, "RoleName"), (Kind::Group, "GroupName")];

impl Step {
    /// The value of a parameter.
    pub(super) fn member(&self, name: &str) -> Option<&str> {
        self.members.iter().find(|(member, _)| member == name).map(|(_, value)| value.as_str())
    }

    /// The user, role or group that it is about.
    pub(super) fn owner(&self) -> Option<(Kind, &str)> {
        OWNERS.into_iter().find_map(|(kind, member)| Some((kind, self.member(member)?)))
    }

    /// The tags that it gives.
    pub(super) fn tags(&self) -> Vec<(String, String)> {
        let tag = |place: usize| {
            let at = format!("Tags.member.{place}");
            Some((self.member(&format!("{at}.Key"))?, self.member(&format!("{at}.Value"))?))
        };
        (1..).map_while(tag).map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    fn document(&self, member: &str) -> Option<PolicyDocument> {
        PolicyDocument::parse(self.member(member)?)
    }

    fn text(&self, member: &str) -> Option<String> {
        self.member(member).map(str::to_owned)
    }
}

impl Principals {
    /// Does a step.
    pub(super) fn take(&mut self, step: &Step) {
        match (step.owner(), step.operation) {
            (None, _) => self.take_on_policy(step),
            (Some((kind, name)), Operation::CreateUser | Operation::CreateGroup | Operation::CreateRole) => {
                let mut entity = Entity::new(kind, name);
                entity.path = step.text("Path");
                entity.id = step.text(&format!("{}Id", kind.title()));
                entity.boundary = step.text("PermissionsBoundary");
                entity.trust = step.document("AssumeRolePolicyDocument");
                entity.tags = step.tags().into_iter().collect();
                self.insert(entity);
            }
            (Some((kind, name)), Operation::DeleteUser | Operation::DeleteGroup | Operation::DeleteRole) => {
                self.entities.remove(&(kind, folded(name)));
            }
            (Some((kind, name)), _) => {
                if let Some(entity) = self.entities.get_mut(&(kind, folded(name))) {
                    entity.take(step);
                }
            }
        }
    }

    fn take_on_policy(&mut self, step: &Step) {
        let named = step.member("PolicyArn").and_then(IamArn::parse).map(|arn| folded(arn.name));
        match step.operation {
            Operation::CreatePolicy => {
                let (Some(name), Some(document)) = (step.text("PolicyName"), step.document("PolicyDocument"))
                else {
                    return;
                };
                let path = step.text("Path");
                self.insert_policy(ManagedPolicy {
                    name,
                    path,
                    description: None,
                    document,
                    versions: Vec::new(),
                });
            }
            Operation::CreatePolicyVersion => {
                let policy = named.and_then(|name| self.policies.get_mut(&name));
                if let (Some(policy), Some(document)) = (policy, step.document("PolicyDocument")) {
                    policy.document = document;
                }
            }
            Operation::DeletePolicy => {
                named.and_then(|name| self.policies.remove(&name));
            }
            // Plans delete versions that are not in force.
            _ => {}
        }
    }
}

impl Entity {
    /// Does a step on this entity.
    fn take(&mut self, step: &Step) {
        let (arn, policy) = (step.text("PolicyArn"), step.text("PolicyName"));
        let (group, key) = (step.text("GroupName"), step.text("AccessKeyId"));
        match step.operation {
            Operation::UpdateUser | Operation::UpdateGroup => self.path = step.text("NewPath"),
            Operation::PutUserPermissionsBoundary
            | Operation::PutRolePermissionsBoundary
            | Operation::DeleteUserPermissionsBoundary
            | Operation::DeleteRolePermissionsBoundary => self.boundary = step.text("PermissionsBoundary"),
            Operation::TagUser | Operation::TagRole => self.tags.extend(step.tags()),
            Operation::UntagUser | Operation::UntagRole => {
                self.tags.retain(|key, _| {
                    let is_it = |(name, gone): &(String, String)| name.starts_with("TagKeys.") && gone == key;
                    !step.members.iter().any(is_it)
                });
            }
            Operation::AttachUserPolicy | Operation::AttachGroupPolicy | Operation::AttachRolePolicy => {
                self.attached.extend(arn);
            }
            Operation::DetachUserPolicy | Operation::DetachGroupPolicy | Operation::DetachRolePolicy => {
                self.attached.retain(|attached| Some(attached) != arn.as_ref());
            }
            Operation::PutUserPolicy | Operation::PutGroupPolicy | Operation::PutRolePolicy => {
                self.inline.extend(policy.zip(step.document("PolicyDocument")));
            }
            Operation::DeleteUserPolicy | Operation::DeleteGroupPolicy | Operation::DeleteRolePolicy => {
                self.inline.retain(|name, _| Some(name) != policy.as_ref());
            }
            Operation::AddUserToGroup => self.groups.extend(group),
            Operation::RemoveUserFromGroup => {
                let left = group.map(|name| folded(&name));
                self.groups.retain(|name| Some(folded(name)) != left);
            }
            Operation::UpdateAssumeRolePolicy => self.trust = step.document("PolicyDocument"),
            Operation::CreateAccessKey => {
                self.keys.extend(key.map(|id| (id, AccessKey { is_active: true, secret: None })));
            }
            Operation::UpdateAccessKey => {
                if let Some(key) = key.and_then(|id| self.keys.get_mut(&id)) {
                    key.is_active = step.member("Status") == Some("Active");
                }
            }
            Operation::DeleteAccessKey => self.keys.retain(|id, _| Some(id) != key.as_ref()),
            // Settings of a role give and take no right.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::file::{AccessFile, Prune, plan};

    const ACCOUNT: &str = "123456789012";

    fn file(text: &str) -> AccessFile {
        AccessFile::parse(text).unwrap()
    }

    /// What an account has after it was made as a file says.
    fn made(mut there: Principals, file: &AccessFile) -> Principals {
        for step in plan(file, &there, ACCOUNT, Prune::All).unwrap() {
            there.take(&step);
        }
        there
    }

    #[test]
    fn the_steps_of_a_plan_lead_to_what_the_file_says() {
        let allow = r#"{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#;
        let deny = r#"{"Statement": {"Effect": "Deny", "Action": "*", "Resource": "*"}}"#;
        let trust = |name: &str| {
            format!(
                r#"{{"Statement": {{"Effect": "Allow", "Action": "sts:AssumeRole",
                "Principal": {{"AWS": "arn:aws:iam::123456789012:user/{name}"}}}}}}"#
            )
        };
        let (ann, ben) = (trust("ann"), trust("ben"));
        let one = file(&format!(
            r#"{{"policies": {{"own": {{"document": {allow}}}, "old": {{"document": {deny}}}}},
            "groups": {{"g": {{"attached": ["own"]}}, "h": {{"inline": {{"i": {allow}}}}}}},
            "users": {{"ann": {{"attached": ["own"], "boundary": "old", "groups": ["g"], "tags": {{"a": "1"}},
                "inline": {{"i": {allow}}}, "keys": [{{"id": "AKIAANN0000000000001", "secret_variable": "A"}}]}},
                "eve": {{}}}},
            "roles": {{"r": {{"trust": {ann}, "attached": ["old"], "tags": {{"b": "2"}}}}}}}}"#
        ));
        let two = file(&format!(
            r#"{{"policies": {{"own": {{"document": {deny}}}}},
            "groups": {{"h": {{"attached": ["own"], "path": "/p/"}}}},
            "users": {{"ann": {{"path": "/q/", "groups": ["h"], "tags": {{"c": "3"}}, "boundary": "own",
                "inline": {{"j": {deny}}}, "keys": [{{"id": "AKIAANN0000000000001", "active": false, "secret_variable": "A"}},
                    {{"id": "AKIAANN0000000000002", "secret_variable": "B"}}]}}}},
            "roles": {{"r": {{"trust": {ben}, "inline": {{"k": {allow}}}}}, "s": {{"trust": {ann}}}}}}}"#
        ));
        let empty = AccessFile::default();
        for steps in [[&one, &two, &one], [&two, &empty, &one], [&one, &one, &two]] {
            let mut there = Principals::default();
            for file in steps {
                there = made(there, file);
                assert_eq!(plan(file, &there, ACCOUNT, Prune::All), Ok(Vec::new()));
            }
        }
        assert_eq!(made(made(Principals::default(), &one), &empty).entities, BTreeMap::new());
    }
}
