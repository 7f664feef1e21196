//! `NextToken` of a SELECT: an opaque token that belongs to one statement with its parameters.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_semantics::messages::partiql as messages;
use keywright_semantics::request::transact_write_items::Fingerprint;
use keywright_semantics::value::Item;

use crate::support::hex::hex;

/// The number of finished ranges, and the key of the last row read in the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub range: u32,
    pub after: Option<Item>,
}

const SUM_BYTES: usize = 16;

impl Position {
    pub(super) fn to_token(&self, statement: &Fingerprint) -> String {
        let mut bytes = self.range.to_be_bytes().to_vec();
        if let Some(after) = &self.after {
            bytes.extend_from_slice(EncodedItem::encode(after).as_bytes());
        }
        let owner = checksum([&statement.0, &[]]);
        let sum = checksum([&owner, &bytes]);
        hex(sum.iter().chain(&owner).chain(&bytes))
    }

    /// Parses a token that was issued for this statement.
    pub(super) fn parse(token: &str, statement: &Fingerprint) -> Result<Self, Error> {
        let (owner, position) =
            Self::read(token).ok_or_else(|| Error::validation(messages::INVALID_TOKEN))?;
        if owner == checksum([&statement.0, &[]]) {
            Ok(position)
        } else {
            Err(Error::validation(messages::TOKEN_OF_OTHER_STATEMENT))
        }
    }

    /// The position, and the checksum of the statement that it belongs to.
    fn read(token: &str) -> Option<([u8; SUM_BYTES], Self)> {
        let digits = token.as_bytes();
        let pairs = digits.chunks(2).map(|pair| {
            let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
            u8::from_str_radix(pair, 16).ok()
        });
        let all: Vec<u8> = pairs.collect::<Option<_>>()?;
        let (sum, rest) = all.split_first_chunk::<SUM_BYTES>()?;
        let (owner, bytes) = rest.split_first_chunk::<SUM_BYTES>()?;
        if *sum != checksum([owner, bytes]) {
            return None;
        }
        let (range, after) = bytes.split_first_chunk::<4>()?;
        let after = if after.is_empty() {
            None
        } else {
            Some(EncodedItem::from_stored(Bytes::copy_from_slice(after)).ok()?.decode())
        };
        Some((*owner, Self { range: u32::from_be_bytes(*range), after }))
    }
}

fn checksum(parts: [&[u8]; 2]) -> [u8; SUM_BYTES] {
    partition_hash(parts.map(KeyValueRef::B)).0
}

#[cfg(test)]
mod tests {
    use keywright_semantics::error::ErrorKind;
    use keywright_semantics::request::parts::ExecuteStatementParts;
    use keywright_semantics::request::{ExecuteStatement, Request};
    use keywright_semantics::response::Response;
    use keywright_semantics::value::AttributeValue;
    use keywright_store::memory::MemoryStore;

    use super::*;
    use crate::tests::harness::*;

    #[test]
    fn a_token_is_valid_for_its_own_statement_only() {
        let (mine, other) = (Fingerprint([1; 32]), Fingerprint([2; 32]));
        let key: Item = [("pk".to_owned(), AttributeValue::from("x"))].into();
        for after in [None, Some(key)] {
            let position = Position { range: 3, after };
            let token = position.to_token(&mine);
            assert_eq!(Position::parse(&token, &mine).expect("its own"), position);
            let refused = Position::parse(&token, &other).expect_err("of another");
            assert_eq!(refused.message, messages::TOKEN_OF_OTHER_STATEMENT);
            for wrong in ["", "x", "00", &token[2..], &format!("{token}00"), &token.replace('0', "1")] {
                let refused = Position::parse(wrong, &mine).expect_err(wrong);
                assert_eq!(refused.message, messages::INVALID_TOKEN, "{wrong}");
            }
        }
    }

    /// The rows that a forged token of the statement gives, or the text of the error.
    fn forged(
        bench: &Bench<MemoryStore>,
        statement: &str,
        range: u32,
        after: Option<Item>,
    ) -> Result<Vec<Item>, String> {
        let mut parts = ExecuteStatementParts {
            statement: statement.to_owned(),
            parameters: None,
            consistent_read: None,
            next_token: None,
            return_consumed_capacity: None,
            limit: None,
            return_values_on_condition_check_failure: None,
        };
        let request = ExecuteStatement::validate(parts.clone()).expect("a statement");
        parts.next_token = Some(Position { range, after }.to_token(&request.fingerprint));
        let request =
            Request::ExecuteStatement(Box::new(ExecuteStatement::validate(parts).expect("a token")));
        match block_on(bench.engine.execute(&caller(), request)) {
            Ok(Response::ExecuteStatement(page)) => Ok(page.items.iter().map(EncodedItem::decode).collect()),
            Ok(other) => panic!("an answer of another operation: {other:?}"),
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::Validation);
                Err(error.message)
            }
        }
    }

    #[test]
    fn a_forged_token_reads_no_row_outside_its_statement() {
        let bench = bench();
        let row = |pk: &str, sk: &str| item([("pk", s(pk)), ("sk", s(sk))]);
        for (pk, sk) in [("p", "1"), ("p", "2"), ("q", "1"), ("r", "1")] {
            bench.put(row(pk, sk)).expect("put");
        }
        let both = "SELECT pk, sk FROM t WHERE pk IN ['p', 'q']";
        assert_eq!(forged(&bench, both, 1, None), Ok(vec![row("q", "1")]));
        assert_eq!(forged(&bench, both, 0, Some(row("p", "1"))), Ok(vec![row("p", "2"), row("q", "1")]));
        for range in [2, 1_000_000, u32::MAX - 1, u32::MAX] {
            assert_eq!(forged(&bench, both, range, None), Err(messages::INVALID_TOKEN.to_owned()), "{range}");
        }
        // A key of another partition lies before or after everything that the range selects.
        for other in ["q", "r", "s"] {
            let rows = forged(&bench, "SELECT pk, sk FROM t WHERE pk = 'p'", 0, Some(row(other, "0")));
            assert!(rows.expect("a page").iter().all(|row| row["pk"] == s("p")), "{other}");
        }
        let deep = (0..20).fold(AttributeValue::Null, |inner, _| AttributeValue::L(vec![inner]));
        for wrong in [
            Item::new(),
            item([("pk", s("p"))]),
            item([("pk", s("p")), ("sk", n(1))]),
            item([("pk", s("p")), ("sk", s(""))]),
            item([("pk", s("p")), ("sk", s(&"x".repeat(2_000)))]),
            item([("pk", s("p")), ("sk", deep)]),
            item([("pk", s("p")), ("sk", s("1")), ("more", n(1))]),
        ] {
            assert!(forged(&bench, both, 0, Some(wrong.clone())).is_err(), "{wrong:?}");
        }
    }
}
