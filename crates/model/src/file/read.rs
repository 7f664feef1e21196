//! Reads a model file: YAML nodes into the model's types, every fault collected.
//!
//! This file has the top level of the model file and the shared
//! tools; tables, entities and patterns have their own files.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::schema::KeyType;

use super::ast::{DataSource, Generate, Model, RawItems, Records};
use super::fault::{At, FAULTS_MAX, Fault, Faults, Found};
use super::names::did_you_mean;
use super::yaml::{self, Node, NodeKind};
use super::{read_entity, read_pattern, read_table, references};

/// The only supported version of the format.
const FORMAT: u64 = 1;

/// Fields of the top level, of `data` and of `data.generate`; the published schema lists the same.
pub(super) const MODEL_FIELDS: &[&str] =
    &["format", "model", "text", "prices", "tables", "entities", "patterns", "data"];
pub(super) const DATA_FIELDS: &[&str] = &["file", "files", "inline", "items", "generate"];
pub(super) const GENERATE_FIELDS: &[&str] = &["seed", "sample"];

/// The most items of one entity that are generated.
const SAMPLE_MAX: u64 = 100_000;

/// A message lists all choices up to this number instead of suggesting the nearest one.
const CHOICES_FEW: usize = 3;

/// Hints made in one reading: more than the faults that are kept, because one name can have several. Each
/// compares all known names.
const HINTS_MAX: usize = 3 * FAULTS_MAX;

/// Lines that a message about an unknown name lists.
const LINES_LISTED_MAX: usize = 5;

/// Reads a model file.
pub fn parse(text: &str) -> Result<Model, Faults> {
    let root = yaml::read(text).map_err(|fault| vec![fault])?;
    let mut reader = Reader::default();
    let model = read_model(&mut reader, &root);
    references::check(&mut reader, &model);
    reader.fold_unknown_names();
    if reader.faults.is_empty() {
        return Ok(model);
    }
    Err(reader.faults.sorted())
}

fn read_model(reader: &mut Reader, root: &Node) -> Model {
    let Some(fields) = reader.fields(root, "the model", MODEL_FIELDS) else {
        return Model::default();
    };
    match fields.get("format").map(|format| reader.integer(format, "`format`")) {
        None => reader.fault(root.at, "`format` is missing: write `format: 1`"),
        Some(Some(FORMAT) | None) => {}
        Some(Some(_)) => reader.fault(fields.at("format"), "this program reads `format: 1`"),
    }
    let mut model = Model {
        name: reader.required_text(&fields, "model"),
        text: reader.optional_text(&fields, "text"),
        prices: reader.optional_text(&fields, "prices"),
        ..Model::default()
    };
    model.extensions = root
        .members()
        .filter(|(name, _)| name.starts_with("x-"))
        .map(|(name, node)| (name.to_owned(), node.clone()))
        .collect();
    model.tables = reader.named(&fields, "tables", read_table::table);
    model.entities = reader.named(&fields, "entities", read_entity::entity);
    complete(reader, &mut model);
    if let Some(node) = fields.get("patterns") {
        for element in reader.list(node, "`patterns`") {
            model.patterns.extend(read_pattern::pattern(reader, element));
        }
    }
    if let Some(node) = fields.get("data") {
        model.data = data(reader, node);
    }
    model
}

/// Fills in what the file can leave out: an entity's table when there is only one table; types of key
/// attributes that are attributes of entities; `pk` and `sk` for the names of a key's attributes.
fn complete(reader: &mut Reader, model: &mut Model) {
    if let [table] = model.tables.as_slice() {
        for entity in model.entities.iter_mut().filter(|entity| entity.table.is_empty()) {
            entity.table.clone_from(&table.name);
        }
    }
    for entity in &model.entities {
        if entity.table.is_empty() && reader.broken.is_empty() {
            reader.fault(entity.at, format!("which table holds `{}`? Write `table: …`", entity.name));
        }
    }
    let entities = model.entities.clone();
    for table in &mut model.tables {
        let name = table.name.clone();
        let known = table.key_parts().cloned().collect::<Vec<_>>();
        for part in
            table.indexes.iter_mut().flat_map(|index| index.partition.iter_mut().chain(&mut index.sort))
        {
            let own = known.iter().find(|key| key.name == part.name).map(|key| key.key_type);
            let declared = entities.iter().filter(|entity| entity.table == name).find_map(|entity| {
                entity.attribute(&part.name).and_then(|attribute| read_table::key_type(attribute.value_type))
            });
            part.key_type = own.or(declared).unwrap_or(KeyType::S);
        }
    }
    for entity in &mut model.entities {
        let Some(table) = model.tables.iter().find(|table| table.name == entity.table) else { continue };
        let parts: Vec<&str> = table.key_parts().map(|part| part.name.as_str()).collect();
        read_entity::name_slot(
            reader,
            &mut entity.key,
            parts.get(..1).unwrap_or_default(),
            parts.get(1..).unwrap_or_default(),
        );
        for (name, slot) in &mut entity.slots {
            let Some(index) = table.index(name) else { continue };
            let partition: Vec<&str> = index.partition.iter().map(|part| part.name.as_str()).collect();
            let sort: Vec<&str> = index.sort.iter().map(|part| part.name.as_str()).collect();
            read_entity::name_slot(reader, slot, &partition, &sort);
        }
    }
}

fn data(reader: &mut Reader, node: &Node) -> DataSource {
    if let NodeKind::Text(file) = &node.kind {
        return DataSource { files: vec![(file.clone(), node.at)], ..DataSource::default() };
    }
    let mut source = DataSource::default();
    let Some(fields) = reader.fields(node, "`data`", DATA_FIELDS) else { return source };
    for name in ["file", "files"] {
        for file in fields.get(name).map(Node::elements).unwrap_or_default() {
            source.files.extend(reader.text(file, "a file's name").map(|name| (name, file.at)));
        }
    }
    for (entity, records) in
        fields.get("inline").map(|node| reader.members(node, "`inline`")).unwrap_or_default()
    {
        let at = records.at;
        let records = reader.list(records, &format!("`{entity}`")).to_vec();
        source.records.push(Records { at, entity: entity.to_owned(), records });
    }
    for (table, items) in fields.get("items").map(|node| reader.members(node, "`items`")).unwrap_or_default()
    {
        let at = items.at;
        let items = reader.list(items, &format!("`{table}`")).to_vec();
        source.items.push(RawItems { at, table: table.to_owned(), items });
    }
    source.generate = fields.get("generate").and_then(|node| generate(reader, node));
    source
}

fn generate(reader: &mut Reader, node: &Node) -> Option<Generate> {
    let fields = reader.fields(node, "`generate`", GENERATE_FIELDS)?;
    let seed = fields.get("seed").and_then(|seed| reader.integer(seed, "`seed`")).unwrap_or(1);
    let sample = fields.get("sample").and_then(|sample| reader.integer(sample, "`sample`")).unwrap_or(1000);
    if sample == 0 || sample > SAMPLE_MAX {
        reader.fault(fields.at("sample"), format!("`sample` is from 1 to {SAMPLE_MAX} items"));
        return None;
    }
    Some(Generate { seed, sample })
}

/// Collects faults and reads scalars, lists and mappings.
#[derive(Default)]
pub(super) struct Reader {
    faults: Found,
    /// Positions of fields that refer to other things, by the position of the thing that has the field.
    places: BTreeMap<(At, &'static str), At>,
    /// Tables and entities that could not be read. References to them are not reported again.
    broken: BTreeSet<String>,
    /// Faults of names that nothing has, by name. One typo makes a fault at each use of the name.
    unknown: BTreeMap<String, Unknown>,
    hints: usize,
}

/// The faults of one unknown name.
struct Unknown {
    first: Fault,
    /// The lines of all of them.
    lines: BTreeSet<usize>,
}

/// The fields of a mapping, after unknown names were reported.
pub(super) struct Fields<'a> {
    node: &'a Node,
}

impl<'a> Fields<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&'a Node> {
        self.node.get(name)
    }

    pub(super) fn of(node: &'a Node) -> Self {
        Self { node }
    }

    /// The fields that are present, with the positions of their
    /// names; the author's own fields, `x-*`, are left out.
    pub(super) fn names(&self) -> Vec<(String, At)> {
        let NodeKind::Map(members) = &self.node.kind else { return Vec::new() };
        let named = members.iter().filter_map(|(key, _)| Some((key.scalar()?, key.at)));
        named.filter(|(name, _)| !name.starts_with("x-")).collect()
    }

    /// The position of a field's value, or of the whole mapping if the field is missing.
    pub(super) fn at(&self, name: &str) -> At {
        self.get(name).map_or(self.node.at, |node| node.at)
    }
}

impl Reader {
    pub(super) fn fault(&mut self, at: At, text: impl Into<String>) {
        self.faults.add(Fault::new(at, text));
    }

    /// A fault of a name that nothing has. Of several faults of one name the first is reported, with the
    /// lines of the others.
    pub(super) fn unknown(&mut self, at: At, name: &str, text: impl Into<String>) {
        let fault = Fault::new(at, text);
        if let Some(known) = self.unknown.get_mut(name) {
            known.lines.insert(at.line);
            if fault < known.first {
                known.first = fault;
            }
        } else if self.unknown.len() < FAULTS_MAX {
            let lines = BTreeSet::from([at.line]);
            self.unknown.insert(name.to_owned(), Unknown { first: fault, lines });
        } else {
            self.faults.add(fault);
        }
    }

    /// [`did_you_mean`], while faults are kept.
    pub(super) fn hint<'n>(&mut self, name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
        if self.faults.is_full() || self.hints >= HINTS_MAX {
            return String::new();
        }
        self.hints += 1;
        did_you_mean(name, known)
    }

    fn fold_unknown_names(&mut self) {
        for Unknown { mut first, mut lines } in std::mem::take(&mut self.unknown).into_values() {
            lines.remove(&first.at.line);
            let listed: Vec<String> = lines.iter().take(LINES_LISTED_MAX).map(usize::to_string).collect();
            let rest = match lines.len().saturating_sub(LINES_LISTED_MAX) {
                0 => String::new(),
                rest => format!(" and {rest} more"),
            };
            if !listed.is_empty() {
                let noun = if lines.len() == 1 { "line" } else { "lines" };
                first.text = format!("{} (also in {noun} {}{rest})", first.text, listed.join(", "));
            }
            self.faults.add(first);
        }
    }

    /// Remembers the positions of some fields of a thing.
    pub(super) fn mark(&mut self, whole: At, fields: &Fields<'_>, names: &[&'static str]) {
        for name in names.iter().filter(|name| fields.get(name).is_some()) {
            self.places.insert((whole, name), fields.at(name));
        }
    }

    /// The remembered position of a field, or the position of the thing.
    pub(super) fn place(&self, whole: At, names: &[&'static str]) -> At {
        names.iter().find_map(|name| self.places.get(&(whole, name))).copied().unwrap_or(whole)
    }

    /// Records that a thing with this name exists and could not be read.
    pub(super) fn broke(&mut self, name: &str) {
        self.broken.insert(name.to_owned());
    }

    pub(super) fn is_broken(&self, name: &str) -> bool {
        self.broken.contains(name)
    }

    /// The fields of a mapping; unknown fields are reported.
    pub(super) fn fields<'a>(&mut self, node: &'a Node, what: &str, known: &[&str]) -> Option<Fields<'a>> {
        let NodeKind::Map(members) = &node.kind else {
            let text =
                format!("{what} is {} here: write a mapping of {}", node.description(), known.join(", "));
            self.fault(node.at, text);
            return None;
        };
        for (key, _) in members {
            let name = key.scalar().unwrap_or_default();
            if !name.starts_with("x-") && !known.contains(&name.as_str()) {
                let hint = self.hint(&name, known.iter().copied());
                self.fault(key.at, format!("unknown field `{name}` of {what}{hint}"));
            }
        }
        Some(Fields { node })
    }

    /// A mapping whose names the author chooses.
    pub(super) fn members<'a>(&mut self, node: &'a Node, what: &str) -> Vec<(&'a str, &'a Node)> {
        match node.kind {
            NodeKind::Map(_) => node.members().filter(|(name, _)| !name.starts_with("x-")).collect(),
            NodeKind::Null => Vec::new(),
            _ => {
                self.fault(
                    node.at,
                    format!("{what} is {} here: write a mapping, `name: …`", node.description()),
                );
                Vec::new()
            }
        }
    }

    pub(super) fn list<'a>(&mut self, node: &'a Node, what: &str) -> &'a [Node] {
        match &node.kind {
            NodeKind::List(elements) => elements,
            NodeKind::Null => &[],
            _ => {
                self.fault(node.at, format!("{what} is {} here: write a list, `- …`", node.description()));
                &[]
            }
        }
    }

    pub(super) fn text(&mut self, node: &Node, what: &str) -> Option<String> {
        let text = node.scalar();
        if text.is_none() {
            self.fault(node.at, format!("{what} is {} here: write a text", node.description()));
        }
        text
    }

    pub(super) fn optional_text(&mut self, fields: &Fields<'_>, name: &str) -> Option<String> {
        fields.get(name).and_then(|node| self.text(node, &format!("`{name}`")))
    }

    pub(super) fn required_text(&mut self, fields: &Fields<'_>, name: &str) -> String {
        if let Some(node) = fields.get(name) {
            return self.text(node, &format!("`{name}`")).unwrap_or_default();
        }
        self.fault(fields.node.at, format!("`{name}` is missing: write `{name}: …`"));
        String::new()
    }

    /// A text or a list of texts.
    pub(super) fn texts(&mut self, node: &Node, what: &str) -> Vec<String> {
        node.elements().iter().filter_map(|element| self.text(element, what)).collect()
    }

    pub(super) fn optional_texts(&mut self, fields: &Fields<'_>, name: &str) -> Vec<String> {
        fields.get(name).map(|node| self.texts(node, &format!("`{name}`"))).unwrap_or_default()
    }

    /// A non-negative whole number; `1_000_000` is accepted.
    pub(super) fn integer(&mut self, node: &Node, what: &str) -> Option<u64> {
        let number = node.scalar().and_then(|text| text.replace('_', "").parse().ok());
        if number.is_none() {
            let text = format!("{what} is {} here: write a whole number that is not negative", shown(node));
            self.fault(node.at, text);
        }
        number
    }

    pub(super) fn optional_integer(&mut self, fields: &Fields<'_>, name: &str) -> Option<u64> {
        fields.get(name).and_then(|node| self.integer(node, &format!("`{name}`")))
    }

    /// A whole number for which zero has no meaning; the fault says what to write.
    pub(super) fn optional_positive(&mut self, fields: &Fields<'_>, name: &str) -> Option<u64> {
        let number = self.optional_integer(fields, name);
        if number == Some(0) {
            self.fault(fields.at(name), format!("`{name}` is 0 here: write a whole number from 1"));
        }
        number
    }

    /// A non-negative decimal number with at most `decimals` decimals, in units of the last decimal.
    pub(super) fn decimal(&mut self, node: &Node, what: &str, decimals: usize) -> Option<u64> {
        let number = node.scalar().and_then(|text| scaled(&text, decimals));
        if number.is_none() {
            let text =
                format!("{what} is {} here: write a number with at most {decimals} decimals", shown(node));
            self.fault(node.at, text);
        }
        number
    }

    pub(super) fn optional_bool(&mut self, fields: &Fields<'_>, name: &str) -> Option<bool> {
        let node = fields.get(name)?;
        if let NodeKind::Bool(value) = node.kind {
            return Some(value);
        }
        self.fault(node.at, format!("`{name}` is {} here: write true or false", shown(node)));
        None
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&mut self, node: &Node, what: &str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(node, what)?;
        let found = choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            // With few choices all of them are listed: the most similar one need not be the intended one.
            let hint = if names.len() <= CHOICES_FEW {
                format!("; known are {}", names.join(", "))
            } else {
                self.hint(&text, names)
            };
            self.fault(node.at, format!("{what} cannot be `{text}`{hint}"));
        }
        found
    }

    /// The things in a mapping from name to thing.
    fn named<T>(
        &mut self,
        fields: &Fields<'_>,
        name: &str,
        read: impl Fn(&mut Self, &str, At, &Node) -> Option<T>,
    ) -> Vec<T> {
        let Some(node) = fields.get(name) else { return Vec::new() };
        let _ = self.members(node, &format!("`{name}`"));
        let NodeKind::Map(members) = &node.kind else {
            self.broke("");
            return Vec::new();
        };
        let own = members.iter().filter_map(|(key, value)| key.scalar().map(|text| (text, key.at, value)));
        let mut found = Vec::new();
        for (text, at, value) in own.filter(|(text, _, _)| !text.starts_with("x-")) {
            match read(self, &text, at, value) {
                Some(thing) => found.push(thing),
                None => self.broke(&text),
            }
        }
        found
    }
}

fn shown(node: &Node) -> String {
    node.scalar().map_or_else(|| node.description().to_owned(), |text| format!("`{text}`"))
}

/// A decimal text in units of its last decimal: `0.5` with six decimals is 500000.
pub(super) fn scaled(text: &str, decimals: usize) -> Option<u64> {
    let text = text.replace('_', "");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    if fraction.len() > decimals || !yaml::is_number(&text) {
        return None;
    }
    format!("{whole}{fraction:0<decimals$}").parse().ok()
}
