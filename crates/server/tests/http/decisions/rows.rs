//! Rows of published examples as real requests can have them.
//!
//! A row keeps its words, except for accounts, which are those of its group, addresses, which are addresses
//! of this machine, and keys of conditions whose value no client can choose: a tag of the caller gives it.

use serde_json::{Value, json};

use crate::simulation::table;

/// The accounts that rows name: the owner of the tables and two others.
const ACCOUNTS: [&str; 3] = ["123456789012", "111122223333", "999988887777"];

/// Keys whose value no client of this server can choose, and the tag of the caller that gives it instead.
const BORROWED: [(&str, &str); 8] = [
    ("www.amazon.com:user_id", "shopper"),
    ("graph.facebook.com:id", "friend"),
    ("s3:max-keys", "max-keys"),
    ("key:bytes", "bytes"),
    ("aws:TokenIssueTime", "issued"),
    ("aws:CurrentTime", "now"),
    ("aws:SourceArn", "source"),
    ("aws:SourceVpce", "endpoint"),
];

/// Networks of documentation, and what stands for them on this machine.
const NETWORKS: [(&str, &str); 3] =
    [("192.0.2.", "127.2.2."), ("198.51.100.", "127.5.100."), ("203.0.11", "127.3.11")];

/// The label of a stream in rows.
pub(crate) const LABEL: &str = "2024-02-12T18:57:26.492";

/// Why a row cannot be a real request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unreal {
    /// The action is another service's.
    OtherService,
    /// The server does not answer the operation, as `COMPAT.md` says.
    NotServed,
    /// No request of DynamoDB has this: a PartiQL statement within a native transaction, an INSERT into an
    /// index, a request from nowhere.
    NoSuchRequest,
    /// IAM takes no such name of a user.
    NoSuchName,
    /// The address is one of IPv6, and a machine can be sure of one such address only.
    Ipv6,
}

/// A table as a row needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Design {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) sort: Option<String>,
    /// An index and the attributes of its partition key.
    pub(crate) index: Option<(String, Vec<String>)>,
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) has_stream: bool,
}

/// A policy with the words of its group.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) number: usize,
    json: Value,
    pub(crate) identity: Vec<Policy>,
    pub(crate) boundary: Option<Policy>,
    pub(crate) session: Vec<Policy>,
    pub(crate) resource_policy: Option<Policy>,
    /// Of the caller, with those that give values of conditions.
    pub(crate) tags: Vec<(String, String)>,
}

/// The rows in groups that share accounts: rows of one group have one caller, with the same policies and
/// tags, and tables that do not contradict each other.
pub(crate) fn groups() -> Vec<Vec<Row>> {
    let table = table();
    let mut groups: Vec<(String, Vec<Row>)> = Vec::new();
    for (number, json) in table["rows"].as_array().unwrap().iter().enumerate() {
        let key = group_key(number, json);
        let place = groups.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        let row = Row::new(number, json, &table["policies"], place);
        groups[place].1.push(row);
    }
    groups.into_iter().map(|(_, rows)| rows).collect()
}

/// What the rows of a group have in common.
fn group_key(number: usize, row: &Value) -> String {
    let context = |key: &str| row["context"].get(key).cloned().unwrap_or_default();
    let borrowed: Vec<Value> = BORROWED.iter().map(|(key, _)| context(key)).collect();
    let caller = row["caller"].as_str().unwrap().split('/').take(2).collect::<Vec<_>>();
    let ends = ["CreateTable", "DeleteTable", "DeleteResourcePolicy"];
    let is_alone = ends.iter().any(|end| row["action"].as_str().unwrap().ends_with(end));
    let design = Design::of(row);
    json!([
        [caller, row["account"], row["identity"], row["boundary"], row["tags"], row["resource_policy"]],
        [borrowed, is_secure(row), is_alone.then_some(number)],
        [design.key, design.sort, design.index, design.tags, design.has_stream, row["session"]],
    ])
    .to_string()
}

/// Whether a row is one over TLS; a tag says that too.
fn is_secure(row: &Value) -> bool {
    row["context"]["aws:SecureTransport"] == "true"
}

fn at_its_place(text: &str, place: usize) -> String {
    let mut text = text.to_owned();
    for (which, account) in ACCOUNTS.iter().enumerate() {
        text = text.replace(account, &account_of(place, which));
    }
    NETWORKS.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

/// An account of a group.
pub(crate) fn account_of(place: usize, which: usize) -> String {
    format!("{:012}", 500_000_000_000 + place * 10 + which)
}

impl Row {
    fn new(number: usize, json: &Value, policies: &Value, place: usize) -> Self {
        let mut row: Value = serde_json::from_str(&at_its_place(&json.to_string(), place)).unwrap();
        let mut tags: Vec<(String, String)> = Vec::new();
        for (key, value) in row["tags"].as_object().into_iter().flatten() {
            tags.push((key.clone(), value.as_str().unwrap().to_owned()));
        }
        let mut borrowed: Vec<(&str, &str)> = BORROWED.to_vec();
        if is_secure(&row) {
            borrowed.push(("aws:SecureTransport", "secure"));
        }
        let context = row["context"].as_object_mut();
        let mut taken = Vec::new();
        if let Some(context) = context {
            for (key, tag) in borrowed {
                let Some(value) = context.remove(key) else { continue };
                tags.push((tag.to_owned(), value.as_str().unwrap().to_owned()));
                taken.push((key, format!("aws:PrincipalTag/{tag}")));
            }
        }
        let policy = |name: &Value| {
            let name = name.as_str().unwrap().to_owned();
            let text = at_its_place(&policies[&name]["document"].to_string(), place);
            let text = taken.iter().fold(text, |text, (key, tag)| text.replace(key, tag));
            Policy { name, text }
        };
        let list = |member: &str| row[member].as_array().into_iter().flatten().map(policy).collect();
        Self {
            number,
            identity: list("identity"),
            boundary: row.get("boundary").map(policy),
            session: list("session"),
            resource_policy: row.get("resource_policy").map(policy),
            tags,
            json: row,
        }
    }

    fn text(&self, member: &str) -> &str {
        self.json[member].as_str().unwrap()
    }

    /// The action without its service.
    pub(crate) fn action(&self) -> &str {
        self.text("action").split_once(':').unwrap().1
    }

    pub(crate) fn full_action(&self) -> &str {
        self.text("action")
    }

    /// The key of a condition as the row has it.
    pub(crate) fn context(&self, key: &str) -> Option<&str> {
        self.json["context"][key].as_str()
    }

    /// The values of such a key.
    pub(crate) fn values(&self, key: &str) -> Option<Vec<&str>> {
        let values = self.json["context"][key].as_array()?;
        Some(values.iter().map(|value| value.as_str().unwrap()).collect())
    }

    /// All keys of conditions with their values.
    pub(crate) fn all_context(&self) -> Vec<(String, Vec<String>)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let values = |value: &Value| {
            value.as_array().map_or_else(|| vec![text(value)], |list| list.iter().map(text).collect())
        };
        let context = self.json["context"].as_object().into_iter().flatten();
        context.map(|(key, value)| (key.clone(), values(value))).collect()
    }

    /// Which account of the group calls.
    pub(crate) fn caller_account(&self, owner: &str) -> String {
        self.json["account"].as_str().unwrap_or(owner).to_owned()
    }

    /// `root`, `user/NAME` or `session/ROLE/NAME`, in parts.
    pub(crate) fn caller(&self) -> Vec<&str> {
        self.text("caller").split('/').collect()
    }

    /// The resource in full.
    pub(crate) fn resource(&self, owner: &str) -> String {
        match self.text("resource") {
            "*" => "*".to_owned(),
            arn if arn.starts_with("arn:") => arn.to_owned(),
            short => format!("arn:aws:dynamodb:{}:{owner}:{short}", self.region()),
        }
    }

    pub(crate) fn region(&self) -> &str {
        let of_resource = self.text("resource").strip_prefix("arn:aws:dynamodb:");
        let of_resource = of_resource.and_then(|rest| rest.split(':').next());
        self.context("aws:RequestedRegion").or(of_resource).unwrap_or("us-west-2")
    }

    pub(crate) fn design(&self) -> Design {
        Design::of(&self.json)
    }

    /// What the service says to a denied caller; none if the row is allowed.
    pub(crate) fn denial(&self, owner: &str) -> Option<String> {
        let (kind, layer) = self.text("decision").split_once(' ')?;
        let account = self.caller_account(owner);
        let user = match self.caller()[..] {
            ["user", name] => format!("arn:aws:iam::{account}:user/{name}"),
            ["session", role, name] => format!("arn:aws:sts::{account}:assumed-role/{role}/{name}"),
            _ => format!("arn:aws:iam::{account}:root"),
        };
        let (action, resource) = (self.text("action"), self.resource(owner));
        let start = format!("User: {user} is not authorized to perform: {action} on resource: {resource}");
        let policy = match layer {
            "identity" => "identity-based policy",
            "boundary" => "permissions boundary",
            "session" => "session policy",
            _ => "resource-based policy",
        };
        Some(if kind == "implicit" {
            format!("{start} because no {policy} allows the {action} action")
        } else {
            let article = if layer == "identity" { "an" } else { "a" };
            format!("{start} with an explicit deny in {article} {policy}")
        })
    }

    /// The decision in the simulator's words.
    pub(crate) fn simulated(&self) -> &'static str {
        match self.text("decision").split(' ').next().unwrap() {
            "allow" => "allowed",
            "explicit" => "explicitDeny",
            _ => "implicitDeny",
        }
    }

    /// Why the row cannot be a real request, if it cannot.
    pub(crate) fn unreal(&self) -> Option<Unreal> {
        if !self.text("action").starts_with("dynamodb:") {
            return Some(Unreal::OtherService);
        }
        if self.action() == "SearchVectors" {
            return Some(Unreal::NotServed);
        }
        if self.caller()[1..].iter().any(|name| name.contains('*')) {
            return Some(Unreal::NoSuchName);
        }
        if self.context("aws:SourceIp").is_some_and(|ip| ip.contains(':')) {
            return Some(Unreal::Ipv6);
        }
        let is_statement = self.action().starts_with("PartiQL");
        let enclosing = self.context("dynamodb:EnclosingOperation");
        let is_native = is_statement && enclosing.is_some_and(|operation| operation != "ExecuteTransaction");
        let is_into_index = self.action() == "PartiQLInsert" && self.text("resource").contains("/index/");
        let asks_address = self.identity.iter().any(|policy| policy.text.contains("aws:SourceIp"));
        let is_from_nowhere = asks_address && self.context("aws:SourceIp").is_none();
        (is_native || is_into_index || is_from_nowhere).then_some(Unreal::NoSuchRequest)
    }
}

impl Design {
    fn of(row: &Value) -> Self {
        let context = |key: &str| row["context"][key].as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let attributes = context("dynamodb:Attributes");
        let resource = row["resource"].as_str().unwrap();
        let named = resource.split_once("table/").map_or("Any", |(_, named)| named);
        let mut parts = named.split('/');
        let (name, kind, part) = (parts.next().unwrap(), parts.next(), parts.next());
        let first = attributes.first().map(text);
        let index = (kind == Some("index")).then(|| {
            let second = row["context"].get("dynamodb:SecondPartitionKeyValues").map(|_| "colour".to_owned());
            let first = first.clone().unwrap_or_else(|| "g".to_owned());
            (part.unwrap().to_owned(), [first].into_iter().chain(second).collect())
        });
        let leading = context("dynamodb:LeadingKeys");
        let is_twice = leading.iter().enumerate().any(|(place, one)| leading[..place].contains(one));
        let tags = row["context"].as_object().into_iter().flatten();
        let tags = tags.filter_map(|(key, value)| Some((key.strip_prefix("aws:ResourceTag/")?, text(value))));
        Self {
            name: name.to_owned(),
            key: first.filter(|_| index.is_none()).unwrap_or_else(|| "pk".to_owned()),
            sort: is_twice.then(|| text(&attributes[1])),
            index,
            tags: tags.map(|(key, value)| (key.to_owned(), value)).collect(),
            has_stream: kind == Some("stream"),
        }
    }

    /// Whether DynamoDB takes the name.
    pub(crate) fn has_good_name(&self) -> bool {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        self.name.bytes().all(is_good)
    }

    pub(crate) fn create(&self) -> Value {
        let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
        let mut schema = vec![key(&self.key, "HASH")];
        schema.extend(self.sort.as_deref().map(|sort| key(sort, "RANGE")));
        let mut names: Vec<&str> = [self.key.as_str()].into_iter().chain(self.sort.as_deref()).collect();
        let mut body = json!({"TableName": self.name, "BillingMode": "PAY_PER_REQUEST", "KeySchema": schema});
        if let Some((index, keys)) = &self.index {
            names.extend(keys.iter().map(String::as_str));
            let schema: Vec<Value> = keys.iter().map(|name| key(name, "HASH")).collect();
            body["GlobalSecondaryIndexes"] = json!([{"IndexName": index, "KeySchema": schema,
                "Projection": {"ProjectionType": "ALL"}}]);
        }
        names.sort_unstable();
        names.dedup();
        let typed = |name: &&str| json!({"AttributeName": name, "AttributeType": "S"});
        body["AttributeDefinitions"] = names.iter().map(typed).collect();
        let tags = self.tags.iter().map(|(key, value)| json!({"Key": key, "Value": value}));
        body["Tags"] = tags.collect();
        if self.has_stream {
            body["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
        }
        body
    }
}
