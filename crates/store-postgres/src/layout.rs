//! The schema in the database: its tables, its version, and the statements on them.

use tokio_postgres::error::SqlState;
use tokio_postgres::{SimpleQueryMessage, Statement};

use crate::open_error::OpenError;
use crate::options::PostgresOptions;
use crate::wire::Wire;
use crate::{fault, features, refusals};

/// The version of the layout below.
const LAYOUT: &str = "keywright rows 1";
/// The oldest server with transaction ids of 64 bits.
const SERVER_VERSION_MIN: i64 = 130_000;
/// Item times, expiry and streams bear clocks that are seconds apart; minutes would expire items too early.
const CLOCKS_APART_MS_MAX: u64 = 60_000;
/// Serialises the creation of schemas: "keywrigh" as bytes.
const CREATION_LOCK: i64 = 0x6b65_7977_7269_6768;

/// Checks the server and its clock.
pub(crate) async fn check(wire: &Wire, options: &PostgresOptions) -> Result<(), OpenError> {
    let failed = |error: tokio_postgres::Error| refusals::of_statement(&error, options);
    let setting = |name| async move {
        let row = wire.ask(wire.client.query_one("SELECT current_setting($1)", &[&name])).await;
        row.map(|row| row.get::<_, String>(0)).map_err(failed)
    };
    let version = setting("server_version_num").await?;
    if version.parse().is_ok_and(|version: i64| version < SERVER_VERSION_MIN) {
        return Err(OpenError::TooOld(setting("server_version").await?));
    }
    let lacking = wire.ask(features::lacking(&wire.client)).await.map_err(failed)?;
    if !lacking.is_empty() {
        return Err(OpenError::Lacking(wire.ask(features::server(&wire.client)).await, lacking));
    }
    if let Some(now_ms) = options.now_ms {
        let theirs = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        let theirs = wire.ask(wire.client.query_one(theirs, &[])).await.map_err(failed)?;
        let theirs: i64 = theirs.get(0);
        let apart_ms = theirs.cast_unsigned().abs_diff(now_ms());
        if apart_ms > CLOCKS_APART_MS_MAX {
            return Err(OpenError::Clock(apart_ms));
        }
    }
    Ok(())
}

/// How many connections the server allows; `None` if it does not say.
pub(crate) async fn connections_allowed(wire: &Wire) -> Option<u32> {
    // Without a limit of its own, a role or database has -1.
    let asked = "SELECT least(current_setting('max_connections')::int, \
                 nullif((SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user), -1), \
                 nullif((SELECT datconnlimit FROM pg_database WHERE datname = current_database()), -1))";
    let answer = wire.ask(wire.client.simple_query(asked)).await.ok()?;
    only_value(&answer)?.parse().ok()
}

fn only_value(answer: &[SimpleQueryMessage]) -> Option<&str> {
    answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    })
}

/// Checks the schema, and creates it if it is not there.
pub(crate) async fn prepare(wire: &Wire, options: &PostgresOptions) -> Result<(), OpenError> {
    let schema = options.schema.as_str();
    match found(wire, options).await? {
        Found::Ours => return Ok(()),
        Found::Nothing => {}
    }
    let create = format!(
        "BEGIN; SELECT pg_advisory_xact_lock({CREATION_LOCK}); {}; COMMIT",
        creation(&quoted(schema))
    );
    match wire.ask(wire.client.batch_execute(&create)).await {
        Ok(()) => Ok(()),
        Err(error) => {
            // Another process may have created it while this one waited for the lock.
            let _ = wire.ask(wire.client.batch_execute("ROLLBACK")).await;
            match found(wire, options).await? {
                Found::Ours => Ok(()),
                Found::Nothing => Err(not_created(wire, &error, options).await),
            }
        }
    }
}

/// Why the schema could not be created.
async fn not_created(wire: &Wire, error: &tokio_postgres::Error, options: &PostgresOptions) -> OpenError {
    if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
        let may = "SELECT has_database_privilege(current_database(), 'CREATE')";
        let may = wire.ask(wire.client.simple_query(may)).await.unwrap_or_default();
        if only_value(&may) == Some("f") {
            let advice = format!("run GRANT CREATE ON DATABASE {} TO {}", options.database(), options.user());
            return OpenError::refused(fault::text(error), advice);
        }
    }
    refusals::of_statement(error, options)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    Ours,
}

async fn found(wire: &Wire, options: &PostgresOptions) -> Result<Found, OpenError> {
    let failed = |error: tokio_postgres::Error| refusals::of_statement(&error, options);
    let schema = options.schema.as_str();
    let tables = "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                  WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')";
    let rows = wire.ask(wire.client.query(tables, &[&schema])).await.map_err(failed)?;
    let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    if names.is_empty() {
        return Ok(Found::Nothing);
    }
    if !names.iter().any(|name| name == "keywright_layout") {
        return Err(OpenError::Foreign(schema.to_owned()));
    }
    let layout = format!("SELECT layout FROM {}.keywright_layout", quoted(schema));
    let row = wire.ask(wire.client.query_opt(&layout, &[])).await.map_err(failed)?;
    match row.map(|row| row.get::<_, String>(0)) {
        Some(layout) if layout == LAYOUT => Ok(Found::Ours),
        Some(layout) => Err(OpenError::OtherLayout(layout, LAYOUT)),
        None => Err(OpenError::Foreign(schema.to_owned())),
    }
}

/// The name as statements have it: it may be a word of SQL.
fn quoted(schema: &str) -> String {
    format!("\"{schema}\"")
}

/// The statements that create the schema.
///
/// `changed` is the transaction that wrote the row last; the partial index finds removed rows by it.
/// Hot rows are rewritten within their page where there is room, hence the fill factor; autovacuum comes
/// after 5,000 dead rows and not after a fifth of the table, because a queue is rewritten all the time.
fn creation(schema: &str) -> String {
    format!(
        "CREATE SCHEMA IF NOT EXISTS {schema};
         CREATE TABLE {schema}.keywright_layout (layout text NOT NULL);
         INSERT INTO {schema}.keywright_layout VALUES ('{LAYOUT}');
         CREATE TABLE {schema}.keywright_rows (
             key bytea PRIMARY KEY, value bytea, changed xid8 NOT NULL
         ) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
                 autovacuum_vacuum_cost_delay = 0);
         ALTER TABLE {schema}.keywright_rows ALTER COLUMN key SET STORAGE PLAIN;
         CREATE INDEX keywright_removed ON {schema}.keywright_rows (changed) WHERE value IS NULL;
         CREATE TABLE {schema}.keywright_inbox (
             log bigint, shard bigint, changed xid8, place integer, entry bytea NOT NULL,
             PRIMARY KEY (log, shard, changed, place)
         ) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
         CREATE TABLE {schema}.keywright_log (
             log bigint, shard bigint, version bigint, place integer, origin xid8 NOT NULL,
             entry bytea NOT NULL, PRIMARY KEY (log, shard, version, place)
         );
         CREATE TABLE {schema}.keywright_heads (
             log bigint, shard bigint, version bigint NOT NULL, PRIMARY KEY (log, shard)
         );
         CREATE FUNCTION {schema}.keywright_settle(one bigint, part bigint) RETURNS void LANGUAGE plpgsql AS $$
         DECLARE next bigint;
         BEGIN
             IF NOT EXISTS (SELECT FROM {schema}.keywright_inbox WHERE log = one AND shard = part) THEN
                 RETURN;
             END IF;
             INSERT INTO {schema}.keywright_heads VALUES (one, part, 0) ON CONFLICT DO NOTHING;
             SELECT version + 1 INTO next FROM {schema}.keywright_heads
                 WHERE log = one AND shard = part FOR UPDATE;
             WITH moved AS (
                 DELETE FROM {schema}.keywright_inbox WHERE log = one AND shard = part
                 RETURNING changed, place, entry
             ), newest AS (
                 SELECT greatest(next, max(changed::text::bigint)) AS version FROM moved
             ), numbered AS (
                 INSERT INTO {schema}.keywright_log
                 SELECT one, part, newest.version, row_number() OVER (ORDER BY changed, place) - 1, changed, entry
                 FROM moved, newest
                 RETURNING version
             )
             UPDATE {schema}.keywright_heads SET version = newest.version FROM newest
                 WHERE log = one AND shard = part AND newest.version IS NOT NULL;
         END $$"
    )
}

/// A page without a budget of bytes, which would cost a quarter of the statement: values that are too large
/// are not returned. The maxima are those of rows and of a value's bytes.
fn page(rows: &str, bounds: &str, order: &str, maxima: [&str; 2]) -> String {
    let [rows_max, value_bytes_max] = maxima;
    format!(
        "SELECT key, CASE WHEN octet_length(value) <= {value_bytes_max} THEN value END AS value FROM {rows} \
         WHERE {bounds} AND value IS NOT NULL ORDER BY key {order} LIMIT {rows_max}"
    )
}

/// Several such pages, each with its number.
fn pages(rows: &str, order: &str) -> String {
    let within = "key >= asked.low AND key < asked.high";
    let one = page(rows, within, order, ["asked.rows_max", "asked.value_bytes_max"]);
    format!(
        "SELECT asked.number, found.key, found.value \
         FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::integer[]) WITH ORDINALITY \
         AS asked(low, high, rows_max, value_bytes_max, number) CROSS JOIN LATERAL ({one}) AS found"
    )
}

/// Removes some rows. The inner statement is executed once, even if the planner knows nothing of the rows.
fn clear(rows: &str, bounds: &str, rows_max: &str) -> String {
    format!(
        "UPDATE {rows} SET value = NULL, changed = pg_current_xact_id() WHERE key = ANY (ARRAY( \
         SELECT key FROM {rows} WHERE {bounds} AND value IS NOT NULL ORDER BY key LIMIT {rows_max} \
         FOR UPDATE))"
    )
}

/// The prepared statements of one connection.
pub(crate) struct Statements {
    pub(crate) snapshot: Statement,
    pub(crate) begin_with: Statement,
    pub(crate) get: Statement,
    pub(crate) get_many: Statement,
    pub(crate) forward: Statement,
    pub(crate) forward_to_end: Statement,
    pub(crate) backward: Statement,
    pub(crate) backward_from_end: Statement,
    pub(crate) page_forward: Statement,
    pub(crate) page_backward: Statement,
    pub(crate) pages_forward: Statement,
    pub(crate) pages_backward: Statement,
    pub(crate) guard: Statement,
    pub(crate) guard_absent: Statement,
    pub(crate) write: Statement,
    pub(crate) append: Statement,
    pub(crate) status: Statement,
    pub(crate) settle: Statement,
    pub(crate) read_log: Statement,
    pub(crate) trim_log: Statement,
    pub(crate) clear: Statement,
    pub(crate) clear_to_end: Statement,
    pub(crate) sweep: Statement,
}

impl Statements {
    pub(crate) async fn prepare(wire: &Wire, schema: &str) -> Result<Self, tokio_postgres::Error> {
        let schema = quoted(schema);
        let rows = format!("{schema}.keywright_rows");
        // Rows up to the one that reaches a budget of bytes, and one more, which says that there are more.
        // Lengths of large values are known without reading them.
        let scan = |bounds: &str, order: &str, rows_max: &str, bytes_max: &str| {
            format!(
                "SELECT key, value FROM ( \
                     SELECT key, value, sum(octet_length(key) + octet_length(value)) OVER ( \
                         ORDER BY key {order} ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS before \
                     FROM {rows} WHERE {bounds} AND value IS NOT NULL ORDER BY key {order} LIMIT {rows_max} \
                 ) AS ahead WHERE before IS NULL OR before < {bytes_max} ORDER BY key {order}"
            )
        };
        let within = "key >= $1 AND key < $2";
        let texts = [
            "SELECT pg_current_snapshot()::text".to_owned(),
            // One row without a key, if no key is found.
            format!(
                "SELECT key, value, pg_current_snapshot()::text, pg_current_xact_id()::text FROM (VALUES (0)) AS one \
                 LEFT JOIN {rows} ON key = ANY($1) AND value IS NOT NULL"
            ),
            format!("SELECT value FROM {rows} WHERE key = $1 AND value IS NOT NULL"),
            format!("SELECT key, value FROM {rows} WHERE key = ANY($1) AND value IS NOT NULL"),
            scan(within, "ASC", "$3", "$4"),
            scan("key >= $1", "ASC", "$2", "$3"),
            scan(within, "DESC", "$3", "$4"),
            scan("key >= $1", "DESC", "$2", "$3"),
            page(&rows, within, "ASC", ["$3", "$4"]),
            page(&rows, within, "DESC", ["$3", "$4"]),
            pages(&rows, "ASC"),
            pages(&rows, "DESC"),
            format!("SELECT key FROM {rows} WHERE key = ANY($1) ORDER BY key FOR SHARE"),
            format!(
                "INSERT INTO {rows} SELECT k, NULL, pg_current_xact_id() FROM unnest($1::bytea[]) AS guard(k) \
                 WHERE NOT EXISTS (SELECT FROM {rows} WHERE key = k) ORDER BY k ON CONFLICT DO NOTHING"
            ),
            format!(
                "INSERT INTO {rows} SELECT k, v, pg_current_xact_id() \
                 FROM unnest($1::bytea[], $2::bytea[]) AS new(k, v) ORDER BY k \
                 ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, changed = EXCLUDED.changed"
            ),
            format!(
                "INSERT INTO {schema}.keywright_inbox SELECT l, s, pg_current_xact_id(), p, e \
                 FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::bytea[]) AS new(l, s, p, e)"
            ),
            "SELECT pg_xact_status($1::text::xid8)".to_owned(),
            format!("SELECT {schema}.keywright_settle($1, $2)"),
            format!(
                "SELECT version, place, entry, pg_visible_in_snapshot(origin, $5::text::pg_snapshot) FROM ( \
                     SELECT version, place, entry, origin, sum(octet_length(entry)) OVER ( \
                         ORDER BY version, place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before \
                     FROM {schema}.keywright_log WHERE log = $1 AND shard = $2 AND (version, place) > ($3, $4) \
                     ORDER BY version, place LIMIT $6 \
                 ) AS ahead WHERE before IS NULL OR before < $7 ORDER BY version, place"
            ),
            format!(
                "DELETE FROM {schema}.keywright_log WHERE log = $1 AND shard = $2 AND (version, place) <= ($3, $4)"
            ),
            clear(&rows, within, "$3"),
            clear(&rows, "key >= $1", "$2"),
            // `age` counts transactions; a view of a running transaction is as old as its `backend_xmin`.
            // Transactions in other databases of the server see none of these rows.
            format!(
                "DELETE FROM {rows} WHERE key = ANY (ARRAY(SELECT key FROM {rows} WHERE value IS NULL \
                 AND changed <= $2::text::xid8 AND age(changed::xid) > ( \
                 SELECT coalesce(max(age(backend_xmin)), 0) FROM pg_stat_activity WHERE datname = current_database()) \
                 ORDER BY changed LIMIT $1 FOR UPDATE SKIP LOCKED))"
            ),
        ];
        let prepared = texts.iter().map(|text| wire.client.prepare(text));
        let prepared = wire.ask(futures_util::future::try_join_all(prepared)).await?;
        let mut prepared = prepared.into_iter();
        let mut next = || prepared.next().expect("every field has its text");
        // In the order of the texts.
        let statements = Self {
            snapshot: next(),
            begin_with: next(),
            get: next(),
            get_many: next(),
            forward: next(),
            forward_to_end: next(),
            backward: next(),
            backward_from_end: next(),
            page_forward: next(),
            page_backward: next(),
            pages_forward: next(),
            pages_backward: next(),
            guard: next(),
            guard_absent: next(),
            write: next(),
            append: next(),
            status: next(),
            settle: next(),
            read_log: next(),
            trim_log: next(),
            clear: next(),
            clear_to_end: next(),
            sweep: next(),
        };
        assert!(prepared.next().is_none(), "every text has its field");
        Ok(statements)
    }
}
