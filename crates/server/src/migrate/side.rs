//! One table at one endpoint: the source of a migration, or its target, and with which keys it is reached.

use keywright_model::json::Json;

use crate::client::aws_settings;
use crate::client::endpoint::{Client, Credentials, Endpoint};
use crate::data::table;
use crate::process::failure::Failure;

/// How the service's hosts are named: `dynamodb.REGION.amazonaws.com`.
const AWS_HOST: &str = "dynamodb.";
const AWS_DOMAINS: [&str; 2] = [".amazonaws.com", ".amazonaws.com.cn"];
/// What stands before the host whose streams are read.
const STREAMS_HOST: &str = "streams.";

/// A table at an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) endpoint: Endpoint,
    pub(crate) credentials: Credentials,
    pub(crate) table: String,
}

impl Side {
    pub(crate) async fn connect(&self) -> Result<Client, Failure> {
        Client::connect(&self.endpoint, &self.credentials).await.map(Client::patient)
    }

    /// A connection for reading streams, for which the service has hosts of their own.
    pub(crate) async fn connect_to_streams(&self) -> Result<Client, Failure> {
        Client::connect(&streams_endpoint(&self.endpoint), &self.credentials).await.map(Client::patient)
    }

    /// So many connections.
    pub(crate) async fn connections(&self, count: usize) -> Result<Vec<Client>, Failure> {
        let mut clients = Vec::new();
        for _ in 0..count {
            clients.push(self.connect().await?);
        }
        Ok(clients)
    }

    /// Whether the table is the service's own.
    pub(crate) fn is_of_service(&self) -> bool {
        region_of_host(&self.endpoint.host).is_some()
    }

    /// In words: `Orders at http://localhost:8000 in us-east-1`.
    pub(crate) fn shown(&self) -> Result<String, Failure> {
        Ok(format!("{} at {} in {}", self.table, self.endpoint, self.region()?))
    }

    /// In fewer words: `Orders at http://localhost:8000`.
    pub(crate) fn place(&self) -> String {
        format!("{} at {}", self.table, self.endpoint)
    }

    pub(crate) fn region(&self) -> Result<String, Failure> {
        aws_settings::region(self.credentials.region())
    }

    /// A request about the table.
    pub(crate) fn about(&self) -> Json {
        Json::object([("TableName", Json::text(&self.table))])
    }

    /// The description of the table.
    pub(crate) async fn describe(&self, client: &mut Client) -> Result<Json, Failure> {
        table::describe(client, &self.table).await
    }

    /// The description of the table that a migration reads; a missing one is not to be created.
    pub(crate) async fn describe_source(&self, client: &mut Client) -> Result<Json, Failure> {
        table::describe_source(client, &self.table).await
    }
}

/// The region that the service's host names.
pub(crate) fn region_of_host(host: &str) -> Option<&str> {
    let rest = host.strip_prefix(AWS_HOST)?;
    AWS_DOMAINS.iter().find_map(|domain| rest.strip_suffix(domain)).filter(|region| !region.contains('.'))
}

/// Where the streams of an endpoint's tables are read.
fn streams_endpoint(endpoint: &Endpoint) -> Endpoint {
    if region_of_host(&endpoint.host).is_none() {
        return endpoint.clone();
    }
    let named = |name: &str| format!("{STREAMS_HOST}{name}");
    Endpoint { host: named(&endpoint.host), authority: named(&endpoint.authority), ..endpoint.clone() }
}

/// What tells a table from another one of its name: its id, or when it was created.
pub(crate) fn identity(description: &Json) -> Option<String> {
    let table = description.get("Table")?;
    let id = table.str_at("TableId").map(str::to_owned);
    id.or_else(|| Some(format!("created {}", table.get("CreationDateTime")?.compact())))
}

/// Whether two descriptions are of one table, which may be reached at several addresses.
pub(crate) fn is_same_table(one: &Json, other: &Json) -> bool {
    let arn =
        |description: &Json| description.at(&["Table", "TableArn"]).and_then(Json::as_str).map(str::to_owned);
    arn(one).is_some() && arn(one) == arn(other) && identity(one) == identity(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_services_hosts_name_a_region_and_have_hosts_for_streams() {
        let streams = |url: &str| streams_endpoint(&url.parse().unwrap()).to_string();
        assert_eq!(region_of_host("dynamodb.eu-west-1.amazonaws.com"), Some("eu-west-1"));
        assert_eq!(
            streams("https://dynamodb.eu-west-1.amazonaws.com"),
            "https://streams.dynamodb.eu-west-1.amazonaws.com"
        );
        assert_eq!(region_of_host("dynamodb.cn-north-1.amazonaws.com.cn"), Some("cn-north-1"));
        for host in ["localhost", "dynamodb.example.com", "123.ddb.eu-west-1.amazonaws.com"] {
            assert_eq!(region_of_host(host), None, "{host}");
        }
        assert_eq!(streams("http://localhost:8000"), "http://localhost:8000");
    }

    #[test]
    fn tables_of_one_name_are_told_apart() {
        let description = |table: &str| identity(&Json::parse(table).unwrap());
        assert_eq!(description(r#"{"Table":{"TableId":"a","CreationDateTime":1}}"#).as_deref(), Some("a"));
        assert_eq!(description(r#"{"Table":{"CreationDateTime":1.5}}"#).as_deref(), Some("created 1.5"));
        assert_eq!(description("{}"), None);
    }

    #[test]
    fn one_table_has_one_name_and_one_id_wherever_it_is_reached() {
        let is_same = |one: &str, other: &str| {
            let table = |members: &str| Json::parse(&format!(r#"{{"Table":{{{members}}}}}"#)).unwrap();
            is_same_table(&table(one), &table(other))
        };
        let own = r#""TableArn":"arn:T","TableId":"a""#;
        assert!(is_same(own, own));
        assert!(!is_same(own, r#""TableArn":"arn:T","TableId":"b""#));
        assert!(!is_same(own, r#""TableArn":"arn:U","TableId":"a""#));
        let created = r#""TableArn":"arn:T","CreationDateTime":1.5"#;
        assert!(is_same(created, created), "an endpoint may give no id");
        assert!(!is_same(r#""TableId":"a""#, r#""TableId":"a""#), "without a name nothing is known");
    }
}
