"""Contributor insights: switched on through DynamoDB, read through CloudWatch."""

import datetime

import boto3
from botocore.config import Config

from shop import *
from shop import OPTIONS

ONCE = {**OPTIONS, "config": Config(retries={"total_max_attempts": 1})}
once = boto3.client("dynamodb", **ONCE)
watch = boto3.client("cloudwatch", **ONCE)


def insights(name, index=None, using=once, **settings):
    """Switches insights on, and returns the names of the rules by their letters."""
    of = {"TableName": name, **({"IndexName": index} if index else {})}
    answer = using.update_contributor_insights(**of, ContributorInsightsAction="ENABLE", **settings)
    equal(answer["ContributorInsightsStatus"], "ENABLING")
    found = using.describe_contributor_insights(**of)
    equal(found["ContributorInsightsStatus"], "ENABLED")
    return {rule.removeprefix("DynamoDBContributorInsights-")[:3]: rule for rule in found["ContributorInsightsRuleList"]}


def report(rule, **settings):
    now = datetime.datetime.now(datetime.timezone.utc)
    return watch.get_insight_rule_report(
        RuleName=rule, StartTime=now - datetime.timedelta(minutes=30), EndTime=now + datetime.timedelta(minutes=30),
        **{"Period": 3600, **settings})


def ranked(rule):
    return [(found["Keys"], found["ApproximateAggregateValue"]) for found in report(rule)["Contributors"]]


def limited_table(units, index_units):
    name = f"limited-{uuid.uuid4().hex}"
    once.create_table(
        TableName=name, KeySchema=keys("pk", "sk"),
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("pk", "sk", "g")],
        ProvisionedThroughput={"ReadCapacityUnits": units, "WriteCapacityUnits": units},
        GlobalSecondaryIndexes=[{**index("byG", ("g",)), "ProvisionedThroughput": {
            "ReadCapacityUnits": index_units, "WriteCapacityUnits": index_units}}],
        Tags=[{"Key": "keywright:throttle", "Value": "table"}])
    return name


def refusals(name, items):
    """How many puts of these items are refused."""
    refused = 0
    for item in items:
        try:
            once.put_item(TableName=name, Item={key: {"S": value} for key, value in item.items()})
        except once.exceptions.ProvisionedThroughputExceededException:
            refused += 1
    return refused


def t37_insights_rank_keys_by_what_they_consume_and_by_throttles():
    table = make_table(("pk", "sk"), [index("byG", ("g",))])
    rules = insights(table.name)
    equal(sorted(rules), ["PKC", "PKT", "SKC", "SKT"])
    written = read = 0
    for number in range(5):
        used = table.put_item(Item={"pk": "hot", "sk": str(number), "x": "x" * 1500}, ReturnConsumedCapacity="TOTAL")
        written += used["ConsumedCapacity"]["CapacityUnits"]
    table.put_item(Item={"pk": "cold", "sk": "0"})
    for number in range(3):
        used = table.get_item(Key={"pk": "hot", "sk": "0"}, ConsistentRead=True, ReturnConsumedCapacity="TOTAL")
        read += used["ConsumedCapacity"]["CapacityUnits"]
    table.scan()
    equal((written, read), (10.0, 3.0))
    equal(ranked(rules["PKC"]), [(["hot"], 3 * written + read), (["cold"], 3.0)])
    equal(ranked(rules["SKC"])[0], (["hot", "0"], 3 * 2.0 + read))
    whole = report(rules["SKC"], Metrics=["UniqueContributors", "Maximum"], OrderBy="Maximum", MaxContributorCount=1)
    equal((whole["KeyLabels"], whole["AggregateValue"], whole["ApproximateUniqueCount"], len(whole["Contributors"])),
          (["PartitionKey", "SortKey"], 3 * written + read + 3, 6, 1))
    # One period, or two if the hour ended meanwhile.
    equal(max(point["Maximum"] for point in whole["MetricDatapoints"]), 6.0)

    code, text, _ = fault(report, rule=rules["PKC"], MaxContributorCount=26)
    assert code == "InvalidParameterValue" and "25" in text, (code, text)
    code, _, answer = fault(report, rule="DynamoDBContributorInsights-PKC-none-1")
    equal((code, answer["ResponseMetadata"]["HTTPStatusCode"]), ("ResourceNotFoundException", 404))
    listed = watch.describe_insight_rules()["InsightRules"]
    found = {rule["Name"]: rule["State"] for rule in listed if rule["Name"] in rules.values()}
    equal(found, {rule: "ENABLED" for rule in rules.values()})

    # Refused writes of the table count for their keys; those that an index refuses do not.
    name = limited_table(2, 100)
    rules = insights(name, ContributorInsightsMode="THROTTLED_KEYS")
    equal(sorted(rules), ["PKT", "SKT"])
    refused = refusals(name, [{"pk": "hot", "sk": "1"}] * 40)
    assert refused > 20, refused
    equal(ranked(rules["PKT"]), [(["hot"], float(refused))])
    equal(ranked(rules["SKT"]), [(["hot", "1"], float(refused))])
    name = limited_table(1000, 1)
    rules = insights(name)
    refused = refusals(name, [{"pk": str(number), "sk": "1", "g": "g"} for number in range(40)])
    assert refused > 20, refused
    equal(ranked(rules["PKT"]), [])
    equal(sum(value for _, value in ranked(rules["PKC"])) >= 3.0, True)

    once.update_contributor_insights(TableName=name, ContributorInsightsAction="DISABLE")
    equal(fault(report, rule=rules["PKC"])[0], "ResourceNotFoundException")
    found = once.describe_contributor_insights(TableName=name)
    equal((found["ContributorInsightsStatus"], found["ContributorInsightsMode"]),
          ("DISABLED", "ACCESSED_AND_THROTTLED_KEYS"))

    # An account has a hundred rules in a region: here another region than that of the other checks.
    other = boto3.client("dynamodb", **{**ONCE, "region_name": f"test-{uuid.uuid4().hex[:8]}"})
    for number in range(26):
        other.create_table(TableName=f"table{number}", KeySchema=keys("pk", "sk"), BillingMode="PAY_PER_REQUEST",
                           AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("pk", "sk")])
        if number < 25:
            insights(f"table{number}", using=other)
    answer = other.update_contributor_insights(TableName="table25", ContributorInsightsAction="ENABLE")
    equal(answer["ContributorInsightsStatus"], "ENABLING")
    failed = other.describe_contributor_insights(TableName="table25")
    equal((failed["ContributorInsightsStatus"], failed["FailureException"]["ExceptionName"]),
          ("FAILED", "LimitExceededException"))
    assert "ContributorInsightsRuleList" not in failed, failed
    sizes, token = [], {}
    while True:
        page = other.list_contributor_insights(MaxResults=10, **token)
        sizes.append(len(page["ContributorInsightsSummaries"]))
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    equal(sizes, [10, 10, 6])
