//! The settings of one server: flags, environment and file become one validated value.

pub(crate) mod arguments;
pub(crate) mod backups;
pub(crate) mod buckets;
pub(crate) mod config;
pub(crate) mod encryption;
pub(crate) mod kinesis;
pub(crate) mod kms;
mod peers;
pub(crate) mod replication;
pub(crate) mod s3;
mod service_url;
pub(crate) mod storage;
pub(crate) mod throughput;
pub(crate) mod tls;
pub(crate) mod triggers;
pub(crate) mod variables;
