//! Lambda's event source mappings of streams: what a client asks for and reads. They are called triggers
//! here.
//!
//! Sources: Lambda's public service model, its guide on DynamoDB event sources. It does not know the form of
//! requests, nor the language of filters.

pub mod fault;
mod reader;
pub mod request;
pub mod settings;
pub mod target;
pub mod view;

use crate::operation::named;

named! {
    /// The operations on mappings.
    CreateEventSourceMapping,
    DeleteEventSourceMapping,
    GetEventSourceMapping,
    ListEventSourceMappings,
    UpdateEventSourceMapping,
}
