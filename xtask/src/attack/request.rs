//! Renders DynamoDB requests: the head with its signature, plain or gzipped, and the JSON that several
//! attacks share.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::sign::{self, Key};

/// The table of every attack: `pk` and `sk` are strings, as are `g` and `h` of its index `byG`.
pub(crate) const TABLE: &str = "attack";
/// A table of tiny items: `p` is a string, `s` a number.
pub(crate) const TINY: &str = "tiny";

/// Where requests go and how they are signed.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) address: SocketAddr,
    /// None where the server accepts every well-formed signature.
    pub(crate) key: Option<Key>,
    /// The account of requests without a key.
    pub(crate) account: Account,
}

/// Twelve digits, which a server without keys takes as the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account(pub(crate) u64);

impl Account {
    /// The account of the quiet clients.
    pub(crate) const FIRST: Self = Self(123_456_789_012);
}

impl Sender {
    pub(crate) const fn new(address: SocketAddr, key: Option<Key>) -> Self {
        Self { address, key, account: Account::FIRST }
    }

    /// The same for another account; only without a key.
    pub(crate) fn of(&self, account: Account) -> Self {
        Self { account, ..self.clone() }
    }

    pub(crate) fn request(&self, operation: &str, body: &[u8]) -> Vec<u8> {
        self.rendered(operation, body, &format!("Content-Length: {}", body.len()))
    }

    pub(crate) fn gzipped(&self, operation: &str, body: &[u8]) -> Vec<u8> {
        self.encoded(operation, &gzip(body))
    }

    /// A body that is gzipped already.
    pub(crate) fn encoded(&self, operation: &str, body: &[u8]) -> Vec<u8> {
        let framing = format!("Content-Encoding: gzip\r\nContent-Length: {}", body.len());
        self.rendered(operation, body, &framing)
    }

    /// Only the head of a request whose body has `length` bytes.
    pub(crate) fn head(&self, operation: &str, length: usize) -> Vec<u8> {
        self.rendered(operation, b"", &format!("Content-Length: {length}"))
    }

    /// Only the head of a request whose body comes in chunks.
    pub(crate) fn chunked_head(&self, operation: &str) -> Vec<u8> {
        self.rendered(operation, b"", "Transfer-Encoding: chunked")
    }

    /// A request to CloudWatch, in its JSON.
    pub(crate) fn monitoring(&self, operation: &str, body: &[u8]) -> Vec<u8> {
        let target = format!("GraniteServiceVersion20100801.{operation}");
        self.targeted(("monitoring", &target), body, &format!("Content-Length: {}", body.len()))
    }

    /// A request to CloudWatch as a form, whose response is XML; only without a key.
    pub(crate) fn form(&self, body: &str) -> Vec<u8> {
        let date = sign::now();
        let credential =
            format!("local/{}/us-east-1/monitoring/aws4_request", date.get(..8).unwrap_or_default());
        format!(
            "POST / HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             X-Amz-Date: {date}\r\nAuthorization: AWS4-HMAC-SHA256 Credential={credential}, \
             SignedHeaders=host, Signature=00\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .into_bytes()
    }

    /// A request to Application Auto Scaling.
    pub(crate) fn scaling(&self, operation: &str, body: &[u8]) -> Vec<u8> {
        let target = format!("AnyScaleFrontendService.{operation}");
        let framing = format!("Content-Length: {}", body.len());
        self.targeted(("application-autoscaling", &target), body, &framing)
    }

    /// A request to DynamoDB Streams.
    pub(crate) fn streams(&self, operation: &str, body: &[u8]) -> Vec<u8> {
        let target = format!("DynamoDBStreams_20120810.{operation}");
        self.targeted(("dynamodb", &target), body, &format!("Content-Length: {}", body.len()))
    }

    /// `framing`: the headers that say how the body is sent.
    fn rendered(&self, operation: &str, body: &[u8], framing: &str) -> Vec<u8> {
        self.targeted(("dynamodb", &format!("DynamoDB_20120810.{operation}")), body, framing)
    }

    fn targeted(&self, (service, target): (&str, &str), body: &[u8], framing: &str) -> Vec<u8> {
        let (host, date) = (self.address.to_string(), sign::now());
        let authorization = match &self.key {
            Some(key) => key.authorization(&host, &date, (service, target), body),
            None => format!(
                "AWS4-HMAC-SHA256 Credential={:012}/{}/us-east-1/{service}/aws4_request, SignedHeaders=host, \
                 Signature=00",
                self.account.0,
                date.get(..8).unwrap_or_default()
            ),
        };
        let head = format!(
            "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-amz-json-1.0\r\n\
             X-Amz-Target: {target}\r\nX-Amz-Date: {date}\r\nAuthorization: {authorization}\r\n\
             {framing}\r\n\r\n"
        );
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        bytes
    }

    pub(crate) fn health(&self) -> Vec<u8> {
        format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).into_bytes()
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to a Vec does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// The parts with their numbers, joined: `joined(2, ",", |n| format!("a{n}"))` is `a0,a1`.
pub(crate) fn joined(count: usize, separator: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        if number > 0 {
            text.push_str(separator);
        }
        text.push_str(&part(number));
        text
    })
}

/// As many parts as fit into `bytes_max` bytes.
pub(crate) fn filled(bytes_max: usize, separator: &str, part: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0..bytes_max {
        let next = part(number);
        if text.len() + separator.len() + next.len() > bytes_max {
            break;
        }
        if number > 0 {
            text.push_str(separator);
        }
        text.push_str(&next);
    }
    text
}

pub(crate) fn key(pk: &str, sk: &str) -> String {
    format!(r#"{{"pk":{{"S":"{pk}"}},"sk":{{"S":"{sk}"}}}}"#)
}

pub(crate) fn get(pk: &str, sk: &str) -> String {
    format!(r#"{{"TableName":"{TABLE}","Key":{}}}"#, key(pk, sk))
}

/// Puts an item with more attributes: `"a":{"S":"x"},"b":…`.
pub(crate) fn put(pk: &str, sk: &str, attributes: &str) -> String {
    format!(
        r#"{{"TableName":"{TABLE}","Item":{{"pk":{{"S":"{pk}"}},"sk":{{"S":"{sk}"}}{}{attributes}}}}}"#,
        if attributes.is_empty() { "" } else { "," }
    )
}

pub(crate) fn create_table() -> String {
    let attribute = |name: &str| format!(r#"{{"AttributeName":"{name}","AttributeType":"S"}}"#);
    let schema = |hash: &str, range: &str| {
        format!(
            r#"[{{"AttributeName":"{hash}","KeyType":"HASH"}},{{"AttributeName":"{range}","KeyType":"RANGE"}}]"#
        )
    };
    let names = ["pk", "sk", "g", "h"].map(attribute).join(",");
    format!(
        r#"{{"TableName":"{TABLE}","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{names}],"KeySchema":{},"GlobalSecondaryIndexes":[{{"IndexName":"byG","KeySchema":{},"Projection":{{"ProjectionType":"ALL"}}}}]}}"#,
        schema("pk", "sk"),
        schema("g", "h")
    )
}

pub(crate) fn create_tiny_table() -> String {
    format!(
        r#"{{"TableName":"{TINY}","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{{"AttributeName":"p","AttributeType":"S"}},{{"AttributeName":"s","AttributeType":"N"}}],"KeySchema":[{{"AttributeName":"p","KeyType":"HASH"}},{{"AttributeName":"s","KeyType":"RANGE"}}]}}"#
    )
}

/// A batch of tiny items with the sort keys `from..to`.
pub(crate) fn put_tiny(from: usize, to: usize) -> String {
    let items = joined(to.saturating_sub(from), ",", |number| {
        format!(r#"{{"PutRequest":{{"Item":{{"p":{{"S":"a"}},"s":{{"N":"{}"}}}}}}}}"#, from + number)
    });
    format!(r#"{{"RequestItems":{{"{TINY}":[{items}]}}}}"#)
}

/// Standard base64 of bytes.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = usize::try_from(bits >> (18 - 6 * place) & 63).ok().and_then(|at| DIGITS.get(at));
            let shown = if place <= three.len() { digit.copied().unwrap_or(b'=') } else { b'=' };
            text.push(char::from(shown));
        }
    }
    text
}

/// Legacy conditions: `{"a0":{…},"a1":{…}}`.
pub(crate) fn legacy_conditions(count: usize) -> String {
    let mut text = String::from("{");
    for number in 0..count {
        let separator = if number == 0 { "" } else { "," };
        // Writing to a String does not fail.
        let _ = write!(text, r#"{separator}"a{number}":{{"ComparisonOperator":"NULL"}}"#);
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads() {
        assert_eq!(
            ["f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes())),
            ["Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
    }

    #[test]
    fn bodies_are_json() {
        for body in [
            create_table(),
            create_tiny_table(),
            put("a", "b", ""),
            get("a", "b"),
            put_tiny(0, 3),
            legacy_conditions(3),
        ] {
            assert!(serde_json::from_str::<serde_json::Value>(&body).is_ok(), "{body}");
        }
    }
}
