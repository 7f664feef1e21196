//! Members that ask for a feature of the service's that this server does not have.
//!
//! They are refused: a table that lacks what was asked for is worse than an error. COMPAT.md lists them.

use super::parts::GlobalTableSettingsReplicationMode;
use crate::error::Error;
use crate::messages::table;

pub(super) const REPLICAS: &str = "replicas in other accounts";
pub(super) const STRONG_REPLICAS: &str = "replicas with strong consistency";
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

/// The mode in which a table without replicas replicates its settings. Disabled is what every table is, so it
/// asks for nothing.
pub(super) fn settings_replication(mode: Option<GlobalTableSettingsReplicationMode>) -> Unserved {
    let is_asked = mode.is_some_and(|mode| mode != GlobalTableSettingsReplicationMode::Disabled);
    Unserved { name: "GlobalTableSettingsReplicationMode", is_asked, feature: REPLICAS }
}
