//! How far a follower has come, as it is kept: places in shards, places in segments of the Scan.

use std::collections::BTreeMap;

use keywright_model::json::Json;

use crate::process::failure::Failure;

/// The last record of a shard that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) number: String,
    /// When it was made, by the source's clock: a source that was restored from an older copy gives the
    /// number to another record. Unknown in a state of an earlier release.
    pub(crate) made_ms: Option<u64>,
}

/// How far one shard has been read and applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nothing of it; everything is to be read, from this number on if the source names it.
    Beginning(Option<String>),
    /// It was begun at its tip and has shown nothing since. Only the process that began it knows where that
    /// was; another one reads it from the oldest record that is there.
    Tip,
    /// Up to this record.
    After(Mark),
    /// Up to this record, all of them older than the time that the follower begins with.
    Older(Mark),
    /// All of it, or all of it came before the Scan.
    End,
}

/// A shard that is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) parent: Option<String>,
    pub(crate) place: Place,
}

/// How far one segment of the Scan has been copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The items that were read.
    pub(crate) items: u64,
    pub(crate) cursor: Cursor,
}

/// Where the next page of a segment begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cursor {
    Beginning,
    /// After the item with this key.
    After(Json),
    End,
}

impl Segment {
    pub(crate) const fn is_done(&self) -> bool {
        matches!(self.cursor, Cursor::End)
    }
}

/// The progress of a follower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// By the shards' ids. Empty until the positions are noted.
    pub(crate) shards: BTreeMap<String, Shard>,
    /// When every place was last known to be readable, by this machine's clock.
    pub(crate) read_ms: u64,
    /// Records that were applied; those that came twice are counted twice.
    pub(crate) changes: u64,
    /// How many of them are deletes by time to live.
    pub(crate) expiries: u64,
    /// Without a Scan: the time by the source's clock from which on records are applied.
    pub(crate) from_ms: Option<u64>,
    pub(crate) segments: Vec<Segment>,
    /// Segments of the target, whose items that the source does not have are removed. None if the target was
    /// empty at the beginning.
    pub(crate) sweep: Vec<Segment>,
}

impl Progress {
    /// Nothing done, with so many segments. The target is empty.
    pub(crate) fn new(segments: usize) -> Self {
        let segment = Segment { items: 0, cursor: Cursor::Beginning };
        Self {
            shards: BTreeMap::new(),
            read_ms: 0,
            changes: 0,
            expiries: 0,
            from_ms: None,
            segments: vec![segment; segments],
            sweep: Vec::new(),
        }
    }

    /// Nothing done, and the target may have any items.
    pub(crate) fn onto_items(segments: usize) -> Self {
        let new = Self::new(segments);
        Self { sweep: new.segments.clone(), ..new }
    }

    /// The target has the source's items as of a time: nothing is copied, and records from then on are
    /// applied.
    pub(crate) fn from_time(from_ms: u64) -> Self {
        Self { from_ms: Some(from_ms), ..Self::new(0) }
    }

    /// Whether the target may have had items at the beginning.
    pub(super) const fn is_onto_items(&self) -> bool {
        !self.sweep.is_empty()
    }

    pub(crate) fn json(&self) -> Json {
        let shards = self.shards.iter().map(|(id, shard)| (id.as_str(), shard_json(shard)));
        let mut json = Json::object([
            ("shards", Json::object(shards)),
            ("readMs", Json::number(self.read_ms)),
            ("changes", Json::number(self.changes)),
            ("expiries", Json::number(self.expiries)),
            ("segments", segments_json(&self.segments)),
        ]);
        if self.is_onto_items() {
            json.set("sweep", segments_json(&self.sweep));
        }
        if let Some(from_ms) = self.from_ms {
            json.set("fromMs", Json::number(from_ms));
        }
        json
    }

    /// Reads what `json` wrote.
    pub(crate) fn read(json: &Json) -> Result<Self, Failure> {
        let part = |name: &str| {
            let found = json.get(name);
            found.ok_or_else(|| Failure::new(format!("the state file lacks {name}: it is damaged")))
        };
        let number = |name: &str| part(name).map(|number| number.as_u64().unwrap_or_default());
        let shards = part("shards")?.members().iter().map(|(id, shard)| (id.clone(), read_shard(shard)));
        Ok(Self {
            shards: shards.collect(),
            read_ms: number("readMs")?,
            changes: number("changes")?,
            // A release before this one did not count them.
            expiries: json.get("expiries").and_then(Json::as_u64).unwrap_or_default(),
            from_ms: json.get("fromMs").and_then(Json::as_u64),
            segments: read_segments(part("segments")?),
            sweep: json.get("sweep").map(read_segments).unwrap_or_default(),
        })
    }
}

fn segments_json(segments: &[Segment]) -> Json {
    let segments = segments.iter().map(|segment| {
        let cursor = match &segment.cursor {
            Cursor::Beginning => Json::Null,
            Cursor::After(key) => key.clone(),
            Cursor::End => Json::text("end"),
        };
        Json::object([("items", Json::number(segment.items)), ("after", cursor)])
    });
    Json::List(segments.collect())
}

fn read_segments(json: &Json) -> Vec<Segment> {
    let segment = |segment: &Json| Segment {
        items: segment.get("items").and_then(Json::as_u64).unwrap_or_default(),
        cursor: match segment.get("after") {
            None | Some(Json::Null) => Cursor::Beginning,
            Some(Json::Object(key)) => Cursor::After(Json::Object(key.clone())),
            Some(_) => Cursor::End,
        },
    };
    json.elements().iter().map(segment).collect()
}

fn shard_json(shard: &Shard) -> Json {
    let place = match &shard.place {
        Place::Beginning(None) => Json::text("beginning"),
        Place::Beginning(Some(first)) => Json::object([("from", Json::text(first))]),
        Place::Tip => Json::text("tip"),
        Place::After(mark) => mark_json("after", mark),
        Place::Older(mark) => mark_json("older", mark),
        Place::End => Json::text("end"),
    };
    let parent = shard.parent.as_ref().map_or(Json::Null, Json::text);
    Json::object([("parent", parent), ("place", place)])
}

fn mark_json(name: &str, mark: &Mark) -> Json {
    let mut json = Json::object([(name, Json::text(&mark.number))]);
    if let Some(made_ms) = mark.made_ms {
        json.set("madeMs", Json::number(made_ms));
    }
    json
}

fn read_shard(json: &Json) -> Shard {
    let place = json.get("place");
    let number = |name: &str| place.and_then(|place| place.str_at(name)).map(str::to_owned);
    let made_ms = place.and_then(|place| place.get("madeMs")).and_then(Json::as_u64);
    let mark = |name: &str| number(name).map(|number| Mark { number, made_ms });
    let place = match (place.and_then(Json::as_str), mark("after"), mark("older")) {
        (Some("end"), ..) => Place::End,
        (Some("tip"), ..) => Place::Tip,
        (_, Some(after), _) => Place::After(after),
        (.., Some(older)) => Place::Older(older),
        // Nothing is lost by reading too much.
        _ => Place::Beginning(number("from")),
    };
    Shard { parent: json.str_at("parent").map(str::to_owned), place }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_progress_is_read_as_it_was_kept() {
        let shard = |parent: Option<&str>, place| Shard { parent: parent.map(str::to_owned), place };
        let mark = |number: &str, made_ms| Mark { number: number.to_owned(), made_ms };
        let key = Json::parse(r#"{"pk":{"S":"end"}}"#).unwrap();
        let progress = Progress {
            shards: BTreeMap::from([
                ("a".to_owned(), shard(None, Place::End)),
                ("b".to_owned(), shard(Some("a"), Place::After(mark("7", Some(1_700_000_000_250))))),
                ("c".to_owned(), shard(Some("a"), Place::Tip)),
                ("d".to_owned(), shard(Some("b"), Place::Beginning(None))),
                ("f".to_owned(), shard(Some("b"), Place::Beginning(Some("8".to_owned())))),
                ("e".to_owned(), shard(None, Place::Older(mark("5", None)))),
            ]),
            read_ms: 1_700_000_000_000,
            changes: 3,
            expiries: 1,
            from_ms: None,
            segments: vec![
                Segment { items: 0, cursor: Cursor::Beginning },
                Segment { items: 5, cursor: Cursor::After(key) },
                Segment { items: 9, cursor: Cursor::End },
            ],
            sweep: Vec::new(),
        };
        let again = |progress: &Progress| Progress::read(&Json::parse(&progress.json().compact()).unwrap());
        assert_eq!(again(&progress), Ok(progress.clone()));
        let onto = Progress { sweep: progress.segments.clone(), ..progress };
        assert_eq!(again(&onto), Ok(onto));
        let from = Progress::from_time(1_700_000_000_000);
        assert_eq!(again(&from), Ok(from));
        assert!(Progress::read(&Json::object([])).is_err());
    }
}
