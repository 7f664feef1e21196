//! Why a visitor of the studio is denied: which statement decided, and which condition failed.
//!
//! It shows statements of policies that bind the visitor's own identity, and those that match of resources of
//! the visitor's own account. It decides nothing.

use std::sync::{Arc, OnceLock};

use keywright_access::decide::{Denial, Question};
use keywright_access::document::Effect;
use keywright_access::explain::{Explained, Outcome, explain};
use keywright_access::policies::Policies;
use keywright_model::json::Json;
use keywright_semantics::messages::access::PolicyLayer;

/// Statements of one explanation.
const STATEMENTS_MAX: usize = 50;

/// The explanation of the first denial of a call, once there is one.
#[derive(Clone, Debug, Default)]
pub(super) struct Why(Arc<OnceLock<Json>>);

impl Why {
    /// Notes a denial. The first one is the answer of a request.
    pub(super) fn note(&self, denial: &Denial<'_>, question: &Question<'_>, policies: &Policies<'_>) {
        self.0.get_or_init(|| shown(denial, question, policies));
    }

    pub(super) fn explanation(&self) -> Option<&Json> {
        self.0.get()
    }
}

fn shown(denial: &Denial<'_>, question: &Question<'_>, policies: &Policies<'_>) -> Json {
    let explanation = explain(question, policies);
    let is_own = question.target.account().is_none_or(|owner| owner == question.principal.account());
    let may_see = |layer: PolicyLayer| layer != PolicyLayer::Resource || is_own;
    // What a table's policy says to others stays its own.
    let is_for_caller = |one: &&Explained<'_>| {
        one.layer != PolicyLayer::Resource || (is_own && one.outcome == Outcome::Matches)
    };
    // Statements about other actions say nothing about this one.
    let about = explanation.statements.iter().filter(|one| one.outcome != Outcome::OtherAction);
    let seen: Vec<Json> = about.filter(is_for_caller).take(STATEMENTS_MAX).map(statement).collect();
    let by = match denial {
        Denial::Explicit { layer, by } if may_see(*layer) => Json::text(by.to_string()),
        Denial::Explicit { .. } | Denial::Implicit { .. } => Json::Null,
    };
    let decision = match denial {
        Denial::Explicit { .. } => "explicit",
        Denial::Implicit { .. } => "implicit",
    };
    Json::object([
        ("principal", Json::text(question.principal.arn())),
        ("action", Json::text(question.action.to_string())),
        ("resource", Json::text(question.target.to_string())),
        ("decision", Json::text(decision)),
        ("layer", Json::text(denial.layer().words())),
        ("by", by),
        ("statements", Json::List(seen)),
    ])
}

fn statement(explained: &Explained<'_>) -> Json {
    let Explained { layer, place, outcome } = explained;
    let effect = match place.statement.effect() {
        Effect::Allow => "Allow",
        Effect::Deny => "Deny",
    };
    let mut shown = Json::object([
        ("layer", Json::text(layer.words())),
        ("policy", Json::text(&place.policy.name)),
        ("statement", Json::number(place.index + 1)),
        ("sid", place.statement.sid().map_or(Json::Null, Json::text)),
        ("effect", Json::text(effect)),
        ("matches", Json::Bool(*outcome == Outcome::Matches)),
        ("text", Json::text(explained.to_string())),
    ]);
    if let Outcome::Condition { operator, key, wanted, given } = outcome {
        let texts = |texts: &[String]| Json::List(texts.iter().map(Json::text).collect());
        let condition = [
            ("operator", Json::text(operator)),
            ("key", Json::text(key)),
            ("wanted", texts(wanted)),
            ("given", given.as_deref().map_or(Json::Null, texts)),
        ];
        shown.set("condition", Json::object(condition));
    }
    shown
}
