"""What the Python runners share: reading the scenario, and comparing an answer with what a step expects."""

import base64
import json
import pathlib
import sys
import time

RETRIES = 100


def asked():
    """The endpoints and scenarios that the command names, in pairs."""
    return list(zip(sys.argv[1::2], sys.argv[2::2]))


def decode_binary(value):
    """DynamoDB JSON with base64 in B members, as boto3 wants it: bytes."""
    if isinstance(value, dict):
        if set(value) == {"B"}:
            return {"B": base64.b64decode(value["B"])}
        return {key: decode_binary(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [decode_binary(inner) for inner in value]
    return value


def differs(expected, actual, path=""):
    """The first difference, or None. An object may have more members than expected, an item of a list may not."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        if not expected and actual and path:
            return f"{path}: expected nothing, got {actual}"
        for key, inner in expected.items():
            if key not in actual:
                return f"{path}.{key}: missing"
            found = differs(inner, actual[key], f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return f"{path}: expected {len(expected)} elements, got {len(actual)}"
        for place, (inner, other) in enumerate(zip(expected, actual)):
            found = differs(inner, other, f"{path}[{place}]")
            if found:
                return found
        return None
    return None if expected == actual else f"{path}: expected {expected!r}, got {actual!r}"


def run(call, scenario):
    """Runs every step by `call(operation, input) -> (output, None) or (None, (code, message))`; exits 1 at a fault."""
    steps = json.loads(pathlib.Path(scenario).read_text())
    for step in steps:
        for attempt in range(RETRIES if step.get("retry_until_expected") else 1):
            fault = check(step, *call(step["operation"], step["input"]))
            if fault is None:
                break
            time.sleep(0.05)
        if fault is not None:
            sys.exit(f"{step['name']}: {fault}")
    print(f"{len(steps)} steps passed")


def check(step, output, error):
    if "error" in step:
        expected = (step["error"]["code"], step["error"]["message"])
        return None if error == expected else f"expected the error {expected}, got {error or output}"
    if error:
        return f"got the error {error}"
    for member in step.get("absent", []):
        if member in output:
            return f"{member} is there: {output[member]}"
    return differs(step["expect"], output)
