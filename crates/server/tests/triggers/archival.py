"""A program that archives old data, unchanged from the source of the requirements, and what it and a trigger have left in a
bucket. Usage: archival.py ENDPOINT STORE BUCKET KEY SECRET [RECORDS of the trigger's archive]"""

import gzip
import json
import os
import sys
from datetime import datetime, timedelta

ENDPOINT, STORE, BUCKET, KEY, SECRET = sys.argv[1:6]
os.environ.update(AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET, AWS_DEFAULT_REGION="us-east-1", AWS_ENDPOINT_URL_S3=STORE,
                  AWS_ENDPOINT_URL_DYNAMODB=ENDPOINT)

import boto3
from boto3.dynamodb.conditions import Attr


class TTLArchivalManager:
    def __init__(self, table_name, archive_bucket):
        self.dynamodb = boto3.resource('dynamodb')
        self.table = self.dynamodb.Table(table_name)
        self.s3 = boto3.client('s3')
        self.archive_bucket = archive_bucket

    def set_ttl(self, item, days_to_live):
        """Set TTL on item"""
        ttl_timestamp = int((datetime.now() + timedelta(days=days_to_live)).timestamp())
        item['TTL'] = ttl_timestamp
        return item

    def archive_old_data(self, days_old=90):
        """Archive old data to S3 before TTL deletion"""

        cutoff_date = datetime.now() - timedelta(days=days_old)

        # Scan for old items (use with caution on large tables)
        response = self.table.scan(
            FilterExpression=Attr('CreatedAt').lt(cutoff_date.isoformat())
        )

        # Archive to S3
        for item in response['Items']:
            # Convert Decimal to float for JSON serialization
            item_json = json.dumps(item, default=str)

            # Store in S3 with hierarchical key
            key = f"archive/{item['Type']}/{item['PK']}/{item['SK']}.json"

            self.s3.put_object(
                Bucket=self.archive_bucket,
                Key=key,
                Body=item_json,
                StorageClass='GLACIER'
            )

            # Set TTL for deletion
            self.table.update_item(
                Key={'PK': item['PK'], 'SK': item['SK']},
                UpdateExpression='SET #ttl = :ttl',
                ExpressionAttributeNames={'#ttl': 'TTL'},
                ExpressionAttributeValues={
                    ':ttl': int((datetime.now() + timedelta(days=7)).timestamp())
                }
            )


def objects():
    pages = boto3.client("s3").get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    return [found["Key"] for page in pages for found in page.get("Contents", [])]


def body(key):
    return boto3.client("s3").get_object(Bucket=BUCKET, Key=key)["Body"].read()


def archive():
    keys = [{"AttributeName": name, "KeyType": kind} for name, kind in (("PK", "HASH"), ("SK", "RANGE"))]
    names = [{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")]
    boto3.client("dynamodb").create_table(TableName="Documents", KeySchema=keys, AttributeDefinitions=names, BillingMode="PAY_PER_REQUEST")
    manager = TTLArchivalManager("Documents", BUCKET)
    day = datetime.now()
    for number in range(20):
        created = day - timedelta(days=100 if number < 12 else 10)
        item = {"PK": f"USER_{number}", "SK": "DOC_1", "Type": "Document", "CreatedAt": created.isoformat(), "Size": number}
        manager.table.put_item(Item=manager.set_ttl(item, 365) if number % 2 else item)
    manager.archive_old_data()
    archived = objects()
    assert sorted(archived) == sorted(f"archive/Document/USER_{number}/DOC_1.json" for number in range(12)), archived
    assert json.loads(body("archive/Document/USER_3/DOC_1.json"))["Size"] == "3"
    soon = (day + timedelta(days=8)).timestamp()
    expiring = [item["PK"] for item in manager.table.scan()["Items"] if item.get("TTL", soon) < soon]
    assert sorted(expiring) == sorted(f"USER_{number}" for number in range(12)), expiring


def check(records):
    lines = [line for key in objects() if key.startswith("expired/") for line in gzip.decompress(body(key)).splitlines()]
    found = {json.loads(line)["dynamodb"]["Keys"]["pk"]["S"] for line in lines}
    assert (len(lines), len(found)) == (records, records), (len(lines), len(found))


match sys.argv[6:]:
    case []:
        archive()
    case [records]:
        check(int(records))
