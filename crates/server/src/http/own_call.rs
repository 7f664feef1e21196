//! Which of our own calls a request is for, and what its caller must be allowed.

use std::borrow::Cow;

use hyper::Method;
use hyper::http::request::Parts;
use keywright_access::action::Own;
use keywright_access::arn::{Arn, PARTITION, Target};
use keywright_engine::Namespace;
use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_semantics::error::Error;
use keywright_semantics::value::Item;

use super::judgement::Judge;
use super::second_look::item_context;
use super::{
    backups, branches, destinations, find_table, history, import_errors, jobs, restores, rollbacks, sets,
    triggers,
};

/// A call of our own below `/_keywright/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnCall {
    Branches,
    Restores,
    Sets,
    Signed(SignedCall),
}

/// A call that is received and signed as the API's requests are. The bodies of the others may be large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignedCall {
    Backups,
    Destinations,
    FindTable,
    History,
    ImportErrors,
    Jobs,
    Rollback,
    Triggers,
}

impl SignedCall {
    /// What a call with this body needs.
    fn need(self, namespace: &Namespace, body: &[u8]) -> Need {
        let body = std::str::from_utf8(body).ok().and_then(|text| Json::parse(text).ok());
        let body = body.unwrap_or(Json::Null);
        let everything = |own| Need { own, target: Target::Everything, about: About::Other };
        let of_table = |own, table: Option<&str>, about| {
            let target = table.map_or(Target::Everything, |table| of_table(namespace, table));
            Need { own, target, about }
        };
        let items = || match body.get("key").and_then(read_item) {
            Some(key) => About::Item(key.item),
            None => About::AllItems,
        };
        match self {
            Self::Backups => match body.at(&["verify"]) {
                None => everything(Own::DescribeBackups),
                Some(verify) => of_table(Own::BackUpTables, verify.str_at("table"), About::Other),
            },
            Self::Destinations => everything(Own::ListDestinations),
            Self::FindTable => everything(Own::FindTable),
            Self::History => of_table(Own::GetItemHistory, body.str_at("table"), items()),
            Self::ImportErrors => {
                let target = body.str_at("arn").and_then(owned_arn).unwrap_or(Target::Everything);
                Need { own: Own::GetImportErrors, target, about: About::Other }
            }
            Self::Jobs => everything(Own::ListJobs),
            Self::Rollback => of_table(Own::RollBackTable, body.str_at("table"), items()),
            Self::Triggers => everything(Own::ListTriggers),
        }
    }

    /// Judges a call by its body, before any other fault of it is reported.
    pub(super) fn allow(self, judge: &Judge, body: &[u8]) -> Result<(), Error> {
        let Need { own, target, about } = self.need(judge.namespace(), body);
        let table = match &target {
            Target::One(arn) => arn.resource.strip_prefix("table/").unwrap_or_default(),
            Target::Everything => "",
        };
        let context = match &about {
            About::Other => judge.context(),
            About::AllItems => item_context(judge, table, None),
            About::Item(key) => item_context(judge, table, Some(key)),
        };
        judge.own_call_on((own, &target), &context)
    }
}

/// The right that a call needs.
struct Need {
    own: Own,
    target: Target<'static>,
    about: About,
}

/// Whose contents a call reads or changes.
enum About {
    Other,
    AllItems,
    Item(Item),
}

/// A table by its name or ARN.
fn of_table(namespace: &Namespace, table: &str) -> Target<'static> {
    let named = || Arn {
        partition: PARTITION.into(),
        service: "dynamodb".into(),
        region: namespace.region.to_string().into(),
        account: namespace.account.to_string().into(),
        resource: format!("table/{table}").into(),
    };
    owned_arn(table).unwrap_or_else(|| Target::One(named()))
}

fn owned_arn(text: &str) -> Option<Target<'static>> {
    let arn = Arn::parse(text)?;
    let owned = |field: Cow<'_, str>| Cow::Owned(field.into_owned());
    Some(Target::One(Arn {
        partition: owned(arn.partition),
        service: owned(arn.service),
        region: owned(arn.region),
        account: owned(arn.account),
        resource: owned(arn.resource),
    }))
}

impl OwnCall {
    /// The call of this head.
    pub(super) fn of(head: &Parts) -> Option<Self> {
        let is_post = head.method == Method::POST;
        match head.uri.path() {
            branches::PATH if is_post || head.method == Method::DELETE => Some(Self::Branches),
            restores::PATH if is_post => Some(Self::Restores),
            sets::PATH if is_post => Some(Self::Sets),
            backups::PATH if is_post => Some(Self::Signed(SignedCall::Backups)),
            destinations::PATH if is_post => Some(Self::Signed(SignedCall::Destinations)),
            find_table::PATH if is_post => Some(Self::Signed(SignedCall::FindTable)),
            history::PATH if is_post => Some(Self::Signed(SignedCall::History)),
            import_errors::PATH if is_post => Some(Self::Signed(SignedCall::ImportErrors)),
            jobs::PATH if is_post => Some(Self::Signed(SignedCall::Jobs)),
            rollbacks::PATH if is_post => Some(Self::Signed(SignedCall::Rollback)),
            triggers::PATH if is_post => Some(Self::Signed(SignedCall::Triggers)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use keywright_engine::{AccountId, Region};

    use super::*;

    #[test]
    fn a_call_is_about_the_table_or_import_that_its_body_names() {
        let namespace =
            Namespace { account: AccountId::from("123456789012"), region: Region::stored("eu-west-1") };
        let of = |call: SignedCall, body: &str| {
            let Need { own, target, about } = call.need(&namespace, body.as_bytes());
            let attributes = if let About::Item(key) = &about { key.len() } else { 0 };
            format!("{} {target} {attributes}", own.name())
        };
        let table = "arn:aws:dynamodb:eu-west-1:123456789012:table/T";
        let history = r#"{"table": "T", "key": {"k": {"S": "a"}, "s": {"N": "1"}}}"#;
        assert_eq!(of(SignedCall::History, history), format!("GetItemHistory {table} 2"));
        assert_eq!(of(SignedCall::History, "no JSON"), "GetItemHistory * 0");
        assert_eq!(
            of(SignedCall::Rollback, r#"{"table": "T", "to": 1}"#),
            format!("RollBackTable {table} 0")
        );
        let foreign = "arn:aws:dynamodb:eu-west-1:999999999999:table/T";
        assert_eq!(
            of(SignedCall::Rollback, &format!(r#"{{"table": "{foreign}"}}"#)),
            format!("RollBackTable {foreign} 0")
        );
        assert_eq!(of(SignedCall::Backups, "{}"), "DescribeBackups * 0");
        assert_eq!(
            of(SignedCall::Backups, r#"{"verify": {"table": "T", "id": "1"}}"#),
            format!("BackUpTables {table} 0")
        );
        let import = format!("{table}/import/1");
        assert_eq!(
            of(SignedCall::ImportErrors, &format!(r#"{{"arn": "{import}"}}"#)),
            format!("GetImportErrors {import} 0")
        );
    }
}
