//! The symbols of an object: those of Ion 1.0, and those of the object's tables.

use super::value::Value;

/// The symbols of Ion 1.0, from number 1.
const SYSTEM: [&str; 9] = [
    "$ion",
    "$ion_1_0",
    "$ion_symbol_table",
    "name",
    "version",
    "imports",
    "symbols",
    "max_id",
    "$ion_shared_symbol_table",
];

/// Memory of an object's symbols at most.
const BYTES_MAX: usize = 8 * 1024 * 1024;
/// Memory of a symbol besides its text.
const SYMBOL_BYTES: usize = 32;

/// Texts by number.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    /// The texts after those of Ion; none for a symbol without text.
    local: Vec<Option<String>>,
    bytes: usize,
}

impl Symbols {
    /// The text of a symbol, or why it has none.
    pub(super) fn text(&self, number: usize) -> Result<&str, String> {
        let found = match number.checked_sub(1) {
            None => None,
            Some(place) => match SYSTEM.get(place) {
                Some(text) => Some(*text),
                None => self.local.get(place - SYSTEM.len()).and_then(Option::as_deref),
            },
        };
        found.ok_or_else(|| format!("the symbol ${number} has no text"))
    }

    /// Forgets the tables before a version marker.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes in a table: it replaces those before it, or adds to them. A table that names shared tables is
    /// refused: we have none, and their numbers of symbols have no bound.
    pub(super) fn take_in(&mut self, table: &Value) -> Result<(), String> {
        let Value::Struct(fields) = table else {
            return Err("a table of symbols is not a struct".to_owned());
        };
        let field = |name: &str| fields.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value);
        match field("imports") {
            None | Some(Value::Null) => self.clear(),
            Some(Value::Symbol(text)) if text == "$ion_symbol_table" => {}
            Some(_) => return Err("it needs shared tables of symbols".to_owned()),
        }
        let Some(Value::List(_, symbols)) = field("symbols") else { return Ok(()) };
        for symbol in symbols {
            let text = match symbol {
                Value::String(text) => Some(text.clone()),
                _ => None,
            };
            self.bytes += SYMBOL_BYTES + text.as_ref().map_or(0, String::len);
            if self.bytes > BYTES_MAX {
                return Err(format!("its symbols take more than {BYTES_MAX} bytes"));
            }
            self.local.push(text);
        }
        Ok(())
    }
}
