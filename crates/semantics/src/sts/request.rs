//! Typed requests, with the checks that need no stored entity. Sources: the public service model and the API
//! reference.

use std::collections::BTreeMap;

use super::Operation;
use crate::iam::fault::{Fault, FaultKind};
use crate::iam::names::IamArn;
use crate::iam::reader::{Length, Reader};
use crate::monitoring::document::Document;

/// Seconds of a role's session.
const ROLE_SECONDS: (i64, i64) = (900, 43_200);
const ROLE_SECONDS_DEFAULT: u32 = 3600;
/// Seconds of a session of a user.
const USER_SECONDS: (i64, i64) = (900, 129_600);
const USER_SECONDS_DEFAULT: u32 = 43_200;
/// Characters of a session's policy.
const POLICY_MAX: usize = 2048;
/// Managed policies of a session.
const POLICY_ARNS_MAX: usize = 10;

/// The parts of AssumeRole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssumeRole {
    /// The role.
    pub role_arn: String,
    /// The name of the session.
    pub session_name: String,
    /// A policy that narrows the role's.
    pub policy: Option<String>,
    /// Managed policies that narrow the role's.
    pub policy_arns: Vec<String>,
    /// How long the session lasts.
    pub seconds: u32,
    /// The session's tags.
    pub tags: BTreeMap<String, String>,
    /// The tags that pass on to sessions of this session.
    pub transitive_tags: Vec<String>,
    /// What the role's owner gave to the caller.
    pub external_id: Option<String>,
    /// Who the caller says to be.
    pub source_identity: Option<String>,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Begins a session of a role.
    AssumeRole(Box<AssumeRole>),
    /// Whose access key it is.
    GetAccessKeyInfo {
        /// The key's id.
        id: String,
    },
    /// Who the caller is.
    GetCallerIdentity,
    /// Begins a session of the caller.
    GetSessionToken {
        /// How long it lasts.
        seconds: u32,
    },
}

impl Reader<'_> {
    fn seconds(&mut self, bounds: (i64, i64), default: u32) -> u32 {
        assert!((bounds.0..=bounds.1).contains(&i64::from(default)), "the default is within the bounds");
        let seconds = self.integer("DurationSeconds", bounds);
        seconds.and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(default)
    }

    fn policy_arns(&mut self) -> Vec<String> {
        let mut arns = Vec::new();
        for element in self.elements("PolicyArns", POLICY_ARNS_MAX) {
            if let Document::Text(arn) | Document::Form(arn) = element.member("arn") {
                arns.push(arn.clone());
            }
        }
        arns
    }

    fn assume_role(&mut self) -> AssumeRole {
        AssumeRole {
            role_arn: self.required_arn("RoleArn"),
            session_name: self.session_name("RoleSessionName"),
            policy: self.document("Policy", POLICY_MAX),
            policy_arns: self.policy_arns(),
            seconds: self.seconds(ROLE_SECONDS, ROLE_SECONDS_DEFAULT),
            tags: self.tags("Tags"),
            transitive_tags: self.texts("TransitiveTagKeys", Length::of(1, 128), 50),
            external_id: self.text("ExternalId", Length::of(2, 1224)),
            source_identity: self.name("SourceIdentity", 64),
        }
    }

    /// The name of a session, which has two characters at least.
    fn session_name(&mut self, name: &str) -> String {
        let text = self.required_text(name, Length::of(2, 64));
        self.name(name, 64);
        text
    }
}

impl Request {
    /// The typed request of a form.
    pub fn validate(operation: Operation, document: &Document) -> Result<Self, Fault> {
        let (request, checked) = Self::parts(operation, document);
        checked.map(|()| request)
    }

    /// What a form asks for, as far as it can be read, and what is wrong with it. With a fault the request is
    /// good for judging who may make it and nothing else.
    pub fn parts(operation: Operation, document: &Document) -> (Self, Result<(), Fault>) {
        let mut reader = Reader::new(document);
        let request = match operation {
            Operation::AssumeRole => Self::AssumeRole(Box::new(reader.assume_role())),
            Operation::GetAccessKeyInfo => {
                Self::GetAccessKeyInfo { id: reader.required_text("AccessKeyId", Length::of(16, 128)) }
            }
            Operation::GetCallerIdentity => Self::GetCallerIdentity,
            Operation::GetSessionToken => {
                Self::GetSessionToken { seconds: reader.seconds(USER_SECONDS, USER_SECONDS_DEFAULT) }
            }
        };
        let checked = reader.finish().and_then(|()| request.check(document));
        (request, checked)
    }

    fn check(&self, document: &Document) -> Result<(), Fault> {
        if let Self::AssumeRole(assume) = self {
            assume.check()?;
        }
        let begins_session = matches!(self, Self::AssumeRole(_) | Self::GetSessionToken { .. });
        if begins_session && *document.member("SerialNumber") != Document::Null {
            return Err(Fault::new(
                FaultKind::AccessDenied,
                "MultiFactorAuthentication failed: this server knows no MFA devices.",
            ));
        }
        Ok(())
    }
}

impl AssumeRole {
    fn check(&self) -> Result<(), Fault> {
        let is_role = IamArn::parse(&self.role_arn).is_some_and(|arn| arn.kind == "role");
        if !is_role {
            return Err(Fault::validation(format!("{} is invalid", self.role_arn)));
        }
        match self.transitive_tags.iter().find(|key| !self.tags.contains_key(*key)) {
            None => Ok(()),
            Some(key) => Err(Fault::new(
                FaultKind::InvalidParameterValue,
                format!("The transitive tag key {key} is not among the tags of the request."),
            )),
        }
    }
}
