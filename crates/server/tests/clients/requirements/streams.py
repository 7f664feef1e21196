"""Streams as consumers use them: plain clients, a consumer library, and the two processors of the requirements' sources."""

import os
import random
import threading
import time

import boto3
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

import programs
from limits import advance
from metrics import dimensions, figures
from shop import *
from shop import OPTIONS

streams = boto3.client("dynamodbstreams", **OPTIONS)


def streaming_table(view="NEW_AND_OLD_IMAGES", key=("PK", "SK")):
    table = make_table(key)
    client.update_table(TableName=table.name, StreamSpecification={"StreamEnabled": True, "StreamViewType": view})
    table.reload()
    return table, table.latest_stream_arn


def shards_of(arn, **more):
    """Every shard, over all pages."""
    shards = []
    while True:
        page = streams.describe_stream(StreamArn=arn, Limit=3, **more)["StreamDescription"]
        shards += page["Shards"]
        if "LastEvaluatedShardId" not in page:
            return shards
        more["ExclusiveStartShardId"] = page["LastEvaluatedShardId"]


def records_of(arn, limit=1000):
    """Every record, a shard's parent before the shard."""
    records = []
    for shard in shards_of(arn):
        iterator = streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
        while iterator:
            page = streams.get_records(ShardIterator=iterator, Limit=limit)
            records += page["Records"]
            iterator = page.get("NextShardIterator") if page["Records"] else None
    return records


def plain(image):
    deserializer = TypeDeserializer()
    return {name: deserializer.deserialize(value) for name, value in image.items()}


def as_copy(items, key=("PK", "SK")):
    return {tuple(item[name] for name in key): item for item in items}


def apply(copy, record, key=("PK", "SK")):
    """One record on a consumer's copy of the table; it must fit what the copy has."""
    change = record["dynamodb"]
    place = tuple(plain(change["Keys"])[name] for name in key)
    old = plain(change["OldImage"]) if "OldImage" in change else None
    equal(copy.get(place), old)
    equal(record["eventName"], "INSERT" if old is None else "MODIFY" if "NewImage" in change else "REMOVE")
    if "NewImage" in change:
        copy[place] = plain(change["NewImage"])
    else:
        del copy[place]


def scanned(table):
    items, more = [], {}
    while True:
        page = table.scan(**more)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def write_at_random(table, dice, count):
    """A mix of all writes on few items, so that most meet an item that is there."""
    for number in range(count):
        key = {"PK": f"p{dice.randrange(12)}", "SK": f"s{dice.randrange(6)}"}
        kind = dice.randrange(6)
        if kind == 0:
            table.delete_item(Key=key)
        elif kind == 1:
            table.update_item(Key=key, UpdateExpression="SET n = if_not_exists(n, :zero) + :one",
                              ExpressionAttributeValues={":zero": 0, ":one": 1})
        elif kind == 2:
            with table.batch_writer(overwrite_by_pkeys=["PK", "SK"]) as batch:
                for each in range(5):
                    batch.put_item(Item={"PK": f"p{dice.randrange(12)}", "SK": f"s{each}", "x": dice.randrange(9)})
        elif kind == 3:
            pairs = [{"PK": f"p{dice.randrange(12)}", "SK": name} for name in ("left", "right")]
            serializer = TypeSerializer()
            puts = [{name: serializer.serialize(value) for name, value in {**pair, "n": number}.items()} for pair in pairs]
            client.transact_write_items(
                TransactItems=[{"Put": {"TableName": table.name, "Item": item}} for item in puts])
        else:
            table.put_item(Item={**key, "x": Decimal(dice.randrange(4)), "status": dice.choice(["NEW", "PAID"])})


def r57_streams_give_every_change_in_order_with_the_chosen_view():
    for view, old, new in [("KEYS_ONLY", 0, 0), ("NEW_IMAGE", 0, 1), ("OLD_IMAGE", 1, 0), ("NEW_AND_OLD_IMAGES", 1, 1)]:
        table, arn = streaming_table(view)
        first, second = {"PK": "a", "SK": "1", "x": 1}, {"PK": "a", "SK": "1", "x": 2}
        table.put_item(Item=first)
        table.put_item(Item=first)
        table.put_item(Item=second)
        table.delete_item(Key={"PK": "a", "SK": "1"})
        records = records_of(arn)
        equal([record["eventName"] for record in records], ["INSERT", "MODIFY", "REMOVE"])
        numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in records]
        equal(numbers, sorted(numbers))
        assert all(21 <= len(record["dynamodb"]["SequenceNumber"]) <= 40 for record in records)
        images = [(plain(r["dynamodb"].get("OldImage", {})), plain(r["dynamodb"].get("NewImage", {}))) for r in records]
        wanted = [({}, first), (first, second), (second, {})]
        equal(images, [(before if old else {}, after if new else {}) for before, after in wanted])
        for record in records:
            equal(record["dynamodb"]["StreamViewType"], view)
            equal((record["eventSource"], record["awsRegion"], record["eventVersion"]), ("aws:dynamodb", "us-east-1", "1.1"))
            assert "userIdentity" not in record


def r57d_records_are_kept_for_24_hours():
    """The clock stands until it is moved."""
    table, arn = streaming_table()
    table.put_item(Item={"PK": "a", "SK": "1"})
    advance(12 * 3600)
    table.put_item(Item={"PK": "a", "SK": "2"})
    # A trim is background work, which has time to do what it must not do.
    for _ in range(12):
        advance(3600 - 10)
        time.sleep(0.02)
    equal([plain(record["dynamodb"]["Keys"])["SK"] for record in records_of(arn)], ["1", "2"])

    def kept():
        advance(60)
        return [plain(record["dynamodb"]["Keys"])["SK"] for record in records_of(arn)]

    wait_until(lambda: kept() == ["2"])


def lambda_event(records):
    """Records as a function receives them: times as numbers, values in their JSON forms."""
    event = []
    for record in records:
        change = dict(record["dynamodb"])
        change["ApproximateCreationDateTime"] = change["ApproximateCreationDateTime"].timestamp()
        event.append({**record, "dynamodb": change})
    return {"Records": event}


def r58_a_typed_handler_logs_new_orders_and_status_changes():
    from aws_lambda_powertools.utilities.data_classes import DynamoDBStreamEvent
    from aws_lambda_powertools.utilities.data_classes.dynamo_db_stream_event import DynamoDBRecordEventName

    table, arn = streaming_table()
    order = {"PK": "USER#u1", "SK": "ORDER#1", "status": "PENDING", "total": Decimal("59.9")}
    table.put_item(Item={"PK": "USER#u1", "SK": "PROFILE", "name": "Ada"})
    table.put_item(Item=order)
    table.update_item(Key={"PK": "USER#u1", "SK": "ORDER#1"}, UpdateExpression="SET #s = :s",
                      ExpressionAttributeNames={"#s": "status"}, ExpressionAttributeValues={":s": "SHIPPED"})
    table.update_item(Key={"PK": "USER#u1", "SK": "ORDER#1"}, UpdateExpression="SET note = :n",
                      ExpressionAttributeValues={":n": "fragile"})
    logged = []
    for record in DynamoDBStreamEvent(lambda_event(records_of(arn))).records:
        if record.event_name == DynamoDBRecordEventName.INSERT:
            item = record.dynamodb.new_image
            if item["SK"].startswith("ORDER#"):
                logged.append(("new order", item["PK"], item["total"]))
        elif record.event_name == DynamoDBRecordEventName.MODIFY:
            before, after = record.dynamodb.old_image, record.dynamodb.new_image
            if before.get("status") != after.get("status"):
                logged.append(("status", before["status"], after["status"]))
    equal(logged, [("new order", "USER#u1", Decimal("59.9")), ("status", "PENDING", "SHIPPED")])


def r59_a_deserializer_accepts_every_image():
    table, arn = streaming_table()
    every = {"PK": "a", "SK": "1", "s": "text", "n": Decimal("-1.5E-120"), "b": b"\x00\xff", "yes": True, "none": None,
             "list": [1, "two", [b"3"]], "map": {"inner": {"set": {Decimal(1), Decimal(2)}}}, "ss": {"a", "b"}, "bs": {b"1", b"2"},
             "empty": "", "type": "Order", "status": "NEW"}
    table.put_item(Item=every)
    table.put_item(Item={**every, "status": "PAID"})
    stored = table.get_item(Key={"PK": "a", "SK": "1"})["Item"]
    table.delete_item(Key={"PK": "a", "SK": "1"})
    inserted, modified, removed = [record["dynamodb"] for record in records_of(arn)]
    equal(plain(modified["NewImage"]), stored)
    equal(plain(inserted["NewImage"])["map"], every["map"])
    equal(plain(modified["OldImage"]), plain(inserted["NewImage"]))
    equal(plain(modified["NewImage"])["status"], "PAID")
    equal(plain(removed["OldImage"]), stored)
    streams_processor_sees_orders_and_their_status()


def streams_processor_sees_orders_and_their_status():
    """The processor of the requirements' sources, unchanged; what it calls notes its calls."""
    table, arn = streaming_table()
    calls = []
    for name in ("send_order_confirmation", "update_inventory", "start_fulfillment", "notify_status_change", "handle_delete"):
        setattr(programs, name, lambda item, name=name: calls.append((name, item)))
    order = {"PK": "USER#u1", "SK": "ORDER#1", "Type": "Order", "Status": "NEW", "Total": Decimal("59.90"), "Lines": [{"Tags": {"a"}}]}
    table.put_item(Item={"PK": "USER#u1", "SK": "PROFILE", "Type": "User"})
    table.put_item(Item=order)
    table.put_item(Item={**order, "Note": "fragile"})
    table.put_item(Item={**order, "Note": "fragile", "Status": "PAID"})
    table.delete_item(Key={"PK": "USER#u1", "SK": "ORDER#1"})
    programs.lambda_handler(lambda_event(records_of(arn)), None)
    *others, (last, image) = calls
    equal(others, [(name, order) for name in ("send_order_confirmation", "update_inventory", "start_fulfillment")]
          + [("notify_status_change", {**order, "Note": "fragile", "Status": "PAID"})])
    equal((last, plain(image)["Status"]), ("handle_delete", "PAID"))


def r60_a_search_index_stays_equal_to_the_table():
    table, arn = streaming_table()
    dice = random.Random(60)
    index = {}
    seen = 0
    for _ in range(6):
        write_at_random(table, dice, 40)
        records = records_of(arn, limit=7)
        for record in records[seen:]:
            apply(index, record)
        seen = len(records)
        equal(index, as_copy(scanned(table)))
    assert seen > 150


def s01_a_consumer_library_follows_shards_that_close_and_goes_on_from_its_checkpoint():
    """bloop (a published library): it walks parents before children, and its token is the checkpoint."""
    import bloop

    table, arn = streaming_table()
    engine = bloop.Engine(dynamodb=client, dynamodbstreams=streams)

    class Row(bloop.BaseModel):
        class Meta:
            table_name = table.name
            stream = {"include": {"new", "old"}, "arn": arn}

        pk = bloop.Column(bloop.String, hash_key=True, dynamo_name="PK")
        sk = bloop.Column(bloop.String, range_key=True, dynamo_name="SK")
        x = bloop.Column(bloop.Number)
        n = bloop.Column(bloop.Number)
        status = bloop.Column(bloop.String)

    Row.Meta.stream["arn"] = arn
    fields = {"pk": "PK", "sk": "SK", "x": "x", "n": "n", "status": "status"}

    def as_item(row):
        found = {name: getattr(row, field, None) for field, name in fields.items()}
        # The library reads a missing string as an empty one.
        return {name: value for name, value in found.items() if value not in (None, "")}

    copy, dice = {}, random.Random(1)
    token, checkpoints = "trim_horizon", 0
    writer = threading.Thread(target=write_at_random, args=(table, dice, 400))
    writer.start()
    quiet = 0
    while writer.is_alive() or quiet < 10:
        # A worker that takes the lease over: it knows nothing but the last checkpoint.
        stream = engine.stream(Row, token)
        quiet += 1
        wanted = 60
        # From a token that holds a closed shard and its children the library would read the children twice.
        while wanted > 0 or stream.coordinator.closed:
            wanted -= 1
            record = next(stream)
            if record is None:
                time.sleep(0.01)
                continue
            quiet = 0
            row = record["new"] or record["old"]
            place = (row.pk, row.sk)
            if record["new"] is None:
                del copy[place]
            else:
                copy[place] = as_item(record["new"])
        token = stream.token
        checkpoints += 1
    writer.join()
    equal(copy, as_copy(scanned(table)))
    shards = shards_of(arn)
    assert len(shards) > 3 and checkpoints > 3, (len(shards), checkpoints)
    known = {shard["ShardId"] for shard in shards}
    assert all(shard["ParentShardId"] in known for shard in shards if "ParentShardId" in shard)


def s02_a_disabled_stream_stays_readable_and_a_new_one_is_another():
    table, first = streaming_table()
    table.put_item(Item={"PK": "a", "SK": "1"})
    client.update_table(TableName=table.name, StreamSpecification={"StreamEnabled": False})
    description = streams.describe_stream(StreamArn=first)["StreamDescription"]
    equal(description["StreamStatus"], "DISABLED")
    assert all("EndingSequenceNumber" in shard["SequenceNumberRange"] for shard in description["Shards"])
    client.update_table(TableName=table.name, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    table.put_item(Item={"PK": "a", "SK": "2"})
    table.reload()
    second = table.latest_stream_arn
    assert first != second
    equal([len(records_of(first)), len(records_of(second))], [1, 1])
    listed = [stream["StreamArn"] for stream in streams.list_streams(TableName=table.name)["Streams"]]
    equal(listed, [first, second])
    table.delete()
    equal(len(records_of(first)), 1)
    code, text, _ = fault(streams.describe_stream, StreamArn=first[:-1] + "x")
    equal((code, text), ("ResourceNotFoundException", f"Requested resource not found: Stream: {first[:-1]}x not found"))


def s03_a_rename_reaches_every_copy_through_a_stream_consumer():
    table, arn = streaming_table()
    table.put_item(Item={"PK": "CUSTOMER#42", "SK": "PROFILE", "name": "Ada"})
    for number in range(12):
        table.put_item(Item={"PK": "CUSTOMER#42", "SK": f"ORDER#{number:02}", "customerName": "Ada"})
    table.put_item(Item={"PK": "CUSTOMER#7", "SK": "ORDER#00", "customerName": "Ada"})
    seen = len(records_of(arn))
    table.update_item(Key={"PK": "CUSTOMER#42", "SK": "PROFILE"}, UpdateExpression="SET #n = :n",
                      ExpressionAttributeNames={"#n": "name"}, ExpressionAttributeValues={":n": "Grace"})
    for record in records_of(arn)[seen:]:
        before, after = plain(record["dynamodb"]["OldImage"]), plain(record["dynamodb"]["NewImage"])
        if after["SK"] == "PROFILE" and before["name"] != after["name"]:
            orders = table.query(KeyConditionExpression=Key("PK").eq(after["PK"]) & Key("SK").begins_with("ORDER#"))
            for order in orders["Items"]:
                table.update_item(Key={"PK": order["PK"], "SK": order["SK"]}, UpdateExpression="SET customerName = :n",
                                  ExpressionAttributeValues={":n": after["name"]})
    copies = {(item["PK"], item["customerName"]) for item in scanned(table) if "customerName" in item}
    equal(copies, {("CUSTOMER#42", "Grace"), ("CUSTOMER#7", "Ada")})


def wait_until(holds, seconds=20):
    deadline = time.time() + seconds
    while not holds():
        assert time.time() < deadline, "it does not come about"
        time.sleep(0.05)


def enable_ttl(table, attribute="expiresAt"):
    specification = {"Enabled": True, "AttributeName": attribute}
    equal(client.update_time_to_live(TableName=table.name, TimeToLiveSpecification=specification)["TimeToLiveSpecification"],
          specification)
    equal(client.describe_time_to_live(TableName=table.name)["TimeToLiveDescription"],
          {"TimeToLiveStatus": "ENABLED", "AttributeName": attribute})


def r61_expired_items_go_within_the_delay_and_never_early():
    table = make_table(("PK", "SK"), [index("byUser", ("user", "SK"))])
    equal(client.describe_time_to_live(TableName=table.name)["TimeToLiveDescription"], {"TimeToLiveStatus": "DISABLED"})
    now = int(time.time())
    before = {"PK": "s", "SK": "before", "expiresAt": now - 10, "user": "u"}
    table.put_item(Item=before)
    enable_ttl(table)
    kept = [
        {"PK": "s", "SK": "far", "expiresAt": now + 3600, "user": "u"},
        {"PK": "s", "SK": "text", "expiresAt": str(now - 10), "user": "u"},
        {"PK": "s", "SK": "ancient", "expiresAt": now - 6 * 365 * 86400, "user": "u"},
        {"PK": "s", "SK": "none", "user": "u"},
    ]
    for item in kept:
        table.put_item(Item=item)
    soon = now + 3
    table.put_item(Item={"PK": "s", "SK": "soon", "expiresAt": soon, "user": "u"})
    kept.append({"PK": "s", "SK": "renewed", "expiresAt": now + 3600, "user": "u"})
    table.put_item(Item={**kept[-1], "expiresAt": soon})
    table.update_item(Key={"PK": "s", "SK": "renewed"}, UpdateExpression="SET expiresAt = :later",
                      ExpressionAttributeValues={":later": now + 3600})
    while time.time() < soon - 0.2:
        assert "Item" in table.get_item(Key={"PK": "s", "SK": "soon"}, ConsistentRead=True), "deleted early"
        time.sleep(0.1)
    wait_until(lambda: len(scanned(table)) == len(kept))
    assert time.time() >= soon
    equal(sorted(names(scanned(table))), sorted(names(kept)))
    equal(sorted(names(table.query(IndexName="byUser", KeyConditionExpression=Key("user").eq("u"))["Items"])),
          sorted(names(kept)))
    alive = table.query(KeyConditionExpression=Key("PK").eq("s"), FilterExpression=Attr("expiresAt").gt(int(time.time())))
    equal(names(alive["Items"]), ["far", "renewed"])
    code, text, _ = fault(client.update_time_to_live, TableName=table.name,
                          TimeToLiveSpecification={"Enabled": False, "AttributeName": "expiresAt"})
    equal((code, text), ("ValidationException", "Time to live has been modified multiple times within a fixed interval"))


def r62_deletes_by_time_to_live_are_the_services_own():
    table, arn = streaming_table()
    enable_ttl(table)
    now = int(time.time())
    table.put_item(Item={"PK": "s", "SK": "expired", "expiresAt": now - 5})
    table.put_item(Item={"PK": "s", "SK": "deleted", "expiresAt": now + 3600})
    table.delete_item(Key={"PK": "s", "SK": "deleted"})
    wait_until(lambda: sum(record["eventName"] == "REMOVE" for record in records_of(arn)) == 2)
    removed = {plain(record["dynamodb"]["Keys"])["SK"]: record for record in records_of(arn) if record["eventName"] == "REMOVE"}
    equal(removed["expired"]["userIdentity"], {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"})
    equal(plain(removed["expired"]["dynamodb"]["OldImage"])["expiresAt"], now - 5)
    assert "userIdentity" not in removed["deleted"]
    archived = [record for record in removed.values() if record.get("userIdentity", {}).get("Type") == "Service"]
    equal(len(archived), 1)
    # Two puts and a delete by the client; nothing for what expired.
    equal(figures("ConsumedWriteCapacityUnits", dimensions(table.name))[:2], (3, 3))


class Consumer(threading.Thread):
    """Follows a stream into a copy of its table: a shard after its parent, from its checkpoint after a restart."""

    def __init__(self, arn, stop, page, forgetful):
        super().__init__()
        self.arn, self.stop, self.page, self.forgetful = arn, stop, page, forgetful
        self.copy, self.checkpoints, self.finished, self.iterators = {}, {}, set(), {}
        self.seen, self.fault = 0, None
        self.dice = random.Random(page)

    def run(self):
        try:
            while True:
                stopping = self.stop.is_set()
                if not self.round() and stopping:
                    return
        except BaseException as error:
            self.fault = error

    def round(self):
        """One page of every shard that may be read; how many records that were."""
        known = {shard["ShardId"]: shard for shard in shards_of(self.arn)}
        count = 0
        for name, shard in known.items():
            parent = shard.get("ParentShardId")
            if name in self.finished or (parent in known and parent not in self.finished):
                continue
            if self.forgetful and self.dice.random() < 0.1:
                self.iterators.pop(name, None)
            page = streams.get_records(ShardIterator=self.iterator(name), Limit=self.page)
            for record in page["Records"]:
                apply(self.copy, record)
                self.checkpoints[name] = record["dynamodb"]["SequenceNumber"]
            count += len(page["Records"])
            if "NextShardIterator" in page:
                self.iterators[name] = page["NextShardIterator"]
            else:
                self.finished.add(name)
                count += 1
        self.seen += count
        return count

    def iterator(self, name):
        if name not in self.iterators:
            at = {"ShardIteratorType": "TRIM_HORIZON"}
            if name in self.checkpoints:
                at = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self.checkpoints[name]}
            self.iterators[name] = streams.get_shard_iterator(StreamArn=self.arn, ShardId=name, **at)["ShardIterator"]
        return self.iterators[name]


def s04_writers_consumers_and_the_sweep_together():
    """Eight writers, three consumers and time to live; KEYWRIGHT_SOAK_SECONDS makes it longer."""
    table, arn = streaming_table()
    enable_ttl(table)
    until = time.time() + float(os.environ.get("KEYWRIGHT_SOAK_SECONDS", "4"))
    faults, writes = [], []

    def write(number):
        dice = random.Random(number)
        while time.time() < until:
            key = {"PK": f"p{dice.randrange(20)}", "SK": f"s{dice.randrange(10)}"}
            kind = dice.randrange(5)
            try:
                if kind == 0:
                    table.put_item(Item={**key, "expiresAt": int(time.time()) + dice.randrange(3), "by": number})
                elif kind == 1:
                    table.delete_item(Key=key)
                elif kind == 2:
                    table.update_item(Key=key, UpdateExpression="ADD n :one REMOVE expiresAt", ExpressionAttributeValues={":one": 1})
                elif kind == 3:
                    other = {"PK": f"p{dice.randrange(20)}", "SK": "pair"}
                    client.transact_write_items(TransactItems=[
                        {"Put": {"TableName": table.name, "Item": {name: {"S": value} for name, value in {**each, "x": str(number)}.items()}}}
                        for each in (key, other)])
                else:
                    table.put_item(Item={**key, "by": number, "at": Decimal(str(time.time()))})
            except client.exceptions.TransactionCanceledException:
                continue
            except Exception as fault:
                if "TransactionConflict" not in repr(fault):
                    faults.append(fault)
                    return
            writes.append(1)

    stop = threading.Event()
    consumers = [Consumer(arn, stop, page, forgetful) for page, forgetful in ((1000, False), (7, True), (50, True))]
    writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in consumers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    equal(faults, [])
    wait_until(lambda: not any("expiresAt" in item for item in scanned(table)), 30)
    stop.set()
    for consumer in consumers:
        consumer.join()
        if consumer.fault:
            raise consumer.fault
    wanted = as_copy(scanned(table))
    for consumer in consumers:
        equal(consumer.copy, wanted)
    shards = len(shards_of(arn))
    assert len(writes) > 100 and shards > 3, (len(writes), shards)
    print(len(writes), "writes,", [consumer.seen for consumer in consumers], "records read,", shards, "shards")
