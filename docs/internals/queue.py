"""How long a Query of a queue's head takes before and after many of its rows were deleted.

    queue.py ENDPOINT ROWS

The rows of one partition key are written and deleted in batches; ten rows after them stay. A Query of ten rows is sent
again and again: when only the ten are there, after the others were deleted, and some seconds later.
"""

import http.client
import json
import sys
import time
import urllib.parse

ROWS = int(sys.argv[2])
QUERIES = 3000
TABLE = "queue"
HEADERS = {
    "content-type": "application/x-amz-json-1.0",
    "x-amz-date": "20260101T000000Z",
    "authorization": "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00",
}
server = http.client.HTTPConnection(urllib.parse.urlsplit(sys.argv[1]).netloc)


def ask(operation, body):
    server.request("POST", "/", json.dumps(body), {**HEADERS, "x-amz-target": f"DynamoDB_20120810.{operation}"})
    answer = server.getresponse()
    text = answer.read()
    assert answer.status == 200, text
    return json.loads(text)


def key(number):
    return {"pk": {"S": "queue"}, "sk": {"N": str(number)}}


def batches(numbers, request):
    for first in range(numbers.start, numbers.stop, 25):
        ask("BatchWriteItem", {"RequestItems": {TABLE: [request(number) for number in numbers[first - numbers.start:][:25]]}})


def head(when):
    condition = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "queue"}}, "Limit": 10}
    took = []
    for _ in range(QUERIES):
        begun = time.perf_counter()
        assert ask("Query", {"TableName": TABLE, **condition})["Count"] == 10
        took.append((time.perf_counter() - begun) * 1e6)
    first, took = took[0], sorted(took)
    print(f"{when}: first {first:.0f} us, p50 {took[QUERIES // 2]:.0f}, p99 {took[QUERIES * 99 // 100]:.0f}", flush=True)


ask("CreateTable", {
    "TableName": TABLE, "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}]})
pad = {"pad": {"S": "p" * 100}}
batches(range(ROWS, ROWS + 10), lambda number: {"PutRequest": {"Item": {**key(number), **pad}}})
head("ten rows")
begun = time.monotonic()
batches(range(ROWS), lambda number: {"PutRequest": {"Item": {**key(number), **pad}}})
batches(range(ROWS), lambda number: {"DeleteRequest": {"Key": key(number)}})
print(f"{ROWS} rows were written and deleted in {time.monotonic() - begun:.0f} s")
head("after that")
time.sleep(10)
head("ten seconds later")
