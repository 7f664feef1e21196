"""Consumed capacity of every operation, as exact tables: the operation, then what it must report in all, for the table
and for each index."""

from shop import *

REPORT = {"ReturnConsumedCapacity": "INDEXES"}


def figures(answer):
    """Units in all, of the table, and of each index that is named."""
    used = answer["ConsumedCapacity"]
    if isinstance(used, list):
        equal(len(used), 1)
        used = used[0]
    arms = {name: arm["CapacityUnits"] for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
            for name, arm in used.get(kind, {}).items()}
    equal(used["CapacityUnits"], used["Table"]["CapacityUnits"] + sum(arms.values()))
    return used["CapacityUnits"], used["Table"]["CapacityUnits"], arms


def expect(label, answer, total, table, arms):
    found = figures(answer)
    assert found == (total, table, arms), f"{label}\n  found  {found}\n  wanted {(total, table, arms)}"


def indexed():
    """A table with one index of each projection and a local one."""
    return make_table(
        ("pk", "sk"),
        [index("whole", ("g",)), index("keys", ("h",), "KEYS_ONLY"), index("some", ("i",), "INCLUDE", ["note"])],
        [index("local", ("pk", "l"), "KEYS_ONLY")],
    )


KEY = {"pk": "p", "sk": "1"}
FULL = {**KEY, "g": "g1", "h": "h1", "i": "i1", "l": "l1", "note": "n1", "body": "x" * 1500}


def r39_writes_of_one_item():
    table = indexed()

    def put(item):
        return table.put_item(Item=item, **REPORT)

    def update(expression, **values):
        more = {"ExpressionAttributeValues": {f":{name}": value for name, value in values.items()}} if values else {}
        return table.update_item(Key=KEY, UpdateExpression=expression, **more, **REPORT)

    every = {"whole": 2.0, "keys": 1.0, "some": 1.0, "local": 1.0}
    expect("a new item enters every index", put(FULL), 7.0, 2.0, every)
    expect("an equal item changes no index", put(FULL), 2.0, 2.0, {})
    expect("a value set to itself changes no index", update("SET note = :n", n="n1"), 2.0, 2.0, {})
    expect("what only ALL projects", update("SET body = :b", b="y" * 1500), 4.0, 2.0, {"whole": 2.0})
    expect("what INCLUDE projects", update("SET note = :n", n="n2"), 5.0, 2.0, {"whole": 2.0, "some": 1.0})
    expect("a global key moves: out and in", update("SET h = :h", h="h2"), 6.0, 2.0, {"whole": 2.0, "keys": 2.0})
    expect("a local key moves: out and in", update("SET l = :l", l="l2"), 6.0, 2.0, {"whole": 2.0, "local": 2.0})
    expect("an item of two units moves", update("SET g = :g", g="g2"), 6.0, 2.0, {"whole": 4.0})
    expect("an item leaves an index", update("REMOVE g"), 4.0, 2.0, {"whole": 2.0})
    expect("out of one index, others untouched", update("REMOVE h"), 3.0, 2.0, {"keys": 1.0})
    expect("nothing projected", update("SET body = :b", b="z" * 1500), 2.0, 2.0, {})
    expect("an item enters an index", update("SET g = :g", g="g1"), 4.0, 2.0, {"whole": 2.0})
    expect("the larger image counts: growing", update("SET body = :b", b="x" * 3000), 6.0, 3.0, {"whole": 3.0})
    expect("the larger image counts: shrinking", update("SET body = :b", b="x"), 6.0, 3.0, {"whole": 3.0})
    expect("delete takes it out of every index", table.delete_item(Key=KEY, **REPORT), 4.0, 1.0,
           {"whole": 1.0, "some": 1.0, "local": 1.0})
    expect("delete of nothing", table.delete_item(Key=KEY, **REPORT), 1.0, 1.0, {})
    expect("an update that creates", update("SET note = :n", n="n1"), 1.0, 1.0, {})
    total = table.put_item(Item=FULL, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    equal(total, {"TableName": table.name, "CapacityUnits": 7.0})
    assert "ConsumedCapacity" not in table.put_item(Item=FULL, ReturnConsumedCapacity="NONE")
    assert "ConsumedCapacity" not in table.put_item(Item=FULL)


def r39_unit_borders():
    table = make_table(("pk",))
    sized = lambda bytes: {"pk": "p", "d": "x" * (bytes - len("pk" + "p" + "d"))}
    for bytes, write, strong in [(4, 1, 1), (1024, 1, 1), (1025, 2, 1), (2048, 2, 1), (4096, 4, 1), (4097, 5, 2),
                                 (8192, 8, 2), (8193, 9, 3), (409_600, 400, 100)]:
        table.delete_item(Key={"pk": "p"})
        expect(f"put of {bytes}", table.put_item(Item=sized(bytes), **REPORT), write, write, {})
        for consistent, units in [(True, strong), (False, strong / 2)]:
            expect(f"get of {bytes}", table.get_item(Key={"pk": "p"}, ConsistentRead=consistent, **REPORT), units, units, {})
        expect(f"delete of {bytes}", table.delete_item(Key={"pk": "p"}, **REPORT), write, write, {})


def r39_reads_of_one_item():
    table = make_table(("pk", "sk"))
    table.put_item(Item={**KEY, "body": "x" * 9000})
    get = lambda key=KEY, **more: table.get_item(Key=key, **more, **REPORT)
    none = {"pk": "p", "sk": "none"}
    for label, answer, units in [
        ("eventually", get(), 1.5),
        ("strongly", get(ConsistentRead=True), 3.0),
        ("a projection saves nothing", get(ProjectionExpression="sk"), 1.5),
        ("nothing there, eventually", get(none), 0.5),
        ("nothing there, strongly", get(none, ConsistentRead=True), 1.0),
    ]:
        expect(label, answer, units, units, {})


def r39_pages():
    table = indexed()
    for number in range(3):
        table.put_item(Item={"pk": "p", "sk": str(number), "g": "g", "h": "h", "l": str(number), "body": "x" * 4000})
    user = Key("pk").eq("p")
    query = lambda **more: table.query(**{"KeyConditionExpression": user, **REPORT, **more})
    for label, answer, units in [
        ("sizes are added, then rounded: 12,0xx bytes are three blocks", query(), 1.5),
        ("strongly", query(ConsistentRead=True), 3.0),
        ("a filter saves nothing", query(FilterExpression=Attr("body").eq("none")), 1.5),
        ("a projection saves nothing", query(ProjectionExpression="sk"), 1.5),
        ("a count saves nothing", query(Select="COUNT"), 1.5),
        ("a limit does", query(Limit=1), 0.5),
        ("nothing found", query(KeyConditionExpression=Key("pk").eq("none")), 0.5),
        ("nothing found, strongly", query(KeyConditionExpression=Key("pk").eq("none"), ConsistentRead=True), 1.0),
        ("a scan", table.scan(**REPORT), 1.5),
        ("a scan, strongly", table.scan(ConsistentRead=True, **REPORT), 3.0),
        ("a filtered scan", table.scan(FilterExpression=Attr("body").eq("none"), **REPORT), 1.5),
    ]:
        expect(label, answer, units, units, {})
    by = lambda name, attribute, **more: query(
        IndexName=name, KeyConditionExpression=Key(attribute).eq(attribute), **more)
    expect("an index with everything", by("whole", "g"), 1.5, 0.0, {"whole": 1.5})
    expect("an index of keys", by("keys", "h"), 0.5, 0.0, {"keys": 0.5})
    expect("a scan of an index", table.scan(IndexName="whole", **REPORT), 1.5, 0.0, {"whole": 1.5})
    expect("an empty index", table.scan(IndexName="some", **REPORT), 0.5, 0.0, {"some": 0.5})
    expect("a local index", query(IndexName="local"), 0.5, 0.0, {"local": 0.5})
    expect("a local index, strongly", query(IndexName="local", ConsistentRead=True), 1.0, 0.0, {"local": 1.0})
    expect("a fetch reads each whole item", query(IndexName="local", Select="ALL_ATTRIBUTES"), 2.0, 1.5, {"local": 0.5})
    expect("a fetch for one attribute, strongly",
           query(IndexName="local", ProjectionExpression="body", ConsistentRead=True), 4.0, 3.0, {"local": 1.0})
    expect("projected attributes need no fetch", query(IndexName="local", ProjectionExpression="l"), 0.5, 0.0, {"local": 0.5})


def r39_batches():
    table = indexed()
    put = lambda item: {"PutRequest": {"Item": item}}
    delete = lambda sk: {"DeleteRequest": {"Key": {"pk": "p", "sk": sk}}}
    write = lambda *requests: resource.batch_write_item(RequestItems={table.name: list(requests)}, **REPORT)
    body = "x" * 1100
    expect("each item is rounded", write(put({"pk": "p", "sk": "1", "b": body}), put({"pk": "p", "sk": "2", "b": body})),
           4.0, 4.0, {})
    expect("indexes", write(put({"pk": "p", "sk": "3", "g": "g", "b": body}), put({"pk": "p", "sk": "4", "g": "g", "h": "h"})),
           7.0, 3.0, {"whole": 3.0, "keys": 1.0})
    expect("deletes", write(delete("1"), delete("3"), delete("none")), 7.0, 5.0, {"whole": 2.0})
    table.put_item(Item={"pk": "p", "sk": "5", "b": "x" * 4200})
    table.put_item(Item={"pk": "p", "sk": "6", "b": "x" * 4200})
    read = lambda **more: resource.batch_get_item(RequestItems={table.name: {
        "Keys": [{"pk": "p", "sk": sk} for sk in ("5", "6", "none")], **more}}, **REPORT)
    expect("each item is rounded, and nothing counts", read(), 2.5, 2.5, {})
    expect("strongly", read(ConsistentRead=True), 5.0, 5.0, {})
    expect("a projection saves nothing", read(ProjectionExpression="sk"), 2.5, 2.5, {})
    other = make_table(("pk",))
    two = resource.batch_write_item(RequestItems={table.name: [delete("5")], other.name: [put({"pk": "a"})]}, **REPORT)
    equal({each["TableName"]: each["CapacityUnits"] for each in two["ConsumedCapacity"]}, {table.name: 5.0, other.name: 1.0})


def r39_transactions():
    table = indexed()
    typed = lambda item: {name: {"S": value} for name, value in item.items()}
    write = lambda *actions, **more: client.transact_write_items(TransactItems=list(actions), **more, **REPORT)
    at = lambda sk: {"TableName": table.name, "Key": typed({"pk": "p", "sk": sk})}
    put = {"Put": {"TableName": table.name, "Item": typed(FULL)}}
    token = uuid.uuid4().hex
    first = write(put, ClientRequestToken=token)
    expect("the table twice, the indexes once", first, 9.0, 4.0, {"whole": 2.0, "keys": 1.0, "some": 1.0, "local": 1.0})
    equal(first["ConsumedCapacity"][0]["WriteCapacityUnits"], 9.0)
    again = write(put, ClientRequestToken=token)
    expect("a replay is a read of the image", again, 2.0, 2.0, {})
    equal((again["ConsumedCapacity"][0]["ReadCapacityUnits"], again["ConsumedCapacity"][0].get("WriteCapacityUnits", 0)), (2.0, 0))
    expect("a check reads at the price of a write", write({"ConditionCheck": {
        **at("1"), "ConditionExpression": "attribute_exists(pk)"}}), 4.0, 4.0, {})
    expect("a check of nothing", write({"ConditionCheck": {
        **at("none"), "ConditionExpression": "attribute_not_exists(pk)"}}), 2.0, 2.0, {})
    expect("an update that moves an index key", write({"Update": {
        **at("1"), "UpdateExpression": "SET h = :h", "ExpressionAttributeValues": {":h": {"S": "h2"}}}}),
        8.0, 4.0, {"whole": 2.0, "keys": 2.0})
    expect("a delete and a delete of nothing", write({"Delete": at("1")}, {"Delete": at("none")}), 11.0, 6.0,
           {"whole": 2.0, "keys": 1.0, "some": 1.0, "local": 1.0})
    table.put_item(Item={**KEY, "body": "x" * 4200})
    get = client.transact_get_items(TransactItems=[{"Get": at("1")}, {"Get": {**at("none"), "ProjectionExpression": "sk"}}], **REPORT)
    expect("reads twice, and nothing counts", get, 6.0, 6.0, {})
    equal(get["ConsumedCapacity"][0]["ReadCapacityUnits"], 6.0)


def r39_consumed_capacity_follows_the_rules_for_every_operation():
    for check in (r39_writes_of_one_item, r39_unit_borders, r39_reads_of_one_item, r39_pages, r39_batches, r39_transactions):
        check()
