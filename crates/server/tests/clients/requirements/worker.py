"""Checks requirements against one server, so that boto3 is imported and the server started once for many of them.

Usage: worker.py ENDPOINT [r04 …] checks the requirements that are named.
Without names it reads them from standard input, one a line, and answers each with a line of JSON:
{"holds": true, "output": "what the check printed"}. When standard input ends, it stops the servers whose process ids are in
KEYWRIGHT_SERVER_PIDS, because the test program that started both has ended.
"""

import contextlib
import io
import json
import os
import signal
import sys
import traceback

import capacity
import indexes
import insights
import limits
import metrics
import observed
import partiql
import protocols
import reads
import scaling
import simulated
import streams
import writes

CHECKS = {name.split("_")[0]: check for module in (reads, indexes, writes, observed, partiql, streams, metrics, scaling, insights, limits, protocols, simulated)
          for name, check in vars(module).items() if name[0] in "roqst" and name[1:3].isdigit()}
CHECKS["r39"] = capacity.r39_consumed_capacity_follows_the_rules_for_every_operation


def outcome(name):
    """Whether the requirement holds, and what its check printed, the traceback of a failure included."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            CHECKS[name]()
            holds = True
        except BaseException:
            traceback.print_exc()
            holds = False
    return {"holds": holds, "output": output.getvalue()}


if sys.argv[2:]:
    outcomes = {name: outcome(name) for name in sys.argv[2:]}
    for name, found in outcomes.items():
        print(name, "holds" if found["holds"] else "does not hold", found["output"])
    sys.exit(not all(found["holds"] for found in outcomes.values()))

for line in sys.stdin:
    print(json.dumps(outcome(line.strip())), flush=True)
for server in os.environ.get("KEYWRIGHT_SERVER_PIDS", "").split():
    os.kill(int(server), signal.SIGTERM)
