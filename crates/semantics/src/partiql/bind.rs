//! From a syntax tree and parameters to a statement.

use super::condition::document_path;
use super::syntax::{Descending, RawSelect, RawStatement, Returned, Source, Step, Term, TermKind};
use super::values::Scope;
use super::{Column, PartiqlFault, Returning, Select, Statement, Where};
use crate::messages::partiql as messages;
use crate::request::common::SortOrder;
use crate::request::table_ref::TableRef;
use crate::value::AttributeValue;

pub(super) fn bind(
    text: &str,
    raw: RawStatement,
    parameters: &[AttributeValue],
) -> Result<Statement, PartiqlFault> {
    let scope = Scope { text, parameters };
    if parameters_of(&raw) != parameters.len() {
        return Err(PartiqlFault::new(messages::PARAMETER_COUNT));
    }
    match raw {
        RawStatement::Select(select) => select_of(scope, &select).map(Statement::Select),
        RawStatement::Exists(select) => select_of(scope, &select).map(Statement::Exists),
        RawStatement::Insert { table, value } => {
            Ok(Statement::Insert { item: scope.item(&value)?, table: TableRef::parse(&table)? })
        }
        RawStatement::Update { source, changes, condition, returned } => Ok(Statement::Update {
            update: scope.update(&changes)?,
            condition: where_of(scope, condition.as_ref())?,
            table: written_table(&source)?,
            returning: returning_of(returned),
        }),
        RawStatement::Delete { source, condition, returned } => {
            if let Some(returned) = returned.filter(|returned| *returned != Returned::AllOld) {
                return Err(PartiqlFault::new(messages::returning_in_delete(returned.text())));
            }
            Ok(Statement::Delete {
                condition: where_of(scope, condition.as_ref())?,
                table: written_table(&source)?,
                returning: returning_of(returned),
            })
        }
        RawStatement::Expression(term) => {
            Err(PartiqlFault::new(messages::unsupported_operation(kind_of(&term))))
        }
    }
}

/// The table that an UPDATE or DELETE changes; an index is a fault.
fn written_table(source: &Source) -> Result<TableRef, PartiqlFault> {
    if source.index.is_some() {
        return Err(PartiqlFault::new(messages::WRITE_ON_INDEX));
    }
    Ok(TableRef::parse(&source.table)?)
}

fn select_of(scope: Scope<'_>, raw: &RawSelect) -> Result<Select, PartiqlFault> {
    let columns = raw.columns.as_ref().map(|columns| columns_of(scope, columns));
    let order = raw.order.iter().map(|(term, Descending(descending))| match &term.kind {
        TermKind::Path(path) if path.steps.is_empty() => {
            let order = if *descending { SortOrder::Descending } else { SortOrder::Ascending };
            Ok((path.first.clone(), order))
        }
        _ => Err(PartiqlFault::new(messages::unexpected_path_component(&scope.place(term.span)))),
    });
    if !raw.order.is_empty() && raw.condition.is_none() {
        return Err(PartiqlFault::new(messages::ORDER_WITHOUT_WHERE));
    }
    Ok(Select {
        columns: columns.transpose()?,
        condition: where_of(scope, raw.condition.as_ref())?,
        order: order.collect::<Result<_, _>>()?,
        table: TableRef::parse(&raw.source.table)?,
        index: raw.source.index.clone(),
    })
}

fn where_of(scope: Scope<'_>, condition: Option<&Term>) -> Result<Option<Where>, PartiqlFault> {
    condition.map(|condition| scope.clause(condition).map(Where::new)).transpose()
}

/// The columns of a SELECT, whose names must differ.
fn columns_of(scope: Scope<'_>, terms: &[Term]) -> Result<Vec<Column>, PartiqlFault> {
    let mut columns: Vec<Column> = Vec::with_capacity(terms.len());
    for term in terms {
        let column = column_of(scope, term)?;
        if columns.iter().any(|other| other.name == column.name) {
            return Err(PartiqlFault::new(messages::duplicate_columns(&column.name)));
        }
        columns.push(column);
    }
    Ok(columns)
}

/// A column, named after the last name in its path.
fn column_of(scope: Scope<'_>, term: &Term) -> Result<Column, PartiqlFault> {
    let TermKind::Path(path) = &term.kind else {
        return Err(PartiqlFault::new(messages::unexpected_path_component(&scope.place(term.span))));
    };
    let mut name = path.first.clone();
    for step in &path.steps {
        match step {
            Step::Field(field) => name.clone_from(field),
            Step::Index(index) => name = format!("{name}[{index}]"),
        }
    }
    Ok(Column { name, path: document_path(path)? })
}

const fn returning_of(returned: Option<Returned>) -> Returning {
    match returned {
        None => Returning::Nothing,
        Some(Returned::AllOld) => Returning::AllOld,
        Some(Returned::AllNew) => Returning::AllNew,
        Some(Returned::ModifiedOld) => Returning::ModifiedOld,
        Some(Returned::ModifiedNew) => Returning::ModifiedNew,
    }
}

const fn kind_of(term: &Term) -> &'static str {
    match &term.kind {
        TermKind::Text(_) | TermKind::Number(_) | TermKind::Bool(_) | TermKind::Null | TermKind::Missing => {
            "Lit"
        }
        TermKind::Parameter(_) => "Parameter",
        TermKind::Path(_) | TermKind::Star => "Id",
        TermKind::Call { .. } => "Call",
        TermKind::List(_) => "List",
        TermKind::Bag(_) => "Bag",
        TermKind::Struct(_) => "Struct",
        TermKind::Not(_) => "Not",
        TermKind::Binary { .. } => "BinaryOperation",
        TermKind::In { .. } => "InCollection",
        TermKind::Between { .. } => "Between",
        TermKind::Is { .. } => "IsType",
    }
}

/// The number of parameters in a statement.
fn parameters_of(raw: &RawStatement) -> usize {
    let mut last = 0;
    let mut count = |term: &Term| walk(term, &mut last);
    match raw {
        RawStatement::Select(select) | RawStatement::Exists(select) => {
            select.columns.iter().flatten().for_each(&mut count);
            select.condition.iter().for_each(&mut count);
            select.order.iter().for_each(|(term, _)| count(term));
        }
        RawStatement::Insert { value, .. } => count(value),
        RawStatement::Update { changes, condition, .. } => {
            for change in changes {
                match change {
                    super::syntax::RawChange::Set(target, value) => {
                        count(target);
                        count(value);
                    }
                    super::syntax::RawChange::Remove(target) => count(target),
                }
            }
            condition.iter().for_each(&mut count);
        }
        RawStatement::Delete { condition, .. } => condition.iter().for_each(&mut count),
        RawStatement::Expression(term) => count(term),
    }
    last
}

fn walk(term: &Term, last: &mut usize) {
    match &term.kind {
        TermKind::Parameter(place) => *last = (*last).max(place + 1),
        TermKind::Call { arguments: terms, .. } | TermKind::List(terms) | TermKind::Bag(terms) => {
            for term in terms {
                walk(term, last);
            }
        }
        TermKind::Struct(members) => {
            for (_, term) in members {
                walk(term, last);
            }
        }
        TermKind::Not(inner) | TermKind::Is { subject: inner, .. } => walk(inner, last),
        TermKind::Binary { left, right, .. } => {
            walk(left, last);
            walk(right, last);
        }
        TermKind::In { subject, list } => {
            walk(subject, last);
            for term in list {
                walk(term, last);
            }
        }
        TermKind::Between { subject, lower, upper } => {
            for term in [subject, lower, upper] {
                walk(term, last);
            }
        }
        TermKind::Text(_)
        | TermKind::Number(_)
        | TermKind::Bool(_)
        | TermKind::Null
        | TermKind::Missing
        | TermKind::Path(_)
        | TermKind::Star => {}
    }
}
