"""Runs shared scenarios with the AWS CLI. Usage: run_cli.py ENDPOINT SCENARIO [ENDPOINT SCENARIO]

Each command is a process of its own, as `aws` is. It is a copy of this one, which has loaded the CLI's code and the
service's model already: that takes most of the time of a command.
"""

import base64
import functools
import json
import os
import re
import sys
import tempfile

import awscli.clidriver
from botocore import xform_name

import matching

os.environ |= {
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


DRIVER = awscli.clidriver.create_clidriver()
DRIVER.session.get_service_model("dynamodb")


def aws(arguments):
    """The exit status of a command, and what it prints on its two outputs."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = os.fork()
        if process == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            status = 255
            try:
                status = DRIVER.main(arguments)
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(status)
        _, status = os.waitpid(process, 0)
        output.seek(0)
        errors.seek(0)
        return os.waitstatus_to_exitcode(status), output.read().decode(), errors.read().decode()


def call(endpoint, operation, parameters):
    command = ["dynamodb", xform_name(operation, "-"), "--endpoint-url", endpoint, "--output", "json", "--no-paginate"]
    command += ["--cli-input-json", json.dumps(plain_binary(parameters))]
    status, output, errors = aws(command)
    if status == 0:
        return json.loads(output or "{}"), None
    fault = FAULT.search(errors)
    if fault is None:
        return None, ("cannot read the CLI's error", errors)
    return None, (fault.group(1), fault.group(2).strip())


for asked, scenario in matching.asked():
    matching.run(functools.partial(call, asked), scenario)
