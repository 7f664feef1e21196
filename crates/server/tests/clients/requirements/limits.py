"""Limits of throughput under load, on a server that enforces all of them and whose clock stands until it is moved.

Items are large, so that a few requests consume what thousands of small ones would.
"""

import http.client
import json
import urllib.parse

import boto3
from botocore.config import Config

from shop import *
from shop import ENDPOINT, OPTIONS

KB = 1024
clock = http.client.HTTPConnection(urllib.parse.urlsplit(ENDPOINT).netloc)


def advance(seconds):
    clock.request("POST", "/_keywright/clock", json.dumps({"advance-ms": int(seconds * 1000)}), {"x-keywright": "clock"})
    answer = clock.getresponse()
    equal((answer.status, bool(answer.read())), (200, True))


class Place:
    """A region of its own: quotas of an account count the tables of other checks otherwise."""

    def __init__(self):
        self.client = boto3.client("dynamodb", **{
            **OPTIONS, "region_name": f"test-{uuid.uuid4().hex[:8]}", "config": Config(retries={"total_max_attempts": 1})})

    def table(self, reads, writes, index_units=None):
        attributes = ["pk"] if index_units is None else ["pk", "g"]
        extra = {}
        if index_units is not None:
            index_reads, index_writes = index_units
            extra["GlobalSecondaryIndexes"] = [{**index("byG", ("g",)), "ProvisionedThroughput": {
                "ReadCapacityUnits": index_reads, "WriteCapacityUnits": index_writes}}]
        self.client.create_table(
            TableName="Load", KeySchema=keys("pk"),
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in attributes],
            ProvisionedThroughput={"ReadCapacityUnits": reads, "WriteCapacityUnits": writes}, **extra)

    def put(self, key, kilobytes=0, **more):
        item = {"pk": {"S": key}, **{name: {"S": value} for name, value in more.items()}}
        if kilobytes:
            item["pad"] = {"S": "p" * (kilobytes * KB - 100)}
        return self.refusal(self.client.put_item, Item=item)

    def get(self, key, strong):
        return self.refusal(self.client.get_item, Key={"pk": {"S": key}}, ConsistentRead=strong, ProjectionExpression="pk")

    def vote(self, key):
        return self.refusal(
            self.client.update_item, Key={"pk": {"S": key}}, UpdateExpression="ADD votes :one",
            ExpressionAttributeValues={":one": {"N": "1"}})

    def query(self, g):
        return self.refusal(
            self.client.query, IndexName="byG", KeyConditionExpression="g = :g", Limit=30, ProjectionExpression="pk",
            ExpressionAttributeValues={":g": {"S": g}})

    def refusal(self, call, **parameters):
        """The reasons for which a request is refused, with the end of the resource's ARN; none if it passes."""
        try:
            call(TableName="Load", **parameters)
            return []
        except self.client.exceptions.ProvisionedThroughputExceededException as error:
            return [(reason["reason"], reason["resource"].split(":table/")[1]) for reason in error.response["ThrottlingReasons"]]


def passed(requests):
    """How many requests pass before the first that is refused, and why it is."""
    for count, request in enumerate(requests):
        reasons = request()
        if reasons:
            return count, reasons
    raise AssertionError("no request is refused")


def t03_what_was_saved_carries_a_higher_load_for_fifteen_minutes():
    place = Place()
    place.table(150, 1)
    place.put("a", 400)
    advance(300)
    def half_a_second():
        """200 units in each second."""
        reasons = place.get("a", strong=True)
        advance(0.5)
        return reasons
    halves, reasons = passed(half_a_second for _ in range(2000))
    equal(reasons, [("TableReadProvisionedThroughputExceeded", "Load")])
    assert 899 <= halves / 2 <= 901, halves

    place = Place()
    place.table(1, 10)
    def queue(rate, seconds):
        refused = 0
        for _ in range(seconds):
            refused += sum(bool(place.put(str(number))) for number in range(rate))
            advance(1)
        return refused
    equal(queue(9, 60), 0)
    assert queue(20, 30) > 0


def t07_one_item_has_the_units_of_one_partition():
    place = Place()
    place.table(12_000, 1000)
    place.put("hot", 100)
    place.put("other", 1)
    advance(300)
    reason = [("TableReadKeyRangeThroughputExceeded", "Load")]
    # 25 units each, or half of it.
    equal(passed(lambda: place.get("hot", strong=True) for _ in range(200)), (3000 // 25, reason))
    equal(place.get("other", strong=True), [])
    advance(1)
    equal(passed(lambda: place.get("hot", strong=False) for _ in range(300)), (6000 // 25, reason))


def t08_votes_on_one_item_are_refused_for_ever_and_on_twenty_shards_only_at_first():
    """The load of one second in each minute stands for all of them."""
    place = Place()
    place.table(100, 20_000)
    shards = [f"vote#{number}" for number in range(20)]
    for key in ["vote", *shards]:
        equal(place.put(key, 200), [])
        advance(1)
    # 200 units each: five fill a partition's second.
    for minute in range(22):
        equal(passed(lambda: place.vote("vote") for _ in range(6)), (5, [("TableWriteKeyRangeThroughputExceeded", "Load")]))
        advance(60)
    refused = []
    for minute in range(25):
        refused.append(sum(bool(place.vote(key)) for _ in range(5) for key in shards))
        advance(60)
    assert refused[0] > 0, refused
    equal(refused[20:], [0] * 5)


def t10_a_hot_key_of_an_index_holds_back_writes_and_its_reads_leave_the_table_alone():
    place = Place()
    place.table(5000, 5000, index_units=(5, 5000))
    reason = [("IndexWriteKeyRangeThroughputExceeded", "Load/index/byG")]
    # 100 units each in the table and in the index.
    equal(passed(lambda: place.put(uuid.uuid4().hex, 100, g="hot") for _ in range(20)), (10, reason))
    equal(place.put("free", 100), [])
    equal(place.put("elsewhere", 100, g="cold"), [])
    advance(10)
    # A query of many units passes once, and the index owes them.
    equal(place.query("hot"), [])
    equal(place.query("hot"), [("IndexReadProvisionedThroughputExceeded", "Load/index/byG")])
    equal(place.get("free", strong=True), [])
    equal(place.put("more", 100, g="cold"), [])
