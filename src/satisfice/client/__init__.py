"""Studies of a service from elsewhere, with the methods of local ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satisfice.errors import MissingExtra

if TYPE_CHECKING:
    from satisfice.client.asynchronous import AsyncClient
    from satisfice.client.waiting import Client


def connect(url: str, key: str | None = None, *, timeout: float = 30.0, tries: int = 8) -> Client:
    """A service and its studies. Calls are made again until they are answered, and count once.

    Parameters
    ----------
    url : str
        Where the service is, such as `"http://localhost:8000"`.
    key : str, optional
        A key of the service.
    timeout : float
        Seconds to wait for one answer.
    tries : int
        How often a call is made before `StorageError` says that the service does not answer; with the pauses between
        them, 8 take about 10 seconds.

    Examples
    --------
    >>> with connect("http://localhost:8000", key="sf_...") as service:
    ...     study = service.study("answers")
    >>> study
    <RemoteStudy 'answers'>
    """
    try:
        from satisfice.client.waiting import Client
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    return Client(url, key, timeout=timeout, tries=tries)


def connect_async(url: str, key: str | None = None, *, timeout: float = 30.0, tries: int = 8) -> AsyncClient:
    """The same as `connect`, with methods that are awaited.

    Examples
    --------
    >>> connect_async("http://localhost:8000", key="sf_...").study("answers")
    <AsyncRemoteStudy 'answers'>
    """
    try:
        from satisfice.client.asynchronous import AsyncClient
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    return AsyncClient(url, key, timeout=timeout, tries=tries)


def _missing(error: ModuleNotFoundError) -> MissingExtra:
    return MissingExtra(f"a client of the service needs {error.name}; pip install 'satisfice[serve]'")
