"""Storages of studies: in memory, SQLite, PostgreSQL."""

from __future__ import annotations

from satisfice.errors import Hint, StorageError
from satisfice.studies.storages.base import Ledger, Storage

__all__ = ["Ledger", "Storage", "get_storage"]


def get_storage(storage: str | Storage | None, *, create: bool = True) -> Storage:
    """A storage from None (memory), a URL (`sqlite:///studies.db`, `postgresql://...`) or a storage.

    Parameters
    ----------
    storage : None, str or Storage
        Where studies live.
    create : bool
        Whether a SQLite file that is not there is made.

    Raises
    ------
    StorageError
        The URL is not of a kind that is known, or the database cannot be reached or is not there.
    """
    if isinstance(storage, Storage):
        return storage
    if storage is None:
        from satisfice.studies.storages.memory import MemoryStorage

        return MemoryStorage()
    if isinstance(storage, str) and storage.split(":", 1)[0].split("+")[0] in ("sqlite", "postgresql", "postgres"):
        from satisfice.studies.storages.sql import SQLStorage

        return SQLStorage(storage, create=create)
    raise StorageError(
        f"storage = {_hidden(storage)}, which is no storage that is known", hint=Hint.STORAGE, parameter="storage"
    )


def _hidden(storage: object) -> str:
    """A wrong value for a message, without what may be a password."""
    text = repr(storage)
    if "@" in text or "=" in text:
        kind = text.split(":", 1)[0]
        return f"a {type(storage).__name__}" if "@" in kind or "=" in kind else f"{kind}:... ({type(storage).__name__})"
    return text if len(text) <= 80 else f"a {type(storage).__name__}"
