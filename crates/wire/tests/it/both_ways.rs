//! Compares the short way of decoding with the long way, over the case files and over requests made from them
//! by small changes. The fuzz target `short_way` has this file too.

use std::collections::BTreeSet;

use keywright_wire::{Operation, shape, shape_long};

use super::case_file::{Case, snake_case};

/// The operations that have a short way.
pub(crate) const SHORT: [Operation; 10] = [
    Operation::BatchGetItem,
    Operation::BatchWriteItem,
    Operation::DeleteItem,
    Operation::GetItem,
    Operation::PutItem,
    Operation::Query,
    Operation::Scan,
    Operation::TransactGetItems,
    Operation::TransactWriteItems,
    Operation::UpdateItem,
];

/// Requests as clients write them, with each kind of value and member.
const USUAL: [(Operation, &str); 13] = [
    (
        Operation::GetItem,
        r##"{"TableName": "Shop", "Key": {"pk": {"S": "a"}, "sk": {"N": "1"}}, "ConsistentRead": true,
            "ReturnConsumedCapacity": "TOTAL", "ProjectionExpression": "#a, b.c[1]",
            "ExpressionAttributeNames": {"#a": "n"}}"##,
    ),
    (Operation::GetItem, r#"{"Key":{"pk":{"S":"x"}},"TableName":"Shop","AttributesToGet":["a","b"]}"#),
    (
        Operation::PutItem,
        r#"{"TableName":"arn:aws:dynamodb:r:1:table/Shop","Item":{"pk":{"S":"\u00e9\n\"quoted\" caf\u00e9 \ud83d\ude00 and a text that is longer than thirty-two bytes"},
            "n":{"N":"-1.5e3"},"b":{"B":"AAECAw=="},"t":{"BOOL":true},"f":{"BOOL":false},"z":{"NULL":true},
            "ss":{"SS":["b","a"]},"ns":{"NS":["10","9"]},"bs":{"BS":["AQ==","AA=="]},"e":{"L":[]},"o":{"M":{}},
            "l":{"L":[{"S":""},{"L":[{"N":"1"}]},{"M":{"a":{"M":{"b":{"S":"c"}}}}}]}},
            "ReturnValues":"ALL_OLD","ReturnItemCollectionMetrics":"SIZE","ConditionExpression":"attribute_not_exists(pk)",
            "ReturnValuesOnConditionCheckFailure":"ALL_OLD","ExpressionAttributeValues":{":a":{"N":"01.10"}}}"#,
    ),
    (
        Operation::PutItem,
        r#"{"TableName":"Shop","Item":{"pk":{"S":"a"}},"Expected":{"v":{"Value":{"N":"1"},"Exists":true},
            "w":{"ComparisonOperator":"IN","AttributeValueList":[{"S":"a"},{"S":"b"}]}},"ConditionalOperator":"OR"}"#,
    ),
    (
        Operation::UpdateItem,
        r##"{"TableName":"Shop","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET #v = #v + :one REMOVE b",
            "ExpressionAttributeNames":{"#v":"version"},"ExpressionAttributeValues":{":one":{"N":"1"}},
            "ReturnValues":"UPDATED_NEW","ConditionExpression":"attribute_exists(pk)"}"##,
    ),
    (
        Operation::UpdateItem,
        r#"{"TableName":"Shop","Key":{"pk":{"S":"a"}},"AttributeUpdates":{"n":{"Value":{"N":"1"},"Action":"ADD"},
            "gone":{"Action":"DELETE"}},"ReturnConsumedCapacity":"INDEXES"}"#,
    ),
    (
        Operation::DeleteItem,
        r#"{"TableName":"Shop","Key":{"pk":{"B":"AA=="}},"ReturnValues":"NONE","ReturnConsumedCapacity":"NONE"}"#,
    ),
    (
        Operation::Query,
        r#"{"TableName":"Shop","IndexName":"by_day","KeyConditionExpression":"pk = :p","Limit":100,"Select":"COUNT",
            "ScanIndexForward":false,"ExpressionAttributeValues":{":p":{"S":"a"}},"FilterExpression":"size(a) > :p",
            "ExclusiveStartKey":{"pk":{"S":"a"}},"ConsistentRead":false}"#,
    ),
    (
        Operation::Scan,
        r#"{"TableName":"Shop","Segment":0,"TotalSegments":4,"Limit":1,"ScanFilter":{"a":{"ComparisonOperator":"NULL"},
            "b":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"1"},{"N":"2"}]}}}"#,
    ),
    (
        Operation::BatchGetItem,
        r#"{"RequestItems":{"Shop":{"Keys":[{"pk":{"N":"1.0"},"sk":{"N":"7"}},{"pk":{"N":"1e0"},"sk":{"N":"7"}}],
            "ConsistentRead":true},"Other":{"Keys":[{"id":{"S":"a"}}],"ProjectionExpression":"a"}},
            "ReturnConsumedCapacity":"TOTAL"}"#,
    ),
    (
        Operation::BatchWriteItem,
        r#"{"RequestItems":{"Shop":[{"PutRequest":{"Item":{"pk":{"S":"a"},"n":{"N":"1"}}}},
            {"DeleteRequest":{"Key":{"pk":{"S":"b"}}}}]},"ReturnItemCollectionMetrics":"NONE"}"#,
    ),
    (
        Operation::TransactGetItems,
        r##"{"TransactItems":[{"Get":{"TableName":"Shop","Key":{"pk":{"S":"a"}},"ProjectionExpression":"#a",
            "ExpressionAttributeNames":{"#a":"a"}}},{"Get":{"Key":{"id":{"N":"7"}},"TableName":"Other"}}],
            "ReturnConsumedCapacity":"TOTAL"}"##,
    ),
    (
        Operation::TransactWriteItems,
        r##"{"ClientRequestToken":"token","TransactItems":[
            {"ConditionCheck":{"TableName":"Shop","Key":{"pk":{"S":"a"}},"ConditionExpression":"attribute_exists(pk)"}},
            {"Put":{"TableName":"Shop","Item":{"pk":{"S":"b"}},"ConditionExpression":"#a = :a",
             "ExpressionAttributeNames":{"#a":"a"},"ExpressionAttributeValues":{":a":{"SS":["x"]}}}},
            {"Delete":{"TableName":"Shop","Key":{"pk":{"S":"c"}},"ReturnValuesOnConditionCheckFailure":"NONE"}},
            {"Update":{"TableName":"Shop","Key":{"pk":{"S":"d"}},"UpdateExpression":"SET a = :a",
             "ExpressionAttributeValues":{":a":{"L":[{"BOOL":true}]}}}}]}"##,
    ),
];

/// Compares both ways of one request. Returns whether the short way was enough.
pub(crate) fn agree(operation: Operation, body: &[u8]) -> bool {
    let Ok(short) = shape(operation, body) else { return false };
    if !short.is_short() {
        return false;
    }
    let shown = || format!("{} {}", operation.name(), String::from_utf8_lossy(body));
    let long = shape_long(operation, body).unwrap_or_else(|error| panic!("{error:?}: {}", shown()));
    assert!(!long.is_short(), "the long way alone is compared");
    assert_eq!(short.touches().as_slice(), long.touches().as_slice(), "{}", shown());
    assert_eq!(short.given_tags(), long.given_tags(), "{}", shown());
    let long = long.parts().unwrap_or_else(|error| panic!("{error:?}: {}", shown()));
    let short = short.parts().unwrap_or_else(|error| panic!("{error:?}: {}", shown()));
    assert_eq!(short, long, "{}", shown());
    true
}

/// A source of choices: a number below the given one.
pub(crate) trait Choices {
    fn below(&mut self, bound: usize) -> usize;
}

/// The requests that others are made from.
pub(crate) struct Seeds {
    all: Vec<(Operation, Vec<u8>)>,
    /// Those of them that take the short way.
    usual: Vec<(Operation, Vec<u8>)>,
}

impl Seeds {
    pub(crate) fn of(cases: Vec<Case>) -> Self {
        let usual = USUAL.iter().map(|(operation, body)| (*operation, body.as_bytes().to_vec()));
        let mut all: BTreeSet<_> = usual.collect();
        for case in cases.into_iter().filter(|case| case.body.len() <= SEED_BYTES_MAX) {
            let operation = SHORT.iter().find(|operation| snake_case(operation.name()) == case.file);
            all.extend(operation.map(|operation| (*operation, case.body.into_bytes())));
        }
        assert!(all.len() > USUAL.len(), "the case files have requests of these operations");
        let usual = all.iter().filter(|(operation, body)| agree(*operation, body)).cloned();
        Self { usual: usual.collect(), all: all.into_iter().collect() }
    }

    pub(crate) fn usual() -> impl Iterator<Item = (Operation, &'static str)> {
        USUAL.into_iter()
    }

    fn any(&self, choices: &mut impl Choices) -> &(Operation, Vec<u8>) {
        let seeds = if choices.below(8) == 0 { &self.all } else { &self.usual };
        &seeds[choices.below(seeds.len())]
    }

    /// A seed with a few changes, now and then as the body of another operation.
    pub(crate) fn changed(&self, choices: &mut impl Choices) -> (Operation, Vec<u8>) {
        let (operation, body) = self.any(choices);
        let operation = if choices.below(64) == 0 { SHORT[choices.below(SHORT.len())] } else { *operation };
        let mut body = body.clone();
        for _ in 0..[1, 1, 1, 1, 2, 2, 3, 6][choices.below(8)] {
            if choices.below(4) == 0 {
                self.change_bytes(&mut body, choices);
            } else {
                self.change_tokens(&mut body, choices);
            }
        }
        (operation, body)
    }

    fn change_bytes(&self, body: &mut Vec<u8>, choices: &mut impl Choices) {
        let (start, end) = range(body.len(), choices);
        match choices.below(5) {
            0 => drop(body.drain(start..end)),
            1 => drop(body.splice(start..start, [BYTES[choices.below(BYTES.len())]])),
            2 => drop(body.splice(start..end, [BYTES[choices.below(BYTES.len())]])),
            3 => {
                let piece = body[start..end].to_vec();
                body.splice(end..end, piece);
            }
            _ => {
                let (_, other) = self.any(choices);
                let (from, to) = range(other.len(), choices);
                body.splice(start..end, other[from..to].iter().copied());
            }
        }
    }

    /// Changes that mostly leave the body JSON.
    fn change_tokens(&self, body: &mut Vec<u8>, choices: &mut impl Choices) {
        let tokens = tokens(body);
        if tokens.is_empty() {
            return;
        }
        let place = choices.below(tokens.len());
        let (start, end) = tokens[place];
        match choices.below(16) {
            6 => drop(body.splice(start..start, b" \n\r\t".iter().copied().take(1 + choices.below(4)))),
            7.. => {
                if let Some(start) = next_value(body, &tokens, place) {
                    drop(body.splice(start..value_end(body, start), value(choices, 0).bytes()));
                }
            }
            // A value, or a member with its comma, is taken away or stands twice.
            0 => drop(body.drain(start..value_end(body, start))),
            1 => drop(body.drain(start..member_end(body, start))),
            2 => {
                let piece = body[start..member_end(body, start)].to_vec();
                body.splice(start..start, piece);
            }
            3 => drop(body.splice(start..end, TOKENS[choices.below(TOKENS.len())].bytes())),
            4 => {
                drop(body.splice(start..value_end(body, start), TOKENS[choices.below(TOKENS.len())].bytes()));
            }
            _ => {
                let (_, other) = self.any(choices);
                let others = self::tokens(other);
                if let Some((from, _)) = others.get(choices.below(others.len().max(1))) {
                    let piece = other[*from..value_end(other, *from)].to_vec();
                    body.splice(start..value_end(body, start), piece);
                }
            }
        }
    }
}

/// Larger cases are about a bound, and would take the time of a hundred others.
const SEED_BYTES_MAX: usize = 4_000;

const BYTES: &[u8] = b"\"\\{}[],:0123456789-+.eEabtrufnl/SNBML #\x00\x1f\x20\x7f\x80\xc3\xa9\xed\xff\n\t\r";

const TOKENS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "1",
    "-0",
    "-1",
    "00",
    "01",
    "1.5",
    "1e3",
    "100",
    "1000001",
    "2147483648",
    "999999999999999999",
    "9223372036854775807",
    "9223372036854775808",
    "\"\"",
    "\"a\"",
    "\"AA==\"",
    "\"AA=\"",
    "\"AB==\"",
    "\"\\u00e9\"",
    "\"\\ud800\"",
    "\"\\ud83d\\ude00\"",
    "\"\\x\"",
    "\"\u{e9}\"",
    "\"a b\"",
    "\"1\"",
    "\"1.0\"",
    "\"true\"",
    "\"1e400\"",
    "\"S\"",
    "\"\\u0053\"",
    "\"N\"",
    "\"NULL\"",
    "\"BOOL\"",
    "\"SS\"",
    "\"L\"",
    "\"M\"",
    "{}",
    "[]",
    "{\"S\":\"a\"}",
    "{\"N\":\"1\"}",
    "{\"N\":\"x\"}",
    "{\"N\":\"\\u0031\"}",
    "{\"B\":\"AA==\"}",
    "{\"B\":\"AA\\u003d=\"}",
    "{\"NULL\":true}",
    "{\"NULL\":false}",
    "{\"BOOL\":\"true\"}",
    "{\"S\":null}",
    "{\"S\":\"a\",\"N\":\"1\"}",
    "{\"S\":\"a\",\"S\":\"b\"}",
    "{\"X\":\"a\"}",
    "{\"SS\":[]}",
    "{\"SS\":[\"a\",\"a\"]}",
    "{\"SS\":[null]}",
    "{\"NS\":[\"1\",\"1.0\"]}",
    "{\"BS\":[\"AA==\"]}",
    "{\"L\":[{\"S\":\"a\"},null]}",
    "{\"M\":{\"a\":{\"S\":\"b\"},\"a\":{\"S\":\"c\"}}}",
    "{\"M\":{\"\":{\"BOOL\":false}}}",
    "[\"a\"]",
    "[\"a\",\"a\"]",
    "[1]",
    "[[]]",
    "[{}]",
    "\"TableName\"",
    "\"Key\"",
    "\"Item\"",
    "\"Limit\"",
    "\"Keys\"",
    "\"Put\"",
    "\"ALL_OLD\"",
    "\"TOTAL\"",
    "\"NONE\"",
    "\"AND\"",
    "\"COUNT\"",
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    " ",
    "\n",
    "\"TableName\":\"Shop\",",
    "\"Unknown\":1,",
    "\"Unknown\":null,",
];

/// A text of JSON with its quotes, as clients write it.
fn text(choices: &mut impl Choices) -> String {
    let longest = [2, 8, 40, 90][choices.below(4)];
    let pieces = (0..choices.below(longest)).map(|_| PIECES[choices.below(PIECES.len())]);
    format!("\"{}\"", pieces.collect::<String>())
}

/// An attribute value, mostly without a fault.
fn value(choices: &mut impl Choices, levels: usize) -> String {
    let several = |choices: &mut _, member: fn(&mut _) -> String| -> String {
        let count = Choices::below(choices, 4);
        (0..count).map(|_| member(choices)).collect::<Vec<_>>().join(",")
    };
    match choices.below(if levels < 4 { 10 } else { 6 }) {
        0 | 1 => format!(r#"{{"S":{}}}"#, text(choices)),
        2 => format!(r#"{{"N":{}}}"#, number(choices)),
        3 => format!(r#"{{"B":"{}"}}"#, ["", "AA==", "AAE=", "AAEC", "/+8="][choices.below(5)]),
        4 => [r#"{"BOOL":true}"#, r#"{"BOOL":false}"#, r#"{"NULL":true}"#][choices.below(3)].to_owned(),
        5 => format!(r#"{{"SS":[{}]}}"#, several(choices, text)),
        6 => format!(r#"{{"NS":[{}]}}"#, several(choices, number)),
        7 => format!(r#"{{"BS":["AA==","{}"]}}"#, ["AQ==", "", "AA=="][choices.below(3)]),
        8 => {
            let elements: Vec<_> = (0..choices.below(4)).map(|_| value(choices, levels + 1)).collect();
            format!(r#"{{"L":[{}]}}"#, elements.join(","))
        }
        _ => {
            let member = |choices: &mut _| format!("{}:{}", text(choices), value(choices, levels + 1));
            let members: Vec<_> = (0..choices.below(4)).map(|_| member(choices)).collect();
            format!(r#"{{"M":{{{}}}}}"#, members.join(","))
        }
    }
}

/// The text of a number, with its quotes, mostly of one that can be stored.
fn number(choices: &mut impl Choices) -> String {
    const DIGITS: [&str; 16] =
        ["0", "1", "2", "9", "00", "10", "99", "123456789", "5", "7", "0000", "1000", ".", "e", "-", "+"];
    let sign = ["", "", "-", "+"][choices.below(4)];
    let kinds = if choices.below(4) == 0 { DIGITS.len() } else { 12 };
    let digits = [(); 3].map(|()| DIGITS[choices.below(kinds)]).concat();
    let end = ["", "", "", ".5", ".10", "e3", "E-7", "e125", "."][choices.below(9)];
    format!("\"{sign}{digits}{end}\"")
}

const PIECES: [&str; 24] = [
    "a",
    "b",
    "Z",
    "0",
    " ",
    "word",
    "order#",
    "a text of more than sixteen bytes",
    "\u{e9}",
    "\u{20ac}",
    "\u{1f600}",
    "/",
    "{",
    "}",
    "[",
    ":",
    ",",
    "'",
    "\u{7f}",
    "\\n",
    "\\\"",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\\\",
];

fn range(length: usize, choices: &mut impl Choices) -> (usize, usize) {
    let start = choices.below(length + 1);
    (start, (start + choices.below(9)).min(length))
}

/// Where the next attribute value begins, from this token on.
fn next_value(body: &[u8], tokens: &[(usize, usize)], from: usize) -> Option<usize> {
    let types = [r#""S""#, r#""N""#, r#""B""#, r#""M""#, r#""L""#, r#""SS""#, r#""NULL""#, r#""BOOL""#];
    tokens[from..].array_windows::<2>().find_map(|[(start, _), (name, end)]| {
        let is_value =
            body[*start] == b'{' && types.iter().any(|known| known.as_bytes() == &body[*name..*end]);
        is_value.then_some(*start)
    })
}

/// Where the tokens of a body are: texts, words, and signs.
fn tokens(body: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = body.get(at) {
        let end = match first {
            b'"' => text_end(body, at),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => at + 1,
            _ => at + body[at..].iter().take_while(|byte| !b"\"{}[],: \n".contains(byte)).count().max(1),
        };
        if !first.is_ascii_whitespace() {
            found.push((at, end));
        }
        at = end;
    }
    found
}

fn text_end(body: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = body.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    body.len()
}

/// The end of the object, list, text or word that begins here.
fn value_end(body: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    for (token, end) in tokens(&body[start..]) {
        match body[start + token] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return start + end;
        }
    }
    body.len()
}

/// The end of a value, or of a member and its value, with the comma behind it.
fn member_end(body: &[u8], start: usize) -> usize {
    let mut end = value_end(body, start);
    if body.get(end) == Some(&b':') {
        end = value_end(body, (end + 1).min(body.len().saturating_sub(1)));
    }
    if body.get(end) == Some(&b',') { end + 1 } else { end }
}
