//! Reads one value of binary Ion 1.0. It recurses once for each level: its caller bounds the depth.

use super::binary::{Header, Malformed, types, variable_length};
use super::symbols::Symbols;
use super::value::{SetKind, Value};

/// The one value in the bytes, or why there is none.
pub(super) fn read(bytes: &[u8], symbols: &Symbols) -> Result<Value, String> {
    match (Reader { symbols }).value(bytes)? {
        (Some(value), []) => Ok(value),
        _ => Err(MALFORMED.to_owned()),
    }
}

const MALFORMED: &str = "a value is malformed";

struct Reader<'a> {
    symbols: &'a Symbols,
}

impl Reader<'_> {
    /// The first value and the bytes after it; none for padding.
    fn value<'b>(&self, bytes: &'b [u8]) -> Result<(Option<Value>, &'b [u8]), String> {
        let header = Header::read(bytes).ok().flatten().ok_or(MALFORMED)?;
        let rest = bytes.get(header.bytes..).unwrap_or_default();
        let (content, after) = rest.split_at_checked(header.content_bytes).ok_or(MALFORMED)?;
        let value = match header.value_type {
            _ if header.is_null => Value::Null,
            types::NULL => return Ok((None, after)),
            types::BOOL => match bytes.first().copied().unwrap_or_default() & 0x0f {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                _ => return Err(MALFORMED.to_owned()),
            },
            types::POSITIVE_INT => Value::Number(decimal_text(content)),
            types::NEGATIVE_INT => Value::Number(format!("-{}", decimal_text(content))),
            types::FLOAT => Value::Number(format!("{:e}", float(content)?)),
            types::DECIMAL => Value::Number(decimal(content)?),
            types::TIMESTAMP => Value::Other("timestamp"),
            types::SYMBOL => Value::Symbol(self.symbols.text(symbol_number(content)?)?.to_owned()),
            types::STRING => Value::String(utf8(content)?),
            types::CLOB => Value::Other("clob"),
            types::BLOB => Value::Blob(content.to_vec()),
            types::LIST => Value::List(None, self.elements(content)?),
            types::SEXP => Value::Other("sexp"),
            types::STRUCT => Value::Struct(self.fields(content)?),
            types::ANNOTATION => self.annotated(content)?,
            _ => return Err(MALFORMED.to_owned()),
        };
        Ok((Some(value), after))
    }

    fn elements(&self, mut content: &[u8]) -> Result<Vec<Value>, String> {
        let mut elements = Vec::new();
        while !content.is_empty() {
            let (value, after) = self.value(content)?;
            elements.extend(value);
            content = after;
        }
        Ok(elements)
    }

    fn fields(&self, mut content: &[u8]) -> Result<Vec<(String, Value)>, String> {
        let mut fields = Vec::new();
        while !content.is_empty() {
            let (symbol, rest) = variable(content)?;
            let (value, after) = self.value(rest)?;
            if let Some(value) = value {
                fields.push((self.symbols.text(symbol)?.to_owned(), value));
            }
            content = after;
        }
        Ok(fields)
    }

    /// A value with its annotations. Of several, the first one counts.
    fn annotated(&self, content: &[u8]) -> Result<Value, String> {
        let (length, rest) = variable(content)?;
        let (annotations, value) = rest.split_at_checked(length).ok_or(MALFORMED)?;
        let (symbol, _) = variable(annotations)?;
        let annotation = self.symbols.text(symbol)?;
        match self.value(value)? {
            (Some(Value::List(_, elements)), []) => {
                Ok(Value::List(SetKind::from_annotation(annotation), elements))
            }
            (Some(value), []) => Ok(value),
            _ => Err(MALFORMED.to_owned()),
        }
    }
}

/// A number of variable length and the bytes after it.
fn variable(bytes: &[u8]) -> Result<(usize, &[u8]), String> {
    match variable_length(bytes) {
        Ok(Some((number, length))) => Ok((number, bytes.get(length..).unwrap_or_default())),
        Ok(None) | Err(Malformed) => Err(MALFORMED.to_owned()),
    }
}

fn utf8(bytes: &[u8]) -> Result<String, String> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| "a text is not UTF-8".to_owned())
}

fn symbol_number(content: &[u8]) -> Result<usize, String> {
    let mut bytes = [0; 8];
    let start = bytes.len().checked_sub(content.len()).ok_or(MALFORMED)?;
    bytes.iter_mut().skip(start).zip(content).for_each(|(place, byte)| *place = *byte);
    usize::try_from(u64::from_be_bytes(bytes)).map_err(|_| MALFORMED.to_owned())
}

fn float(content: &[u8]) -> Result<f64, String> {
    match content {
        [] => Ok(0.0),
        [a, b, c, d] => Ok(f32::from_be_bytes([*a, *b, *c, *d]).into()),
        _ => content.try_into().map(f64::from_be_bytes).map_err(|_| MALFORMED.to_owned()),
    }
}

/// A decimal: a signed exponent of variable length, and a signed coefficient.
fn decimal(content: &[u8]) -> Result<String, String> {
    if content.is_empty() {
        return Ok("0".to_owned());
    }
    let (exponent, coefficient) = signed_variable(content)?;
    let (sign, magnitude) = match coefficient.split_first() {
        None => ("", Vec::new()),
        Some((first, rest)) => {
            let sign = if first & 0x80 == 0 { "" } else { "-" };
            (sign, [&[first & 0x7f], rest].concat())
        }
    };
    Ok(format!("{sign}{}E{exponent}", decimal_text(&magnitude)))
}

/// A signed number of variable length and the bytes after it.
fn signed_variable(bytes: &[u8]) -> Result<(i64, &[u8]), String> {
    let (first, mut rest) = bytes.split_first().ok_or(MALFORMED)?;
    let mut number = i64::from(first & 0x3f);
    let mut is_last = first & 0x80 != 0;
    while !is_last {
        let (byte, after) = rest.split_first().ok_or(MALFORMED)?;
        number = number.checked_mul(0x80).ok_or(MALFORMED)? + i64::from(byte & 0x7f);
        (rest, is_last) = (after, byte & 0x80 != 0);
    }
    Ok((if first & 0x40 == 0 { number } else { -number }, rest))
}

/// The decimal text of a magnitude, whose length is bounded: it takes time with the square of that.
fn decimal_text(magnitude: &[u8]) -> String {
    // Lowest digit first.
    let mut digits: Vec<u8> = Vec::new();
    for byte in magnitude {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            let sum = u32::from(*digit) * 256 + carry;
            *digit = u8::try_from(sum % 10).unwrap_or_default();
            carry = sum / 10;
        }
        while carry > 0 {
            digits.push(u8::try_from(carry % 10).unwrap_or_default());
            carry /= 10;
        }
    }
    if digits.is_empty() {
        return "0".to_owned();
    }
    digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect()
}
