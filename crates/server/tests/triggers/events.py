"""Changes of every type, and what libraries make of the events about them. Usage: events.py write ENDPOINT | read FILE"""

import base64
import json
import sys
import time
from decimal import Decimal

import boto3
from boto3.dynamodb.types import TypeDeserializer

EVERY = {"pk": "a", "sk": "1", "s": "text", "n": Decimal("-15.5"), "b": b"\x00\xff", "yes": True, "none": None,
         "list": [1, "two", [b"3"]], "map": {"inner": {"set": {Decimal(1), Decimal(2)}}}, "ss": {"a", "b"}, "bs": {b"1", b"2"},
         "empty": "", "status": "NEW"}


def write(endpoint):
    table = boto3.resource("dynamodb", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="local",
                           aws_secret_access_key="local").Table("Orders")
    table.put_item(Item=EVERY)
    table.put_item(Item={**EVERY, "status": "PAID"})
    table.delete_item(Key={"pk": "a", "sk": "1"})
    for number in range(3):
        table.put_item(Item={"pk": "b", "sk": str(number), "expires": int(time.time()) - 5 if number == 2 else 2_000_000_000})
    table.meta.client.update_time_to_live(TableName="Orders", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})


def with_bytes(value):
    """A value whose binary parts are bytes: JSON has them as text."""
    [(kind, content)] = value.items()
    match kind:
        case "B":
            return {kind: base64.b64decode(content)}
        case "BS":
            return {kind: [base64.b64decode(one) for one in content]}
        case "L":
            return {kind: [with_bytes(one) for one in content]}
        case "M":
            return {kind: {name: with_bytes(one) for name, one in content.items()}}
    return value


def read(file):
    from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
    from aws_lambda_powertools.utilities.data_classes import DynamoDBStreamEvent

    with open(file) as text:
        event = json.load(text)
    deserialize = TypeDeserializer().deserialize
    for record in event["Records"]:
        for image in ("Keys", "OldImage", "NewImage"):
            for value in record["dynamodb"].get(image, {}).values():
                deserialize(with_bytes(value))
    inserted, modified, removed = list(DynamoDBStreamEvent(event).records)[:3]
    assert (inserted.event_name.name, modified.event_name.name, removed.event_name.name) == ("INSERT", "MODIFY", "REMOVE")
    assert inserted.dynamodb.new_image["n"] == EVERY["n"] and inserted.dynamodb.new_image["map"] == EVERY["map"]
    assert (modified.dynamodb.old_image["status"], modified.dynamodb.new_image["status"]) == ("NEW", "PAID")
    assert removed.user_identity in (None, {}), removed.user_identity
    expired = [record for record in DynamoDBStreamEvent(event).records if record.user_identity]
    assert [record.user_identity for record in expired] == [{"type": "Service", "principalId": "dynamodb.amazonaws.com"}]

    def handle(record):
        if record.dynamodb.keys["pk"] == "b":
            raise ValueError("it fails")

    context = type("Context", (), {"get_remaining_time_in_millis": lambda self: 1000})()
    answer = process_partial_response(event=event, record_handler=handle, context=context,
                                      processor=BatchProcessor(event_type=EventType.DynamoDBStreams))
    failed = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
    assert failed == [record["dynamodb"]["SequenceNumber"] for record in event["Records"][3:]], answer


{"write": write, "read": read}[sys.argv[1]](sys.argv[2])
