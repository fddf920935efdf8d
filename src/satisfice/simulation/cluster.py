"""Many machines: pieces of jobs on a Dask cluster. Scheduling, retries and the dashboard are Dask's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from satisfice.errors import InvalidRun, MissingExtra
from satisfice.simulation.job import Output, Piece
from satisfice.simulation.results import versions

if TYPE_CHECKING:
    from distributed import Client, Future

# Seconds to wait for a scheduler to answer and for a first worker to be there.
PATIENCE = 30
# What results depend on; the same everywhere, or they are not the same bit for bit.
SAME = ("satisfice", "numpy", "numba")


def on_cluster(cluster: object | str, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, Output]]:
    """The pieces on a Dask cluster, each with its output, in any order.

    A run's random numbers belong to the run and not to who works on it, so the outputs are those of one machine; the
    work of a worker that dies is done again by another.

    Parameters
    ----------
    cluster : str or distributed.Client
        The address of a scheduler, `tcp://HOST:PORT`, or a client of it.
    pieces : iterable of Piece
        The work.

    Raises
    ------
    MissingExtra
        Dask's `distributed` is not installed.
    InvalidRun
        Nobody answers at the address, there is no worker, a worker has other versions, or the work was lost.
    """
    try:
        from distributed import as_completed
    except ImportError as error:
        raise MissingExtra("a cluster needs Dask: pip install 'satisfice[cluster]'") from error

    with _client(cluster) as client:
        _check_workers(client)
        futures: dict[Future[Output], Piece] = {}
        try:
            for piece in pieces:
                futures[client.submit(piece.work, pure=False)] = piece
            for future in as_completed(list(futures), loop=client.loop):
                piece = futures.pop(future)
                if future.status in ("error", "cancelled"):
                    raise InvalidRun(
                        f"the cluster did not do {piece.job.policy.label}, run {piece.first}: {_reason(future)}"
                    )
                yield piece, future.result()
                future.release()
        except OSError as error:
            raise InvalidRun(f"the Dask scheduler is gone: {error}") from error
        finally:
            client.cancel(list(futures))


@contextmanager
def _client(cluster: object | str) -> Iterator[Client]:
    from distributed import Client

    if isinstance(cluster, Client):
        yield cluster
        return
    if not isinstance(cluster, str):
        raise InvalidRun(f"cluster = {cluster!r}; it must be the address of a Dask scheduler or a distributed.Client")
    try:
        client = _connect(cluster)
    except (OSError, ValueError) as error:
        raise InvalidRun(f"no Dask scheduler answers at {cluster!r}; an address looks like tcp://HOST:8786") from error
    try:
        yield client
    finally:
        client.close()


def _connect(address: str) -> Client:
    from distributed import Client

    class Careful(Client):
        """A client that is closed when it could not be opened: otherwise its end waits a minute for a stopped loop."""

        def __init__(self) -> None:
            try:
                super().__init__(address, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
            except BaseException:
                self.status = "closed"
                raise

    return Careful()


def _check_workers(client: Client) -> None:
    """Raise `InvalidRun` unless there are workers, with the versions of this machine."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        raise InvalidRun(
            f"the Dask cluster has had no worker for {PATIENCE} s; start one with 'dask worker ADDRESS'"
        ) from error
    here = versions()
    for worker, there in client.run(versions, on_error="return").items():
        if isinstance(there, BaseException):
            raise InvalidRun(f"satisfice does not work on the worker {worker}: {there}")
        other = [f"{name} {there[name]} (here {here[name]})" for name in SAME if there[name] != here[name]]
        if other:
            raise InvalidRun(f"the worker {worker} has {', '.join(other)}; results would not be the same")


def _reason(future: Future[Output]) -> object:
    if future.status == "cancelled":
        return "the scheduler is gone, or somebody cancelled it"
    return future.exception()
