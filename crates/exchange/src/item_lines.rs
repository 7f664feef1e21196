//! Items as lines of text: `DynamoDB`'s typed JSON, plain JSON, and CSV.
//!
//! Typed lines and CSV keep every value. Plain JSON has no binary values and no sets: they are written as
//! texts and lists. It knows no files; callers pass lines.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use keywright_semantics::schema::{KeyAttribute, KeyType};
use keywright_semantics::value::{AttributeValue, Item, ValueType};

use keywright_model::item_json::{ordered, read_item, write_item, write_value};
use keywright_model::json::Json;

/// The member of an export's line that holds the item.
const EXPORTED: &str = "Item";
/// What separates a column's name from its type.
const TYPE_SIGN: char = ':';
/// First letters of a cell that spreadsheet programs take for a formula, or skip before one (OWASP: CSV
/// injection).
const FORMULA_SIGNS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// A form of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `{"Item": {"id": {"S": "1"}}}`, as exports of the service; the item may also stand alone.
    DynamoDb,
    /// `{"id": "1", "n": 2}`
    Plain,
    /// A header with a column for each attribute and type, then a record for each item.
    Csv,
}

/// A column of CSV: an attribute of one type. An attribute of several types has several columns.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    name: String,
    value_type: ValueType,
}

/// Reads items from lines.
#[derive(Clone, Debug)]
pub struct Reader {
    form: Option<Form>,
    /// Whether the lines are CSV; `None` until the first line shows it.
    is_csv: Option<bool>,
    keys: Vec<KeyAttribute>,
    /// The header of CSV, once read.
    columns: Option<Vec<Column>>,
    /// The beginning of a CSV record whose quotation marks are still open.
    begun: String,
}

impl Reader {
    /// A reader of items for a table with these key attributes. Without a form the lines show it: JSON is
    /// typed if all its values are, and every other text is CSV.
    pub const fn new(form: Option<Form>, keys: Vec<KeyAttribute>) -> Self {
        Self { form, is_csv: None, keys, columns: None, begun: String::new() }
    }

    /// Reads the next line, without its end; `None` if it completes no item. The error says what is wrong
    /// with it.
    pub fn line(&mut self, line: &str) -> Result<Option<Item>, String> {
        if line.trim().is_empty() && self.begun.is_empty() {
            return Ok(None);
        }
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        let form = self.form;
        let is_csv = self.is_csv.get_or_insert_with(|| {
            form.map_or_else(|| !line.trim_start().starts_with('{'), |form| form == Form::Csv)
        });
        let item = if *is_csv { self.csv(line)? } else { Some(self.json(line)?) };
        let Some(mut item) = item else { return Ok(None) };
        self.check_key(&mut item)?;
        Ok(Some(item))
    }

    /// Checks that no record is open after the last line.
    pub fn finish(&self) -> Result<(), String> {
        if self.begun.is_empty() { Ok(()) } else { Err("a quotation mark is not closed".to_owned()) }
    }

    fn json(&self, line: &str) -> Result<Item, String> {
        let json = Json::parse(line).map_err(|fault| fault.to_string())?;
        let inner = match json.members() {
            [(name, inner)] if name == EXPORTED && matches!(inner, Json::Object(_)) => Some(inner),
            _ => None,
        };
        let typed = |json: &Json| read_item(json).filter(|read| read.typed).map(|read| read.item);
        match self.form {
            Some(Form::Plain) => plain_item(&json),
            Some(_) => typed(inner.unwrap_or(&json)).ok_or_else(|| {
                "a value is not in DynamoDB's typed form, such as {\"S\": \"text\"} or {\"N\": \"1\"}"
                    .to_owned()
            }),
            None => inner.and_then(typed).or_else(|| typed(&json)).map_or_else(|| plain_item(&json), Ok),
        }
    }

    fn csv(&mut self, line: &str) -> Result<Option<Item>, String> {
        let is_open = !self.begun.is_empty();
        if is_open {
            self.begun.push('\n');
        }
        self.begun.push_str(line);
        // A carriage return ends the record, or belongs to a text that the line does not end.
        let ended = line.strip_suffix('\r').unwrap_or(line);
        // The record is parsed once, however many lines it has.
        if is_open && !closes(ended) {
            return Ok(None);
        }
        let record = self.begun.strip_suffix('\r').unwrap_or(&self.begun);
        let Some(cells) = cells(record)? else { return Ok(None) };
        self.begun.clear();
        let Some(columns) = &self.columns else {
            let columns = cells.iter().map(|cell| self.column(&cell.text)).collect();
            self.columns = Some(columns);
            return Ok(None);
        };
        if cells.len() != columns.len() {
            return Err(format!("{} values, but the header has {} columns", cells.len(), columns.len()));
        }
        let mut attributes = Vec::new();
        for (column, cell) in columns.iter().zip(&cells) {
            if cell.text.is_empty() && !cell.is_quoted {
                continue;
            }
            let value = cell_value(column.value_type, &cell.text).ok_or_else(|| {
                format!(
                    "{} is `{}`, which is no value of type {}",
                    column.name,
                    cell.text,
                    column.value_type.name()
                )
            })?;
            attributes.push((column.name.clone(), value));
        }
        Ok(Some(attributes.into_iter().collect()))
    }

    /// `age:N` is a number; a name without a type is a key attribute of its type, or a text.
    fn column(&self, header: &str) -> Column {
        let typed = header.rsplit_once(TYPE_SIGN).and_then(|(name, value_type)| {
            Some(Column { name: name.to_owned(), value_type: ValueType::from_name(value_type)? })
        });
        typed.unwrap_or_else(|| {
            let key = self.keys.iter().find(|key| key.name == header);
            let value_type =
                key.and_then(|key| ValueType::from_name(key.key_type.name())).unwrap_or(ValueType::S);
            Column { name: header.to_owned(), value_type }
        })
    }

    /// Every item has the table's key. A plain number or text becomes what the key needs.
    fn check_key(&self, item: &mut Item) -> Result<(), String> {
        for key in &self.keys {
            let Some(value) = item.get_mut(&key.name) else {
                return Err(format!("the key attribute {} is missing", key.name));
            };
            let converted = match (key.key_type, &*value) {
                (KeyType::S, AttributeValue::S(_))
                | (KeyType::N, AttributeValue::N(_))
                | (KeyType::B, AttributeValue::B(_)) => continue,
                (KeyType::N, AttributeValue::S(text)) => AttributeValue::number(text).ok(),
                (KeyType::S, AttributeValue::N(number)) => Some(AttributeValue::S(number.to_string())),
                (KeyType::B, AttributeValue::S(text)) => BASE64.decode(text).ok().map(AttributeValue::B),
                _ => None,
            };
            *value = converted.filter(|_| self.form != Some(Form::DynamoDb)).ok_or_else(|| {
                format!("the key attribute {} must have type {}", key.name, key.key_type.name())
            })?;
        }
        Ok(())
    }
}

/// Whether cells of CSV are written for programs that compute cells beginning like a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formulas {
    /// Every cell is exact: what is read back is what was written.
    Kept,
    /// A cell that begins like a formula begins with an apostrophe, so that spreadsheets show it as text.
    Defused,
}

/// Writes items as lines.
#[derive(Clone, Debug)]
pub struct Writer {
    form: Form,
    formulas: Formulas,
    keys: Vec<KeyAttribute>,
    /// The types of each attribute that was seen, for CSV.
    seen: BTreeMap<String, Vec<ValueType>>,
}

impl Writer {
    /// A writer of items of a table with these key attributes, which come first.
    pub const fn new(form: Form, keys: Vec<KeyAttribute>) -> Self {
        Self { form, formulas: Formulas::Kept, keys, seen: BTreeMap::new() }
    }

    /// The writer with another rule for cells of CSV that begin like a formula.
    #[must_use]
    pub fn with_formulas(self, formulas: Formulas) -> Self {
        Self { formulas, ..self }
    }

    /// Notes the attributes of an item. CSV needs those of all items before the first line is written.
    pub fn see(&mut self, item: &Item) {
        for (name, value) in item {
            let Some(value_type) = ValueType::from_name(value.type_name()) else { continue };
            let types = match self.seen.get_mut(name) {
                Some(types) => types,
                None => self.seen.entry(name.clone()).or_default(),
            };
            if !types.contains(&value_type) {
                types.push(value_type);
            }
        }
    }

    /// The items seen become the columns of CSV.
    pub fn printer(self) -> Printer {
        let Self { form, formulas, keys, mut seen } = self;
        let mut columns = Vec::new();
        let mut add = |name: String, types: Vec<ValueType>| {
            columns.extend(types.into_iter().map(|value_type| Column { name: name.clone(), value_type }));
        };
        for key in &keys {
            if let Some((name, types)) = seen.remove_entry(&key.name) {
                add(name, types);
            }
        }
        for (name, types) in seen {
            add(name, types);
        }
        let mut places: BTreeMap<String, Vec<(ValueType, usize)>> = BTreeMap::new();
        for (place, column) in columns.iter().enumerate() {
            places.entry(column.name.clone()).or_default().push((column.value_type, place));
        }
        let all = places.values().map(Vec::len).sum::<usize>();
        assert_eq!(all, columns.len(), "each column has an attribute and a type");
        let order = keys.into_iter().map(|key| key.name).collect();
        Printer { form, formulas, order, columns, places }
    }
}

/// The lines of items whose attributes are known.
#[derive(Clone, Debug)]
pub struct Printer {
    form: Form,
    formulas: Formulas,
    /// The attributes that come first.
    order: Vec<String>,
    columns: Vec<Column>,
    /// The types of each attribute's columns, and where they stand.
    places: BTreeMap<String, Vec<(ValueType, usize)>>,
}

impl Printer {
    /// The line before all items, if the form has one.
    pub fn header(&self) -> Option<String> {
        let names = self.columns.iter().map(|column| {
            let name = format!("{}{TYPE_SIGN}{}", column.name, column.value_type.name());
            quoted(&self.defused(ValueType::S, name))
        });
        (self.form == Form::Csv).then(|| names.collect::<Vec<_>>().join(","))
    }

    /// The line of an item.
    pub fn line(&self, item: &Item) -> String {
        match self.form {
            Form::DynamoDb => Json::object([(EXPORTED, write_item(item, &self.order))]).compact(),
            Form::Plain => {
                let members = ordered(item, &self.order).map(|(name, value)| (name.clone(), plain(value)));
                Json::Object(members.collect()).compact()
            }
            Form::Csv => self.record(item),
        }
    }

    /// A record of CSV: the item's cells, and between them a comma for each column.
    fn record(&self, item: &Item) -> String {
        let mut cells: Vec<(usize, String)> = item
            .iter()
            .filter_map(|(name, value)| {
                let value_type = ValueType::from_name(value.type_name())?;
                let (_, place) = self.places.get(name)?.iter().find(|(known, _)| *known == value_type)?;
                Some((*place, self.cell(value_type, value)))
            })
            .collect();
        cells.sort_unstable_by_key(|(place, _)| *place);
        let mut record = String::new();
        let mut at = 0;
        for (place, cell) in cells {
            record.extend(std::iter::repeat_n(',', place - at));
            record.push_str(&cell);
            at = place;
        }
        record.extend(std::iter::repeat_n(',', self.columns.len().saturating_sub(at + 1)));
        record
    }

    fn cell(&self, value_type: ValueType, value: &AttributeValue) -> String {
        let text = cell_text(value);
        if text.is_empty() { "\"\"".to_owned() } else { quoted(&self.defused(value_type, text)) }
    }

    /// The text of a cell, after an apostrophe if a spreadsheet would compute it. A number is no formula.
    fn defused(&self, value_type: ValueType, text: String) -> String {
        let begins = value_type != ValueType::N && text.starts_with(FORMULA_SIGNS);
        if self.formulas == Formulas::Defused && begins { format!("'{text}") } else { text }
    }
}

/// An object whose values are taken as they are, without the typed form.
fn plain_item(json: &Json) -> Result<Item, String> {
    match json {
        Json::Object(members) => {
            members.iter().map(|(name, value)| Ok((name.clone(), plain_value(value)?))).collect()
        }
        _ => Err("an item is a JSON object".to_owned()),
    }
}

fn plain_value(json: &Json) -> Result<AttributeValue, String> {
    Ok(match json {
        Json::Null => AttributeValue::Null,
        Json::Bool(value) => AttributeValue::Bool(*value),
        Json::Number(digits) => {
            AttributeValue::number(digits).map_err(|_| format!("{digits} is no number of DynamoDB"))?
        }
        Json::Text(text) => AttributeValue::S(text.clone()),
        Json::List(elements) => {
            AttributeValue::L(elements.iter().map(plain_value).collect::<Result<Vec<_>, String>>()?)
        }
        Json::Object(_) => AttributeValue::M(plain_item(json)?),
    })
}

fn plain(value: &AttributeValue) -> Json {
    match value {
        AttributeValue::S(text) => Json::text(text),
        AttributeValue::N(number) => Json::number(number),
        AttributeValue::B(bytes) => Json::text(BASE64.encode(bytes)),
        AttributeValue::Bool(value) => Json::Bool(*value),
        AttributeValue::Null => Json::Null,
        AttributeValue::L(elements) => Json::List(elements.iter().map(plain).collect()),
        AttributeValue::M(members) => {
            Json::Object(members.iter().map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        AttributeValue::Ss(members) => Json::List(members.iter().map(Json::text).collect()),
        AttributeValue::Ns(members) => Json::List(members.iter().map(Json::number).collect()),
        AttributeValue::Bs(members) => {
            Json::List(members.iter().map(|bytes| Json::text(BASE64.encode(bytes))).collect())
        }
    }
}

/// A cell of a record. A quoted empty cell is an empty text, any other empty cell no value.
struct Cell {
    text: String,
    is_quoted: bool,
}

/// The cells of a record; `None` if a quotation mark is still open.
fn cells(record: &str) -> Result<Option<Vec<Cell>>, String> {
    let mut found = Vec::new();
    let mut rest = record;
    loop {
        let cell = if let Some(quoted) = rest.strip_prefix('"') {
            let Some((text, after)) = quoted_cell(quoted) else { return Ok(None) };
            rest = after;
            Cell { text, is_quoted: true }
        } else {
            let (text, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
            rest = after;
            Cell { text: text.to_owned(), is_quoted: false }
        };
        found.push(cell);
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None if rest.is_empty() => return Ok(Some(found)),
            None => {
                return Err(
                    "a closing quotation mark is not followed by a comma; write two for one".to_owned()
                );
            }
        }
    }
}

/// Whether a line that begins between quotation marks ends its record.
fn closes(line: &str) -> bool {
    let Some((_, after)) = quoted_cell(line) else { return false };
    let rest = after.strip_prefix(',').map(cells);
    !matches!(rest, Some(Ok(None)))
}

/// The text up to the closing quotation mark, and what follows it.
fn quoted_cell(text: &str) -> Option<(String, &str)> {
    let mut cell = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        cell.push_str(before);
        match after.strip_prefix('"') {
            Some(more) => {
                cell.push('"');
                rest = more;
            }
            None => return Some((cell, after)),
        }
    }
}

/// The value of a cell. Sets, lists and maps are written as their typed JSON.
fn cell_value(value_type: ValueType, text: &str) -> Option<AttributeValue> {
    let body = match value_type {
        ValueType::S | ValueType::N | ValueType::B => Json::text(text),
        _ => Json::parse(text).ok()?,
    };
    let json = Json::object([("value", Json::object([(value_type.name(), body)]))]);
    let mut read = read_item(&json).filter(|read| read.typed)?.item;
    read.remove("value")
}

/// The text of a cell before it is quoted.
fn cell_text(value: &AttributeValue) -> String {
    match write_value(value).members() {
        [(_, Json::Text(text))] => text.clone(),
        [(_, body)] => body.compact(),
        _ => String::new(),
    }
}

/// In quotation marks if the text could be mistaken otherwise.
fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) || text.trim() != text {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Vec<KeyAttribute> {
        vec![
            KeyAttribute { name: "pk".to_owned(), key_type: KeyType::S },
            KeyAttribute { name: "n".to_owned(), key_type: KeyType::N },
        ]
    }

    fn read(form: Option<Form>, text: &str) -> Result<Vec<Item>, String> {
        let mut reader = Reader::new(form, keys());
        let mut found = Vec::new();
        for line in text.split('\n') {
            found.extend(reader.line(line)?);
        }
        reader.finish()?;
        Ok(found)
    }

    fn text(lines: &Printer, items: &[Item]) -> String {
        let records = items.iter().map(|item| lines.line(item));
        lines.header().into_iter().chain(records).collect::<Vec<_>>().join("\n")
    }

    fn plain_line(item: &Item) -> String {
        Writer::new(Form::Plain, keys()).printer().line(item)
    }

    const ITEMS: &str = r#"{"pk":{"S":"a,\"b\"\nc"},"n":{"N":"-1.50"},"b":{"B":"AAE="},"bs":{"BS":["AA=="]},"e":{"S":""},"l":{"L":[{"BOOL":true},{"NULL":true}]},"m":{"M":{"n":{"N":"1.5"}}},"ns":{"NS":["1","2"]},"on":{"BOOL":false},"ss":{"SS":["a","b"]},"x":{"S":" x"}}
{"Item":{"pk":{"S":"2"},"n":{"N":"100000000000000000000000000000000000000"},"x":{"N":"7"},"gone":{"NULL":true},"odd:name":{"S":"1"}}}"#;

    #[test]
    fn carriage_returns_of_a_text_are_kept_and_those_of_line_ends_are_not() {
        let texts = ["a\r\nb", "a\r\n\r\nb", "\r\n", "a\rb", "a\n\rb", "a\r", "\r"];
        let item = |(at, text): (usize, &&str)| {
            let key = AttributeValue::S(at.to_string());
            Item::from([("pk".to_owned(), key), ("v".to_owned(), AttributeValue::S((*text).to_owned()))])
        };
        let items: Vec<Item> = texts.iter().enumerate().map(item).collect();
        let mut writer = Writer::new(Form::Csv, Vec::new());
        for item in &items {
            writer.see(item);
        }
        let text = text(&writer.printer(), &items);
        let read = |text: &str| {
            let mut reader = Reader::new(Some(Form::Csv), Vec::new());
            let lines = text.split('\n').filter_map(|line| reader.line(line).expect("a line"));
            lines.collect::<Vec<_>>()
        };
        assert_eq!(read(&text), items, "{text:?}");
        let of_windows = "pk,v\r\n1,\"x\"\r\n2,y\r\n";
        let values = read(of_windows);
        assert_eq!(
            values.iter().filter_map(|item| item.get("v")).collect::<Vec<_>>(),
            [&AttributeValue::S("x".to_owned()), &AttributeValue::S("y".to_owned()),]
        );
    }

    #[test]
    fn typed_lines_and_csv_keep_every_value() {
        let items = read(None, ITEMS).expect("items");
        assert_eq!(items.len(), 2);
        for form in [Form::DynamoDb, Form::Csv] {
            let mut writer = Writer::new(form, keys());
            for item in &items {
                writer.see(item);
            }
            let text = text(&writer.printer(), &items);
            assert_eq!(read(None, &text).expect(&text), items, "{text}");
            assert_eq!(
                read(Some(form), &text.replace(",\n", ",\r\n").replace("}\n", "}\r\n")).expect(&text),
                items,
                "{text}"
            );
        }
    }

    #[test]
    fn plain_lines_hold_what_json_holds() {
        let text = r#"{"pk":"a","n":12,"deep":{"S":"x"},"list":[1,"two",null,true]}"#;
        let items = read(Some(Form::Plain), text).expect("items");
        assert!(matches!(items[0].get("deep"), Some(AttributeValue::M(_))));
        assert_eq!(plain_line(&items[0]), text);
        let key_types = read(None, r#"{"pk":7,"n":"8"}"#).expect("items");
        assert_eq!(plain_line(&key_types[0]), r#"{"pk":"7","n":8}"#);
    }

    #[test]
    fn csv_without_types_holds_texts_and_keys() {
        let items = read(None, "pk,n,name,age:N\na,1,\"A, B\",7\nb,2,,\nc,3,\"\",").expect("items");
        assert_eq!(
            items.iter().map(plain_line).collect::<Vec<_>>(),
            [
                r#"{"pk":"a","n":1,"age":7,"name":"A, B"}"#,
                r#"{"pk":"b","n":2}"#,
                r#"{"pk":"c","n":3,"name":""}"#
            ]
        );
    }

    #[test]
    fn a_record_of_many_lines_is_parsed_once() {
        let line = "\"\",\n".repeat(20_000);
        let records = [
            format!("pk,n,text\na,1,\"{line}\""),
            "pk,n,text\n\"a\nb\",1,\"c\n\"\"d\n\"".to_owned(),
            "pk,n,text\n\"a\n\",1,\"\"\"\n,\"".to_owned(),
        ];
        let texts: Vec<_> = records
            .iter()
            .map(|text| read(None, text).expect("an item")[0].get("text").cloned().expect("a text"))
            .collect();
        assert_eq!(texts, ["\",\n".repeat(20_000).as_str(), "c\n\"d\n", "\"\n,"].map(AttributeValue::from));
        assert!(read(None, &format!("pk,n,text\na,1,\"{line}")).expect_err("open").contains("not closed"));
    }

    #[test]
    fn cells_that_begin_like_a_formula_are_texts_in_spreadsheets_if_that_is_wanted() {
        let texts = ["=cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "a=1", "'=1"];
        let mut items: Vec<Item> = texts
            .into_iter()
            .map(|text| {
                let pk = ("pk".to_owned(), AttributeValue::from(text));
                Item::from([pk, ("n".to_owned(), AttributeValue::from(-1))])
            })
            .collect();
        for item in &mut items {
            item.insert("=x".to_owned(), AttributeValue::Bool(true));
        }
        let mut writer = Writer::new(Form::Csv, keys());
        for item in &items {
            writer.see(item);
        }
        let exact = text(&writer.clone().printer(), &items);
        assert_eq!(read(None, &exact).expect("items"), items);
        let defused = writer.with_formulas(Formulas::Defused).printer();
        let lines: Vec<String> =
            defused.header().into_iter().chain(items.iter().map(|item| defused.line(item))).collect();
        assert_eq!(
            lines,
            [
                "pk:S,n:N,'=x:BOOL",
                "'=cmd|' /C calc'!A0,-1,true",
                "'+1,-1,true",
                "'-1+1,-1,true",
                "'@SUM(A1),-1,true",
                "'\t=1,-1,true",
                "\"'\r=1\",-1,true",
                "'＝1,-1,true",
                "a=1,-1,true",
                "'=1,-1,true",
            ]
        );
    }

    #[test]
    fn a_record_costs_its_cells_and_not_a_search_of_all_columns() {
        let items: Vec<Item> = (0..400)
            .map(|row| {
                let names = (0..60).map(|at| (format!("a{row:03}_{at:02}"), AttributeValue::from(1000 + at)));
                let key = [("pk".to_owned(), AttributeValue::from("p")), ("n".to_owned(), row.into())];
                names.chain(key).collect()
            })
            .collect();
        let mut writer = Writer::new(Form::Csv, keys());
        for item in &items {
            writer.see(item);
        }
        let lines = writer.printer();
        // As many commas as columns less one, and the header sorted once: cells stand in their places.
        for (row, item) in items.iter().enumerate() {
            let record = lines.line(item);
            assert_eq!(record.matches(',').count(), 400 * 60 + 1);
            let first = record.split(',').position(|cell| cell == "1059").expect("the last cell");
            assert_eq!(first, 2 + row * 60 + 59);
        }
        assert_eq!(read(None, &text(&lines, &items[..3])).expect("items"), items[..3]);
    }

    #[test]
    fn faults_say_what_is_wrong() {
        for (form, text, part) in [
            (None, r#"{"pk":"a"}"#, "n is missing"),
            (None, r#"{"pk":"a","n":[1]}"#, "n must have type N"),
            (Some(Form::DynamoDb), r#"{"pk":{"S":"a"},"n":{"S":"1"}}"#, "n must have type N"),
            (Some(Form::DynamoDb), r#"{"pk":"a","n":1}"#, "typed form"),
            (None, "pk,n\na", "1 values, but the header has 2 columns"),
            (None, "pk,n\na,x", "no value of type N"),
            (None, "pk,n\n\"a", "not closed"),
            (None, "pk,n\n\"a\"b,1", "followed by a comma"),
            (None, "{", "JSON"),
            (None, "{\"pk\":\"a\",\"n\":1}\nnonsense", "JSON"),
        ] {
            let fault = read(form, text).expect_err(text);
            assert!(fault.contains(part), "{text}: {fault}");
        }
    }
}
