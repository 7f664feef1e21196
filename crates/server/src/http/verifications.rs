//! The part of `POST /_keywright/global-tables` that compares a table with its replicas, and lets one that
//! was lost rejoin: what a request asks for, and a verification as JSON.
//!
//! It knows the form, for the server and for `keywright global verify`. The engine does the work.

use bytes::Bytes;
use keywright_engine::{
    HeldState, Rejoin, ReplicaDifference, UnsentItems, Verdict, Verification, VerifiedReplica,
};
use keywright_model::item_json::write_item;
use keywright_model::json::Json;
use keywright_semantics::codec::EncodedItem;

use super::hex::Hex;

/// The member of a request that names the table to be verified.
pub(crate) const BEGINS: &str = "verify";
/// The member that names the table whose verification is wanted.
pub(crate) const SHOWS: &str = "verification";
/// The member of a request that says whether differences are repaired.
pub(crate) const REPAIRS: &str = "repair";
/// The member of a request that names the table that rejoins.
const REJOINS: &str = "rejoin";
/// The member that says whether it keeps what it wrote alone.
const KEEPS: &str = "keep";
/// The member that says since when it keeps what it writes, and that pages of its own later items have.
pub(crate) const SINCE: &str = "since";
/// The member of a request that names the table whose own later items are wanted.
pub(crate) const UNSENT: &str = "unsent";
/// The member that has the place of the next page, in requests and answers.
pub(crate) const FROM: &str = "from";
/// The member that says that a table is strongly consistent, and its value then.
pub(crate) const CONSISTENCY: &str = "consistency";
pub(crate) const STRONG: &str = "STRONG";
/// Items of one response, in bytes; the last may go beyond. Further differences are left out.
const KEYS_BYTES_MAX: usize = 1024 * 1024;

/// Said of a table that was not verified.
pub(super) fn unknown(table: &str) -> String {
    format!(
        "The table {table} was not verified since the server started: begin with {{\"verify\": \"{table}\"}}"
    )
}

/// Said of a table that asks to rejoin.
pub(super) fn not_lost(table: &str) -> String {
    format!("The table {table} is lost to no other replica")
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish<'b> {
    Begin { table: &'b str, repairs: bool },
    Show { table: &'b str },
    Rejoin { table: &'b str, how: Rejoin },
    Unsent { table: &'b str, from: Option<Bytes> },
}

/// Reads a request's body; `None` if it asks for something else, or is wrong.
pub(super) fn read(body: &Json) -> Option<Wish<'_>> {
    let count = body.members().len();
    if let Some(table) = body.str_at(REJOINS) {
        let how = match (body.get(KEEPS).and_then(Json::as_bool)?, body.get(SINCE), count) {
            (true, None, 2) => Rejoin::Keep,
            (false, None, 2) => Rejoin::Discard { since_ms: None },
            (false, Some(since), 3) => Rejoin::Discard { since_ms: Some(since.as_u64()?) },
            _ => return None,
        };
        return Some(Wish::Rejoin { table, how });
    }
    if let (Some(table), 1..=2) = (body.str_at(UNSENT), count) {
        let from = match body.get(FROM) {
            None if count == 1 => None,
            from => Some(Hex::try_from(from?.as_str()?.to_owned()).ok()?.0),
        };
        return Some(Wish::Unsent { table, from });
    }
    match (body.str_at(BEGINS), body.str_at(SHOWS), count) {
        (Some(table), None, 1) => Some(Wish::Begin { table, repairs: false }),
        (Some(table), None, 2) => {
            Some(Wish::Begin { table, repairs: body.get(REPAIRS).and_then(Json::as_bool)? })
        }
        (None, Some(table), 1) => Some(Wish::Show { table }),
        _ => None,
    }
}

/// The body of a request that begins a verification.
pub(crate) fn request(table: &str, repairs: bool) -> Json {
    Json::object([(BEGINS, Json::text(table)), (REPAIRS, Json::Bool(repairs))])
}

/// The body of a request that lets a table rejoin.
pub(crate) fn rejoin(table: &str, how: Rejoin) -> Json {
    let keeps = how == Rejoin::Keep;
    let mut body = Json::object([(REJOINS, Json::text(table)), (KEEPS, Json::Bool(keeps))]);
    if let Rejoin::Discard { since_ms: Some(since_ms) } = how {
        body.set(SINCE, Json::number(since_ms));
    }
    body
}

/// A page of items that a table has later than the members that it is lost to.
pub(super) fn unsent(page: &UnsentItems) -> Json {
    let items = page.items.iter().map(|item| write_item(&item.decode(), &[])).collect();
    let mut shown = Json::object([("items", Json::List(items)), (SINCE, Json::number(page.since_ms))]);
    if let Some(next) = &page.next {
        shown.set(FROM, Json::text(String::from(Hex(next.clone()))));
    }
    shown
}

/// A verification; times are milliseconds.
pub(super) fn shown(verification: &Verification) -> Json {
    let mut shown = Json::object([
        ("table", Json::text(&verification.table)),
        ("region", Json::text(&verification.region)),
        ("verdict", Json::text(word(verification.verdict()))),
        ("repairs", Json::Bool(verification.repairs)),
        ("begun", Json::number(verification.begun_ms)),
    ]);
    if let Some(ended_ms) = verification.ended_ms {
        shown.set("ended", Json::number(ended_ms));
    }
    if verification.is_strong {
        shown.set(CONSISTENCY, Json::text(STRONG));
    }
    shown.set("replicas", Json::List(verification.replicas.iter().map(replica).collect()));
    let mut bytes = 0;
    let within = |difference: &&ReplicaDifference| {
        let fits = bytes < KEYS_BYTES_MAX;
        bytes += difference.key.as_ref().map_or(0, EncodedItem::size_bytes);
        fits
    };
    let differences = verification.differences.iter().take_while(within).map(difference);
    shown.set("differences", Json::List(differences.collect()));
    shown
}

/// A verdict in a word.
pub(crate) const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Running => "running",
        Verdict::Equal => "equal",
        Verdict::Repaired => "repaired",
        Verdict::Undecided => "undecided",
        Verdict::Differs => "differs",
    }
}

fn replica(replica: &VerifiedReplica) -> Json {
    let mut shown = Json::object([
        ("region", Json::text(&replica.region)),
        ("items", Json::number(replica.items)),
        ("deleted", Json::number(replica.deleted)),
        ("differences", Json::number(replica.differences)),
        ("repaired", Json::number(replica.repaired)),
        ("undecided", Json::number(replica.undecided)),
        ("gone", Json::Bool(replica.is_gone)),
        ("lost", Json::Bool(replica.is_lost)),
    ]);
    if let Some(why) = &replica.unreached {
        shown.set("unreached", Json::text(why));
    }
    shown
}

fn difference(difference: &ReplicaDifference) -> Json {
    let key = difference.key.as_ref();
    Json::object([
        ("region", Json::text(&difference.region)),
        ("key", key.map_or(Json::Null, |key| write_item(&key.decode(), &[]))),
        ("here", held(&difference.here)),
        ("there", held(&difference.there)),
        ("repaired", Json::Bool(difference.is_repaired)),
    ])
}

fn held(held: &HeldState) -> Json {
    let of = |has: &str, region: &str, at_ms: u64| {
        let parts = [("has", Json::text(has)), ("region", Json::text(region)), ("at", Json::number(at_ms))];
        Json::object(parts)
    };
    match held {
        HeldState::Nothing => Json::object([("has", Json::text("nothing"))]),
        HeldState::Item(region, at_ms) => of("item", region, *at_ms),
        HeldState::Deleted(region, at_ms) => of("deletion", region, *at_ms),
        HeldState::Damaged => Json::object([("has", Json::text("damaged rows"))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_begins_a_verification_or_asks_for_it() {
        let of = |text: &str| {
            let body = Json::parse(text).expect("JSON");
            read(&body).map(|wish| format!("{wish:?}"))
        };
        let begin = |repairs| Some(format!("{:?}", Wish::Begin { table: "T", repairs }));
        assert_eq!(of(r#"{"verify": "T"}"#), begin(false));
        assert_eq!(of(r#"{"verify": "T", "repair": true}"#), begin(true));
        assert_eq!(of(&request("T", true).compact()), begin(true));
        assert_eq!(of(r#"{"verification": "T"}"#), Some(format!("{:?}", Wish::Show { table: "T" })));
        for other in [r#"{"verify": "T", "repair": 1}"#, r#"{"verify": "T", "verification": "T"}"#, "{}"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn a_body_lets_a_table_rejoin_with_what_it_wrote_or_with_what_it_writes_since_a_time() {
        for how in [Rejoin::Keep, Rejoin::Discard { since_ms: None }, Rejoin::Discard { since_ms: Some(7) }] {
            assert_eq!(read(&rejoin("T", how)), Some(Wish::Rejoin { table: "T", how }));
        }
        for other in [r#"{"rejoin": "T"}"#, r#"{"rejoin": "T", "keep": true, "since": 7}"#] {
            assert_eq!(read(&Json::parse(other).expect("JSON")), None, "{other}");
        }
    }
}
