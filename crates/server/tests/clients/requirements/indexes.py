"""Requirements of secondary indexes."""

from shop import *


def r08_the_overloaded_index_answers_three_questions():
    table = shop()
    ask = lambda value: table.query(IndexName="GSI1", KeyConditionExpression=Key("GSI1PK").eq(value))["Items"]
    equal(ask("STATUS#PENDING"), [SHOP_ROWS[1]])
    equal(ask("CATEGORY#electronics"), [SHOP_ROWS[6]])
    equal(ask("EMAIL#user@example.com"), [SHOP_ROWS[0]])


def r09_three_indexes_answer_email_status_and_sales():
    table = make_table(("PK", "SK"), [index(f"GSI{n}", (f"GSI{n}PK", f"GSI{n}SK")) for n in (1, 2, 3)])
    table.put_item(Item={"PK": "USER#1", "SK": "PROFILE", "GSI1PK": "EMAIL#a@b.c", "GSI1SK": "USER#1"})
    for number in range(4):
        day = f"2024-01-{number + 1:02}"
        table.put_item(Item={"PK": "USER#1", "SK": f"ORDER#{number}", "GSI2PK": "STATUS#NEW", "GSI2SK": day,
                             "GSI3PK": "PRODUCT#p", "GSI3SK": day})
    ask = lambda number, condition, **more: names(
        table.query(IndexName=f"GSI{number}", KeyConditionExpression=condition, **more)["Items"])
    equal(ask(1, Key("GSI1PK").eq("EMAIL#a@b.c")), ["PROFILE"])
    equal(ask(2, Key("GSI2PK").eq("STATUS#NEW"), ScanIndexForward=False), [f"ORDER#{n}" for n in (3, 2, 1, 0)])
    equal(ask(3, Key("GSI3PK").eq("PRODUCT#p")), [f"ORDER#{n}" for n in range(4)])
    equal(ask(3, Key("GSI3PK").eq("PRODUCT#p") & Key("GSI3SK").between("2024-01-02", "2024-01-03")), ["ORDER#1", "ORDER#2"])


def r10_a_status_change_moves_the_item_in_the_index():
    table = shop()
    table.update_item(Key={"PK": "USER#u123", "SK": "ORDER#2024-001"}, UpdateExpression="SET #status = :s, GSI1PK = :g",
                      ExpressionAttributeNames={"#status": "status"},
                      ExpressionAttributeValues={":s": "SHIPPED", ":g": "STATUS#SHIPPED"})
    ask = lambda value: names(table.query(IndexName="GSI1", KeyConditionExpression=Key("GSI1PK").eq(value))["Items"])
    equal(ask("STATUS#PENDING"), [])
    equal(ask("STATUS#SHIPPED"), ["ORDER#2024-002", "ORDER#2024-001"])


def r11_a_sparse_index_holds_only_items_with_its_keys():
    table = make_table(("pk", "sk"), [index("escalated", ("escalatedTo", "at"))])
    for number in range(6):
        item = {"pk": f"DEVICE#{number}", "sk": "STATE", "at": f"2024-01-0{number + 1}"}
        if number % 2:
            item["escalatedTo"] = "ops"
        table.put_item(Item=item)
    ask = lambda: names(table.query(IndexName="escalated", KeyConditionExpression=Key("escalatedTo").eq("ops"),
                                    ScanIndexForward=False)["Items"], "pk")
    equal(ask(), ["DEVICE#5", "DEVICE#3", "DEVICE#1"])
    table.update_item(Key={"pk": "DEVICE#3", "sk": "STATE"}, UpdateExpression="REMOVE escalatedTo")
    table.update_item(Key={"pk": "DEVICE#0", "sk": "STATE"}, UpdateExpression="SET escalatedTo = :o",
                      ExpressionAttributeValues={":o": "ops"})
    equal(ask(), ["DEVICE#5", "DEVICE#1", "DEVICE#0"])
    table.update_item(Key={"pk": "DEVICE#5", "sk": "STATE"}, UpdateExpression="REMOVE #at", ExpressionAttributeNames={"#at": "at"})
    table.put_item(Item={"pk": "DEVICE#1", "sk": "STATE", "at": "2024-01-02"})
    equal(ask(), ["DEVICE#0"])
    equal(table.scan(IndexName="escalated")["Items"], [
        {"pk": "DEVICE#0", "sk": "STATE", "at": "2024-01-01", "escalatedTo": "ops"}])
    equal(table.scan(Select="COUNT")["Count"], 6)


def r12_keys_only_returns_keys_and_an_unprojected_attribute_is_refused():
    table = shop()
    table.update_item(Key={"PK": "USER#u123", "SK": "ORDER#2024-001"}, UpdateExpression="SET GSI2PK = :p, GSI2SK = :s",
                      ExpressionAttributeValues={":p": "FLAGGED", ":s": "1"})
    ask = lambda **more: table.query(IndexName="GSI2", KeyConditionExpression=Key("GSI2PK").eq("FLAGGED"), **more)
    equal(ask()["Items"], [{"PK": "USER#u123", "SK": "ORDER#2024-001", "GSI2PK": "FLAGGED", "GSI2SK": "1"}])
    invalid = "One or more parameter values were invalid: "
    equal(fault(ask, ProjectionExpression="#t", ExpressionAttributeNames={"#t": "total"})[0:2],
          ("ValidationException", invalid + "Global secondary index GSI2 does not project [total]"))
    equal(fault(ask, Select="ALL_ATTRIBUTES")[0:2],
          ("ValidationException", invalid + "Select type ALL_ATTRIBUTES is not supported for global secondary index GSI2 "
                                            "because its projection type is not ALL"))
    equal(fault(ask, FilterExpression=Attr("total").gt(1))[0:2],
          ("ValidationException", invalid + "Secondary index GSI2 does not project one or more filter attributes: [total]"))
    equal(table.scan(IndexName="GSI2", FilterExpression=Attr("total").gt(1))["Count"], 0)


def r13_local_indexes_read_strongly_and_fetch_what_they_lack():
    table = make_table(("pk", "sk"), local=[index("byDate", ("pk", "date"), "KEYS_ONLY")])
    for number in range(3):
        table.put_item(Item={"pk": "p", "sk": str(number), "date": f"2024-01-0{3 - number}", "body": "x" * 4000})
    query = {"IndexName": "byDate", "KeyConditionExpression": Key("pk").eq("p"), "ConsistentRead": True,
             "ReturnConsumedCapacity": "INDEXES"}
    keys_only = table.query(**query)
    equal(names(keys_only["Items"], "sk"), ["2", "1", "0"])
    assert "body" not in keys_only["Items"][0]
    whole = table.query(Select="ALL_ATTRIBUTES", **query)
    equal([len(item["body"]) for item in whole["Items"]], [4000] * 3)
    cost = lambda answer: (answer["ConsumedCapacity"]["LocalSecondaryIndexes"]["byDate"]["CapacityUnits"],
                           answer["ConsumedCapacity"]["Table"]["CapacityUnits"])
    equal((cost(keys_only), cost(whole)), ((1.0, 0.0), (1.0, 3.0)))
    one = table.query(**{**query, "KeyConditionExpression": Key("pk").eq("p") & Key("date").eq("2024-01-02")},
                      ProjectionExpression="body")
    equal((one["Items"], cost(one)), ([{"body": "x" * 4000}], (1.0, 1.0)))


def r14_an_adjacency_list_is_walked_from_both_sides():
    table = make_table(("PK", "SK"), [index("inverted", ("GSI1PK", "GSI1SK"))])
    for student, course in [("S#1", "C#a"), ("S#1", "C#b"), ("S#2", "C#a")]:
        table.put_item(Item={"PK": student, "SK": course, "GSI1PK": course, "GSI1SK": student})
    equal(names(table.query(KeyConditionExpression=Key("PK").eq("S#1"))["Items"]), ["C#a", "C#b"])
    found = table.query(IndexName="inverted", KeyConditionExpression=Key("GSI1PK").eq("C#a"))["Items"]
    equal(names(found, "PK"), ["S#1", "S#2"])


def r24_strong_reads_cost_twice_and_are_refused_on_global_indexes():
    table = shop()
    key = {"PK": "USER#u123", "SK": "PROFILE"}
    cost = lambda strong: table.get_item(Key=key, ConsistentRead=strong, ReturnConsumedCapacity="TOTAL")[
        "ConsumedCapacity"]["CapacityUnits"]
    equal((cost(False), cost(True)), (0.5, 1.0))
    refused = ("ValidationException", "Consistent reads are not supported on global secondary indexes")
    equal(fault(table.query, IndexName="GSI1", KeyConditionExpression=Key("GSI1PK").eq("x"), ConsistentRead=True)[0:2], refused)
    equal(fault(table.scan, IndexName="GSI1", ConsistentRead=True)[0:2], refused)
    local = make_table(("pk", "sk"), local=[index("byDate", ("pk", "date"))])
    local.put_item(Item={"pk": "p", "sk": "1", "date": "2024-01-01"})
    for read in [
        lambda **more: table.query(KeyConditionExpression=Key("PK").eq("USER#u123"), **more),
        lambda **more: table.scan(**more),
        lambda **more: local.query(IndexName="byDate", KeyConditionExpression=Key("pk").eq("p"), **more),
        lambda **more: local.scan(IndexName="byDate", **more),
    ]:
        answers = [read(ConsistentRead=strong, ReturnConsumedCapacity="TOTAL") for strong in (False, True)]
        equal([answer["ConsumedCapacity"]["CapacityUnits"] for answer in answers], [0.5, 1.0])
        equal(answers[0]["Items"], answers[1]["Items"])
    for number in range(50):
        table.put_item(Item={**key, "n": number})
        equal(table.get_item(Key=key, ConsistentRead=True)["Item"]["n"], number)
