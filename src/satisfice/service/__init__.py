"""The service: decisions over HTTP, for programs in any language; `satisfice serve` runs it."""

from __future__ import annotations

from satisfice.errors import MissingExtra

try:
    from satisfice.service.app import create_app
except ImportError as error:
    if isinstance(error, MissingExtra) or (error.name or "").startswith("satisfice"):
        raise
    raise MissingExtra(f"the service needs {error.name}; pip install 'satisfice[serve]'") from error

__all__ = ["create_app"]
