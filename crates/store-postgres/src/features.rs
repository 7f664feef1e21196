//! What a server must be able to do. Other servers that speak PostgreSQL's protocol lack some of it, and say
//! so with the first statement that needs it: better at the start than in the middle of a write.

use tokio_postgres::{Client, Error, SimpleQueryMessage};

use crate::fault;

/// A feature, and a query that returns `t` where it is there. Each is a transaction of its own and changes
/// nothing.
const NEEDED: [(&str, &str); 9] = [
    ("snapshots as text (pg_current_snapshot)", "SELECT pg_current_snapshot()::text LIKE '%:%:%'"),
    (
        "transaction ids of 64 bits (xid8, pg_current_xact_id)",
        "SELECT pg_current_xact_id()::text::xid8 > '0'::xid8",
    ),
    (
        "outcomes of transactions (pg_xact_status)",
        "SELECT pg_xact_status(pg_current_xact_id()) = 'in progress'",
    ),
    (
        "visibility of transactions (pg_visible_in_snapshot)",
        "SELECT NOT pg_visible_in_snapshot(pg_current_xact_id(), pg_current_snapshot())",
    ),
    ("ages of transaction ids (age)", "SELECT age(pg_current_xact_id()::xid) >= 0"),
    ("advisory locks (pg_advisory_xact_lock)", "SELECT pg_try_advisory_xact_lock(0) IS NOT NULL"),
    (
        "bytea in the order of its bytes",
        r"SELECT '\x'::bytea < '\x00' AND '\x61'::bytea < '\x6100' AND '\x7f'::bytea < '\x80'",
    ),
    ("the language plpgsql", "SELECT count(*) = 1 FROM pg_language WHERE lanname = 'plpgsql'"),
    // Others raise it to SERIALIZABLE, where readers wait for writers or conflict with them.
    (
        "REPEATABLE READ as one snapshot",
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT current_setting('transaction_isolation') = 'repeatable read'; ROLLBACK",
    ),
];

/// The needed features that are not there.
pub(crate) async fn lacking(client: &Client) -> Result<Vec<&'static str>, Error> {
    let mut lacking = Vec::new();
    for (feature, query) in NEEDED {
        let has = match client.simple_query(query).await {
            Ok(answer) => text(&answer).is_some_and(|value| value == "t"),
            Err(error) if fault::is_of_server(&error) => return Err(error),
            Err(_refused) => {
                client.simple_query("ROLLBACK").await?;
                false
            }
        };
        if !has {
            lacking.push(feature);
        }
    }
    Ok(lacking)
}

/// What the server calls itself.
pub(crate) async fn server(client: &Client) -> String {
    let answer = client.simple_query("SELECT version()").await.unwrap_or_default();
    let name = text(&answer).and_then(|name| name.split(" on ").next()).unwrap_or("the server");
    name.to_owned()
}

fn text(answer: &[SimpleQueryMessage]) -> Option<&str> {
    answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    })
}
