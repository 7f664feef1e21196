//! The source of a Query or Scan: the table or one of its indexes, and what may be read from it.

use keywright_semantics::error::Error;
use keywright_semantics::expression::{Condition, Projection};
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::request::common::{Consistency, SelectMode};
use keywright_semantics::request::query::{FilterDialect, Query};
use keywright_semantics::schema::{IndexKind, IndexSchema, KeySchema, Projection as IndexProjection};

use super::item::check_paths;
use crate::catalogue::Table;
use crate::support::layout::{self, IndexId};

/// The table itself or one of its indexes.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub table: &'a Table,
    pub index: Option<(IndexId, &'a IndexSchema)>,
}

impl<'a> Source<'a> {
    pub(crate) fn key(&self) -> &'a KeySchema {
        self.index.map_or(&self.table.schema.key, |(_, index)| &index.key)
    }

    /// The prefix of its rows' keys.
    pub(crate) fn prefix(&self) -> Vec<u8> {
        match self.index {
            None => layout::items_prefix(self.table.id),
            Some((id, _)) => layout::index_prefix(self.table.id, id),
        }
    }

    /// The attributes of a `LastEvaluatedKey`; one that is part of both keys comes twice.
    pub(crate) fn position_attributes(&self) -> impl Iterator<Item = &'a str> + Clone {
        let of_index = self.index.map(|(_, index)| &index.key);
        let keys = std::iter::once(&self.table.schema.key).chain(of_index);
        keys.flat_map(|key| key.partition.iter().chain(&key.sort)).map(|attribute| attribute.name.as_str())
    }

    /// Whether an attribute is part of a `LastEvaluatedKey`.
    pub(crate) fn is_position_attribute(&self, name: &str) -> bool {
        self.position_attributes().any(|attribute| attribute == name)
    }

    /// A partition of a table without a sort key is one item: a read of it neither stops early nor is
    /// resumed.
    pub(crate) fn holds_one_item_per_partition(&self) -> bool {
        self.index.is_none() && self.table.schema.key.sort.is_empty()
    }

    fn index_of_kind(&self, kind: IndexKind) -> Option<&'a IndexSchema> {
        self.index.map(|(_, index)| index).filter(|index| index.kind == kind)
    }
}

/// Whether the index projects this attribute.
pub(crate) fn holds(table_key: &KeySchema, index: &IndexSchema, name: &str) -> bool {
    match &index.projection {
        IndexProjection::All => true,
        IndexProjection::KeysOnly => table_key.contains(name) || index.key.contains(name),
        IndexProjection::Include(names) => {
            names.contains(name) || table_key.contains(name) || index.key.contains(name)
        }
    }
}

/// Finds the source by the index's name.
pub(crate) fn bind_source<'a>(
    table: &'a Table,
    index: Option<&str>,
    consistency: Consistency,
) -> Result<Source<'a>, Error> {
    let Some(name) = index else { return Ok(Source { table, index: None }) };
    let (position, id, schema) = table
        .indexes()
        .find(|(_, _, index)| index.name == name)
        .ok_or_else(|| Error::validation(messages::unknown_index(name)))?;
    if schema.kind == IndexKind::Global && consistency == Consistency::Strong {
        return Err(Error::validation(messages::GLOBAL_INDEX_NOT_CONSISTENT));
    }
    if !table.index_readable(position) {
        return Err(Error::validation(messages::backfilling_index(name)));
    }
    Ok(Source { table, index: Some((id, schema)) })
}

/// What is returned of each row that passes the filter.
#[derive(Clone, Copy)]
pub(crate) enum Output<'a> {
    Count,
    Whole,
    Projected(&'a Projection),
}

/// Whether the items of a local index's entries are fetched from the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fetch {
    None,
    Items,
}

/// Decides what is returned, and whether a local index must fetch items for it.
pub(crate) fn bind_output<'a>(
    source: Source<'_>,
    select: Option<SelectMode>,
    projection: Option<&'a Projection>,
) -> Result<(Output<'a>, Fetch), Error> {
    let partial = source.index.filter(|(_, index)| index.projection != IndexProjection::All);
    if let (Some((_, index)), Some(SelectMode::AllAttributes)) = (partial, select) {
        if index.kind == IndexKind::Global {
            return Err(Error::validation(messages::select_all_not_supported(&index.name)));
        }
        return Ok((Output::Whole, Fetch::Items));
    }
    let Some(projection) = projection else {
        let output = if select == Some(SelectMode::Count) { Output::Count } else { Output::Whole };
        return Ok((output, Fetch::None));
    };
    let key = &source.table.schema.key;
    let unheld: Vec<&str> = match partial {
        None => Vec::new(),
        Some((_, index)) => {
            projection.attributes().into_iter().filter(|name| !holds(key, index, name)).collect()
        }
    };
    let output =
        if select == Some(SelectMode::Count) { Output::Count } else { Output::Projected(projection) };
    if unheld.is_empty() {
        return Ok((output, Fetch::None));
    }
    if let Some(index) = source.index_of_kind(IndexKind::Global) {
        return Err(Error::validation(messages::not_projected(&index.name, &unheld)));
    }
    Ok((output, Fetch::Items))
}

/// Checks that a projection does not go below key attributes.
pub(crate) fn check_projection(source: Source<'_>, projection: Option<&Projection>) -> Result<(), Error> {
    let Some(projection) = projection else { return Ok(()) };
    let paths: Vec<_> = projection.paths().iter().collect();
    Ok(check_paths(&source.table.schema, &paths)?)
}

/// Checks that a Query's filter does not name key attributes of the source: these belong in the key
/// condition.
pub(crate) fn check_query_filter(source: Source<'_>, request: &Query) -> Result<(), Error> {
    let Some(filter) = &request.filter else { return Ok(()) };
    let named = filter.attributes();
    for attribute in source.key().attributes() {
        if named.contains(&attribute.name.as_str()) {
            return Err(Error::validation(match request.filter_dialect {
                FilterDialect::Expression => messages::filter_on_key(&attribute.name),
                FilterDialect::Legacy => messages::legacy_filter_on_key(&attribute.name),
            }));
        }
    }
    Ok(())
}

/// Checks that the index projects the attributes of a Query's filter.
///
/// A Scan of an index is not refused: there, attributes that are not projected count as absent.
pub(crate) fn check_filter_is_held(source: Source<'_>, filter: Option<&Condition>) -> Result<(), Error> {
    let (Some((_, index)), Some(filter)) = (source.index, filter) else { return Ok(()) };
    if index.projection == IndexProjection::All {
        return Ok(());
    }
    let mut unheld = filter.attributes();
    unheld.retain(|name| !holds(&source.table.schema.key, index, name));
    if unheld.is_empty() {
        return Ok(());
    }
    Err(Error::validation(messages::filter_not_projected(&index.name, &unheld)))
}
