"""Makes, changes, lists and deletes a mapping with boto3 and with the AWS CLI. Usage: mappings.py ENDPOINT STREAM"""

import json
import os
import subprocess
import sys

import boto3
import botocore.exceptions

ENDPOINT, STREAM = sys.argv[1:]
PLACE = {"endpoint_url": ENDPOINT, "region_name": "us-east-1", "aws_access_key_id": "local", "aws_secret_access_key": "local"}
client = boto3.client("lambda", **PLACE)


def fault(call, **parameters):
    try:
        call(**parameters)
    except botocore.exceptions.ClientError as error:
        return error.response["Error"]["Code"], error.response["Error"]["Message"]
    raise AssertionError("it was not refused")


pattern = json.dumps({"eventName": ["REMOVE"]})
made = client.create_event_source_mapping(
    EventSourceArn=STREAM, FunctionName="orders", StartingPosition="LATEST", BatchSize=10,
    FilterCriteria={"Filters": [{"Pattern": pattern}]}, MaximumRetryAttempts=3, BisectBatchOnFunctionError=True,
    FunctionResponseTypes=["ReportBatchItemFailures"])
assert made["ResponseMetadata"]["HTTPStatusCode"] == 202, made
assert made["State"] == "Creating" and made["BatchSize"] == 10, made
uuid = made["UUID"]
client.get_waiter  # The client has no waiter of mappings.
read = client.get_event_source_mapping(UUID=uuid)
assert (read["State"], read["StateTransitionReason"]) == ("Enabled", "User action"), read
assert read["FilterCriteria"] == {"Filters": [{"Pattern": pattern}]}, read
assert read["FunctionArn"] == "arn:aws:lambda:us-east-1:123456789012:function:orders", read
assert read["LastModified"].year > 2000, read
code, text = fault(client.create_event_source_mapping, EventSourceArn=STREAM, FunctionName="orders", StartingPosition="LATEST")
assert code == "ResourceConflictException" and uuid in text, (code, text)
code, text = fault(client.create_event_source_mapping, EventSourceArn=STREAM + "x", FunctionName="f", StartingPosition="LATEST")
assert (code, text) == ("InvalidParameterValueException", f"Stream not found: {STREAM}x"), (code, text)
code, text = fault(client.get_event_source_mapping, UUID="14e0db71-5d35-4eb5-b481-8945cf9d10c2")
assert (code, text) == ("ResourceNotFoundException", "The resource you requested does not exist."), (code, text)
code, text = fault(client.update_event_source_mapping, UUID=uuid, BatchSize=10001)
assert code == "ValidationException" and "batchSize" in text, (code, text)
client.update_event_source_mapping(UUID=uuid, Enabled=False, FilterCriteria={})
read = client.get_event_source_mapping(UUID=uuid)
assert read["State"] == "Disabled" and "FilterCriteria" not in read, read
client.create_event_source_mapping(EventSourceArn=STREAM, FunctionName="second", StartingPosition="TRIM_HORIZON")
pages = client.get_paginator("list_event_source_mappings").paginate(EventSourceArn=STREAM, PaginationConfig={"PageSize": 1})
assert [len(page["EventSourceMappings"]) for page in pages] == [1, 1]
assert [one["UUID"] for one in client.list_event_source_mappings(FunctionName="orders")["EventSourceMappings"]] == [uuid]
assert client.delete_event_source_mapping(UUID=uuid)["State"] == "Deleting"
assert fault(client.get_event_source_mapping, UUID=uuid)[0] == "ResourceNotFoundException"


def cli(*arguments):
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_PAGER": ""}
    command = [sys.executable, "-m", "awscli", "lambda", *arguments, "--endpoint-url", ENDPOINT, "--region", "us-east-1",
               "--output", "json"]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


made = cli("create-event-source-mapping", "--event-source-arn", STREAM, "--function-name", "third", "--starting-position", "LATEST")
found = cli("list-event-source-mappings", "--function-name", "third")["EventSourceMappings"]
assert [one["UUID"] for one in found] == [made["UUID"]], found
assert cli("delete-event-source-mapping", "--uuid", made["UUID"])["State"] == "Deleting"
