//! SELECT by its reads: which rows, in which order, over which pages, and what is refused in which words.

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::messages::partiql as messages;
use keywright_semantics::partiql::{Statement, prepare};
use keywright_semantics::value::{AttributeValue, Item};
use keywright_store::memory::MemoryStore;

use super::harness::*;
use super::partiql::{filled, parts, rows, run};

/// The rows as `pk/sk`, or the words of the refusal.
fn shown(bench: &Bench<MemoryStore>, tail: &str) -> String {
    match run(bench, parts(&format!("SELECT * FROM {tail}"))) {
        Err(error) => error.message,
        Ok(output) => {
            let key = |row: &Item| match (&row["pk"], &row["sk"]) {
                (AttributeValue::S(pk), AttributeValue::S(sk)) => format!("{pk}{sk}"),
                other => panic!("{other:?}"),
            };
            rows(&output).iter().map(key).collect::<Vec<_>>().join(" ")
        }
    }
}

#[test]
fn each_branch_of_a_clause_is_a_read_of_its_partition() {
    let bench = filled();
    for (clause, expected) in [
        ("pk IN ['q', 'p'] AND sk = '1'", "p1 q1"),
        ("pk = 'p' AND (sk = '4' OR sk = '2')", "p2 p4"),
        ("pk = 'p' AND (sk < '2' OR sk > '4' OR sk = '3')", "p1 p3 p5"),
        ("pk = 'p' AND sk > '1' AND sk < '4' AND sk <> '3'", "p2"),
        ("pk = 'p' AND sk = '2' AND sk > '3'", ""),
        ("(pk = 'p' AND h = 2) OR pk = 'q'", "p2 q1"),
        ("pk = 'p' AND (sk = '1' OR sk <> '2')", "p1 p3 p4 p5"),
        ("pk = 'q' OR h = 5", "p5 q1"),
        ("pk = 'p' AND pk = 'q'", ""),
        ("pk IN ['p', 'p']", messages::OVERLAPPING_RANGES),
        ("pk = 'p' AND (sk > '0' OR sk < '5')", messages::OVERLAPPING_RANGES),
        ("pk = 'p' AND (sk = '1' OR h = 2)", messages::OVERLAPPING_RANGES),
        ("pk = 'p' AND h = 1 OR pk = 'p' AND h = 2", messages::OVERLAPPING_RANGES),
    ] {
        let found = shown(&bench, &format!("t WHERE {clause}"));
        // Rows of a scan come in the order of hashes.
        let mut sorted: Vec<&str> = found.split(' ').collect();
        sorted.sort_unstable();
        let found = if found.len() > 20 { found.clone() } else { sorted.join(" ") };
        assert_eq!(found, expected, "{clause}");
    }
}

#[test]
fn order_by_orders_partitions_and_the_rows_of_each() {
    let bench = filled();
    for (tail, expected) in [
        ("t WHERE pk = 'p' AND sk < '4' ORDER BY sk DESC", "p3 p2 p1"),
        ("t WHERE pk = 'p' AND sk < '4' ORDER BY sk", "p1 p2 p3"),
        ("t WHERE pk = 'p' AND sk < '4' ORDER BY pk ASC", "p3 p2 p1"),
        ("t WHERE pk IN ['p', 'q'] ORDER BY pk DESC, sk ASC", "q1 p1 p2 p3 p4 p5"),
        ("t WHERE pk IN ['p', 'q'] ORDER BY pk ASC, sk DESC", "p5 p4 p3 p2 p1 q1"),
        ("t WHERE pk = 'p' AND sk IN ['1', '3', '2'] ORDER BY sk DESC", "p3 p2 p1"),
        ("t WHERE pk = 'p' ORDER BY h", "Attribute h in ORDER BY clause must be part of the primary key"),
        ("t WHERE pk > 'p' ORDER BY sk", messages::ORDER_WITHOUT_PARTITION),
        ("t WHERE pk IN ['p', 'q'] ORDER BY sk", messages::ORDER_OF_SEVERAL_PARTITIONS),
    ] {
        assert_eq!(shown(&bench, tail), expected, "{tail}");
    }
}

#[test]
fn an_index_read_by_its_key_filters_on_what_it_holds() {
    let bench = filled();
    let secondary = "One or more parameter values were invalid: Secondary index gsi does not project one or more \
         filter attributes: ";
    for (tail, expected) in [
        ("t.gsi WHERE g = 'g' AND d = 'x'", format!("{secondary}[d]")),
        ("t.gsi WHERE g = 'g' AND (zz = 1 OR aa = 2 OR mm = 3)", format!("{secondary}[zz, aa, mm]")),
        ("t.gsi WHERE (g = 'b' AND u = 1) OR (g = 'q' AND v = 2)", format!("{secondary}[v]")),
        ("t.gsi WHERE (g = 'q' AND u = 1) OR (g = 'b' AND v = 2)", format!("{secondary}[u]")),
        ("t.gsi WHERE (g = 'none' AND d = 'x') OR (g = 'q')", String::new()),
        ("t.gsi WHERE d = 'x'", String::new()),
        ("t.nowhere WHERE g = 'g'", messages::UNKNOWN_INDEX.to_owned()),
        ("t.multi WHERE g = 'g'", messages::MULTI_ATTRIBUTE_INDEX.to_owned()),
    ] {
        assert_eq!(shown(&bench, tail), expected, "{tail}");
    }
    let mut strong = parts("SELECT * FROM t.gsi WHERE g = 'g'");
    strong.consistent_read = Some(true);
    let refused = run(&bench, strong).expect_err("a global index");
    assert_eq!(refused.message, messages::GLOBAL_INDEX_NOT_CONSISTENT);
}

#[test]
fn a_page_is_at_most_ten_reads_and_one_megabyte_of_them_together() {
    let bench = bench();
    for number in 10..40 {
        bench.put(item([("pk", s(&format!("v{number}"))), ("sk", s("1")), ("n", n(1))])).expect("put");
        let large = item([("pk", s(&format!("w{number}"))), ("sk", s("1")), ("d", s(&"d".repeat(300_000)))]);
        bench.put(large).expect("put");
    }
    let values =
        |letter: char| (10..40).map(|number| format!("'{letter}{number}'")).collect::<Vec<_>>().join(",");
    for (letter, per_page, pages) in [('v', 10, 3), ('w', 4, 8)] {
        let mut request = parts(&format!("SELECT * FROM t WHERE pk IN [{}]", values(letter)));
        let mut seen = Vec::new();
        let mut count = 0;
        loop {
            let page = run(&bench, request.clone()).expect("a page");
            assert!(page.items.len() <= per_page, "{}", page.items.len());
            count += 1;
            seen.extend(rows(&page).into_iter().map(|row| row["pk"].clone()));
            let Some(token) = page.next_token else { break };
            request.next_token = Some(token);
        }
        let expected: Vec<_> = (10..40).map(|number| s(&format!("{letter}{number}"))).collect();
        assert_eq!((seen, count), (expected, pages));
    }
}

#[test]
fn a_token_belongs_to_its_statement_and_not_to_its_limit() {
    let bench = filled();
    let mut first = parts("SELECT * FROM t WHERE pk = 'p'");
    first.limit = Some(1);
    let token = run(&bench, first.clone()).expect("a page").next_token.expect("there is more");
    let next = |statement: &str, token: &str, limit| {
        let mut request = parts(statement);
        request.limit = limit;
        request.next_token = Some(token.to_owned());
        run(&bench, request).map(|page| page.items.len()).map_err(|error| error.message)
    };
    assert_eq!(next(&first.statement, &token, Some(3)), Ok(3));
    assert_eq!(next(&first.statement, &token, None), Ok(4));
    assert_eq!(
        next("SELECT * FROM t WHERE pk = 'q'", &token, None),
        Err(messages::TOKEN_OF_OTHER_STATEMENT.to_owned())
    );
    assert_eq!(next(&first.statement, "none", None), Err(messages::INVALID_TOKEN.to_owned()));
}

#[test]
fn a_write_names_one_item_by_equalities() {
    let bench = filled();
    for (statement, expected) in [
        (
            "UPDATE t SET c = 1 WHERE pk = 'p' AND sk = '1' AND pk = 'q'",
            Err("Multiple conditions on same key pk. Only single item Update/Insert/Delete are supported"),
        ),
        ("UPDATE t SET c = 1 WHERE pk = 'p' AND sk = '1' AND pk = 'p'", Ok(())),
        ("UPDATE t SET c = 1 WHERE (pk = 'p' AND sk = '1') AND h = 1", Ok(())),
        ("UPDATE t SET c = 1 WHERE pk IN ['p'] AND sk = '1'", Err(messages::NO_KEY_EQUALITY)),
        ("DELETE FROM t WHERE pk = 'p'", Err(messages::NO_KEY_EQUALITY)),
        ("DELETE FROM t WHERE pk = 'none' AND sk = '1' AND h = 7", Ok(())),
        ("DELETE FROM t WHERE pk = 'p' AND sk = '1' AND h = 7", Err("The conditional request failed")),
    ] {
        let outcome = run(&bench, parts(statement)).map(|_| ()).map_err(|error| error.message);
        assert_eq!(outcome, expected.map_err(str::to_owned), "{statement}");
    }
}

/// A random condition on keys and one other attribute.
fn random_clause(dice: &mut fastrand::Rng, depth: usize) -> String {
    let value = |dice: &mut fastrand::Rng| format!("'{}'", dice.u8(1..5));
    let name = |dice: &mut fastrand::Rng| *dice.choice(&["pk", "pk", "sk", "sk", "x"]).expect("a name");
    match dice.u8(0..if depth == 0 { 6 } else { 10 }) {
        0 | 1 => format!("{} = {}", name(dice), value(dice)),
        2 => format!("{} IN [{}, {}]", name(dice), value(dice), value(dice)),
        3 => {
            let comparator = dice.choice(&["<", "<=", ">", ">=", "<>"]).expect("a comparator");
            format!("{} {comparator} {}", name(dice), value(dice))
        }
        4 => format!("{} BETWEEN {} AND {}", name(dice), value(dice), value(dice)),
        5 => format!("begins_with({}, {})", name(dice), value(dice)),
        6 => format!("NOT ({})", random_clause(dice, depth - 1)),
        7 => format!("({} OR {})", random_clause(dice, depth - 1), random_clause(dice, depth - 1)),
        _ => format!("{} AND {}", random_clause(dice, depth - 1), random_clause(dice, depth - 1)),
    }
}

/// The service refuses some conditions that it could answer; what is answered must be right, over pages of any size.
#[test]
fn a_random_clause_selects_the_rows_that_fulfil_it() {
    let bench = bench();
    let mut all = Vec::new();
    for (pk, sk, x) in (0..64).map(|number| (number / 16 + 1, number / 4 % 4 + 1, number % 4 + 1)) {
        if (pk + sk * 2 + x) % 4 == 0 {
            let row =
                item([("pk", s(&pk.to_string())), ("sk", s(&sk.to_string())), ("x", s(&x.to_string()))]);
            bench.put(row.clone()).expect("put");
            all.push(row);
        }
    }
    let (mut answered, mut by_key) = (0, 0);
    for seed in 0..3000 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let clause = random_clause(&mut dice, 3);
        let mut request = parts(&format!("SELECT * FROM t WHERE {clause}"));
        request.limit = Some(dice.i64(1..20));
        let Ok(Statement::Select(select)) = prepare(&request.statement, &[]) else {
            continue;
        };
        let condition = select.condition.expect("there is one").condition();
        let mut found = Vec::new();
        let refused = loop {
            match run(&bench, request.clone()) {
                Err(error) => break Some(error.message),
                Ok(page) => {
                    found.extend(rows(&page));
                    request.next_token = page.next_token;
                }
            }
            if request.next_token.is_none() {
                break None;
            }
        };
        if refused.is_some() {
            continue;
        }
        answered += 1;
        by_key += usize::from(!clause.contains("OR") && clause.starts_with("pk = "));
        let mut expected = all.clone();
        expected.retain(|row| condition.evaluate(Some(EncodedItem::encode(row).view())));
        let key = |row: &Item| format!("{:?}", (&row["pk"], &row["sk"]));
        found.sort_by_key(key);
        expected.sort_by_key(key);
        assert_eq!(found, expected, "seed {seed}: {clause}");
    }
    assert!(answered > 1000 && by_key > 100, "{answered} answered, {by_key} by key");
}
