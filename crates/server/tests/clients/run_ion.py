"""Reads lines of Ion with Amazon's library, compares them with lines of JSON of the same items, and writes the
items anew, as text and in binary: `run_ion.py FOLDER`."""

import base64
import json
import sys
from decimal import Decimal, localcontext
from pathlib import Path

from amazon.ion import simpleion
from amazon.ion.core import IonType

SETS = {"$dynamodb_SS": "SS", "$dynamodb_NS": "NS", "$dynamodb_BS": "BS"}


def plain(value):
    """An Ion value as DynamoDB JSON, with numbers as decimals."""
    annotations = [symbol.text for symbol in getattr(value, "ion_annotations", ())]
    kind = value.ion_type
    if kind is IonType.LIST:
        if annotations:
            members = [next(iter(plain(member).values())) for member in value]
            return {SETS[annotations[0]]: members}
        return {"L": [plain(member) for member in value]}
    assert not annotations, annotations
    if kind is IonType.NULL:
        return {"NULL": True}
    if kind is IonType.BOOL:
        return {"BOOL": bool(value)}
    if kind is IonType.DECIMAL:
        return {"N": Decimal(value)}
    if kind is IonType.STRING:
        return {"S": str(value)}
    if kind is IonType.BLOB:
        return {"B": base64.b64encode(bytes(value)).decode()}
    assert kind is IonType.STRUCT, kind
    return {"M": {name: plain(member) for name, member in value.items()}}


def decimals(value):
    """DynamoDB JSON with numbers as decimals."""
    ((kind, content),) = value.items()
    if kind == "N":
        return {"N": Decimal(content)}
    if kind == "NS":
        return {"NS": [Decimal(number) for number in content]}
    if kind == "L":
        return {"L": [decimals(member) for member in content]}
    if kind == "M":
        return {"M": {name: decimals(member) for name, member in content.items()}}
    return value


def main(folder):
    with localcontext() as context:
        context.prec = 60
        lines = (folder / "items.json").read_text(encoding="utf-8").split("\n")
        expected = [decimals({"M": json.loads(line)["Item"]}) for line in lines if line]
        with open(folder / "items.ion", "rb") as file:
            values = simpleion.load(file, single_value=False)
        found = [plain(value["Item"]) for value in values]
        assert len(expected) > 20
        for place, (one, other) in enumerate(zip(expected, found, strict=True)):
            assert one == other, f"item {place}: {one} and {other}"
        for name, is_binary in (("text", False), ("binary", True)):
            with open(folder / name, "wb") as file:
                simpleion.dump(values, file, binary=is_binary, sequence_as_stream=True)


main(Path(sys.argv[1]))
