//! How an S3-compatible store is reached. Nothing is read from the environment here.

#[cfg(feature = "s3")]
use std::sync::Arc;

#[cfg(feature = "s3")]
use object_store::ObjectStore;

/// How to reach the store of `s3://` places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct S3Settings {
    /// The URL of an S3-compatible store; `None`: AWS.
    pub endpoint: Option<String>,
    /// The region that requests are signed for.
    pub region: String,
    /// Static keys; `None`: those that a container or an instance has by its role.
    pub keys: Option<S3Keys>,
    /// Whether requests go over plain HTTP.
    pub allow_http: bool,
    /// Whether the bucket stands in the host's name instead of the path.
    pub virtual_host: bool,
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
impl std::fmt::Debug for S3Keys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("S3Keys").field("access_key_id", &self.access_key_id).finish_non_exhaustive()
    }
}

/// The store of a bucket.
#[cfg(feature = "s3")]
pub(crate) fn open(bucket: &str, settings: &S3Settings) -> object_store::Result<Arc<dyn ObjectStore>> {
    // The client of HTTP takes the one of the process. If there is one already, it stays.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let mut builder = object_store::aws::AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_region(&settings.region)
        .with_allow_http(settings.allow_http)
        .with_virtual_hosted_style_request(settings.virtual_host);
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(keys) = &settings.keys {
        builder =
            builder.with_access_key_id(&keys.access_key_id).with_secret_access_key(&keys.secret_access_key);
        if let Some(token) = &keys.session_token {
            builder = builder.with_token(token);
        }
    }
    Ok(Arc::new(builder.build()?))
}
