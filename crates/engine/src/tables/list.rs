//! ListTables.

use keywright_semantics::request::ListTables;
use keywright_semantics::response::{ListTablesOutput, Response};
use keywright_store::Store;

use crate::state::Engine;
use crate::support::env::Namespace;

pub(crate) fn run<S: Store>(engine: &Engine<S>, namespace: &Namespace, request: &ListTables) -> Response {
    let start = request.exclusive_start.as_deref();
    let (table_names, more) = engine.catalogue().names_after(namespace, start, request.limit);
    let last_evaluated_table_name = if more { table_names.last().cloned() } else { None };
    Response::ListTables(ListTablesOutput { table_names, last_evaluated_table_name })
}
