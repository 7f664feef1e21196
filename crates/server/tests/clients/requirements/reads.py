"""Requirements of tables, keys, queries and pages."""

import json
import os
import pathlib
import subprocess
import sys

from shop import *


def r01_the_shop_table_is_accepted_and_described():
    table = make_table(("PK", "SK"), SHOP_INDEXES)
    described = client.describe_table(TableName=table.name)["Table"]
    equal(described["TableStatus"], "ACTIVE")
    equal(described["KeySchema"], keys("PK", "SK"))
    equal(described["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST")
    equal({each["IndexName"]: each["Projection"] for each in described["GlobalSecondaryIndexes"]},
          {"GSI1": {"ProjectionType": "ALL"}, "GSI2": {"ProjectionType": "KEYS_ONLY"}})


def r02_keys_of_every_type_sort_by_type():
    single = make_table(("id",))
    single.put_item(Item={"id": "a", "x": 1})
    equal(single.get_item(Key={"id": "a"})["Item"], {"id": "a", "x": Decimal(1)})
    for kind, value in [("S", "1"), ("N", Decimal(1)), ("B", b"1")]:
        table = make_table(("pk",), types={"pk": kind})
        table.put_item(Item={"pk": value, "x": 1})
        equal(table.get_item(Key={"pk": value})["Item"]["x"], 1)
        equal(table.query(KeyConditionExpression=Key("pk").eq(value))["Count"], 1)
    for kind, values in [
        ("S", ["A", "Z", "a", "é", "\U0001f600"]),
        ("N", [Decimal("-1E+30"), Decimal("-10"), Decimal("-9.5"), Decimal(0), Decimal("1E-100"), Decimal(9), Decimal(10)]),
        ("B", [b"\x00", b"\x00\x01", b"\x01", b"\xff"]),
    ]:
        table = make_table(("pk", "sk"), types={"sk": kind})
        for value in reversed(values):
            table.put_item(Item={"pk": "p", "sk": value})
        found = table.query(KeyConditionExpression=Key("pk").eq("p"))["Items"]
        equal([bytes(item["sk"]) if kind == "B" else item["sk"] for item in found], values)


def r03_sort_key_conditions_work_and_a_partition_key_takes_equality_only():
    table = make_table(("pk", "sk"))
    for sk in ["a1", "a2", "b1", "b2"]:
        table.put_item(Item={"pk": "p", "sk": sk})
    for condition, wanted in [
        (Key("sk").eq("a2"), ["a2"]),
        (Key("sk").lt("a2"), ["a1"]),
        (Key("sk").lte("a2"), ["a1", "a2"]),
        (Key("sk").gt("b1"), ["b2"]),
        (Key("sk").gte("b1"), ["b1", "b2"]),
        (Key("sk").between("a2", "b1"), ["a2", "b1"]),
        (Key("sk").begins_with("a"), ["a1", "a2"]),
    ]:
        equal(names(table.query(KeyConditionExpression=Key("pk").eq("p") & condition)["Items"], "sk"), wanted)
    partition = Key("pk")
    for condition in [partition.gt("p"), partition.gte("p"), partition.lt("p"), partition.lte("p"),
                      partition.between("a", "p"), partition.begins_with("p")]:
        equal(fault(table.query, KeyConditionExpression=condition)[0:2],
              ("ValidationException", "Query key condition not supported"))
    equal(fault(table.query, KeyConditionExpression=Key("sk").eq("a1"))[0:2],
          ("ValidationException", "Query condition missed key schema element: pk"))


def r04_the_five_listed_queries_return_exactly_the_listed_items():
    table = shop()
    rows = SHOP_ROWS
    equal(table.get_item(Key={"PK": "USER#u123", "SK": "PROFILE"})["Item"], rows[0])
    user = Key("PK").eq("USER#u123")
    equal(table.query(KeyConditionExpression=user & Key("SK").begins_with("ORDER#"))["Items"], [rows[1], rows[2]])
    equal(table.query(KeyConditionExpression=Key("PK").eq("ORDER#2024-001"))["Items"], [rows[4], rows[5], rows[3]])
    equal(table.query(KeyConditionExpression=user)["Items"], [rows[1], rows[2], rows[0]])
    equal(table.get_item(Key={"PK": "USER#u123", "SK": "ORDER#2024-001"})["Item"], rows[1])


def r05_descending_with_a_limit_returns_the_newest_first():
    table = make_table(("PK", "SK"))
    for number in range(25):
        table.put_item(Item={"PK": "USER#1", "SK": f"ORDER#{number:03}"})
    found = table.query(KeyConditionExpression=Key("PK").eq("USER#1"), ScanIndexForward=False, Limit=10)["Items"]
    equal(names(found), [f"ORDER#{number:03}" for number in range(24, 14, -1)])


def r06_pages_chain_and_end_at_a_megabyte():
    table = make_table(("PK", "SK"))
    for number in range(12):
        table.put_item(Item={"PK": "p", "SK": f"{number:03}", "filler": "x" * 150_000})
    seen, start = [], {}
    while True:
        page = table.query(KeyConditionExpression=Key("PK").eq("p"), Limit=5, **start)
        seen += names(page["Items"])
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    equal(seen, [f"{number:03}" for number in range(12)])
    first = table.query(KeyConditionExpression=Key("PK").eq("p"))
    equal((first["Count"], first["LastEvaluatedKey"]), (7, {"PK": "p", "SK": "006"}))
    rest = table.query(KeyConditionExpression=Key("PK").eq("p"), ExclusiveStartKey=first["LastEvaluatedKey"])
    equal(names(first["Items"]) + names(rest["Items"]), seen)
    assert "LastEvaluatedKey" not in rest
    counted = table.query(KeyConditionExpression=Key("PK").eq("p"), FilterExpression=Attr("filler").eq("none"))
    equal((counted["Count"], counted["ScannedCount"], counted["LastEvaluatedKey"]), (0, 7, {"PK": "p", "SK": "006"}))


def r07_one_query_returns_profile_and_orders():
    found = shop().query(KeyConditionExpression=Key("PK").eq("USER#u123"))["Items"]
    equal(names(found), ["ORDER#2024-001", "ORDER#2024-002", "PROFILE"])


def r15_composite_sort_keys_answer_status_and_date():
    table = make_table(("PK", "SK"))
    shipped = ["STATUS#SHIPPED#2024-01-01", "STATUS#SHIPPED#2024-01-15"]
    for sk in [*shipped, "STATUS#SHIPPED#2024-02-01", "STATUS#PENDING#2024-01-16", "STATUS#DELIVERED#2024-01-10"]:
        table.put_item(Item={"PK": "ORDERS", "SK": sk})
    orders = Key("PK").eq("ORDERS")
    january = Key("SK").between("STATUS#SHIPPED#2024-01-01", "STATUS#SHIPPED#2024-01-31")
    equal(names(table.query(KeyConditionExpression=orders & january)["Items"]), shipped)
    pending = table.query(KeyConditionExpression=orders & Key("SK").begins_with("STATUS#PENDING#"))["Items"]
    equal(names(pending), ["STATUS#PENDING#2024-01-16"])


def r16_a_prefix_reads_neither_saved_nor_wishlist_items():
    table = make_table(("PK", "SK"))
    for prefix in ["CART#ACTIVE#", "CART#SAVED#", "WISHLIST#"]:
        for number in range(10):
            table.put_item(Item={"PK": "USER#1", "SK": f"{prefix}{number}", "filler": "x" * 3500})
    read = table.query(KeyConditionExpression=Key("PK").eq("USER#1") & Key("SK").begins_with("CART#ACTIVE#"),
                       ReturnConsumedCapacity="TOTAL")
    equal((read["Count"], read["ScannedCount"]), (10, 10))
    equal(read["ConsumedCapacity"]["CapacityUnits"], 4.5)


def r17_a_hierarchy_lists_children_and_fetches_ancestors():
    table = make_table(("PK", "SK"))
    paths = ["/a", "/a/b", "/a/b/c", "/a/d", "/e"]
    for path in paths:
        parent = path.rsplit("/", 1)[0] or "/"
        table.put_item(Item={"PK": f"PARENT#{parent}", "SK": f"NODE#{path}"})
        table.put_item(Item={"PK": f"NODE#{path}", "SK": "META", "path": path})
    children = table.query(KeyConditionExpression=Key("PK").eq("PARENT#/a"))["Items"]
    equal(names(children), ["NODE#/a/b", "NODE#/a/d"])
    equal(names(table.query(KeyConditionExpression=Key("PK").eq("PARENT#/"))["Items"]), ["NODE#/a", "NODE#/e"])
    wanted = [{"PK": f"NODE#{path}", "SK": "META"} for path in ["/a", "/a/b", "/gone"]]
    found = resource.batch_get_item(RequestItems={table.name: {"Keys": wanted}})["Responses"][table.name]
    equal(sorted(item["path"] for item in found), ["/a", "/a/b"])


def r18_a_sharded_time_series_is_merged_in_order_with_none_lost():
    table = make_table(("PK", "SK"))
    moments = [f"2024-01-01T00:{number // 60:02}:{number % 60:02}" for number in range(100)]
    together(100, lambda number: table.put_item(Item={"PK": f"METRIC#{number % 10}", "SK": moments[number]}))
    window = Key("SK").between(moments[10], moments[89])
    shards = together(10, lambda shard: table.query(
        KeyConditionExpression=Key("PK").eq(f"METRIC#{shard}") & window)["Items"])
    equal(sorted(sk for shard in shards for sk in names(shard)), moments[10:90])


def r19_decimals_come_back_exactly():
    table = make_table(("pk",))
    for text in ["0", "-1", "3.14", "12345678901234567890123456789012345678", "1E-130", "9.9E+30", "-0.00000000001"]:
        table.put_item(Item={"pk": "n", "value": Decimal(text)})
        equal(table.get_item(Key={"pk": "n"})["Item"]["value"], Decimal(text))
    put = {"TableName": table.name, "Item": {"pk": {"S": "n"}, "v": {"N": "1" * 39}}}
    equal(fault(client.put_item, **put)[0], "ValidationException")


def r20_lists_of_maps_come_back_unchanged():
    table = make_table(("pk",))
    payments = [{"id": "p1", "amount": Decimal("10.50"), "lines": [{"n": None, "ok": True}]}, {"id": "p2", "tags": {"a", "b"}}]
    table.put_item(Item={"pk": "invoice", "payments": payments})
    equal(table.get_item(Key={"pk": "invoice"})["Item"]["payments"], payments)


def r21_deleting_a_tenant_leaves_the_others():
    table = make_table(("PK", "SK"))
    for tenant in ["T#1", "T#2"]:
        for number in range(5):
            table.put_item(Item={"PK": tenant, "SK": str(number)})
    for item in table.query(KeyConditionExpression=Key("PK").eq("T#1"))["Items"]:
        table.delete_item(Key={"PK": item["PK"], "SK": item["SK"]})
    equal(sorted((item["PK"], item["SK"]) for item in table.scan()["Items"]), [("T#2", str(n)) for n in range(5)])


def r22_a_vertically_partitioned_document_is_rebuilt_and_updated_for_one_unit():
    table = make_table(("PK", "SK"))
    for part in range(8):
        table.put_item(Item={"PK": "DOC#1", "SK": f"PART#{part}", "body": "x" * 900})
    found = table.query(KeyConditionExpression=Key("PK").eq("DOC#1") & Key("SK").begins_with("PART#"))["Items"]
    equal(names(found), [f"PART#{part}" for part in range(8)])
    update = table.update_item(Key={"PK": "DOC#1", "SK": "PART#3"}, UpdateExpression="SET body = :b",
                               ExpressionAttributeValues={":b": "y" * 900}, ReturnConsumedCapacity="TOTAL")
    equal(update["ConsumedCapacity"]["CapacityUnits"], 1.0)


def r23_items_over_400_kb_are_refused_on_put_and_update():
    table = make_table(("pk",))
    room = 409_600 - len("pk") - len("p") - len("data")
    table.put_item(Item={"pk": "p", "data": "x" * room})
    code, message, _ = fault(table.put_item, Item={"pk": "p", "data": "x" * (room + 1)})
    assert code == "ValidationException" and message.endswith("Item size has exceeded the maximum allowed size"), message
    code, message, _ = fault(table.update_item, Key={"pk": "p"}, UpdateExpression="SET more = :m",
                             ExpressionAttributeValues={":m": "x" * 100})
    equal((code, message), ("ValidationException", "Item size to update has exceeded the maximum allowed size"))


def r25_filters_and_projections_save_no_capacity():
    table = make_table(("pk", "sk"))
    for number in range(10):
        table.put_item(Item={"pk": "p", "sk": str(number), "kind": "odd" if number % 2 else "even", "filler": "x" * 4000})
    plain = table.query(KeyConditionExpression=Key("pk").eq("p"), ReturnConsumedCapacity="TOTAL")
    filtered = table.query(KeyConditionExpression=Key("pk").eq("p"), FilterExpression=Attr("kind").eq("odd"),
                           ProjectionExpression="sk", ReturnConsumedCapacity="TOTAL")
    equal((filtered["Count"], filtered["ScannedCount"]), (5, 10))
    equal(filtered["Items"][0], {"sk": "1"})
    equal(filtered["ConsumedCapacity"]["CapacityUnits"], plain["ConsumedCapacity"]["CapacityUnits"])
    equal(plain["ConsumedCapacity"]["CapacityUnits"], 5.0)


def r26_a_filtered_scan_works_and_pages():
    table = make_table(("pk",))
    for number in range(20):
        table.put_item(Item={"pk": str(number), "CreatedAt": f"2024-01-{number + 1:02}"})
    found, start = [], {}
    while True:
        page = table.scan(FilterExpression=Attr("CreatedAt").lt("2024-01-11"), Limit=3, **start)
        found += page["Items"]
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    equal(sorted(int(item["pk"]) for item in found), list(range(10)))


def r27_reserved_words_need_names():
    table = make_table(("pk",))
    for word in ["status", "ttl", "name", "Status", "TTL"]:
        message = fault(table.get_item, Key={"pk": "x"}, ProjectionExpression=word)[1]
        equal(message, f"Invalid ProjectionExpression: Attribute name is a reserved keyword; reserved keyword: {word}")
        table.put_item(Item={"pk": "x", word: 1})
        found = table.get_item(Key={"pk": "x"}, ProjectionExpression="#w", ExpressionAttributeNames={"#w": word})["Item"]
        equal(found, {word: 1})
        equal(fault(table.update_item, Key={"pk": "x"}, UpdateExpression=f"SET {word} = :v",
                    ExpressionAttributeValues={":v": 2})[0], "ValidationException")


def r35_batches_take_25_writes_and_100_reads():
    table = make_table(("pk",))
    put = lambda number: {"PutRequest": {"Item": {"pk": {"S": str(number)}}}}
    client.batch_write_item(RequestItems={table.name: [put(number) for number in range(25)]})
    code, message, _ = fault(client.batch_write_item, RequestItems={table.name: [put(number) for number in range(26)]})
    assert code == "ValidationException" and "Member must have length less than or equal to 25" in message, message
    other = make_table(("pk",))
    equal(fault(client.batch_write_item, RequestItems={
        table.name: [put(number) for number in range(13)], other.name: [put(number) for number in range(13)]})[0:2],
        ("ValidationException", "Too many items requested for the BatchWriteItem call"))
    equal(other.scan(Select="COUNT")["Count"], 0)
    equal(fault(client.batch_write_item, RequestItems={table.name: [put(1), put(1)]})[0:2],
          ("ValidationException", "Provided list of item keys contains duplicates"))
    key = lambda number: {"pk": {"S": str(number)}}
    read = client.batch_get_item(RequestItems={table.name: {"Keys": [key(number) for number in range(100)]}})
    equal(len(read["Responses"][table.name]), 25)
    code, message, _ = fault(client.batch_get_item, RequestItems={table.name: {"Keys": [key(number) for number in range(101)]}})
    assert code == "ValidationException" and "Member must have length less than or equal to 100" in message, message
    equal(fault(client.batch_get_item, RequestItems={table.name: {"Keys": [key(1), key(1)]}})[0:2],
          ("ValidationException", "Provided list of item keys contains duplicates"))


def r44_a_table_moves_between_billing_modes():
    table = make_table(("pk",))
    mode = lambda: client.describe_table(TableName=table.name)["Table"]
    client.update_table(TableName=table.name, BillingMode="PROVISIONED",
                        ProvisionedThroughput={"ReadCapacityUnits": 7, "WriteCapacityUnits": 9})
    table.wait_until_exists()
    described = mode()
    throughput = described["ProvisionedThroughput"]
    equal((throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]), (7, 9))
    equal(described.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED"), "PROVISIONED")
    client.update_table(TableName=table.name, BillingMode="PAY_PER_REQUEST")
    described = mode()
    equal(described["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST")
    throughput = described["ProvisionedThroughput"]
    equal((throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]), (0, 0))
    equal(fault(client.update_table, TableName=table.name, BillingMode="PROVISIONED")[0], "ValidationException")


def r46_describe_table_prints_what_the_query_asks():
    table = shop()
    table.reload()
    equal((table.table_status, table.item_count), ("ACTIVE", 7))
    assert table.table_size_bytes > 300, table.table_size_bytes
    equal(table.provisioned_throughput["ReadCapacityUnits"], 0)
    aws = pathlib.Path(sys.executable).parent / "aws"
    if aws.exists():
        query = ("Table.{Status:TableStatus,Items:ItemCount,Bytes:TableSizeBytes,Mode:BillingModeSummary.BillingMode,"
                 "RCU:ProvisionedThroughput.ReadCapacityUnits,WCU:ProvisionedThroughput.WriteCapacityUnits}")
        printed = subprocess.run(
            [sys.executable, aws, "dynamodb", "describe-table", "--table-name", table.name, "--query", query,
             "--output", "json", "--endpoint-url", ENDPOINT, "--region", "us-east-1"], capture_output=True, check=True,
            env={"PATH": os.environ["PATH"], "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"})
        equal(json.loads(printed.stdout), {"Status": "ACTIVE", "Items": 7, "Bytes": table.table_size_bytes,
                                           "Mode": "PAY_PER_REQUEST", "RCU": 0, "WCU": 0})
