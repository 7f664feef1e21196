//! Statements and their canonical texts; faults and their messages.

mod reads;

use super::{KeyForms, Statement, canonical, prepare};
use crate::value::AttributeValue;

#[rustfmt::skip]
const CANONICAL: &[(&str, &str)] = &[
    ("select * from T", r#"SELECT * FROM "T""#),
    ("select a /*/, b */ from T /**/", r#"SELECT "a" FROM "T""#),
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
    ("update T set a=(b<>2) set (c=1)=(d) remove (e or f)",
        r#"UPDATE "T" SET "a" = ("b" <> 2) SET ("c" = 1) = "d" REMOVE ("e" OR "f")"#),
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
    ("SELECT * FROM T WHERE pk = 1 ORDER BY m.x", "Unexpected path component at 1:39:3"),
    (r#"SELECT * FROM "T"."i"."j" WHERE pk = 1"#, "A path may contain at most 2 components in the FROM clause"),
    (r#"SELECT * FROM "" WHERE pk = 1"#, "Path component cannot be an empty string"),
    (r#"UPDATE "T"."i" SET a = 1 WHERE pk = 1"#, "This operation is not supported on an index"),
    (r#"DELETE FROM "T"."i" WHERE pk = 1"#, "This operation is not supported on an index"),
    (r#"INSERT INTO "T"."i" VALUE {'pk': 1}"#,
        "FROM clause may only contain a single table name in data manipulation statements at 1:13:3"),
    ("DELETE FROM T WHERE pk = 1 RETURNING MODIFIED NEW *",
        "Invalid returning clause: RETURNING MODIFIED NEW *. Only RETURNING ALL OLD * is allowed in DELETE statements."),
    ("SELECT l[-1] FROM T", "List index is not within the allowable range; index: [-1] at 1:11:1"),
    ("SELECT l[2147483648] FROM T", "List index is not within the allowable range; index: [2147483648] at 1:10:10"),
    ("SELECT * FROM T WHERE attribute_type(a, 'X')",
        "Invalid attribute type name found; type: X, valid types: {N,BS,L,B,NULL,M,S,SS,NS,BOOL}"),
    ("SELECT * FROM T WHERE (a = 1) > false",
        "Incorrect operand type for operator or function; operator or function: >, operand type: BOOL"),
    ("UPDATE T SET a = [?] WHERE pk = 1", "Number of parameters in request and statement don't match."),
    ("INSERT INTO T VALUE {'pk': 1, 'b': <<1, 'a'>>}",
        "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"),
    ("SELECT * FROM T LIMIT 5", "Unsupported clause: LIMIT at 1:23:1"),
    ("SELECT * FROM T WHERE pk = 1 LIMIT 5", "Unsupported clause: LIMIT at 1:36:1"),
    ("SELECT * FROM T WHERE pk = 1 ORDER BY pk LIMIT 10", "Unsupported clause: LIMIT at 1:48:2"),
    ("SELECT * FROM T limit", "Aliasing is not supported"),
    ("SELECT /*/ * FROM T", "+"),
    ("SELECT m.name, n.name FROM T", "Duplicate identifiers in select clause: name"),
    ("INSERT INTO T VALUE {'pk': 1, '': 2}", "Empty attribute name"),
    ("UPDATE T SET \"\" = 1 WHERE pk = 1", "Empty attribute name"),
    ("UPDATE T REMOVE \"\" WHERE pk = 1", "Empty attribute name"),
    ("SELECT * FROM T WHERE begins_with(a, 1)",
        "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N"),
    ("SELECT * FROM T WHERE size(3) = 1",
        "Incorrect operand type for operator or function; operator or function: size, operand type: N"),
    ("UPDATE T SET a = list_append('x', [1]) WHERE pk = 1",
        "Incorrect operand type for operator or function; operator or function: list_append, operand type: S"),
    ("UPDATE T SET a = 'x' + 1 WHERE pk = 1",
        "Incorrect operand type for operator or function; operator or function: +, operand type: S"),
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

/// Statements of maximal length on the stack of a server thread.
#[test]
fn long_chains_of_operators_take_no_stack() {
    let run = || {
        for (term, joint) in
            [("a=1", " OR "), ("a=1", " AND "), ("NOT a=1", " OR "), ("(a=1)=(b=2)", " AND ")]
        {
            let chain = |count: usize| format!("SELECT * FROM T WHERE {}", vec![term; count].join(joint));
            let long = chain(8000 / (term.len() + joint.len()));
            let written = canonical(&long).expect("well formed");
            assert_eq!(canonical(&written).expect("it was just written"), written);
            let refused = prepare(&long, &[]).expect_err("too many operators");
            assert!(
                refused.text().starts_with("The expression contains too many operators"),
                "{}",
                refused.text()
            );
            let Ok(Statement::Select(select)) = prepare(&chain(20), &[]) else { panic!("{term}{joint}") };
            reads::access(&select.condition.expect("there is one")).expect("a scan");
        }
        let sums = format!("UPDATE T SET a = {} WHERE pk = 1", vec!["b"; 3900].join("+"));
        prepare(&sums, &[]).expect_err("too many operands");
        let truths = format!("SELECT * FROM T WHERE {}a=1{}", "(".repeat(60), "=a)".repeat(60));
        prepare(&truths, &[]).expect_err("doubled sixty times");
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).expect("a thread").join().expect("no fault");
}

/// A condition that is compared with each candidate is bound once, and counted before it is expanded.
#[test]
fn a_truth_value_in_a_list_takes_no_more_than_one_copy_of_its_parameter() {
    let text = format!("SELECT * FROM T WHERE (a=?) IN [{}]", vec!["b"; 100].join(","));
    let large = AttributeValue::from("x".repeat(1_000_000).as_str());
    let refused = prepare(&text, &[large]).expect_err("too many operators");
    assert!(refused.text().starts_with("The expression contains too many operators"), "{}", refused.text());
}

#[test]
fn parameters_stand_in_the_order_written() {
    let parameters = [AttributeValue::from("x"), AttributeValue::from(5)];
    let Ok(Statement::Update { condition, .. }) = prepare("UPDATE T SET a = ? WHERE pk = ?", &parameters)
    else {
        panic!("a well-formed statement");
    };
    let found = condition.expect("there is one").key_match(&["pk"], KeyForms::Equal);
    assert_eq!(found.key["pk"], AttributeValue::from(5));
}

#[test]
fn a_member_of_a_set_is_written_once() {
    let members = vec!["x".to_owned(), "x".to_owned()];
    let fault = AttributeValue::string_set(members).expect_err("a repeated member");
    let expected = crate::messages::value::fault(&fault, crate::messages::Wording::Legacy);
    let refused = prepare("UPDATE T SET ss = set_add(ss, <<'x', 'x'>>) WHERE pk = 1", &[]);
    assert_eq!(refused.expect_err("a repeated member").text(), expected);
    let refused = prepare("UPDATE T SET n = set_add(n, <<2, 2.0>>) WHERE pk = 1", &[]);
    let expected = crate::messages::partiql::duplicate_number("2, 2.0", "root");
    assert_eq!(refused.expect_err("a repeated number").text(), expected);
}
