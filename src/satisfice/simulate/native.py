"""Plain functions, compiled: a rule and every plain function that it calls, with Numba.

A rule calls other rules by their names, so compiling one means compiling those and handing it a set of
globals in which the names stand for compiled functions. Compiled code is cached on disk under a key made
of the bytecode of every function involved, so an edited rule is never served from an old cache.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

_compiled: dict[tuple[object, ...], Callable[..., Any]] = {}


def link(function: Callable[..., Any], **names: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as plain Python, with some of the global names that it uses standing for other functions."""
    return _rebuilt(_plain(function), dict(names), "")


def compile_native(function: Callable[..., Any], **names: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, linked to `names` as by `link`, compiled. The same arguments give the same object."""
    key: tuple[object, ...] = (function, *sorted(names.items()))
    if key not in _compiled:
        from numba import njit
        from numba.core import config as numba_config

        source = _plain(function)
        parts = {
            name: compile_native(value)
            for name, value in (_calls(source) | {name: _plain(value) for name, value in names.items()}).items()
        }
        tag = _tag(source, names)
        suffix = "_" + tag if names else ""
        config: Any = numba_config
        before = config.CACHE_DIR
        try:
            config.CACHE_DIR = str(cache_dir() / tag)
            _compiled[key] = njit(_rebuilt(source, parts, suffix), cache=True)
        finally:
            config.CACHE_DIR = before
    return _compiled[key]


def cache_dir() -> Path:
    """Where compiled code is kept: `SATISFICE_CACHE`, or the user's cache folder."""
    chosen = os.environ.get("SATISFICE_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    folder = base / "satisfice"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        usable = os.access(folder, os.W_OK)
    except OSError:
        usable = False
    return (
        folder if usable else Path(tempfile.gettempdir()) / f"satisfice-{os.getuid() if hasattr(os, 'getuid') else 0}"
    )


def _plain(function: Callable[..., Any]) -> FunctionType:
    if not isinstance(function, FunctionType):
        raise TypeError(f"{function!r} is not a plain function")
    return function


def _names_of(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_of(constant)


def _calls(function: FunctionType) -> dict[str, FunctionType]:
    scope = function.__globals__
    return {name: scope[name] for name in _names_of(function.__code__) if isinstance(scope.get(name), FunctionType)}


def _rebuilt(function: FunctionType, names: dict[str, Any], suffix: str) -> FunctionType:
    scope = {**function.__globals__, **names}
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__qualname__ = function.__qualname__ + suffix
    copy.__module__ = function.__module__
    return copy


def _tag(function: FunctionType, names: dict[str, Callable[..., Any]]) -> str:
    """A key of everything that goes into the compiled code of `function`."""
    digest = hashlib.sha256()
    seen: set[FunctionType] = set()

    def add(part: FunctionType) -> None:
        if part in seen:
            return
        seen.add(part)
        digest.update(marshal.dumps(part.__code__))
        for name in sorted(set(_names_of(part.__code__))):
            value = part.__globals__.get(name)
            if isinstance(value, (int, float, str, bool, tuple)):
                digest.update(f"{name}={value!r}".encode())
            elif isinstance(value, FunctionType):
                add(value)

    add(function)
    for name, value in sorted(names.items()):
        digest.update(name.encode())
        add(_plain(value))
    return digest.hexdigest()[:24]
