//! Reads table descriptions, settings and a sample of items from a live endpoint.
//!
//! A client of the public API: one connection, one request at a time, every request signed.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use keywright_model::exchange::live::LiveTable;
use keywright_model::json::Json;
use keywright_wire::sigv4::{SignedRequest, Signer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::progress::Bar;
use crate::{banner, environment};

const TARGET: HeaderName = HeaderName::from_static("x-amz-target");
const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
const JSON: &str = "application/x-amz-json-1.0";

/// Items per request; the service returns at most 1 MB anyway.
const PAGE_ITEMS_MAX: u64 = 500;

/// More than the service's largest response, whose pages hold 1 MB of items.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Timeout of a request.
const ANSWER_TIME_MAX: Duration = Duration::from_mins(1);

/// Maximum number of tables of one import; nobody reads a larger model.
const FETCHED_TABLES_MAX: usize = 1000;

/// The endpoint that has the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    secure: bool,
    host: String,
    port: u16,
    /// The value of the `host` header.
    authority: String,
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = "write http://host:port or https://host";
        let uri: Uri = text.parse().map_err(|error| format!("{error}; {help}"))?;
        let (secure, port) = match uri.scheme_str() {
            Some("http") => (false, 80),
            Some("https") => (true, 443),
            _ => return Err(help.to_owned()),
        };
        if uri.path_and_query().is_some_and(|path| path.as_str() != "/") {
            return Err(format!("an endpoint cannot have a path; {help}"));
        }
        let authority = uri.authority().ok_or(help)?;
        Ok(Self {
            secure,
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(port),
            authority: authority.as_str().to_owned(),
        })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.secure { "https" } else { "http" }, self.authority)
    }
}

/// The credentials and region of the requests.
#[derive(Clone, Debug, Args)]
pub(crate) struct Credentials {
    /// Access key that signs the requests
    #[arg(long, value_name = "ID", env = "AWS_ACCESS_KEY_ID", default_value = "local")]
    access_key_id: String,
    /// Secret of the access key
    #[arg(
        long,
        value_name = "SECRET",
        env = "AWS_SECRET_ACCESS_KEY",
        default_value = "local",
        hide_env_values = true
    )]
    secret_access_key: String,
    /// Session token of temporary credentials
    #[arg(long, value_name = "TOKEN", env = "AWS_SESSION_TOKEN", hide_env_values = true)]
    session_token: Option<String>,
    /// Region of the signature
    #[arg(long, value_name = "NAME", env = "AWS_REGION", default_value = "us-east-1")]
    region: String,
}

/// Describes and samples the named tables, or all.
pub(super) fn tables(
    endpoint: &Endpoint,
    credentials: &Credentials,
    names: &[String],
    sample: u64,
) -> Result<Vec<LiveTable>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    runtime.block_on(async {
        let mut client = Client::connect(endpoint, credentials).await?;
        let names = if names.is_empty() { client.list().await? } else { names.to_vec() };
        let mut found = Vec::new();
        let bar = Bar::new();
        for name in &names {
            banner::note(&format!("{name}: reading its description and up to {sample} items"));
            found.push(client.table(name, sample, &bar).await?);
        }
        Ok(found)
    })
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Why an operation failed.
struct Refusal {
    /// The exception's name, if the endpoint responded with one.
    kind: String,
    text: String,
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> Self {
        refusal.text
    }
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Self { kind: String::new(), text }
    }
}

struct Client {
    endpoint: Endpoint,
    session_token: Option<String>,
    signer: Signer,
    sender: SendRequest<Full<Bytes>>,
}

impl Client {
    async fn connect(endpoint: &Endpoint, credentials: &Credentials) -> Result<Self, String> {
        let explain = |error: &dyn fmt::Display| format!("cannot connect to {endpoint}: {error}");
        let tcp = TcpStream::connect((endpoint.host.as_str(), endpoint.port))
            .await
            .map_err(|error| explain(&error))?;
        let stream: Box<dyn Stream> = if endpoint.secure {
            let name = ServerName::try_from(endpoint.host.clone()).map_err(|error| explain(&error))?;
            Box::new(connector()?.connect(name, tcp).await.map_err(|error| explain(&error))?)
        } else {
            Box::new(tcp)
        };
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| explain(&error))?;
        // The sender reports errors; the driver's own result adds nothing.
        tokio::spawn(async move { drop(connection.await) });
        let signer =
            Signer::new(&credentials.access_key_id, &credentials.secret_access_key, &credentials.region);
        Ok(Self {
            endpoint: endpoint.clone(),
            session_token: credentials.session_token.clone(),
            signer,
            sender,
        })
    }

    /// The names of all tables.
    async fn list(&mut self) -> Result<Vec<String>, String> {
        let mut names: Vec<String> = Vec::new();
        let mut start = None;
        while names.len() < FETCHED_TABLES_MAX {
            let mut request = Json::Object(Vec::new());
            if let Some(start) = start.take() {
                request.set("ExclusiveStartTableName", start);
            }
            let answer = self.ask("ListTables", &request).await?;
            let found = answer.get("TableNames").map_or(&[][..], Json::elements);
            names.extend(found.iter().filter_map(Json::as_str).map(str::to_owned));
            start = answer.get("LastEvaluatedTableName").cloned();
            if start.is_none() {
                return Ok(names);
            }
        }
        Err(format!("{} has more than {FETCHED_TABLES_MAX} tables; name some with --table", self.endpoint))
    }

    async fn table(&mut self, name: &str, sample: u64, bar: &Bar) -> Result<LiveTable, String> {
        let request = Json::object([("TableName", Json::text(name))]);
        let description = self.ask("DescribeTable", &request).await?;
        let mut unanswered = Vec::new();
        let mut answers = Vec::new();
        for operation in ["DescribeTimeToLive", "DescribeContinuousBackups"] {
            // Not every endpoint supports these settings. Without them they count as off, and a note says so.
            let answer = self.ask(operation, &request).await;
            answers.push(answer.map_err(|refusal| unanswered.push(refusal.text)).ok());
        }
        let mut answers = answers.into_iter();
        let (time_to_live, backups) = (answers.next().flatten(), answers.next().flatten());
        let mut other_settings = Vec::new();
        let arn = description.at(&["Table", "TableArn"]).cloned().unwrap_or(Json::Null);
        let by_arn = Json::object([("ResourceArn", arn)]);
        for (operation, request) in [
            ("ListTagsOfResource", &by_arn),
            ("GetResourcePolicy", &by_arn),
            ("DescribeKinesisStreamingDestination", &request),
            ("DescribeContributorInsights", &request),
        ] {
            match self.ask(operation, request).await {
                Ok(answer) => other_settings.push((operation.to_owned(), answer)),
                // Unsupported or absent settings count as absent. A setting that access control hides may
                // exist, so it is reported.
                Err(refusal) if refusal.kind == "AccessDeniedException" => unanswered.push(refusal.text),
                Err(_) => {}
            }
        }
        let items = self.sample(name, sample, bar).await?;
        Ok(LiveTable { description, time_to_live, backups, other_settings, unanswered, items })
    }

    /// The first items of a Scan.
    async fn sample(&mut self, name: &str, sample: u64, bar: &Bar) -> Result<Vec<Json>, String> {
        let mut items = Vec::new();
        let mut left = sample;
        let mut start = None;
        while left > 0 {
            let mut request = Json::object([
                ("TableName", Json::text(name)),
                ("Limit", Json::number(left.min(PAGE_ITEMS_MAX))),
            ]);
            if let Some(start) = start.take() {
                request.set("ExclusiveStartKey", start);
            }
            let answer = self.ask("Scan", &request).await?;
            let found = answer.get("Items").map_or(&[][..], Json::elements);
            left = left.saturating_sub(u64::try_from(found.len()).unwrap_or(u64::MAX));
            items.extend(found.iter().cloned());
            bar.at(&format!("sampling {name}"), sample - left, sample);
            start = answer.get("LastEvaluatedKey").cloned();
            if start.is_none() {
                break;
            }
        }
        Ok(items)
    }

    async fn ask(&mut self, operation: &str, body: &Json) -> Result<Json, Refusal> {
        let late = |_| format!("{operation}: no response within {} seconds", ANSWER_TIME_MAX.as_secs());
        timeout(ANSWER_TIME_MAX, self.answer(operation, body)).await.map_err(late)?
    }

    async fn answer(&mut self, operation: &str, body: &Json) -> Result<Json, Refusal> {
        let request = self.request(operation, body)?;
        let broke = |error: &dyn fmt::Display| format!("{operation}: incomplete response: {error}");
        let response = self.sender.send_request(request).await.map_err(|error| broke(&error))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX);
        let bytes = body.collect().await.map_err(|error| broke(&error))?.to_bytes();
        let text = String::from_utf8_lossy(&bytes);
        let answer = Json::parse(&text).map_err(|fault| format!("{operation}: HTTP {status}, {fault}"))?;
        if status == StatusCode::OK {
            return Ok(answer);
        }
        let kind = answer.str_at("__type").unwrap_or_default();
        let kind = kind.rsplit('#').next().unwrap_or(kind);
        let message = answer.str_at("message").or_else(|| answer.str_at("Message")).unwrap_or_default();
        let message = if message.is_empty() { String::new() } else { format!(": {message}") };
        Err(Refusal { kind: kind.to_owned(), text: format!("{operation}: {kind}{message}") })
    }

    fn request(&mut self, operation: &str, body: &Json) -> Result<Request<Full<Bytes>>, String> {
        let now = environment::now();
        let date = now.to_basic();
        let target = format!("DynamoDB_20120810.{operation}");
        let body = Bytes::from(body.compact());
        let token = self.session_token.clone();
        let mut headers = vec![
            ("content-type", JSON),
            ("host", self.endpoint.authority.as_str()),
            ("x-amz-date", date.as_str()),
        ];
        if let Some(token) = &token {
            headers.push(("x-amz-security-token", token));
        }
        headers.push(("x-amz-target", &target));
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let signed = SignedRequest { method: "POST", path: "/", query: "", headers: &headers, body: &body };
        let authorization = self.signer.authorization(&signed, &names, now);
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = Method::POST;
        let value = |text: &str| HeaderValue::from_str(text).map_err(|error| format!("{operation}: {error}"));
        let sent = request.headers_mut();
        sent.insert(HOST, value(&self.endpoint.authority)?);
        sent.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        sent.insert(TARGET, value(&target)?);
        sent.insert(DATE, value(&date)?);
        if let Some(token) = &token {
            sent.insert(TOKEN, value(token)?);
        }
        sent.insert(AUTHORIZATION, value(&authorization)?);
        Ok(request)
    }
}

/// Trusts the system's certificate authorities.
fn connector() -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err("this system has no root certificates, which an https endpoint needs".to_owned());
    }
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_parsed_and_printed_alike() {
        for text in ["http://localhost:8000", "https://dynamodb.us-east-1.amazonaws.com", "http://[::1]:8000"]
        {
            let endpoint: Endpoint = text.parse().expect("an endpoint");
            assert_eq!(endpoint.to_string(), text);
        }
        for text in ["localhost:8000", "ftp://x", "http://x/y", ""] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
    }
}
