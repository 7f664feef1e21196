//! What commands need to talk to an endpoint: its address and keys as the AWS tools find them, a connection,
//! pages of answers, lists of them, keys and times as arguments, a bar that shows how far it is.

pub(crate) mod aws_profile;
pub(crate) mod aws_settings;
pub(crate) mod confirm;
pub(crate) mod endpoint;
pub(crate) mod endpoint_arguments;
pub(crate) mod endpoint_url;
pub(crate) mod key_argument;
pub(crate) mod listing;
pub(crate) mod paging;
pub(crate) mod progress;
pub(crate) mod time_argument;
mod tls;
