"""A server process for tests and scripts. It needs nothing but the standard library."""

import atexit
import json
import os
import pathlib
import shutil
import subprocess
import sysconfig
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, replace

ACCOUNT = "123456789012"
REGION = "us-east-1"


class StartError(Exception):
    """The server did not start; the message is what it wrote to standard error."""


class BranchError(Exception):
    """A branch was not made or not dropped; the message is the server's."""


def binary():
    """The path of the `keywright` binary: `KEYWRIGHT_BINARY`, the one of this package, or one on the path."""
    named = os.environ.get("KEYWRIGHT_BINARY")
    if named:
        return named
    name = "keywright.exe" if os.name == "nt" else "keywright"
    # The scripts of the environment, of `pip install --user`, and of `pip install --target`.
    here = pathlib.Path(__file__).resolve().parent.parent
    schemes = {
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")),
        str(here / "bin"),
    }
    for folder in schemes:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    found = shutil.which("keywright")
    if found is None:
        raise FileNotFoundError(f"the binary {name} is in none of {sorted(schemes)} and not on the path")
    return found


@dataclass(frozen=True)
class Place:
    """The tables of one account and region of a server. Places do not see each other's tables."""

    endpoint: str
    account: str = ACCOUNT
    region: str = REGION

    def client_arguments(self):
        """What `boto3.client` and `boto3.resource` need to reach this place."""
        # A server without --credentials takes an access key of twelve digits as the account.
        return {
            "endpoint_url": self.endpoint,
            "region_name": self.region,
            "aws_access_key_id": self.account,
            "aws_secret_access_key": "local",
        }

    def environment(self):
        """The variables with which AWS SDKs and the AWS CLI reach this place without any argument."""
        return {
            "AWS_ENDPOINT_URL_DYNAMODB": self.endpoint,
            "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": self.endpoint,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.account,
            "AWS_SECRET_ACCESS_KEY": "local",
        }


    @contextmanager
    def branch(self):
        """A copy of all tables of this place, at one instant, in a region of its own; dropped at the end."""
        copy = replace(self, region=f"{self.region}-{uuid.uuid4().hex[:12]}")
        self._call("POST", {"from": self._name(), "to": copy._name()})
        try:
            yield copy
        finally:
            self._call("DELETE", {"branch": copy._name()})

    def _name(self):
        return f"{self.account}/{self.region}"

    def _call(self, method, body):
        request = urllib.request.Request(
            f"{self.endpoint}/_keywright/branch",
            data=json.dumps(body).encode(),
            method=method,
            headers={"x-keywright": "branch", "content-type": "application/json"},
        )
        try:
            urllib.request.urlopen(request, timeout=60).close()
        except urllib.error.HTTPError as error:
            raise BranchError(json.loads(error.read()).get("message", str(error))) from None


class Server:
    """A server on a free port of this machine, in memory unless `data` names a folder.

    `arguments` are further ones of `keywright serve`. Start it by `start()` or as a context manager.
    """

    def __init__(self, *, data=None, arguments=(), start_seconds=30):
        self._storage = ["--in-memory"] if data is None else ["--data", os.path.abspath(data)]
        self._arguments = [str(argument) for argument in arguments]
        self._start_seconds = start_seconds
        self._process = None
        self._folder = None
        self._ready = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Starts the process and waits until it accepts requests."""
        if self._process is not None:
            raise RuntimeError("the server runs already")
        self._folder = tempfile.TemporaryDirectory(prefix="keywright-")
        folder = pathlib.Path(self._folder.name)
        ready, log = folder / "ready.json", folder / "log.txt"
        command = [binary(), "serve", "--port", "0", "--ready-file", str(ready), *self._storage, *self._arguments]
        # Settings of the caller's shell are not this server's.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KEYWRIGHT_")}
        # It runs in its own folder, where it finds no keywright.toml of the project.
        with open(log, "wb") as output:
            self._process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=output
            )
        atexit.register(self.stop)
        deadline = time.monotonic() + self._start_seconds
        while not ready.exists():
            ended = self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                said = log.read_text(errors="replace").strip()
                self.stop()
                raise StartError(said if ended else f"not ready after {self._start_seconds} s: {said}")
            time.sleep(0.002)
        self._ready = json.loads(ready.read_text())
        return self

    def stop(self):
        """Stops the process. Nothing happens if it does not run."""
        process, self._process = self._process, None
        if process is None:
            return
        atexit.unregister(self.stop)
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._folder.cleanup()
        self._ready = None

    @property
    def endpoint(self):
        """The URL for clients, such as `http://127.0.0.1:43211`."""
        if self._ready is None:
            raise RuntimeError("the server does not run: call start() or use it in a with statement")
        return self._ready["endpoint"]

    @property
    def pid(self):
        """The id of the server's process."""
        return None if self._process is None else self._process.pid

    def place(self, account=ACCOUNT, region=REGION):
        """The tables of an account (twelve digits) and region."""
        if len(account) != 12 or not account.isdigit():
            raise ValueError(f"an account has twelve digits: {account!r}")
        return Place(self.endpoint, account, region)

    def client_arguments(self, account=ACCOUNT, region=REGION):
        """What `boto3.client` and `boto3.resource` need to reach an account's tables in a region."""
        return self.place(account, region).client_arguments()

    def environment(self, account=ACCOUNT, region=REGION):
        """The variables with which AWS SDKs and the AWS CLI reach an account's tables in a region."""
        return self.place(account, region).environment()
