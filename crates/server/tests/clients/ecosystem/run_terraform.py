"""Calls in the order in which the AWS provider of Terraform sends them for `aws_dynamodb_table`.

It waits as the provider does: it describes the table until it and all its indexes are active. Usage:
run_terraform.py ENDPOINT
"""

import sys
import time

import boto3
from botocore.exceptions import ClientError

client = boto3.client(
    "dynamodb", endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id="local",
    aws_secret_access_key="local",
)
NAME = "TerraformOrders"
WAIT_SECONDS_MAX = 30


def wait(ready):
    """Describes the table until it is ready."""
    end = time.monotonic() + WAIT_SECONDS_MAX
    while time.monotonic() < end:
        table = client.describe_table(TableName=NAME)["Table"]
        indexes = table.get("GlobalSecondaryIndexes", [])
        if table["TableStatus"] == "ACTIVE" and all(own["IndexStatus"] == "ACTIVE" for own in indexes):
            if ready(table):
                return table
        time.sleep(0.05)
    raise AssertionError(f"not ready after {WAIT_SECONDS_MAX} s: {table}")


def wait_for(read, ready):
    end = time.monotonic() + WAIT_SECONDS_MAX
    while not ready(found := read()):
        assert time.monotonic() < end, found
        time.sleep(0.05)
    return found


def refresh():
    """What a plan reads, in this order."""
    table = client.describe_table(TableName=NAME)["Table"]
    backups = client.describe_continuous_backups(TableName=NAME)["ContinuousBackupsDescription"]
    ttl = client.describe_time_to_live(TableName=NAME)["TimeToLiveDescription"]
    tags = client.list_tags_of_resource(ResourceArn=table["TableArn"])["Tags"]
    return {
        "table": table,
        "recovery": backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"],
        "ttl": (ttl["TimeToLiveStatus"], ttl.get("AttributeName")),
        "tags": {tag["Key"]: tag["Value"] for tag in tags},
    }


def refused(code, action):
    try:
        action()
    except ClientError as error:
        assert error.response["Error"]["Code"] == code, error
        return error.response["Error"]["Message"]
    raise AssertionError(f"{code} expected")


def key(partition, sort=None):
    pairs = [(partition, "HASH")] + ([(sort, "RANGE")] if sort else [])
    return [{"AttributeName": name, "KeyType": kind} for name, kind in pairs]


def attributes(*names):
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def without_times(state):
    """What a second plan must find unchanged."""
    moving = ("ItemCount", "TableSizeBytes", "IndexSizeBytes")
    table = {name: value for name, value in state["table"].items() if name not in moving}
    return {**state, "table": table}


# Apply: the table, then each setting that CreateTable does not take.
refused("ResourceNotFoundException", lambda: client.describe_table(TableName=NAME))
client.create_table(
    TableName=NAME,
    BillingMode="PROVISIONED",
    ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    KeySchema=key("customer", "order"),
    AttributeDefinitions=attributes("customer", "order", "status", "placed"),
    GlobalSecondaryIndexes=[{
        "IndexName": "byStatus",
        "KeySchema": key("status", "placed"),
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]},
        "ProvisionedThroughput": {"ReadCapacityUnits": 2, "WriteCapacityUnits": 2},
    }],
    LocalSecondaryIndexes=[{
        "IndexName": "byPlaced",
        "KeySchema": key("customer", "placed"),
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }],
    StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    SSESpecification={"Enabled": True, "SSEType": "KMS"},
    TableClass="STANDARD",
    DeletionProtectionEnabled=True,
    Tags=[{"Key": "team", "Value": "shop"}, {"Key": "stage", "Value": "test"}],
)
wait(lambda table: True)
client.update_time_to_live(
    TableName=NAME, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})
wait_for(lambda: refresh()["ttl"], lambda ttl: ttl == ("ENABLED", "expires"))

# Plan: everything reads back as it was written, and a second plan finds no difference.
state = refresh()
table = state["table"]
assert table["TableArn"].endswith(f":table/{NAME}") and table["TableId"]
assert table["LatestStreamArn"].startswith(f"{table['TableArn']}/stream/") and table["LatestStreamLabel"]
assert table["DeletionProtectionEnabled"] is True
assert table["SSEDescription"]["Status"] == "ENABLED", table["SSEDescription"]
units = table["ProvisionedThroughput"]
assert (units["ReadCapacityUnits"], units["WriteCapacityUnits"]) == (5, 5)
by_status = table["GlobalSecondaryIndexes"][0]
assert by_status["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]}
assert by_status["KeySchema"] == key("status", "placed")
assert state["tags"] == {"team": "shop", "stage": "test"}
assert state["recovery"] == "DISABLED"
assert without_times(refresh()) == without_times(state)
client.put_item(TableName=NAME, Item={
    name: {"S": name} for name in ("customer", "order", "status", "placed", "total", "region")})

# Change: capacity, then indexes one UpdateTable each, then billing, stream, tags.
client.update_table(
    TableName=NAME, ProvisionedThroughput={"ReadCapacityUnits": 6, "WriteCapacityUnits": 7})
units = wait(lambda table: True)["ProvisionedThroughput"]
assert (units["ReadCapacityUnits"], units["WriteCapacityUnits"]) == (6, 7)
client.update_table(TableName=NAME, GlobalSecondaryIndexUpdates=[{"Update": {
    "IndexName": "byStatus",
    "ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 3}}}])
wait(lambda table: table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 3)
client.update_table(
    TableName=NAME,
    AttributeDefinitions=attributes("customer", "order", "status", "placed", "region"),
    GlobalSecondaryIndexUpdates=[{"Create": {
        "IndexName": "byRegion",
        "KeySchema": key("region"),
        "Projection": {"ProjectionType": "ALL"},
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}}],
)
wait(lambda table: len(table["GlobalSecondaryIndexes"]) == 2)
found = client.query(
    TableName=NAME, IndexName="byRegion", KeyConditionExpression="#r = :r",
    ExpressionAttributeNames={"#r": "region"}, ExpressionAttributeValues={":r": {"S": "region"}})
assert found["Count"] == 1
client.update_table(
    TableName=NAME,
    AttributeDefinitions=attributes("customer", "order", "placed", "region"),
    GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "byStatus"}}],
)
left = wait(lambda table: len(table["GlobalSecondaryIndexes"]) == 1)
assert left["GlobalSecondaryIndexes"][0]["IndexName"] == "byRegion"
client.update_table(TableName=NAME, BillingMode="PAY_PER_REQUEST")
wait(lambda table: table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST")
client.update_table(TableName=NAME, StreamSpecification={"StreamEnabled": False})
wait(lambda table: "StreamSpecification" not in table)
client.update_table(
    TableName=NAME, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
again = wait(lambda table: "StreamSpecification" in table)
assert again["LatestStreamArn"] != table["LatestStreamArn"]
client.untag_resource(ResourceArn=table["TableArn"], TagKeys=["stage"])
client.tag_resource(ResourceArn=table["TableArn"], Tags=[{"Key": "team", "Value": "store"}])
wait_for(lambda: refresh()["tags"], lambda tags: tags == {"team": "store"})

# Destroy: protected until the protection is taken away, then described until it is gone.
refused("ValidationException", lambda: client.delete_table(TableName=NAME))
client.update_table(TableName=NAME, DeletionProtectionEnabled=False)
wait(lambda table: table["DeletionProtectionEnabled"] is False)
client.delete_table(TableName=NAME)
end = time.monotonic() + WAIT_SECONDS_MAX
while True:
    try:
        client.describe_table(TableName=NAME)
    except client.exceptions.ResourceNotFoundException:
        break
    assert time.monotonic() < end
    time.sleep(0.05)
refused("ResourceNotFoundException", lambda: client.describe_time_to_live(TableName=NAME))
