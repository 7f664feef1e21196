//! The signing side of Signature Version 4, for our own clients: the load generator, commands, and calls of
//! other services.
//!
//! It adds no headers: the caller has added `x-amz-date`.

use super::canonical::canonical_request;
use super::claim::{ALGORITHM, Placement, SERVICE, TERMINATOR};
use super::verify::{SigningKey, derive, signature};
use super::{SignedRequest, TimeMs};

/// Signs requests of one access key in one region. The signing key is derived once a day.
#[derive(Clone, Debug)]
pub struct Signer {
    access_key_id: String,
    secret: String,
    region: String,
    service: &'static str,
    today: Option<Today>,
    /// The second of the last signature since 1970, and its text.
    second: (u64, String),
}

#[derive(Clone, Debug)]
struct Today {
    /// `YYYYMMDD`.
    date: String,
    scope: String,
    key: SigningKey,
}

impl Signer {
    /// A signer with one key for DynamoDB in one region.
    pub fn new(access_key_id: &str, secret: &str, region: &str) -> Self {
        Self::for_service(access_key_id, secret, region, SERVICE)
    }

    /// The id of the access key.
    pub fn access_key_id(&self) -> &str {
        &self.access_key_id
    }

    /// The same for another service, by its name in signatures.
    pub fn for_service(access_key_id: &str, secret: &str, region: &str, service: &'static str) -> Self {
        Self {
            service,
            access_key_id: access_key_id.to_owned(),
            secret: secret.to_owned(),
            region: region.to_owned(),
            today: None,
            second: (0, TimeMs(0).to_basic()),
        }
    }

    /// The same key for another service.
    #[must_use]
    pub fn at_service(&self, service: &'static str) -> Self {
        Self::for_service(&self.access_key_id, &self.secret, &self.region, service)
    }

    /// The `authorization` header of a request made at `time`. `signed_headers` are the names of the headers
    /// to sign, in lower case and alphabetical order.
    pub fn authorization(
        &mut self,
        request: &SignedRequest<'_>,
        signed_headers: &[&str],
        time: TimeMs,
    ) -> String {
        let second = time.seconds();
        if self.second.0 != second {
            self.second = (second, time.to_basic());
        }
        let time_text = self.second.1.as_str();
        let date = time_text.get(..8).unwrap_or_default();
        let known = self.today.take().filter(|today| today.date == date);
        let today = known.unwrap_or_else(|| self.begin(date));
        let canonical = canonical_request(request, signed_headers, Placement::Header);
        let signature = signature(&today.key, &canonical, time_text, &today.scope);
        let header = format!(
            "{ALGORITHM} Credential={}/{}, SignedHeaders={}, Signature={signature}",
            self.access_key_id,
            today.scope,
            signed_headers.join(";")
        );
        self.today = Some(today);
        header
    }

    fn begin(&self, date: &str) -> Today {
        let scope = format!("{date}/{}/{}/{TERMINATOR}", self.region, self.service);
        Today { date: date.to_owned(), key: derive(&self.secret, &scope), scope }
    }
}
