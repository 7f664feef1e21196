//! The origin of an attribute's values: the attribute itself,
//! or an attribute of another entity that it repeats.
//!
//! A name alone proves nothing: half of all entities have an `id`, each with a meaning of its own. An
//! attribute repeats another entity's attribute only where the model says so: by `copyOf`, by a parent whose
//! key contains it, or by a key written like the other entity's partition key (`c#{customerId}`: the words
//! around it say what it identifies).

use keywright_semantics::value::ValueType;

use super::ast::{Attribute, Entity, Model, Skew, Table};
use crate::template::Template;

/// An attribute of an entity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Origin<'a> {
    /// The entity that has it.
    pub entity: &'a Entity,
    /// The attribute of that entity.
    pub attribute: &'a Attribute,
}

impl Origin<'_> {
    /// The number of its different values: as declared, or the number of items that it identifies.
    fn values(&self, model: &Model) -> Option<u64> {
        let listed = u64::try_from(self.attribute.values.len()).ok().filter(|listed| *listed > 0);
        let of_type = match self.attribute.value_type {
            ValueType::Bool => Some(2),
            ValueType::Null => Some(1),
            _ => None,
        };
        let name = self.attribute.name.as_str();
        let is_unique =
            self.entity.unique.iter().any(|names| matches!(names.as_slice(), [own] if own == name));
        let mut key = model.key_of(self.entity).into_iter();
        let identified = is_unique || key.next() == Some(name) && key.all(|own| own == name);
        self.attribute.distinct.or(listed).or(of_type).or_else(|| self.entity.count.filter(|_| identified))
    }

    fn is(&self, entity: &Entity, name: &str) -> bool {
        self.entity.name == entity.name && self.attribute.name == name
    }
}

impl Model {
    /// The chain from an attribute over the attributes it repeats to the one that repeats nothing.
    pub fn line<'a>(&'a self, entity: &'a Entity, name: &str) -> Vec<Origin<'a>> {
        let mut line: Vec<Origin<'a>> = Vec::new();
        let mut next = entity.attribute(name).map(|attribute| Origin { entity, attribute });
        while let Some(own) = next {
            // A cycle has no origin; the chain ends before the first repetition.
            if line.iter().any(|known| known.is(own.entity, &own.attribute.name)) {
                break;
            }
            line.push(own);
            next = self.repeated(own);
        }
        line
    }

    /// The attribute that the values come from; the attribute itself if it repeats nothing.
    pub fn origin<'a>(&'a self, entity: &'a Entity, name: &str) -> Option<Origin<'a>> {
        self.line(entity, name).pop()
    }

    /// The number of different values of an attribute: as declared, or the number of items that it
    /// identifies. `None` if the model gives neither for the attribute nor for those it repeats.
    pub fn distinct(&self, entity: &Entity, name: &str) -> Option<u64> {
        self.line(entity, name).iter().find_map(|own| own.values(self))
    }

    /// How unevenly traffic falls on the values of an attribute: as its entity declares, else as the entity
    /// does whose values it carries.
    pub fn skew(&self, entity: &Entity, name: &str) -> Option<Skew> {
        let declared = |own: &Origin<'_>| own.entity.skew_of(&own.attribute.name);
        self.line(entity, name).iter().find_map(declared).or_else(|| {
            let source = self.identified_by(entity, name)?;
            source.skew_of(name)
        })
    }

    /// The other entity that an attribute identifies: the one it is declared to repeat, or the only entity
    /// whose identity has this name and a compatible declaration. The latter is a guess, good enough for
    /// generated values and for the spread of traffic, not for keys.
    pub fn identified_by<'a>(&'a self, entity: &'a Entity, name: &str) -> Option<&'a Entity> {
        let is_identity = |own: &Entity, name: &str| own.sole_identity() == Some(name);
        if is_identity(entity, name) {
            return None;
        }
        let line = self.line(entity, name);
        let identified = line.iter().skip(1).find(|own| is_identity(own.entity, &own.attribute.name));
        if let Some(own) = identified {
            return Some(own.entity);
        }
        let own = entity.attribute(name)?;
        let mut others =
            self.entities.iter().filter(|other| other.name != entity.name && is_identity(other, name));
        let (other, further) = (others.next()?, others.next());
        let theirs = other.attribute(name)?;
        let alike =
            own.value_type == theirs.value_type && (own.format.is_none() || own.format == theirs.format);
        (further.is_none() && alike).then_some(other)
    }

    /// The attributes that make up an entity's key in the
    /// table. Without templates, the key attributes themselves.
    pub fn key_of<'a>(&'a self, entity: &'a Entity) -> Vec<&'a str> {
        if !entity.key.templates.is_empty() {
            return entity.key_attributes().collect();
        }
        let parts = self.table(&entity.table).into_iter().flat_map(Table::key_parts);
        let own: Option<Vec<&str>> =
            parts.map(|part| entity.attribute(&part.name).map(|own| own.name.as_str())).collect();
        own.unwrap_or_default()
    }

    /// Whether an attribute has another entity's values.
    pub fn is_repeated(&self, entity: &Entity, name: &str) -> bool {
        self.origin(entity, name).is_some_and(|origin| origin.entity.name != entity.name)
    }

    /// The derived entities, each with its source entity: all attributes
    /// of the derived entity are copies of the source's.
    pub fn derived_entities(&self) -> Vec<(&Entity, &Entity)> {
        let source_of = |derived: &Entity| -> Option<&Entity> {
            let (source, _) = derived.attributes.first()?.copy_of.as_ref()?;
            let copies = |own: &Attribute| {
                own.copy_of.as_ref().is_some_and(|(from, name)| from == source && *name == own.name)
            };
            derived.attributes.iter().all(copies).then(|| self.entity(source))?
        };
        self.entities.iter().filter_map(|derived| Some((derived, source_of(derived)?))).collect()
    }

    /// Whether an entity is a uniqueness guard: a derived item
    /// whose key is one of its unique values and nothing else.
    pub fn keeps_unique(&self, entity: &Entity) -> bool {
        let key = |set: &Vec<String>| entity.key_attributes().all(|name| set.iter().any(|own| own == name));
        let mut derived_items = self.derived_entities().into_iter();
        entity.unique.iter().any(key) && derived_items.any(|(own, _)| own.name == entity.name)
    }

    /// The attribute that an attribute is declared to repeat.
    fn repeated<'a>(&'a self, own: Origin<'a>) -> Option<Origin<'a>> {
        let of = |entity: &'a Entity, name: &str| Some(Origin { entity, attribute: entity.attribute(name)? });
        let name = own.attribute.name.as_str();
        if let Some((entity, copied)) = &own.attribute.copy_of {
            return of(self.entity(entity)?, copied);
        }
        let parents = own.entity.parents.iter().filter_map(|parent| self.entity(parent));
        let parent = parents
            .filter(|parent| parent.name != own.entity.name && in_key(parent, name))
            .filter_map(|parent| of(parent, name))
            .find(|parent| !differ(own.attribute, parent.attribute) && !is_copied(own.entity, parent));
        if parent.is_some() || own.entity.identity() == Some(name) {
            return parent;
        }
        self.written_alike(own.entity, name).and_then(|other| of(other, name))
    }

    /// The entity of the same table that an attribute identifies: one of this entity's keys is written like
    /// that entity's partition key. The key must contain fixed text: `{id}` alone can belong to any entity.
    fn written_alike<'a>(&'a self, entity: &Entity, name: &str) -> Option<&'a Entity> {
        let table = self.table(&entity.table)?;
        let parts = table.key_parts().chain(table.indexes.iter().flat_map(super::Index::key_parts));
        let alone = |template: &Template| template.whole().is_none() && template.attributes().eq([name]);
        let own: Vec<Template> = parts.filter_map(|part| entity.template(&part.name)).filter(alone).collect();
        let others = self.entities.iter().filter(|other| {
            other.name != entity.name && other.table == entity.table && other.identity() == Some(name)
        });
        let mut found = others.filter(|other| {
            other.template(&table.partition.name).is_some_and(|template| own.contains(&template))
        });
        let first = found.next()?;
        // A partition can hold several entities with equal counts: a user and the settings of each user.
        found.all(|other| other.count == first.count).then_some(first)
    }
}

/// Whether an attribute is part of what identifies an entity: its key, or its first `unique` list while it
/// has no key.
fn in_key(entity: &Entity, name: &str) -> bool {
    if entity.key.templates.is_empty() {
        return entity.unique.first().is_some_and(|names| names.iter().any(|own| own == name));
    }
    entity.key_attributes().any(|own| own == name)
}

/// Whether the declarations of two attributes rule out that one repeats the other.
fn differ(own: &Attribute, other: &Attribute) -> bool {
    own.value_type != other.value_type
        || own.format.zip(other.format).is_some_and(|(own, other)| own != other)
}

/// Whether an attribute of the entity is declared as a copy of `origin`.
fn is_copied(entity: &Entity, origin: &Origin<'_>) -> bool {
    entity
        .attributes
        .iter()
        .filter_map(|own| own.copy_of.as_ref())
        .any(|(source, name)| origin.is(origin.entity, name) && *source == origin.entity.name)
}

#[cfg(test)]
mod tests {
    use super::super::ast::Skew;
    use super::super::parse;

    const MODEL: &str = r#"
format: 1
model: origins
tables:
  Tab: {key: {pk: S, sk: S}, indexes: {also: {pk: gpk, sk: gsk}}}
entities:
  User: {count: 1000000, key: {pk: "u#{id}", sk: "u#"}, attrs: {id: S}}
  Room: {count: 10, key: {pk: "r#{id}", sk: "r#"}, attrs: {id: S, kind: {type: S, values: [a, b, c]}, open: BOOL}}
  Msg: {count: 500, parent: Room, key: {pk: "r#{id}", sk: "m#{n}"}, attrs: {id: S, n: N}}
  Pin: {count: 70, parent: Msg, key: {pk: "r#{id}", sk: "p#{n}"}, attrs: {id: S, n: N, author: {type: S, copyOf: User.id}}}
  Seat: {count: 9, key: {pk: "s#{id}", sk: "s#"}, also: {gpk: "r#{room}", gsk: "s#{id}"}, attrs: {id: S, room: S}}
  Visit: {count: 9000, key: {pk: "v#{at}", sk: "v#{id}"}, also: {gpk: "u#{id}", gsk: "{at}"}, attrs: {id: S, at: S}}
  Own: {count: 4, parent: Room, key: {pk: "o#{id}", sk: "o#"}, attrs: {id: N}}
"#;

    #[test]
    fn an_equal_name_alone_is_no_origin() {
        let model = parse(MODEL).expect("a model");
        let distinct = |entity: &str, name: &str| model.distinct(model.entity(entity).expect(entity), name);
        for (entity, name, values) in [
            ("User", "id", Some(1_000_000)),
            ("Room", "id", Some(10)),
            ("Room", "kind", Some(3)),
            ("Room", "open", Some(2)),
            // A parent's attribute, and that of the parent's parent.
            ("Msg", "id", Some(10)),
            ("Pin", "id", Some(10)),
            ("Pin", "author", Some(1_000_000)),
            // Not declared: another entity's `id` is unrelated.
            ("Seat", "room", None),
            ("Seat", "id", Some(9)),
            // Written like the users' own key.
            ("Visit", "id", Some(1_000_000)),
            ("Visit", "at", None),
            // A number cannot repeat a text.
            ("Own", "id", Some(4)),
        ] {
            assert_eq!(distinct(entity, name), values, "{entity}.{name}");
        }
        let pin = model.entity("Pin").expect("Pin");
        let origin = |name: &str| {
            model.origin(pin, name).map(|own| (own.entity.name.as_str(), own.attribute.name.as_str()))
        };
        assert_eq!(origin("id"), Some(("Room", "id")));
        assert_eq!(origin("author"), Some(("User", "id")));
        assert_eq!(origin("n"), Some(("Msg", "n")));
    }

    #[test]
    fn skew_is_that_of_the_entity_whose_values_an_attribute_carries() {
        let keyless = r"
format: 1
model: skew
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  Show: {count: 20, unique: showId, skew: {showId: hottest(0.8)}, attrs: {showId: S, state: S}}
  Part: {count: 90, parent: Show, unique: [[showId, no]], attrs: {showId: S, no: S}}
  Seat: {count: 900, parent: Part, unique: [[showId, no, seat]], skew: {showId: uniform}, attrs: {showId: S, no: S, seat: S}}
  Visit: {count: 900, unique: visitId, attrs: {visitId: S, showId: S, state: S}}
  Note: {count: 900, unique: noteId, attrs: {noteId: S, show: {type: S, copyOf: Show.showId}}}
  Room: {count: 9, unique: roomId, attrs: {roomId: S, showId: N}}
";
        let text = keyless.replace("unique: showId,", "key: {pk: \"s#{showId}\", sk: \"#\"},");
        for text in [keyless, &text] {
            let model = parse(text).expect("a model");
            let skew = |entity: &str, name: &str| model.skew(model.entity(entity).expect(entity), name);
            let declared = Some(Skew::Hottest { share_ppm: 800_000 });
            for (entity, name) in
                [("Show", "showId"), ("Part", "showId"), ("Visit", "showId"), ("Note", "show")]
            {
                assert_eq!(skew(entity, name), declared, "{entity}.{name}");
            }
            assert_eq!(skew("Seat", "showId"), Some(Skew::Uniform), "its own declaration wins");
            // An attribute of the same name and another type, and one that identifies nothing.
            assert_eq!(
                (skew("Room", "showId"), skew("Visit", "state"), skew("Part", "no")),
                (None, None, None)
            );
        }
    }

    #[test]
    fn a_cycle_of_copies_ends() {
        let text = MODEL
            .replace("attrs: {id: S, n: N}}", "attrs: {id: S, n: {type: N, copyOf: Pin.n}}}")
            .replace("attrs: {id: S, n: N, author", "attrs: {id: S, n: {type: N, copyOf: Msg.n}, author");
        let model = parse(&text).expect("a model");
        assert_eq!(model.distinct(model.entity("Pin").expect("Pin"), "n"), None);
    }
}
