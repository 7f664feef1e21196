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

/// An operation on mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is the operation of its name")]
pub enum Operation {
    CreateEventSourceMapping,
    DeleteEventSourceMapping,
    GetEventSourceMapping,
    ListEventSourceMappings,
    UpdateEventSourceMapping,
}

impl Operation {
    /// The operation's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CreateEventSourceMapping => "CreateEventSourceMapping",
            Self::DeleteEventSourceMapping => "DeleteEventSourceMapping",
            Self::GetEventSourceMapping => "GetEventSourceMapping",
            Self::ListEventSourceMappings => "ListEventSourceMappings",
            Self::UpdateEventSourceMapping => "UpdateEventSourceMapping",
        }
    }
}
