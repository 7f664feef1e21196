"""Runs the shared scenario with the AWS CLI. Usage: run_cli.py ENDPOINT [AWS]"""

import base64
import json
import os
import re
import subprocess
import sys

from botocore import xform_name

import matching

ENDPOINT = sys.argv[1]
AWS = sys.argv[2] if len(sys.argv) > 2 else "aws"
ENVIRONMENT = {
    **os.environ,
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_PAGER": "",
}
FAULT = re.compile(r"An error occurred \((\w+)\) when calling the \w+ operation(?: \(reached max retries: \d+\))?: (.*)", re.S)


def plain_binary(value):
    """The CLI takes binary input as it is, not as base64; the scenario's is ASCII."""
    if isinstance(value, dict):
        if set(value) == {"B"}:
            return {"B": base64.b64decode(value["B"]).decode("ascii")}
        return {key: plain_binary(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain_binary(inner) for inner in value]
    return value


def call(operation, parameters):
    command = [AWS, "dynamodb", xform_name(operation, "-"), "--endpoint-url", ENDPOINT, "--output", "json", "--no-paginate"]
    command += ["--cli-input-json", json.dumps(plain_binary(parameters))]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout or "{}"), None
    fault = FAULT.search(done.stderr)
    if fault is None:
        return None, ("cannot read the CLI's error", done.stderr)
    return None, (fault.group(1), fault.group(2).strip())


matching.run(call)
