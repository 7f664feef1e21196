//! PartiQL: statements become the same conditions, updates and items that the native requests have.
//!
//! A text becomes tokens (`lexer`), then a syntax tree (`parser`, `syntax`), and with its parameters a
//! statement (`bind`). Which attributes are keys is not known here: a caller that knows the key asks
//! [`Where`].

mod bind;
mod changes;
mod condition;
mod lexer;
mod parser;
mod reads;
mod redaction;
mod syntax;
#[cfg(test)]
mod tests;
mod values;
mod where_clause;

use crate::error::Error;
use crate::expression::{DocumentPath, Update};
use crate::request::common::SortOrder;
use crate::request::parts::ReturnValue;
use crate::request::table_ref::TableRef;
use crate::touches::{Action, Resource, Touch};
use crate::value::{AttributeValue, Item};

pub use reads::{Access, Read};
pub use redaction::redacted;
use syntax::RawStatement;
pub use where_clause::{KeyForms, KeyMatch, Where};

/// Why a statement is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartiqlFault(String);

impl PartiqlFault {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text the client reads.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl From<PartiqlFault> for Error {
    fn from(fault: PartiqlFault) -> Self {
        Self::validation(fault.0)
    }
}

impl From<Error> for PartiqlFault {
    fn from(error: Error) -> Self {
        Self(error.message)
    }
}

/// One column of a SELECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The attribute's name in the response.
    pub name: String,
    /// Where the value comes from in the item.
    pub path: DocumentPath,
}

/// A SELECT, also the one inside of EXISTS.
#[derive(Clone, Debug)]
pub struct Select {
    /// The table of the FROM clause.
    pub table: TableRef,
    /// The index of the FROM clause.
    pub index: Option<String>,
    /// The columns; absent: whole items.
    pub columns: Option<Vec<Column>>,
    /// The WHERE clause.
    pub condition: Option<Where>,
    /// The ORDER BY clause: attributes and their directions; empty without such a clause.
    pub order: Vec<(String, SortOrder)>,
}

/// The image of an item that a write returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returning {
    /// No item.
    Nothing,
    /// The whole item before the write.
    AllOld,
    /// The whole item after the write.
    AllNew,
    /// The changed attributes, before the write.
    ModifiedOld,
    /// The changed attributes, after the write.
    ModifiedNew,
}

impl Returning {
    /// The same as native requests say it.
    pub const fn return_value(self) -> ReturnValue {
        match self {
            Self::Nothing => ReturnValue::None,
            Self::AllOld => ReturnValue::AllOld,
            Self::AllNew => ReturnValue::AllNew,
            Self::ModifiedOld => ReturnValue::UpdatedOld,
            Self::ModifiedNew => ReturnValue::UpdatedNew,
        }
    }
}

/// A statement with its parameters in place.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Reads rows.
    Select(Select),
    /// Puts an item whose key must not exist.
    Insert {
        /// The table of the INTO clause.
        table: TableRef,
        /// The whole item.
        item: Item,
    },
    /// Updates the one item that the WHERE clause names.
    Update {
        /// The table of the statement.
        table: TableRef,
        /// The SET and REMOVE clauses together.
        update: Update,
        /// The WHERE clause: the key and what the item must satisfy.
        condition: Option<Where>,
        /// The RETURNING clause.
        returning: Returning,
    },
    /// Deletes the one item that the WHERE clause names.
    Delete {
        /// The table of the FROM clause.
        table: TableRef,
        /// The WHERE clause: the key and what the item must satisfy.
        condition: Option<Where>,
        /// The RETURNING clause.
        returning: Returning,
    },
    /// Checks in a transaction that an item satisfies a condition.
    Exists(Select),
}

impl Statement {
    /// The table the statement reads or writes.
    pub const fn table(&self) -> &TableRef {
        match self {
            Self::Select(select) | Self::Exists(select) => &select.table,
            Self::Insert { table, .. } | Self::Update { table, .. } | Self::Delete { table, .. } => table,
        }
    }

    /// The index whose key the statement goes by. Only a SELECT reads one.
    pub fn key_index(&self) -> Option<&str> {
        match self {
            Self::Select(select) => select.index.as_deref(),
            Self::Exists(_) | Self::Insert { .. } | Self::Update { .. } | Self::Delete { .. } => None,
        }
    }

    /// What the statement does, and to which table or index.
    pub fn touch(&self) -> Touch<'_> {
        let (action, index) = match self {
            Self::Select(select) | Self::Exists(select) => (Action::PartiqlSelect, select.index.as_ref()),
            Self::Insert { .. } => (Action::PartiqlInsert, None),
            Self::Update { .. } => (Action::PartiqlUpdate, None),
            Self::Delete { .. } => (Action::PartiqlDelete, None),
        };
        Touch { action, resource: Resource::of_table(self.table().as_given(), index) }
    }
}

/// What the text of a statement does, and to which table or index; none if it is not well-formed. The rest of
/// its meaning is not looked at.
pub fn touch(text: &str) -> Option<Touch<'static>> {
    let (action, table, index) = match parser::parse(text).ok()? {
        RawStatement::Select(select) | RawStatement::Exists(select) => {
            (Action::PartiqlSelect, select.source.table, select.source.index)
        }
        RawStatement::Insert { table, .. } => (Action::PartiqlInsert, table, None),
        RawStatement::Update { source, .. } => (Action::PartiqlUpdate, source.table, None),
        RawStatement::Delete { source, .. } => (Action::PartiqlDelete, source.table, None),
        RawStatement::Expression(_) => return None,
    };
    Some(Touch { action, resource: Resource::of_table(table, index) })
}

/// Parses a statement and binds its parameters, one for each question mark.
pub fn prepare(text: &str, parameters: &[AttributeValue]) -> Result<Statement, PartiqlFault> {
    bind::bind(text, parser::parse(text)?, parameters)
}

/// The canonical text of a statement: parsing and printing it again gives the same text.
pub fn canonical(text: &str) -> Result<String, PartiqlFault> {
    parser::parse(text).map(|statement| statement.to_string())
}
