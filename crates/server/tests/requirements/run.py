"""Checks one requirement against a server. Usage: run.py ENDPOINT r04"""

import sys

import capacity
import indexes
import observed
import partiql
import reads
import streams
import writes

wanted = sys.argv[2]
checks = {name.split("_")[0]: check for module in (reads, indexes, writes, observed, partiql, streams) for name, check in vars(module).items()
          if name[0] in "roqs" and name[1:3].isdigit()}
checks["r39"] = capacity.r39_consumed_capacity_follows_the_rules_for_every_operation
checks[wanted]()
print(wanted, "holds")
