"""Runs shared scenarios with boto3. Usage: run_boto3.py ENDPOINT SCENARIO [ENDPOINT SCENARIO]"""

import sys

import boto3
import botocore.exceptions
from botocore import xform_name

import matching


def runner(endpoint):
    client = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )

    def call(operation, parameters):
        try:
            return getattr(client, xform_name(operation))(**matching.decode_binary(parameters)), None
        except botocore.exceptions.ClientError as error:
            fault = error.response["Error"]
            typed = getattr(client.exceptions, fault["Code"]) if hasattr(client.exceptions, fault["Code"]) else None
            code = fault["Code"] if typed is None or isinstance(error, typed) else f"{fault['Code']} of no class of its own"
            return None, (code, fault["Message"])

    return call


# Sets come back in an order of their own choice, binary as bytes: compare with the same on our side.
_check = matching.check
matching.check = lambda step, output, error: _check(matching.decode_binary(step), output, error)
for endpoint, scenario in matching.asked():
    matching.run(runner(endpoint), scenario)
