"""The key of compiled code: a fingerprint of everything that a function reads.

That is its bytecode and that of every function it calls, the values of the globals that it names, of its closure and
its defaults, and of the attributes of modules that it may reach. Numba freezes these values into the code it makes. A
value that has no fingerprint counts by its identity: such a key means something in this process only. A function that
reads attributes by names that are made up as it runs (`getattr`) never has the same key twice.
"""

from __future__ import annotations

import builtins
import enum
import hashlib
import itertools
import marshal
import sys
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType

import numpy as np

# What Numba knows by itself: their functions are not compiled anew, and their versions stand for what is in them.
KNOWN = frozenset(
    {"builtins", "cmath", "collections", "enum", "math", "numba", "numpy", "operator", "random", "typing"}
)
# The attribute of a function whose code is to be put into its callers, and of one that was made here for Numba.
INLINE, MADE = "satisfice_inline", "satisfice_made"
# That of one which makes no arrays.
UNCOUNTED = "satisfice_uncounted"
# What takes the name of an attribute as a value, which may come from anywhere.
BY_VALUE = frozenset({"getattr", "hasattr"})
# In which way functions are compiled: another number where the same function becomes other code.
WAY = 1
MISSING = object()
# Fingerprints are remembered, of so many functions.
MOST = 1000
_sums: dict[tuple[object, ...], _Sum] = {}
# Values without a fingerprint are kept alive, so that no other one gets their identity.
_kept: dict[int, object] = {}
_unlike = itertools.count()


def fingerprint(function: FunctionType, names: Mapping[str, Callable[..., object]]) -> tuple[str, bool]:
    """The key of a function in which `names` stand for other functions, and whether other processes understand it.

    Examples
    --------
    >>> def make(c): return lambda: c
    >>> fingerprint(make(1), {}) == fingerprint(make(1), {}), fingerprint(make(1), {}) == fingerprint(make(2), {})
    (True, False)
    >>> fingerprint(make(object()), {})[1]
    False
    """
    wanted = (function, *sorted(names.items()))
    known_sum = _sums.get(wanted)
    if known_sum is None or known_sum.stale():
        known_sum = _Sum()
        known_sum.function(function, frozenset(names))
        for name, value in sorted(names.items()):
            known_sum.add("name", name)
            known_sum.value(value, frozenset())
        if len(_sums) >= MOST:
            _sums.clear()
        _sums[wanted] = known_sum
    return known_sum.digest.hexdigest()[:24], known_sum.lasting


def known(thing: FunctionType | ModuleType | type) -> bool:
    """Whether a function, a module or a class belongs to what Numba knows by itself."""
    name = thing.__name__ if isinstance(thing, ModuleType) else thing.__module__
    return (name or "").partition(".")[0] in KNOWN


def plain_of(value: object) -> FunctionType | None:
    """The plain function that is to be compiled where a function calls `value`; None: it is not for us to compile.

    What somebody else gave to `numba.njit` is compiled anew, too: their code may be of a time when its globals were
    other ones, which Numba does not notice.
    """
    if isinstance(value, FunctionType):
        return None if known(value) else value
    if isinstance(value, ModuleType):  # which may make up what it is asked for
        return None
    inner, options = getattr(value, "py_func", None), getattr(value, "targetoptions", {})
    if not isinstance(inner, FunctionType) or known(inner) or MADE in inner.__dict__:
        return None
    return inner if options.get("nopython") and getattr(value, "_can_compile", False) else None


def attribute(module: ModuleType, name: str) -> object:
    """What a module has by a name; `MISSING` if nothing. Some modules make it up when they are asked."""
    if not makes_up(module) or (type(module) is ModuleType and name in module.__dict__):
        return module.__dict__.get(name, MISSING)
    try:
        return getattr(module, name)
    except Exception:  # whatever it is, compiled code will not have it
        return MISSING


def makes_up(module: ModuleType) -> bool:
    """Whether attributes of a module may be made when they are asked for."""
    return type(module) is not ModuleType or "__getattr__" in module.__dict__


def names_of(code: CodeType) -> frozenset[str]:
    """Every name by which a function may reach something: globals, attributes, and constants that may be names."""
    return frozenset(_names_of(code))


def _names_of(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_of(constant)
        elif isinstance(constant, str):
            yield constant


class _Sum:
    """A running fingerprint."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.lasting = True
        self.seen: dict[object, int] = {}
        # What was read where, to see at a glance whether it is still so: names in namespaces, cells, functions.
        self.read: list[tuple[dict[str, object], str, object]] = []
        self.cells: list[tuple[CellType, object]] = []
        self.functions: list[tuple[FunctionType, CodeType, object, object]] = []
        self.changeable = False  # whether a value may change and yet be the same object
        from numba import __version__

        self.add("made by", str(WAY), sys.version, np.__version__, __version__)

    def stale(self) -> bool:
        """Whether anything that was read may be another thing by now."""
        return (
            self.changeable
            or any(namespace.get(name, MISSING) is not value for namespace, name, value in self.read)
            or any(content(cell) is not value for cell, value in self.cells)
            or any(
                function.__code__ is not code
                or function.__defaults__ is not defaults
                or function.__kwdefaults__ is not keywords
                for function, code, defaults, keywords in self.functions
            )
        )

    def add(self, *words: str | bytes) -> None:
        """Add words, each with its length, so that no two sequences of words look the same."""
        for word in words:
            data = word.encode("utf-8", "surrogatepass") if isinstance(word, str) else word
            self.digest.update(len(data).to_bytes(8, "little"))
            self.digest.update(data)

    def again(self, *thing: object) -> bool:
        """Whether a thing is already in. Its number is added, by which it is known from then on."""
        old = thing in self.seen
        self.add("thing", str(self.seen.setdefault(thing, len(self.seen))))
        return old

    def function(self, function: FunctionType, replaced: frozenset[str] = frozenset()) -> None:
        """A function and all that it reads; the globals `replaced` are not what it reads."""
        if self.again(id(function)):
            return
        code = function.__code__
        self.functions.append((function, code, function.__defaults__, function.__kwdefaults__))
        self.changeable = self.changeable or bool(function.__kwdefaults__)
        self.add(
            "function",
            marshal.dumps(code, 2),
            str(function.__dict__.get(INLINE)),
            str(function.__dict__.get(UNCOUNTED)),
        )
        self.value(function.__defaults__, frozenset())
        self.value(tuple(sorted((function.__kwdefaults__ or {}).items())), frozenset())
        names = names_of(code)
        if names & BY_VALUE:
            self.unlike()
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self.add("closure", name)
            value = content(cell)
            self.cells.append((cell, value))
            self.value(value, names)
        scope = function.__globals__
        for name in sorted(names - replaced):
            value = scope.get(name, MISSING)
            self.read.append((scope, name, value))
            if value is not MISSING:
                self.add("global", name)
                self.value(value, names)

    def value(self, value: object, names: frozenset[str]) -> None:
        """A value that a function reads; of a module, what it may reach in it by `names`."""
        kind = type(value)
        if value is None or value is Ellipsis or kind in (bool, int, float, complex, str, bytes):
            self.add(kind.__name__, repr(value))
        elif isinstance(value, FunctionType):
            if known(value):
                self.add("known", value.__module__, value.__qualname__)
            else:
                self.function(value)
        elif isinstance(value, ModuleType):
            self.module(value, names)
        elif isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            self.changeable = self.changeable or isinstance(value, (np.ndarray, np.void))
            self.add("array", repr(value.dtype), repr((kind.__name__, value.shape, value.strides)))
            self.add(value.tobytes())
        elif isinstance(value, np.dtype):
            self.add("dtype", repr(value))
        elif isinstance(value, (np.ufunc, BuiltinFunctionType)) and known_callable(value):
            self.add("known", getattr(value, "__module__", "") or "", value.__name__)
        elif isinstance(value, enum.Enum):
            self.value(kind, names)
            self.add("member", value.name)
        elif isinstance(value, (tuple, list)):
            self.changeable = self.changeable or isinstance(value, list)
            self.value(kind, names)
            self.add(str(len(value)))
            for item in value:
                self.value(item, names)
        elif isinstance(value, type):
            self.type(value, names)
        elif isinstance(getattr(value, "py_func", None), FunctionType):  # compiled by somebody else
            self.add("compiled", repr(sorted(getattr(value, "targetoptions", {}).items())))
            self.function(value.py_func)  # type: ignore[attr-defined]
            if plain_of(value) is None and MADE not in value.py_func.__dict__:  # type: ignore[attr-defined]
                self.identity(value)  # it stays as it is, with what its globals were when it was compiled
        else:
            self.identity(value)

    def module(self, module: ModuleType, names: frozenset[str]) -> None:
        self.add("module", module.__name__)
        if known(module) or self.again(id(module), names):
            return
        self.changeable = self.changeable or makes_up(module)
        for name in sorted(names):
            value = attribute(module, name)
            self.read.append((module.__dict__, name, value))
            if value is not MISSING:
                self.add("attribute", name)
                self.value(value, names)

    def type(self, cls: type, names: frozenset[str]) -> None:
        self.add("class", cls.__module__, cls.__qualname__)
        if known(cls):
            return
        if not _importable(cls):
            self.identity(cls)
        elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
            self.add(*cls._fields)
            self.value(tuple(sorted(getattr(cls, "_field_defaults", {}).items())), names)
        elif issubclass(cls, enum.Enum):
            self.value(tuple((member.name, member.value) for member in cls), names)
        elif not issubclass(cls, BaseException):
            self.identity(cls)

    def identity(self, value: object) -> None:
        """A value that other processes cannot compare theirs with."""
        _kept[id(value)] = value
        self.add("object", str(id(value)))
        self.lasting = False

    def unlike(self) -> None:
        """Something that cannot be looked up: the key is another one each time."""
        self.add("unlike", str(next(_unlike)))
        self.lasting, self.changeable = False, True


def known_callable(value: object) -> bool:
    """Whether a built-in function or ufunc belongs to what Numba knows by itself."""
    if isinstance(value, np.ufunc):
        return getattr(np, value.__name__, None) is value
    module = getattr(value, "__module__", None) or ""
    return module.partition(".")[0] in KNOWN or getattr(builtins, getattr(value, "__name__", ""), None) is value


def content(cell: CellType) -> object:
    """What is in a cell of a closure; `MISSING` if nothing is yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _importable(cls: type) -> bool:
    """Whether another process finds the same class by its name."""
    if cls.__module__ == "__main__":
        return False
    found: object = sys.modules.get(cls.__module__)
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls
