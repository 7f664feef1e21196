//! Damaged places of a data folder, for people and for programs, with the tables whose rows they hold.
//!
//! It does not know how they were found: by the scrub of a running server, or by `keywright verify`.

use keywright_engine::{Affected, KeyMap};
use keywright_store_local::{Damage, DamagedPart, Holds};
use serde_json::{Value, json};

/// Affected rows that a log line names; the command names all.
const IN_A_LINE_MAX: usize = 4;

/// The rows that a place holds, or may hold; `None` for any row.
pub(crate) fn affected(map: &KeyMap, holds: &Holds) -> Option<Vec<Affected>> {
    match holds {
        Holds::Everything => None,
        Holds::Between(span) => {
            let rows = span.rows.as_ref().map(|rows| map.affected(rows));
            let streams = span.logs.map(|logs| map.affected_streams(logs));
            Some(rows.into_iter().chain(streams).flatten().collect())
        }
        Holds::Keys { rows, logs } => {
            let streams = logs.iter().flat_map(|log| map.affected_streams((Some(*log), Some(*log))));
            Some(map.affected_by_keys(rows.iter()).into_iter().chain(streams).collect())
        }
    }
}

/// What the damage of a part means for the rows that it concerns.
pub(crate) const fn consequence(part: DamagedPart) -> &'static str {
    match part {
        DamagedPart::Rows => "may be lost",
        DamagedPart::Index | DamagedPart::Filter => "are whole, but reads of them fail",
        DamagedPart::Frame => "cannot be read",
        DamagedPart::TableList => "cannot be found",
        DamagedPart::Journal => "may lack their newest writes",
        DamagedPart::Watermark => "are whole, but a loss of newer writes would not be noticed",
        DamagedPart::Format => "are whole, but the folder does not open",
    }
}

/// The affected rows as one line.
pub(crate) fn line(map: &KeyMap, damage: &Damage) -> String {
    let rows = match affected(map, &damage.holds) {
        None => "all rows".to_owned(),
        Some(affected) if affected.is_empty() => "rows of the store itself".to_owned(),
        Some(affected) => {
            let mut texts: Vec<String> =
                affected.iter().take(IN_A_LINE_MAX).map(ToString::to_string).collect();
            match affected.len().saturating_sub(IN_A_LINE_MAX) {
                0 => {}
                more => texts.push(format!("{more} more kinds of rows")),
            }
            texts.join("; ")
        }
    };
    format!("{damage}; {}: {rows}", consequence(damage.part))
}

/// A place as text of several lines.
pub(crate) fn text(map: &KeyMap, damage: &Damage) -> String {
    let mut lines = vec![damage.to_string()];
    let head = format!("  these rows {}:", consequence(damage.part));
    match affected(map, &damage.holds) {
        None => lines.push(format!("{head} all")),
        Some(affected) if affected.is_empty() => lines.push(format!("{head} rows of the store itself")),
        Some(affected) => {
            lines.push(head);
            lines.extend(affected.iter().map(|one| format!("    {one}")));
        }
    }
    lines.join("\n")
}

/// A place for programs. `affected` is null where any row may be affected.
pub(crate) fn json(map: &KeyMap, damage: &Damage) -> Value {
    let one = |one: &Affected| {
        let table = one.table.as_ref();
        let name = table.and_then(|table| table.name.as_ref());
        json!({
            "what": one.what,
            "tableNumber": table.map(|table| table.number),
            "account": name.map(|(account, _, _)| account),
            "region": name.map(|(_, region, _)| region),
            "table": name.map(|(_, _, table)| table),
            "index": one.index,
            "after": one.after,
            "through": one.through,
            "keys": one.keys,
        })
    };
    json!({
        "file": damage.file.display().to_string(),
        "part": damage.part.name(),
        "offset": damage.offset,
        "bytes": damage.bytes,
        "detail": damage.detail,
        "consequence": consequence(damage.part),
        "affected": affected(map, &damage.holds).map(|all| all.iter().map(one).collect::<Vec<_>>()),
    })
}
