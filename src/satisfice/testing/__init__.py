"""For others' code: a storage of studies on trial. Subclass `StorageTests`, and pytest runs the contract against it."""

from satisfice.testing.storages import ODD_TEXTS, REFUSED_TEXTS, StorageTests

__all__ = ["ODD_TEXTS", "REFUSED_TEXTS", "StorageTests"]
