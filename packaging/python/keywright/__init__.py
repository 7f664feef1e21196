"""Keywright: a DynamoDB-compatible database in one binary, started and stopped from Python.

    with keywright.Server() as server:
        client = boto3.client("dynamodb", **server.client_arguments())
"""

from keywright.server import BranchError, Place, Server, StartError, binary

__all__ = ["BranchError", "Place", "Server", "StartError", "binary"]
__version__ = "@VERSION@"
