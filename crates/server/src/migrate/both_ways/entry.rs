//! What is under way for one item, and how it changes with each record of either stream.
//!
//! An item for which nothing is under way has no entry.

use std::collections::VecDeque;

use keywright_model::item_json::{read_item, write_item};
use keywright_model::json::Json;
use keywright_semantics::value::Item;

use super::super::follow::Record;
use super::marker::{State, id_of};

/// Writes to one item of the second table whose records may be awaited at once.
const OWN_MAX: usize = 16;

/// A change of the second table that was not sent yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unsent {
    pub(super) state: State,
    /// Unknown after a restart, until it is read.
    pub(super) image: Image,
    /// Whether time to live deleted the item.
    pub(super) is_expiry: bool,
}

/// The item after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Image {
    Put(Item),
    /// With the item before it.
    Delete(Option<Item>),
    Unknown,
}

/// A change of the second table that was sent, and whose echo has not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flight {
    /// The marker; a delete has it with its attempt, after a dot.
    pub(super) id: String,
    pub(super) state: State,
    /// Of a delete, the attempt that was the last one, once it is known.
    pub(super) attempt: Option<u32>,
    pub(super) is_expiry: bool,
}

impl Flight {
    /// The marker of an attempt of a delete.
    pub(super) fn attempt_id(id: &str, attempt: u32) -> String {
        format!("{id}.{attempt}")
    }

    /// Whether a record of the first table is what was sent.
    pub(super) fn is_echo(&self, record: &Record) -> bool {
        if record.change.image.is_some() {
            return id_of(record.change.image.as_ref()) == Some(&self.id);
        }
        let Some(id) = id_of(record.before.as_ref()) else { return false };
        match self.attempt {
            Some(attempt) => id == Self::attempt_id(&self.id, attempt),
            None => id.strip_prefix(self.id.as_str()).is_some_and(|rest| rest.starts_with('.')),
        }
    }
}

/// A write of the bridge to the second table whose record has not been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Own {
    pub(super) before: State,
    pub(super) after: State,
}

/// Whether the tables may differ in an item although nothing is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Recheck {
    No,
    Due,
    /// The second table had this, so many rounds near the end of its stream ago.
    Seen(State, u32),
}

/// What is under way for an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: Item,
    pub(super) unsent: Option<Unsent>,
    pub(super) flight: Option<Flight>,
    pub(super) own: VecDeque<Own>,
    pub(super) recheck: Recheck,
}

impl Entry {
    pub(super) const fn new(key: Item) -> Self {
        Self { key, unsent: None, flight: None, own: VecDeque::new(), recheck: Recheck::No }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.is_idle() && self.recheck == Recheck::No
    }

    /// Whether nothing of it is under way in either direction.
    pub(super) fn is_idle(&self) -> bool {
        self.unsent.is_none() && self.flight.is_none() && self.own.is_empty()
    }

    /// Takes in a record of the second table.
    pub(super) fn note_second(&mut self, record: Record) {
        let image = record.change.image;
        let (before, after) = (State::of(record.before.as_ref()), State::of(image.as_ref()));
        if before == after {
            return;
        }
        if let Some(place) = self.own.iter().position(|own| own.before == before && own.after == after) {
            self.own.drain(..=place);
            // It was written over what the application had just written: the first table's change came later.
            if self.unsent.take().is_some() {
                self.recheck = Recheck::Due;
            }
            return;
        }
        let image = image.map_or_else(|| Image::Delete(record.before), Image::Put);
        self.unsent = Some(Unsent { state: after, image, is_expiry: record.is_expiry });
        // Once it is sent, both tables have it.
        self.recheck = Recheck::No;
    }

    /// Takes in a record of the first table. Whether it is to be taken to the second one.
    pub(super) fn note_first(&mut self, record: &Record) -> bool {
        if let Some(flight) = &self.flight {
            if flight.is_echo(record) {
                self.flight = None;
            }
            return false;
        }
        // What is unsent will come after the record in the order of the first table.
        self.unsent.is_none()
    }

    /// Decides whether records of the first table are written to the second one, over what that has now. The
    /// first table had one of these states before each record. If the second table has none of them, an
    /// application has changed the item, which the second stream will show: its change comes later.
    pub(super) fn arrives(&mut self, before_each: &[State], write: Own) -> bool {
        if write.before == write.after {
            self.recheck = Recheck::No;
            return false;
        }
        if !before_each.contains(&write.before) || self.own.len() >= OWN_MAX {
            self.recheck = Recheck::Due;
            return false;
        }
        self.own.push_back(write);
        true
    }

    /// Gives up what is unsent: the tables may differ.
    pub(super) fn drop_unsent(&mut self) {
        self.unsent = None;
        self.recheck = Recheck::Due;
    }

    /// The flight was not carried out: what it was for is unsent again.
    pub(super) fn turn_back(&mut self) {
        if let Some(Flight { state, is_expiry, .. }) = self.flight.take()
            && self.unsent.is_none()
        {
            self.unsent = Some(Unsent { state, image: Image::Unknown, is_expiry });
        }
    }

    pub(super) fn json(&self) -> Json {
        let mut json = Json::object([("key", write_item(&self.key, &[]))]);
        if let Some(unsent) = &self.unsent {
            json.set("unsent", change_json(&unsent.state, unsent.is_expiry));
        }
        if let Some(flight) = &self.flight {
            let mut own = change_json(&flight.state, flight.is_expiry);
            own.set("id", Json::text(&flight.id));
            json.set("flight", own);
        }
        if !self.own.is_empty() {
            let own = self
                .own
                .iter()
                .map(|own| Json::List(vec![Json::text(own.before.text()), Json::text(own.after.text())]));
            json.set("own", Json::List(own.collect()));
        }
        if self.recheck != Recheck::No {
            json.set("recheck", Json::Bool(true));
        }
        json
    }

    /// Reads what `json` wrote.
    pub(super) fn read(json: &Json) -> Option<Self> {
        let mut own = Self::new(read_item(json.get("key")?).filter(|read| read.typed)?.item);
        if let Some(unsent) = json.get("unsent") {
            let (state, is_expiry) = read_change(unsent)?;
            own.unsent = Some(Unsent { state, image: Image::Unknown, is_expiry });
        }
        if let Some(flight) = json.get("flight") {
            let (state, is_expiry) = read_change(flight)?;
            let id = flight.str_at("id")?.to_owned();
            own.flight = Some(Flight { id, state, attempt: None, is_expiry });
        }
        for pair in json.get("own").map_or(&[][..], Json::elements) {
            let [before, after] = pair.elements() else { return None };
            let (before, after) = (State::read(before.as_str()?), State::read(after.as_str()?));
            own.own.push_back(Own { before, after });
        }
        if json.get("recheck").is_some() {
            own.recheck = Recheck::Due;
        }
        Some(own)
    }
}

fn change_json(state: &State, is_expiry: bool) -> Json {
    Json::object([("state", Json::text(state.text())), ("expiry", Json::Bool(is_expiry))])
}

fn read_change(json: &Json) -> Option<(State, bool)> {
    Some((State::read(json.str_at("state")?), json.get("expiry")?.as_bool()?))
}

#[cfg(test)]
mod tests {
    use super::super::super::writes::Change;
    use super::super::marker::marked;
    use super::*;
    use keywright_semantics::value::AttributeValue;

    fn item(value: &str) -> Item {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        Item::from([("pk".to_owned(), text("k")), ("t".to_owned(), text(value))])
    }

    fn record(before: Option<Item>, image: Option<Item>) -> Record {
        let change = Change { key: item("key"), image };
        Record { change, before, number: "1".to_owned(), made_ms: None, is_expiry: false }
    }

    fn flight(attempt: Option<u32>) -> Flight {
        Flight { id: "a.1".to_owned(), state: State::of(None), attempt, is_expiry: false }
    }

    #[test]
    fn own_writes_are_known_again_once_and_drop_what_they_were_written_over() {
        let mut entry = Entry::new(item("key"));
        let (a, b, c) = (item("a"), item("b"), item("c"));
        entry.own.push_back(Own { before: State::of(Some(&b)), after: State::of(Some(&c)) });
        entry.note_second(record(Some(a.clone()), Some(b.clone())));
        assert_eq!(entry.unsent.as_ref().map(|own| own.state.clone()), Some(State::of(Some(&b))));
        entry.note_second(record(Some(b.clone()), Some(c.clone())));
        assert_eq!((&entry.unsent, entry.own.len(), &entry.recheck), (&None, 0, &Recheck::Due));
        entry.note_second(record(Some(b), Some(c)));
        assert!(entry.unsent.is_some(), "the same change again is the application's");
    }

    #[test]
    fn an_echo_is_a_record_with_the_marker_that_is_under_way() {
        let put = record(Some(item("a")), Some(marked(&item("b"), "a.1")));
        assert!(flight(None).is_echo(&put));
        let by_application = record(Some(item("a")), Some(marked(&item("b"), "a.0")));
        assert!(
            !flight(None).is_echo(&by_application) && !flight(None).is_echo(&record(None, Some(item("b"))))
        );
        let delete = |id: &str| record(Some(marked(&item("b"), id)), None);
        assert!(flight(None).is_echo(&delete("a.1.0")) && flight(Some(2)).is_echo(&delete("a.1.2")));
        assert!(!flight(Some(2)).is_echo(&delete("a.1.1")) && !flight(None).is_echo(&delete("a.10.1")));
        assert!(!flight(None).is_echo(&record(Some(item("b")), None)));
    }

    #[test]
    fn a_record_is_taken_only_while_nothing_is_on_its_way_to_the_first_table() {
        let mut entry = Entry::new(item("key"));
        let other = record(Some(item("a")), Some(item("b")));
        assert!(entry.note_first(&other));
        entry.note_second(record(Some(item("a")), Some(item("c"))));
        assert!(!entry.note_first(&other));
        entry.unsent = None;
        entry.flight = Some(flight(None));
        assert!(!entry.note_first(&other) && entry.flight.is_some());
        let echo = record(Some(item("b")), Some(marked(&item("c"), "a.1")));
        assert!(!entry.note_first(&echo) && entry.flight.is_none());
        assert!(entry.note_first(&echo), "what comes after the echo is taken");
    }

    #[test]
    fn records_are_written_only_over_a_state_that_the_first_table_had_before_them() {
        let state = |value: &str| State::of(Some(&item(value)));
        let before_each = [state("a"), state("b")];
        let arrives = |there: &str, awaited: usize| {
            let mut entry = Entry::new(item("key"));
            let own = || Own { before: state("x"), after: state("y") };
            entry.own.extend(std::iter::repeat_with(own).take(awaited));
            let write = Own { before: state(there), after: state("c") };
            (entry.arrives(&before_each, write), entry.own.len() - awaited, entry.recheck)
        };
        assert_eq!(arrives("a", 0), (true, 1, Recheck::No));
        assert_eq!(arrives("b", 1), (true, 1, Recheck::No), "one of several records is not there yet");
        assert_eq!(arrives("an application's", 0), (false, 0, Recheck::Due), "that change comes later");
        assert_eq!(arrives("c", 0), (false, 0, Recheck::No), "it is there already");
        assert_eq!(arrives("a", OWN_MAX), (false, 0, Recheck::Due), "so many records are awaited");
    }

    #[test]
    fn an_entry_is_read_as_it_was_kept_without_images() {
        let mut entry = Entry::new(item("key"));
        entry.note_second(record(None, Some(item("a"))));
        entry.flight = Some(flight(None));
        entry.own.push_back(Own { before: State::of(None), after: State::of(Some(&item("b"))) });
        entry.recheck = Recheck::Due;
        let again = Entry::read(&Json::parse(&entry.json().compact()).unwrap()).unwrap();
        if let Some(unsent) = &mut entry.unsent {
            unsent.image = Image::Unknown;
        }
        assert_eq!(again, entry);
    }
}
