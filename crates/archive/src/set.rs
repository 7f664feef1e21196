//! Sets: backups of several tables at one stamp. The manifest of a set names them and is written after all of
//! theirs; without it, the set is incomplete.

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Wrong};
use crate::manifest::{Summary, decimal};
use crate::names::Scope;
use crate::place::Place;
use crate::sealed::{self, FORMAT};
use crate::sum::Sum;

/// The largest manifest of a set that is read: tens of thousands of tables.
const SET_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The manifest of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetManifest {
    /// Account and region of its tables.
    pub scope: Scope,
    /// The id of all its backups.
    pub id: String,
    /// The stamp of all its backups.
    pub stamp: u64,
    /// When it was asked for, in milliseconds since 1970.
    pub created_ms: u64,
    /// Its tables, in the order of their names.
    pub tables: Vec<Member>,
}

/// A backup that a set names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// The table's name.
    pub table: String,
    /// The sum of its manifest.
    pub sha256: Sum,
}

impl Member {
    /// The member of a set that a backup becomes.
    pub fn of(backup: &Summary) -> Self {
        Self { table: backup.path.table().to_owned(), sha256: backup.sha256 }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format: u64,
    account: String,
    region: String,
    id: String,
    #[serde(with = "decimal")]
    stamp: u64,
    created_ms: u64,
    tables: Vec<Member>,
}

impl SetManifest {
    /// The set of these backups, of which there is at least one.
    ///
    /// # Panics
    ///
    /// If they differ in scope, id or stamp: then they are not of one set.
    pub fn of(backups: &[Summary]) -> Option<Self> {
        let first = backups.first()?;
        let (scope, id) = (first.path.scope(), first.path.id());
        for Summary { path, parts, .. } in backups {
            assert!(path.scope() == scope && path.id() == id, "{path} is not of the set {scope}/{id}");
            assert_eq!(parts.stamp, first.parts.stamp, "the backups of a set have one stamp");
        }
        let mut tables: Vec<Member> = backups.iter().map(Member::of).collect();
        tables.sort_unstable();
        let (stamp, created_ms) = (first.parts.stamp, first.parts.created_ms);
        Some(Self { scope: scope.clone(), id: id.to_owned(), stamp, created_ms, tables })
    }

    /// Reads the manifest of a set.
    pub async fn read(place: &Place, scope: &Scope, id: &str) -> Result<Self, Fault> {
        let object = scope.set(id)?;
        let bytes = place.read_whole(&object, SET_BYTES_MAX).await?;
        Self::parse(scope, id, &bytes).map_err(|wrong| place.damaged(&object, wrong))
    }

    pub(crate) fn parse(scope: &Scope, id: &str, bytes: &[u8]) -> Result<Self, Wrong> {
        let (stored, _): (Stored, Sum) = sealed::open(bytes)?;
        let says = format!("the set {}/{}/{}", stored.account, stored.region, stored.id);
        if says != format!("the set {scope}/{id}") {
            return Err(Wrong::Elsewhere { says });
        }
        if !stored.tables.is_sorted_by(|a, b| a.table < b.table) {
            return Err(Wrong::Malformed("its tables are out of order".to_owned()));
        }
        let Stored { stamp, created_ms, tables, .. } = stored;
        Ok(Self { scope: scope.clone(), id: id.to_owned(), stamp, created_ms, tables })
    }

    /// Writes the manifest, after those of all its backups.
    pub async fn write(&self, place: &Place) -> Result<(), Fault> {
        let stored = Stored {
            format: FORMAT,
            account: self.scope.account().to_owned(),
            region: self.scope.region().to_owned(),
            id: self.id.clone(),
            stamp: self.stamp,
            created_ms: self.created_ms,
            tables: self.tables.clone(),
        };
        let (text, _) = sealed::seal(&stored);
        place.put(&self.scope.set(&self.id)?, vec![text.into()]).await
    }
}
