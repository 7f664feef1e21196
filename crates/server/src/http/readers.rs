//! Who reads the figures of the management port: with credentials a root key, or a user or session that may
//! `keywright:GetMetrics`.
//!
//! Readers such as Prometheus sign nothing: they send id and secret of an access key as HTTP Basic. A signed
//! request is taken too.

use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use keywright_access::action::Own;
use keywright_engine::{AccountId, Namespace, Region};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::auth;
use keywright_semantics::place::RegionName;
use keywright_wire::Family;
use keywright_wire::sigv4::SignedRequest;

use super::auth::is_same;
use super::context::signed_headers;
use super::judgement::{Circumstances, Peer, header_of};
use super::known_claim::KnownClaim;
use super::rights::Rights;
use super::service::Service;
use crate::connection::request_head;

/// The region of readers, who name none.
const REGION: &str = "us-east-1";

impl Service {
    /// Admits a request for the figures of this server.
    pub(crate) async fn admit_reader(&self, head: &Parts, ip: IpAddr) -> Result<(), Error> {
        if !self.authenticator.verifies() {
            return Ok(());
        }
        let Some((rights, namespace)) = self.reader(head).await? else { return Ok(()) };
        let peer = Peer { ip: Some(ip), is_secure: false, certificate_subject: None };
        let circumstances = Circumstances::new(peer, namespace, |name| header_of(head, name));
        self.judge_of(rights, self.engine()?, circumstances).own_call(Own::GetMetrics)
    }

    /// What a reader may do, and the place of its request; none for the account itself.
    async fn reader(&self, head: &Parts) -> Result<Option<(Arc<Rights>, Namespace)>, Error> {
        let authorization = head.headers.get(AUTHORIZATION).and_then(request_head::visible);
        let Some(authorization) = authorization else {
            return Err(Error::new(ErrorKind::MissingAuthenticationToken, auth::MISSING_TOKEN));
        };
        let basic = authorization.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Basic"));
        let Some((_, given)) = basic else {
            let headers = signed_headers(head, true);
            let request = SignedRequest {
                method: head.method.as_str(),
                path: head.uri.path(),
                query: head.uri.query().unwrap_or_default(),
                headers: &headers,
                body: &[],
            };
            let signer =
                self.claimed(&request, Family::DynamoDb, &KnownClaim::default()).await?.verify(&request)?;
            return Ok(signer.rights.map(|rights| (rights, signer.caller.namespace)));
        };
        let unknown = || Error::new(ErrorKind::UnrecognizedClient, auth::UNKNOWN_KEY);
        let given = STANDARD.decode(given.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let given = given.ok_or_else(unknown)?;
        let (id, secret) = given.split_once(':').ok_or_else(unknown)?;
        if self.authenticator.account_by_secret(id, secret).is_some() {
            return Ok(None);
        }
        // The secret of a root key that was mistyped is not looked for among users.
        if self.authenticator.account_of(id).is_some() {
            return Err(unknown());
        }
        let key = self.key_now(id, None).await?;
        if !is_same(&key.secret, secret) {
            return Err(unknown());
        }
        let region = RegionName::parse(REGION).expect("it is a region");
        let namespace = Namespace { account: AccountId::from(&*key.account), region: Region::from(region) };
        Ok(key.rights.map(|rights| (rights, namespace)))
    }
}
