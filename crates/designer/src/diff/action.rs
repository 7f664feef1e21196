//! What a sentence of a plan has done, for programs that carry the plan out; the sentence says the same to people.
//!
//! Entities are named as the new design names them, if it has them; patterns by their id.

use std::fmt;

/// One thing that somebody does in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A new table, under another name where one of its name is there.
    CreateTable {
        table: String,
        anew: bool,
    },
    DeleteTable {
        table: String,
    },
    /// An index as the new design has it, under another name where one of its name is there.
    CreateIndex {
        table: String,
        index: String,
    },
    /// The index that the old design has.
    DeleteIndex {
        table: String,
        index: String,
    },
    /// Whatever writes the entity keeps each item in its old and in its new place, both at once. What an update does not
    /// name, and what a condition asks, it takes from the old place.
    KeepBoth {
        entity: String,
    },
    /// Whatever changes, replaces or deletes an item reads it first, and deletes what is under the former key in the other
    /// place, in the same transaction.
    DeleteFormer {
        entity: String,
    },
    /// Whatever writes what second items are made of keeps them beside, both at once: whole, or without touching what they
    /// have of their own.
    KeepSecond {
        entity: String,
        apart: Vec<String>,
    },
    /// Updates write second items as they write what those are made of: all are there.
    SecondsThere {
        entity: String,
    },
    /// What second items have of their own is written from now on.
    BeginOwn {
        entity: String,
        attributes: Vec<String>,
    },
    /// The attributes go by the second items from now on; they are kept in what had them, too.
    MoveOver {
        entity: String,
        attributes: Vec<String>,
    },
    /// Whatever writes new items writes them; an update takes the rest from where they were until now, and puts them whole.
    WriteNew {
        entity: String,
    },
    /// From now on that is taken from the new place.
    GoByNew {
        entity: String,
    },
    /// Writers keep the new place alone.
    KeepNew {
        entity: String,
    },
    /// Whatever writes one of the attributes, or what they were or will be made of, writes all of them, as the new design
    /// has them.
    Set {
        entity: String,
        attributes: Vec<String>,
    },
    /// Whatever writes one of the attributes, or what they are made of, writes all of them, as the old design has them.
    SetTogether {
        entity: String,
        attributes: Vec<String>,
    },
    /// Whatever changes what an attribute repeats sets it in each item of the entity that is there, in the same transaction;
    /// whatever puts an item takes it from there and checks in the same transaction that it is still so.
    KeepLike {
        entity: String,
        attribute: String,
    },
    /// Writers set the attributes no longer.
    Unset {
        entity: String,
        attributes: Vec<String>,
    },
    /// Nothing writes the entity any more.
    StopWriting {
        entity: String,
    },
    /// A question is asked the old way and the new way; it takes each item once, and only what answers it.
    AskBoth {
        pattern: String,
    },
    /// A question asks for the entity no more, and passes over what it meets of it.
    AskWithout {
        pattern: String,
        entity: String,
    },
    /// A question passes over the items of the entity that have their new key already.
    PassNew {
        pattern: String,
        entity: String,
    },
    /// A question is asked the new way alone; a new question for the first time.
    AskNew {
        pattern: String,
    },
    /// It passes over the items of the entity that still have their old key.
    PassOld {
        pattern: String,
        entity: String,
    },
    AskNoMore {
        pattern: String,
    },
    /// Puts each item to its new place, if nothing is there.
    Copy {
        entity: String,
    },
    /// Sets attributes of each item, if the guard holds.
    Fill {
        entity: String,
        attributes: Vec<String>,
        guard: Guard,
    },
    /// Makes every new place what the old one is, and every second item what it is made of.
    Compare {
        entity: String,
    },
    /// Makes the attributes of every item what they are made of.
    CompareFilled {
        entity: String,
        attributes: Vec<String>,
    },
    /// Puts new items, as far as they are elsewhere already; second items as the items they are made of tell, where nothing
    /// is yet.
    Load {
        entity: String,
    },
    /// Deletes each item of an old key.
    DeleteOld {
        entity: String,
    },
    Remove {
        entity: String,
        attributes: Vec<String>,
    },
    /// Deletes the items of an entity that is no more.
    DeleteGone {
        entity: String,
    },
}

/// On what condition a job writes what it made of an item that it has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The item is there, and the attribute is not.
    Absent { key: String, attribute: String },
    /// The attributes are what was read.
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
