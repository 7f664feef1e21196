//! A database file of another server, opened for reading only.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_model::tables::TableDefinition;
use keywright_semantics::value::Item;
use rusqlite::{Connection, OpenFlags, Row};

use crate::process::failure::Failure;
use crate::process::io_fault::{cannot, failed};

/// How a database file begins (SQLite, database file format).
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Where the header says how the file is written, and what it says of a write-ahead log.
const WRITE_VERSION_BYTE: usize = 18;
const WITH_LOG: u8 = 2;
const HEADER_BYTES: usize = 100;

/// Rows of one read: so few that a server that has the file open is not held up.
const PAGE_ROWS: usize = 500;

/// A table of the file.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) definition: TableDefinition,
    /// The column that holds the items, as JSON.
    pub(super) column: &'static str,
}

/// Some items, and the row that the next ones come after; `None` at the end.
pub(super) struct Page {
    pub(super) items: Vec<Item>,
    pub(super) next: Option<i64>,
}

/// An open file.
pub(super) struct Database {
    path: PathBuf,
    connection: Connection,
}

impl Database {
    /// Opens a file that exists. Nothing is written to it, and nothing next to it if it was closed.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let header = header(path)?;
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let has_log = Path::new(&log).metadata().is_ok_and(|log| log.len() > 0);
        // A file whose log is empty was closed. SQLite would make files next to it to read it.
        let is_closed = header.get(WRITE_VERSION_BYTE) == Some(&WITH_LOG) && !has_log;
        let mode = if is_closed { "mode=ro&immutable=1" } else { "mode=ro" };
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(format!("file:{}?{mode}", escaped(path)), flags);
        let own = |connection| Self { path: path.to_owned(), connection };
        let opened = opened.map(own).map_err(|error| unreadable(path, &error))?;
        // The first look at the file itself.
        opened.count_of("sqlite_master")?;
        Ok(opened)
    }

    /// The fault of a file that is a database, but not what was expected.
    pub(super) fn fault(&self, text: &str) -> Failure {
        Failure::new(format!("{}: {text}", self.path.display()))
    }

    fn explain(&self, error: &rusqlite::Error) -> Failure {
        unreadable(&self.path, error)
    }

    fn count_of(&self, table: &str) -> Result<i64, Failure> {
        let count =
            self.connection
                .query_row(&format!("SELECT count(*) FROM {}", quoted(table)), [], |row| row.get(0));
        count.map_err(|error| self.explain(&error))
    }

    /// Whether the file has a table of this name.
    pub(super) fn has(&self, table: &str) -> Result<bool, Failure> {
        let sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1";
        let count = self.connection.query_row(sql, [table], |row| row.get::<_, i64>(0));
        Ok(count.map_err(|error| self.explain(&error))? > 0)
    }

    /// The number of rows of a table, which must be there.
    pub(super) fn rows(&self, table: &str) -> Result<u64, Failure> {
        if self.has(table)? {
            return Ok(u64::try_from(self.count_of(table)?).unwrap_or_default());
        }
        Err(self.fault(&format!("it lists the table {table} and does not hold it")))
    }

    /// The first value of the first row of a query, as text; `None` without a row.
    pub(super) fn text(&self, sql: &str) -> Result<Option<String>, Failure> {
        match self.connection.query_row(sql, [], |row| row.get(0)) {
            Ok(text) => Ok(text),
            Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
            Err(error) => Err(self.explain(&error)),
        }
    }

    /// The rows of a table, each with the columns of these names that the table has.
    pub(super) fn select<const N: usize>(
        &self,
        table: &str,
        columns: [&str; N],
    ) -> Result<Vec<[Option<String>; N]>, Failure> {
        let explain = |error| self.explain(&error);
        let mut known = self.connection.prepare("SELECT name FROM pragma_table_info(?1)").map_err(explain)?;
        let known: Result<Vec<String>, _> =
            known.query_map([table], |row| row.get(0)).map_err(explain)?.collect();
        let known = known.map_err(explain)?;
        // Older files lack some columns.
        let wanted = columns.map(|column| {
            if known.iter().any(|known| known == column) {
                format!("CAST({} AS TEXT)", quoted(column))
            } else {
                "NULL".to_owned()
            }
        });
        let sql = format!("SELECT {} FROM {} ORDER BY 1", wanted.join(", "), quoted(table));
        let mut rows = self.connection.prepare(&sql).map_err(explain)?;
        let read = |row: &Row<'_>| {
            let mut values = [const { None }; N];
            for (at, value) in values.iter_mut().enumerate() {
                *value = row.get(at)?;
            }
            Ok(values)
        };
        let rows: Result<Vec<_>, _> = rows.query_map([], read).map_err(explain)?.collect();
        rows.map_err(explain)
    }

    /// The items of a table after a row.
    pub(super) fn page(&self, table: &Found, after: i64) -> Result<Page, Failure> {
        let name = &table.definition.name;
        let sql = format!(
            "SELECT rowid, CAST({} AS TEXT) FROM {} WHERE rowid > ?1 ORDER BY rowid LIMIT {PAGE_ROWS}",
            quoted(table.column),
            quoted(name)
        );
        let explain = |error| self.explain(&error);
        let mut statement = self.connection.prepare_cached(&sql).map_err(explain)?;
        let mut rows = statement.query([after]).map_err(explain)?;
        let mut page = Page { items: Vec::with_capacity(PAGE_ROWS), next: None };
        while let Some(row) = rows.next().map_err(explain)? {
            let id: i64 = row.get(0).map_err(explain)?;
            let text: String = row.get(1).map_err(explain)?;
            let json = Json::parse(&text).ok().and_then(|json| read_item(&json)).filter(|read| read.typed);
            let item = json.ok_or_else(|| self.fault(&format!("row {id} of the table {name} is no item")))?;
            page.items.push(item.item);
            page.next = Some(id);
        }
        if page.items.len() < PAGE_ROWS {
            page.next = None;
        }
        Ok(page)
    }

    /// A number that changes when another program writes the file.
    pub(super) fn version(&self) -> Result<i64, Failure> {
        let version = self.connection.query_row("PRAGMA data_version", [], |row| row.get(0));
        version.map_err(|error| self.explain(&error))
    }
}

/// The file's header, which must be that of a database.
fn header(path: &Path) -> Result<Vec<u8>, Failure> {
    let explain = failed("read", path);
    let mut header = Vec::new();
    File::open(path)
        .map_err(explain)?
        .take(u64::try_from(HEADER_BYTES).unwrap_or(u64::MAX))
        .read_to_end(&mut header)
        .map_err(|error| match error.kind() {
            ErrorKind::IsADirectory => Failure::new(cannot("read", path, &error)),
            _ => explain(error),
        })?;
    if header.starts_with(MAGIC) {
        return Ok(header);
    }
    Err(Failure::new(format!("{} is no SQLite database, or it is encrypted", path.display())))
}

fn unreadable(path: &Path, error: &rusqlite::Error) -> Failure {
    Failure::new(format!("cannot read the database {}: {error}", path.display()))
}

/// A name as SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A path in a URI.
fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}
