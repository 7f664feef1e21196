//! The protocol: bytes to typed requests, typed responses to bytes, and the error table; and items as files
//! of exports, imports and bulk puts.
//!
//! The only crate that knows the JSON of the API. It deliberately does not know tables, storage, sockets or
//! clocks.
//!
//! ```text
//! X-Amz-Target ─► Operation ─┐
//! body bytes ────────────────┴► shape ─► Shaped ─► judge ─► semantics::Request
//!                                          └► semantics::Touches, before anything is judged
//! semantics::Response ─► render ─► body bytes
//! semantics::Error ─► render_error ─► status and body bytes
//! ```

mod decode;
mod document_json;
mod event_sources;
pub mod events;
mod family;
pub mod files;
mod identity;
mod json;
pub mod kinesis;
mod monitoring;
mod operation;
mod plain;
mod query;
mod render;
mod scaling;
mod shapes;
pub mod sigv4;

pub use decode::{GivenTags, Parts, Shaped, decode, decode_parts, shape, shape_long};
pub use event_sources::{
    EVENT_SOURCES_CONTENT_TYPE, EVENT_SOURCES_PATH, RenderedMapping, RequestLine, decode_event_sources,
    render_event_sources, render_event_sources_error, render_event_sources_fault,
};
pub use family::Family;
pub use identity::{
    IDENTITY_CONTENT_TYPE, IdentityApi, IdentityForm, IdentityOperation, IdentityRequest, RenderedIdentity,
    form_pairs, identity_form, policy_text, read_identity, read_identity_response, render_iam,
    render_identity_error, render_identity_fault, render_identity_not_served, render_sts,
};
pub use json::{decoded_bytes_max, is_json, named_table};
pub use monitoring::{
    Protocol, Rendered, decode_monitoring, render_common_error, render_fault, render_monitoring,
};
pub use operation::{Api, Operation, is_served, operation_of_target};
pub use render::{RenderedError, error_body_bytes, kinesis_record, render, render_error, unknown_operation};
pub use scaling::{
    RenderedScaling, SCALING_CONTENT_TYPE, decode_scaling, render_scaling, render_scaling_error,
    render_scaling_fault,
};
pub use shapes::{Form, FormKind};
