"""Where compiled code is kept on disk: a folder of the user alone, one file for each key and signature.

Compiled code is loaded and run, so that it must come from nobody else: the folder belongs to the user and is closed to
others, and so is every file in it that is read. Where there is no such folder, nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # no such locks on Windows: two processes may both compile a rule
    fcntl = None  # type: ignore[assignment]

# How long to wait for another process that compiles the same, and between two looks whether it is done, in seconds.
PATIENCE, PAUSE = 120.0, 0.02


def cache_dir() -> Path | None:
    """The folder of compiled code: in `SATISFICE_CACHE`, or in the user's cache folder; None where none is safe.

    Examples
    --------
    >>> folder = cache_dir()
    >>> folder is None or folder.stat().st_mode & 0o077 == 0
    True
    """
    return next((folder for folder in _candidates() if private(folder)), None)


def _candidates() -> Iterator[Path]:
    chosen = os.environ.get("SATISFICE_CACHE")
    if chosen:
        yield Path(chosen) / "compiled"
        return
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home
        home = None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or home
    elif sys.platform == "darwin":
        base = home and home / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or (home and home / ".cache")
    if base:
        yield Path(base) / "satisfice" / "compiled"
    if hasattr(os, "getuid"):
        yield Path(tempfile.gettempdir()) / f"satisfice-{os.getuid()}"


def private(folder: Path) -> bool:
    """Whether a folder is there, made if need be, that its owner, this user, can write to and others cannot enter."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        if not hasattr(os, "getuid"):
            return os.access(folder, os.W_OK)
        entry = folder.lstat()  # not what a link points to: somebody else may have made the link
        if not stat.S_ISDIR(entry.st_mode) or entry.st_uid != os.getuid():
            return False
        if entry.st_mode & 0o077:
            folder.chmod(0o700)
        return os.access(folder, os.R_OK | os.W_OK | os.X_OK)
    except OSError:
        return False


class DiskCache:
    """The compiled code of one function, for Numba: what its dispatcher asks before it compiles, and tells after.

    Stands in for `numba.core.caching.FunctionCache`, which takes its folder from a global setting, shares an index
    between processes that may both write it, and knows a function by its source file.
    """

    def __init__(self, folder: Path | None, key: str, current: Callable[[], bool] = lambda: True) -> None:
        """Without a folder nothing is kept. `current` is asked after each compilation whether the function is still
        the one of the key, which it got before."""
        self.cache_path = str(folder or "")
        self.current = current
        self.folder = folder
        self.key = key

    def enable(self) -> None:
        """Part of Numba's contract; this cache is always enabled."""

    def disable(self) -> None:
        """Part of Numba's contract; this cache is always enabled."""

    def flush(self) -> None:
        """Forget what is kept of this function."""
        for file in () if self.folder is None else self.folder.glob(f"{self.key}-*"):
            file.unlink(missing_ok=True)

    def kept(self) -> bool:
        """Whether code of this function is there, for whatever signature, or none ever will be: there is no folder."""
        return self.folder is None or any(self.folder.glob(f"{self.key}-*.nbc"))

    def _file(self, terms: tuple[str, ...]) -> Path | None:
        """Where the code is kept; None: it is not. The type of a function that is handed over has its address in it."""
        if self.folder is None or " at 0x" in terms[0]:
            return None
        return self.folder / f"{self.key}-{hashlib.sha256(repr(terms).encode()).hexdigest()[:16]}.nbc"

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled code for a signature; None: it has to be compiled."""
        from numba.core import compiler

        context.refresh()
        terms = _terms(signature, context.codegen())
        file = self._file(terms)
        if file is None:
            return None
        try:
            with file.open("rb") as stream:
                entry = os.fstat(stream.fileno())
                if hasattr(os, "getuid") and (entry.st_uid != os.getuid() or entry.st_mode & 0o022):
                    return None
                kept, payload = pickle.load(stream)
            if kept != terms:
                return None
            rebuild: Any = compiler.CompileResult._rebuild
            return rebuild(context, *payload)
        except Exception:  # cut short, or of another time: it is compiled and written anew
            return None

    @contextmanager
    def alone(self, signature: Any, codegen: Any) -> Iterator[None]:
        """While this is held, other processes that want the same code wait, and then find it in the folder.

        They wait for `PATIENCE` at most: a process may have been stopped. One that is killed holds nothing. A function
        is held before those that it calls, so that no two processes wait for one another.
        """
        file = self._file(_terms(signature, codegen))
        held = None if file is None or fcntl is None or file.exists() else _hold(file)
        try:
            yield
        finally:
            if held is not None:
                descriptor, place = held
                fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, place)

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the compiled code for a signature. Many processes may do so at once: the last one is kept."""
        from numba.core import serialize

        terms = _terms(signature, result.codegen)
        file = self._file(terms)
        if (
            not self.current()
            or file is None
            or result.library.has_dynamic_globals
            or any(not part.can_cache for part in result.lifted)
        ):
            return
        dumps: Any = serialize.dumps
        draft = file.with_suffix(f".{uuid.uuid4().hex[:16]}")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(dumps((terms, result._reduce())))
            draft.replace(file)
        except OSError:  # a full disk: nothing is kept
            draft.unlink(missing_ok=True)


def _hold(file: Path) -> tuple[int, int] | None:
    """Lock one byte of a file that all processes have open; which one depends on the code that is wanted."""
    place = int.from_bytes(hashlib.sha256(file.name.encode()).digest()[:7], "little")
    until = time.monotonic() + PATIENCE
    try:
        descriptor = _opened(file.parent)
        while True:
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                return descriptor, place
            except (BlockingIOError, PermissionError):
                if time.monotonic() > until:
                    return None
                time.sleep(PAUSE)
    except OSError:  # a file system without locks
        return None


@cache
def _opened(folder: Path) -> int:
    """The file of locks, open for as long as the process lives: closing it would give up every lock of the process."""
    return os.open(folder / "locks", os.O_RDWR | os.O_CREAT, 0o600)


def _terms(signature: Any, codegen: Any) -> tuple[str, ...]:
    """What compiled code depends on besides its key: types of the arguments, the processor, checks of bounds."""
    from numba.core import config, sigutils

    normalize: Any = sigutils.normalize_signature
    arguments, result = normalize(signature)
    types = ", ".join(map(_spelled, arguments))
    return types, repr(result), repr(codegen.magic_tuple()), repr(vars(config)["BOUNDSCHECK"])


def _spelled(kind: Any) -> str:
    """A type of Numba's, with the fields of named tuples: its own word for one says their types alone."""
    from numba.core import types

    if not isinstance(kind, types.BaseTuple):
        return repr(kind)
    cls, names = getattr(kind, "instance_class", tuple), getattr(kind, "fields", ())
    parts: Any = kind
    inside = ", ".join(map(_spelled, parts))
    return f"{cls.__module__}.{cls.__qualname__}[{', '.join(names)}]({inside})"
