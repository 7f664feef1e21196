//! Keys in a WHERE clause: the reads of a SELECT, and the item of other statements.

use crate::messages::partiql as messages;
use crate::partiql::{Access, KeyForms, PartiqlFault, Statement, Where, prepare};
use crate::schema::{KeyAttribute, KeyType};
use crate::value::AttributeValue;

fn attribute(name: &str) -> KeyAttribute {
    KeyAttribute { name: name.to_owned(), key_type: KeyType::S }
}

pub(super) fn access(condition: &Where) -> Result<Access, PartiqlFault> {
    condition.access(&attribute("pk"), Some(&attribute("sk")))
}

fn clause(text: &str) -> Where {
    match prepare(&format!("SELECT * FROM T WHERE {text}"), &[]) {
        Ok(Statement::Select(select)) => select.condition.expect("there is one"),
        other => panic!("{text}: {other:?}"),
    }
}

/// Each read as its partition, `/` for each sort key predicate, and `?` if it filters.
fn shown(text: &str) -> String {
    match access(&clause(text)) {
        Err(fault) => fault.text().to_owned(),
        Ok(Access::Scan(filter)) => format!("scan{}", if filter.is_some() { "?" } else { "" }),
        Ok(Access::Reads(reads)) => {
            let reads = reads.iter().map(|read| {
                let AttributeValue::S(partition) = &read.partition else { panic!("{read:?}") };
                let filter = if read.filter.is_some() { "?" } else { "" };
                format!("{partition}{}{filter}", "/".repeat(read.sort.len()))
            });
            reads.collect::<Vec<_>>().join(" ")
        }
    }
}

#[test]
fn keys_in_a_where_clause_become_reads_of_partitions() {
    for (text, expected) in [
        ("pk = 'a'", "a"),
        ("'a' = pk AND x = 1", "a?"),
        ("pk = 'a' AND sk > '1' AND sk < '5'", "a//"),
        ("pk = 'a' AND begins_with(sk, 'x')", "a/"),
        ("pk IN ['a', 'b'] AND sk = '1'", "a/ b/"),
        ("pk = 'a' AND sk IN ['1', '2', '3']", "a/ a/ a/"),
        ("pk = 'a' OR pk = 'b'", "a b"),
        ("pk = 'a' AND x = 1 OR pk = 'b'", "a? b"),
        ("(pk = 'a' OR pk = 'b') AND (sk = '1' OR sk = '2')", "a/ a/ b/ b/"),
        ("pk = 'a' AND (x = 1 OR y = 2)", "a?"),
        ("pk = 'a' AND pk = 'a'", "a"),
        ("sk = '1'", "scan?"),
        ("pk > 'a'", "scan?"),
        ("pk = 'a' OR x = 1", "scan?"),
        ("pk = 'a' AND pk = 'b'", "scan?"),
        ("NOT pk = 'a'", "scan?"),
        ("pk = 'a' AND sk <> '1'", "a?"),
        ("pk = 'a' AND (sk = '1' OR sk <> '2')", "a?"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn keys_are_compared_with_values_of_their_types() {
    for (text, expected) in [
        ("pk = 1", messages::key_type_mismatch("pk")),
        ("pk = 'a' AND sk IN ['1', 2]", messages::key_type_mismatch("sk")),
        ("pk = true", messages::key_value_type("pk", "BOOL")),
        ("pk > 1", "scan?".to_owned()),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn a_statement_is_at_most_fifty_reads() {
    let values = |count: usize| (0..count).map(|n| format!("'v{n}'")).collect::<Vec<_>>().join(",");
    for (text, is_refused) in [
        (format!("pk IN [{}]", values(50)), false),
        (format!("pk IN [{}]", values(51)), true),
        (format!("pk IN [{}] AND sk IN ['1', '2']", values(25)), false),
        (format!("pk IN [{}] AND sk IN ['1', '2']", values(26)), true),
        (format!("pk = 'a' AND sk IN [{}]", values(51)), true),
        (format!("pk IN [{}] OR x = 1", values(51)), false),
        (vec!["(pk = 'a' OR pk = 'b')"; 40].join(" AND "), true),
    ] {
        assert_eq!(shown(&text) == messages::TOO_MANY_READS, is_refused, "{text}");
    }
}

#[test]
fn a_key_is_named_by_equalities_and_where_it_is_allowed_by_in() {
    for (text, forms, key, contradicted, has_rest) in [
        ("pk = 'a' AND sk = 'b'", KeyForms::Equal, "a b", None, false),
        ("(sk = 'b') AND pk = 'a' AND x = 1", KeyForms::Equal, "a b", None, true),
        ("pk = 'a' AND pk = 'a' AND sk = 'b'", KeyForms::Equal, "a b", None, false),
        ("pk = 'a' AND sk = 'b' AND pk = 'c'", KeyForms::Equal, "a b", Some("pk"), true),
        ("pk IN ['a'] AND sk = 'b'", KeyForms::Equal, "b", None, true),
        ("pk IN ['a'] AND sk = 'b'", KeyForms::EqualOrIn, "a b", None, false),
        ("pk IN ['a', 'c'] AND sk = 'b'", KeyForms::EqualOrIn, "b", None, true),
        ("pk = 'a' OR sk = 'b'", KeyForms::Equal, "", None, true),
    ] {
        let found = clause(text).key_match(&["pk", "sk"], forms);
        let values = found.key.values().map(|value| match value {
            AttributeValue::S(text) => text.as_str(),
            other => panic!("{other:?}"),
        });
        assert_eq!(values.collect::<Vec<_>>().join(" "), key, "{text}");
        assert_eq!(found.contradicted.as_deref(), contradicted, "{text}");
        assert_eq!(found.rest.is_some(), has_rest, "{text}");
    }
}
