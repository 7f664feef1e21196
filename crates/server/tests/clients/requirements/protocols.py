"""CloudWatch's three protocols: as boto3 chooses, and as the SDKs for Rust (CBOR) and of before August 2025 (forms) do.

botocore writes and reads all three; which one it takes is a word of its service model.
"""

import copy
import datetime

import botocore.session
from botocore.config import Config

import insights
import metrics
from metrics import dimensions
from shop import *
from shop import OPTIONS

PROTOCOLS = ("json", "smithy-rpc-v2-cbor", "query")


def speaking(protocol):
    """A client of CloudWatch in one protocol, and what it sends: the path and the content type of each request."""
    session = botocore.session.Session()
    loader = session.get_component("data_loader")
    load = loader.load_service_model

    def in_one_protocol(service, kind, api_version=None):
        model = copy.deepcopy(load(service, kind, api_version))
        if kind == "service-2":
            model["metadata"].update(protocol=protocol, protocols=[protocol])
        return model

    loader.load_service_model = in_one_protocol
    client = session.create_client("cloudwatch", **OPTIONS, config=Config(retries={"total_max_attempts": 1}))
    sent = []
    client.meta.events.register("request-created.cloudwatch", lambda request, **_: sent.append(
        (request.url.removeprefix(OPTIONS["endpoint_url"]), str(request.headers["Content-Type"]))))
    return client, sent


def t30_all_protocols_read_equal_figures_and_get_equal_errors():
    table = make_table(("pk", "sk"))
    rule = insights.insights(table.name)["SKC"]
    for number in range(7):
        table.put_item(Item={"pk": "a <&> ü", "sk": str(number), "x": "x" * 1000 * number})
    answers, faults, content = [], [], []
    for protocol in PROTOCOLS:
        client, sent = speaking(protocol)
        now = datetime.datetime.now(datetime.timezone.utc)
        points = client.get_metric_statistics(
            Namespace="AWS/DynamoDB", MetricName="ConsumedWriteCapacityUnits", Dimensions=dimensions(table.name),
            Period=3600, Statistics=["Sum", "Maximum"], **metrics.span())["Datapoints"]
        data = client.get_metric_data(MetricDataQueries=[
            {"Id": "twice", "Expression": "2 * m"},
            {"Id": "m", "ReturnData": False, "MetricStat": {"Period": 3600, "Stat": "Sum", "Metric": {
                "Namespace": "AWS/DynamoDB", "MetricName": "ConsumedWriteCapacityUnits",
                "Dimensions": dimensions(table.name)}}}], **metrics.span())["MetricDataResults"]
        report = client.get_insight_rule_report(RuleName=rule, Period=3600, MaxContributorCount=3, Metrics=["Maximum"],
                                                **metrics.span())
        alarm = {"AlarmName": f"alarm-{table.name}", "Namespace": "AWS/DynamoDB", "MetricName": "UserErrors",
                 "Statistic": "Sum", "Period": 60, "EvaluationPeriods": 2, "Threshold": 1.5,
                 "ComparisonOperator": "GreaterThanThreshold", "Dimensions": dimensions(table.name)}
        client.put_metric_alarm(**alarm)
        [described] = client.describe_alarms(AlarmNames=[alarm["AlarmName"]])["MetricAlarms"]
        assert abs(described["StateUpdatedTimestamp"] - now) < datetime.timedelta(minutes=5), described
        answers.append({
            "points": [(point["Timestamp"], point["Sum"], point["Maximum"], point["Unit"]) for point in points],
            "data": [(result["Id"], result["Timestamps"], result["Values"], result["StatusCode"]) for result in data],
            "report": [(found["Keys"], found["ApproximateAggregateValue"],
                        [(point["Timestamp"], point["ApproximateValue"]) for point in found["Datapoints"]])
                       for found in report["Contributors"]],
            "whole": (report["KeyLabels"], report["AggregateValue"], report["ApproximateUniqueCount"],
                      [(point["Timestamp"], point["Maximum"]) for point in report["MetricDatapoints"]]),
            "rules": [found["State"] for found in client.describe_insight_rules()["InsightRules"] if found["Name"] == rule],
            "metrics": sorted(found["MetricName"] for found in client.list_metrics(
                Namespace="AWS/DynamoDB", Dimensions=dimensions(table.name))["Metrics"]),
            "alarm": {name: described[name] for name in alarm},
        })
        faults.append([
            fault(client.get_metric_statistics, Namespace="AWS/DynamoDB", MetricName="UserErrors", Period=60,
                  Statistics=["Sum"], StartTime=now, EndTime=now)[:2],
            fault(client.get_insight_rule_report, RuleName=rule, Period=60, MaxContributorCount=26, **metrics.span())[:2],
            fault(client.get_insight_rule_report, RuleName="gone", Period=60, **metrics.span())[:2],
            fault(client.put_dashboard, DashboardName="none", DashboardBody="{}")[:2],
        ])
        content.append({(path, kind.split(";")[0]) for path, kind in sent if "Statistics" in path or path == "/"})
    equal(answers[0]["points"][0][1:], (1.0 + 1 + 2 + 3 + 4 + 5 + 6, 6.0, "Count"))
    equal(answers[0]["data"][0][2], [44.0])
    equal(answers[0]["report"][0][:2], (["a <&> ü", "6"], 18.0))
    for other in (1, 2):
        equal(answers[other], answers[0])
        equal(faults[other], faults[0])
    equal([code for code, _ in faults[0]],
          ["InvalidParameterCombination", "InvalidParameterValue", "ResourceNotFoundException", "InvalidAction"])
    equal(content, [{("/", "application/x-amz-json-1.0")},
                    {("/service/GraniteServiceVersion20100801/operation/GetMetricStatistics", "application/cbor")},
                    {("/", "application/x-www-form-urlencoded")}])


def t39_values_of_ones_own_metrics_arrive_in_all_protocols():
    """As the Kinesis Client Library publishes: values, counted values and sets, compressed where they are many."""
    space = f"App-{uuid.uuid4().hex}"
    of = [{"Name": "Operation", "Value": "a <&> b"}]
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    for protocol in PROTOCOLS:
        client, sent = speaking(protocol)
        client.put_metric_data(Namespace=space, MetricData=[
            {"MetricName": "Time", "Dimensions": of, "Unit": "Milliseconds", "Value": 12.5, "Timestamp": now},
            {"MetricName": "Time", "Dimensions": of, "Unit": "Milliseconds", "Values": [1.0, 2.5], "Counts": [2.0, 4.0],
             "Timestamp": now},
            {"MetricName": "Time", "Dimensions": of, "Unit": "Count", "StatisticValues": {
                "SampleCount": 3, "Sum": 9, "Minimum": -1, "Maximum": 8}, "StorageResolution": 1}])
        many = [{"MetricName": f"Many{number}", "Value": number, "Unit": "Bytes"} for number in range(1000)]
        client.put_metric_data(Namespace=space, MetricData=many)
        equal(fault(client.put_metric_data, Namespace="AWS/DynamoDB", MetricData=many[:1])[0], "InvalidParameterValue")
        old = {**many[0], "Timestamp": now - datetime.timedelta(days=15)}
        equal(fault(client.put_metric_data, Namespace=space, MetricData=[many[0], old])[:2],
              ("InvalidParameterValue",
               "The parameter MetricData.member.2.Timestamp must specify a time within the past two weeks."))
    watch = metrics.watch
    points = watch.get_metric_statistics(
        Namespace=space, MetricName="Time", Dimensions=of, Period=3600,
        Statistics=["Sum", "SampleCount", "Minimum", "Maximum"], **metrics.span())["Datapoints"]
    found = {}
    for point in points:
        add = found.setdefault(point["Unit"], [0, 0])
        found[point["Unit"]] = [add[0] + point["Sum"], add[1] + point["SampleCount"]]
    equal(found, {"Milliseconds": [3 * 24.5, 21], "Count": [27, 9]})
    [data] = watch.get_metric_data(MetricDataQueries=[
        {"Id": "p", "MetricStat": {"Period": 3600, "Stat": "p100", "Unit": "Milliseconds", "Metric": {
            "Namespace": space, "MetricName": "Time", "Dimensions": of}}}], **metrics.span())["MetricDataResults"]
    equal(max(data["Values"]), 12.5)
    pages = watch.get_paginator("list_metrics").paginate(Namespace=space)
    equal(sum(len(page["Metrics"]) for page in pages), 1001)
