"""Behaviour of the service that applications see and that its documentation does not mention."""

import json
import urllib.error
import urllib.request

from shop import *


def call(operation, **body):
    """What the server answers when no client library stands between."""
    request = urllib.request.Request(ENDPOINT, json.dumps(body).encode(), {
        "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "Authorization": "AWS4-HMAC-SHA256 Credential=local/20240101/us-east-1/dynamodb/aws4_request, "
                         "SignedHeaders=host;x-amz-date, Signature=" + "0" * 64, "X-Amz-Date": "20240101T000000Z"})
    try:
        return 200, json.load(urllib.request.urlopen(request))
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


EVERYTHING = 409_600
PUT_TOO_LARGE = "Item size has exceeded the maximum allowed size"
UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"


def update_too_large(table, sk, expression, **values):
    try:
        table.update_item(Key={"pk": "p", "sk": sk}, UpdateExpression=expression,
                          **({"ExpressionAttributeValues": {f":{name}": value for name, value in values.items()}} if values else {}))
    except botocore.exceptions.ClientError as error:
        equal((error.response["Error"]["Code"], error.response["Error"]["Message"].rsplit(": ", 1)[-1]),
              ("ValidationException", UPDATE_TOO_LARGE))
        return True
    return False


def o01_an_item_may_have_409600_bytes_on_every_way_in():
    table = make_table(("pk",))
    fits = EVERYTHING - len("pk" + "p" + "d")
    item = lambda extra: {"pk": "p", "d": "x" * (fits + extra)}
    typed = lambda extra: {name: {"S": value} for name, value in item(extra).items()}
    table.put_item(Item=item(0))
    assert fault(table.put_item, Item=item(1))[1].endswith(PUT_TOO_LARGE)
    batch = lambda extra: resource.batch_write_item(RequestItems={table.name: [{"PutRequest": {"Item": item(extra)}}]})
    batch(0)
    equal(fault(lambda: batch(1))[0:2], ("ValidationException", PUT_TOO_LARGE))
    transact = lambda extra: client.transact_write_items(
        TransactItems=[{"Put": {"TableName": table.name, "Item": typed(extra)}}])
    transact(0)
    equal(fault(lambda: transact(1))[0:2], ("ValidationException", PUT_TOO_LARGE))
    for extra, code in [(0, None), (1, "ValidationError")]:
        table.put_item(Item={"pk": "p"})
        update = {"Update": {"TableName": table.name, "Key": {"pk": {"S": "p"}}, "UpdateExpression": "SET d = :d",
                             "ExpressionAttributeValues": {":d": typed(extra)["d"]}}}
        if code is None:
            client.transact_write_items(TransactItems=[update])
        else:
            name, _, response = fault(client.transact_write_items, TransactItems=[update])
            equal((name, response["CancellationReasons"][0]),
                  ("TransactionCanceledException", {"Code": code, "Message": UPDATE_TOO_LARGE}))


def o02_an_update_counts_its_statement():
    """The finished item without its key, 3 bytes, and 19 for each action that writes a value must fit; 2 for one that
    clears, 1 more for a place in a list, 50 more for arithmetic."""
    table = make_table(("pk", "sk"))
    for sk, expression, values, rest in [
        ("1", "SET d = :d", {}, 0),
        ("2", "SET d = :d, e = :e", {"e": "y"}, 19 + len("e" + "y")),
        ("3", "SET d = :d REMOVE z", {}, 2),
        ("4", "SET d = :d, l[0] = :e", {"e": "y"}, 19 + len("l") + 4 + len("0") + len("y")),
        ("5", "SET d = :d, n = n + :e", {"e": 1}, 19 + len("n") + 50 + 2),
        ("6", "SET d = :d ADD n :e", {"e": 1}, 19 + len("n") + 2),
    ]:
        def accepts(length, sk=sk, expression=expression, values=values):
            table.put_item(Item={"pk": "p", "sk": sk, "z": "z", "n": 1, "l": ["a"]})
            return not update_too_large(table, sk, expression, d="x" * length, **values)
        wanted = EVERYTHING - 3 - 19 - len("d") - rest
        equal((sk, accepts(wanted), accepts(wanted + 1)), (sk, True, False))


def o03_an_update_may_not_grow_what_is_stored_past_the_limit():
    table = make_table(("pk", "sk"))
    table.put_item(Item={"pk": "p", "sk": "1", "d": "x" * (EVERYTHING - len("pk" + "p" + "sk" + "1" + "d") - 10)})
    assert not update_too_large(table, "1", "SET more = :m", m="123456")
    assert update_too_large(table, "1", "SET more = :m", m="1234567")


def o04_numbers_take_a_byte_for_two_digits_on_each_side_of_the_point():
    table = make_table(("pk",))
    for text, size in [("0", 1), ("7", 2), ("12", 2), ("123", 3), ("-123", 4), ("1200", 2), ("0.5", 2), ("3.14159", 5),
                       ("1E+125", 2), ("123456", 4), ("1.5", 3), ("-1.5", 4)]:
        sized = EVERYTHING - len("pk" + "p" + "n" + "d") - size
        put = lambda extra: table.put_item(Item={"pk": "p", "n": Decimal(text), "d": "x" * (sized + extra)})
        put(0)
        assert fault(put, extra=1)[1].endswith(PUT_TOO_LARGE), text


def o05_values_are_sized_by_their_type():
    table = make_table(("pk",))
    for value, size in [(True, 1), (None, 1), ("é", 2), (b"abc", 3), ([], 3), ({}, 3), (["ab", "c"], 3 + 2 + 1 + 1 + 1),
                        ({"key": "ab"}, 3 + 3 + 2 + 1), ({"a", "bc"}, 3), ({Decimal(1), Decimal(-1)}, 2 + 3)]:
        sized = EVERYTHING - len("pk" + "p" + "v" + "d") - size
        put = lambda extra: table.put_item(Item={"pk": "p", "v": value, "d": "x" * (sized + extra)})
        put(0)
        assert fault(put, extra=1)[1].endswith(PUT_TOO_LARGE), value


def nested(wraps, kind):
    value = {"S": "x"}
    for _ in range(wraps):
        value = {"L": [value]} if kind == "L" else {"M": {"m": value}}
    return value


def o06_values_nest_32_levels():
    table = make_table(("pk",))
    for kind in ("L", "M"):
        put = lambda wraps: call("PutItem", TableName=table.name, Item={"pk": {"S": "p"}, "v": nested(wraps, kind)})
        equal(put(31)[0], 200)
        read = call("GetItem", TableName=table.name, Key={"pk": {"S": "p"}})[1]["Item"]["v"]
        equal(read, nested(31, kind))
        status, body = put(32)
        assert status == 400 and "Nesting Levels have exceeded supported limits" in (body.get("message") or body["Message"]), body
        status, body = put(200)
        equal(status, 400)
    equal(call("GetItem", TableName=table.name, Key={"pk": {"S": "p"}})[0], 200)
    update = lambda wraps: call("UpdateItem", TableName=table.name, Key={"pk": {"S": "p"}}, UpdateExpression="SET v.m = :v",
                                ExpressionAttributeValues={":v": nested(wraps, "L")})
    equal([update(30)[0], update(31)[0], update(32)[0]], [200, 400, 400])


def o07_size_counts_utf16_units_of_a_string():
    table = make_table(("pk",))
    table.put_item(Item={"pk": "p", "a": "abc", "e": "é", "g": "\U0001f600", "b": b"\xf0\x9f", "l": [1, 2, 3], "s": {"x", "y"}})
    for name, size in [("a", 3), ("e", 1), ("g", 2), ("b", 2), ("l", 3), ("s", 2)]:
        found = table.scan(FilterExpression="size(#a) = :n", ExpressionAttributeNames={"#a": name},
                           ExpressionAttributeValues={":n": size})
        equal((name, found["Count"]), (name, 1))


def o08_a_string_set_may_hold_the_empty_string():
    table = make_table(("pk",))
    table.put_item(Item={"pk": "p", "s": {"", "a"}, "empty": "", "nothing": b""})
    item = table.get_item(Key={"pk": "p"})["Item"]
    equal((item["s"], item["empty"], bytes(item["nothing"])), ({"", "a"}, "", b""))
    assert "An string set  may not be empty" in fault(
        client.put_item, TableName=table.name, Item={"pk": {"S": "p"}, "s": {"SS": []}})[1]
    table.update_item(Key={"pk": "p"}, UpdateExpression="DELETE s :s", ExpressionAttributeValues={":s": {""}})
    equal(table.get_item(Key={"pk": "p"})["Item"]["s"], {"a"})


def o09_equal_index_keys_are_told_apart_by_the_tables_key():
    table = make_table(("pk", "sk"), [index("same", ("g", "h"))])
    wanted = {(str(number % 3), str(number)) for number in range(12)}
    for pk, sk in wanted:
        table.put_item(Item={"pk": pk, "sk": sk, "g": "same", "h": "same"})
    for forward in (True, False):
        seen, start = [], {}
        while True:
            page = table.query(IndexName="same", KeyConditionExpression=Key("g").eq("same"), Limit=5,
                               ScanIndexForward=forward, **start)
            seen += [(item["pk"], item["sk"]) for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                break
            equal(set(page["LastEvaluatedKey"]), {"pk", "sk", "g", "h"})
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        equal((len(seen), set(seen)), (12, wanted))
    table.delete_item(Key={"pk": "0", "sk": "0"})
    equal(table.query(IndexName="same", KeyConditionExpression=Key("g").eq("same"))["Count"], 11)


def multi_attribute_index():
    attributes = ["g1", "g2", "a", "b", "c"]
    table = resource.create_table(
        TableName="t" + uuid.uuid4().hex, KeySchema=keys("pk"), BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ["pk", *attributes]],
        GlobalSecondaryIndexes=[{
            "IndexName": "multi", "Projection": {"ProjectionType": "ALL"},
            "KeySchema": [{"AttributeName": name, "KeyType": "HASH" if name.startswith("g") else "RANGE"} for name in attributes]}])
    table.wait_until_exists()
    return table


def o10_an_index_of_several_attributes():
    table = multi_attribute_index()
    for number in range(8):
        a, b, c = (str(number >> shift & 1) for shift in (2, 1, 0))
        table.put_item(Item={"pk": str(number), "g1": "x", "g2": "y", "a": a, "b": b, "c": c})
    table.put_item(Item={"pk": "sparse", "g1": "x", "g2": "y", "a": "0", "b": "0"})

    def ask(condition, **more):
        used = [f":{name}" for name in ("g1", "g2", "a", "b", "c") if f":{name}" in condition]
        values = {":g1": "x", ":g2": "y", ":a": "1", ":b": "0", ":c": "0"}
        return table.query(IndexName="multi", KeyConditionExpression=condition,
                           ExpressionAttributeValues={name: values[name] for name in used}, **more)

    both = "g1 = :g1 AND g2 = :g2"
    for condition, wanted in [
        (both, "01234567"),
        (f"{both} AND a = :a", "4567"),
        (f"{both} AND a >= :a", "4567"),
        (f"{both} AND a = :a AND b > :b", "67"),
        (f"c > :c AND b = :b AND g2 = :g2 AND a = :a AND g1 = :g1", "5"),
        (f"{both} AND a = :a AND b = :b AND c = :c", "4"),
    ]:
        equal("".join(names(ask(condition)["Items"], "pk")), wanted)
    gap = "RANGE key attributes b must have equality conditions specified in the query because a condition is present on key attribute c"
    equal(fault(lambda: ask(f"{both} AND a = :a AND c = :c"))[0:2], ("ValidationException", gap))
    equal(fault(lambda: ask(f"{both} AND a = :a AND b > :b AND c = :c"))[0:2], ("ValidationException", gap))
    equal(fault(lambda: ask("g1 = :g1"))[0], "ValidationException")
    equal(fault(lambda: ask("g1 = :g1 AND g2 > :g2"))[0], "ValidationException")
    page = ask(both, Limit=3)
    equal(set(page["LastEvaluatedKey"]), {"pk", "g1", "g2", "a", "b", "c"})
    equal("".join(names(ask(both, ExclusiveStartKey=page["LastEvaluatedKey"])["Items"], "pk")), "34567")


def o11_expressions_take_4096_bytes_before_names_are_put_in():
    table = make_table(("pk",))
    def check(length):
        text = "attribute_exists(" + "y" * (length - len("attribute_exists()")) + ")"
        return fault(table.scan, FilterExpression=text)[1] if length > 4096 else table.scan(FilterExpression=text)
    check(4096)
    assert "Expression size has exceeded the maximum allowed size" in check(4097)
    long = {"ExpressionAttributeNames": {"#a": "y" * 5000}}
    table.scan(FilterExpression="attribute_exists(#a)", **long)


def o12_needless_parts_of_expressions_are_refused():
    table = make_table(("pk",))
    scan = lambda text, **more: fault(table.scan, FilterExpression=text, **more)[1]
    equal(scan("((attribute_exists(a)))"), "Invalid FilterExpression: The expression has redundant parentheses;")
    equal(scan("contains(a, a)"), "Invalid FilterExpression: The first operand must be distinct from the remaining operands "
          "for this operator or function; operator: contains, first operand: [a]")
    equal(scan("attribute_exists(a)", ExpressionAttributeNames={"#b": "b"}),
          "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}")
    equal(scan("attribute_exists(a)", ExpressionAttributeValues={":b": "b"}),
          "Value provided in ExpressionAttributeValues unused in expressions: keys: {:b}")


def o13_a_write_that_fails_its_condition_changes_neither_item_nor_index():
    table = make_table(("pk",), [index("byG", ("g",))])
    table.put_item(Item={"pk": "p", "g": "1"})
    for write in [lambda: table.put_item(Item={"pk": "p", "g": "2"}, ConditionExpression="attribute_not_exists(pk)"),
                  lambda: table.update_item(Key={"pk": "p"}, UpdateExpression="REMOVE g", ConditionExpression=Attr("g").eq("2")),
                  lambda: table.delete_item(Key={"pk": "p"}, ConditionExpression=Attr("g").eq("2"))]:
        equal(fault(write)[0:2], ("ConditionalCheckFailedException", "The conditional request failed"))
    equal(table.query(IndexName="byG", KeyConditionExpression=Key("g").eq("1"))["Items"], [{"pk": "p", "g": "1"}])
    equal(fault(table.put_item, Item={"pk": "p"}, ConditionExpression="attribute_not_exists(pk)",
                ReturnValuesOnConditionCheckFailure="ALL_OLD")[2]["Item"], {"pk": {"S": "p"}, "g": {"S": "1"}})


def o14_a_table_asked_for_by_its_arn_is_answered_by_its_arn():
    table = make_table(("pk",), local=())
    arn = client.describe_table(TableName=table.name)["Table"]["TableArn"]
    units = {"ReturnConsumedCapacity": "TOTAL"}
    key = {"pk": {"S": "p"}}
    batch = client.batch_write_item(RequestItems={arn: [{"PutRequest": {"Item": key}}]}, **units)
    got = client.batch_get_item(RequestItems={arn: {"Keys": [key]}}, **units)
    equal(got["Responses"], {arn: [key]})
    written = client.transact_write_items(TransactItems=[{"Put": {"TableName": arn, "Item": key}}], **units)
    read = client.transact_get_items(TransactItems=[{"Get": {"TableName": arn, "Key": key}}], **units)
    for answer in (batch, got, written, read):
        equal([used["TableName"] for used in answer["ConsumedCapacity"]], [arn])
    for answer in (client.put_item(TableName=arn, Item=key, **units), client.get_item(TableName=arn, Key=key, **units),
                   client.update_item(TableName=arn, Key=key, **units), client.scan(TableName=arn, **units),
                   client.query(TableName=arn, KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": {"S": "p"}}, **units),
                   client.execute_statement(Statement=f'SELECT * FROM "{arn}"', **units),
                   client.delete_item(TableName=arn, Key=key, **units)):
        equal(answer["ConsumedCapacity"]["TableName"], arn)
    equal(client.get_item(TableName=table.name, Key=key, **units)["ConsumedCapacity"]["TableName"], table.name)


def o15_what_a_key_condition_cannot_be_is_told_after_the_faults_of_other_expressions():
    table = make_table(("pk",))
    several = "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
    for more, expected in [({}, several),
                           ({"FilterExpression": ""}, "Invalid FilterExpression: The expression can not be empty;"),
                           ({"ExpressionAttributeNames": {"#a": "a"}},
                            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a}")]:
        equal(fault(table.query, KeyConditionExpression="pk = x", **more)[1], expected)
