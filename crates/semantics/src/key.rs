//! Key values and their encodings in stored keys.
//!
//! It knows the types a key may have and encodings whose bytewise order is the values' order. It does not
//! know tables, key schemas, or the other parts of a stored key.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::number::Number;
use crate::schema::KeyType;
use crate::value::AttributeValue;

/// One value of a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyValue {
    /// A string, ordered by its UTF-8 bytes.
    S(String),
    /// A number, ordered by value.
    N(Number),
    /// Binary bytes, ordered bytewise.
    B(Vec<u8>),
}

/// One value of a key, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyValueRef<'a> {
    /// A string, ordered by its UTF-8 bytes.
    S(&'a str),
    /// A number, ordered by value.
    N(Number),
    /// Binary bytes, ordered bytewise.
    B(&'a [u8]),
}

impl KeyValue {
    /// The value, borrowed.
    pub fn as_ref(&self) -> KeyValueRef<'_> {
        match self {
            Self::S(text) => KeyValueRef::S(text),
            Self::N(number) => KeyValueRef::N(*number),
            Self::B(bytes) => KeyValueRef::B(bytes),
        }
    }
}

impl<'a> KeyValueRef<'a> {
    /// The key value of an attribute value. `None` for a type that no key may have.
    pub fn from_value(value: &'a AttributeValue) -> Option<Self> {
        match value {
            AttributeValue::S(text) => Some(Self::S(text)),
            AttributeValue::N(number) => Some(Self::N(*number)),
            AttributeValue::B(bytes) => Some(Self::B(bytes)),
            _ => None,
        }
    }

    /// The key value of a stored value. `None` for a type that no key may have.
    pub const fn from_view(value: crate::codec::ValueRef<'a>) -> Option<Self> {
        match value {
            crate::codec::ValueRef::S(text) => Some(Self::S(text)),
            crate::codec::ValueRef::N(number) => Some(Self::N(number)),
            crate::codec::ValueRef::B(bytes) => Some(Self::B(bytes)),
            _ => None,
        }
    }

    /// The type the value has.
    pub const fn key_type(&self) -> KeyType {
        match self {
            Self::S(_) => KeyType::S,
            Self::N(_) => KeyType::N,
            Self::B(_) => KeyType::B,
        }
    }

    /// Bytes the value counts for against the limits of key sizes.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::S(text) => text.len(),
            Self::N(number) => number.size_bytes(),
            Self::B(bytes) => bytes.len(),
        }
    }

    /// Whether the value is an empty string or binary, which no key may be.
    pub const fn is_empty(&self) -> bool {
        match self {
            Self::S(text) => text.is_empty(),
            Self::N(_) => false,
            Self::B(bytes) => bytes.is_empty(),
        }
    }

    /// The value as a text for people: numbers in plain decimal, binary values in Base64.
    pub fn text(&self) -> String {
        match self {
            Self::S(text) => (*text).to_owned(),
            Self::N(number) => number.to_string(),
            Self::B(bytes) => BASE64.encode(bytes),
        }
    }
}

/// The position of a partition key in hash order: the first 128 bits of BLAKE3 over its typed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionHash(pub [u8; 16]);

/// Hashes the values of a partition key; an index can have several.
pub fn partition_hash<'a>(values: impl IntoIterator<Item = KeyValueRef<'a>>) -> PartitionHash {
    let mut input = HashInput::default();
    for value in values {
        match value {
            KeyValueRef::S(text) => input.push_measured(b'S', text.as_bytes()),
            KeyValueRef::B(bytes) => input.push_measured(b'B', bytes),
            KeyValueRef::N(number) => {
                let mut encoded = Vec::with_capacity(HASH_INPUT_BYTES);
                number.encode_into(&mut encoded);
                input.push_measured(b'N', &encoded);
            }
        }
    }
    let input = input.bytes();
    assert!(!input.is_empty(), "a partition key has a value");
    let whole: [u8; 32] = blake3::hash(input).into();
    let mut hash = [0; 16];
    hash.copy_from_slice(whole.first_chunk::<16>().expect("sixteen bytes are half of thirty-two"));
    PartitionHash(hash)
}

/// Bytes of typed values that take no allocation; enough for most keys.
const HASH_INPUT_BYTES: usize = 64;

/// What is hashed, in one piece: feeding a hasher part by part takes twice as long for inputs this short.
/// Invariant: the bytes are the first ones of `short`, or all of `long` if that is not empty.
struct HashInput {
    short: [u8; HASH_INPUT_BYTES],
    length: usize,
    long: Vec<u8>,
}

impl Default for HashInput {
    fn default() -> Self {
        Self { short: [0; HASH_INPUT_BYTES], length: 0, long: Vec::new() }
    }
}

impl HashInput {
    fn bytes(&self) -> &[u8] {
        if self.long.is_empty() { self.short.get(..self.length).unwrap_or_default() } else { &self.long }
    }

    /// Appends the type, the length and the bytes.
    fn push_measured(&mut self, tag: u8, bytes: &[u8]) {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        assert!(
            length < u32::MAX,
            "a key value's length fits its field, so that boundaries count in the hash"
        );
        self.push(&[tag]);
        self.push(&length.to_be_bytes());
        self.push(bytes);
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.long.is_empty()
            && let Some(room) = self.short.get_mut(self.length..self.length + bytes.len())
        {
            room.copy_from_slice(bytes);
            self.length += bytes.len();
            return;
        }
        if self.long.is_empty() {
            self.long.extend_from_slice(self.short.get(..self.length).unwrap_or_default());
        }
        self.long.extend_from_slice(bytes);
    }
}

/// Ends a string or binary component. It sorts before every continuation of the component.
const COMPONENT_END: [u8; 2] = [0x00, 0x01];
/// Stands for a zero byte within a component.
const ESCAPED_ZERO: [u8; 2] = [0x00, 0xFF];

// A value sorts before every longer value that starts with it, also where a zero byte follows.
const _: () = assert!(COMPONENT_END[0] == ESCAPED_ZERO[0] && COMPONENT_END[1] < ESCAPED_ZERO[1]);

/// Appends one component of a sort key. Bytewise order is the values' order, and no component is a prefix of
/// another one of its type.
pub fn encode_sort(value: KeyValueRef<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    match value {
        KeyValueRef::N(number) => number.encode_into(out),
        KeyValueRef::S(text) => encode_terminated(text.as_bytes(), out),
        KeyValueRef::B(bytes) => encode_terminated(bytes, out),
    }
    assert!(
        out.len() - start >= sort_bytes(value),
        "a component is no shorter than its value and end marker"
    );
}

/// Bytes that `encode_sort` appends for a value without zero bytes; each zero byte takes one more.
pub fn sort_bytes(value: KeyValueRef<'_>) -> usize {
    match value {
        KeyValueRef::N(number) => number.encoded_bytes(),
        KeyValueRef::S(text) => text.len() + COMPONENT_END.len(),
        KeyValueRef::B(bytes) => bytes.len() + COMPONENT_END.len(),
    }
}

fn encode_terminated(bytes: &[u8], out: &mut Vec<u8>) {
    encode_sort_prefix(bytes, out);
    out.extend_from_slice(&COMPONENT_END);
}

/// Appends the common prefix of all string or binary components whose values start with these bytes.
pub fn encode_sort_prefix(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + COMPONENT_END.len());
    let mut runs = bytes.split(|&byte| byte == 0);
    out.extend_from_slice(runs.next().unwrap_or_default());
    for run in runs {
        out.extend_from_slice(&ESCAPED_ZERO);
        out.extend_from_slice(run);
    }
}

/// The string that an encoded sort key begins with; `None` if it does not begin with one.
pub fn first_text(encoded: &[u8]) -> Option<String> {
    let ends = encoded.windows(COMPONENT_END.len()).position(|bytes| bytes == COMPONENT_END)?;
    let mut bytes = Vec::with_capacity(ends);
    let mut rest = encoded.get(..ends)?;
    while let Some((byte, next)) = rest.split_first() {
        bytes.push(*byte);
        rest = rest.strip_prefix(&ESCAPED_ZERO).unwrap_or(next);
    }
    String::from_utf8(bytes).ok()
}

/// The smallest key that is greater than every key with this prefix; `None` if there is none.
pub fn successor_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.iter().rposition(|&byte| byte != 0xFF)?;
    let mut successor = prefix.get(..=kept)?.to_vec();
    if let Some(last) = successor.last_mut() {
        *last += 1;
    }
    assert!(successor.as_slice() > prefix, "the end of a range follows its start");
    Some(successor)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn encoded(value: KeyValueRef<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        encode_sort(value, &mut out);
        out
    }

    #[test]
    fn the_first_string_of_an_encoded_sort_key_is_read_back() {
        for text in ["", "a", "a\0b", "\0\0", "é"] {
            let mut key = encoded(KeyValueRef::S(text));
            assert_eq!(first_text(&key).as_deref(), Some(text));
            key.extend_from_slice(b"more");
            assert_eq!(first_text(&key).as_deref(), Some(text));
        }
        assert_eq!(first_text(b"no end"), None);
    }

    fn small_bytes() -> impl Strategy<Value = Vec<u8>> {
        vec(prop_oneof![Just(0_u8), Just(1), Just(0xFF), any::<u8>()], 0..8)
    }

    /// Values of one key: string, number, binary.
    fn key_values() -> impl Strategy<Value = [KeyValue; 3]> {
        let number = (-999_i64..=999, -3_i32..=3)
            .prop_map(|(coefficient, exponent)| Number::parse(&format!("{coefficient}e{exponent}")).unwrap());
        ("[a\\x00\\x01é]{0,3}", number, small_bytes())
            .prop_map(|(text, number, bytes)| [KeyValue::S(text), KeyValue::N(number), KeyValue::B(bytes)])
    }

    fn encoded_key(values: &[KeyValue]) -> Vec<u8> {
        values.iter().flat_map(|value| encoded(value.as_ref())).collect()
    }

    proptest! {
        #[test]
        fn keys_of_several_values_order_by_the_first_that_differs(one in key_values(), other in key_values()) {
            prop_assert_eq!(encoded_key(&one).cmp(&encoded_key(&other)), one.cmp(&other));
            for turn in 1..3 {
                let turned = |values: &[KeyValue; 3]| {
                    let mut values = values.clone();
                    values.rotate_left(turn);
                    values
                };
                let (one, other) = (turned(&one), turned(&other));
                prop_assert_eq!(encoded_key(&one).cmp(&encoded_key(&other)), one.cmp(&other));
            }
        }

        #[test]
        fn order_of_encodings_is_order_of_binary_values(one in small_bytes(), other in small_bytes()) {
            let (left, right) = (KeyValueRef::B(&one), KeyValueRef::B(&other));
            prop_assert_eq!(encoded(left).cmp(&encoded(right)), one.cmp(&other));
        }

        #[test]
        fn order_of_encodings_is_order_of_strings(one in ".{0,6}", other in ".{0,6}") {
            let (left, right) = (KeyValueRef::S(&one), KeyValueRef::S(&other));
            prop_assert_eq!(encoded(left).cmp(&encoded(right)), one.as_bytes().cmp(other.as_bytes()));
        }

        #[test]
        fn later_components_never_change_the_order_of_earlier_ones(
            one in small_bytes(), other in small_bytes(), tail in small_bytes(), other_tail in small_bytes()
        ) {
            prop_assume!(one != other);
            let with = |value: &[u8], tail: &[u8]| [encoded(KeyValueRef::B(value)), tail.to_vec()].concat();
            prop_assert_eq!(with(&one, &tail).cmp(&with(&other, &other_tail)), one.cmp(&other));
        }

        #[test]
        fn prefixes_bound_exactly_the_keys_that_begin_with_them(prefix in small_bytes(), value in small_bytes()) {
            let mut start = Vec::new();
            encode_sort_prefix(&prefix, &mut start);
            let end = successor_prefix(&start);
            let key = encoded(KeyValueRef::B(&value));
            let inside = key >= start && end.is_none_or(|end| key < end);
            prop_assert_eq!(inside, value.starts_with(&prefix));
        }
    }

    #[test]
    fn partition_hashes_tell_types_and_boundaries_apart() {
        let hash = |values: &[KeyValueRef<'_>]| partition_hash(values.iter().copied());
        assert_ne!(hash(&[KeyValueRef::S("a")]), hash(&[KeyValueRef::B(b"a")]));
        assert_ne!(
            hash(&[KeyValueRef::S("a"), KeyValueRef::S("bc")]),
            hash(&[KeyValueRef::S("ab"), KeyValueRef::S("c")])
        );
        assert_eq!(hash(&[KeyValueRef::S("a")]), hash(&[KeyValueRef::S("a")]));
    }

    /// Stored keys hold these bytes, so the hash function must not change.
    #[test]
    fn partition_hashes_stay_what_stored_keys_hold() {
        let number = Number::parse("-12.5").unwrap();
        let values =
            [KeyValueRef::S("customer#0000000042"), KeyValueRef::B(&[0, 255]), KeyValueRef::N(number)];
        let mut hasher = blake3::Hasher::new();
        for (tag, bytes) in
            [(b'S', b"customer#0000000042".to_vec()), (b'B', vec![0, 255]), (b'N', encoded(values[2]))]
        {
            hasher.update(&[tag]);
            hasher.update(&u32::try_from(bytes.len()).unwrap().to_be_bytes());
            hasher.update(&bytes);
        }
        let mut expected = [0; 16];
        hasher.finalize_xof().fill(&mut expected);
        assert_eq!(partition_hash(values).0, expected);
        let stored = [214, 126, 29, 164, 168, 210, 120, 245, 109, 44, 79, 101, 152, 20, 185, 149];
        assert_eq!(partition_hash([KeyValueRef::S("a")]).0, stored);
    }
}
