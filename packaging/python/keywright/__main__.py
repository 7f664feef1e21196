"""`python -m keywright …` is the command `keywright …`."""

import os
import subprocess
import sys

from keywright.server import binary


def main():
    command = [binary(), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
