//! The members of a record, in `CloudTrail`'s form.
//!
//! Source: "`CloudTrail` record contents" and "userIdentity element" of the `CloudTrail` user guide,
//! "Understanding DynamoDB log file entries" of the DynamoDB guide.

use serde_json::{Map, Value, json};

use super::backwards::length;
use crate::connection::secured::Secured;
use crate::process::{environment, timestamp};

const VERSION: &str = "1.11";

/// Who made a request.
#[derive(Clone, Debug)]
pub(crate) enum Identity {
    Root,
    User {
        name: String,
        id: String,
        arn: String,
    },
    Role {
        id: String,
        arn: String,
        /// The name, id and ARN of the role.
        role: (String, String, String),
    },
}

/// What a record shows of a connection with TLS.
#[derive(Clone, Debug)]
pub(crate) struct TlsDetails {
    pub(crate) secured: Secured,
    /// The host that the client named; a page of the studio names none.
    pub(crate) host: Option<String>,
}

impl TlsDetails {
    fn shown(&self) -> Value {
        let Secured { version, cipher_suite } = self.secured;
        let mut shown = json!({"tlsVersion": version, "cipherSuite": cipher_suite});
        if let (Some(members), Some(host)) = (shown.as_object_mut(), &self.host) {
            members.insert("clientProvidedHostHeader".to_owned(), json!(host));
        }
        shown
    }
}

/// By which key, in which account, and since when if by a session.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) identity: Identity,
    pub(crate) account: String,
    pub(crate) region: String,
    pub(crate) access_key_id: Option<String>,
    pub(crate) session_since_ms: Option<u64>,
    pub(crate) source_identity: Option<String>,
    pub(crate) ip: String,
    pub(crate) user_agent: Option<String>,
    /// None without TLS.
    pub(crate) tls: Option<TlsDetails>,
    /// Whether a page of the studio made it.
    pub(crate) is_page: bool,
}

/// What a request was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) arn: String,
    pub(crate) account: String,
}

/// One request and its answer.
#[derive(Debug)]
pub(crate) struct Record<'r> {
    pub(crate) origin: &'r Origin,
    /// Such as `dynamodb.amazonaws.com`.
    pub(crate) source: &'static str,
    pub(crate) name: String,
    pub(crate) api_version: Option<&'static str>,
    pub(crate) is_data: bool,
    pub(crate) is_read_only: bool,
    pub(crate) request_id: &'r str,
    /// The code of the error, and its text where that quotes nothing of the request.
    pub(crate) error: Option<(String, Option<String>)>,
    pub(crate) parameters: Value,
    pub(crate) response: Value,
    pub(crate) resources: Vec<Resource>,
    /// Whether the accounts of the resources have a record too: not of what they denied.
    pub(crate) is_shared: bool,
}

/// A random id in the form of a UUID of version 4.
fn event_id() -> String {
    let bits = environment::random_u128();
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0..8), part(8..12), part(12..16), part(16..20), part(20..32))
}

/// A time without milliseconds, as `CloudTrail` has it.
fn time(ms: u64) -> String {
    format!("{}Z", timestamp::of(ms).split('.').next().unwrap_or_default())
}

fn line(record: &Value, into: &mut Vec<u8>) {
    into.extend_from_slice(record.to_string().as_bytes());
    into.push(b'\n');
}

/// The name of the record that says how many others are missing before it.
pub(super) const MISSING: &str = "RecordsMissing";

/// How many records are missing before this one, if it says so.
pub(crate) fn missing_in(record: &Value) -> Option<u64> {
    let is_ours = record.get("eventSource")?.as_str()? == "keywright" && record.get("eventName")? == MISSING;
    is_ours.then(|| record.pointer("/serviceEventDetails/records")?.as_u64()).flatten()
}

/// The line that says how many records could not be written before it.
pub(super) fn missing(records: u64, now_ms: u64) -> Vec<u8> {
    let mut lines = Vec::new();
    let record = json!({
        "eventVersion": VERSION,
        "userIdentity": {"type": "AWSService", "invokedBy": "keywright"},
        "eventTime": time(now_ms),
        "eventSource": "keywright",
        "eventName": MISSING,
        "awsRegion": "us-east-1",
        "sourceIPAddress": "keywright",
        "userAgent": "keywright",
        "requestParameters": null,
        "responseElements": null,
        "eventID": event_id(),
        "readOnly": false,
        "eventType": "AwsServiceEvent",
        "managementEvent": true,
        "eventCategory": "Management",
        "serviceEventDetails": {"records": records},
    });
    line(&record, &mut lines);
    lines
}

impl Origin {
    fn shown(&self) -> Value {
        let mut shown = Map::new();
        let mut put = |name: &str, value: Value| shown.insert(name.to_owned(), value);
        let root = format!("arn:aws:iam::{}:root", self.account);
        let (kind, id, arn) = match &self.identity {
            Identity::Root => ("Root", &self.account, &root),
            Identity::User { id, arn, .. } => ("IAMUser", id, arn),
            Identity::Role { id, arn, .. } => ("AssumedRole", id, arn),
        };
        put("type", json!(kind));
        put("principalId", json!(id));
        put("arn", json!(arn));
        put("accountId", json!(self.account));
        if let Some(key) = &self.access_key_id {
            put("accessKeyId", json!(key));
        }
        if let Identity::User { name, .. } = &self.identity {
            put("userName", json!(name));
        }
        if let Some(since_ms) = self.session_since_ms {
            let mut context = Map::new();
            let attributes = json!({"creationDate": time(since_ms), "mfaAuthenticated": "false"});
            context.insert("attributes".to_owned(), attributes);
            if let Identity::Role { role: (name, id, arn), .. } = &self.identity {
                let issuer = json!({"type": "Role", "principalId": id, "arn": arn,
                    "accountId": self.account, "userName": name});
                context.insert("sessionIssuer".to_owned(), issuer);
            }
            if let Some(source) = &self.source_identity {
                context.insert("sourceIdentity".to_owned(), json!(source));
            }
            put("sessionContext", Value::Object(context));
        }
        Value::Object(shown)
    }
}

impl Record<'_> {
    /// The lines of the record and their number: one for the caller's account, and one for each other account
    /// whose resources it names.
    pub(crate) fn lines(&self) -> (Vec<u8>, u64) {
        let own = &self.origin.account;
        let mut accounts = vec![own];
        for Resource { account, .. } in &self.resources {
            if self.is_shared && !accounts.contains(&account) {
                accounts.push(account);
            }
        }
        let now_ms = environment::now().0;
        let shared = (accounts.len() > 1).then(event_id);
        let mut lines = Vec::new();
        for account in &accounts {
            let mut record = self.shown(account, now_ms);
            if let Some(shared) = &shared {
                record.insert("sharedEventID".to_owned(), json!(shared));
            }
            line(&Value::Object(record), &mut lines);
        }
        (lines, length(accounts.len()))
    }

    fn shown(&self, recipient: &str, now_ms: u64) -> Map<String, Value> {
        let Origin { region, ip, user_agent, tls, is_page, .. } = self.origin;
        let kind = |arn: &str| {
            if arn.contains("/stream/") { "AWS::DynamoDB::Stream" } else { "AWS::DynamoDB::Table" }
        };
        let resources: Vec<Value> = self
            .resources
            .iter()
            .map(|Resource { arn, account }| json!({"accountId": account, "type": kind(arn), "ARN": arn}))
            .collect();
        let record = json!({
            "eventVersion": VERSION,
            "userIdentity": self.origin.shown(),
            "eventTime": time(now_ms),
            "eventSource": self.source,
            "eventName": self.name,
            "awsRegion": region,
            "sourceIPAddress": ip,
            "userAgent": user_agent.as_deref().unwrap_or("-"),
            "requestParameters": self.parameters,
            "responseElements": self.response,
            "requestID": self.request_id,
            "eventID": event_id(),
            "readOnly": self.is_read_only,
            "eventType": "AwsApiCall",
            "managementEvent": !self.is_data,
            "recipientAccountId": recipient,
            "eventCategory": if self.is_data { "Data" } else { "Management" },
        });
        let Value::Object(mut record) = record else { return Map::new() };
        let mut put = |name: &str, value: Value| record.insert(name.to_owned(), value);
        if let Some((code, text)) = &self.error {
            put("errorCode", json!(code));
            if let Some(text) = text {
                put("errorMessage", json!(text));
            }
        }
        if !resources.is_empty() {
            put("resources", Value::Array(resources));
        }
        if let Some(version) = self.api_version {
            put("apiVersion", json!(version));
        }
        if let Some(tls) = tls {
            put("tlsDetails", tls.shown());
        }
        if *is_page {
            put("sessionCredentialFromConsole", json!("true"));
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_uuids_of_version_four_and_times_have_seconds() {
        let id = event_id();
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(id.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&id.as_bytes()[19]));
        assert_eq!(time(1_000_000_000_123), "2001-09-09T01:46:40Z");
    }
}
