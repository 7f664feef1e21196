"""PynamoDB's own features against a server. Usage: run_pynamodb.py ENDPOINT"""

import datetime
import os
import sys
import uuid

import boto3
from pynamodb.attributes import (
    JSONAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    NumberSetAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
    VersionAttribute,
)
from pynamodb.connection import Connection
from pynamodb.exceptions import (
    DeleteError,
    DoesNotExist,
    PutError,
    QueryError,
    TransactWriteError,
    UpdateError,
)
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex, IncludeProjection, LocalSecondaryIndex
from pynamodb.models import Model
from pynamodb.transactions import TransactGet, TransactWrite

ENDPOINT = sys.argv[1]
# Connections of transactions take keys from the environment only.
os.environ |= {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_DEFAULT_REGION": "us-east-1"}


class ByStatus(GlobalSecondaryIndex):
    class Meta:
        index_name = "byStatus"
        projection = IncludeProjection(["total"])

    status = UnicodeAttribute(hash_key=True)
    placed = UTCDateTimeAttribute(range_key=True)


class ByTotal(LocalSecondaryIndex):
    class Meta:
        index_name = "byTotal"
        projection = AllProjection()

    customer = UnicodeAttribute(hash_key=True)
    total = NumberAttribute(range_key=True)


class Address(MapAttribute):
    street = UnicodeAttribute()
    zip = UnicodeAttribute(null=True)


class Order(Model):
    class Meta:
        table_name = "PynamoOrders"
        billing_mode = "PAY_PER_REQUEST"
        stream_view_type = "NEW_AND_OLD_IMAGES"
        host = ENDPOINT

    customer = UnicodeAttribute(hash_key=True)
    number = NumberAttribute(range_key=True)
    status = UnicodeAttribute(default="open")
    placed = UTCDateTimeAttribute()
    total = NumberAttribute(default=0)
    address = Address(null=True)
    lines = ListAttribute(of=MapAttribute, default=list)
    labels = UnicodeSetAttribute(null=True)
    scores = NumberSetAttribute(null=True)
    details = JSONAttribute(null=True)
    expires = TTLAttribute(null=True)
    version = VersionAttribute()
    by_status = ByStatus()
    by_total = ByTotal()


def raises(error, action):
    try:
        action()
    except error as fault:
        return fault
    raise AssertionError(f"{error.__name__} expected")


def order(customer, number, **attributes):
    placed = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(days=number)
    return Order(customer, number, placed=placed, total=number * 10, **attributes)


# The table, as the model declares it.
assert not Order.exists()
Order.create_table(wait=True)
assert Order.exists()
described = Order.describe_table()
assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
assert described["StreamSpecification"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
assert [index["IndexName"] for index in described["LocalSecondaryIndexes"]] == ["byTotal"]
client = boto3.client("dynamodb", endpoint_url=ENDPOINT)
ttl = client.describe_time_to_live(TableName="PynamoOrders")["TimeToLiveDescription"]
assert ttl == {"AttributeName": "expires", "TimeToLiveStatus": "ENABLED"}, ttl

# Every type there and back.
first = order(
    "ada", 1, address=Address(street="Main 1"), lines=[{"sku": "a", "n": 2}], labels={"new", "gift"},
    scores={1, 2.5}, details={"a": [1, None]}, expires=datetime.timedelta(days=30),
)
first.save()
read = Order.get("ada", 1, consistent_read=True)
assert read.address.street == "Main 1" and read.address.zip is None
assert read.lines[0]["sku"] == "a" and read.lines[0]["n"] == 2
assert (read.labels, read.scores, read.details) == ({"new", "gift"}, {1, 2.5}, {"a": [1, None]})
assert (read.version, read.status, read.placed) == (1, "open", first.placed)
raises(DoesNotExist, lambda: Order.get("ada", 999))

# Conditions, updates and optimistic locking.
refused = raises(PutError, lambda: order("ada", 1).save(Order.customer.does_not_exist()))
assert refused.cause_response_code == "ConditionalCheckFailedException", refused
stale = Order.get("ada", 1)
read.update(actions=[
    Order.total.set(Order.total + 5),
    Order.address.zip.set("12345"),
    Order.labels.add({"paid"}),
    Order.lines.set(Order.lines.append([{"sku": "b", "n": 1}])),
    Order.details.remove(),
], condition=Order.status == "open")
assert (read.version, read.total, read.address.zip, len(read.lines)) == (2, 15, "12345", 2)
assert read.labels == {"new", "gift", "paid"} and read.details is None
refused = raises(UpdateError, lambda: stale.update(actions=[Order.total.set(0)]))
assert refused.cause_response_code == "ConditionalCheckFailedException"
raises(DeleteError, lambda: stale.delete())
refused = raises(UpdateError, lambda: read.update(
    actions=[Order.total.set(1)], condition=(Order.total > 100) | Order.status.is_in("lost", "found")))
assert refused.cause_response_code == "ConditionalCheckFailedException"

# Batches of more than 25 writes and 100 reads, in requests that the library divides.
with Order.batch_write() as batch:
    for number in range(2, 122):
        batch.save(order("ada", number, status="open" if number % 3 else "sent", version=1))
found = list(Order.batch_get([("ada", number) for number in range(1, 122)]))
assert sorted(int(own.number) for own in found) == list(range(1, 122))
with Order.batch_write() as batch:
    batch.delete(order("ada", 121, version=1))

# Queries: ranges, filters, order, pages.
assert [int(own.number) for own in Order.query("ada", Order.number.between(5, 8))] == [5, 6, 7, 8]
newest = Order.query("ada", scan_index_forward=False, limit=3)
assert [int(own.number) for own in newest] == [120, 119, 118]
sent = Order.query("ada", filter_condition=Order.status == "sent", page_size=7)
assert [int(own.number) for own in sent] == list(range(3, 121, 3))
assert Order.count("ada", Order.number > 100) == 20
pages, key = [], None
while True:
    page = Order.query("ada", limit=50, last_evaluated_key=key, attributes_to_get=["customer", "number"])
    pages.append([int(own.number) for own in page])
    key = page.last_evaluated_key
    if key is None:
        break
assert [len(page) for page in pages] == [50, 50, 20] and sum(pages, []) == list(range(1, 121))
dear = Order.by_total.query("ada", ByTotal.total >= 1190, consistent_read=True)
assert [int(own.number) for own in dear] == [119, 120]
since = datetime.datetime(2026, 4, 1, tzinfo=datetime.timezone.utc)
late = list(Order.by_status.query("sent", ByStatus.placed >= since))
assert [int(own.number) for own in late] == list(range(90, 121, 3)) and late[0].total == 900
assert Order.by_status.count("open") == 80
raises(QueryError, lambda: list(Order.by_status.query("open", consistent_read=True)))
scanned = Order.scan(Order.total < 50, page_size=10)
assert sorted(int(own.number) for own in scanned) == [1, 2, 3, 4]
parts = [Order.scan(segment=segment, total_segments=3, attributes_to_get=["customer", "number"])
         for segment in range(3)]
assert sum(len(list(part)) for part in parts) == 120

# Transactions.
connection = Connection(host=ENDPOINT, region="us-east-1")
with TransactWrite(connection=connection, client_request_token=uuid.uuid4().hex) as transaction:
    transaction.save(order("bob", 1), condition=Order.customer.does_not_exist())
    transaction.update(Order("ada", 2, version=1), actions=[Order.status.set("sent")])
    transaction.condition_check(Order, "ada", 3, condition=Order.status == "sent")
    transaction.delete(Order("ada", 4, version=1))


def doubled():
    with TransactWrite(connection=connection) as transaction:
        transaction.condition_check(Order, "ada", 3, condition=Order.status == "open")
        transaction.save(order("bob", 2))


cancelled = raises(TransactWriteError, doubled)
assert cancelled.cause_response_code == "TransactionCanceledException"
assert cancelled.cancellation_reasons[0].code == "ConditionalCheckFailed", cancelled.cancellation_reasons
assert cancelled.cancellation_reasons[1] is None
with TransactGet(connection=connection) as transaction:
    bob, two = transaction.get(Order, "bob", 1), transaction.get(Order, "ada", 2)
assert (int(bob.get().number), two.get().status) == (1, "sent")
raises(DoesNotExist, lambda: Order.get("ada", 4))
raises(DoesNotExist, lambda: Order.get("bob", 2))

Order.delete_table(wait=True)
assert not Order.exists()
