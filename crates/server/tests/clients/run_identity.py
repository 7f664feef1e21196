"""Users, groups, roles, policies, keys and sessions by boto3 against a server with credentials.

Arguments: the scene, the endpoint, the id and the secret of an access key of the account, for scenes of two
parts a file that keeps what the first part made, and for `operations` a file for the names of those it called.
"""

import datetime
import json
import re
import sys
import time

import boto3
from botocore.client import Config
from botocore.exceptions import ClientError

SCENE, ENDPOINT, KEY, SECRET, *REST = sys.argv[1:]
ACCOUNT = "123456789012"
REGION = "eu-west-1"


def client(service, key=KEY, secret=SECRET, token=None, endpoint=ENDPOINT):
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        aws_session_token=token,
        config=Config(retries={"max_attempts": 1, "mode": "standard"}),
    )


def of(service, made, endpoint=ENDPOINT):
    """A client with an access key or with a session."""
    return client(
        service, made["AccessKeyId"], made["SecretAccessKey"], made.get("SessionToken"), endpoint
    )


def policy(*statements):
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(action, resource="*", **more):
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def trust(principal, action="sts:AssumeRole", **more):
    return policy({"Effect": "Allow", "Principal": {"AWS": principal}, "Action": action, **more})


def refused(code, call, **arguments):
    try:
        call(**arguments)
    except ClientError as error:
        found = error.response["Error"]
        assert found["Code"] == code, (code, found)
        return found["Message"]
    raise AssertionError(f"{code} is missing")


def user_with_key(name):
    iam = client("iam")
    iam.create_user(UserName=name)
    return iam.create_access_key(UserName=name)["AccessKey"]


def table(name="Tab"):
    client("dynamodb").create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "g", "AttributeType": "S"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "Ind",
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )


def operations():
    """Every operation of IAM once, in the order of a tool that makes, reads, changes and destroys."""
    iam = client("iam")
    called = set()
    iam.meta.events.register("before-call.iam", lambda model, **_: called.add(model.name))
    document = policy(allow("dynamodb:GetItem"))
    user = iam.create_user(UserName="Ann", Path="/team/", Tags=[{"Key": "team", "Value": "a&b"}])["User"]
    assert user["Arn"] == f"arn:aws:iam::{ACCOUNT}:user/team/Ann", user
    assert re.fullmatch("AIDA[A-Z2-7]{17}", user["UserId"]), user
    read = iam.get_user(UserName="Ann")["User"]
    assert read == user and read["Tags"] == [{"Key": "team", "Value": "a&b"}], (read, user)
    age = datetime.datetime.now(datetime.timezone.utc) - read["CreateDate"]
    assert datetime.timedelta(0) <= age < datetime.timedelta(minutes=5), age
    refused("EntityAlreadyExists", iam.create_user, UserName="ann")
    assert "cannot be found" in refused("NoSuchEntity", iam.get_user, UserName="Bob")
    group = iam.create_group(GroupName="readers")["Group"]
    assert group["Arn"] == f"arn:aws:iam::{ACCOUNT}:group/readers"
    iam.add_user_to_group(GroupName="readers", UserName="Ann")
    assert [one["UserName"] for one in iam.get_group(GroupName="readers")["Users"]] == ["Ann"]
    assert [one["GroupName"] for one in iam.list_groups_for_user(UserName="Ann")["Groups"]] == ["readers"]
    role = iam.create_role(
        RoleName="reader",
        AssumeRolePolicyDocument=trust(f"arn:aws:iam::{ACCOUNT}:root"),
        Description="Reads.",
        MaxSessionDuration=7200,
    )["Role"]
    assert re.fullmatch("AROA[A-Z2-7]{17}", role["RoleId"]), role
    read = iam.get_role(RoleName="reader")["Role"]
    assert read == role and read["AssumeRolePolicyDocument"]["Statement"][0]["Effect"] == "Allow", read
    assert iam.list_instance_profiles_for_role(RoleName="reader")["InstanceProfiles"] == []
    iam.update_role(RoleName="reader", Description="Reads more.", MaxSessionDuration=3600)
    iam.update_assume_role_policy(RoleName="reader", PolicyDocument=trust(user["Arn"]))
    read = iam.get_role(RoleName="reader")["Role"]
    assert (read["Description"], read["MaxSessionDuration"]) == ("Reads more.", 3600), read
    assert read["AssumeRolePolicyDocument"]["Statement"][0]["Principal"] == {"AWS": user["Arn"]}, read

    made = iam.create_policy(PolicyName="p", Path="/x/", PolicyDocument=document, Description="d")["Policy"]
    arn = made["Arn"]
    assert arn == f"arn:aws:iam::{ACCOUNT}:policy/x/p" and made["DefaultVersionId"] == "v1", made
    refused("EntityAlreadyExists", iam.create_policy, PolicyName="p", PolicyDocument=document)
    for bad in ["{", "[]", '{"Version":"2012-10-17"}', policy({"Effect": "allow", "Action": "*"})]:
        refused("MalformedPolicyDocument", iam.create_policy, PolicyName="bad", PolicyDocument=bad)
    second = iam.create_policy_version(PolicyArn=arn, PolicyDocument=policy(allow("dynamodb:*")))
    assert second["PolicyVersion"]["VersionId"] == "v2", second
    iam.set_default_policy_version(PolicyArn=arn, VersionId="v2")
    versions = iam.list_policy_versions(PolicyArn=arn)["Versions"]
    assert [(one["VersionId"], one["IsDefaultVersion"]) for one in versions] == [("v2", True), ("v1", False)]
    first = iam.get_policy_version(PolicyArn=arn, VersionId="v1")["PolicyVersion"]
    assert first["Document"] == json.loads(document), first
    refused("DeleteConflict", iam.delete_policy, PolicyArn=arn)
    refused("DeleteConflict", iam.delete_policy_version, PolicyArn=arn, VersionId="v2")
    iam.delete_policy_version(PolicyArn=arn, VersionId="v1")

    owners = [("user", {"UserName": "Ann"}), ("group", {"GroupName": "readers"}), ("role", {"RoleName": "reader"})]
    plural = {"user": "user", "group": "group", "role": "role"}
    for kind, name in owners:
        getattr(iam, f"attach_{kind}_policy")(PolicyArn=arn, **name)
        attached = getattr(iam, f"list_attached_{kind}_policies")(**name)["AttachedPolicies"]
        assert attached == [{"PolicyName": "p", "PolicyArn": arn}], attached
        getattr(iam, f"put_{kind}_policy")(PolicyName="in", PolicyDocument=document, **name)
        read = getattr(iam, f"get_{kind}_policy")(PolicyName="in", **name)
        assert read["PolicyDocument"] == json.loads(document), read
        assert getattr(iam, f"list_{plural[kind]}_policies")(**name)["PolicyNames"] == ["in"]
    entities = iam.list_entities_for_policy(PolicyArn=arn)
    assert [one["UserName"] for one in entities["PolicyUsers"]] == ["Ann"], entities
    assert [one["GroupName"] for one in entities["PolicyGroups"]] == ["readers"], entities
    assert [one["RoleName"] for one in entities["PolicyRoles"]] == ["reader"], entities
    assert iam.get_policy(PolicyArn=arn)["Policy"]["AttachmentCount"] == 3
    refused("DeleteConflict", iam.delete_policy, PolicyArn=arn)
    local = iam.list_policies(Scope="Local")["Policies"]
    assert [one["Arn"] for one in local] == [arn], local
    built_in = {one["PolicyName"] for one in iam.list_policies(Scope="AWS")["Policies"]}
    assert built_in == {"AdministratorAccess", "AmazonDynamoDBFullAccess", "AmazonDynamoDBReadOnlyAccess"}
    for kind, name in [owners[0], owners[2]]:
        getattr(iam, f"put_{kind}_permissions_boundary")(PermissionsBoundary=arn, **name)
        read = getattr(iam, f"get_{kind}")(**name)[kind.capitalize()]
        assert read["PermissionsBoundary"]["PermissionsBoundaryArn"] == arn, read
        getattr(iam, f"delete_{kind}_permissions_boundary")(**name)
        getattr(iam, f"tag_{kind}")(Tags=[{"Key": "stage", "Value": "test"}], **name)
        tags = getattr(iam, f"list_{kind}_tags")(**name)["Tags"]
        assert {"Key": "stage", "Value": "test"} in tags, tags
        getattr(iam, f"untag_{kind}")(TagKeys=["stage"], **name)

    keys = [iam.create_access_key(UserName="Ann")["AccessKey"] for _ in range(2)]
    refused("LimitExceeded", iam.create_access_key, UserName="Ann")
    assert re.fullmatch("AKIA[A-Z2-7]{16}", keys[0]["AccessKeyId"]), keys
    assert len(keys[0]["SecretAccessKey"]) == 40
    listed = {one["AccessKeyId"] for one in iam.list_access_keys(UserName="Ann")["AccessKeyMetadata"]}
    assert listed == {one["AccessKeyId"] for one in keys}
    last = iam.get_access_key_last_used(AccessKeyId=keys[0]["AccessKeyId"])
    assert last["UserName"] == "Ann" and last["AccessKeyLastUsed"]["ServiceName"] == "N/A", last
    of("sts", keys[0]).get_caller_identity()
    last = iam.get_access_key_last_used(AccessKeyId=keys[0]["AccessKeyId"])["AccessKeyLastUsed"]
    assert (last["ServiceName"], last["Region"]) == ("sts", REGION), last
    assert client("sts").get_access_key_info(AccessKeyId=keys[0]["AccessKeyId"])["Account"] == ACCOUNT
    iam.update_access_key(UserName="Ann", AccessKeyId=keys[0]["AccessKeyId"], Status="Inactive")
    refused("DeleteConflict", iam.delete_user, UserName="Ann")
    for key in keys:
        iam.delete_access_key(UserName="Ann", AccessKeyId=key["AccessKeyId"])

    iam.update_user(UserName="Ann", NewUserName="Anna", NewPath="/")
    assert iam.get_user(UserName="anna")["User"]["UserId"] == user["UserId"]
    iam.update_group(GroupName="readers", NewGroupName="all")
    assert [one["GroupName"] for one in iam.list_groups_for_user(UserName="Anna")["Groups"]] == ["all"]
    for kind, name in [("user", {"UserName": "Anna"}), ("group", {"GroupName": "all"}), owners[2]]:
        refused("DeleteConflict", getattr(iam, f"delete_{kind}"), **name)
        getattr(iam, f"detach_{kind}_policy")(PolicyArn=arn, **name)
        getattr(iam, f"delete_{kind}_policy")(PolicyName="in", **name)
    refused("DeleteConflict", iam.delete_group, GroupName="all")
    iam.remove_user_from_group(GroupName="all", UserName="Anna")
    lists = [("users", "Users", 1), ("groups", "Groups", 1), ("roles", "Roles", 1)]
    for name, member, count in lists:
        assert len(getattr(iam, f"list_{name}")()[member]) == count, name
    iam.delete_user(UserName="Anna")
    iam.delete_group(GroupName="all")
    iam.delete_role(RoleName="reader")
    iam.delete_policy(PolicyArn=arn)
    refused("NoSuchEntity", iam.get_policy, PolicyArn=arn)
    for number in range(7):
        iam.create_user(UserName=f"user-{number}")
    pages = iam.get_paginator("list_users").paginate(PaginationConfig={"PageSize": 3})
    assert [one["UserName"] for page in pages for one in page["Users"]] == [f"user-{n}" for n in range(7)]
    assert len(called) == 66, sorted(called)
    refused("InvalidAction", iam.list_saml_providers)
    with open(REST[0], "w") as file:
        json.dump(sorted(called), file)


def denied(action, resource, user):
    return (
        f"User: arn:aws:iam::{ACCOUNT}:user/{user} is not authorized to perform: {action} on resource: "
        f"{resource} because no identity-based policy allows the {action} action"
    )


def denials():
    """A user may do nothing until a policy allows it, at once and without a restart; nor learns anything."""
    table()
    iam = client("iam")
    key = user_with_key("Ann")
    database = of("dynamodb", key)
    arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab"
    item = {"pk": {"S": "a"}}
    calls = [
        ("dynamodb:GetItem", arn, database.get_item, {"TableName": "Tab", "Key": item}),
        (
            "dynamodb:Query",
            f"{arn}/index/Ind",
            database.query,
            {
                "TableName": "Tab",
                "IndexName": "Ind",
                "KeyConditionExpression": "g = :g",
                "ExpressionAttributeValues": {":g": {"S": "x"}},
            },
        ),
        (
            "dynamodb:CreateTable",
            f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Uvw",
            database.create_table,
            {
                "TableName": "Uvw",
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        ),
        ("dynamodb:ListTables", "*", database.list_tables, {}),
    ]
    for action, resource, call, arguments in calls:
        text = refused("AccessDeniedException", call, **arguments)
        assert text == denied(action, resource, "Ann"), text
    # Neither a missing table nor a wrong expression shows.
    missing = refused("AccessDeniedException", database.get_item, TableName="NoSuch", Key=item)
    assert missing == denied("dynamodb:GetItem", f"{arn[:-3]}NoSuch", "Ann"), missing
    wrong = {"TableName": "Tab", "Key": item, "ProjectionExpression": "a b c("}
    assert refused("AccessDeniedException", database.get_item, **wrong) == denied("dynamodb:GetItem", arn, "Ann")
    for action, resource, call, arguments in calls:
        iam.put_user_policy(UserName="Ann", PolicyName="p", PolicyDocument=policy(allow(action, resource)))
        call(**arguments)
        others = [other for other in calls if other[0] != action]
        for _, _, other, arguments in others:
            refused("AccessDeniedException", other, **arguments)
    allowed = policy(allow("dynamodb:GetItem", arn))
    iam.put_user_policy(UserName="Ann", PolicyName="p", PolicyDocument=allowed)
    assert refused("ValidationException", database.get_item, **wrong)
    # IAM, CloudWatch, Application Auto Scaling and triggers are behind the same door.
    text = refused("AccessDenied", of("iam", key).create_user, UserName="Eve")
    assert text == denied("iam:CreateUser", f"arn:aws:iam::{ACCOUNT}:user/Eve", "Ann"), text
    refused("AccessDenied", of("iam", key).list_users)
    refused("AccessDeniedException", of("lambda", key).list_event_source_mappings)
    refused("AccessDeniedException", of("application-autoscaling", key).describe_scalable_targets, ServiceNamespace="dynamodb")
    refused("AccessDenied", of("cloudwatch", key).list_metrics)
    identity = of("sts", key).get_caller_identity()
    assert identity["Arn"] == f"arn:aws:iam::{ACCOUNT}:user/Ann", identity
    # Groups, attached policies, an explicit denial, a boundary.
    iam.delete_user_policy(UserName="Ann", PolicyName="p")
    iam.create_group(GroupName="readers")
    iam.attach_group_policy(
        GroupName="readers", PolicyArn="arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess"
    )
    refused("AccessDeniedException", database.get_item, TableName="Tab", Key=item)
    iam.add_user_to_group(GroupName="readers", UserName="Ann")
    database.get_item(TableName="Tab", Key=item)
    refused("AccessDeniedException", database.put_item, TableName="Tab", Item=item)
    deny = policy({"Effect": "Deny", "Action": "dynamodb:GetItem", "Resource": "*"})
    iam.put_user_policy(UserName="Ann", PolicyName="no", PolicyDocument=deny)
    text = refused("AccessDeniedException", database.get_item, TableName="Tab", Key=item)
    assert text.endswith(f"on resource: {arn} with an explicit deny in an identity-based policy"), text
    iam.delete_user_policy(UserName="Ann", PolicyName="no")
    bound = iam.create_policy(PolicyName="bound", PolicyDocument=policy(allow("dynamodb:Query")))["Policy"]["Arn"]
    iam.put_user_permissions_boundary(UserName="Ann", PermissionsBoundary=bound)
    text = refused("AccessDeniedException", database.get_item, TableName="Tab", Key=item)
    assert text.endswith("because no permissions boundary allows the dynamodb:GetItem action"), text
    iam.delete_user_permissions_boundary(UserName="Ann")
    # A table's tags.
    client("dynamodb").tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "a"}])
    iam.remove_user_from_group(GroupName="readers", UserName="Ann")
    equal = {"StringEquals": {"aws:ResourceTag/team": "${aws:PrincipalTag/team}"}}
    iam.put_user_policy(
        UserName="Ann", PolicyName="p", PolicyDocument=policy(allow("dynamodb:GetItem", Condition=equal))
    )
    refused("AccessDeniedException", database.get_item, TableName="Tab", Key=item)
    iam.tag_user(UserName="Ann", Tags=[{"Key": "team", "Value": "a"}])
    database.get_item(TableName="Tab", Key=item)
    # Items under the user's own name, of which a part of the attributes may be read.
    own = {
        "ForAllValues:StringEquals": {
            "dynamodb:LeadingKeys": ["${aws:username}"],
            "dynamodb:Attributes": ["pk", "open"],
        },
        "StringEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES", "dynamodb:ReturnValues": "NONE"},
    }
    fine = policy(allow(["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:Query"], Condition=own))
    iam.put_user_policy(UserName="Ann", PolicyName="p", PolicyDocument=fine)
    mine, foreign = {"pk": {"S": "Ann"}}, {"pk": {"S": "Bob"}}
    reads = {"TableName": "Tab", "ProjectionExpression": "pk, #o", "ExpressionAttributeNames": {"#o": "open"}}
    database.put_item(TableName="Tab", Item=dict(mine, open={"S": "x"}))
    database.get_item(Key=mine, **reads)
    of_keys = {"KeyConditionExpression": "pk = :p", **reads}
    database.query(ExpressionAttributeValues={":p": {"S": "Ann"}}, **of_keys)
    for call, arguments in [
        (database.get_item, dict(reads, Key=foreign)),
        (database.get_item, {"TableName": "Tab", "Key": mine}),
        (database.get_item, {"TableName": "Tab", "Key": mine, "ProjectionExpression": "pk, secret"}),
        (database.put_item, {"TableName": "Tab", "Item": foreign}),
        (database.put_item, {"TableName": "Tab", "Item": dict(mine, secret={"S": "x"})}),
        (database.put_item, {"TableName": "Tab", "Item": mine, "ReturnValues": "ALL_OLD"}),
        (
            database.put_item,
            {"TableName": "Tab", "Item": mine, "ConditionExpression": "attribute_not_exists(secret)"},
        ),
        (database.query, dict(of_keys, ExpressionAttributeValues={":p": {"S": "Bob"}})),
        (database.execute_statement, {"Statement": "SELECT pk FROM Tab WHERE pk = 'Ann'"}),
        (
            database.batch_get_item,
            {"RequestItems": {"Tab": {"Keys": [mine, foreign], "ProjectionExpression": "pk"}}},
        ),
    ]:
        refused("AccessDeniedException", call, **arguments)
    iam.put_user_policy(UserName="Ann", PolicyName="p", PolicyDocument=policy(allow("dynamodb:GetItem")))
    # A key that is refused is refused everywhere at once.
    iam.update_access_key(UserName="Ann", AccessKeyId=key["AccessKeyId"], Status="Inactive")
    refused("UnrecognizedClientException", database.get_item, TableName="Tab", Key=item)
    refused("InvalidClientTokenId", of("sts", key).get_caller_identity)
    iam.update_access_key(UserName="Ann", AccessKeyId=key["AccessKeyId"], Status="Active")
    database.get_item(TableName="Tab", Key=item)
    iam.delete_access_key(UserName="Ann", AccessKeyId=key["AccessKeyId"])
    refused("UnrecognizedClientException", database.get_item, TableName="Tab", Key=item)
    forged = dict(key, SecretAccessKey="x" * 40)
    second = iam.create_access_key(UserName="Ann")["AccessKey"]
    of("dynamodb", second).get_item(TableName="Tab", Key=item)
    forged["AccessKeyId"] = second["AccessKeyId"]
    refused("InvalidSignatureException", of("dynamodb", forged).get_item, TableName="Tab", Key=item)


def sessions():
    """Who takes a role, what its session may do, and when it may no more."""
    table()
    iam, item = client("iam"), {"pk": {"S": "a"}}
    ann, bob = user_with_key("Ann"), user_with_key("Bob")
    ann_arn = f"arn:aws:iam::{ACCOUNT}:user/Ann"
    outside = {"StringEquals": {"sts:ExternalId": "secret-7"}}
    role = iam.create_role(RoleName="reader", AssumeRolePolicyDocument=trust(ann_arn, Condition=outside))["Role"]
    iam.put_role_policy(
        RoleName="reader",
        PolicyName="p",
        PolicyDocument=policy(allow(["dynamodb:GetItem", "dynamodb:PutItem"])),
    )
    sts = of("sts", ann)
    take = {"RoleArn": role["Arn"], "RoleSessionName": "nightly"}
    refused("AccessDenied", sts.assume_role, **take)
    refused("AccessDenied", sts.assume_role, ExternalId="wrong", **take)
    refused("AccessDenied", of("sts", bob).assume_role, ExternalId="secret-7", **take)
    refused("AccessDenied", client("sts").assume_role, ExternalId="secret-7", **take)
    nobody = refused("AccessDenied", sts.assume_role, RoleArn=role["Arn"] + "x", RoleSessionName="nightly")
    assert "sts:AssumeRole on resource" in nobody, nobody
    taken = sts.assume_role(ExternalId="secret-7", **take)
    session = taken["Credentials"]
    assert session["AccessKeyId"].startswith("ASIA"), session["AccessKeyId"]
    session_arn = f"arn:aws:sts::{ACCOUNT}:assumed-role/reader/nightly"
    assert taken["AssumedRoleUser"] == {
        "Arn": session_arn,
        "AssumedRoleId": f"{role['RoleId']}:nightly",
    }, taken
    identity = of("sts", session).get_caller_identity()
    assert (identity["Arn"], identity["UserId"]) == (session_arn, f"{role['RoleId']}:nightly"), identity
    database = of("dynamodb", session)
    database.put_item(TableName="Tab", Item=item)
    assert database.get_item(TableName="Tab", Key=item)["Item"] == item
    text = refused("AccessDeniedException", database.scan, TableName="Tab")
    assert text.startswith(f"User: {session_arn} is not authorized to perform: dynamodb:Scan"), text
    # A policy of the session narrows the role's.
    narrow = policy(allow("dynamodb:GetItem"))
    narrowed = sts.assume_role(ExternalId="secret-7", Policy=narrow, **take)["Credentials"]
    of("dynamodb", narrowed).get_item(TableName="Tab", Key=item)
    text = refused("AccessDeniedException", of("dynamodb", narrowed).put_item, TableName="Tab", Item=item)
    assert text.endswith("because no session policy allows the dynamodb:PutItem action"), text
    refused("MalformedPolicyDocument", sts.assume_role, ExternalId="secret-7", Policy="{", **take)
    refused("ValidationError", sts.assume_role, ExternalId="secret-7", DurationSeconds=7200, **take)
    # A token that was altered, or that goes with another key.
    token = session["SessionToken"]
    for altered in [token[:-8] + ("A" if token[-8] != "A" else "B") + token[-7:], narrowed["SessionToken"], "x"]:
        forged = dict(session, SessionToken=altered)
        refused("UnrecognizedClientException", of("dynamodb", forged).get_item, TableName="Tab", Key=item)
    without = {name: session[name] for name in ["AccessKeyId", "SecretAccessKey"]}
    refused("UnrecognizedClientException", of("dynamodb", without).get_item, TableName="Tab", Key=item)
    with_token = dict(ann, SessionToken=token)
    refused("UnrecognizedClientException", of("dynamodb", with_token).list_tables)
    # Tags and a source identity are rights of their own.
    refused("AccessDenied", sts.assume_role, ExternalId="secret-7", Tags=[{"Key": "a", "Value": "b"}], **take)
    refused("AccessDenied", sts.assume_role, ExternalId="secret-7", SourceIdentity="Ann", **take)
    iam.update_assume_role_policy(
        RoleName="reader",
        PolicyDocument=trust(ann_arn, ["sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity"]),
    )
    tagged = sts.assume_role(Tags=[{"Key": "a", "Value": "b"}], SourceIdentity="Ann", **take)
    assert tagged["SourceIdentity"] == "Ann" and tagged["PackedPolicySize"] >= 0, tagged
    of("dynamodb", tagged["Credentials"]).get_item(TableName="Tab", Key=item)
    # Sessions that were issued before now are revoked by a denial.
    now = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    revoke = {
        "Effect": "Deny",
        "Action": "*",
        "Resource": "*",
        "Condition": {"DateLessThan": {"aws:TokenIssueTime": now}},
    }
    iam.put_role_policy(RoleName="reader", PolicyName="revoke", PolicyDocument=policy(revoke))
    refused("AccessDeniedException", database.get_item, TableName="Tab", Key=item)
    iam.delete_role_policy(RoleName="reader", PolicyName="revoke")
    database.get_item(TableName="Tab", Key=item)
    # A session of the user acts as the user, and begins no other.
    iam.put_user_policy(UserName="Ann", PolicyName="p", PolicyDocument=policy(allow("dynamodb:Scan")))
    own = sts.get_session_token(DurationSeconds=900)["Credentials"]
    of("dynamodb", own).scan(TableName="Tab")
    assert of("sts", own).get_caller_identity()["Arn"] == ann_arn
    refused("AccessDenied", of("sts", own).get_session_token)
    root = client("sts").get_session_token()["Credentials"]
    of("dynamodb", root).describe_table(TableName="Tab")
    assert of("sts", root).get_caller_identity()["Arn"] == f"arn:aws:iam::{ACCOUNT}:root"
    # A role that was made anew is another one.
    iam.delete_role_policy(RoleName="reader", PolicyName="p")
    iam.delete_role(RoleName="reader")
    refused("UnrecognizedClientException", database.get_item, TableName="Tab", Key=item)
    iam.create_role(RoleName="reader", AssumeRolePolicyDocument=trust(ann_arn))
    iam.attach_role_policy(RoleName="reader", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    refused("UnrecognizedClientException", database.get_item, TableName="Tab", Key=item)


def first():
    """Makes what a server that is killed must keep."""
    table()
    iam = client("iam")
    key = user_with_key("Ann")
    iam.put_user_policy(UserName="Ann", PolicyName="p", PolicyDocument=policy(allow("dynamodb:GetItem")))
    ann_arn = f"arn:aws:iam::{ACCOUNT}:user/Ann"
    role = iam.create_role(RoleName="reader", AssumeRolePolicyDocument=trust(ann_arn))["Role"]
    iam.put_role_policy(RoleName="reader", PolicyName="p", PolicyDocument=policy(allow("dynamodb:GetItem")))
    taken = of("sts", key).assume_role(RoleArn=role["Arn"], RoleSessionName="kept")["Credentials"]
    gone = iam.create_access_key(UserName="Ann")["AccessKey"]
    iam.delete_access_key(UserName="Ann", AccessKeyId=gone["AccessKeyId"])
    keep = {"key": key, "session": taken, "gone": gone}
    with open(REST[0], "w", encoding="utf-8") as file:
        json.dump(keep, file, default=str)


def second():
    """Finds it again."""
    with open(REST[0], encoding="utf-8") as file:
        kept = json.load(file)
    ask = {"TableName": "Tab", "Key": {"pk": {"S": "a"}}}
    for name in ["key", "session"]:
        of("dynamodb", kept[name]).get_item(**ask)
        refused("AccessDeniedException", of("dynamodb", kept[name]).scan, TableName="Tab")
    refused("UnrecognizedClientException", of("dynamodb", kept["gone"]).get_item, **ask)


def within_bound(call, code=None):
    """Waits until another server knows of a change, at most the second that the guide states."""
    begun = time.monotonic()
    while True:
        try:
            call()
            found = None
        except ClientError as error:
            found = error.response["Error"]["Code"]
        if found == code:
            return
        assert time.monotonic() - begun < 1.5, (found, code)


def two_servers():
    """A change by one server binds the other within a second."""
    other = REST[0]
    table()
    iam, ask = client("iam"), {"TableName": "Tab", "Key": {"pk": {"S": "a"}}}
    key = user_with_key("Ann")
    # A new key is known at once.
    there = of("dynamodb", key, other)
    refused("AccessDeniedException", there.get_item, **ask)
    iam.put_user_policy(UserName="Ann", PolicyName="p", PolicyDocument=policy(allow("dynamodb:GetItem")))
    within_bound(lambda: there.get_item(**ask))
    ann_arn = f"arn:aws:iam::{ACCOUNT}:user/Ann"
    role = iam.create_role(RoleName="reader", AssumeRolePolicyDocument=trust(ann_arn))["Role"]
    iam.put_role_policy(RoleName="reader", PolicyName="p", PolicyDocument=policy(allow("dynamodb:GetItem")))
    session = of("sts", key).assume_role(RoleArn=role["Arn"], RoleSessionName="both")["Credentials"]
    within_bound(lambda: of("dynamodb", session, other).get_item(**ask))
    iam.update_access_key(UserName="Ann", AccessKeyId=key["AccessKeyId"], Status="Inactive")
    within_bound(lambda: there.get_item(**ask), "UnrecognizedClientException")
    # Changes by both are not lost.
    names = [f"user-{number}" for number in range(10)]
    for number, name in enumerate(names):
        client("iam", endpoint=[ENDPOINT, other][number % 2]).create_user(UserName=name)
    listed = [one["UserName"] for one in iam.list_users()["Users"]]
    assert set(names) <= set(listed), listed


{
    "operations": operations,
    "denials": denials,
    "sessions": sessions,
    "first": first,
    "second": second,
    "two-servers": two_servers,
}[SCENE]()
