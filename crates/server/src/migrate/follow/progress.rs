//! How far a follower has come, as it is kept: places in shards, places in segments of the Scan.

use std::collections::BTreeMap;

use keywright_model::json::Json;

use crate::process::failure::Failure;

/// How far one shard has been read and applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nothing of it; everything is to be read.
    Beginning,
    /// It was begun at its tip and has shown nothing since. Only the process that began it has that place.
    Tip,
    /// Up to the record with this number.
    After(String),
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
    pub(crate) segments: Vec<Segment>,
}

impl Progress {
    /// Nothing done, with so many segments.
    pub(crate) fn new(segments: usize) -> Self {
        let segment = Segment { items: 0, cursor: Cursor::Beginning };
        Self { shards: BTreeMap::new(), read_ms: 0, changes: 0, segments: vec![segment; segments] }
    }

    pub(crate) fn json(&self) -> Json {
        let shards = self.shards.iter().map(|(id, shard)| (id.as_str(), shard_json(shard)));
        let segments = self.segments.iter().map(|segment| {
            let cursor = match &segment.cursor {
                Cursor::Beginning => Json::Null,
                Cursor::After(key) => key.clone(),
                Cursor::End => Json::text("end"),
            };
            Json::object([("items", Json::number(segment.items)), ("after", cursor)])
        });
        Json::object([
            ("shards", Json::object(shards)),
            ("readMs", Json::number(self.read_ms)),
            ("changes", Json::number(self.changes)),
            ("segments", Json::List(segments.collect())),
        ])
    }

    /// Reads what `json` wrote.
    pub(crate) fn read(json: &Json) -> Result<Self, Failure> {
        let part = |name: &str| {
            let found = json.get(name);
            found.ok_or_else(|| Failure::new(format!("the state file lacks {name}: it is damaged")))
        };
        let number = |name: &str| part(name).map(|number| number.as_u64().unwrap_or_default());
        let shards = part("shards")?.members().iter().map(|(id, shard)| (id.clone(), read_shard(shard)));
        let segments = part("segments")?.elements().iter().map(|segment| Segment {
            items: segment.get("items").and_then(Json::as_u64).unwrap_or_default(),
            cursor: match segment.get("after") {
                None | Some(Json::Null) => Cursor::Beginning,
                Some(Json::Object(key)) => Cursor::After(Json::Object(key.clone())),
                Some(_) => Cursor::End,
            },
        });
        Ok(Self {
            shards: shards.collect(),
            read_ms: number("readMs")?,
            changes: number("changes")?,
            segments: segments.collect(),
        })
    }
}

fn shard_json(shard: &Shard) -> Json {
    let place = match &shard.place {
        Place::Beginning => Json::text("beginning"),
        Place::Tip => Json::text("tip"),
        Place::After(number) => Json::object([("after", Json::text(number))]),
        Place::End => Json::text("end"),
    };
    let parent = shard.parent.as_ref().map_or(Json::Null, Json::text);
    Json::object([("parent", parent), ("place", place)])
}

fn read_shard(json: &Json) -> Shard {
    let place = match json.get("place") {
        Some(place) => match (place.as_str(), place.str_at("after")) {
            (Some("end"), _) => Place::End,
            (Some("tip"), _) => Place::Tip,
            (_, Some(number)) => Place::After(number.to_owned()),
            // Nothing is lost by reading too much.
            _ => Place::Beginning,
        },
        None => Place::Beginning,
    };
    Shard { parent: json.str_at("parent").map(str::to_owned), place }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_progress_is_read_as_it_was_kept() {
        let shard = |parent: Option<&str>, place| Shard { parent: parent.map(str::to_owned), place };
        let key = Json::parse(r#"{"pk":{"S":"end"}}"#).unwrap();
        let progress = Progress {
            shards: BTreeMap::from([
                ("a".to_owned(), shard(None, Place::End)),
                ("b".to_owned(), shard(Some("a"), Place::After("7".to_owned()))),
                ("c".to_owned(), shard(Some("a"), Place::Tip)),
                ("d".to_owned(), shard(Some("b"), Place::Beginning)),
            ]),
            read_ms: 1_700_000_000_000,
            changes: 3,
            segments: vec![
                Segment { items: 0, cursor: Cursor::Beginning },
                Segment { items: 5, cursor: Cursor::After(key) },
                Segment { items: 9, cursor: Cursor::End },
            ],
        };
        let again = Progress::read(&Json::parse(&progress.json().compact()).unwrap());
        assert_eq!(again, Ok(progress));
        assert!(Progress::read(&Json::object([])).is_err());
    }
}
