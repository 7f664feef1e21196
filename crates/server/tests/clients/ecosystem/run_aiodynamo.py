"""aiodynamo, an asynchronous client with a signer and retries of its own. Usage: run_aiodynamo.py ENDPOINT"""

import asyncio
import sys

import httpx
from aiodynamo.client import Client
from aiodynamo.credentials import Key, StaticCredentials
from aiodynamo.errors import ConditionalCheckFailed, ItemNotFound, TransactionCanceled, ValidationException
from aiodynamo.expressions import F, HashKey, RangeKey
from aiodynamo.http.httpx import HTTPX
from aiodynamo.models import (
    BatchGetRequest, BatchWriteRequest, GlobalSecondaryIndex, KeySchema, KeySpec, KeyType, PayPerRequest, Projection,
    ProjectionType, ReturnValues, StreamSpecification, StreamViewType,
)
from aiodynamo.operations import ConditionCheck, Delete, Get, Put, Update
from yarl import URL


async def refused(error, call):
    try:
        await call
    except error:
        return
    raise AssertionError(f"no {error.__name__}")


async def collected(items):
    return [item async for item in items]


async def main(endpoint):
    async with httpx.AsyncClient() as http:
        credentials = StaticCredentials(Key("local", "local"))
        client = Client(HTTPX(http), credentials, "us-east-1", URL(endpoint))
        table = client.table("AioOrders")
        assert not await table.exists()
        keys = KeySchema(KeySpec("customer", KeyType.string), KeySpec("number", KeyType.number))
        by_status = GlobalSecondaryIndex(
            name="byStatus", schema=KeySchema(KeySpec("status", KeyType.string), KeySpec("number", KeyType.number)),
            projection=Projection(ProjectionType.all), throughput=None)
        await table.create(
            PayPerRequest(), keys, gsis=[by_status], wait_for_active=True,
            stream=StreamSpecification(enabled=True, view_type=StreamViewType.new_and_old_images))
        await table.time_to_live.enable("expires", wait_for_enabled=True)
        assert (await table.time_to_live.describe()).attribute == "expires"

        # Items, conditions, updates.
        first = {"customer": "ada", "number": 1, "status": "open", "total": 12.5, "raw": b"\x00\xff", "tags": {"a", "b"}}
        await table.put_item(first, condition=F("customer").does_not_exist())
        await refused(ConditionalCheckFailed, table.put_item(first, condition=F("customer").does_not_exist()))
        key = {"customer": "ada", "number": 1}
        assert await table.get_item(key, consistent_read=True) == first
        await refused(ItemNotFound, table.get_item({"customer": "ada", "number": 9}))
        change = F("total").add(1) & F("status").set("sent") & F("raw").remove() & F("log").set(["packed"])
        changed = await table.update_item(key, change, return_values=ReturnValues.all_new)
        assert (changed["total"], changed["status"], changed["log"]) == (13.5, "sent", ["packed"]) and "raw" not in changed
        again = await table.update_item(
            key, F("log").append(["sent"]), condition=F("status").equals("sent"), return_values=ReturnValues.all_new)
        assert again["log"] == ["packed", "sent"]
        await refused(ConditionalCheckFailed, table.update_item(key, F("n").set(1), condition=F("status").equals("open")))

        # Batches beyond one page, queries, an index, a filter, counts.
        for start in range(2, 102, 25):
            puts = [{"customer": "ada", "number": number, "status": "open", "text": "x" * 20_000}
                    for number in range(start, start + 25)]
            result = await client.batch_write({"AioOrders": BatchWriteRequest(items_to_put=puts)})
            assert not result
        numbers = [item["number"] for item in await collected(table.query(HashKey("customer", "ada")))]
        assert numbers == list(range(1, 102))
        newest = await collected(table.query(
            HashKey("customer", "ada") & RangeKey("number").between(10, 20), scan_forward=False, limit=3))
        assert [item["number"] for item in newest] == [20, 19, 18]
        assert await table.count(HashKey("status", "open"), index="byStatus") == 100
        assert await table.count(HashKey("customer", "ada"), filter_expression=F("total").gt(1)) == 1
        assert await table.scan_count(filter_expression=F("text").exists()) == 100
        read = await client.batch_get(
            {"AioOrders": BatchGetRequest(keys=[{"customer": "ada", "number": number} for number in (1, 2, 999)])})
        assert sorted(item["number"] for item in read.items["AioOrders"]) == [1, 2]

        # Transactions.
        await client.transact_write_items([
            Put("AioOrders", {"customer": "bob", "number": 1}, condition=F("customer").does_not_exist()),
            Update("AioOrders", key, F("total").add(1)),
            Delete("AioOrders", {"customer": "ada", "number": 2}),
            ConditionCheck("AioOrders", {"customer": "ada", "number": 3}, F("status").equals("open")),
        ], request_token="once")
        got = await client.transact_get_items([Get("AioOrders", key), Get("AioOrders", {"customer": "bob", "number": 1})])
        assert [item["customer"] for item in got] == ["ada", "bob"] and got[0]["total"] == 14.5
        await refused(TransactionCanceled, client.transact_write_items([
            Put("AioOrders", {"customer": "bob", "number": 1}, condition=F("customer").does_not_exist())]))
        await refused(ValidationException, table.get_item({"customer": "ada"}))

        await table.delete(wait_for_disabled=True)
        assert not await table.exists()


asyncio.run(main(sys.argv[1]))
