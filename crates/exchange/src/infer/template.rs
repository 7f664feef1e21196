//! Key templates from examples: the constant literals of a key stay, the rest becomes variables.
//!
//! Places that always hold the same value get the same variable, within a key and across the keys of an
//! entity. A variable is named after the attribute that holds its value, otherwise after the facet's alias,
//! otherwise after the entity whose prefix it follows.

use std::collections::BTreeMap;

use keywright_semantics::schema::{KeyAttribute, KeyType};
use keywright_semantics::value::{AttributeValue, Item};

use keywright_model::{Part, Template};

use super::classify::{Group, identifier, text};
use super::literals::{Lexicon, says_type};
use super::shape::{Cut, Role, delimiter, segments};
use super::variable_names::{Agreed, Shared};
use keywright_model::tables::TableDefinition;
use keywright_model::template::times::is_time;

/// The values of one place in a key, by item.
pub(super) type Column = BTreeMap<usize, String>;

/// A part of a key before its variables are named.
#[derive(Clone, Debug)]
enum Piece {
    Word(String),
    Hole {
        column: Column,
        /// The literal before it.
        prefix: Option<String>,
        hint: Option<String>,
    },
}

/// A key attribute with its role, and the alias that a facet gives it.
pub(super) struct KeyPlace<'a> {
    pub(super) name: &'a str,
    pub(super) key_type: KeyType,
    pub(super) role: Role,
    pub(super) alias: Option<&'a str>,
}

impl<'a> KeyPlace<'a> {
    /// A key attribute by itself.
    pub(super) fn of(key: &'a KeyAttribute) -> Self {
        Self { name: &key.name, key_type: key.key_type, role: Role::Sort, alias: None }
    }

    /// The template that the document's author wrote, if the alias is one.
    fn authored(&self) -> Option<Result<Template, String>> {
        self.alias.and_then(Template::parse_alias)
    }

    pub(super) fn is_authored(&self) -> bool {
        matches!(self.authored(), Some(Ok(_)))
    }
}

/// A note on a choice that the examples of a key leave open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Doubt {
    pub(super) key: String,
    pub(super) text: String,
}

impl Doubt {
    pub(super) fn new(group: &Group, key: &str, text: &str) -> Self {
        Self { key: key.to_owned(), text: format!("{}.{key}: {text}", group.name) }
    }
}

/// The templates of one entity, and their variables that no stored attribute holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Templates {
    /// Key attribute to template, such as `c#{customerId}`.
    pub(crate) keys: BTreeMap<String, Template>,
    /// Variables that are not attributes of the items.
    pub(crate) variables: Vec<String>,
    /// Whether any template was inferred from examples and not written by an author.
    pub(crate) guessed: bool,
    /// Notes on choices that the examples leave open.
    pub(crate) doubts: Vec<Doubt>,
    /// The variables of partition keys, through which the items of a collection are read together.
    pub(super) partitions: Vec<Shared>,
}

/// The table that the naming of variables depends on, in addition to the entity.
pub(super) struct Surroundings<'a> {
    pub(super) table: &'a TableDefinition,
    pub(super) items: &'a [&'a Item],
    pub(super) groups: &'a [Group],
    pub(super) lexicon: &'a Lexicon,
}

pub(super) fn templates(
    around: &Surroundings<'_>,
    group: &Group,
    places: &[KeyPlace<'_>],
    agreed: &Agreed,
) -> Templates {
    let mut naming =
        Naming { around, group, agreed, named: Vec::new(), partitions: Vec::new(), doubts: Vec::new() };
    let mut found = Templates::default();
    for place in places {
        let values: Column = group
            .members
            .iter()
            .filter_map(|at| Some((*at, text(around.items.get(*at)?, place.name)?.to_owned())))
            .collect();
        let held = group
            .members
            .iter()
            .any(|at| around.items.get(*at).is_some_and(|item| item.contains_key(place.name)));
        if !held && place.alias.is_none() {
            continue;
        }
        let template = if let Some(alias) = place.authored() {
            naming.take(place, alias.ok(), &values)
        } else if place.key_type == KeyType::S && (!values.is_empty() || place.alias.is_some()) {
            let pieces = pieces(around.lexicon, place, &values);
            naming.doubt_word(place, &pieces, &values);
            let words = pieces.iter().all(|piece| match piece {
                Piece::Word(_) => true,
                Piece::Hole { column, .. } => column.len() > 1 && constant(column).is_some(),
            });
            let sparse = place.role == Role::Partition && values.len() < group.members.len();
            // Items can have empty texts and braces, which no template produces.
            let printed = if words && sparse && !values.is_empty() {
                None
            } else {
                Template::parse(&naming.print(place, pieces)).ok()
            };
            let template = printed.unwrap_or_else(|| Template::of_attribute(place.name));
            found.guessed |= template.whole() != Some(place.name);
            template
        } else {
            Template::of_attribute(place.name)
        };
        found.keys.insert(place.name.to_owned(), template);
    }
    found.doubts = std::mem::take(&mut naming.doubts);
    found.partitions = std::mem::take(&mut naming.partitions);
    found.variables = naming.unheld();
    found
}

fn pieces(lexicon: &Lexicon, place: &KeyPlace<'_>, values: &Column) -> Vec<Piece> {
    let alias = place.alias.filter(|alias| *alias != place.name);
    let Some(first) = values.values().next() else {
        return alias.map(pieces_of_alias).unwrap_or_default();
    };
    let rows: Vec<(usize, Cut<'_>)> = values.iter().map(|(at, text)| (*at, lexicon.cut(text))).collect();
    let first = lexicon.cut(first);
    let count = rows.iter().map(|(_, cut)| common_parts(&first, cut)).min().unwrap_or(0);
    let even = rows.iter().all(|(_, cut)| cut.parts.len() == count);
    let hints = hints(alias, count);
    let mut found = Vec::new();
    let mut prefix: Option<String> = None;
    for at in 0..count {
        let part = |cut: &Cut<'_>| cut.parts.get(at).map(|part| (*part).to_owned());
        let column: Column = rows.iter().filter_map(|(item, cut)| Some((*item, part(cut)?))).collect();
        let read = |text: &String| lexicon.is_word(place.name, text, at);
        let word = constant(&column).filter(|_| values.values().all(read));
        if word.is_none() && !even {
            break;
        }
        let before = at.checked_sub(1).and_then(|before| first.between.get(before));
        found.extend(before.map(|between| Piece::Word((*between).to_owned())));
        if let Some(word) = word {
            prefix = Some(word.to_owned());
            found.push(Piece::Word(word.to_owned()));
        } else {
            let label = prefix.as_deref().and_then(|label| lexicon.attribute_of(label));
            let hint = hints.get(at).cloned().flatten().or_else(|| label.map(str::to_owned));
            found.push(Piece::Hole { column, prefix: prefix.clone(), hint });
        }
    }
    if !even {
        found.extend(remainder(values, &found, prefix, &first));
    }
    found
}

/// The number of leading parts that two texts share, with the same delimiters.
fn common_parts(one: &Cut<'_>, other: &Cut<'_>) -> usize {
    let same = one.between.iter().zip(&other.between).take_while(|(one, other)| one == other).count();
    one.parts.len().min(other.parts.len()).min(same + 1)
}

/// One variable for the text after the common literals, for texts with different numbers of segments.
fn remainder(values: &Column, found: &[Piece], prefix: Option<String>, first: &Cut<'_>) -> Vec<Piece> {
    let mut head: String = found
        .iter()
        .filter_map(|piece| if let Piece::Word(word) = piece { Some(word.as_str()) } else { None })
        .collect();
    let mut pieces = Vec::new();
    // Parts and delimiters alternate.
    let next = first.between.get(found.len() / 2).filter(|_| !found.is_empty());
    if let Some(next) = next {
        head.push_str(next);
        pieces.push(Piece::Word((*next).to_owned()));
    }
    let column = values
        .iter()
        .map(|(item, text)| (*item, text.strip_prefix(&head).unwrap_or(text).to_owned()))
        .collect();
    pieces.push(Piece::Hole { column, prefix, hint: None });
    pieces
}

/// The value of a column that has only one.
fn constant(column: &Column) -> Option<&str> {
    let mut values = column.values();
    let first = values.next()?;
    values.all(|value| value == first).then_some(first.as_str())
}

/// The names that an alias gives to the segments, if it has as many: `ITEMS#ItemID` names the second one.
fn hints(alias: Option<&str>, count: usize) -> Vec<Option<String>> {
    let Some(alias) = alias else {
        return Vec::new();
    };
    let parts = segments(alias, delimiter(alias));
    if parts.len() == count {
        return parts
            .into_iter()
            .map(|part| Some(variable_name(part)).filter(|name| !name.is_empty()))
            .collect();
    }
    match (parts.as_slice(), count) {
        // `AccountId` for `ACC#123`: the alias names the value and omits the prefix.
        ([name], 2) => vec![None, Some(variable_name(name))],
        _ => Vec::new(),
    }
}

/// Parses an alias without examples: placeholders and mixed-case words are variables, `ORDER` is a literal.
fn pieces_of_alias(alias: &str) -> Vec<Piece> {
    let delimiter = delimiter(alias);
    let parts = segments(alias, delimiter);
    let count = parts.len();
    let mut found = Vec::new();
    let mut prefix = None;
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            found.push(Piece::Word(delimiter.map(String::from).unwrap_or_default()));
        }
        let upper = part.chars().all(|letter| !letter.is_lowercase());
        let placeholder = part.contains(['{', '<', '[']);
        if !placeholder && (upper || part.is_empty()) && (count > 1 || part.len() > 2) {
            prefix = Some(part.to_owned());
            found.push(Piece::Word(part.to_owned()));
        } else {
            let hint = Some(variable_name(part)).filter(|name| !name.is_empty());
            found.push(Piece::Hole { column: Column::new(), prefix: prefix.clone(), hint });
        }
    }
    found
}

/// The name inside `${x}`, `{x}`, `<x>` or `[x]`, or of a plain word.
fn variable_name(part: &str) -> String {
    let inner = part.trim_start_matches('$').trim_matches(|letter| "{}<>[]".contains(letter));
    let name = identifier(inner);
    if name.starts_with(|letter: char| letter.is_ascii_digit()) { format!("v{name}") } else { name }
}

struct Naming<'a> {
    around: &'a Surroundings<'a>,
    group: &'a Group,
    /// Names that all entities of a collection use.
    agreed: &'a Agreed,
    named: Vec<Variable>,
    partitions: Vec<Shared>,
    doubts: Vec<Doubt>,
}

/// A named variable.
struct Variable {
    name: String,
    values: Column,
    prefix: Option<String>,
    /// Whether the items have an attribute with this name.
    held: bool,
}

impl Naming<'_> {
    /// Takes over a template that its author wrote, as in our own documents, with its variable names. An
    /// alias that is no template says nothing.
    fn take(&mut self, place: &KeyPlace<'_>, alias: Option<Template>, values: &Column) -> Template {
        let Some(template) = alias else { return Template::of_attribute(place.name) };
        let value = |text: &str, at: usize| template.fit(text)?.get(at).map(|(_, value)| (*value).to_owned());
        for (at, name) in template.attributes().enumerate() {
            let column: Column =
                values.iter().filter_map(|(item, text)| Some((*item, value(text, at)?))).collect();
            let held = self.is_held(name);
            if !self.named.iter().any(|known| known.name == name) {
                self.named.push(Variable { name: name.to_owned(), values: column, prefix: None, held });
            }
        }
        template
    }

    /// Whether an item of the entity has an attribute with this name.
    fn is_held(&self, name: &str) -> bool {
        let mut items = self.group.members.iter().filter_map(|at| self.around.items.get(*at));
        items.any(|item| item.contains_key(name))
    }

    /// Notes a leading literal that an attribute of all items
    /// holds as well: it can be a value of that attribute.
    fn doubt_word(&mut self, place: &KeyPlace<'_>, pieces: &[Piece], values: &Column) {
        let [Piece::Word(word), _, ..] = pieces else { return };
        let mut items = values.keys().filter_map(|at| self.around.items.get(*at));
        let Some(first) =
            items.clone().next().filter(|_| word.len() > 3 && !self.around.lexicon.is_type(word))
        else {
            return;
        };
        let keys = self.around.table.key_attributes();
        let holds = |name: &&String| {
            let own = !says_type(name) && !keys.iter().any(|key| key.name == **name);
            own && items.clone().all(|item| text(item, name.as_str()) == Some(word.as_str()))
        };
        let Some(name) = first.keys().find(holds).filter(|_| items.next().is_some()) else { return };
        let text = format!("`{word}` is read as literal text, though {name} has this value in every example");
        self.doubts.push(Doubt::new(self.group, place.name, &text));
    }

    fn print(&mut self, place: &KeyPlace<'_>, pieces: Vec<Piece>) -> String {
        let alone = pieces.len() == 1;
        let mut printed = String::new();
        for piece in pieces {
            match piece {
                Piece::Word(word) => printed.push_str(&word),
                Piece::Hole { mut column, mut prefix, hint } => {
                    let mut hint = hint;
                    let mut tail = String::new();
                    if let Some((word, rest)) = self.behind_prefix(place, &column) {
                        printed.push_str(&word);
                        (column, prefix) = (rest, Some(word));
                    } else if let Some(numbered) = numbered(&column).filter(|_| place.alias.is_none()) {
                        printed.push_str(&numbered.word);
                        hint = hint.or_else(|| Some(numbered.name().to_owned()));
                        (column, prefix, tail) = (numbered.numbers, Some(numbered.word), numbered.tail);
                    }
                    let lead = lead(&printed);
                    let agreed = self.agreed.get(&(place.name.to_owned(), lead.clone())).cloned();
                    let name = match agreed {
                        Some(name) if place.alias.is_none() => self.take_agreed(place, name, &column, prefix),
                        _ => self.name(place, &column, prefix.as_deref(), hint, alone),
                    };
                    if place.role == Role::Partition && place.alias.is_none() {
                        let (key, name, column) = (place.name.to_owned(), name.clone(), column.clone());
                        self.partitions.push(Shared { key, lead, name, column });
                    }
                    let pad = self.padding(&name, &column).map(|pad| format!(":pad({pad})"));
                    printed.push('{');
                    printed.push_str(&name);
                    printed.push_str(&pad.unwrap_or_default());
                    printed.push('}');
                    printed.push_str(&tail);
                }
            }
        }
        printed
    }

    /// Splits off a common prefix, if an attribute holds the rest of each value: `order-17` for order 17.
    fn behind_prefix(&mut self, place: &KeyPlace<'_>, column: &Column) -> Option<(String, Column)> {
        let first = column.values().next().filter(|_| column.len() > 1 && place.alias.is_none())?;
        let shared = column.values().fold(first.as_str(), |shared, value| {
            let letters = shared.char_indices().zip(value.chars());
            let equal = letters.take_while(|((_, one), other)| one == other).last();
            let end = equal.map_or(0, |((at, letter), _)| at + letter.len_utf8());
            shared.get(..end).unwrap_or_default()
        });
        let end = shared.rfind(['-', '_', '.'])? + 1;
        let word = shared.get(..end).filter(|word| word.starts_with(char::is_alphabetic))?.to_owned();
        let rest: Column = column
            .iter()
            .filter_map(|(at, value)| Some((*at, value.strip_prefix(&word)?.to_owned())))
            .filter(|(_, rest)| !rest.is_empty())
            .collect();
        let known = self.doubts.len();
        let whole = self.attribute_of(place, column, None, &[]).is_some();
        let held =
            !whole && rest.len() == column.len() && self.attribute_of(place, &rest, None, &[]).is_some();
        self.doubts.truncate(known);
        held.then_some((word, rest))
    }

    /// Uses the name that other entities have for the same place of the same key. If the entity has the value
    /// in an attribute with another name, a note says so, because its access patterns give the common name.
    fn take_agreed(
        &mut self,
        place: &KeyPlace<'_>,
        name: String,
        column: &Column,
        prefix: Option<String>,
    ) -> String {
        if !self.named.iter().any(|known| known.name == name) {
            let held = self.is_held(&name);
            let known = self.doubts.len();
            let own = self.attribute_of(place, column, prefix.as_deref(), &[]);
            self.doubts.truncate(known);
            if let Some(own) = own.filter(|_| !held) {
                let text = format!(
                    "made of `{name}`, the name in the other entities of its collection; access patterns of {} give `{name}`, not its attribute {own}, which has the same values",
                    self.group.name
                );
                self.doubts.push(Doubt::new(self.group, place.name, &text));
            }
            self.named.push(Variable { name: name.clone(), values: column.clone(), prefix, held });
        }
        name
    }

    fn name(
        &mut self,
        place: &KeyPlace<'_>,
        column: &Column,
        prefix: Option<&str>,
        hint: Option<String>,
        alone: bool,
    ) -> String {
        if let Some(known) = self.named.iter().find(|known| same(known, column, prefix)) {
            return known.name.clone();
        }
        let expected = self.expected(prefix, hint.as_deref());
        let (name, held) = if let Some(name) = self.attribute_of(place, column, prefix, &expected) {
            (name, true)
        } else if alone && (!is_generic(place.name) || column.len() < self.group.members.len()) {
            // Only some items have the value and are in the index: no
            // template of attributes that all items have can fill the key.
            (place.name.to_owned(), true)
        } else if let Some(name) = self.folded(place, column) {
            (self.free(&name), false)
        } else {
            let wanted = hint.unwrap_or_else(|| self.invent(place, column, prefix));
            (self.free(&wanted), false)
        };
        let prefix = prefix.map(str::to_owned);
        self.named.push(Variable { name: name.clone(), values: column.clone(), prefix, held });
        name
    }

    /// The likely names of a value after a prefix, best first.
    fn expected(&self, prefix: Option<&str>, hint: Option<&str>) -> Vec<String> {
        let owner = prefix.map(identifier).and_then(|prefix| self.owner_of(&prefix));
        let names = hint.map(str::to_owned).into_iter().chain(owner.map(|owner| format!("{owner}Id")));
        names.map(|name| name.to_lowercase()).collect()
    }

    /// The stored attribute that holds these values in every item. Of several attributes it takes the one
    /// whose name fits the place and notes the others. A single short value proves nothing (a quantity of 2
    /// is not order number 2), unless it follows the attribute's own name.
    fn attribute_of(
        &mut self,
        place: &KeyPlace<'_>,
        column: &Column,
        prefix: Option<&str>,
        expected: &[String],
    ) -> Option<String> {
        let around = self.around;
        let telling = column.len() > 1 || column.values().any(|value| value.len() > 3);
        let lower = prefix.map(str::to_lowercase).unwrap_or_default();
        let (first, _) = column.first_key_value()?;
        let keys = around.table.key_attributes();
        let candidates = around.items.get(*first)?.keys().filter(|name| {
            !is_generic(name)
                && is_name(name)
                && !keys.iter().any(|key| key.name == **name && is_generic(name))
                && (telling || name.to_lowercase() == lower)
        });
        let mut holding: Vec<&String> = candidates
            .filter(|name| {
                column.iter().all(|(at, value)| {
                    around.items.get(*at).is_some_and(|item| match item.get(name) {
                        Some(AttributeValue::S(text)) => text == value,
                        Some(AttributeValue::N(number)) => number.to_string() == *value,
                        _ => false,
                    })
                }) || self.padding(name, column).is_some()
            })
            .collect();
        let prefix = prefix.map(str::to_lowercase).filter(|prefix| !prefix.is_empty());
        holding.sort_by_key(|name| {
            let lower = name.to_lowercase();
            let likely = expected.iter().position(|wanted| *wanted == lower).unwrap_or(expected.len());
            let begins = prefix.as_ref().is_some_and(|prefix| lower.starts_with(prefix.as_str()));
            (likely, !begins, name.len())
        });
        let (chosen, others) = holding.split_first()?;
        if !others.is_empty() {
            let others: Vec<&str> = others.iter().map(|name| name.as_str()).collect();
            let template = prefix.map(|prefix| format!(" after `{prefix}`")).unwrap_or_default();
            let others = others.join(", ");
            let text = format!("{chosen}{template}; {others} has the same values in the examples");
            self.doubts.push(Doubt::new(self.group, place.name, &text));
        }
        Some((*chosen).clone())
    }

    /// The number of digits to which a key pads an attribute's
    /// numbers: all values have that length, some by leading zeros.
    fn padding(&self, name: &str, column: &Column) -> Option<usize> {
        let width = column.values().next()?.len();
        let number = |at: &usize| match self.around.items.get(*at)?.get(name)? {
            AttributeValue::N(number) => Some(number.to_string()),
            _ => None,
        };
        let is_padded = |(at, value): (&usize, &String)| {
            number(at).is_some_and(|number| value.len() == width && format!("{number:0>width$}") == *value)
        };
        let filled = column.iter().any(|(at, value)| number(at).is_some_and(|number| number != *value));
        (filled && column.iter().all(is_padded)).then_some(width)
    }

    /// The name of a value that an attribute holds in another letter case. Templates cannot change the case,
    /// so the value becomes a variable of its own, with a note.
    fn folded(&mut self, place: &KeyPlace<'_>, column: &Column) -> Option<String> {
        let around = self.around;
        let (first, _) = column.first_key_value()?;
        let is_other = |at: &usize, value: &String, name: &str| {
            let own = around.items.get(*at).and_then(|item| text(item, name));
            own.filter(|own| own.to_lowercase() == value.to_lowercase()).map(|own| own != value)
        };
        let mut names = around.items.get(*first)?.keys().filter(|name| !is_generic(name) && is_name(name));
        let name = names.find(|name| {
            let differ: Option<Vec<bool>> =
                column.iter().map(|(at, value)| is_other(at, value, name)).collect();
            differ.is_some_and(|differ| differ.contains(&true))
        })?;
        let upper = column.values().all(|value| value.chars().all(|letter| !letter.is_lowercase()));
        let (suffix, case) = if upper { ("Upper", "upper case") } else { ("Lower", "lower case") };
        let own = format!("{name}{suffix}");
        let text =
            format!("`{own}` is `{name}` in {case}, which a template cannot express; patterns give `{own}`");
        self.doubts.push(Doubt::new(self.group, place.name, &text));
        Some(own)
    }

    fn invent(&self, place: &KeyPlace<'_>, column: &Column, prefix: Option<&str>) -> String {
        if !column.is_empty() && column.values().all(|value| is_time(value)) {
            return "date".to_owned();
        }
        match prefix.map(identifier).filter(|prefix| !prefix.is_empty()) {
            Some(prefix) => {
                let owner = self.owner_of(&prefix).unwrap_or(prefix);
                format!("{}Id", lower_first(&owner))
            }
            None if column.values().any(|value| self.around.lexicon.is_tenant(value)) => {
                "tenantId".to_owned()
            }
            None if place.role == Role::Partition => {
                format!("{}Id", lower_first(&identifier(&self.group.name)))
            }
            None => "id".to_owned(),
        }
    }

    /// The entity that a prefix stands for: the one whose partition key equals its sort key and begins with
    /// the prefix, otherwise the one with the shortest name that begins with it.
    fn owner_of(&self, prefix: &str) -> Option<String> {
        let key = &self.around.table.schema.key;
        let (partition, sort) = (key.partition.first()?, key.sort.first());
        let itself = self.around.groups.iter().find(|group| {
            group.members.iter().all(|at| {
                let item = self.around.items.get(*at);
                let value = |name: &str| item.and_then(|item| text(item, name));
                let own = value(&partition.name).filter(|text| text.split('#').next() == Some(prefix));
                own.is_some() && sort.is_some_and(|sort| value(&sort.name) == own)
            })
        });
        if let Some(group) = itself {
            return Some(identifier(&group.name));
        }
        let wanted = prefix.to_lowercase();
        self.around
            .groups
            .iter()
            .filter(|group| prefix.len() <= 3 && group.name.to_lowercase().starts_with(&wanted))
            .map(|group| identifier(&group.name))
            .min_by_key(String::len)
            .map(|name| first_word(&name))
    }

    fn free(&self, wanted: &str) -> String {
        let held = |name: &str| self.named.iter().any(|known| known.name == name) || self.is_held(name);
        let mut name = wanted.to_owned();
        let mut number = 2;
        while held(&name) {
            name = format!("{wanted}{number}");
            number += 1;
        }
        name
    }

    fn unheld(self) -> Vec<String> {
        self.named.into_iter().filter(|known| !known.held).map(|known| known.name).collect()
    }
}

/// Texts that differ only in a number between the same words: `v0_Audit`, `v1_Audit`.
struct Numbered {
    word: String,
    numbers: Column,
    tail: String,
}

impl Numbered {
    fn name(&self) -> &'static str {
        match self.word.trim_end_matches(['_', '-', '.']).to_lowercase().as_str() {
            "v" | "ver" | "version" => "version",
            "r" | "rev" | "revision" => "revision",
            _ => "number",
        }
    }
}

/// The number that is the only difference between a column's values. A delimiter and a word must follow it,
/// because `user1` and `user2` are two names.
fn numbered(column: &Column) -> Option<Numbered> {
    let cut = |text: &str| -> Option<(String, String, String)> {
        let from = text.find(|letter: char| letter.is_ascii_digit())?;
        let (word, rest) = text.split_at_checked(from)?;
        let to = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, tail) = rest.split_at_checked(to)?;
        Some((word.to_owned(), number.to_owned(), tail.to_owned()))
    };
    let mut rows = column.iter().filter(|_| column.len() > 1).map(|(at, text)| Some((*at, cut(text)?)));
    let (first, (word, number, tail)) = rows.next()??;
    let behind = tail.strip_prefix(['_', '-', '.'])?;
    if !word.starts_with(char::is_alphabetic) || !behind.starts_with(char::is_alphabetic) {
        return None;
    }
    let mut numbers = Column::from([(first, number)]);
    for row in rows {
        let (at, (own, number, rest)) = row?;
        if own != word || rest != tail {
            return None;
        }
        numbers.insert(at, number);
    }
    constant(&numbers).is_none().then_some(Numbered { word, numbers, tail })
}

/// A printed template with `*` for each variable.
fn lead(printed: &str) -> String {
    let Ok(template) = Template::parse(printed) else { return printed.to_owned() };
    let text = |part: &Part| if let Part::Literal(text) = part { text.clone() } else { "*".to_owned() };
    template.parts.iter().map(text).collect()
}

/// Whether two places hold the same value in every item that has both. After different prefixes a single
/// value proves nothing: order 12345 and customer 12345 are unrelated.
fn same(known: &Variable, column: &Column, prefix: Option<&str>) -> bool {
    let prefixes_agree = known.prefix.as_deref().zip(prefix).is_none_or(|(one, other)| one == other)
        || constant(column).is_none();
    prefixes_agree
        && !column.is_empty()
        && column.iter().all(|(at, value)| known.values.get(at) == Some(value))
}

/// Whether an attribute's name says only that it is a key (`PK`, `GSI1-SK`), and nothing about its contents.
pub(super) fn is_generic(name: &str) -> bool {
    let bare: String = name.to_lowercase().chars().filter(char::is_ascii_alphabetic).collect();
    matches!(
        bare.as_str(),
        "pk" | "sk"
            | "gsipk"
            | "gsisk"
            | "gspk"
            | "gssk"
            | "lsipk"
            | "lsisk"
            | "lspk"
            | "lssk"
            | "pkgsi"
            | "skgsi"
            | "hk"
            | "rk"
            | "hashkey"
            | "rangekey"
            | "partitionkey"
            | "sortkey"
            | "gsipartitionkey"
            | "gsisortkey"
            | "gsihashkey"
            | "gsirangekey"
            | "data"
    )
}

/// Whether the name can stand in a template.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '-')
}

/// The first word of a camel-case name: `order` of `orderItem`.
fn first_word(name: &str) -> String {
    let end = name.char_indices().skip(1).find(|(_, letter)| letter.is_uppercase() || *letter == '_');
    end.and_then(|(at, _)| name.get(..at)).unwrap_or(name).to_owned()
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if text.chars().any(char::is_lowercase) => first.to_lowercase().chain(letters).collect(),
        Some(_) => text.to_lowercase(),
        None => String::new(),
    }
}
