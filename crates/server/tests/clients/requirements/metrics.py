"""CloudWatch's metrics of tables, read with boto3 as its users do."""

import datetime
import json
import os
import time
import urllib.request

import boto3
from botocore.config import Config

from shop import *
from programs import CapacityOptimizer, HotPartitionManager
from shop import OPTIONS

ONCE = {**OPTIONS, "config": Config(retries={"total_max_attempts": 1})}
once = boto3.client("dynamodb", **ONCE)
watch = boto3.client("cloudwatch", **ONCE)


def span():
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"StartTime": now - datetime.timedelta(minutes=30), "EndTime": now + datetime.timedelta(minutes=30)}


def dimensions(table, **more):
    return [{"Name": name, "Value": value} for name, value in {"TableName": table, **more}.items()]


def figures(metric, of, period=3600):
    """Sum, number and largest value of the last half hour, over all points."""
    points = watch.get_metric_statistics(
        Namespace="AWS/DynamoDB", MetricName=metric, Dimensions=of, Period=period,
        Statistics=["Sum", "SampleCount", "Maximum"], **span())["Datapoints"]
    largest = max((point["Maximum"] for point in points), default=0)
    return sum(point["Sum"] for point in points), sum(point["SampleCount"] for point in points), largest


def t31_metrics_agree_with_the_capacity_that_requests_report():
    table = make_table(("pk", "sk"), [index("byG", ("g",))])
    wanted = {"table": 0.0, "byG": 0.0}
    count = 0
    for number in range(20):
        used = table.put_item(Item={"pk": "p", "sk": str(number), "g": "g", "x": "x" * 100 * number},
                              ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
        wanted["table"] += used["Table"]["CapacityUnits"]
        wanted["byG"] += used["GlobalSecondaryIndexes"]["byG"]["CapacityUnits"]
        count += 1
    for period in (60, 3600):
        found = figures("ConsumedWriteCapacityUnits", dimensions(table.name), period)
        equal(found[:2], (wanted["table"], count))
        found = figures("ConsumedWriteCapacityUnits", dimensions(table.name, GlobalSecondaryIndexName="byG"), period)
        equal(found[:2], (wanted["byG"], count))
    read = table.query(KeyConditionExpression=Key("pk").eq("p"), ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    equal(figures("ConsumedReadCapacityUnits", dimensions(table.name))[::2], (read["CapacityUnits"],) * 2)
    # Dimensions match exactly.
    equal(figures("ConsumedWriteCapacityUnits", []), (0, 0, 0))


def t15_failed_conditions_cost_units_and_are_no_user_errors():
    table = make_table(("pk",))
    for number in range(30):
        fault(table.put_item, Item={"pk": str(number)}, ConditionExpression="attribute_exists(pk)")
    equal(figures("ConditionalCheckFailedRequests", dimensions(table.name))[0], 30)
    equal(figures("ConsumedWriteCapacityUnits", dimensions(table.name))[0], 30)


def t33_a_batch_is_one_throttled_request_and_each_of_its_items_an_event():
    name = f"small-{uuid.uuid4().hex}"
    once.create_table(
        TableName=name, KeySchema=keys("pk"), AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        Tags=[{"Key": "keywright:throttle", "Value": "table"}])
    batch = {name: [{"PutRequest": {"Item": {"pk": {"S": str(number)}}}} for number in range(10)]}
    left = len(once.batch_write_item(RequestItems=batch)["UnprocessedItems"][name])
    assert 1 <= left <= 9, left
    equal(figures("WriteThrottleEvents", dimensions(name))[0], left)
    operation = dimensions(name, Operation="BatchWriteItem")
    equal(figures("ThrottledRequests", operation)[0], 0)
    while True:
        try:
            left += len(once.batch_write_item(RequestItems=batch)["UnprocessedItems"].get(name, []))
        except once.exceptions.ProvisionedThroughputExceededException as refused:
            left += 10
            reasons = [(reason["reason"], reason["resource"].split("/")[-1])
                       for reason in refused.response["ThrottlingReasons"]]
            equal(reasons, [("TableWriteProvisionedThroughputExceeded", name)])
            break
    equal(figures("ThrottledRequests", operation)[0], 1)
    equal(figures("WriteThrottleEvents", dimensions(name))[0], left)
    equal(figures("WriteProvisionedThroughputThrottleEvents", dimensions(name))[0], left)


def t32_queries_of_metrics_are_checked_computed_and_listed():
    table = make_table(("pk",))
    table.put_item(Item={"pk": "a"})
    now = datetime.datetime.now(datetime.timezone.utc)
    code, text, _ = fault(
        watch.get_metric_statistics, Namespace="AWS/DynamoDB", MetricName="UserErrors", Statistics=["Sum"], Period=60,
        StartTime=now - datetime.timedelta(minutes=1441), EndTime=now)
    assert code.startswith("InvalidParameterCombination") and "1,441" in text, (code, text)
    metric = {"Namespace": "AWS/DynamoDB", "MetricName": "ConsumedWriteCapacityUnits",
              "Dimensions": dimensions(table.name)}
    answer = watch.get_metric_data(MetricDataQueries=[
        {"Id": "m1", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"}, "ReturnData": False},
        {"Id": "rate", "Expression": "m1/PERIOD(m1)"}], **span())["MetricDataResults"]
    equal([(found["Id"], found["Values"]) for found in answer], [("rate", [1 / 60])])
    listed = watch.list_metrics(Namespace="AWS/DynamoDB", Dimensions=[{"Name": "TableName", "Value": table.name}])
    assert metric in listed["Metrics"], listed["Metrics"]


def t34_an_alarm_is_kept_and_described():
    name = f"alarm-{uuid.uuid4().hex}"
    watch.put_metric_alarm(
        AlarmName=name, Namespace="AWS/DynamoDB", MetricName="WriteThrottleEvents", Dimensions=dimensions("none"),
        Statistic="Sum", Period=60, EvaluationPeriods=2, Threshold=1,
        ComparisonOperator="GreaterThanOrEqualToThreshold", TreatMissingData="notBreaching")
    alarm = watch.describe_alarms(AlarmNames=[name])["MetricAlarms"][0]
    equal((alarm["Threshold"], alarm["EvaluationPeriods"], alarm["StateValue"]), (1.0, 2, "INSUFFICIENT_DATA"))
    watch.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="a test")
    equal(watch.describe_alarms(AlarmNames=[name])["MetricAlarms"][0]["StateValue"], "ALARM")
    watch.delete_alarms(AlarmNames=[name])
    equal(watch.describe_alarms(AlarmNames=[name])["MetricAlarms"], [])


def program(kind, name):
    """A program that finds server and account in the environment, as its users set them."""
    os.environ.update(AWS_ENDPOINT_URL=OPTIONS["endpoint_url"], AWS_DEFAULT_REGION=OPTIONS["region_name"],
                      AWS_ACCESS_KEY_ID=OPTIONS["aws_access_key_id"],
                      AWS_SECRET_ACCESS_KEY=OPTIONS["aws_secret_access_key"])
    return kind(name)


def clock(advance_ms=None):
    """The time of a server whose clock stands, moved first."""
    body = None if advance_ms is None else json.dumps({"advance-ms": advance_ms}).encode()
    request = urllib.request.Request(OPTIONS["endpoint_url"] + "/_keywright/clock", body, {"x-keywright": "clock"})
    return json.loads(urllib.request.urlopen(request).read())["now-ms"]


def t35_the_analysis_of_a_week_reaches_all_four_outcomes():
    """On a server whose clock stands seven days back, and is played to the present."""
    spiky, low, steady, unused = (make_table(("pk",)) for _ in range(4))
    for table in (spiky, low, steady):
        table.put_item(Item={"pk": "large", "pad": "p" * 399_000})
    hour_ms = 3_600_000
    while clock() + hour_ms < time.time() * 1000:
        clock(hour_ms)
        if clock() % (24 * hour_ms) < hour_ms:
            steady.get_item(Key={"pk": "large"}, ConsistentRead=True)
            for table in (spiky, low):
                for _ in range(20):
                    table.get_item(Key={"pk": "none"})
            spiky.get_item(Key={"pk": "large"}, ConsistentRead=True)
    clock(max(0, int(time.time() * 1000) - clock()))
    outcomes = {}
    for name, table in (("spiky", spiky), ("low", low), ("steady", steady), ("unused", unused)):
        found = program(CapacityOptimizer, table.name).analyze_usage_pattern()
        outcomes[name] = (found["recommendation"], found.get("reason", "").split("(")[0].strip())
    equal(outcomes, {
        "spiky": ("ON_DEMAND", "Traffic pattern shows high variance"),
        "low": ("ON_DEMAND", "Low average consumption"),
        "steady": ("PROVISIONED", "Steady traffic pattern with predictable load"),
        "unused": ("INSUFFICIENT_DATA", ""),
    })


class Manager(HotPartitionManager):
    """The program leaves the query of one shard to its users."""

    def _query_shard(self, pk, sk_prefix):
        return self.table.query(KeyConditionExpression=Key("PK").eq(pk) & Key("SK").begins_with(sk_prefix))["Items"]


def throttled_table():
    """A table that has refused eleven writes, and serves all of them now."""
    name = f"hot-{uuid.uuid4().hex}"
    once.create_table(
        TableName=name, KeySchema=keys("PK", "SK"),
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("PK", "SK")],
        ProvisionedThroughput={"ReadCapacityUnits": 1000, "WriteCapacityUnits": 1},
        Tags=[{"Key": "keywright:throttle", "Value": "table"}])
    refused = 0
    while refused < 11:
        try:
            once.put_item(TableName=name, Item={"PK": {"S": "before"}, "SK": {"S": "before"}})
        except once.exceptions.ProvisionedThroughputExceededException:
            refused += 1
    once.update_table(TableName=name, ProvisionedThroughput={"ReadCapacityUnits": 1000, "WriteCapacityUnits": 1000})
    return name


def partition_keys(name):
    return {item["PK"]["S"] for item in once.scan(TableName=name, ConsistentRead=True)["Items"]} - {"before"}


def t36_a_hot_partition_is_spread_over_ten_suffixes_and_gathered():
    manager = program(Manager, throttled_table())
    for number in range(150):
        manager.write_with_jitter("EVENT", f"VOTE#{number:03}", {"number": number})
    equal(partition_keys(manager.table.name), {f"EVENT#{suffix}" for suffix in range(10)})
    gathered = manager.read_with_scatter_gather("EVENT", "VOTE#")
    equal(sorted(item["number"] for item in gathered), list(range(150)))
    equal({item["OriginalPK"] for item in gathered}, {"EVENT"})


def t36s_the_metrics_of_the_service_alone_never_show_that_program_heat():
    """On a server with strict metrics: the service has no UserErrors of a table."""
    manager = program(Manager, throttled_table())
    equal(manager.is_hot_partition("EVENT"), False)
    for number in range(20):
        manager.write_with_jitter("EVENT", f"VOTE#{number:03}", {"number": number})
    equal(partition_keys(manager.table.name), {"EVENT"})
    equal(len(manager.read_with_scatter_gather("EVENT", "VOTE#0")), 20)
