//! What a document is for: which members it has and which policies it can be.
//!
//! It does not know its members' values.

/// What a document is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PolicyKind {
    /// It gives rights to a user, group or role, inline or attached.
    Identity,
    /// It bounds the rights of a user or role.
    Boundary,
    /// It bounds the rights of one session.
    Session,
    /// It belongs to a table and governs its indexes.
    Table,
    /// It belongs to a stream.
    Stream,
    /// It says who may assume a role.
    Trust,
}

impl PolicyKind {
    /// Whether its statements name principals.
    pub const fn has_principals(self) -> bool {
        matches!(self, Self::Table | Self::Stream | Self::Trust)
    }

    /// Whether it belongs to a table or stream.
    pub const fn is_of_resource(self) -> bool {
        matches!(self, Self::Table | Self::Stream)
    }
}
