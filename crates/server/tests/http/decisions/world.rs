//! Servers whose accounts have the principals, policies and tables of the rows.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::Path;

use serde_json::{Value, json};

use super::requests::{Place, request};
use super::rows::{Design, LABEL, Row, account_of};
use crate::support::Server;
use crate::support::raw::Connection;
use crate::support::signed::{Signed, element, user};

/// An access key.
pub(crate) type Key = (String, String);

/// Rows that share accounts, and the keys of those.
pub(crate) struct Group {
    place: usize,
    pub(crate) rows: Vec<Row>,
    pub(crate) owner: String,
    pub(crate) account: String,
    /// The key of the user that calls, or that takes the role.
    pub(crate) key: Option<Key>,
}

/// What a server says to a row's request, and what it must say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) number: usize,
    pub(crate) said: String,
    pub(crate) expected: String,
}

/// The key of an account itself.
pub(crate) fn root(account: &str) -> Key {
    (format!("AKIAROOT{account}"), format!("the-secret-of-{account}"))
}

/// The file of the keys of all accounts.
pub(crate) fn keys(groups: &[Group], folder: &Path) -> String {
    let mut text = String::new();
    for account in groups.iter().flat_map(|group| (0..3).map(|which| account_of(group.place, which))) {
        let (id, secret) = root(&account);
        writeln!(text, "[[credential]]\naccess_key_id = \"{id}\"\nsecret_access_key = \"{secret}\"").unwrap();
        writeln!(text, "account = \"{account}\"").unwrap();
    }
    let file = folder.join("keys.toml");
    std::fs::write(&file, text).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    file.to_str().unwrap().to_owned()
}

pub(crate) fn signed(server: &Server, (id, secret): &Key, region: &str) -> Signed {
    Signed::on(Connection::open(server), (id, secret), region)
}

/// A policy's ARN, after the policy was made.
fn managed(root: &mut Signed, account: &str, name: &str, text: &str) -> String {
    root.good_iam("CreatePolicy", &[("PolicyName", name), ("PolicyDocument", text)]);
    format!("arn:aws:iam::{account}:policy/{name}")
}

impl Group {
    pub(crate) fn new(place: usize, rows: Vec<Row>) -> Self {
        let owner = account_of(place, 0);
        let account = rows[0].caller_account(&owner);
        Self { place, rows, owner, account, key: None }
    }

    /// Makes the caller with its policies and tags by IAM.
    pub(crate) fn make_principals(&mut self, server: &Server) {
        let first = &self.rows[0];
        let mut root = signed(server, &root(&self.account), "us-west-2");
        let root = &mut root;
        let (kind, name) = match first.caller()[..] {
            ["user", name] => ("User", name),
            ["session", role, _] => ("Role", role),
            _ => return,
        };
        let member = format!("{kind}Name");
        let named = (member.as_str(), name);
        self.key = Some(if kind == "User" {
            user(root, name)
        } else {
            make_role(root, &self.account, name);
            let taker = user(root, "taker");
            let take = statement(&json!({"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"}));
            let policy = [("UserName", "taker"), ("PolicyName", "take"), ("PolicyDocument", take.as_str())];
            root.good_iam("PutUserPolicy", &policy);
            taker
        });
        for policy in &first.identity {
            let policy = [named, ("PolicyName", &policy.name), ("PolicyDocument", &policy.text)];
            root.good_iam(&format!("Put{kind}Policy"), &policy);
        }
        if let Some(policy) = &first.boundary {
            let arn = managed(root, &self.account, &policy.name, &policy.text);
            let bound = [named, ("PermissionsBoundary", arn.as_str())];
            root.good_iam(&format!("Put{kind}PermissionsBoundary"), &bound);
        }
        for (key, value) in &first.tags {
            let tag = [named, ("Tags.member.1.Key", key), ("Tags.member.1.Value", value)];
            root.good_iam(&format!("Tag{kind}"), &tag);
        }
        for policy in first.session.iter().skip(1) {
            managed(root, &self.account, &policy.name, &policy.text);
        }
    }

    /// Makes whom the policies of tables name besides the caller.
    pub(crate) fn make_named(&self, server: &Server) {
        let Some(policy) = &self.rows[0].resource_policy else { return };
        let caller = self.rows[0].caller()[1..].first().map(|name| (*name).to_owned());
        for account in [&self.owner, &self.account] {
            let mut root = signed(server, &root(account), "us-west-2");
            let is_caller = |name: &str| *account == self.account && Some(name) == caller.as_deref();
            for name in named(&policy.text, &format!("iam::{account}:user/")) {
                if !is_caller(&name) && root.iam("GetUser", &[("UserName", &name)]).status != 200 {
                    root.good_iam("CreateUser", &[("UserName", &name)]);
                }
            }
            let roles = named(&policy.text, &format!("iam::{account}:role/"));
            for name in roles.into_iter().chain(named(&policy.text, &format!("{account}:assumed-role/"))) {
                if !is_caller(&name) && root.iam("GetRole", &[("RoleName", &name)]).status != 200 {
                    make_role(&mut root, account, &name);
                }
            }
        }
    }

    /// Makes the tables with their items and policies, and answers with the ARN of a stream.
    fn make_tables(&self, server: &Server) -> Option<String> {
        let mut root = signed(server, &root(&self.owner), "us-west-2");
        let mut stream = None;
        let mut made: Vec<Design> = Vec::new();
        for row in self.rows.iter().filter(|row| row.action() != "CreateTable") {
            let design = row.design();
            if made.contains(&design) || !design.has_good_name() {
                continue;
            }
            let table = root.good("CreateTable", &design.create());
            if design.has_stream {
                stream = table["TableDescription"]["LatestStreamArn"].as_str().map(str::to_owned);
            }
            made.push(design);
        }
        if let (Some(policy), Some(design)) = (&self.rows[0].resource_policy, made.first()) {
            let table = format!("arn:aws:dynamodb:us-west-2:{}:table/{}", self.owner, design.name);
            let label = stream.as_deref().and_then(|arn| arn.rsplit('/').next()).unwrap_or(LABEL);
            let body = json!({"ResourceArn": stream.as_ref().unwrap_or(&table),
                "Policy": policy.text.replace(LABEL, label), "ConfirmRemoveSelfResourceAccess": true});
            root.good("PutResourcePolicy", &body);
        }
        stream
    }

    /// What the server says to each real request of the group.
    pub(crate) fn ask(&self, server: &Server) -> Vec<Asked> {
        let real: Vec<&Row> = self.rows.iter().filter(|row| row.unreal().is_none()).collect();
        if real.is_empty() {
            return Vec::new();
        }
        let stream = self.make_tables(server);
        let (shard, iterator) = stream.as_deref().map(|arn| self.shard(server, arn)).unwrap_or_default();
        let place =
            Place { owner: &self.owner, stream: stream.as_deref(), shard: &shard, iterator: &iterator };
        real.into_iter()
            .map(|row| {
                if ["PartiQLUpdate", "PartiQLDelete"].contains(&row.action()) {
                    let item = json!({"TableName": row.design().name, "Item": {"pk": {"S": "a"}}});
                    signed(server, &root(&self.owner), "us-west-2").good("PutItem", &item);
                }
                let label = stream.as_deref().and_then(|arn| arn.rsplit('/').next()).unwrap_or(LABEL);
                let said = self.ask_one(server, row, &place).replace(label, LABEL);
                let expected = row.denial(&self.owner).unwrap_or_else(|| "allow".to_owned());
                Asked { number: row.number, said, expected }
            })
            .collect()
    }

    /// How the server simulates the rows that no request can be.
    pub(crate) fn simulate(&self, server: &Server) -> Vec<Asked> {
        let mut root = signed(server, &root(&self.account), "us-west-2");
        let simulated = self.rows.iter().filter(|row| row.unreal().is_some()).map(|row| {
            let user = format!("arn:aws:iam::{}:user/{}", self.account, row.caller()[1]);
            let resource = row.resource(&self.owner);
            let mut parameters = vec![
                ("PolicySourceArn".to_owned(), user),
                ("ActionNames.member.1".to_owned(), row.full_action().to_owned()),
                ("ResourceArns.member.1".to_owned(), resource),
            ];
            let policy = row.resource_policy.as_ref();
            parameters.extend(policy.map(|policy| ("ResourcePolicy".to_owned(), policy.text.clone())));
            for (place, (key, values)) in (1..).zip(row.all_context()) {
                let at = format!("ContextEntries.member.{place}");
                let kind = if values.len() == 1 { "string" } else { "stringList" };
                parameters.push((format!("{at}.ContextKeyName"), key));
                parameters.push((format!("{at}.ContextKeyType"), kind.to_owned()));
                for (place, value) in (1..).zip(values) {
                    parameters.push((format!("{at}.ContextKeyValues.member.{place}"), value));
                }
            }
            let parameters: Vec<(&str, &str)> =
                parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let answer = root.good_iam("SimulatePrincipalPolicy", &parameters);
            let said = element(&answer, "EvalDecision");
            Asked { number: row.number, said, expected: row.simulated().to_owned() }
        });
        simulated.collect()
    }

    fn shard(&self, server: &Server, stream: &str) -> (String, String) {
        let mut root = signed(server, &root(&self.owner), "us-west-2");
        let described = root.good("DescribeStream", &json!({"StreamArn": stream}));
        let shard = described["StreamDescription"]["Shards"][0]["ShardId"].as_str().unwrap().to_owned();
        let body = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
        let iterator = root.good("GetShardIterator", &body)["ShardIterator"].as_str().unwrap().to_owned();
        (shard, iterator)
    }

    /// `allow`, the text of the denial, or another fault.
    fn ask_one(&self, server: &Server, row: &Row, place: &Place<'_>) -> String {
        let from: IpAddr = row.context("aws:SourceIp").unwrap_or("127.0.0.1").parse().unwrap();
        let connection = Connection::open_from(server, from);
        let key = self.key.clone().unwrap_or_else(|| root(&self.account));
        let mut caller = match row.caller()[..] {
            ["session", role, name] => self.session(server, (role, name), row).on_connection(connection, row),
            _ => Signed::on(connection, (&key.0, &key.1), row.region()),
        };
        let (operation, body) = request(row, place);
        let agent: Vec<(&str, &str)> =
            row.context("aws:UserAgent").map(|agent| ("user-agent", agent)).into_iter().collect();
        let answer = caller.call_with(&operation, &body, &agent);
        if answer.status == 200 {
            return "allow".to_owned();
        }
        let json = answer.json();
        let kind = json["__type"].as_str().unwrap().rsplit('#').next().unwrap();
        match kind {
            "AccessDeniedException" => json["Message"].as_str().unwrap().to_owned(),
            // What is checked after access: bad names of tables, and tags that are not given.
            "ValidationException" if is_faulty(row) => "allow".to_owned(),
            _ => format!("{operation} {body}: {}", answer.text()),
        }
    }

    /// A session of the role, with the row's session policies.
    fn session(&self, server: &Server, (role, name): (&str, &str), row: &Row) -> Session {
        let mut taker = signed(server, self.key.as_ref().unwrap(), "us-west-2");
        let arn = format!("arn:aws:iam::{}:role/{role}", self.account);
        let mut parameters = vec![("RoleArn", arn.as_str()), ("RoleSessionName", name)];
        parameters.extend(row.session.first().map(|policy| ("Policy", policy.text.as_str())));
        let second = row.session.get(1);
        let second = second.map(|policy| format!("arn:aws:iam::{}:policy/{}", self.account, policy.name));
        parameters.extend(second.as_deref().map(|arn| ("PolicyArns.member.1.arn", arn)));
        let answer = taker.sts("AssumeRole", &parameters);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let of = |name| element(&answer, name);
        Session { key: (of("AccessKeyId"), of("SecretAccessKey")), token: of("SessionToken") }
    }
}

struct Session {
    key: Key,
    token: String,
}

impl Session {
    fn on_connection(self, connection: Connection, row: &Row) -> Signed {
        Signed::on(connection, (&self.key.0, &self.key.1), row.region()).with_token(self.token)
    }
}

/// Whether an allowed request of a row is refused by what is checked after access.
fn is_faulty(row: &Row) -> bool {
    let has_no_tags =
        row.action() == "TagResource" && row.values("aws:TagKeys").is_none_or(|keys| keys.is_empty());
    has_no_tags || !row.design().has_good_name()
}

fn statement(statement: &Value) -> String {
    json!({"Version": "2012-10-17", "Statement": statement}).to_string()
}

fn make_role(root: &mut Signed, account: &str, name: &str) {
    let trust = statement(&json!({"Effect": "Allow", "Principal": {"AWS": account},
        "Action": "sts:AssumeRole"}));
    root.good_iam("CreateRole", &[("RoleName", name), ("AssumeRolePolicyDocument", &trust)]);
}

/// The names that follow this start in a document.
fn named(document: &str, start: &str) -> Vec<String> {
    let rest = document.split(start).skip(1);
    rest.map(|rest| rest.split(['"', '/']).next().unwrap().to_owned()).collect()
}
