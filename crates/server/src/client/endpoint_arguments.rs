//! The arguments of a command that needs an endpoint: which one, and how requests to it are signed.

use clap::Args;

use super::aws_settings::{Target, named_endpoint};
use super::endpoint::{Client, Credentials, Endpoint};
use crate::process::failure::Failure;

/// An endpoint and the keys for it, flattened into the arguments of a command.
#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct EndpointArguments {
    /// The endpoint, such as `http://localhost:8000` [default: AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL,
    /// or that of the profile]
    #[arg(long, alias = "endpoint-url", value_name = "URL")]
    endpoint: Option<Endpoint>,
    #[command(flatten)]
    credentials: Credentials,
}

impl EndpointArguments {
    /// The endpoint that they or the settings name.
    pub(crate) fn target(&self) -> Result<Target, Failure> {
        named_endpoint(self.endpoint.as_ref())
    }

    /// Whether the connection shows a client certificate.
    pub(crate) const fn has_certificate(&self) -> bool {
        self.credentials.has_certificate()
    }

    /// A connection to such an endpoint.
    pub(crate) async fn connect(&self, target: &Target) -> Result<Client, Failure> {
        Client::connect(&target.endpoint, &self.credentials).await
    }
}
