# The module `keywright` as a script uses it.
import os
import tempfile

import boto3
import keywright

TABLE = {
    "TableName": "Orders",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}],
    "BillingMode": "PAY_PER_REQUEST",
}

# Settings of the shell do not reach the server.
os.environ["KEYWRIGHT_PORT"] = "1"
with keywright.Server() as server:
    client = boto3.client("dynamodb", **server.client_arguments())
    client.create_table(**TABLE)
    assert client.list_tables()["TableNames"] == ["Orders"]
    other = boto3.client("dynamodb", **server.client_arguments(account="222222222222"))
    assert other.list_tables()["TableNames"] == []
    with server.place().branch() as copy:
        branched = boto3.client("dynamodb", **copy.client_arguments())
        assert branched.list_tables()["TableNames"] == ["Orders"]
    assert branched.list_tables()["TableNames"] == []
    try:
        with server.place(region="eu-north-1").branch():
            raise AssertionError("a place without tables has a branch")
    except keywright.BranchError as error:
        assert "eu-north-1" in str(error), error
    elsewhere = boto3.client("dynamodb", **server.client_arguments(region="eu-west-1"))
    assert elsewhere.list_tables()["TableNames"] == []

with tempfile.TemporaryDirectory() as folder:
    for expected in ([], ["Orders"]):
        with keywright.Server(data=folder) as server:
            client = boto3.client("dynamodb", **server.client_arguments())
            assert client.list_tables()["TableNames"] == expected
            if not expected:
                client.create_table(**TABLE)

try:
    keywright.Server(arguments=["--durability", "sometimes"]).start()
    raise AssertionError("the server started")
except keywright.StartError as error:
    assert "--durability" in str(error), error
try:
    server.endpoint
    raise AssertionError("a stopped server has an endpoint")
except RuntimeError:
    pass
