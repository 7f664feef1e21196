//! Names of places within a backup folder: what may stand in a path, and where the objects of a backup stand.
//!
//! A name has no `/`, no NUL and is not `..`, so no name leads out of the folder.

use std::fmt;

/// The name of the manifest within a backup's folder.
pub(crate) const MANIFEST: &str = "manifest.json";
/// The folder of manifests of sets. No table's name has the character `=`.
pub(crate) const SETS: &str = "=sets";
/// The folder of the data keys of an encrypted place. No account's name has the character `=`.
pub const KEYS: &str = "=keys";
/// The longest name: that of a table, and of a file on most file systems.
const NAME_BYTES_MAX: usize = 255;

/// A name that cannot be a part of a backup's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadName {
    what: &'static str,
    name: String,
}

impl fmt::Display for BadName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, name } = self;
        write!(
            formatter,
            "{what} {name:?} cannot be part of a backup's path: write 1 to {NAME_BYTES_MAX} letters, digits, \
             \"_\", \"-\" or \".\""
        )
    }
}

impl std::error::Error for BadName {}

/// The name, if it may be a part of a path.
fn checked(what: &'static str, name: impl Into<String>) -> Result<String, BadName> {
    let name = name.into();
    let fits = (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        && name != "."
        && name != "..";
    if fits { Ok(name) } else { Err(BadName { what, name }) }
}

/// An account and a region: the tables that one set of backups may hold.
///
/// Invariant: both names may be parts of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope {
    account: String,
    region: String,
}

impl Scope {
    /// The scope of these names.
    pub fn new(account: impl Into<String>, region: impl Into<String>) -> Result<Self, BadName> {
        Ok(Self { account: checked("account", account)?, region: checked("region", region)? })
    }

    /// The account: twelve digits.
    pub fn account(&self) -> &str {
        &self.account
    }

    /// The region, such as `us-east-1`.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// The backup of a table under an id.
    pub fn backup(&self, table: impl Into<String>, id: impl Into<String>) -> Result<BackupPath, BadName> {
        let (table, id) = (checked("table", table)?, checked("backup id", id)?);
        Ok(BackupPath { scope: self.clone(), table, id })
    }

    /// The key of its folder.
    pub(crate) fn folder(&self) -> String {
        self.to_string()
    }

    /// The manifest of a set.
    pub(crate) fn set(&self, id: &str) -> Result<String, BadName> {
        let id = checked("backup id", id)?;
        Ok(format!("{self}/{SETS}/{id}.json"))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.account, self.region)
    }
}

/// Where a backup stands within a place: account, region, table and id.
///
/// Invariant: each name may be a part of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BackupPath {
    scope: Scope,
    table: String,
    id: String,
}

impl BackupPath {
    /// Account and region.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The table's name.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// The backup's id. Tables that were backed up together share it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The milliseconds since 1970 with which an id starts, as in `01700000000000-1a2b3c4d`.
    pub(crate) fn id_ms(&self) -> Option<u64> {
        self.id.split_once('-')?.0.parse().ok()
    }

    /// Another backup of the same table.
    pub(crate) fn sibling(&self, id: &str) -> Result<Self, BadName> {
        self.scope.backup(self.table.clone(), id)
    }

    pub(crate) fn folder(&self) -> String {
        self.to_string()
    }

    pub(crate) fn object(&self, name: &str) -> String {
        format!("{self}/{name}")
    }

    pub(crate) fn manifest(&self) -> String {
        self.object(MANIFEST)
    }
}

impl fmt::Display for BackupPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.scope, self.table, self.id)
    }
}

/// The name of a chunk's object.
pub(crate) fn chunk_name(number: usize) -> String {
    format!("chunk-{number}.kwb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leads_out_of_its_folder() {
        let scope = Scope::new("000000000000", "us-east-1").unwrap();
        for name in ["", ".", "..", "a/b", "../a", "a\0b", "a\\b", "=sets", "a b", "é", "a%2Fb", "a#1"] {
            assert!(scope.backup(name, "1-a").is_err(), "table {name:?}");
            assert!(scope.backup("orders", name).is_err(), "id {name:?}");
            assert!(Scope::new(name, "r").is_err() && Scope::new("a", name).is_err(), "{name:?}");
            assert!(scope.set(name).is_err(), "set {name:?}");
        }
        assert!(scope.backup("a".repeat(256), "1-a").is_err());
        let path = scope.backup("...", "01700000000000-1a2b3c4d").unwrap();
        assert_eq!(path.folder(), "000000000000/us-east-1/.../01700000000000-1a2b3c4d");
        assert_eq!(path.id_ms(), Some(1_700_000_000_000));
        assert_eq!(scope.set("1-a").unwrap(), "000000000000/us-east-1/=sets/1-a.json");
    }
}
