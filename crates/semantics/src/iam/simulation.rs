//! The simulator of policies: its requests, and what its responses show.
//!
//! Source: the public service model, and the API reference of 2026: one result per action, with a result for
//! each resource within it. It does not judge.

use super::reader::{Length, Page, Reader};
use crate::monitoring::document::Document;

/// Elements of one list of a request.
const LIST_MAX: usize = 1000;
const ACTION_NAME: Length = Length::of(3, 128);
const RESOURCE_NAME: Length = Length::of(1, 2048);
const KEY_NAME: Length = Length::of(5, 256);
const DOCUMENT: Length = Length::of(1, 131_072);
const KEY_TYPES: [&str; 12] = [
    "string",
    "stringList",
    "numeric",
    "numericList",
    "boolean",
    "booleanList",
    "ip",
    "ipList",
    "binary",
    "binaryList",
    "date",
    "dateList",
];

/// The value of a condition's key in a simulated request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextEntry {
    /// The key.
    pub key: String,
    /// Its values.
    pub values: Vec<String>,
    /// Whether it can have several values.
    pub is_list: bool,
}

/// The parts of `SimulateCustomPolicy` and `SimulatePrincipalPolicy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulation {
    /// The user, group or role whose policies are simulated; none for `SimulateCustomPolicy`.
    pub source: Option<String>,
    /// Policies that are simulated too.
    pub policies: Vec<String>,
    /// The boundary, in place of the principal's.
    pub boundary: Option<String>,
    /// The policy of each resource.
    pub resource_policy: Option<String>,
    /// The actions.
    pub actions: Vec<String>,
    /// ARNs of the resources. None stands for `*`.
    pub resources: Vec<String>,
    /// The ARN of the user who asks.
    pub caller: Option<String>,
    /// What the request brings for conditions.
    pub context: Vec<ContextEntry>,
    /// The page of results.
    pub page: Page,
}

impl Reader<'_> {
    /// The request; `source` names the member that has the principal's ARN.
    pub(super) fn simulation(&mut self, source: Option<&str>) -> Simulation {
        let source = source.map(|member| self.required_arn(member));
        let policies = self.texts("PolicyInputList", DOCUMENT, LIST_MAX);
        if source.is_none() && policies.is_empty() {
            self.absent("PolicyInputList");
        }
        let mut boundaries = self.texts("PermissionsBoundaryPolicyInputList", DOCUMENT, 1);
        let actions = self.texts("ActionNames", ACTION_NAME, LIST_MAX);
        if actions.is_empty() {
            self.absent("ActionNames");
        }
        let _ = self.text("ResourceOwner", RESOURCE_NAME);
        let _ = self.text("ResourceHandlingOption", Length::of(1, 64));
        Simulation {
            source,
            policies,
            boundary: boundaries.pop(),
            resource_policy: self.text("ResourcePolicy", DOCUMENT),
            actions,
            resources: self.texts("ResourceArns", RESOURCE_NAME, LIST_MAX),
            caller: self.text("CallerArn", RESOURCE_NAME),
            context: self.context_entries(),
            page: self.page(),
        }
    }

    fn context_entries(&mut self) -> Vec<ContextEntry> {
        let mut entries = Vec::new();
        for element in self.elements("ContextEntries", LIST_MAX) {
            let entry = self.within(element, |inner| ContextEntry {
                key: inner.required_text("ContextKeyName", KEY_NAME),
                values: inner.texts("ContextKeyValues", Length::of(0, 2048), LIST_MAX),
                is_list: inner.word("ContextKeyType", &KEY_TYPES).is_some_and(|word| word.ends_with("List")),
            });
            entries.push(entry);
        }
        entries
    }
}

/// What a simulation says of one action on one resource. Decisions are in the order of their severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Policies allow it.
    Allowed,
    /// No policy of a kind allows it.
    ImplicitDeny,
    /// A statement denies it.
    ExplicitDeny,
}

impl Verdict {
    /// The word of the API.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::ImplicitDeny => "implicitDeny",
            Self::ExplicitDeny => "explicitDeny",
        }
    }
}

/// A line and a column of a text, each from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A statement that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedStatement {
    /// Which policy it is in, such as `PolicyInputList.1`.
    pub policy: String,
    /// Where in the policy's text it begins and ends.
    pub span: Option<(Position, Position)>,
}

/// What a simulation says of one action, on one resource or on all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The resource.
    pub resource: String,
    /// The decision.
    pub verdict: Verdict,
    /// The statements that decided.
    pub matched: Vec<MatchedStatement>,
    /// Keys that policies ask for and the request does not have.
    pub missing: Vec<String>,
    /// Whether the boundary allows it; none without a boundary.
    pub boundary_allows: Option<bool>,
}

/// The result for one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// The action.
    pub action: String,
    /// What holds for all resources together.
    pub whole: Finding,
    /// What holds for each resource; empty if none was named.
    pub each: Vec<Finding>,
}

impl Position {
    fn document(self) -> Document {
        let number = |number: usize| Document::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        Document::object([("Line", number(self.line)), ("Column", number(self.column))])
    }
}

impl MatchedStatement {
    fn document(&self) -> Document {
        Document::object([
            ("SourcePolicyId", Document::text(&self.policy)),
            ("SourcePolicyType", Document::text("IAM Policy")),
            ("StartPosition", Document::maybe(self.span, |(start, _)| start.document())),
            ("EndPosition", Document::maybe(self.span, |(_, end)| end.document())),
        ])
    }
}

impl Finding {
    fn members(&self, decision: &str) -> Vec<(String, Document)> {
        let boundary = self.boundary_allows.map_or(Document::Null, |allows| {
            Document::object([("AllowedByPermissionsBoundary", Document::Bool(allows))])
        });
        let matched = self.matched.iter().map(MatchedStatement::document).collect();
        let Document::Object(members) = Document::object([
            ("EvalResourceName", Document::text(&self.resource)),
            (decision, Document::text(self.verdict.word())),
            ("MatchedStatements", Document::List(matched)),
            ("MissingContextValues", Document::texts(&self.missing)),
            ("PermissionsBoundaryDecisionDetail", boundary),
        ]) else {
            unreachable!("it is an object")
        };
        members
    }
}

impl Evaluation {
    pub(super) fn document(&self) -> Document {
        let mut members = self.whole.members("EvalDecision");
        members.insert(0, ("EvalActionName".to_owned(), Document::text(&self.action)));
        if !self.each.is_empty() {
            let each = self.each.iter().map(|one| Document::Object(one.members("EvalResourceDecision")));
            members.push(("ResourceSpecificResults".to_owned(), Document::List(each.collect())));
        }
        Document::Object(members)
    }
}
