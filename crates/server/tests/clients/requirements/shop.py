"""What the requirement checks share: clients, the e-commerce table of the requirements' sources, and small helpers."""

import concurrent.futures
import sys
import uuid
from decimal import Decimal

import boto3
import botocore.exceptions
from boto3.dynamodb.conditions import Attr, Key

ENDPOINT = sys.argv[1]
OPTIONS = {
    "endpoint_url": ENDPOINT,
    "region_name": "us-east-1",
    "aws_access_key_id": "local",
    "aws_secret_access_key": "local",
}
client = boto3.client("dynamodb", **OPTIONS)
resource = boto3.resource("dynamodb", **OPTIONS)


def fault(call, **parameters):
    """The code, message and whole response of the error that a call must answer."""
    try:
        answer = call(**parameters)
    except botocore.exceptions.ClientError as error:
        return error.response["Error"]["Code"], error.response["Error"]["Message"], error.response
    raise AssertionError(f"no error, but {answer}")


def equal(found, wanted):
    assert found == wanted, f"\n  found  {found!r}\n  wanted {wanted!r}"


def names(items, attribute="SK"):
    return [item[attribute] for item in items]


def keys(*attributes):
    roles = ["HASH", "RANGE"]
    return [{"AttributeName": name, "KeyType": role} for name, role in zip(attributes, roles)]


def index(name, attributes, projection="ALL", include=None):
    shape = {"ProjectionType": projection}
    if include:
        shape["NonKeyAttributes"] = include
    return {"IndexName": name, "KeySchema": keys(*attributes), "Projection": shape}


def make_table(key, indexes=(), local=(), types=None):
    """A fresh on-demand table as a boto3 resource."""
    types = types or {}
    used = set(key)
    for each in [*indexes, *local]:
        used |= {element["AttributeName"] for element in each["KeySchema"]}
    extra = {}
    if indexes:
        extra["GlobalSecondaryIndexes"] = list(indexes)
    if local:
        extra["LocalSecondaryIndexes"] = list(local)
    table = resource.create_table(
        TableName="t" + uuid.uuid4().hex,
        KeySchema=keys(*key),
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": types.get(name, "S")} for name in sorted(used)],
        BillingMode="PAY_PER_REQUEST",
        **extra,
    )
    table.wait_until_exists()
    return table


SHOP_INDEXES = (index("GSI1", ("GSI1PK", "GSI1SK")), index("GSI2", ("GSI2PK", "GSI2SK"), "KEYS_ONLY"))

SHOP_ROWS = [
    {"PK": "USER#u123", "SK": "PROFILE", "name": "Ada", "GSI1PK": "EMAIL#user@example.com", "GSI1SK": "USER#u123"},
    {"PK": "USER#u123", "SK": "ORDER#2024-001", "total": Decimal("59.9"), "status": "PENDING",
     "GSI1PK": "STATUS#PENDING", "GSI1SK": "2024-01-15"},
    {"PK": "USER#u123", "SK": "ORDER#2024-002", "total": Decimal("12"), "status": "SHIPPED",
     "GSI1PK": "STATUS#SHIPPED", "GSI1SK": "2024-01-14"},
    {"PK": "ORDER#2024-001", "SK": "META", "paymentMethod": "card"},
    {"PK": "ORDER#2024-001", "SK": "ITEM#prod-a", "quantity": Decimal(2), "price": Decimal("19.95")},
    {"PK": "ORDER#2024-001", "SK": "ITEM#prod-b", "quantity": Decimal(1), "price": Decimal("20")},
    {"PK": "PRODUCT#prod-a", "SK": "DETAILS", "name": "Lamp", "price": Decimal("19.95"), "inventory": Decimal(5),
     "version": Decimal(1), "GSI1PK": "CATEGORY#electronics", "GSI1SK": "PRODUCT#prod-a"},
]


def shop():
    """The single-table design of the sources, with its seven rows."""
    table = make_table(("PK", "SK"), SHOP_INDEXES)
    with table.batch_writer() as batch:
        for row in SHOP_ROWS:
            batch.put_item(Item=row)
    return table


def together(count, work):
    """Runs `work(number)` on many threads at once and returns the results."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=16) as pool:
        return list(pool.map(work, range(count)))


__all__ = [
    "Attr", "Decimal", "ENDPOINT", "Key", "SHOP_INDEXES", "SHOP_ROWS", "botocore", "client", "equal", "fault", "index", "keys",
    "make_table", "names", "resource", "shop", "together", "uuid",
]
