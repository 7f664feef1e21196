//! Signers that are not in the credentials file: keys of users, and sessions.

use std::borrow::Cow;
use std::sync::Arc;

use keywright_engine::{AccountId, Engine, Namespace, Principal};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::iam::names::Kind;
use keywright_semantics::messages::auth;
use keywright_wire::Family;
use keywright_wire::sigv4::{SignedRequest, session_token};

use super::auth::{Begun, CheckedClaim, Signer, SignerKey};
use super::context::RequestContext;
use super::judgement::{Circumstances, Judge, Peer, header_of};
use super::known_claim::KnownClaim;
use super::rights::Rights;
use super::service::Service;
use super::sessions::{Holder, NoSession, Session, Sessions};
use crate::process::environment;
use crate::storage::any_store::AnyStore;

fn unknown_key() -> Error {
    Error::new(ErrorKind::UnrecognizedClient, auth::UNKNOWN_KEY)
}

impl Service {
    /// Checks the claim in a request's head, without its body.
    pub(super) async fn check_claim<'a>(
        &'a self,
        context: &RequestContext<'a>,
        family: Family,
    ) -> Result<CheckedClaim<'a>, Error> {
        match context.trusted {
            Some(caller) => Ok(CheckedClaim::Trusted(caller.clone())),
            None => self.claimed(&context.signed(&[]), family, context.known).await,
        }
    }

    /// The same of a request by any way.
    pub(super) async fn claimed<'a>(
        &'a self,
        request: &SignedRequest<'a>,
        family: Family,
        known: &KnownClaim,
    ) -> Result<CheckedClaim<'a>, Error> {
        match self.authenticator.begin(request, family.signature_service(), known, environment::now)? {
            Begun::Checked(checked) => Ok(checked),
            Begun::Unknown(unknown) => {
                let token = session_token(request);
                let key = Box::pin(self.key_now(unknown.claim.access_key_id(), token.as_deref())).await?;
                Ok(unknown.with(key))
            }
        }
    }

    /// The user or session of a key, as of now. What other processes changed is read first, unless that was
    /// done within the last second.
    pub(super) async fn key_now(&self, id: &str, token: Option<&str>) -> Result<SignerKey<'static>, Error> {
        let engine = self.engine()?;
        engine.follow_principals().await?;
        if let Some(token) = token {
            let session = self.session_of(&engine, id, token).await?;
            let secret = self.sessions(&engine).await?.secret(id);
            return self.of_session(&engine, session, secret);
        }
        if engine.find_key(id).is_none() {
            engine.find_new_principals().await?;
        }
        let found = engine.find_key(id).ok_or_else(unknown_key)?;
        Ok(SignerKey {
            secret: Cow::Owned(found.secret),
            account: Cow::Owned(found.user.account.to_string()),
            rights: Some(Arc::new(Rights::of_user(found.user))),
        })
    }

    /// The session of a token, unless it has ended.
    pub(super) async fn session_of(
        &self,
        engine: &Engine<AnyStore>,
        id: &str,
        token: &str,
    ) -> Result<Session, Error> {
        self.sessions(engine).await?.open_at(id, token, environment::now()).map_err(|fault| match fault {
            NoSession::Foreign => Error::new(ErrorKind::UnrecognizedClient, auth::FOREIGN_TOKEN),
            NoSession::Expired => Error::new(ErrorKind::ExpiredToken, auth::EXPIRED_TOKEN),
        })
    }

    /// Notes that a user's key was used.
    pub(super) fn note_key_use(&self, signer: &Signer, family: Family) {
        let Principal::Limited(limited) = &signer.caller.principal else { return };
        let is_of_user = signer.rights.as_ref().is_some_and(|rights| rights.session.is_none());
        if let Some(engine) = self.database.engine().filter(|_| is_of_user) {
            let region = signer.caller.namespace.region.as_str();
            engine.note_key_use(&limited.access_key_id, (family.signature_service(), region));
        }
    }

    /// By which policies a signer's request is judged; none for the account itself.
    pub(super) fn judge(
        &self,
        context: &RequestContext<'_>,
        signer: &Signer,
    ) -> Result<Option<Judge>, Error> {
        let Some(rights) = &signer.rights else { return Ok(None) };
        let circumstances = self.circumstances(Some(context), signer.caller.namespace.clone());
        Ok(Some(self.judge_of(Arc::clone(rights), self.engine()?, circumstances)))
    }

    /// What conditions see of a request's head; of a call of the studio hardly anything.
    pub(super) fn circumstances(
        &self,
        context: Option<&RequestContext<'_>>,
        namespace: Namespace,
    ) -> Circumstances {
        let client = context.map(|context| context.client);
        let peer = Peer {
            ip: context.map(|context| context.ip),
            is_secure: self.is_secure,
            certificate_subject: client.and_then(|client| client.certificate_subject()).map(str::to_owned),
        };
        Circumstances::new(peer, namespace, |name| header_of(context?.head, name))
    }

    /// The judge of a request by these rights.
    pub(super) fn judge_of(
        &self,
        rights: Arc<Rights>,
        engine: Engine<AnyStore>,
        circumstances: Circumstances,
    ) -> Judge {
        Judge::new(rights, engine, circumstances, self.authenticator.accounts())
    }

    /// The holder of a session. A user or role that was deleted has none, and the account itself none once
    /// the key that began the session is no longer in the file.
    fn of_session(
        &self,
        engine: &Engine<AnyStore>,
        session: Session,
        secret: String,
    ) -> Result<SignerKey<'static>, Error> {
        let account = AccountId::from(session.account.as_str());
        let principal = match &session.holder {
            Holder::Root { key } if self.authenticator.account_of(key) == Some(account.as_str()) => None,
            Holder::Root { .. } => return Err(unknown_key()),
            Holder::User { name, id } => Some(((Kind::User, name), id)),
            Holder::Role { name, id, .. } => Some(((Kind::Role, name), id)),
        };
        let rights = match principal {
            None => None,
            Some(((kind, name), id)) => {
                let found = engine.find_principal(&account, (kind, name), id).ok_or_else(unknown_key)?;
                Some(Arc::new(Rights::of_session(found, session).ok_or_else(unknown_key)?))
            }
        };
        Ok(SignerKey { secret: Cow::Owned(secret), account: Cow::Owned(account.to_string()), rights })
    }

    /// Seals and opens sessions, under the key that the first process over the store made.
    pub(super) async fn sessions(&self, engine: &Engine<AnyStore>) -> Result<&Sessions, Error> {
        self.sessions.get_or_try_init(|| async { Ok(Sessions::new(&engine.session_key().await?)) }).await
    }
}
