"""A suite that uses the fixtures of the plugin; each test notes where it ran."""

import os
import time

import boto3
import pytest


@pytest.fixture(scope="session")
def orders(dynamodb):
    return dynamodb.create_table(
        TableName="Orders",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        BillingMode="PAY_PER_REQUEST",
    )


# Workers that shared an account would fail: the table is there already for the second.
@pytest.mark.parametrize("number", range(6))
def test_an_order_is_read_back(orders, keywright, number):
    orders.put_item(Item={"id": number})
    assert orders.get_item(Key={"id": number})["Item"] == {"id": number}
    with open("places.log", "a") as log:
        log.write(f"{keywright.endpoint} {keywright.account}\n")
    # Long enough for every worker to get a test.
    time.sleep(0.1)


@pytest.mark.parametrize("number", range(2))
def test_a_branch_has_the_seeded_items_and_changes_no_other_place(orders, keywright, keywright_branch, number):
    orders.put_item(Item={"id": 100})
    copy = boto3.resource("dynamodb", **keywright_branch.client_arguments()).Table("Orders")
    with keywright.branch() as later:
        item = boto3.resource("dynamodb", **later.client_arguments()).Table("Orders").get_item(Key={"id": 100})
        assert item["Item"] == {"id": 100}
    copy.put_item(Item={"id": 200 + number})
    assert "Item" not in orders.get_item(Key={"id": 200 + number})
    # The copy of the test before is gone, with what it wrote.
    assert "Item" not in copy.get_item(Key={"id": 201 - number})


def test_code_without_arguments_reaches_the_tables(orders, keywright_environment):
    assert boto3.client("dynamodb").list_tables()["TableNames"] == ["Orders"]


def test_variables_last_no_longer_than_the_test(keywright):
    assert os.environ.get("AWS_ENDPOINT_URL_DYNAMODB") != keywright.endpoint
