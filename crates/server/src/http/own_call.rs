//! Which of our own calls a request is for, and what its caller must be allowed.

use std::borrow::Cow;

use hyper::Method;
use hyper::http::request::Parts;
use keywright_access::action::{Own, Verb};
use keywright_access::arn::{Arn, PARTITION, Target};
use keywright_access::context::Context;
use keywright_engine::Namespace;
use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_semantics::error::Error;
use keywright_semantics::operation::Operation;
use keywright_semantics::value::Item;

use super::judgement::Judge;
use super::second_look::item_context;
use super::{
    backups, branches, destinations, encryption, find_table, global_tables, history, import_errors, jobs,
    restores, rollbacks, sets, table_changes, triggers, verifications,
};
use verifications::Wish;

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
    Encryption,
    FindTable,
    GlobalTables,
    History,
    ImportErrors,
    Jobs,
    Rollback,
    TableChanges,
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
            Self::Encryption => everything(Own::ManageEncryption),
            Self::FindTable => everything(Own::FindTable),
            // The changes that were lost, and who wrote an item last, are a part of what items have been.
            Self::GlobalTables => {
                let item = body.get(global_tables::ITEM);
                let key = item.and_then(|item| item.get("key")).and_then(read_item);
                match (verifications::read(&body), item, body.str_at(global_tables::CONFLICTS_OF)) {
                    (
                        Some(
                            Wish::Begin { table, repairs: true }
                            | Wish::Rejoin { table, .. }
                            | Wish::Unsent { table, .. },
                        ),
                        ..,
                    ) => of_table(Own::RepairReplicas, Some(table), About::AllItems),
                    (Some(Wish::Begin { table, .. } | Wish::Show { table }), ..) => {
                        of_table(Own::VerifyReplicas, Some(table), About::AllItems)
                    }
                    (None, Some(item), _) => {
                        let about = key.map_or(About::AllItems, |key| About::Item(key.item));
                        of_table(Own::GetItemHistory, item.str_at("table"), about)
                    }
                    (None, None, Some(table)) => of_table(Own::GetItemHistory, Some(table), About::AllItems),
                    (None, None, None) => everything(Own::ListReplicas),
                }
            }
            Self::History => of_table(Own::GetItemHistory, body.str_at("table"), items()),
            Self::ImportErrors => {
                let target = body.str_at("arn").and_then(owned_arn).unwrap_or(Target::Everything);
                Need { own: Own::GetImportErrors, target, about: About::Other }
            }
            Self::Jobs => everything(Own::ListJobs),
            Self::Rollback => of_table(Own::RollBackTable, body.str_at("table"), items()),
            Self::TableChanges => of_table(Own::GetTableChanges, body.str_at("table"), About::Other),
            Self::Triggers => everything(Own::ListTriggers),
        }
    }

    /// The right that a call with this body needs, and on what.
    pub(super) fn right(self, namespace: &Namespace, body: &[u8]) -> (Own, Target<'static>) {
        let Need { own, target, .. } = self.need(namespace, body);
        (own, target)
    }

    /// Whether a call with this body can change something.
    pub(super) fn changes(self, namespace: &Namespace, body: &[u8]) -> bool {
        match self {
            Self::Encryption => encryption::read(body).is_ok_and(|wish| wish != encryption::Wish::Status),
            _ => matches!(
                self.need(namespace, body).own,
                Own::BackUpTables | Own::RepairReplicas | Own::RollBackTable
            ),
        }
    }

    /// Judges a call by its body, before any other fault of it is reported.
    pub(super) fn allow(self, judge: &Judge, body: &[u8]) -> Result<(), Error> {
        let need = self.need(judge.namespace(), body);
        let context = need.context(judge);
        judge.own_call_on((need.own, &need.target), &context)?;
        need.check_denials(judge, &context)
    }

    /// Judges a call of the account itself, which only a denial by the policy of a table binds.
    pub(super) fn allow_root(self, judge: &Judge, body: &[u8]) -> Result<(), Error> {
        let need = self.need(judge.namespace(), body);
        need.check_denials(judge, &need.context(judge))
    }

    /// Whether a policy of a table can bind a call of the account itself.
    pub(super) const fn is_about_items(self) -> bool {
        matches!(self, Self::History | Self::Rollback | Self::GlobalTables)
    }
}

/// The operations on items that a call of our own does the work of. Who is denied one of them is denied the
/// call.
const fn stands_for(own: Own) -> &'static [Operation] {
    use Operation::{DeleteItem, GetItem, PutItem, UpdateItem};
    match own {
        Own::GetItemHistory => &[GetItem],
        // Its preview shows items, and it writes and deletes them.
        Own::RollBackTable => &[GetItem, PutItem, UpdateItem, DeleteItem],
        _ => &[],
    }
}

/// The right that a call needs.
struct Need {
    own: Own,
    target: Target<'static>,
    about: About,
}

impl Need {
    /// What conditions see of the call.
    fn context<'c>(&'c self, judge: &'c Judge) -> Context<'c> {
        let table = match &self.target {
            Target::One(arn) => arn.resource.strip_prefix("table/").unwrap_or_default(),
            Target::Everything => "",
        };
        match &self.about {
            About::Other => judge.context(),
            About::AllItems => item_context(judge, table, None),
            About::Item(key) => item_context(judge, table, Some(key)),
        }
    }

    fn check_denials(&self, judge: &Judge, context: &Context<'_>) -> Result<(), Error> {
        let verbs = stands_for(self.own).iter().map(|operation| Verb::of_operation(*operation));
        verbs.into_iter().try_for_each(|verb| judge.forbid(verb, &self.target, context))
    }
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
    /// The name of the right that a call with such a head needs; empty if only its body says which.
    pub(super) fn right_by_head(self, method: &Method) -> &'static str {
        match self {
            Self::Branches if *method == Method::DELETE => Own::DeleteBranch.name(),
            Self::Branches => Own::BranchTables.name(),
            Self::Restores => Own::RestoreTables.name(),
            Self::Sets => Own::BackUpTables.name(),
            Self::Signed(_) => "",
        }
    }

    /// The call of this head.
    pub(super) fn of(head: &Parts) -> Option<Self> {
        let is_post = head.method == Method::POST;
        match head.uri.path() {
            branches::PATH if is_post || head.method == Method::DELETE => Some(Self::Branches),
            restores::PATH if is_post => Some(Self::Restores),
            sets::PATH if is_post => Some(Self::Sets),
            backups::PATH if is_post => Some(Self::Signed(SignedCall::Backups)),
            destinations::PATH if is_post => Some(Self::Signed(SignedCall::Destinations)),
            encryption::PATH if is_post => Some(Self::Signed(SignedCall::Encryption)),
            find_table::PATH if is_post => Some(Self::Signed(SignedCall::FindTable)),
            global_tables::PATH if is_post => Some(Self::Signed(SignedCall::GlobalTables)),
            history::PATH if is_post => Some(Self::Signed(SignedCall::History)),
            import_errors::PATH if is_post => Some(Self::Signed(SignedCall::ImportErrors)),
            jobs::PATH if is_post => Some(Self::Signed(SignedCall::Jobs)),
            rollbacks::PATH if is_post => Some(Self::Signed(SignedCall::Rollback)),
            table_changes::PATH if is_post => Some(Self::Signed(SignedCall::TableChanges)),
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
        assert_eq!(of(SignedCall::GlobalTables, "{}"), "ListReplicas * 0");
        let conflicts = of(SignedCall::GlobalTables, r#"{"conflicts": "T"}"#);
        assert_eq!(conflicts, format!("GetItemHistory {table} 0"));
        let verified = |body: &str| of(SignedCall::GlobalTables, body);
        assert_eq!(verified(r#"{"verify": "T"}"#), format!("VerifyReplicas {table} 0"));
        assert_eq!(verified(r#"{"verification": "T"}"#), format!("VerifyReplicas {table} 0"));
        let repair = r#"{"verify": "T", "repair": true}"#;
        assert_eq!(verified(repair), format!("RepairReplicas {table} 0"));
        assert!(SignedCall::GlobalTables.changes(&namespace, repair.as_bytes()));
        assert!(!SignedCall::GlobalTables.changes(&namespace, br#"{"verify": "T"}"#));
        let item = of(SignedCall::GlobalTables, r#"{"item": {"table": "T", "key": {"k": {"S": "a"}}}}"#);
        assert_eq!(item, format!("GetItemHistory {table} 1"));
        assert_eq!(of(SignedCall::GlobalTables, r#"{"table": "T"}"#), "ListReplicas * 0");
        assert_eq!(
            of(SignedCall::Backups, r#"{"verify": {"table": "T", "id": "1"}}"#),
            format!("BackUpTables {table} 0")
        );
        let changes = |action: &str| {
            let body = format!(r#"{{"action": "{action}"}}"#);
            SignedCall::Encryption.changes(&namespace, body.as_bytes())
        };
        assert_eq!(["status", "rotate-data", "rewrite"].map(changes), [false, true, true]);
        let import = format!("{table}/import/1");
        assert_eq!(
            of(SignedCall::ImportErrors, &format!(r#"{{"arn": "{import}"}}"#)),
            format!("GetImportErrors {import} 0")
        );
    }
}
