"""Checks one requirement against a server. Usage: run.py ENDPOINT r04"""

import sys

import indexes
import reads
import writes

wanted = sys.argv[2]
checks = {name.split("_")[0]: check for module in (reads, indexes, writes) for name, check in vars(module).items()
          if name.startswith("r") and name[1:3].isdigit()}
checks[wanted]()
print(wanted, "holds")
