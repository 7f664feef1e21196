"""LangGraph's checkpointer and store on DynamoDB. Usage: run_langgraph.py ENDPOINT

An agent's graph is interrupted, goes on in another thread of execution, and its history is read; memories are kept,
found by filters and expire.
"""

import os
import sys
import time
from typing import Annotated, TypedDict

os.environ.update(AWS_ACCESS_KEY_ID="local", AWS_SECRET_ACCESS_KEY="local", AWS_DEFAULT_REGION="us-east-1")

import boto3  # noqa: E402: it reads the variables
from langgraph.graph import END, START, StateGraph  # noqa: E402
from langgraph.types import Command, interrupt  # noqa: E402
from langgraph_checkpoint_aws import DynamoDBSaver, DynamoDBStore  # noqa: E402

ENDPOINT = sys.argv[1]
client = boto3.client("dynamodb", endpoint_url=ENDPOINT)
client.create_table(
    TableName="Checkpoints", BillingMode="PAY_PER_REQUEST",
    KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
    AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")])


class State(TypedDict):
    said: Annotated[list, lambda before, more: before + more]


def think(state):
    return {"said": [f"thought {len(state['said'])}", "x" * 5_000]}


def ask(state):
    return {"said": [interrupt("go on?")]}


def graph(saver):
    builder = StateGraph(State)
    builder.add_node("think", think)
    builder.add_node("ask", ask)
    builder.add_edge(START, "think")
    builder.add_edge("think", "ask")
    builder.add_edge("ask", END)
    return builder.compile(checkpointer=saver)


def saver(**more):
    return DynamoDBSaver(table_name="Checkpoints", region_name="us-east-1", endpoint_url=ENDPOINT, **more)


for options in ({}, {"enable_checkpoint_compression": True, "ttl_seconds": 3600}):
    thread = {"configurable": {"thread_id": f"thread-{len(options)}"}}
    stopped = graph(saver(**options)).invoke({"said": ["hello"]}, thread)
    assert stopped["__interrupt__"][0].value == "go on?", stopped
    # Another process would begin here: it has the state from the table alone.
    later = graph(saver(**options))
    assert later.get_state(thread).next == ("ask",)
    ended = later.invoke(Command(resume="yes"), thread)
    assert (ended["said"][0], ended["said"][1], ended["said"][-1]) == ("hello", "thought 1", "yes"), ended["said"]
    history = list(later.get_state_history(thread))
    assert [len(snapshot.values.get("said", [])) for snapshot in history] == [4, 3, 1, 0], history
    # A fork from the middle of the history.
    middle = next(snapshot for snapshot in history if snapshot.next == ("ask",))
    forked = later.update_state(middle.config, {"said": ["no"]}, as_node="ask")
    assert saver(**options).get_tuple(forked).checkpoint["channel_values"]["said"][-1] == "no"
    saver(**options).delete_thread(thread["configurable"]["thread_id"])
    assert not list(later.get_state_history(thread))
assert client.scan(TableName="Checkpoints", Select="COUNT")["Count"] == 0

store = DynamoDBStore(table_name="Memories", region_name="us-east-1", endpoint_url=ENDPOINT,
                      ttl={"default_ttl": 60, "refresh_on_read": True})
store.setup()
assert client.describe_time_to_live(TableName="Memories")["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"
for number in range(30):
    store.put(("users", "ada"), f"memory-{number:02}", {"kind": "even" if number % 2 == 0 else "odd", "n": number})
store.put(("users", "bob"), "memory-00", {"kind": "even", "n": 0})
found = store.get(("users", "ada"), "memory-07")
assert (found.value, found.namespace, found.key) == ({"kind": "odd", "n": 7}, ("users", "ada"), "memory-07")
assert store.get(("users", "ada"), "no such") is None
assert {item.value["n"] for item in store.search(("users", "ada"), filter={"kind": "even"}, limit=100)} == set(range(0, 30, 2))
assert len(store.search(("users", "ada"), limit=10)) == 10
store.put(("users", "ada"), "memory-07", {"kind": "odd", "n": 70})
assert store.get(("users", "ada"), "memory-07").value["n"] == 70
store.delete(("users", "ada"), "memory-07")
assert store.get(("users", "ada"), "memory-07") is None
[expires] = {round(float(item["expires_at"]["N"]) / 1000) for item in client.scan(TableName="Memories", Limit=1)["Items"]
             if "expires_at" in item} or {0}
assert expires == 0 or abs(expires * 1000 - time.time() - 3600) < 2000, expires
