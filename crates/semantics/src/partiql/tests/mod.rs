//! Statements by their canonical texts, and the exact words of what is refused.

use super::{Access, Statement, canonical, prepare};
use crate::value::AttributeValue;

#[rustfmt::skip]
const CANONICAL: &[(&str, &str)] = &[
    ("select * from T", r#"SELECT * FROM "T""#),
    (r#"SELECT a, b.c[0], "d e" FROM "T"."i" WHERE pk='x' and sk>1 ORDER BY sk desc;"#,
        r#"SELECT "a", "b"."c"[0], "d e" FROM "T"."i" WHERE "pk" = 'x' AND "sk" > 1 ORDER BY "sk" DESC"#),
    ("SELECT * FROM T WHERE a = 1 OR b = 2 AND NOT (c = 3 OR d IN [1, 'x'])",
        r#"SELECT * FROM "T" WHERE "a" = 1 OR "b" = 2 AND NOT ("c" = 3 OR "d" IN [1, 'x'])"#),
    ("SELECT * FROM T WHERE a BETWEEN 1 AND 2 AND b IS NOT MISSING AND c NOT IN (1)",
        r#"SELECT * FROM "T" WHERE "a" BETWEEN 1 AND 2 AND NOT "b" IS MISSING AND NOT "c" IN [1]"#),
    ("INSERT INTO T VALUE {'pk': 'it''s', \"n\": -1.5e3, 'l': [1, null, true], 's': <<'a','b'>>, 'm': {'x': ?}}",
        r#"INSERT INTO "T" VALUE {'pk': 'it''s', 'n': -1.5e3, 'l': [1, NULL, true], 's': <<'a', 'b'>>, 'm': {'x': ?}}"#),
    ("update T set a=a+1 remove b.c set d=list_append(d,[1]) where pk=? returning all new *",
        r#"UPDATE "T" SET "a" = "a" + 1 REMOVE "b"."c" SET "d" = list_append("d", [1]) WHERE "pk" = ? RETURNING ALL NEW *"#),
    ("FROM T WHERE pk = 1 SET a = 2, b = 3", r#"UPDATE "T" SET "a" = 2 SET "b" = 3 WHERE "pk" = 1"#),
    ("delete from T where pk = 'x' -- note\n and sk = .5 /* done */ RETURNING ALL OLD *",
        r#"DELETE FROM "T" WHERE "pk" = 'x' AND "sk" = .5 RETURNING ALL OLD *"#),
    ("EXISTS(SELECT * FROM T WHERE pk = 1 AND a = 2)", r#"EXISTS(SELECT * FROM "T" WHERE "pk" = 1 AND "a" = 2)"#),
];

#[test]
fn statements_are_read_and_written_back() {
    for (text, expected) in CANONICAL {
        let written = canonical(text).unwrap_or_else(|fault| panic!("{text}: {}", fault.text()));
        assert_eq!(written, *expected);
        assert_eq!(canonical(&written).expect("it was just written"), *expected);
    }
}

const MALFORMED: &str = "Statement wasn't well formed, can't be processed: ";

#[rustfmt::skip]
const REFUSED: &[(&str, &str)] = &[
    ("SELECT * FROM T WHERE pk = 1 foo", "+Unexpected token after expression"),
    ("SELECT * FROM T WHERE pk = 1 e5", "+Unexpected token after expression"),
    ("INSERT INTO T VALUE {'pk': 1} foo", "+Unexpected token after expression"),
    ("INSERT INTO T t VALUE {'pk': 1}", "+Unexpected token after expression"),
    ("UPDATE T SET a = 9 WHERE pk = 2 foo", "+Unexpected token after expression"),
    ("SELECT * FROM T WHERE pk = 1)", "+Unexpected token after expression"),
    ("DELETE FROM T WHERE pk = 1 ORDER BY pk", "+Unexpected token after expression"),
    ("SELECT * FROM T ORDER BY pk WHERE pk = 1", "+Unexpected token after expression"),
    ("FROM T SET c = 1 WHERE pk = 'x'", "+Unexpected token after expression"),
    ("SELECTT * FROMM T", "+Unexpected token after expression"),
    ("SELECT * FROM T WHERE pk = 1e2147483648", "+"),
    ("SELECT * FROM T WHERE pk = 1.5e-2147483647", "+"),
    ("SELECT * FROM T WHERE pk = 1 # note", "+"),
    ("SELECT * FROM T WHERE pk = 1 /* note", "+"),
    ("SELECT * FROM T WHERE pk = 'open", "+"),
    ("SELECT * FROM T t WHERE pk = 'x'", "Aliasing is not supported"),
    ("SELECT * FROM T AS t WHERE pk = 'x'", "Aliasing is not supported"),
    ("UPDATE T t SET a = 3 WHERE pk = 'x'", "Aliasing is not supported"),
    ("DELETE FROM T t WHERE pk = 'x'", "Aliasing is not supported"),
    ("SELECT * FROM T WHERE pk = 1e126",
        "Number overflow. Attempting to store a number with magnitude larger than supported range under root"),
    ("SELECT * FROM T WHERE pk = 123456789012345678901234567890123456789",
        "Attempting to store more than 38 significant digits in a Number under root"),
    ("INSERT INTO T VALUE {'pk': 1, 'm': {'x': 1e126}}",
        "Number overflow. Attempting to store a number with magnitude larger than supported range under root.x"),
    ("INSERT INTO T VALUE {'pk': 1, 'l': [1, 1e-131]}",
        "Number underflow. Attempting to store a number with magnitude smaller than supported range under root[1]"),
    ("SELECT * FROM T WHERE", "+Unexpected term"),
    ("SELECT * FROM T WHERE;", "+Unexpected term"),
    ("SELECT * FROM T WHERE NOT", "+Unexpected term"),
    ("SELECT * FROM T WHERE (", "+Unexpected term"),
    ("SELECT * FROM", "+Unexpected term"),
    ("SELECT * FROM T WHERE pk = 1 AND", "+Missing right-hand side expression of infix operator"),
    ("SELECT * FROM T WHERE ORDER BY pk", "+Unexpected keyword"),
    ("SELECT * FROM T WHERE IS NULL", "+Unexpected operator"),
    ("SELECT * FROM T WHERE pk = LIKE", "+Unexpected operator"),
    ("SELECT * FROM T WHERE x IS FOO", "+Expected type name"),
    ("x IS DOUBLE PRECISION", "Unsupported operation: IsType"),
    ("DELETE FROM", "+Expected identifier for simple path"),
    ("DELETE FROM WHERE pk = 1", "+Expected identifier for simple path"),
    ("SELECT * FROM T WHERE attribute_exists(m.inner)", "+Invalid path dot component"),
    ("SELECT * FROM T WHERE attribute_exists('a')",
        "Operator or function requires a document path; operator or function: attribute_exists"),
    ("SELECT * FROM T WHERE attribute_exists()",
        "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 0"),
    ("SELECT attribute_exists(ss) FROM T", "Unexpected path component at 1:8:16"),
    ("SELECT COUNT(*) FROM T", "Unexpected path component at 1:8:5"),
    ("SELECT * FROM T WHERE EXISTS(ss)", "Unrecognized function: exists at 1:23:6"),
    ("SELECT * FROM T WHERE a < true",
        "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL"),
    ("UPDATE T SET t = set_add(ss, <<'x'>>) WHERE pk = 1",
        "The first argument to SET_ADD must equal the assignment value at 1:18:7"),
    ("UPDATE T SET ss = set_add(ss, 'x') WHERE pk = 1",
        "The second argument to SET_ADD must be a value with type SET at 1:27:2"),
    ("UPDATE T SET ss = set_delete(ss) WHERE pk = 1", "SET_DELETE must have exactly two arguments at 1:19:10"),
    ("UPDATE T SET ss = set_add(ss, <<>>) WHERE pk = 1", "Empty bags are not supported"),
    ("INSERT INTO T VALUE {'pk': 1, 'ss': set_add(<<'a'>>, <<'b'>>)}",
        "Unsupported data type: set_add under key root at 1:37:7"),
    ("UPDATE T SET a = 1 SET a = 2 WHERE pk = 1",
        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]"),
    ("SELECT * FROM T WHERE pk = ?", "Number of parameters in request and statement don't match."),
    ("SELECT * FROM T ORDER BY pk", "Must have WHERE clause in the statement when using ORDER BY clause."),
];

#[test]
fn statements_are_refused_in_the_services_words() {
    for (text, expected) in REFUSED {
        let expected =
            expected.strip_prefix('+').map_or((*expected).to_owned(), |tail| format!("{MALFORMED}{tail}"));
        match prepare(text, &[]) {
            Ok(statement) => panic!("{text}\n{statement:?}"),
            Err(fault) => assert_eq!(fault.text(), expected, "{text}"),
        }
    }
}

#[test]
fn deep_nesting_ends_in_an_error_and_not_in_a_crash() {
    for open in ["(", "[", "{'a':", "NOT ", "size(", "<<"] {
        let text = format!("SELECT * FROM T WHERE {}", open.repeat(3000));
        prepare(&text, &[]).expect_err("too deep");
    }
}

fn access(text: &str) -> Result<(usize, bool), String> {
    let Ok(Statement::Select(select)) = prepare(&format!("SELECT * FROM T WHERE {text}"), &[]) else {
        panic!("{text}");
    };
    let access = select.condition.expect("there is one").access("pk", Some("sk"));
    match access.map_err(|fault| fault.text().to_owned())? {
        Access::Scan(filter) => Ok((0, filter.is_some())),
        Access::Ranges { ranges, filter } => Ok((ranges.len(), filter.is_some())),
    }
}

#[test]
fn keys_in_a_where_clause_become_ranges() {
    const OVERLAP: &str = "Overlapping conditions with range keys are not supported in where clause";
    for (text, expected) in [
        ("pk = 'a'", Ok((1, false))),
        ("'a' = pk AND x = 1", Ok((1, true))),
        ("pk = 'a' AND sk > '1' AND sk < '5'", Ok((1, true))),
        ("pk = 'a' AND begins_with(sk, 'x')", Ok((1, false))),
        ("pk IN ['a', 'b', 'a'] AND sk = '1'", Ok((2, false))),
        ("pk = 'a' AND sk IN ['1', '2', '3']", Ok((3, false))),
        ("sk = '1'", Ok((0, true))),
        ("pk > 'a'", Ok((0, true))),
        ("pk = 'a' OR x = 1", Ok((0, true))),
        ("pk = 'a' OR pk = 'b'", Ok((2, true))),
        ("pk = 'a' AND sk = '1' OR pk = 'a' AND sk = '2'", Ok((2, true))),
        ("pk = 'a' AND sk = '1' OR pk = 'a' AND sk = '1'", Err(OVERLAP)),
        ("pk = 'a' AND sk > '1' OR pk = 'a' AND sk = '2'", Err(OVERLAP)),
        ("pk = 'a' AND sk > '2' OR pk = 'a' AND sk = '2'", Ok((2, true))),
        ("pk = 'a' AND x = '1' OR pk = 'a' AND sk = '2'", Err(OVERLAP)),
        ("pk = 'a' AND sk <> '1' OR pk = 'a' AND sk = '2'", Ok((1, true))),
        ("pk = 'a' OR pk = 'a' AND NOT sk = '1'", Ok((1, true))),
        ("NOT pk = 'a'", Ok((0, true))),
    ] {
        assert_eq!(access(text), expected.map_err(str::to_owned), "{text}");
    }
}

#[test]
fn parameters_stand_in_the_order_written() {
    let parameters = [AttributeValue::from("x"), AttributeValue::from(5)];
    let Ok(Statement::Update { condition, .. }) = prepare("UPDATE T SET a = ? WHERE pk = ?", &parameters)
    else {
        panic!("a well-formed statement");
    };
    let key = condition.expect("there is one").key_match(&["pk"]).expect("it names the key").key;
    assert_eq!(key["pk"], AttributeValue::from(5));
}

#[test]
fn a_member_of_a_set_is_written_once() {
    let members = vec!["x".to_owned(), "x".to_owned()];
    let fault = AttributeValue::string_set(members).expect_err("a repeated member");
    let expected = crate::messages::value::fault(&fault, crate::messages::Wording::Former);
    let refused = prepare("UPDATE T SET ss = set_add(ss, <<'x', 'x'>>) WHERE pk = 1", &[]);
    assert_eq!(refused.expect_err("a repeated member").text(), expected);
}
