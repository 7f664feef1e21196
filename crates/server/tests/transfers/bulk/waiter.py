"""Starts, awaits, lists and cancels bulk puts with boto3. Usage: waiter.py ENDPOINT BUCKET"""

import sys

import boto3

client = boto3.client(
    "dynamodb",
    endpoint_url=sys.argv[1],
    region_name="us-east-1",
    aws_access_key_id="local",
    aws_secret_access_key="local",
)
bucket = sys.argv[2]


def begin(prefix, **more):
    begun = client.start_bulk_put_items(
        TableName="Shop",
        InputS3Configuration={"S3Bucket": bucket, "S3KeyPrefix": prefix, "InputFormat": "DYNAMODB_JSON"},
        OutputS3Configuration={"S3Bucket": bucket, "S3KeyPrefix": "reports", "OutputType": ["ERROR"]},
        **more,
    )
    return begun["BulkOperationDescription"]["BulkOperationArn"]


def described(arn):
    return client.describe_bulk_operation(BulkOperationArn=arn)["BulkOperationDescription"]


def wait(arn):
    waiter = client.get_waiter("bulk_operation_completed")
    waiter.wait(BulkOperationArn=arn, WaiterConfig={"Delay": 1, "MaxAttempts": 60})


good = begin("good/")
wait(good)
operation = described(good)
assert operation["BulkOperationStatus"] == "COMPLETED", operation
assert (operation["ProcessedItemCount"], operation["FailedItemCount"]) == (20, 0), operation
assert operation["PerformanceTier"] == "STANDARD", operation
assert operation["EndTime"] >= operation["StartTime"], operation
bad = begin("bad/", PerformanceTier="ACCELERATED")
wait(bad)
assert described(bad)["BulkOperationStatus"] == "COMPLETED_WITH_ERRORS"
slow = begin("slow/", MaxWriteRequestUnits=1024)
assert client.cancel_bulk_operation(BulkOperationArn=slow)["BulkOperationStatus"] == "CANCELLING"
try:
    wait(slow)
    raise SystemExit("the waiter takes a bulk put that was cancelled for one that has completed")
except Exception as error:
    assert "terminal failure state" in str(error), error
assert described(slow)["BulkOperationStatus"] == "CANCELLED"
listed = client.list_bulk_operations()["BulkOperationsSummaryList"]
assert [summary["BulkOperationArn"] for summary in listed] == [slow, bad, good], listed
