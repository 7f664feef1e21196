"""`keywright simulate` against a server: the same requests at the same virtual times are refused as often in each minute.

Items are large, so that a few requests consume what thousands of small ones would.
"""

import csv
import datetime
import heapq
import io
import json
import os
import pathlib
import subprocess
import tempfile

import boto3
from botocore.config import Config

from limits import clock
from shop import *
from shop import OPTIONS

MINUTE_MS = 60_000
# All that a limit can save.
IDLE_MS = 6 * MINUTE_MS
MODEL = """format: 1
model: load
tables:
  Load:
    key: {pk: S}
    indexes: {%s}
entities:
%s
patterns:
%s
data: {generate: {seed: 1, sample: 1}}
"""


def time_after(ms):
    """Moves the server's clock, and returns its time in milliseconds since 1970."""
    clock.request("POST", "/_keywright/clock", json.dumps({"advance-ms": ms}), {"x-keywright": "clock"})
    answer = clock.getresponse()
    equal(answer.status, 200)
    return json.loads(answer.read())["now-ms"]


class Load:
    """Requests on items, each so often a second, for so many minutes; and a table with these settings."""

    def __init__(self, minutes, rates, kilobytes, profile, settings, indexes="", scaled=None):
        self.minutes, self.rates, self.kilobytes = minutes, rates, kilobytes
        self.profile, self.settings, self.indexes, self.scaled = profile, settings, indexes, scaled

    def arrivals(self):
        """The milliseconds and keys of all requests, as `arrivals: even` has them."""
        def of(place, rate):
            for second in range(60 * self.minutes):
                for number in range(1, rate + 1):
                    yield 1000 * second + min(999, 1000 * number // rate), place
        return heapq.merge(*(of(place, rate) for place, rate in enumerate(self.rates)))

    def simulated(self, start_ms):
        """Refusals by minute, as `keywright simulate` foretells them."""
        entities = [f'  Item{place}: {{count: 1, size: {1024 * self.kilobytes - 200}, key: {{pk: "V{place}#{{n}}"}}, '
                    f"attrs: {{n: {{type: N, distinct: 1}}, votes: N}}}}" for place in range(len(self.rates))]
        patterns = [f'  - {{id: vote{place}, text: A vote, update: Item{place}, add: "votes :one", rate: {rate}, example: {{one: 1}}}}'
                    for place, rate in enumerate(self.rates)]
        start = datetime.datetime.fromtimestamp(start_ms / 1000, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        with tempfile.TemporaryDirectory() as folder:
            model, profile = pathlib.Path(folder, "model.yaml"), pathlib.Path(folder, "profile.yaml")
            model.write_text(MODEL % (self.indexes, "\n".join(entities), "\n".join(patterns)))
            profile.write_text(f"start: {start}\nlength: {self.minutes}m\nsaved: 300s\nretries: 0\ntables: {{Load: {{{self.profile}}}}}\n")
            answer = subprocess.run(
                [os.environ["KEYWRIGHT_BINARY"], "simulate", model, profile, "--format", "csv"], capture_output=True, text=True)
        assert answer.returncode == 0, answer.stderr
        refused = [0] * self.minutes
        # A line for each minute of the table, then of its index.
        for line, row in enumerate(csv.DictReader(io.StringIO(answer.stdout))):
            refused[line % self.minutes] += int(row["refused"])
        return refused

    def served(self):
        """When it began, and refusals by minute of a server whose limits were idle before."""
        options = {**OPTIONS, "region_name": f"test-{uuid.uuid4().hex[:8]}", "config": Config(retries={"total_max_attempts": 1})}
        client = boto3.client("dynamodb", **options)
        self.make(client, boto3.client("application-autoscaling", **options))
        now_ms = time_after(0)
        start_ms = time_after(IDLE_MS - now_ms % MINUTE_MS)
        now_ms = start_ms
        refused = [0] * self.minutes
        for ms, place in self.arrivals():
            if start_ms + ms > now_ms:
                now_ms = time_after(start_ms + ms - now_ms)
            try:
                client.update_item(TableName="Load", Key={"pk": {"S": f"V{place}#0"}}, UpdateExpression="ADD votes :one",
                                   ExpressionAttributeValues={":one": {"N": "1"}})
            except (client.exceptions.ProvisionedThroughputExceededException, client.exceptions.ThrottlingException):
                refused[ms // MINUTE_MS] += 1
        return start_ms, refused

    def make(self, client, scaling):
        """The table with its items and policies."""
        used = [("pk", "S"), *([("votes", "N")] if self.indexes else [])]
        client.create_table(TableName="Load", KeySchema=keys("pk"),
                            AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in used], **self.settings)
        for place in range(len(self.rates)):
            item = {"pk": {"S": f"V{place}#0"}, "votes": {"N": "0"}, "pad": {"S": "p" * (1024 * self.kilobytes - 300)}}
            client.put_item(TableName="Load", Item=item)
            time_after(1000)
        if self.scaled:
            target = {"ServiceNamespace": "dynamodb", "ResourceId": "table/Load", "ScalableDimension": "dynamodb:table:WriteCapacityUnits"}
            scaling.register_scalable_target(**target, MinCapacity=self.scaled[0], MaxCapacity=self.scaled[1])
            scaling.put_scaling_policy(
                **target, PolicyName="writes", PolicyType="TargetTrackingScaling", TargetTrackingScalingPolicyConfiguration={
                    "TargetValue": 50.0, "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"}})


def provisioned(reads, writes):
    return {"ProvisionedThroughput": {"ReadCapacityUnits": reads, "WriteCapacityUnits": writes}}


def t38_a_simulation_refuses_as_often_as_a_server():
    """One item above its partition; an index of one unit; an on-demand table above its level; capacity that is scaled."""
    item = Load(3, [3], 399, "mode: provisioned, read: 1, write: 5000", provisioned(1, 5000))
    small_index = {"GlobalSecondaryIndexes": [{**index("byVotes", ("votes",)), **provisioned(1, 1)}]}
    of_index = Load(7, [2], 1, "mode: provisioned, read: 1, write: 100, indexes: {byVotes: {read: 1, write: 1}}",
                    {**provisioned(1, 100), **small_index}, indexes="byVotes: {pk: votes, project: all}")
    on_demand = Load(2, [3] * 8, 399, "mode: on-demand", {"BillingMode": "PAY_PER_REQUEST"})
    scaled = Load(10, [4], 2, "mode: provisioned, read: 1, write: 1, scaling: {target: 50%, write: {min: 1, max: 20}}",
                  provisioned(1, 1), scaled=(1, 20))
    for load in (item, of_index, on_demand, scaled):
        start_ms, refused = load.served()
        equal(refused, load.simulated(start_ms))
        assert sum(refused) > 0, load.profile
