//! `keywright access explain`: why a request would be allowed or denied.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use keywright_access::document::{Document, PolicyKind};
use keywright_access::file::Principals;
use keywright_access::policies::Policy;
use keywright_model::json::Json;
use keywright_semantics::operation::Operation;
use keywright_semantics::place::DEFAULT_ACCOUNT;
use keywright_semantics::schema::{KeyAttribute, KeySchema, KeyType};

use crate::access::scene::{self, Asking, Scene, TableFacts, Tables};
use crate::access::{account, iam, read};
use crate::client::aws_settings;
use crate::client::endpoint::{Client, block_on};
use crate::client::endpoint_arguments::EndpointArguments;
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::{environment, output, timestamp};

/// The exit status of a denied request.
const DENIED: u8 = 1;
/// The exit status if nothing could be explained.
const UNEXPLAINED: u8 = 2;

/// Explain why a request would be allowed or denied
///
/// Prints each right that the request needs, what decided, and what each statement of each policy says. The
/// request is not made. Without --access it asks a running server for users, policies and tables. Exit
/// status: 0 if the request would be allowed, 1 if denied, 2 if it could not be explained.
#[derive(Debug, Args)]
pub(super) struct ExplainArguments {
    /// Who asks: user/NAME, role/NAME, an ARN of one, or root
    #[arg(long, value_name = "PRINCIPAL")]
    principal: String,
    /// The operation of DynamoDB, such as GetItem
    #[arg(value_name = "OPERATION", value_parser = operation)]
    operation: Operation,
    /// Its parameters as JSON, as the AWS CLI takes them for --cli-input-json
    #[arg(value_name = "REQUEST", default_value = "{}")]
    request: String,
    /// Take users and policies from this access file, and ask no server
    #[arg(long, value_name = "FILE")]
    access: Option<PathBuf>,
    /// With --access: a partition key attribute of the tables that the request names, and its type if it is
    /// not S, such as id:N; may be repeated
    #[arg(long, value_name = "ATTRIBUTE", requires = "access", value_parser = key_attribute)]
    partition_key: Vec<KeyAttribute>,
    /// With --access: their sort key attribute, written likewise; statements of PartiQL can depend on it
    #[arg(long, value_name = "ATTRIBUTE", requires = "partition_key", value_parser = key_attribute)]
    sort_key: Option<KeyAttribute>,
    /// A key for conditions and its value, such as aws:SourceIp=10.0.0.1; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    context: Vec<(String, String)>,
    /// Name of the session of a role
    #[arg(long, value_name = "NAME", default_value = "session")]
    session_name: String,
    /// A policy that narrows the session of a role: a file with the document, or the ARN of a managed policy;
    /// may be repeated
    #[arg(long, value_name = "FILE|ARN")]
    session_policy: Vec<String>,
    #[command(flatten)]
    endpoint: EndpointArguments,
}

fn operation(text: &str) -> Result<Operation, String> {
    Operation::from_name(text).ok_or_else(|| "no operation of DynamoDB: write GetItem, Query, …".to_owned())
}

fn key_attribute(text: &str) -> Result<KeyAttribute, String> {
    let typed = text.rsplit_once(':').and_then(|(name, kind)| Some((name, KeyType::from_name(kind)?)));
    let (name, key_type) = typed.unwrap_or((text, KeyType::S));
    if name.is_empty() {
        return Err("write the name of an attribute, such as pk, or id:N for a number".to_owned());
    }
    Ok(KeyAttribute { name: name.to_owned(), key_type })
}

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| key.contains(':'));
    let pair = pair.ok_or("write KEY=VALUE, such as aws:SourceIp=10.0.0.1")?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

impl ExplainArguments {
    /// The key of all tables, if it is given.
    fn key(&self) -> Option<KeySchema> {
        let (partition, sort) = (self.partition_key.clone(), self.sort_key.iter().cloned().collect());
        (!partition.is_empty()).then_some(KeySchema { partition, sort })
    }
}

/// Users, policies and tables, and where they are from.
struct Found {
    principals: Principals,
    account: String,
    region: String,
    tables: Tables,
}

pub(super) fn run(arguments: &ExplainArguments) -> Result<ExitCode, Failure> {
    explain(arguments).map_err(|failure| failure.with_status(UNEXPLAINED))
}

fn explain(arguments: &ExplainArguments) -> Result<ExitCode, Failure> {
    let body = arguments.request.as_bytes();
    let found = if let Some(path) = &arguments.access {
        let file = read(path)?;
        if let Some(KeyAttribute { name, .. }) =
            arguments.partition_key.iter().find(|key| !arguments.request.contains(&key.name))
        {
            return Err(Failure::new(format!(
                "--partition-key {}: the request has no such attribute: write it as in the table",
                inline(name)
            )));
        }
        Found {
            principals: file.principals,
            account: file.account.unwrap_or_else(|| DEFAULT_ACCOUNT.to_owned()),
            region: aws_settings::region(None)?,
            tables: Tables::Any(arguments.key()),
        }
    } else {
        let target = arguments.endpoint.target()?;
        let names = scene::tables(arguments.operation, body);
        block_on(async { of_server(&mut arguments.endpoint.connect(&target).await?, &names).await })?
    };
    let now = environment::now().0;
    let session = (found.account.as_str(), arguments.session_name.as_str());
    let scene = Scene {
        asking: Asking::new(&arguments.principal, &found.principals, session)?.narrowed(
            &arguments.session_policy,
            &found.principals,
            &found.account,
        )?,
        account: found.account,
        region: found.region,
        tables: found.tables,
        context: arguments.context.clone(),
        now: ((now / 1000).to_string(), timestamp::of(now)),
        operation: arguments.operation,
    };
    let told = scene.explain(body)?;
    told.lines.iter().for_each(|line| output::say(&inline(line)));
    Ok(if told.is_denied { ExitCode::from(DENIED) } else { ExitCode::SUCCESS })
}

async fn of_server(client: &mut Client, names: &[String]) -> Result<Found, Failure> {
    let own = iam::account_of(client).await?;
    let principals = account::read(client).await?;
    let mut tables = BTreeMap::new();
    for name in names {
        if let Some(table) = table(client, name).await? {
            tables.insert(name.clone(), table);
        }
    }
    let region = client.region.clone();
    Ok(Found { principals, account: own, region, tables: Tables::Known(tables) })
}

/// What policies ask of a table; none if it does not exist.
async fn table(client: &mut Client, name: &str) -> Result<Option<TableFacts>, Failure> {
    let text = |text: &str| Json::Text(text.to_owned());
    let described = match client.ask_again("DescribeTable", &Json::object([("TableName", text(name))])).await
    {
        Ok(described) => described,
        Err(refusal) if refusal.kind == "ResourceNotFoundException" => return Ok(None),
        Err(refusal) => return Err(refusal.into()),
    };
    let Some(table) = described.get("Table") else { return Ok(None) };
    let definitions = table.get("AttributeDefinitions").map(Json::elements).unwrap_or_default();
    let mut facts = TableFacts { key: Some(key(table, definitions)), ..TableFacts::default() };
    for list in ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"] {
        for index in table.get(list).map(Json::elements).unwrap_or_default() {
            facts
                .indexes
                .insert(index.str_at("IndexName").unwrap_or_default().to_owned(), key(index, definitions));
        }
    }
    let arn = Json::object([("ResourceArn", text(table.str_at("TableArn").unwrap_or_default()))]);
    let tags = client.ask_again("ListTagsOfResource", &arn).await?;
    for tag in tags.get("Tags").map(Json::elements).unwrap_or_default() {
        let of = |member| tag.str_at(member).unwrap_or_default().to_owned();
        facts.tags.push((of("Key"), of("Value")));
    }
    match client.ask_again("GetResourcePolicy", &arn).await {
        Ok(found) => {
            let document =
                found.str_at("Policy").and_then(|text| Document::parse(text, PolicyKind::Table).ok());
            facts.policy = document.map(|document| Arc::new(Policy::new("of the table", document)));
        }
        Err(refusal)
            if ["PolicyNotFoundException", "UnknownOperationException"].contains(&&*refusal.kind) => {}
        Err(refusal) => return Err(refusal.into()),
    }
    Ok(Some(facts))
}

/// The key of a described table or index, with the types of the table's attributes.
fn key(described: &Json, definitions: &[Json]) -> KeySchema {
    let typed = |name: &str| {
        let defined = definitions.iter().find(|one| one.str_at("AttributeName") == Some(name));
        defined.and_then(|one| KeyType::from_name(one.str_at("AttributeType")?))
    };
    let attributes = |kind: &str| {
        let keys = described.get("KeySchema").map(Json::elements).unwrap_or_default();
        let named = keys.iter().filter(|key| key.str_at("KeyType") == Some(kind));
        let named = named.filter_map(|key| key.str_at("AttributeName"));
        named
            .filter_map(|name| Some(KeyAttribute { name: name.to_owned(), key_type: typed(name)? }))
            .collect()
    };
    KeySchema { partition: attributes("HASH"), sort: attributes("RANGE") }
}
