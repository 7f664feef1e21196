//! How an S3-compatible store is reached, and what its refusals mean. Of the environment, the libraries below
//! look at proxies, which stand between only if the settings say so, and at the files of certificates.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::{HttpClient, HttpConnector, HttpError};
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, Error, RetryConfig};
use reqwest::redirect;

/// A store that does not take a connection within this time is not there.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// Within this time a store has a chunk and answers, or sends the next bytes: a line of a megabit in a second
/// does.
const SILENCE_MAX: Duration = Duration::from_mins(2);
/// What gives the keys of a role answers at once, or is not there.
const ROLE_TIME_MAX: Duration = Duration::from_secs(1);
/// A request is tried again for some seconds. Who waits longer for a store says so, and tries again later.
const RETRIES_MAX: usize = 5;
const RETRY_TIME_MAX: Duration = Duration::from_secs(10);
const BACKOFF: BackoffConfig =
    BackoffConfig { init_backoff: Duration::from_millis(100), max_backoff: Duration::from_secs(2), base: 2. };
/// What the library of TLS says of a certificate that it does not trust, and where it could trust none.
const UNTRUSTED: &str = "invalid peer certificate";
const NO_CERTIFICATES: &str = "No CA certificates";
/// Names of settings of the library.
const ENCRYPTION: &str = "aws_server_side_encryption";
const ENCRYPTION_KEY: &str = "aws_sse_kms_key_id";
/// Codes of stores that have no room, or no more for this bucket.
const CODES_OF_FULL: [&str; 4] =
    ["QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "XMinioStorageFull", "InsufficientStorage"];
/// Codes of stores that would do the same later.
const CODES_OF_BUSY: [&str; 7] = [
    "InternalError",
    "OperationAborted",
    "RequestTimeout",
    "ServiceUnavailable",
    "SlowDown",
    "Throttling",
    "TooManyRequests",
];
/// What stands before the status in the library's texts, which do not give it otherwise.
const STATUS: &str = "status code: ";
const STATUS_FULL: u16 = 507;
/// More of an answer is not repeated.
const SHOWN_BYTES_MAX: usize = 300;

/// How to reach the store of `s3://` places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct S3Settings {
    /// The URL of an S3-compatible store; `None`: AWS.
    pub endpoint: Option<String>,
    /// The region that requests are signed for.
    pub region: String,
    /// Static keys; `None`: those that a workload on AWS has by its role.
    pub keys: Option<S3Keys>,
    /// What AWS tells a workload about its role, by the names of its variables. Without any, the instance is
    /// asked.
    pub role: Vec<(String, String)>,
    /// Whether requests go over plain HTTP.
    pub allow_http: bool,
    /// Whether the bucket stands in the host's name instead of the path.
    pub virtual_host: bool,
    /// Whether the environment's proxy stands between. A store on this machine has none.
    pub behind_proxy: bool,
}

/// Static keys of an S3-compatible store.
#[derive(Clone, PartialEq, Eq)]
pub struct S3Keys {
    /// The access key's id.
    pub access_key_id: String,
    /// The secret.
    pub secret_access_key: String,
    /// The token of a temporary key.
    pub session_token: Option<String>,
}

/// Secrets never reach a log.
impl fmt::Debug for S3Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("S3Keys").field("access_key_id", &self.access_key_id).finish_non_exhaustive()
    }
}

/// How a store encrypts what is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// With keys of its own.
    Aes256,
    /// With a key of a key service; `None`: the bucket's.
    Kms {
        /// The key.
        key_id: Option<String>,
    },
}

impl S3Settings {
    /// The store, for people.
    pub(crate) fn shown(&self) -> String {
        self.endpoint.clone().unwrap_or_else(|| format!("AWS in {}", self.region))
    }

    /// Where the objects of a bucket are; `None`: where AWS has them.
    fn bucket_endpoint(&self, bucket: &str) -> Option<String> {
        let endpoint = self.endpoint.as_ref()?;
        Some(match endpoint.split_once("://") {
            Some((scheme, host)) if self.virtual_host => format!("{scheme}://{bucket}.{host}"),
            _ => endpoint.clone(),
        })
    }
}

/// The store of a bucket.
pub(crate) fn open(
    bucket: &str,
    settings: &S3Settings,
    encryption: Option<&Encryption>,
) -> object_store::Result<AmazonS3> {
    // The client of HTTP takes the one of the process. If there is one already, it stays.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let retry = RetryConfig { backoff: BACKOFF, max_retries: RETRIES_MAX, retry_timeout: RETRY_TIME_MAX };
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_region(&settings.region)
        .with_allow_http(settings.allow_http && settings.endpoint.is_some())
        .with_virtual_hosted_style_request(settings.virtual_host)
        // One at a time: not all stores have the other request.
        .with_config(AmazonS3ConfigKey::DisableBulkDelete, "true")
        .with_retry(retry)
        .with_http_connector(Connector(settings.clone()));
    if let Some(endpoint) = settings.bucket_endpoint(bucket) {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(keys) = &settings.keys {
        builder =
            builder.with_access_key_id(&keys.access_key_id).with_secret_access_key(&keys.secret_access_key);
        if let Some(token) = &keys.session_token {
            builder = builder.with_token(token);
        }
    } else {
        for (name, value) in &settings.role {
            builder = builder.with_config(name.to_ascii_lowercase().parse()?, value);
        }
    }
    match encryption {
        None => {}
        Some(Encryption::Aes256) => builder = builder.with_config(ENCRYPTION.parse()?, "AES256"),
        Some(Encryption::Kms { key_id }) => {
            builder = builder.with_config(ENCRYPTION.parse()?, "aws:kms");
            if let Some(key_id) = key_id {
                builder = builder.with_config(ENCRYPTION_KEY.parse()?, key_id);
            }
        }
    }
    builder.build()
}

/// Makes clients that talk to the store that is named, and to nobody to whom it sends them.
#[derive(Debug)]
struct Connector(S3Settings);

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let S3Settings { endpoint, behind_proxy, .. } = &self.0;
        // AWS itself has no plain HTTP: this asks for the keys of a role.
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp).as_deref() == Some("true");
        let is_for_role = endpoint.is_none() && allows_http;
        let is_plain = endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://"));
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("keywright/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .connect_timeout(if is_for_role { ROLE_TIME_MAX } else { CONNECT_TIME_MAX })
            .read_timeout(SILENCE_MAX)
            .https_only(!allows_http);
        if is_for_role || !behind_proxy {
            builder = builder.no_proxy();
        }
        if is_plain || is_for_role {
            // Without certificates, also on a machine that has none.
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build();
        Ok(HttpClient::new(client.map_err(|error| Error::Generic { store: "S3", source: Box::new(error) })?))
    }
}

/// Why an S3-compatible store did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It does not answer, or not to its end.
    Unreachable(String),
    /// It has no such bucket.
    NoBucket,
    /// It is a folder of buckets, and this folder in it is not there.
    NoFolder(String),
    /// It does not know the access key.
    UnknownKey,
    /// The secret is not that of the access key.
    WrongSecret,
    /// The access key may not do this.
    Denied,
    /// The clocks differ too much for a signature.
    Clock,
    /// The bucket is in another region.
    Region,
    /// Nothing here says whose certificates are to be trusted.
    NoCertificates,
    /// Its certificate is not trusted.
    Untrusted(String),
    /// It has no room.
    Full(String),
    /// It cannot use the key of an encryption.
    EncryptionKey(String),
    /// It is busy, or has an error of its own.
    Busy(String),
    /// Anything else, in its own words.
    Other(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(reason) => write!(formatter, "cannot be reached: {reason}"),
            Self::NoBucket => formatter.write_str("has no such bucket"),
            Self::NoFolder(folder) => write!(formatter, "has no such bucket: there is no folder {folder}"),
            Self::UnknownKey => formatter.write_str("does not know the access key"),
            Self::WrongSecret => {
                formatter.write_str("refuses the signature: the secret is not that of the access key")
            }
            Self::Denied => formatter.write_str("does not allow this to the access key"),
            Self::Clock => formatter.write_str("has a time that is too far from that of this machine"),
            Self::Region => formatter.write_str("has the bucket in another region"),
            Self::NoCertificates => formatter.write_str("needs root certificates, and this machine has none"),
            Self::Untrusted(reason) => write!(formatter, "is not trusted: {reason}"),
            Self::Full(answer) => write!(formatter, "has no room: {answer}"),
            Self::EncryptionKey(answer) => {
                write!(formatter, "cannot use the key of the encryption: {answer}")
            }
            Self::Busy(answer) | Self::Other(answer) => write!(formatter, "answers {answer}"),
        }
    }
}

impl Refusal {
    /// What an error means; `None`: the object is not there.
    pub fn of(error: &Error) -> Option<Self> {
        let text = error.to_string();
        let (mut cause, mut innermost, mut is_of_line) = (error.source(), text.clone(), false);
        while let Some(error) = cause {
            is_of_line |= error.is::<HttpError>();
            innermost = error.to_string();
            cause = error.source();
        }
        if innermost.starts_with(UNTRUSTED) {
            return Some(Self::Untrusted(innermost));
        }
        if innermost.contains(NO_CERTIFICATES) {
            return Some(Self::NoCertificates);
        }
        if is_of_line {
            return Some(Self::Unreachable(innermost));
        }
        Some(match (element(&text, "Code"), status(&text)) {
            (Some("NoSuchBucket"), _) => Self::NoBucket,
            (Some("InvalidAccessKeyId"), _) => Self::UnknownKey,
            (Some("SignatureDoesNotMatch"), _) => Self::WrongSecret,
            (Some("RequestTimeTooSkewed"), _) => Self::Clock,
            (
                Some(
                    "AuthorizationHeaderMalformed"
                    | "PermanentRedirect"
                    | "IllegalLocationConstraintException",
                ),
                _,
            ) => Self::Region,
            (Some("AccessDenied"), _) => Self::Denied,
            (Some("NoSuchKey"), _) => return None,
            (Some(code), status) => {
                let answer = match element(&text, "Message") {
                    Some(message) => format!("{code}: {}", shortened(message)),
                    None => code.to_owned(),
                };
                Self::of_answer(Some(code), status, answer)
            }
            // An answer without a body says its status alone.
            (None, status) => match error {
                Error::NotFound { .. } => return None,
                Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Self::Denied,
                _ if text.contains("redirect") || text.contains(" 301 ") || text.contains(" 307 ") => {
                    Self::Region
                }
                _ => Self::of_answer(None, status, shortened(&innermost).to_owned()),
            },
        })
    }

    /// What an answer means that is not one of the usual ones.
    fn of_answer(code: Option<&str>, status: Option<u16>, answer: String) -> Self {
        let is_one_of = |codes: &[&str]| code.is_some_and(|code| codes.contains(&code));
        if status == Some(STATUS_FULL) || is_one_of(&CODES_OF_FULL) {
            Self::Full(answer)
        } else if code.is_some_and(|code| code.starts_with("KMS.")) {
            Self::EncryptionKey(answer)
        } else if is_one_of(&CODES_OF_BUSY) || matches!(status, Some(408 | 429 | 500 | 502..=599)) {
            Self::Busy(answer)
        } else {
            Self::Other(answer)
        }
    }
}

/// The status of an answer within the text of an error.
fn status(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once(STATUS)?;
    rest.get(..3)?.parse().ok()
}

/// The content of an element of XML, such as `<Code>NoSuchKey</Code>`.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(content, _)| content.trim())
}

fn shortened(text: &str) -> &str {
    let end = (0..=SHOWN_BYTES_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_stands_in_the_path_or_in_the_name_of_the_host() {
        let endpoint = |endpoint: Option<&str>, virtual_host| {
            let endpoint = endpoint.map(str::to_owned);
            S3Settings { endpoint, virtual_host, ..S3Settings::default() }.bucket_endpoint("shop")
        };
        // The library adds the bucket to a path.
        assert_eq!(endpoint(Some("https://s3.example"), false).as_deref(), Some("https://s3.example"));
        assert_eq!(endpoint(Some("https://s3.example"), true).as_deref(), Some("https://shop.s3.example"));
        assert_eq!(endpoint(None, true), None);
    }

    #[test]
    fn an_answer_is_repeated_up_to_a_length_and_whole_signs() {
        assert_eq!(shortened("short"), "short");
        let long = format!("{}é", "x".repeat(SHOWN_BYTES_MAX - 1));
        assert_eq!(shortened(&long), "x".repeat(SHOWN_BYTES_MAX - 1));
    }

    #[test]
    fn an_object_that_is_not_there_is_no_refusal_and_a_bucket_is() {
        let not_found = |body: &str| Error::NotFound { path: "a".to_owned(), source: body.into() };
        assert_eq!(Refusal::of(&not_found("404 Not Found: ")), None);
        assert_eq!(Refusal::of(&not_found("404: <Error><Code>NoSuchKey</Code></Error>")), None);
        let bucket = "404: <Error><Code>NoSuchBucket</Code></Error>";
        assert_eq!(Refusal::of(&not_found(bucket)), Some(Refusal::NoBucket));
    }

    #[test]
    fn what_is_full_and_what_is_busy_is_known_by_code_and_status() {
        let answered = |status: &str, body: &str| {
            let text = format!("Server returned non-2xx status code: {status}: {body}");
            Refusal::of(&Error::Generic { store: "S3", source: text.into() }).unwrap()
        };
        let code = |code: &str| format!("<Error><Code>{code}</Code><Message>so</Message></Error>");
        for (status, body, expected) in [
            ("507 Insufficient Storage", String::new(), "has no room: "),
            ("403 Forbidden", code("QuotaExceeded"), "has no room: QuotaExceeded: so"),
            ("400 Bad Request", code("KMS.NotFoundException"), "cannot use the key of the encryption: KMS."),
        ] {
            let found = answered(status, &body);
            assert!(found.to_string().starts_with(expected), "{found}");
            assert!(!matches!(found, Refusal::Busy(_)));
        }
        for (status, body) in
            [("503 Service Unavailable", ""), ("429 Too Many Requests", ""), ("200 OK", &code("SlowDown"))]
        {
            assert!(matches!(answered(status, body), Refusal::Busy(_)), "{status}");
        }
        assert!(matches!(answered("501 Not Implemented", &code("NotImplemented")), Refusal::Other(_)));
    }
}
