//! All that is under way between two tables, with the places in both streams: what the state file holds.
//!
//! It is written before anything that it says is written to either table. So after a kill nothing was done
//! that it does not say, and what it says may have been done or not: [`recover`](super::recover) finds out.

use std::collections::BTreeMap;

use keywright_exchange::table_key::key_text;
use keywright_model::json::Json;
use keywright_semantics::schema::KeyAttribute;
use keywright_semantics::value::Item;

use super::super::follow::Record;
use super::super::follow::progress::Progress;
use super::entry::{Entry, Flight, Image, Recheck, Unsent};
use super::marker::{State, bare};
use crate::process::failure::Failure;

/// While changes of so many items are on their way to the first table, the second stream is not read. While
/// the records of writes to so many items of the second table are awaited, the first one is not.
const OPEN_MAX: usize = 2_000;

/// Items that are looked at again in one round.
const RECHECKS_MAX: usize = 100;

/// All that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Book {
    /// What the second table's stream is.
    pub(super) second_stream: String,
    /// How far each stream has been read.
    pub(super) first: Progress,
    pub(super) second: Progress,
    /// What all ids begin with, other than those of another bridge ([`rival`](super::rival)).
    pub(super) origin: u64,
    /// Changes that were sent, for ids.
    sent: u64,
    pub(super) arrived: u64,
    pub(super) entries: BTreeMap<String, Entry>,
}

/// A change that is to be sent to the first table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    pub(super) id: String,
    pub(super) key: Item,
    pub(super) image: Image,
    pub(super) is_expiry: bool,
}

/// Records of the first table about one item, which are to be written to the second one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Incoming {
    pub(super) key: Item,
    /// The states before each of the records.
    pub(super) before: Vec<State>,
    pub(super) image: Option<Item>,
}

/// What is to be looked at again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) text: String,
    pub(super) key: Item,
    /// What the second table had, if every change until then is known.
    pub(super) seen: Option<State>,
}

/// Which streams may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MayRead {
    pub(super) first: bool,
    pub(super) second: bool,
}

impl Book {
    /// Nothing under way.
    pub(super) fn new(second_stream: String, first: Progress, second: Progress, origin: u64) -> Self {
        Self { second_stream, first, second, origin, sent: 0, arrived: 0, entries: BTreeMap::new() }
    }

    pub(crate) fn second_stream(&self) -> &str {
        &self.second_stream
    }

    pub(super) const fn sent(&self) -> u64 {
        self.sent
    }

    /// Reading goes on where it resolves what is under way. If both tables have as much open as they may, the
    /// second stream is read on, as it alone can lead out.
    pub(super) fn may_read(&self) -> MayRead {
        let count = |is_so: fn(&Entry) -> bool| self.entries.values().filter(|entry| is_so(entry)).count();
        let first = count(|entry| !entry.own.is_empty()) < OPEN_MAX;
        let second = count(|entry| entry.unsent.is_some() || entry.flight.is_some()) < OPEN_MAX;
        MayRead { first, second: second || !first }
    }

    pub(super) fn entry(&mut self, text: String, key: &Item) -> &mut Entry {
        self.entries.entry(text).or_insert_with(|| Entry::new(key.clone()))
    }

    pub(super) fn note_second(&mut self, keys: &[KeyAttribute], records: Vec<Record>) {
        for record in records {
            let key = record.change.key.clone();
            self.entry(key_text(keys, &key), &key).note_second(record);
        }
    }

    /// Notes records of the first table. Returns those that are to be written to the second one, by key.
    pub(super) fn note_first(
        &mut self,
        keys: &[KeyAttribute],
        records: Vec<Record>,
    ) -> BTreeMap<String, Incoming> {
        let mut all = BTreeMap::new();
        for record in records {
            let text = key_text(keys, &record.change.key);
            if self.entries.get_mut(&text).is_some_and(|entry| !entry.note_first(&record)) {
                continue;
            }
            let before = State::of(record.before.as_ref());
            let image = record.change.image.map(bare);
            let incoming = all.entry(text).or_insert_with(|| Incoming {
                key: record.change.key,
                before: Vec::new(),
                image: None,
            });
            incoming.before.push(before);
            incoming.image = image;
        }
        all
    }

    /// Everything that can be sent now. From here on it is under way. A change waits while the record of a
    /// write to the item in the second table is awaited: if that write replaced the change, it is obsolete.
    pub(super) fn depart(&mut self) -> Vec<(String, Departure)> {
        let mut sends = Vec::new();
        for (text, entry) in &mut self.entries {
            if entry.flight.is_some() || !entry.own.is_empty() {
                continue;
            }
            let Some(Unsent { state, image, is_expiry }) = entry.unsent.take() else { continue };
            self.sent += 1;
            let id = format!("{:x}.{}", self.origin, self.sent);
            entry.flight = Some(Flight { id: id.clone(), state, attempt: None, is_expiry });
            sends.push((text.clone(), Departure { id, key: entry.key.clone(), image, is_expiry }));
        }
        sends
    }

    /// Items to look at again, after a round that may have been near the end of the second stream. After so
    /// many rounds near it, every change that an earlier read of an item has shown is known.
    pub(super) fn rechecks(&mut self, is_near: bool, last_rounds: u32) -> Vec<Look> {
        let mut looks = Vec::new();
        for (text, entry) in self.entries.iter_mut().filter(|(_, entry)| entry.is_idle()) {
            let seen = match &mut entry.recheck {
                Recheck::No => continue,
                Recheck::Due => None,
                Recheck::Seen(state, rounds) => {
                    *rounds += u32::from(is_near);
                    if *rounds < last_rounds {
                        continue;
                    }
                    Some(state.clone())
                }
            };
            if looks.len() < RECHECKS_MAX {
                looks.push(Look { text: text.clone(), key: entry.key.clone(), seen });
            }
        }
        looks
    }

    /// Whether an item waits until its second look.
    pub(super) fn awaits_look(&self) -> bool {
        self.entries.values().any(|entry| entry.is_idle() && matches!(entry.recheck, Recheck::Seen(..)))
    }

    /// Forgets items of which nothing is under way.
    pub(super) fn prune(&mut self) {
        self.entries.retain(|_, entry| !entry.is_empty());
    }

    pub(crate) fn json(&self) -> Json {
        Json::object([
            ("stream", Json::text(&self.second_stream)),
            ("first", self.first.json()),
            ("second", self.second.json()),
            ("origin", Json::number(self.origin)),
            ("sent", Json::number(self.sent)),
            ("taken", Json::number(self.arrived)),
            ("items", Json::List(self.entries.values().map(Entry::json).collect())),
        ])
    }

    /// Reads what `json` wrote.
    pub(crate) fn read(keys: &[KeyAttribute], json: &Json) -> Result<Self, Failure> {
        let damaged = || Failure::new("the state file is damaged: it does not say what is under way");
        let number = |name: &str| json.get(name).and_then(Json::as_u64).ok_or_else(damaged);
        let part = |name: &str| json.get(name).ok_or_else(damaged);
        let mut own = Self::new(
            json.str_at("stream").ok_or_else(damaged)?.to_owned(),
            Progress::read(part("first")?)?,
            Progress::read(part("second")?)?,
            number("origin")?,
        );
        (own.sent, own.arrived) = (number("sent")?, number("taken")?);
        for entry in part("items")?.elements() {
            let entry = Entry::read(entry).ok_or_else(damaged)?;
            own.entries.insert(key_text(keys, &entry.key), entry);
        }
        Ok(own)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::writes::Change;
    use super::super::entry::Own;
    use super::*;
    use keywright_semantics::schema::KeyType;
    use keywright_semantics::value::AttributeValue;

    fn keys() -> Vec<KeyAttribute> {
        vec![KeyAttribute { name: "pk".to_owned(), key_type: KeyType::S }]
    }

    fn item(key: &str, value: &str) -> Item {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        Item::from([("pk".to_owned(), text(key)), ("t".to_owned(), text(value))])
    }

    fn put(key: &str, (before, value): (Option<&str>, &str)) -> Record {
        let mut of_key = item(key, "");
        of_key.remove("t");
        Record {
            change: Change { key: of_key, image: Some(item(key, value)) },
            before: before.map(|before| item(key, before)),
            number: "1".to_owned(),
            made_ms: None,
            is_expiry: false,
        }
    }

    fn book() -> Book {
        Book::new("arn".to_owned(), Progress::new(0), Progress::new(0), 10)
    }

    #[test]
    fn the_last_of_several_changes_departs_once_and_alone() {
        let mut own = book();
        own.note_second(&keys(), vec![put("k", (None, "1")), put("k", (Some("1"), "2"))]);
        let departed = own.depart();
        let [(_, send)] = departed.as_slice() else { panic!("{departed:?}") };
        assert_eq!((send.id.as_str(), &send.image), ("a.1", &Image::Put(item("k", "2"))));
        own.note_second(&keys(), vec![put("k", (Some("2"), "3"))]);
        assert_eq!(own.depart(), [], "one change of an item is under way at a time");
        let again = Book::read(&keys(), &Json::parse(&own.json().compact()).unwrap()).unwrap();
        assert_eq!((again.json(), again.sent()), (own.json(), 1));
    }

    #[test]
    fn a_change_that_an_own_write_may_have_replaced_waits_until_that_is_seen() {
        let mut own = book();
        let state = |value: &str| State::of(Some(&item("k", value)));
        let change = put("k", (Some("1"), "2"));
        let text = key_text(&keys(), &change.change.key);
        let key = change.change.key.clone();
        own.entry(text.clone(), &key).own.push_back(Own { before: state("2"), after: state("9") });
        own.note_second(&keys(), vec![change]);
        assert_eq!(own.depart(), []);
        own.note_second(&keys(), vec![put("k", (Some("2"), "9"))]);
        assert_eq!(own.depart(), [], "the first table's change came later");
        assert_eq!(own.rechecks(true, 3).len(), 1);
        own.note_second(&keys(), vec![put("k", (Some("9"), "3"))]);
        assert_eq!(own.depart().len(), 1);
    }

    #[test]
    fn an_item_is_looked_at_again_once_its_stream_was_read_near_its_end_so_often() {
        let mut own = book();
        let key = put("k", (None, "1")).change.key;
        own.entry(key_text(&keys(), &key), &key).recheck = Recheck::Seen(State::of(None), 0);
        assert!(own.awaits_look());
        for round in 1..=20 {
            assert_eq!(own.rechecks(false, 20), [], "a round far from the end does not count");
            assert_eq!(own.rechecks(true, 20).len(), usize::from(round == 20), "{round}");
        }
    }

    #[test]
    fn records_of_the_first_table_are_joined_by_item_and_left_out_while_a_change_is_on_its_way() {
        let mut own = book();
        own.note_second(&keys(), vec![put("busy", (None, "1"))]);
        let records =
            vec![put("k", (Some("1"), "2")), put("busy", (Some("5"), "6")), put("k", (Some("2"), "3"))];
        let all: Vec<Incoming> = own.note_first(&keys(), records).into_values().collect();
        let [incoming] = all.as_slice() else { panic!("{all:?}") };
        let states = ["1", "2"].map(|value| State::of(Some(&item("k", value))));
        assert_eq!((incoming.before.as_slice(), &incoming.image), (&states[..], &Some(item("k", "3"))));
    }

    #[test]
    fn a_stream_rests_while_the_other_one_has_much_to_resolve() {
        let mut own = book();
        for number in 0..OPEN_MAX {
            own.note_second(&keys(), vec![put(&number.to_string(), (None, "1"))]);
        }
        assert_eq!(own.may_read(), MayRead { first: true, second: false });
        for number in 0..OPEN_MAX {
            let key = put(&format!("own{number}"), (None, "1")).change.key;
            let written = Own { before: State::of(None), after: State::of(Some(&key)) };
            own.entry(key_text(&keys(), &key), &key).own.push_back(written);
        }
        assert_eq!(own.may_read(), MayRead { first: false, second: true }, "one of them goes on");
    }
}
