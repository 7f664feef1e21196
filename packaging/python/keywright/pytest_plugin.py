"""Fixtures for pytest: one server per test session, an account for each worker of pytest-xdist.

The server starts when the first test asks for it; with pytest-xdist it starts with the workers, which share it.
"""

import itertools

import pytest

from keywright.server import REGION, Place, Server

# The first worker's account is this and one more.
ACCOUNT_BASE = 100_000_000_000


def pytest_addoption(parser):
    group = parser.getgroup("keywright")
    group.addoption(
        "--keywright-endpoint",
        metavar="URL",
        help="use the Keywright server at this URL, which runs without credentials, instead of starting one",
    )
    parser.addini("keywright_arguments", "further arguments of `keywright serve` for the server of the tests", "args")


class _Servers:
    """The server of this process, if it has started one."""

    def __init__(self, config):
        self.config = config
        self.server = None

    def endpoint(self):
        named = self.config.getoption("keywright_endpoint")
        if named:
            return named
        if self.server is None:
            self.server = Server(arguments=self.config.getini("keywright_arguments")).start()
        return self.server.endpoint

    def stop(self):
        if self.server is not None:
            self.server.stop()


def pytest_configure(config):
    config.pluginmanager.register(_Hooks(config), "keywright-hooks")


class _Hooks:
    def __init__(self, config):
        self.servers = _Servers(config)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        """pytest-xdist calls this in the first process before it starts a worker."""
        node.workerinput["keywright_endpoint"] = self.servers.endpoint()

    def pytest_unconfigure(self):
        self.servers.stop()


def _worker_number(config):
    """1 without pytest-xdist and for its first worker."""
    worker = getattr(config, "workerinput", {}).get("workerid", "gw0")
    return int("".join(itertools.takewhile(str.isdigit, worker[2:])) or 0) + 1


@pytest.fixture(scope="session")
def keywright(pytestconfig):
    """This worker's place on the server: `endpoint`, `account`, `region`, `client_arguments()`, `environment()`."""
    given = getattr(pytestconfig, "workerinput", {}).get("keywright_endpoint")
    endpoint = given or pytestconfig.pluginmanager.get_plugin("keywright-hooks").servers.endpoint()
    return Place(endpoint, str(ACCOUNT_BASE + _worker_number(pytestconfig)), REGION)


@pytest.fixture
def keywright_branch(keywright):
    """A copy of this worker's tables for one test, which may change it: tables are made and filled once."""
    with keywright.branch() as copy:
        yield copy


@pytest.fixture
def keywright_environment(keywright, monkeypatch):
    """Sets the variables with which code under test reaches this worker's tables without any argument."""
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    for name, value in keywright.environment().items():
        monkeypatch.setenv(name, value)
    return keywright


@pytest.fixture(scope="session")
def dynamodb_client(keywright):
    """A boto3 client of this worker's tables."""
    import boto3

    return boto3.client("dynamodb", **keywright.client_arguments())


@pytest.fixture(scope="session")
def dynamodb(keywright):
    """A boto3 resource of this worker's tables."""
    import boto3

    return boto3.resource("dynamodb", **keywright.client_arguments())
