//! Calls of KMS: what a key is, a new data key under it, a data key opened again.
//!
//! Every call is signed and goes to the endpoint that the settings name. This module does not know what the
//! keys are for, and reads no settings itself.

mod answer;

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

pub(crate) use answer::{DataKey, Fault, KeyDescription, KeyState, Refusal};

use crate::outgoing;
use crate::outgoing::json_service::{Call, JsonService, Reply, ServiceSettings};
use crate::process::failure::Failure;

/// The service's name in signatures.
const SERVICE: &str = "kms";
/// Bytes of an answer. The longest is a data key with some kilobytes of metadata in its ciphertext.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// A call that finds the endpoint silent or busy is made again, after a pause that doubles.
const ATTEMPTS_MAX: u32 = 3;
const PAUSE: Duration = Duration::from_millis(200);
const REGION_BYTES_MAX: usize = 63;

/// Where KMS is and how calls are signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) service: ServiceSettings,
    /// The region of a key whose name has none, such as an alias.
    pub(crate) region_of_names: Option<String>,
}

/// Names and values that a data key is bound to: it opens only with the same ones.
pub(crate) type Context = BTreeMap<String, String>;

/// A client of one endpoint.
pub(crate) struct Client {
    service: JsonService,
    region_of_names: Option<String>,
}

impl Client {
    pub(crate) fn new(settings: Settings) -> Result<Self, Failure> {
        let service = JsonService::new(SERVICE, settings.service).map_err(|error| {
            Failure::new(format!("no client for the KMS endpoint can be made: {}", outgoing::cause(&error)))
        })?;
        Ok(Self { service, region_of_names: settings.region_of_names })
    }

    /// What a key is. `region` is that in which it is asked for, unless the settings name one.
    pub(crate) async fn describe_key(&self, key_id: &str, region: &str) -> Result<KeyDescription, Fault> {
        let body = json!({ "KeyId": key_id });
        let region = self.service.settings.region.as_deref().unwrap_or(region);
        let answer = self.call("TrentService.DescribeKey", region, &body).await?;
        KeyDescription::read(&answer).ok_or_else(Fault::unreadable)
    }

    /// A new key of 256 bits, in the clear and sealed under the named key.
    pub(crate) async fn generate_data_key(&self, key_id: &str, context: &Context) -> Result<DataKey, Fault> {
        let body = json!({ "KeyId": key_id, "KeySpec": "AES_256", "EncryptionContext": context });
        let answer = self.call("TrentService.GenerateDataKey", self.region_of(key_id)?, &body).await?;
        DataKey::read(&answer).ok_or_else(Fault::unreadable)
    }

    /// The clear form of a data key that was sealed under the named key with the same context.
    pub(crate) async fn decrypt(
        &self,
        key_id: &str,
        sealed: &[u8],
        context: &Context,
    ) -> Result<Vec<u8>, Fault> {
        let sealed = STANDARD.encode(sealed);
        let body = json!({ "KeyId": key_id, "CiphertextBlob": sealed, "EncryptionContext": context });
        let answer = self.call("TrentService.Decrypt", self.region_of(key_id)?, &body).await?;
        answer::bytes(&answer, "Plaintext").ok_or_else(Fault::unreadable)
    }

    /// The region in which a key is used: that of the setting, else of its ARN; for a name, that of the
    /// machine.
    fn region_of<'r>(&'r self, key_id: &'r str) -> Result<&'r str, Fault> {
        if let Some(region) = &self.service.settings.region {
            return Ok(region);
        }
        let Some(arn) = key_id.strip_prefix("arn:") else {
            let named = self.region_of_names.as_deref().filter(|text| is_region(text));
            return named.ok_or_else(|| Fault::NoRegion(key_id.to_owned()));
        };
        // It becomes part of a URL, and the ARN may be of a file that anybody has written.
        let named = arn.split(':').nth(2).filter(|text| is_region(text));
        named.ok_or_else(|| Fault::NoRegion(key_id.to_owned()))
    }

    /// The answer to a call. Every call may happen twice: nobody can use what a lost answer has made.
    async fn call(&self, target: &'static str, region: &str, body: &Value) -> Result<Value, Fault> {
        let body = body.to_string().into_bytes();
        let call =
            Call { target, host_region: region, region, body: &body, answer_bytes_max: ANSWER_BYTES_MAX };
        let mut pause = PAUSE;
        for _ in 1..ATTEMPTS_MAX {
            match self.exchange(&call).await {
                Err(Fault::Silent(_) | Fault::Busy(_)) => tokio::time::sleep(pause).await,
                answered => return answered,
            }
            pause *= 2;
        }
        self.exchange(&call).await
    }

    async fn exchange(&self, call: &Call<'_>) -> Result<Value, Fault> {
        let Reply { status, request_id, body } = self.service.call(call).await.map_err(Fault::Silent)?;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|_| Fault::unreadable());
        }
        Err(answer::fault(status.as_u16(), &body, request_id))
    }
}

/// Whether a text can be the name of a region.
fn is_region(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=REGION_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(region: Option<&str>, endpoint: Option<&str>) -> Client {
        let service = ServiceSettings {
            endpoint: endpoint.map(str::to_owned),
            region: region.map(str::to_owned),
            access_key_id: "AK".to_owned(),
            secret_access_key: "secret".to_owned(),
            session_token: Some("token".to_owned()),
            behind_proxy: false,
        };
        Client::new(Settings { service, region_of_names: Some("sa-east-1".to_owned()) }).unwrap()
    }

    #[tokio::test]
    async fn a_key_is_used_in_the_region_of_the_setting_else_of_its_arn_else_of_the_machine() {
        let arn = "arn:aws:kms:eu-west-1:000000000000:key/1";
        let own = client(None, Some("http://127.0.0.1:1"));
        assert_eq!([own.region_of(arn), own.region_of("alias/x")], [Ok("eu-west-1"), Ok("sa-east-1")]);
        for region_of_names in [None, Some("a/b".to_owned())] {
            let service = own.service.settings.clone();
            let other = Client::new(Settings { service, region_of_names }).unwrap();
            assert_eq!(other.region_of(arn), Ok("eu-west-1"));
            let refused = other.region_of("alias/x").unwrap_err().to_string();
            assert_eq!(
                refused,
                "the key alias/x names no region: write its ARN, pass --kms-region, or set AWS_REGION"
            );
        }
        assert_eq!(client(Some("us-west-2"), None).region_of("alias/x"), Ok("us-west-2"));
        assert_eq!(client(Some("us-west-2"), None).region_of(arn), Ok("us-west-2"));
        assert_eq!(client(None, None).service.url("eu-west-1"), "https://kms.eu-west-1.amazonaws.com");
        for region in ["x.example/", "a@b", "", &"a".repeat(64)] {
            let arn = format!("arn:aws:kms:{region}:000000000000:key/1");
            let refused = own.region_of(&arn).unwrap_err().to_string();
            assert!(refused.ends_with("names no region: correct it, or pass --kms-region"), "{refused}");
            assert!(refused.starts_with("the ARN arn:aws:kms:"), "{refused}");
            assert_eq!(client(Some("us-west-2"), None).region_of(&arn), Ok("us-west-2"));
        }
        let region = "eu-west-1";
        let call = Call { target: "T", host_region: region, region, body: b"{}", answer_bytes_max: 1 };
        let headers = own.service.signed(&call, "http://127.0.0.1:1");
        let (_, authorization) = headers.last().unwrap();
        assert!(authorization.contains("/eu-west-1/kms/aws4_request"), "{authorization}");
        assert!(authorization.contains("content-type;host;x-amz-date;x-amz-security-token;x-amz-target"));
        assert!(!format!("{:?}", own.service.settings).contains("secret"));
    }

    #[tokio::test]
    async fn an_endpoint_that_is_not_there_is_silent() {
        let fault =
            client(None, Some("http://127.0.0.1:1")).describe_key("k", "us-east-1").await.unwrap_err();
        assert!(matches!(&fault, Fault::Silent(why) if !why.contains("127.0.0.1")), "{fault}");
        assert!(fault.to_string().starts_with("the KMS endpoint does not answer: "), "{fault}");
    }
}
