"""The log of the service: one line per request, as text or JSON, without a key or a password in it."""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime

LOGGER = logging.getLogger("satisfice.service")
_KEY = re.compile(r"sf_([A-Za-z0-9]{1,16})_[A-Za-z0-9]+")
FIELDS = ("request", "method", "route", "status", "ms", "key", "study")


def hidden(text: str) -> str:
    """A text without the secret parts of keys and without passwords.

    Examples
    --------
    >>> hidden("key sf_abcd_secret at postgresql://me:word@host/db")
    'key sf_abcd_*** at postgresql://me:***@host/db'
    """
    return re.sub(r"(://[^/@:\s]*:)[^/\s]*(@)", r"\1***\2", _KEY.sub(r"sf_\1_***", text))


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return hidden(super().format(record))


class _JSON(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        data: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": hidden(record.getMessage()),
        }
        data.update((name, getattr(record, name)) for name in FIELDS if getattr(record, name, None) is not None)
        if record.exc_info:
            data["error"] = hidden(self.formatException(record.exc_info))
        return json.dumps(data)


def set_up(level: str, as_json: bool) -> None:
    """Write the log to the error stream. For `satisfice serve`; an application of your own has a log of its own."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JSON() if as_json else _Text("%(asctime)s %(levelname)s %(message)s"))
    for name in ("satisfice.service", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = ([handler] if name != "uvicorn.error" else []), name == "uvicorn.error"
        logger.setLevel(level.upper())
