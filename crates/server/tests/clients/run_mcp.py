"""The official Python client of the Model Context Protocol, with `keywright mcp` as its server.

    run_mcp.py BINARY ENDPOINT EXAMPLES
"""

import asyncio
import json
import pathlib
import sys
import tempfile

from mcp import ClientSession, StdioServerParameters, stdio_client

BINARY, ENDPOINT, EXAMPLES = sys.argv[1:]
MODEL_TOOLS = ["model_format", "model_check", "model_cost", "model_design", "model_simulate", "model_explain_rule"]
READ_TOOLS = ["database_read", "database_history", "database_jobs"]


async def with_session(arguments, use):
    server = StdioServerParameters(command=BINARY, args=["mcp", *arguments])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        began = await session.initialize()
        assert began.server_info.name == "keywright", began
        await use(session)


async def said(session, name, **arguments):
    """What a tool says, which must not be a failure."""
    result = await session.call_tool(name, arguments)
    assert not result.is_error, (name, result)
    return result.content[0].text


async def refused(session, name, **arguments):
    result = await session.call_tool(name, arguments)
    assert result.is_error, (name, result)
    return result.content[0].text


async def names(session):
    return [tool.name for tool in (await session.list_tools()).tools]


async def models(session):
    assert await names(session) == MODEL_TOOLS
    for tool in (await session.list_tools()).tools:
        assert tool.annotations.read_only_hint, tool
    assert "\"$schema\"" in await said(session, "model_format")
    assert (await said(session, "model_check", model="models/orders.yaml")).startswith("The check passed.")
    assert "Monthly cost" in await said(session, "model_cost", model="models/orders.yaml")
    assert "L002" in await said(session, "model_explain_rule")
    assert "L002" in await said(session, "model_explain_rule", rule="L002")

    # A design is a model, which passes its check as a text.
    design = await said(session, "model_design", model="models/orders.yaml", keys="readable", explain=True)
    text = design.split("The model with these keys:\n\n")[1]
    assert (await said(session, "model_check", text=text)).startswith("The check passed.")

    sale = await said(session, "model_simulate", model="simulations/sale.yaml", profile="simulations/friday.yaml")
    assert "not met" in sale.splitlines()[0], sale

    fault = await refused(session, "model_check", text="format: 1\nmodel: m\ntabels: {}\n")
    assert fault.startswith("model.yaml:3:1") and "tables" in fault, fault
    assert "there is no rule" in await refused(session, "model_explain_rule", rule="L02")
    assert "either" in await refused(session, "model_check")
    assert "no argument" in await refused(session, "model_check", model="models/orders.yaml", file="x")


async def confined(session):
    for name in ["../secret.txt", "/etc/passwd", "link.yaml"]:
        assert "outside" in await refused(session, "model_check", model=name), name
    model = "format: 1\nmodel: m\ntables: {Things: {key: {pk: S}}}\nentities: {E: {count: 1, key: {pk: 'E#{e}'}, attrs: {e: S}}}\n" \
        "patterns: [{id: P, get: E, rate: 1}]\ndata: {file: ../secret.txt}\n"
    assert "outside" in await refused(session, "model_check", text=model)


async def reads(session):
    assert await names(session) == [*MODEL_TOOLS, *READ_TOOLS]
    tables = json.loads(await said(session, "database_read", operation="ListTables"))
    assert tables == {"TableNames": ["Things"]}, tables
    page = {"TableName": "Things", "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}}
    first = json.loads(await said(session, "database_read", operation="Query", request=page))
    assert first["Count"] == 50 and first["Items"][0]["n"] == {"N": "0"}, first
    assert json.loads(await said(session, "database_read", operation="Query", request=page | {"Limit": 60}))["Count"] == 60
    select = {"Statement": "SELECT n FROM Things WHERE pk = 'a' AND sk = 7"}
    rows = json.loads(await said(session, "database_read", operation="ExecuteStatement", request=select))
    assert rows["Items"] == [{"n": {"N": "7"}}], rows
    for operation, request in [
        ("DeleteTable", {"TableName": "Things"}),
        ("ExecuteStatement", {"Statement": "DELETE FROM Things WHERE pk = 'a' AND sk = 7"}),
        ("PutItem", {"TableName": "Things", "Item": {"pk": {"S": "b"}, "sk": {"N": "1"}}}),
    ]:
        assert "only reads" in await refused(session, "database_read", operation=operation, request=request)
    missing = await refused(session, "database_read", operation="DescribeTable", request={"TableName": "Nothing"})
    assert "has no table Nothing in region us-east-1" in missing, missing
    assert "no operation" in await refused(session, "database_read", operation="DropTable")
    item = {"table": "Things", "key": {"pk": {"S": "a"}, "sk": {"N": "7"}}}
    made, before = json.loads(await said(session, "database_history", **item))["versions"]
    assert made["item"]["n"] == {"N": "7"} and made["by"] == "client" and before == {"item": None}, (made, before)
    assert "outside the history" in await refused(session, "database_history", **item, at="-3d")
    assert "write a time" in await refused(session, "database_history", **item, at="noon")
    assert "typed" in await refused(session, "database_history", table="Things", key={"pk": "a"})
    missing = await refused(session, "database_history", table="Nothing", key=item["key"])
    assert "has no table Nothing in region us-east-1" in missing, missing
    assert json.loads(await said(session, "database_jobs")) == {"jobs": []}
    assert "no job 7-a" in await refused(session, "database_jobs", id="7-a")


async def writes(session):
    assert await names(session) == [*MODEL_TOOLS, *READ_TOOLS, "database_write"]
    key = {"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
           "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]}
    await said(session, "database_write", operation="CreateTable",
               request={"TableName": "Things", "BillingMode": "PAY_PER_REQUEST", **key})
    recovery = {"PointInTimeRecoveryEnabled": True}
    await said(session, "database_write", operation="UpdateContinuousBackups",
               request={"TableName": "Things", "PointInTimeRecoverySpecification": recovery})
    for at in range(80):
        item = {"pk": {"S": "a"}, "sk": {"N": str(at)}, "n": {"N": str(at)}}
        await said(session, "database_write", operation="PutItem", request={"TableName": "Things", "Item": item})


async def main():
    await with_session(["--folder", EXAMPLES], models)
    with tempfile.TemporaryDirectory() as folder:
        own = pathlib.Path(folder) / "models"
        own.mkdir()
        secret = pathlib.Path(folder) / "secret.txt"
        secret.write_text("{}")
        (own / "link.yaml").symlink_to(secret)
        await with_session(["--folder", str(own)], confined)
    at = ["--endpoint", ENDPOINT]
    await with_session([*at, "--allow-writes"], writes)
    await with_session(at, reads)


asyncio.run(main())
