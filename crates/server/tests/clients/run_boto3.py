"""Runs the shared scenario with boto3. Usage: run_boto3.py ENDPOINT"""

import sys

import boto3
import botocore.exceptions
from botocore import xform_name

import matching

client = boto3.client(
    "dynamodb",
    endpoint_url=sys.argv[1],
    region_name="us-east-1",
    aws_access_key_id="local",
    aws_secret_access_key="local",
)


def call(operation, parameters):
    try:
        return getattr(client, xform_name(operation))(**matching.decode_binary(parameters)), None
    except botocore.exceptions.ClientError as error:
        fault = error.response["Error"]
        return None, (fault["Code"], fault["Message"])


# Sets come back in an order of their own choice, binary as bytes: compare with the same on our side.
_check = matching.check
matching.check = lambda step, output, error: _check(matching.decode_binary(step), output, error)
matching.run(call)
