"""The older client that encrypts items before they are sent (the DynamoDB Encryption Client for Python).

Arguments: the scene (`items`, or `read` for those that are there), the endpoint, and a file to which every
acknowledged write is appended as it went over the wire.
"""

import json
import sys
from decimal import Decimal

import boto3
from botocore.exceptions import ClientError
from dynamodb_encryption_sdk.delegated_keys.jce import JceNameLocalDelegatedKey
from dynamodb_encryption_sdk.encrypted import CryptoConfig
from dynamodb_encryption_sdk.encrypted.client import EncryptedClient
from dynamodb_encryption_sdk.encrypted.item import decrypt_dynamodb_item, encrypt_dynamodb_item
from dynamodb_encryption_sdk.encrypted.table import EncryptedTable
from dynamodb_encryption_sdk.exceptions import DynamodbEncryptionSdkError
from dynamodb_encryption_sdk.identifiers import CryptoAction, EncryptionKeyType, KeyEncodingType
from dynamodb_encryption_sdk.material_providers.wrapped import WrappedCryptographicMaterialsProvider
from dynamodb_encryption_sdk.structures import AttributeActions, EncryptionContext

SCENE, ENDPOINT, SENT = sys.argv[1:]
DESCRIPTION, SIGNATURE = "*amzn-ddb-map-desc*", "*amzn-ddb-map-sig*"
TABLE = "OldVault"
"""The other one holds what the newer client for Java reads."""
OF_JAVA = "OlderOfPython"
ENCRYPTED = [
    "name", "empty", "amount", "tiny", "photo", "active", "nothing", "tags", "scores", "chips", "orders",
    "address",
]  # fmt: skip
KEPT = 12

SESSION = boto3.Session(
    region_name="us-east-1", aws_access_key_id="local", aws_secret_access_key="local"
)
plain = SESSION.client("dynamodb", endpoint_url=ENDPOINT)
resource = SESSION.resource("dynamodb", endpoint_url=ENDPOINT)


def record(client):
    """Appends what was sent, a line for each request that was answered without an error."""
    pending = {}

    def sent(request=None, **_):
        body = request.body if isinstance(request.body, str) else request.body.decode()
        operation = request.headers["X-Amz-Target"]
        operation = operation.decode() if isinstance(operation, bytes) else operation
        pending.update(operation=operation.split(".")[1], body=json.loads(body))

    def answered(http_response=None, **_):
        if http_response.status_code == 200:
            with open(SENT, "a", encoding="utf-8") as file:
                file.write(json.dumps(pending) + "\n")

    client.meta.events.register("before-send.dynamodb", sent)
    client.meta.events.register("after-call.dynamodb", answered)


record(plain)
record(resource.meta.client)


def key(text, algorithm):
    return JceNameLocalDelegatedKey(
        key=text, algorithm=algorithm, key_type=EncryptionKeyType.SYMMETRIC, key_encoding=KeyEncodingType.RAW
    )


"""The same keys are in `Migration.java`."""
WRAPPING = key(b"a key of 16 byte", "AESWrap")
PROVIDER = WrappedCryptographicMaterialsProvider(
    wrapping_key=WRAPPING, unwrapping_key=WRAPPING, signing_key=key(b"a key that signs", "HmacSHA256")
)
SIGN_ONLY = CryptoAction.SIGN_ONLY
ACTIONS = AttributeActions(
    default_action=CryptoAction.ENCRYPT_AND_SIGN,
    attribute_actions={
        "pk": SIGN_ONLY, "sk": SIGN_ONLY, "status": SIGN_ONLY, "price": SIGN_ONLY, "labels": SIGN_ONLY,
        "limits": SIGN_ONLY, "note": CryptoAction.DO_NOTHING,
    },
)  # fmt: skip
encrypting = EncryptedClient(client=plain, materials_provider=PROVIDER, attribute_actions=ACTIONS)


def item(index):
    """An item with values of every type, as the service gives them back."""
    photo = bytes((at + index) % 256 for at in range(256))
    return {
        "pk": {"S": f"customer#{index % 3}"},
        "sk": {"N": str(index)},
        "name": {"S": f'Zoë Ångström "{index}" 🎈 \0\n'},
        "empty": {"S": ""},
        "amount": {"N": "12345678901234567890.12345678"},
        "tiny": {"N": "-0.0001"},
        "photo": {"B": photo},
        "active": {"BOOL": index % 2 == 0},
        "nothing": {"NULL": True},
        "tags": {"SS": ["blau", "grün", "rot"]},
        "scores": {"NS": ["-1.5", "100", "3"]},
        "chips": {"BS": sorted([photo, b"x"])},
        "orders": {"L": [{"S": "o#1"}, {"L": []}]},
        "address": {"M": {"city": {"S": "Köln"}, "zip": {"N": "50667"}}},
        "status": {"S": "closed" if index % 3 == 0 else "open"},
        "price": {"N": "1.5"},
        "labels": {"SS": ["a", "b", "é"]},
        "limits": {"NS": ["20", "3"]},
        "note": {"S": f"note {index}"},
    }


def key_of(index):
    return {name: item(index)[name] for name in ("pk", "sk")}


def ordered(value):
    """The elements of sets have no order."""
    if isinstance(value, dict):
        sets = ("SS", "NS", "BS")
        return {name: sorted(part) if name in sets else ordered(part) for name, part in value.items()}
    return [ordered(part) for part in value] if isinstance(value, list) else value


def same(expected, found):
    expected, found = ordered(expected), ordered(found)
    assert expected == found, f"expected {expected}, found {found}"


def same_items(expected, found):
    def by_key(items):
        made = {(one["pk"]["S"], one["sk"]["N"]): one for one in items}
        assert len(made) == len(items), "an item is there twice"
        return made

    same(by_key(expected), by_key(found))


def get(client, index):
    return client.get_item(TableName=TABLE, Key=key_of(index), ConsistentRead=True).get("Item")


def refused(code, call, **arguments):
    try:
        call(**arguments)
    except ClientError as error:
        assert error.response["Error"]["Code"] == code, error
        return
    raise AssertionError(f"{code} is missing")


def create(table):
    by_status = [
        {"AttributeName": "status", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ]
    plain.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in (("pk", "S"), ("sk", "N"), ("status", "S"))
        ],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        GlobalSecondaryIndexes=[
            {"IndexName": "by_status", "KeySchema": by_status, "Projection": {"ProjectionType": "ALL"}}
        ],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    plain.get_waiter("table_exists").wait(TableName=table, WaiterConfig={"Delay": 1})


def one_by_one():
    for index in range(3):
        encrypting.put_item(TableName=TABLE, Item=item(index), ConditionExpression="attribute_not_exists(pk)")
        same(item(index), get(encrypting, index))
    refused(
        "ConditionalCheckFailedException",
        encrypting.put_item,
        TableName=TABLE,
        Item=item(1),
        ConditionExpression="attribute_not_exists(pk)",
    )
    # What the service writes in another way than it was sent: the signature is about the value.
    numbers = {**item(3), "price": {"N": "1.500"}, "limits": {"NS": ["2E1", "3.0"]}, "sk": {"N": "03.00"}}
    encrypting.put_item(TableName=TABLE, Item=numbers)
    same(item(3), get(encrypting, 3))
    # This client refuses updates, so what it does not sign is updated by another one.
    for note in ("changed", item(2)["note"]["S"]):
        plain.update_item(
            TableName=TABLE,
            Key=key_of(2),
            UpdateExpression="SET #note = :note",
            ExpressionAttributeNames={"#note": "note"},
            ExpressionAttributeValues={":note": {"S": note}},
        )
        same({**item(2), "note": {"S": note}}, get(encrypting, 2))


def many_at_once():
    writes = [{"PutRequest": {"Item": item(index)}} for index in range(4, 9)]
    assert not encrypting.batch_write_item(RequestItems={TABLE: writes})["UnprocessedItems"]
    keys = [key_of(index) for index in range(4, 9)]
    found = encrypting.batch_get_item(RequestItems={TABLE: {"Keys": keys}})
    same_items([item(index) for index in range(4, 9)], found["Responses"][TABLE])
    # Transactions are not wrapped by the client: the caller encrypts and decrypts.
    config = CryptoConfig(
        materials_provider=PROVIDER,
        encryption_context=EncryptionContext(
            table_name=TABLE, partition_key_name="pk", sort_key_name="sk", attributes={}
        ),
        attribute_actions=ACTIONS,
    )
    puts = [
        {"Put": {"TableName": TABLE, "Item": encrypt_dynamodb_item(item(index), config)}} for index in (9, 10)
    ]
    plain.transact_write_items(TransactItems=puts)
    gets = [{"Get": {"TableName": TABLE, "Key": key_of(index)}} for index in (9, 10)]
    found = plain.transact_get_items(TransactItems=gets)["Responses"]
    same_items([item(9), item(10)], [decrypt_dynamodb_item(one["Item"], config) for one in found])


def through_the_resource():
    table = EncryptedTable(
        table=resource.Table(TABLE), materials_provider=PROVIDER, attribute_actions=ACTIONS
    )
    with table.batch_writer() as batch:
        values = boto3.dynamodb.types.TypeDeserializer()
        batch.put_item(Item={name: values.deserialize(value) for name, value in item(11).items()})
    same(item(11), get(encrypting, 11))
    found = table.get_item(Key={"pk": "customer#2", "sk": Decimal(11)})["Item"]
    assert found["amount"] == Decimal("12345678901234567890.12345678"), found
    assert found["tags"] == {"blau", "grün", "rot"}, found


def the_server_holds_no_plaintext():
    for index in range(KEPT):
        held = get(plain, index)
        assert len(held[SIGNATURE]["B"]) == 32 and len(held[DESCRIPTION]["B"]) > 16, held
        for name in ENCRYPTED:
            assert held[name].keys() == {"B"} and held[name] != item(index)[name], name
        for name in ("status", "price", "labels", "limits", "note"):
            same({name: item(index)[name]}, {name: held[name]})


def changes_are_noticed():
    held = get(plain, 5)
    flipped = {
        name: {"B": held[name]["B"][:-1] + bytes([held[name]["B"][-1] ^ 1])}
        for name in (SIGNATURE, "name", "photo")
    }
    forged = [{**held, name: value} for name, value in flipped.items()]
    forged.append({**held, DESCRIPTION: get(plain, 6)[DESCRIPTION]})
    forged.append({**held, "name": get(plain, 6)["name"]})
    forged.append({**held, "status": {"S": "forged"}})
    forged.append({name: value for name, value in held.items() if name != "labels"})
    for one in forged:
        plain.put_item(TableName=TABLE, Item=one)
        for read in (get_five, query_five):
            try:
                read()
            except DynamodbEncryptionSdkError:
                continue
            raise AssertionError(f"a changed item was not refused: {one}")
    plain.put_item(TableName=TABLE, Item=held)


def get_five():
    get(encrypting, 5)


def query_five():
    encrypting.query(
        TableName=TABLE, KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": item(5)["pk"]}
    )


def read_all():
    items = [item(index) for index in range(KEPT)]
    for index in range(KEPT):
        same(item(index), get(encrypting, index))
    pages = encrypting.get_paginator("scan").paginate(TableName=TABLE, PaginationConfig={"PageSize": 5})
    same_items(items, [one for page in pages for one in page["Items"]])
    pages = encrypting.get_paginator("query").paginate(
        TableName=TABLE,
        IndexName="by_status",
        KeyConditionExpression="#s = :closed",
        ExpressionAttributeNames={"#s": "status"},
        ExpressionAttributeValues={":closed": {"S": "closed"}},
        PaginationConfig={"PageSize": 2},
    )
    same_items(items[::3], [one for page in pages for one in page["Items"]])
    assert get(encrypting, KEPT) is None


def for_java():
    create(OF_JAVA)
    for index in range(3):
        encrypting.put_item(
            TableName=OF_JAVA,
            Item={
                "pk": {"S": "p"},
                "sk": {"N": str(index)},
                "name": {"S": f"Zoë 🎈 {index}"},
                "scores": {"NS": ["3", "-1.5"]},
                "status": {"S": "open"},
                "note": {"S": "for everybody"},
            },
        )


if SCENE == "items":
    create(TABLE)
    one_by_one()
    many_at_once()
    through_the_resource()
    the_server_holds_no_plaintext()
    changes_are_noticed()
    for_java()
read_all()
