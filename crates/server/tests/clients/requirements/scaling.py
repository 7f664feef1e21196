"""Application Auto Scaling of tables, asked with boto3 as its users do."""

import datetime
import json
import time
import urllib.request

import boto3
from botocore.config import Config

from shop import *
from shop import OPTIONS

ONCE = {**OPTIONS, "config": Config(retries={"total_max_attempts": 1})}
scaling = boto3.client("application-autoscaling", **ONCE)
watch = boto3.client("cloudwatch", **ONCE)
once = boto3.client("dynamodb", **ONCE)

READS = "dynamodb:table:ReadCapacityUnits"
TRACKING = {"TargetValue": 70.0,
            "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"}}


def small_table():
    name = f"scaled-{uuid.uuid4().hex}"
    once.create_table(
        TableName=name, KeySchema=keys("pk"), AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5})
    return name


def target(name, dimension=READS):
    return {"ServiceNamespace": "dynamodb", "ResourceId": f"table/{name}", "ScalableDimension": dimension}


def reads(name):
    return once.describe_table(TableName=name)["Table"]["ProvisionedThroughput"]["ReadCapacityUnits"]


def of(name):
    return {"ServiceNamespace": "dynamodb", "ResourceId": f"table/{name}"}


def t25_a_policy_has_four_alarms_with_thresholds_of_its_target():
    name = small_table()
    answer = scaling.register_scalable_target(**target(name), MinCapacity=5, MaxCapacity=1000)
    account = once.describe_table(TableName=name)["Table"]["TableArn"].split(":")[4]
    assert answer["ScalableTargetARN"].startswith(
        f"arn:aws:application-autoscaling:us-east-1:{account}:scalable-target/"), answer
    made = scaling.put_scaling_policy(
        **target(name), PolicyName="reads", PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration=TRACKING)
    assert made["PolicyARN"].startswith(f"arn:aws:autoscaling:us-east-1:{account}:scalingPolicy:"), made
    assert made["PolicyARN"].endswith(f":resource/dynamodb/table/{name}:policyName/reads"), made
    [policy] = scaling.describe_scaling_policies(**of(name))["ScalingPolicies"]
    equal(policy["TargetTrackingScalingPolicyConfiguration"], TRACKING)
    equal((policy["PolicyARN"], policy["Alarms"]), (made["PolicyARN"], made["Alarms"]))
    alarms = watch.describe_alarms(AlarmNamePrefix=f"TargetTracking-table/{name}-")["MetricAlarms"]
    shown = [(alarm["AlarmName"].removeprefix(f"TargetTracking-table/{name}-").split("-")[0], alarm["MetricName"],
              alarm["Threshold"], alarm["EvaluationPeriods"], alarm["Period"], alarm["Statistic"],
              alarm["ComparisonOperator"]) for alarm in alarms]
    consumed, provisioned = "ConsumedReadCapacityUnits", "ProvisionedReadCapacityUnits"
    above, below = "GreaterThanThreshold", "LessThanThreshold"
    equal(shown, [("AlarmHigh", consumed, 210.0, 2, 60, "Sum", above),
                  ("AlarmLow", consumed, 150.0, 15, 60, "Sum", below),
                  ("ProvisionedCapacityHigh", provisioned, 5.0, 3, 300, "Average", above),
                  ("ProvisionedCapacityLow", provisioned, 5.0, 3, 300, "Average", below)])
    description = f"DO NOT EDIT OR DELETE. For TargetTrackingScaling policy {made['PolicyARN']}."
    equal({alarm["AlarmDescription"] for alarm in alarms}, {description})
    equal([alarm["AlarmARN"] for alarm in made["Alarms"]], [alarm["AlarmArn"] for alarm in alarms])
    scaling.delete_scaling_policy(**target(name), PolicyName="reads")
    equal(watch.describe_alarms(AlarmNamePrefix=f"TargetTracking-table/{name}-")["MetricAlarms"], [])


def advance(minutes):
    body = json.dumps({"advance-ms": minutes * 60_000}).encode()
    headers = {"x-keywright": "clock"}
    urllib.request.urlopen(urllib.request.Request(ENDPOINT + "/_keywright/clock", body, headers, method="POST")).read()


def t26_load_raises_the_capacity_within_minutes_and_idling_lowers_it_within_twenty():
    """On a server whose clock stands until it is moved."""
    name = small_table()
    scaling.register_scalable_target(**target(name), MinCapacity=5, MaxCapacity=20)
    scaling.put_scaling_policy(
        **target(name), PolicyName="reads", PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={**TRACKING, "ScaleInCooldown": 60, "ScaleOutCooldown": 60})
    once.put_item(TableName=name, Item={"pk": {"S": "a"}, "pad": {"S": "p" * 400_00}})

    def loaded_minutes(minutes):
        """Ten reads of five units each second of a minute are far too many for five units."""
        seen = []
        for _ in range(minutes):
            for _ in range(40):
                once.get_item(TableName=name, Key={"pk": {"S": "a"}}, ConsistentRead=True)
            advance(1)
            seen.append(reads(name))
        return seen

    # 40 reads of 10 units are 6.7 units a second: 10 units at a target of 70 %.
    raised = loaded_minutes(6)
    equal((raised[0], raised[-1]), (5, 10))
    assert 2 <= raised.index(10) + 1 <= 4, raised
    idle = []
    for _ in range(22):
        advance(1)
        idle.append(reads(name))
    equal(idle[-1], 5)
    assert 15 <= idle.index(5) + 1 <= 18, idle

    # A policy that may not scale in, and a target that is suspended, leave the capacity alone.
    scaling.put_scaling_policy(
        **target(name), PolicyName="reads", PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={**TRACKING, "DisableScaleIn": True})
    equal(loaded_minutes(6)[-1], 10)
    advance(30)
    equal(reads(name), 10)
    scaling.register_scalable_target(**target(name), SuspendedState={"DynamicScalingOutSuspended": True})
    once.put_item(TableName=name, Item={"pk": {"S": "a"}, "pad": {"S": "p" * 120_000}})
    equal(set(loaded_minutes(6)), {10})
    done = scaling.describe_scaling_activities(**of(name))["ScalingActivities"]
    equal([one["Description"] for one in reversed(done)],
          [f"Setting read capacity units to {units}." for units in (10, 5, 10)])
    equal({one["StatusCode"] for one in done}, {"Successful"})


def t27_a_minimum_above_the_capacity_moves_it_with_an_activity():
    name = small_table()
    scaling.register_scalable_target(**target(name), MinCapacity=10, MaxCapacity=20, Tags={"team": "shop"})
    equal(reads(name), 10)
    [activity] = scaling.describe_scaling_activities(**of(name))["ScalingActivities"]
    equal([activity[member] for member in ("Description", "Cause", "StatusCode", "StatusMessage")],
          ["Setting read capacity units to 10.", "minimum capacity was set to 10", "Successful",
           "Successfully set read capacity units to 10. Change successfully fulfilled by dynamodb."])
    scaling.register_scalable_target(**target(name), SuspendedState={"DynamicScalingInSuspended": True})
    [found] = scaling.describe_scalable_targets(ServiceNamespace="dynamodb",
                                                ResourceIds=[f"table/{name}"])["ScalableTargets"]
    equal((found["MinCapacity"], found["MaxCapacity"]), (10, 20))
    equal(found["SuspendedState"], {"DynamicScalingInSuspended": True, "DynamicScalingOutSuspended": False,
                                    "ScheduledScalingSuspended": False})
    assert found["RoleARN"].endswith("AWSServiceRoleForApplicationAutoScaling_DynamoDBTable"), found
    arn = found["ScalableTargetARN"]
    scaling.tag_resource(ResourceARN=arn, Tags={"stage": "test"})
    scaling.untag_resource(ResourceARN=arn, TagKeys=["team"])
    equal(scaling.list_tags_for_resource(ResourceARN=arn)["Tags"], {"stage": "test"})


def t28_a_scheduled_action_sets_the_bounds_at_its_time():
    name = small_table()
    scaling.register_scalable_target(**target(name), MinCapacity=1, MaxCapacity=20)
    soon = datetime.datetime.now(datetime.timezone(datetime.timedelta(hours=9))) + datetime.timedelta(seconds=2)
    scaling.put_scheduled_action(
        **target(name), ScheduledActionName="up", Schedule=f"at({soon:%Y-%m-%dT%H:%M:%S})", Timezone="Asia/Tokyo",
        ScalableTargetAction={"MinCapacity": 8, "MaxCapacity": 30})
    start = datetime.datetime(2090, 1, 1, tzinfo=datetime.timezone.utc)
    scaling.put_scheduled_action(
        **target(name), ScheduledActionName="later", Schedule="cron(0 9 ? * MON-FRI *)", StartTime=start,
        ScalableTargetAction={"MaxCapacity": 30})
    later, up = scaling.describe_scheduled_actions(**of(name))["ScheduledActions"]
    equal((up["Timezone"], up["ScalableTargetAction"]), ("Asia/Tokyo", {"MinCapacity": 8, "MaxCapacity": 30}))
    equal((later["StartTime"], later["ScalableTargetAction"]), (start, {"MaxCapacity": 30}))
    for _ in range(100):
        if reads(name) == 8:
            break
        time.sleep(0.1)
    moved, fired = scaling.describe_scaling_activities(**of(name))["ScalingActivities"]
    equal((fired["Description"], fired["Cause"]),
          ("Setting min capacity to 8 and max capacity to 30", "scheduled action name up was triggered"))
    equal((moved["Description"], moved["Cause"]),
          ("Setting read capacity units to 8.", "minimum capacity was set to 8"))
    first = scaling.describe_scaling_activities(**of(name), MaxResults=1)
    equal(first["ScalingActivities"], [moved])
    rest = scaling.describe_scaling_activities(**of(name), MaxResults=1, NextToken=first["NextToken"])
    equal((rest["ScalingActivities"], "NextToken" in rest), ([fired], False))
    scaling.deregister_scalable_target(**target(name))
    equal(scaling.describe_scheduled_actions(**of(name))["ScheduledActions"], [])


def t29_faults_have_the_services_names_and_texts():
    name = small_table()
    put = {"PolicyName": "p", "PolicyType": "TargetTrackingScaling",
           "TargetTrackingScalingPolicyConfiguration": TRACKING}
    place = f"service namespace: dynamodb, resource ID: table/{name}, scalable dimension: {READS}"

    def refused(call, code, text, **parameters):
        equal(fault(call, **parameters)[:2], (code, text))

    missing, invalid = "ObjectNotFoundException", "ValidationException"
    refused(scaling.put_scaling_policy, missing, f"No scalable target registered for {place}", **target(name), **put)
    refused(scaling.deregister_scalable_target, missing, f"No scalable target registered for {place}", **target(name))
    refused(scaling.delete_scaling_policy, missing, f"No scaling policy found for {place}, policy name: p",
            **target(name), PolicyName="p")
    unsupported = "Unsupported service namespace, resource type or scalable dimension"
    bounds = {"MinCapacity": 5, "MaxCapacity": 10}
    for wrong in ({"ResourceId": name}, {"ScalableDimension": "dynamodb:index:ReadCapacityUnits"},
                  {"ServiceNamespace": "ecs"}):
        refused(scaling.register_scalable_target, invalid, unsupported, **{**target(name), **wrong}, **bounds)
    refused(scaling.register_scalable_target, invalid, f"DynamoDB table does not exist: table/{name}x",
            **target(name + "x"), **bounds)
    arn = scaling.register_scalable_target(**target(name), **bounds)["ScalableTargetARN"]
    refused(scaling.register_scalable_target, invalid,
            "The scalable target that you tried to tag already exists. To update tags on an existing scalable target, "
            "use the TagResource API.", **target(name), Tags={"a": "b"})
    scaling.put_scaling_policy(**target(name), **put)
    refused(scaling.put_scaling_policy, invalid,
            "Only one TargetTrackingScaling policy for a given metric specification is allowed.",
            **target(name), **{**put, "PolicyName": "q"})
    code, _, answer = fault(scaling.list_tags_for_resource, ResourceARN=arn + "0")
    equal((code, answer["ResourceName"]), ("ResourceNotFoundException", arn + "0"))
    for call, wrong in ((scaling.put_scaling_policy, {**put, "PolicyType": "StepScaling"}),
                        (scaling.register_scalable_target, {"MinCapacity": 11}),
                        (scaling.put_scheduled_action, {
                            "ScheduledActionName": "a", "Schedule": "at(2020-01-01T00:00:00)",
                            "ScalableTargetAction": bounds})):
        equal(fault(call, **target(name), **wrong)[0], invalid)
    equal(fault(scaling.describe_scalable_targets, ServiceNamespace="dynamodb", NextToken="never")[0],
          "InvalidNextTokenException")
