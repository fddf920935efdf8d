"""For others' code: a storage of studies on trial. Subclass `StorageTests`, and pytest runs the contract against it."""

from satisfice.errors import MissingExtra

try:
    from satisfice.testing.storages import ODD_TEXTS, REFUSED_TEXTS, StorageTests
except ModuleNotFoundError as error:
    raise MissingExtra("satisfice.testing needs pytest; pip install pytest") from error

__all__ = ["ODD_TEXTS", "REFUSED_TEXTS", "StorageTests"]
