//! Reads one value of Ion 1.0 text. It recurses once for each level: its caller bounds the depth.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::symbols::Symbols;
use super::value::{SetKind, Value};

/// The one value in the text, or why there is none.
pub(super) fn read(bytes: &[u8], symbols: &Symbols) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let mut reader = Reader { text, place: 0, symbols };
    let value = reader.value()?;
    reader.skip_space()?;
    if reader.rest().is_empty() { Ok(value) } else { Err(reader.fault("the end")) }
}

struct Reader<'a> {
    text: &'a str,
    /// Invariant: a boundary of characters.
    place: usize,
    symbols: &'a Symbols,
}

/// A word that is a symbol, or the quoted text of one.
enum Name {
    /// `$10`.
    Number(usize),
    Text(String),
    /// An identifier, which may be a keyword.
    Word(String),
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.place..).unwrap_or_default()
    }

    fn fault(&self, expected: &str) -> String {
        let found = match self.rest().chars().next() {
            Some(character) => format!("{character:?}"),
            None => "its end".to_owned(),
        };
        format!("at byte {} stands {found} in place of {expected}", self.place)
    }

    /// Passes over a text, if it stands here.
    fn take(&mut self, expected: &str) -> bool {
        let is_here = self.rest().starts_with(expected);
        if is_here {
            self.place += expected.len();
        }
        is_here
    }

    fn expect(&mut self, expected: &str) -> Result<(), String> {
        if self.take(expected) { Ok(()) } else { Err(self.fault(&format!("{expected:?}"))) }
    }

    fn next_char(&mut self) -> Result<char, String> {
        let character = self.rest().chars().next().ok_or_else(|| self.fault("a character"))?;
        self.place += character.len_utf8();
        Ok(character)
    }

    /// The longest run of characters of a kind.
    fn run(&mut self, is_of_it: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|character| !is_of_it(character)).unwrap_or(rest.len());
        self.place += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Passes over spaces and comments.
    fn skip_space(&mut self) -> Result<(), String> {
        loop {
            self.run(is_space);
            if self.take("//") {
                self.run(|character| !matches!(character, '\n' | '\r'));
            } else if self.take("/*") {
                let length = self.rest().find("*/").ok_or_else(|| self.fault("the end of a comment"))?;
                self.place += length + "*/".len();
            } else {
                return Ok(());
            }
        }
    }

    /// A value with its annotations. Of several, the first one counts.
    fn value(&mut self) -> Result<Value, String> {
        let mut annotation: Option<String> = None;
        loop {
            self.skip_space()?;
            let Some(name) = self.name()? else { break };
            self.skip_space()?;
            if !self.take("::") {
                return self.symbol_or_keyword(name);
            }
            let text = self.name_text(name)?;
            annotation.get_or_insert(text);
        }
        match self.unnamed()? {
            Value::List(_, elements) => {
                Ok(Value::List(annotation.as_deref().and_then(SetKind::from_annotation), elements))
            }
            other => Ok(other),
        }
    }

    /// A symbol, if one stands here; not `'''`, which begins a text.
    fn name(&mut self) -> Result<Option<Name>, String> {
        let rest = self.rest();
        if rest.starts_with('\'') && !rest.starts_with("'''") {
            self.place += 1;
            return self.quoted('\'').map(|text| Some(Name::Text(text)));
        }
        if !rest
            .starts_with(|character: char| character.is_ascii_alphabetic() || matches!(character, '_' | '$'))
        {
            return Ok(None);
        }
        let word = self.run(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '$'));
        let digits = word.strip_prefix('$').filter(|digits| !digits.is_empty());
        if let Some(digits) = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit())) {
            return Ok(Some(Name::Number(digits.parse().unwrap_or(usize::MAX))));
        }
        Ok(Some(Name::Word(word.to_owned())))
    }

    /// The text of a field's name or an annotation.
    fn name_text(&self, name: Name) -> Result<String, String> {
        match name {
            Name::Number(number) => self.symbols.text(number).map(str::to_owned),
            Name::Text(text) => Ok(text),
            Name::Word(word) if matches!(word.as_str(), "null" | "true" | "false" | "nan") => {
                Err(format!("the keyword {word} stands at byte {} as a name without quotes", self.place))
            }
            Name::Word(word) => Ok(word),
        }
    }

    fn symbol_or_keyword(&mut self, name: Name) -> Result<Value, String> {
        let Name::Word(word) = &name else { return self.name_text(name).map(Value::Symbol) };
        match word.as_str() {
            "null" => {
                if self.take(".") {
                    let kind = self.run(|character| character.is_ascii_alphabetic());
                    if !NULL_TYPES.contains(&kind) {
                        return Err(self.fault("the end of a null's type"));
                    }
                }
                Ok(Value::Null)
            }
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "nan" => Ok(Value::Number(f64::NAN.to_string())),
            _ => self.name_text(name).map(Value::Symbol),
        }
    }

    /// A value that begins with no word.
    fn unnamed(&mut self) -> Result<Value, String> {
        if self.take("{{") {
            self.lob()
        } else if self.take("{") {
            self.fields()
        } else if self.take("[") {
            self.elements()
        } else if self.take("\"") {
            self.quoted('"').map(Value::String)
        } else if self.rest().starts_with("'''") {
            self.long_text().map(Value::String)
        } else if self
            .rest()
            .starts_with(|character: char| character.is_ascii_digit() || matches!(character, '-' | '+'))
        {
            self.number()
        } else {
            Err(self.fault("a value"))
        }
    }

    fn fields(&mut self) -> Result<Value, String> {
        let mut fields = Vec::new();
        loop {
            self.skip_space()?;
            if self.take("}") {
                return Ok(Value::Struct(fields));
            }
            let name = self.field_name()?;
            self.skip_space()?;
            self.expect(":")?;
            fields.push((name, self.value()?));
            self.skip_space()?;
            if !self.take(",") {
                self.expect("}")?;
                return Ok(Value::Struct(fields));
            }
        }
    }

    fn field_name(&mut self) -> Result<String, String> {
        if self.take("\"") {
            return self.quoted('"');
        }
        if self.rest().starts_with("'''") {
            return self.long_text();
        }
        match self.name()? {
            Some(name) => self.name_text(name),
            None => Err(self.fault("the name of a field")),
        }
    }

    fn elements(&mut self) -> Result<Value, String> {
        let mut elements = Vec::new();
        loop {
            self.skip_space()?;
            if self.take("]") {
                return Ok(Value::List(None, elements));
            }
            elements.push(self.value()?);
            self.skip_space()?;
            if !self.take(",") {
                self.expect("]")?;
                return Ok(Value::List(None, elements));
            }
        }
    }

    /// A text after its first quote.
    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        loop {
            text.push_str(
                self.run(|character| character != quote && character != '\\' && !is_control(character)),
            );
            match self.next_char()? {
                '\\' => self.escape(&mut text)?,
                character if character == quote => return Ok(text),
                _ => return Err(format!("a control character stands before byte {} in a text", self.place)),
            }
        }
    }

    /// Texts in three quotes, one after the other.
    fn long_text(&mut self) -> Result<String, String> {
        let mut text = String::new();
        while self.take("'''") {
            while !self.take("'''") {
                match self.next_char()? {
                    '\\' => self.escape(&mut text)?,
                    '\r' => {
                        self.take("\n");
                        text.push('\n');
                    }
                    '\n' => text.push('\n'),
                    character if is_control(character) => {
                        return Err(format!(
                            "a control character stands before byte {} in a text",
                            self.place
                        ));
                    }
                    character => text.push(character),
                }
            }
            self.skip_space()?;
        }
        Ok(text)
    }

    /// What follows a backslash.
    fn escape(&mut self, text: &mut String) -> Result<(), String> {
        let character = match self.next_char()? {
            '0' => '\0',
            'a' => '\x07',
            'b' => '\x08',
            't' => '\t',
            'n' => '\n',
            'f' => '\x0c',
            'r' => '\r',
            'v' => '\x0b',
            character @ ('"' | '\'' | '?' | '\\' | '/') => character,
            'x' => self.code_point(2)?,
            'u' => self.code_point(4)?,
            'U' => self.code_point(8)?,
            '\n' => return Ok(()),
            '\r' => {
                self.take("\n");
                return Ok(());
            }
            _ => return Err(format!("an unknown escape stands before byte {}", self.place)),
        };
        text.push(character);
        Ok(())
    }

    /// The character of so many digits; of two escapes if the first is half a pair.
    fn code_point(&mut self, digits: usize) -> Result<char, String> {
        let first = self.hexadecimal(digits)?;
        let code = match first {
            0xd800..0xdc00 if digits == 4 && self.take("\\u") => match self.hexadecimal(4)? {
                second @ 0xdc00..0xe000 => 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                _ => first,
            },
            other => other,
        };
        char::from_u32(code).ok_or_else(|| format!("an escape before byte {} is no character", self.place))
    }

    fn hexadecimal(&mut self, digits: usize) -> Result<u32, String> {
        let text = self.rest().get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let text = text.ok_or_else(|| self.fault("a hexadecimal digit"))?;
        self.place += digits;
        u32::from_str_radix(text, 16).map_err(|_| self.fault("a hexadecimal number"))
    }

    /// A value in double braces, after the first two.
    fn lob(&mut self) -> Result<Value, String> {
        self.run(is_space);
        let value = if self.take("\"") {
            self.quoted('"')?;
            Value::Other("clob")
        } else if self.rest().starts_with("'''") {
            while self.take("'''") {
                while !self.take("'''") {
                    if self.next_char()? == '\\' {
                        self.next_char()?;
                    }
                }
                self.run(is_space);
            }
            Value::Other("clob")
        } else {
            let content = self.run(|character| character != '}');
            let content: Vec<u8> = content.bytes().filter(|byte| !is_space(char::from(*byte))).collect();
            let fault = || format!("a blob before byte {} is not base64", self.place);
            Value::Blob(STANDARD.decode(content).map_err(|_| fault())?)
        };
        self.run(is_space);
        self.expect("}}")?;
        Ok(value)
    }

    /// A number, a timestamp or an infinity.
    fn number(&mut self) -> Result<Value, String> {
        let start = self.place;
        let word = self.run(|character| {
            character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.' | ':' | '_')
        });
        let value =
            number_value(word).ok_or_else(|| format!("at byte {start} stands a number that is none"))?;
        Ok(value)
    }
}

const NULL_TYPES: [&str; 13] = [
    "null",
    "bool",
    "int",
    "float",
    "decimal",
    "timestamp",
    "symbol",
    "string",
    "clob",
    "blob",
    "list",
    "sexp",
    "struct",
];

const fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// A character that stands in no text without an escape; in texts of three quotes, line ends do.
const fn is_control(character: char) -> bool {
    matches!(character, '\0'..=' ') && !matches!(character, ' ' | '\t' | '\x0b' | '\x0c')
}

/// The value of a word that begins with a digit or sign.
fn number_value(word: &str) -> Option<Value> {
    if matches!(word, "+inf" | "-inf") {
        return Some(Value::Number(word.to_owned()));
    }
    if is_timestamp(word) {
        return Some(Value::Other("timestamp"));
    }
    let (sign, unsigned) = word.strip_prefix('-').map_or(("", word), |unsigned| ("-", unsigned));
    for (prefixes, radix) in [(["0x", "0X"], 16), (["0b", "0B"], 2)] {
        if let Some(digits) = prefixes.iter().find_map(|prefix| unsigned.strip_prefix(prefix)) {
            let magnitude = u128::from_str_radix(&without_underscores(digits)?, radix).ok()?;
            return Some(Value::Number(format!("{sign}{magnitude}")));
        }
    }
    let exponent_place = unsigned.find(['d', 'D', 'e', 'E']).unwrap_or(unsigned.len());
    let (coefficient, exponent) = unsigned.split_at_checked(exponent_place)?;
    let (whole, fraction) = coefficient.split_once('.').unwrap_or((coefficient, ""));
    let whole = without_underscores(whole)?;
    let fraction = if fraction.is_empty() { String::new() } else { without_underscores(fraction)? };
    let is_decimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_decimal(&whole) || !is_decimal(&fraction) || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    let mut exponent = exponent.chars();
    let kind = exponent.next();
    let power = exponent.as_str();
    let digits = power.strip_prefix(['+', '-']).unwrap_or(power);
    if kind.is_some() && (digits.is_empty() || !is_decimal(digits)) {
        return None;
    }
    let point = if fraction.is_empty() { "" } else { "." };
    let text = format!("{sign}{whole}{point}{fraction}");
    Some(Value::Number(match kind {
        None => text,
        Some('e' | 'E') => format!("{:e}", format!("{text}E{power}").parse::<f64>().ok()?),
        Some(_) => format!("{text}E{power}"),
    }))
}

/// Digits whose groups are separated by underscores.
fn without_underscores(digits: &str) -> Option<String> {
    let is_separated = digits.split('_').all(|group| !group.is_empty());
    is_separated.then(|| digits.replace('_', ""))
}

/// Whether a word has the form of a timestamp: a year of four digits and what follows one.
fn is_timestamp(word: &str) -> bool {
    let [year @ .., separator @ (b'T' | b'-')] = word.as_bytes().get(..5).unwrap_or_default() else {
        return false;
    };
    let is_in_date =
        |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'T' | b'-' | b':' | b'+' | b'.' | b'Z');
    let has_month = *separator == b'T' || word.as_bytes().get(5).is_some_and(u8::is_ascii_digit);
    year.iter().all(u8::is_ascii_digit) && has_month && word.as_bytes().iter().all(is_in_date)
}
