//! The operations of a plan, for programs that carry it out. Each step's sentences say the same to people.
//!
//! Entities have the name that the new design gives them, if it has them; patterns are named by their id.

use std::fmt;

/// One operation of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Create a table, under another name where the old design has a table of that name.
    CreateTable {
        table: String,
        anew: bool,
    },
    DeleteTable {
        table: String,
    },
    /// Create an index as the new design defines it, under another name where the old design has an index of
    /// that name.
    CreateIndex {
        table: String,
        index: String,
    },
    /// Delete an index of the old design.
    DeleteIndex {
        table: String,
        index: String,
    },
    /// Dual write: every writer of the entity writes each item under its old and its new key in one
    /// transaction. An update takes the attributes that it does not name from the old item; conditions are
    /// checked on the old item.
    KeepBoth {
        entity: String,
    },
    /// A writer that changes, replaces or deletes an item reads it first. The same transaction deletes the
    /// stale copy under the item's previous key in the other place.
    DeleteStaleCopy {
        entity: String,
    },
    /// Dual write of a derived item: every writer of its source also writes the derived item in one
    /// transaction. It puts the whole item, or updates it if the item has attributes of its own (`apart`).
    KeepDerived {
        entity: String,
        apart: Vec<String>,
    },
    /// All derived items exist: updates of their source may update them instead of putting them.
    DerivedItemsExist {
        entity: String,
    },
    /// From now on the application writes the attributes that only the derived items have.
    BeginOwn {
        entity: String,
        attributes: Vec<String>,
    },
    /// Reads and conditions take the attributes from the derived items from now on; writers still keep the
    /// source's copy.
    MoveOver {
        entity: String,
        attributes: Vec<String>,
    },
    /// Writers of new items write them. An update takes the rest of the item from its old place and puts the
    /// whole item.
    WriteNew {
        entity: String,
    },
    /// Reads and conditions use the new place from now on.
    GoByNew {
        entity: String,
    },
    /// Writers stop the dual write and keep the new place alone.
    KeepNew {
        entity: String,
    },
    /// A writer of one of the attributes, or of what their old or new templates use, writes all of them as
    /// the new design defines them.
    Set {
        entity: String,
        attributes: Vec<String>,
    },
    /// A writer of one of the attributes, or of what their templates use, writes all of them as the old
    /// design defines them.
    SetTogether {
        entity: String,
        attributes: Vec<String>,
    },
    /// A writer that changes a copied attribute's source sets the copy in every item of the entity, in the
    /// same transaction. A put of a copy reads the source and checks in the same transaction that it has not
    /// changed.
    KeepLike {
        entity: String,
        attribute: String,
    },
    /// Writers no longer set the attributes.
    Unset {
        entity: String,
        attributes: Vec<String>,
    },
    /// Nothing writes the entity any more.
    StopWriting {
        entity: String,
    },
    /// A read queries the old and the new place, and returns each item once and only what the pattern asks
    /// for.
    AskBoth {
        pattern: String,
    },
    /// A read no longer asks for the entity and skips its items.
    AskWithout {
        pattern: String,
        entity: String,
    },
    /// A read skips items of the entity that already have their new key.
    PassNew {
        pattern: String,
        entity: String,
    },
    /// A read queries the new place only. A read that only the new design has runs for the first time.
    AskNew {
        pattern: String,
    },
    /// A read skips items of the entity that still have their old key.
    PassOld {
        pattern: String,
        entity: String,
    },
    AskNoMore {
        pattern: String,
    },
    /// Copy each item to its new place, if that place is empty.
    Copy {
        entity: String,
    },
    /// Set attributes of each item, if the guard holds.
    Fill {
        entity: String,
        attributes: Vec<String>,
        guard: Guard,
    },
    /// Verify the copies: make every new item equal to its old one, and every derived item equal to its
    /// source.
    Compare {
        entity: String,
    },
    /// Verify the filled attributes: set each to the value that its template gives.
    CompareFilled {
        entity: String,
        attributes: Vec<String>,
    },
    /// Load new items from where they exist already. Derived items are made from their source, where none
    /// exists yet.
    Load {
        entity: String,
    },
    /// Delete each item under its old key.
    DeleteOld {
        entity: String,
    },
    Remove {
        entity: String,
        attributes: Vec<String>,
    },
    /// Delete the items of an entity that the new design does not have.
    DeleteGone {
        entity: String,
    },
}

/// The condition on which a job writes the result of an item that it has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The item exists and does not have the attribute.
    Absent { key: String, attribute: String },
    /// The attributes still have the values that were read.
    AsRead(Vec<String>),
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent { key, attribute } => write!(
                f,
                "it is there and has none yet (attribute_exists({key}) AND attribute_not_exists({attribute}))"
            ),
            Self::AsRead(attributes) => {
                let texts: Vec<String> = attributes.iter().map(|name| format!("{name} = :{name}")).collect();
                write!(f, "it is still what was read ({})", texts.join(" AND "))
            }
        }
    }
}
