//! The policies that bind a user, role or group of a file or account.
//!
//! It does not know requests, and decides nothing.

use std::fmt;
use std::sync::Arc;

use keywright_semantics::iam::names::{IamArn, Kind, folded};

use super::{Entity, Principals};
use crate::document::PolicyKind;
use crate::policies::{Policy, compiled_policy};
use crate::principal::{Named, Principal};

/// What stands for the id of a user or role, which files do not have.
const NO_ID: &str = "UNKNOWN";

/// The document of a policy that every account has, by its ARN.
pub type BuiltIn<'b> = &'b dyn Fn(&str) -> Option<&'static str>;

/// The policies that bind one principal.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    /// Of the user and its groups, or of the role.
    pub identity: Vec<Arc<Policy>>,
    /// The permissions boundary.
    pub boundary: Option<Arc<Policy>>,
}

/// There is no policy of this ARN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy(String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "there is no policy {}: add it to the file, or correct its ARN", self.0)
    }
}

impl std::error::Error for UnknownPolicy {}

impl Entity {
    /// The user, or a session of the role of this name.
    pub fn principal(&self, account: &str, session: &str) -> Principal {
        let named = Named { path: self.path.as_deref().unwrap_or("/"), name: &self.name };
        let id = self.id.as_deref().unwrap_or(NO_ID);
        let principal = match self.kind {
            Kind::Role => Principal::session(account, named, id, session),
            Kind::User | Kind::Group => Principal::user(account, named, id),
        };
        principal.with_tags(self.tags.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
    }
}

impl Principals {
    /// The policies that bind an entity.
    pub fn bound(
        &self,
        entity: &Entity,
        account: &str,
        built_in: BuiltIn<'_>,
    ) -> Result<Bound, UnknownPolicy> {
        let mut bound = Bound::default();
        let groups = entity.groups.iter().filter_map(|group| self.entity(Kind::Group, group));
        for holder in groups.chain([entity]) {
            let owner = format!("{} {}", holder.kind.word(), holder.name);
            for (name, document) in &holder.inline {
                let name = format!("{name} of {owner}");
                bound.identity.push(compiled_policy(&name, &document.text(), PolicyKind::Identity));
            }
            for named in &holder.attached {
                let arn = self.policy_arn(account, named);
                let text = self.managed_text(account, &arn, built_in)?;
                let name = format!("{arn}, attached to {owner}");
                bound.identity.push(compiled_policy(&name, &text, PolicyKind::Identity));
            }
        }
        if let Some(named) = &entity.boundary {
            let arn = self.policy_arn(account, named);
            let text = self.managed_text(account, &arn, built_in)?;
            bound.boundary = Some(compiled_policy(&arn, &text, PolicyKind::Boundary));
        }
        Ok(bound)
    }

    /// The document of a managed policy by its ARN.
    pub fn managed_text(
        &self,
        account: &str,
        arn: &str,
        built_in: BuiltIn<'_>,
    ) -> Result<String, UnknownPolicy> {
        let own = IamArn::parse(arn).and_then(|parsed| self.policies.get(&folded(parsed.name)));
        let text = own.filter(|policy| policy.arn(account) == arn).map(|policy| policy.document.text());
        let text = text.or_else(|| built_in(arn).map(str::to_owned));
        text.ok_or_else(|| UnknownPolicy(arn.to_owned()))
    }
}
