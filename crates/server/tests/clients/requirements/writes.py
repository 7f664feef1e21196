"""Requirements of writes, transactions and batches."""

import random
import time

from shop import *


def place_order(table, order, quantity):
    return client.transact_write_items(TransactItems=[
        {"Put": {"TableName": table.name, "Item": {"PK": {"S": "USER#u123"}, "SK": {"S": f"ORDER#{order}"}},
                 "ConditionExpression": "attribute_not_exists(PK)"}},
        {"Put": {"TableName": table.name, "Item": {"PK": {"S": f"ORDER#{order}"}, "SK": {"S": "ITEM#prod-a"}}}},
        {"Update": {"TableName": table.name, "Key": {"PK": {"S": "PRODUCT#prod-a"}, "SK": {"S": "DETAILS"}},
                    "UpdateExpression": "SET inventory = inventory - :q", "ConditionExpression": "inventory >= :q",
                    "ExpressionAttributeValues": {":q": {"N": str(quantity)}}}},
    ])


def reasons(response):
    return [reason["Code"] for reason in response["CancellationReasons"]]


def r28_an_order_is_placed_whole_or_not_at_all():
    table = shop()
    place_order(table, "3", 3)
    code, _, response = fault(lambda: place_order(table, "4", 3))
    equal((code, reasons(response)), ("TransactionCanceledException", ["None", "None", "ConditionalCheckFailed"]))
    assert "Item" not in table.get_item(Key={"PK": "USER#u123", "SK": "ORDER#4"})
    assert "Item" not in table.get_item(Key={"PK": "ORDER#4", "SK": "ITEM#prod-a"})
    equal(reasons(fault(lambda: place_order(table, "3", 1))[2]), ["ConditionalCheckFailed", "None", "None"])


def r29_a_transaction_takes_100_different_items():
    table = make_table(("pk",))
    put = lambda number: {"Put": {"TableName": table.name, "Item": {"pk": {"S": str(number)}}}}
    client.transact_write_items(TransactItems=[put(number) for number in range(100)])
    equal(table.scan(Select="COUNT")["Count"], 100)
    code, message, _ = fault(client.transact_write_items, TransactItems=[put(number) for number in range(200, 301)])
    assert code == "ValidationException" and "Member must have length less than or equal to 100" in message, message
    at = lambda number: {"TableName": table.name, "Key": {"pk": {"S": str(number)}}}
    check = {"ConditionCheck": {**at(1), "ConditionExpression": "attribute_exists(pk)"}}
    update = {"Update": {**at(1), "UpdateExpression": "SET x = :x", "ExpressionAttributeValues": {":x": {"S": "x"}}}}
    for pair in [(put(1), put(1)), (put(1), {"Delete": at(1)}), (check, update), (update, put(2), check)]:
        equal(fault(client.transact_write_items, TransactItems=list(pair))[0:2],
              ("ValidationException", "Transaction request cannot include multiple operations on one item"))
    equal(table.scan(Select="COUNT")["Count"], 100)
    other = make_table(("pk",))
    same_key = {"Put": {"TableName": other.name, "Item": {"pk": {"S": "1"}}}}
    client.transact_write_items(TransactItems=[put(1), same_key])
    gets = client.transact_get_items(TransactItems=[{"Get": at(number)} for number in range(100)])["Responses"]
    equal([each["Item"]["pk"]["S"] for each in gets], [str(number) for number in range(100)])
    equal(fault(client.transact_get_items, TransactItems=[{"Get": at(number)} for number in range(101)])[0], "ValidationException")


def r30_transfers_keep_the_sum():
    table = make_table(("pk",))
    for account in range(4):
        table.put_item(Item={"pk": str(account), "balance": 100})

    def transfer(source, target, amount):
        move = lambda account, sign, condition: {"Update": {
            "TableName": table.name, "Key": {"pk": {"S": account}},
            "UpdateExpression": f"SET balance = balance {sign} :a", "ConditionExpression": condition,
            "ExpressionAttributeValues": {":a": {"N": str(amount)}}}}
        return client.transact_write_items(TransactItems=[
            move(source, "-", "balance >= :a"), move(target, "+", "attribute_exists(pk)")])

    assert transfer("0", "1", 10)["ResponseMetadata"]["RequestId"]
    equal(reasons(fault(lambda: transfer("0", "1", 1000))[2]), ["ConditionalCheckFailed", "None"])
    equal(reasons(fault(lambda: transfer("0", "nobody", 1))[2]), ["None", "ConditionalCheckFailed"])

    def attempt(number):
        source, target = random.Random(number).sample(range(4), 2)
        try:
            transfer(str(source), str(target), number % 30 + 1)
            return 1
        except client.exceptions.TransactionCanceledException:
            return 0

    balances = [{"Get": {"TableName": table.name, "Key": {"pk": {"S": str(account)}}}} for account in range(4)]

    def audit(_):
        """What a transaction sees in the midst of the transfers: always the whole sum."""
        try:
            found = client.transact_get_items(TransactItems=balances)["Responses"]
        except client.exceptions.TransactionCanceledException:
            return 400
        return sum(int(each["Item"]["balance"]["N"]) for each in found)

    done = together(160, lambda number: audit(number) if number % 4 == 0 else attempt(number))
    equal({done[number] for number in range(0, 160, 4)}, {400})
    assert sum(done[number] for number in range(160) if number % 4) > 0
    found = [item["balance"] for item in table.scan(ConsistentRead=True)["Items"]]
    equal((sum(found), min(found) >= 0), (400, True))


def r31_of_many_writers_with_one_version_exactly_one_wins():
    table = shop()

    def change(version):
        return table.update_item(
            Key={"PK": "PRODUCT#prod-a", "SK": "DETAILS"}, UpdateExpression="SET price = :p, version = :n",
            ConditionExpression=Attr("version").eq(version), ReturnValues="ALL_NEW",
            ExpressionAttributeValues={":p": Decimal("18.5"), ":n": version + 1})["Attributes"]

    equal(change(1), {**SHOP_ROWS[6], "price": Decimal("18.5"), "version": 2})
    equal(fault(lambda: change(1))[0], "ConditionalCheckFailedException")

    def attempt(version):
        try:
            change(version)
            return 1
        except client.exceptions.ConditionalCheckFailedException:
            return 0

    for version in range(2, 12):
        equal(sum(together(16, lambda _: attempt(version))), 1)
    equal(table.get_item(Key={"PK": "PRODUCT#prod-a", "SK": "DETAILS"}, ConsistentRead=True)["Item"]["version"], 12)


def r32_arithmetic_and_conditions_behave():
    table = make_table(("pk",))
    update = lambda expression, **more: table.update_item(
        Key={"pk": "x"}, UpdateExpression=expression, ReturnValues="ALL_NEW", **more)["Attributes"]
    equal(update("ADD n :two", ExpressionAttributeValues={":two": 2})["n"], 2)
    equal(update("SET n = n - :five", ExpressionAttributeValues={":five": 5})["n"], -3)
    equal(fault(table.put_item, Item={"pk": "x"}, ConditionExpression="attribute_not_exists(pk)")[0],
          "ConditionalCheckFailedException")
    equal(fault(table.put_item, Item={"pk": "x"}, ConditionExpression=Attr("n").gt(-3))[0], "ConditionalCheckFailedException")
    table.put_item(Item={"pk": "x", "n": 1}, ConditionExpression=Attr("n").lte(-3))


def r33_sharded_page_views_add_up():
    table = make_table(("PK", "SK"))
    together(150, lambda number: table.update_item(
        Key={"PK": "PAGEVIEW#home", "SK": f"SHARD#{number % 10}"}, UpdateExpression="ADD view_count :one",
        ExpressionAttributeValues={":one": 1}))
    shards = table.query(KeyConditionExpression=Key("PK").eq("PAGEVIEW#home") & Key("SK").begins_with("SHARD#"))["Items"]
    equal((len(shards), sum(shard["view_count"] for shard in shards)), (10, 150))
    together(150, lambda number: table.update_item(
        Key={"PK": "PAGEVIEW#one", "SK": "SHARD#0"}, UpdateExpression="ADD view_count :one",
        ExpressionAttributeValues={":one": 1}))
    equal(table.get_item(Key={"PK": "PAGEVIEW#one", "SK": "SHARD#0"}, ConsistentRead=True)["Item"]["view_count"], 150)


def r34_sharded_votes_are_aggregated():
    table = make_table(("PK", "SK"))
    together(100, lambda number: table.update_item(
        Key={"PK": f"VOTE#ada#{number % 20}", "SK": "COUNT"}, UpdateExpression="ADD votes :one",
        ExpressionAttributeValues={":one": 1}))
    shard = lambda number: table.get_item(Key={"PK": f"VOTE#ada#{number}", "SK": "COUNT"})["Item"]["votes"]
    table.put_item(Item={"PK": "VOTE#ada", "SK": "TOTAL", "votes": sum(shard(number) for number in range(20))})
    equal(table.get_item(Key={"PK": "VOTE#ada", "SK": "TOTAL"})["Item"]["votes"], 100)


def r36_the_batch_writer_writes_everything():
    table = make_table(("PK", "SK"))
    with table.batch_writer() as batch:
        for number in range(120):
            batch.put_item(Item={"PK": f"USER#{number % 7}", "SK": f"ORDER#{number}"})
        for number in range(0, 120, 2):
            batch.delete_item(Key={"PK": f"USER#{number % 7}", "SK": f"ORDER#{number}"})
    equal(table.scan(Select="COUNT")["Count"], 60)


def r37_processed_and_unprocessed_are_all():
    table = make_table(("pk",))
    left = [{"PutRequest": {"Item": {"pk": {"S": str(number)}, "body": {"S": "x" * 10_000}}}} for number in range(100)]
    processed = 0
    for attempt in range(20):
        if not left:
            break
        chunk, left = left[:25], left[25:]
        unprocessed = client.batch_write_item(RequestItems={table.name: chunk})["UnprocessedItems"].get(table.name, [])
        processed += len(chunk) - len(unprocessed)
        left += unprocessed
        time.sleep(0.01 * attempt if unprocessed else 0)
    equal((processed, len(left), table.scan(Select="COUNT")["Count"]), (100, 0, 100))


def r38_a_rename_reaches_every_copy_in_one_transaction():
    table = make_table(("PK", "SK"))
    copies = [("USER#1", "PROFILE"), *[(f"ORDER#{number}", "META") for number in range(9)]]
    for pk, sk in copies:
        table.put_item(Item={"PK": pk, "SK": sk, "customerName": "Old"})
    client.transact_write_items(TransactItems=[{"Update": {
        "TableName": table.name, "Key": {"PK": {"S": pk}, "SK": {"S": sk}}, "UpdateExpression": "SET customerName = :n",
        "ExpressionAttributeValues": {":n": {"S": "New"}}}} for pk, sk in copies])
    equal({item["customerName"] for item in table.scan()["Items"]}, {"New"})
