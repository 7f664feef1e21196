"""PartiQL as clients use it: what statements do, what they cost, and what they are refused for."""

from shop import *

run = client.execute_statement
MALFORMED = "Statement wasn't well formed, can't be processed: "
KEY_NEEDED = "Where clause does not contain a mandatory equality on all key attributes"


def plain_table(key=("pk", "sk"), indexes=(), local=(), types=None):
    return make_table(key, indexes, local, types)


def refused(statement, *values, **more):
    if values:
        more["Parameters"] = list(values)
    code, text, _ = fault(run, Statement=statement, **more)
    return code, text


def rows(statement, *values, **more):
    """All items over all pages."""
    if values:
        more["Parameters"] = list(values)
    found = []
    while True:
        page = run(Statement=statement, **more)
        found += page["Items"]
        if "NextToken" not in page:
            return found
        more["NextToken"] = page["NextToken"]


def sort_keys(statement, *values, **more):
    return [item["sk"]["S"] for item in rows(statement, *values, **more)]


def q01_statements_do_what_the_native_requests_do():
    table = plain_table()
    name = f'"{table.name}"'
    equal(run(Statement=f"INSERT INTO {name} VALUE {{'pk': 'a', 'sk': '1', 'n': 1, 'tags': <<'x', 'y'>>, 'l': [1, 'two']}}")["Items"], [])
    equal(table.get_item(Key={"pk": "a", "sk": "1"})["Item"],
          {"pk": "a", "sk": "1", "n": 1, "tags": {"x", "y"}, "l": [1, "two"]})
    equal(refused(f"INSERT INTO {name} VALUE {{'pk': 'a', 'sk': '1'}}"),
          ("DuplicateItemException", "Duplicate primary key exists in table"))
    answer = run(Statement=f"UPDATE {name} SET n = n + 5 SET l = list_append(l, [3]) REMOVE nothing WHERE pk = 'a' AND sk = '1' RETURNING ALL NEW *")
    equal(answer["Items"][0]["n"], {"N": "6"})
    equal(answer["Items"][0]["l"]["L"][2], {"N": "3"})
    answer = run(Statement=f"UPDATE {name} SET n = 7 WHERE pk = 'a' AND sk = '1' RETURNING MODIFIED OLD *")
    equal(answer["Items"], [{"n": {"N": "6"}}])
    equal(refused(f"UPDATE {name} SET n = 7 WHERE pk = 'none' AND sk = '1'")[0], "ConditionalCheckFailedException")
    equal(refused(f"UPDATE {name} SET n = 7 WHERE pk = 'a' AND sk = '1' AND n > 100")[0], "ConditionalCheckFailedException")
    code, _, response = fault(run, Statement=f"DELETE FROM {name} WHERE pk = 'a' AND sk = '1' AND n = 100",
                              ReturnValuesOnConditionCheckFailure="ALL_OLD")
    equal((code, response["Item"]["n"]), ("ConditionalCheckFailedException", {"N": "7"}))
    answer = run(Statement=f"DELETE FROM {name} WHERE pk = 'a' AND sk = '1' RETURNING ALL OLD *")
    equal(answer["Items"][0]["n"], {"N": "7"})
    equal(run(Statement=f"DELETE FROM {name} WHERE pk = 'a' AND sk = '1'")["Items"], [])
    for statement in (f"UPDATE {name} SET n = 1 WHERE pk = 'a'", f"DELETE FROM {name} WHERE n = 1", f"FROM {name} SET n = 1"):
        equal(refused(statement), ("ValidationException", KEY_NEEDED))
    equal(refused(f"UPDATE {name} SET sk = '2' WHERE pk = 'a' AND sk = '1'"),
          ("ValidationException", "One or more parameter values were invalid: Cannot update attribute sk. This attribute is part of the key"))


def q02_select_reads_what_it_must_and_no_more():
    table = plain_table(indexes=[index("byKind", ("kind", "sk"), "KEYS_ONLY")], local=[index("byWhen", ("pk", "made"), "KEYS_ONLY")])
    name = f'"{table.name}"'
    with table.batch_writer() as batch:
        for number in range(20):
            batch.put_item(Item={"pk": "a" if number < 15 else "b", "sk": f"{number:02}", "kind": "even" if number % 2 == 0 else "odd",
                                 "made": f"{99 - number}", "n": number, "m": {"x": [number]}})

    def cost(statement):
        return run(Statement=statement, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]["CapacityUnits"]

    equal(sort_keys(f"SELECT * FROM {name} WHERE pk = 'b'"), ["15", "16", "17", "18", "19"])
    equal(sort_keys(f"SELECT * FROM {name} WHERE pk = 'b' AND sk BETWEEN '16' AND '17'"), ["16", "17"])
    equal(sort_keys(f"SELECT * FROM {name} WHERE pk = 'a' AND begins_with(sk, '1') ORDER BY sk DESC"), ["14", "13", "12", "11", "10"])
    equal(sort_keys(f"SELECT * FROM {name} WHERE pk = 'a' AND sk IN ['03', '01', '99']"), ["01", "03"])
    equal(sort_keys(f"SELECT * FROM {name} WHERE pk IN ['b', 'x'] AND n >= 18"), ["18", "19"])
    equal(sort_keys(f"SELECT sk FROM {name} WHERE pk = 'a' AND (n = 3 OR contains(kind, 'eve') AND n < 3)"), ["00", "02", "03"])
    equal(sorted(sort_keys(f"SELECT * FROM {name} WHERE m.x[0] = 7")), ["07"])
    equal(sorted(sort_keys(f"SELECT * FROM {name} WHERE n > 17 AND absent IS MISSING AND kind IS NOT NULL")), ["18", "19"])
    equal(rows(f"SELECT m.x, n FROM {name} WHERE pk = 'a' AND sk = '04'"), [{"x": {"L": [{"N": "4"}]}, "n": {"N": "4"}}])
    equal(sort_keys(f"SELECT * FROM {name}.\"byKind\" WHERE kind = 'odd' AND sk > '14'"), ["15", "17", "19"])
    equal(sort_keys(f"SELECT sk, n FROM {name}.\"byWhen\" WHERE pk = 'b' ORDER BY made ASC", ConsistentRead=True), ["19", "18", "17", "16", "15"])
    equal(refused(f"SELECT n, m FROM {name}.\"byKind\" WHERE kind = 'odd'"), ("ValidationException",
          "One or more parameter values were invalid: Global secondary index byKind does not project [n, m]"))
    equal(cost(f"SELECT * FROM {name} WHERE pk = 'none'"), 0.5)
    equal(refused(f"SELECT * FROM {name} WHERE n = 1 ORDER BY sk")[1],
          "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.")
    equal(refused(f"SELECT * FROM {name} WHERE pk = 'a' ORDER BY n")[1],
          "Attribute n in ORDER BY clause must be part of the primary key")
    equal(refused(f"SELECT * FROM {name} WHERE pk = 'a' AND n = 1 OR pk = 'a' AND sk = '02'")[1],
          "Overlapping conditions with range keys are not supported in where clause")
    equal(refused('SELECT * FROM "no-such-table"')[0], "ResourceNotFoundException")


def q03_pages_go_on_where_they_ended():
    table = plain_table()
    name = f'"{table.name}"'
    with table.batch_writer() as batch:
        for number in range(30):
            batch.put_item(Item={"pk": "abc"[number % 3], "sk": f"{number:02}", "n": number})
    everything = sorted(item["sk"] for item in table.scan()["Items"])
    for statement in (f"SELECT * FROM {name}", f"SELECT * FROM {name} WHERE pk IN ['a', 'b', 'c']", f"SELECT * FROM {name} WHERE n >= 0"):
        for limit in (1, 7, 10, 30, 31):
            found = sort_keys(statement, Limit=limit)
            equal(sorted(found), everything)
    page = run(Statement=f"SELECT * FROM {name} WHERE pk = 'a'", Limit=4)
    equal(page["LastEvaluatedKey"], {"pk": {"S": "a"}, "sk": {"S": "09"}})
    equal(refused(f"SELECT * FROM {name} WHERE pk = 'b'", NextToken=page["NextToken"])[0], "ValidationException")
    equal(refused(f"SELECT * FROM {name} WHERE pk = 'a'", NextToken="nonsense")[0], "ValidationException")


def q04_sets_change_in_place():
    table = plain_table(("pk",))
    name = f'"{table.name}"'
    table.put_item(Item={"pk": "a", "ss": {"a", "b"}, "ns": {1, 2}, "s": "text"})

    def update(change, *values):
        parameters = {"Parameters": list(values)} if values else {}
        run(Statement=f"UPDATE {name} SET {change} WHERE pk = 'a'", **parameters)
        return table.get_item(Key={"pk": "a"})["Item"]

    equal(update("ss = set_add(ss, <<'b', 'c'>>)")["ss"], {"a", "b", "c"})
    equal(update("ns = SET_DELETE(ns, ?)", {"NS": ["2", "9"]})["ns"], {Decimal(1)})
    equal(update("fresh = set_add(fresh, <<'x'>>)")["fresh"], {"x"})
    assert "ns" not in update("ns = set_delete(ns, <<1>>)")
    wrong = "An operand in the update expression has an incorrect data type"
    for change in ("ss = set_add(ss, <<1>>)", "s = set_add(s, <<'x'>>)"):
        equal(refused(f"UPDATE {name} SET {change} WHERE pk = 'a'"), ("ValidationException", wrong))


def q05_a_batch_tells_of_each_statement():
    table = plain_table(indexes=[index("byKind", ("kind",))])
    name = f'"{table.name}"'
    table.put_item(Item={"pk": "a", "sk": "1", "kind": "k"})
    select_needs_key = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
    answer = client.batch_execute_statement(ReturnConsumedCapacity="TOTAL", Statements=[{"Statement": text} for text in (
        f"SELECT * FROM {name} WHERE pk = 'a' AND sk = '1'",
        f"SELECT * FROM {name} WHERE pk = 'a'",
        f"SELECT * FROM {name}.\"byKind\" WHERE kind = 'k'",
        f"INSERT INTO {name} VALUE {{'pk': 'a', 'sk': '1'}}",
        f"INSERT INTO {name} VALUE {{'pk': 'b', 'sk': '1'}}",
        f"UPDATE {name} SET n = 1 WHERE pk = 'a' AND sk = '1' AND kind = 'other'",
        'SELECT * FROM "no-such-table" WHERE pk = 1',
        f"SELECT * FROM {name} WHERE",
    )])
    found = [(each.get("Error", {}).get("Code"), each.get("Item", {}).get("sk")) for each in answer["Responses"]]
    equal(found, [(None, {"S": "1"}), ("ValidationError", None), ("ValidationError", None), ("DuplicateItem", None), (None, None),
                  ("ConditionalCheckFailed", None), ("ResourceNotFound", None), ("ValidationError", None)])
    equal({answer["Responses"][place]["Error"]["Message"] for place in (1, 2)}, {select_needs_key})
    equal(answer["Responses"][7]["Error"]["Message"], MALFORMED + "Unexpected term")
    assert "Item" in table.get_item(Key={"pk": "b", "sk": "1"})
    equal([figure["TableName"] for figure in answer["ConsumedCapacity"]], [table.name])


def q06_a_transaction_is_whole_or_not_at_all():
    table = plain_table(("pk",))
    name = f'"{table.name}"'
    transact = client.execute_transaction

    def statements(*texts):
        return [{"Statement": text} for text in texts]

    equal(transact(TransactStatements=statements(
        f"INSERT INTO {name} VALUE {{'pk': 'a', 'n': 1}}", f"INSERT INTO {name} VALUE {{'pk': 'b', 'n': 1}}",
        f"INSERT INTO {name} VALUE {{'pk': 'c', 'n': 2}}"))["Responses"], [])
    code, text, response = fault(transact, TransactStatements=statements(
        f"UPDATE {name} SET n = 2 WHERE pk = 'a'", f"INSERT INTO {name} VALUE {{'pk': 'b'}}", f"DELETE FROM {name} WHERE pk = 'c' AND n = 1"))
    equal((code, text), ("TransactionCanceledException", "Transaction cancelled, please refer cancellation reasons for "
                         "specific reasons [None, DuplicateItem, ConditionalCheckFailed]"))
    equal([reason["Code"] for reason in response["CancellationReasons"]], ["None", "DuplicateItem", "ConditionalCheckFailed"])
    equal(table.get_item(Key={"pk": "a"})["Item"]["n"], 1)
    transact(TransactStatements=statements(f"EXISTS(SELECT * FROM {name} WHERE pk = 'a' AND n = 1)", f"UPDATE {name} SET n = 2 WHERE pk = 'b'"))
    code, _, response = fault(transact, TransactStatements=statements(
        f"EXISTS(SELECT * FROM {name} WHERE pk = 'a' AND n = 9)", f"UPDATE {name} SET n = 3 WHERE pk = 'b'"))
    equal([reason["Code"] for reason in response["CancellationReasons"]], ["ConditionalCheckFailed", "None"])
    answer = transact(TransactStatements=statements(f"SELECT * FROM {name} WHERE pk = 'a'", f"SELECT n FROM {name} WHERE pk = 'none'"),
                      ReturnConsumedCapacity="TOTAL")
    equal(answer["Responses"], [{"Item": {"pk": {"S": "a"}, "n": {"N": "1"}}}, {}])
    equal(answer["ConsumedCapacity"][0]["CapacityUnits"], 4.0)
    token = uuid.uuid4().hex
    for _ in range(3):
        transact(TransactStatements=statements(f"UPDATE {name} SET n = n + 1 WHERE pk = 'a'"), ClientRequestToken=token)
    equal(table.get_item(Key={"pk": "a"})["Item"]["n"], 2)
    equal(fault(transact, TransactStatements=statements(f"UPDATE {name} SET n = n + 2 WHERE pk = 'a'"), ClientRequestToken=token)[0],
          "IdempotentParameterMismatchException")
    where = "Validation failed in TransactStatements[0]: "
    equal(fault(transact, TransactStatements=statements(f"SELECT * FROM {name} WHERE n = 1"))[1],
          where + "Select statements within ExecuteTransaction must specify the primary key in the where clause.")
    equal(fault(transact, TransactStatements=statements(f"EXISTS(SELECT * FROM {name} WHERE pk = 'a')"))[1],
          where + "EXISTS() must contain a single item read with additional condition")


def q07_an_index_of_several_attributes_is_not_for_statements():
    schema = [{"AttributeName": name, "KeyType": role} for name, role in (("h1", "HASH"), ("h2", "HASH"), ("r1", "RANGE"))]
    several = {"IndexName": "several", "KeySchema": schema, "Projection": {"ProjectionType": "ALL"}}
    table = plain_table(("pk",), indexes=[several])
    text = "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."
    for tail in ("", " WHERE h1 = 'a' AND h2 = 'b'", " WHERE h1 = 5"):
        equal(refused(f"SELECT * FROM \"{table.name}\".\"several\"{tail}"), ("ValidationException", text))
    equal(rows(f"SELECT * FROM \"{table.name}\" WHERE pk = 'x'"), [])


def q08_statements_cost_what_the_native_requests_cost():
    table = plain_table(("pk",), indexes=[index("byKind", ("kind",))])
    name = f'"{table.name}"'

    def cost(statement):
        used = run(Statement=statement, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
        return used["CapacityUnits"], used["Table"]["CapacityUnits"]

    text = "x" * 3000
    equal(cost(f"INSERT INTO {name} VALUE {{'pk': 'a', 'kind': 'k', 'text': '{text}'}}"), (6.0, 3.0))
    equal(cost(f"SELECT pk FROM {name} WHERE pk = 'a'"), (0.5, 0.5))
    equal(cost(f"UPDATE {name} SET kind = 'other' WHERE pk = 'a'"), (9.0, 3.0))
    equal(cost(f"DELETE FROM {name} WHERE pk = 'a'"), (6.0, 3.0))
