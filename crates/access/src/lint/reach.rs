//! Rules about what a statement reaches: actions and resources that are none, indexes that are forgotten,
//! statements without effect.
//!
//! It does not know which tables exist.

use keywright_semantics::operation::Operation;
use keywright_semantics::touches::Action;

use super::{Findings, Rule};
use crate::action::{Service, Verb};
use crate::arn::Arn;
use crate::document::{Document, Effect, Listed, Statement, Version};
use crate::pattern::Pattern;

/// Prefixes of services whose actions are served.
const SERVICES: [Service; 7] = [
    Service::DynamoDb,
    Service::CloudWatch,
    Service::ApplicationAutoScaling,
    Service::Lambda,
    Service::Iam,
    Service::Sts,
    Service::Keywright,
];

/// Actions that can name an index instead of its table.
const OF_INDEXES: [Verb; 3] = [
    Verb::of_operation(Operation::Query),
    Verb::of_operation(Operation::Scan),
    Verb::Touched(Action::PartiqlSelect),
];

/// Actions on no single resource.
const OF_ACCOUNT: [Operation; 7] = [
    Operation::DescribeEndpoints,
    Operation::DescribeLimits,
    Operation::ListBackups,
    Operation::ListContributorInsights,
    Operation::ListGlobalTables,
    Operation::ListStreams,
    Operation::ListTables,
];

pub(super) fn check(document: &Document, statement: &Statement, found: &mut Findings<'_>) {
    actions(statement, found);
    resources(document, statement, found);
    if document.version() == Version::Of2008 {
        variables(statement, found);
    }
    if statement.effect() == Effect::Allow {
        indexes(document, statement, found);
        hidden(document, statement, found);
        if document.kind().is_of_resource() && document.is_public() && statement.principals().has_everyone() {
            let text =
                "it lets everyone in: name principals, or add a condition such as aws:PrincipalAccount";
            found.add(Rule::Public, text.to_owned());
        }
    }
}

fn actions(statement: &Statement, found: &mut Findings<'_>) {
    for text in &statement.actions().texts {
        let Some((prefix, _)) = text.split_once(':') else { continue };
        let is_served = SERVICES.iter().any(|service| service.prefix().eq_ignore_ascii_case(prefix));
        let pattern = Pattern::parse(&text.to_ascii_lowercase());
        if is_served && !Verb::names().any(|(_, name)| pattern.matches(name)) {
            found.add(Rule::UnknownAction, format!("no action is called {text}{}", instead_of(text)));
        }
    }
}

/// What to write for names that are often written and are none.
fn instead_of(text: &str) -> &'static str {
    match text.to_ascii_lowercase().as_str() {
        "dynamodb:transactwriteitems" => {
            ": a transaction needs dynamodb:PutItem, UpdateItem, DeleteItem and ConditionCheckItem for its members"
        }
        "dynamodb:transactgetitems" => ": a transaction needs dynamodb:GetItem for its members",
        "dynamodb:batchreaditem" => ": write dynamodb:BatchGetItem",
        "dynamodb:executestatement" | "dynamodb:batchexecutestatement" | "dynamodb:executetransaction" => {
            ": statements need dynamodb:PartiQLSelect, PartiQLInsert, PartiQLUpdate and PartiQLDelete"
        }
        _ => "",
    }
}

fn resources(document: &Document, statement: &Statement, found: &mut Findings<'_>) {
    let Some(resources) = statement.resources() else { return };
    let served = &statement.actions().served;
    let is_everything = |text: &String| text.bytes().all(|byte| byte == b'*');
    let lists = resources.listed == Listed::These && statement.actions().listed == Listed::These;
    if !lists || resources.texts.iter().any(is_everything) {
        return;
    }
    let needs_everything = |verb: &Verb| OF_ACCOUNT.iter().any(|one| Verb::of_operation(*one) == *verb);
    let named: Vec<Verb> = Verb::all().filter(|verb| served.contains(*verb)).collect();
    if document.kind().has_principals() || named.is_empty() {
        return;
    }
    if named.iter().all(needs_everything) {
        let text = format!("{} is about no single resource: write \"Resource\": \"*\"", list(&named));
        found.add(Rule::NoEffect, text);
    }
    let is_dynamodb = named.iter().all(|verb| verb.service() == Service::DynamoDb);
    let is_other =
        |text: &String| Arn::parse(text).is_some_and(|arn| !Pattern::parse(&arn.service).matches("dynamodb"));
    if is_dynamodb && resources.texts.iter().all(is_other) {
        found.add(Rule::NoEffect, "its actions are DynamoDB's, its resources another service's".to_owned());
    }
}

fn list(verbs: &[Verb]) -> String {
    verbs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn variables(statement: &Statement, found: &mut Findings<'_>) {
    let of_resources = statement.resources().into_iter().flat_map(|resources| &resources.texts);
    let of_conditions = statement.conditions().iter().flat_map(|condition| &condition.values);
    for text in of_resources.chain(of_conditions).filter(|text| text.contains("${")) {
        let advice = format!("`{text}` is plain text before \"Version\": \"2012-10-17\": add the version");
        found.add(Rule::VariableIsText, advice);
    }
}

/// Tables that are allowed to be queried while none of their indexes is.
fn indexes(document: &Document, statement: &Statement, found: &mut Findings<'_>) {
    let served = &statement.actions().served;
    if document.kind() == crate::document::PolicyKind::Trust
        || !OF_INDEXES.iter().any(|verb| served.contains(*verb))
    {
        return;
    }
    let all = document.statements().iter().filter(|other| other.effect() == Effect::Allow);
    let patterns: Vec<Pattern> = all
        .filter_map(Statement::resources)
        .flat_map(|resources| &resources.texts)
        .map(|text| Pattern::parse(text))
        .collect();
    let Some(resources) = statement.resources().filter(|resources| resources.listed == Listed::These) else {
        return;
    };
    for text in &resources.texts {
        let is_one_table = Arn::parse(text).is_some_and(|arn| {
            let name = arn.resource.strip_prefix("table/");
            name.is_some_and(|name| !name.contains(['*', '/']))
        });
        // A name of an index that no policy is likely to name alone.
        let reaches_index = patterns.iter().any(|pattern| pattern.matches(&format!("{text}/index/\u{0}")));
        let names_index = |other: &&Statement| {
            let texts = other.resources().into_iter().flat_map(|resources| &resources.texts);
            texts.into_iter().any(|other| other.starts_with(&format!("{text}/index/")))
        };
        if is_one_table && !reaches_index && !document.statements().iter().any(|other| names_index(&other)) {
            let text =
                format!("a query of an index needs the index's ARN: add {text}/index/* if it has indexes");
            found.add(Rule::IndexMissing, text);
        }
    }
}

/// Statements that allow only what another denies on everything, under no condition.
fn hidden(document: &Document, statement: &Statement, found: &mut Findings<'_>) {
    let served = &statement.actions().served;
    if served.is_empty() {
        return;
    }
    let is_for_all = |other: &Statement| {
        let everything = |text: &String| text.bytes().all(|byte| byte == b'*');
        let resources = other.resources();
        resources.is_none_or(|of| of.listed == Listed::These && of.texts.iter().any(everything))
    };
    let denies_all = |other: &&Statement| {
        other.effect() == Effect::Deny
            && other.conditions().is_empty()
            && is_for_all(other)
            && other.principals() == statement.principals()
            && Verb::all().all(|verb| !served.contains(verb) || other.actions().served.contains(verb))
    };
    if document.statements().iter().any(|other| denies_all(&other)) {
        found.add(Rule::NoEffect, "another statement denies all that it allows".to_owned());
    }
}
