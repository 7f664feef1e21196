//! Members that ask for a feature of the service's that this server does not have.
//!
//! They are refused: a table that lacks what was asked for is worse than an error. COMPAT.md lists them.

use crate::error::Error;
use crate::messages::table;

pub(super) const VECTOR_INDEXES: &str = "vector indexes";

/// A member of a request that is refused.
pub(super) struct Unserved {
    pub name: &'static str,
    /// Whether the request has it.
    pub is_asked: bool,
    /// What this server would need.
    pub feature: &'static str,
}

/// Refuses the first of the members that the request has.
pub(super) fn refuse(members: &[Unserved]) -> Result<(), Error> {
    match members.iter().find(|member| member.is_asked) {
        Some(member) => {
            Err(Error::validation(table::invalid(table::member_not_supported(member.name, member.feature))))
        }
        None => Ok(()),
    }
}
