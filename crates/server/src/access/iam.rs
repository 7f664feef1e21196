//! Calls of IAM: to the engine of this process, or to an endpoint.

use keywright_engine::{Caller, Engine};
use keywright_semantics::iam::Operation;
use keywright_semantics::monitoring::document::Document;
use keywright_wire::{
    IdentityApi, IdentityRequest, identity_form, read_identity, read_identity_response, render_iam,
};

use crate::client::endpoint::{Client, Refusal};
use crate::process::failure::Failure;
use crate::storage::any_store::AnyStore;

/// Where calls of IAM go.
pub(crate) trait Iam {
    /// The result of one call.
    async fn call(&mut self, operation: Operation, members: &[(String, String)])
    -> Result<Document, Failure>;
}

/// The engine of this process, as the account itself.
pub(crate) struct InProcess {
    pub(crate) engine: Engine<AnyStore>,
    pub(crate) caller: Caller,
}

impl Iam for InProcess {
    async fn call(
        &mut self,
        operation: Operation,
        members: &[(String, String)],
    ) -> Result<Document, Failure> {
        let refused =
            |code: &str, message: &str| Failure::new(format!("{}: {code}: {message}", operation.name()));
        let form = identity_form(IdentityApi::Iam, operation.name(), members);
        let request = read_identity(IdentityApi::Iam, form.as_bytes()).and_then(|form| form.judge());
        let request = match request {
            Ok(IdentityRequest::Iam(_, request)) => request,
            Ok(IdentityRequest::Sts(..)) => unreachable!("it is read as a request of IAM"),
            Err(fault) => return Err(refused(fault.kind.code(), &fault.message)),
        };
        match self.engine.manage_principals(&self.caller, request).await {
            Err(fault) => Err(refused(fault.kind.code(), &fault.message)),
            Ok(response) => {
                let rendered = render_iam(operation, &response);
                read_identity_response(&rendered.body).map_err(|(code, message)| refused(&code, &message))
            }
        }
    }
}

impl Iam for Client {
    async fn call(
        &mut self,
        operation: Operation,
        members: &[(String, String)],
    ) -> Result<Document, Failure> {
        Ok(self.identity(IdentityApi::Iam, operation.name(), members).await?)
    }
}

/// Whose a client's key is.
pub(crate) struct Identity {
    pub(crate) account: String,
    pub(crate) arn: String,
}

/// Whose the key of a client is.
pub(crate) async fn identity_of(client: &mut Client) -> Result<Identity, Refusal> {
    let identity = client.identity(IdentityApi::Sts, "GetCallerIdentity", &[]).await?;
    let member = |name: &str| {
        let text = identity.text_of(name).ok().flatten();
        text.ok_or_else(|| format!("GetCallerIdentity: the response has no {name}"))
    };
    Ok(Identity { account: member("Account")?, arn: member("Arn")? })
}

/// The account of a client's key.
pub(crate) async fn account_of(client: &mut Client) -> Result<String, Failure> {
    Ok(identity_of(client).await?.account)
}
